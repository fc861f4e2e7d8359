"""``lab compare``: runs against a first one, point by point, with what differs between them besides told first.

Points are the same when they vary the same things to the same values under the same workload. Between runs nothing is
paired: they were not measured side by side, so whatever changed on the machine meanwhile is part of the difference.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corda_lab import report, stored
from corda_lab.charts import Chart, Trace, rounded
from corda_lab.charts_sweep import look_of, shown, with_interval
from corda_lab.conclusions import ratio_words
from corda_lab.errors import LabError
from corda_lab.paths import RESULTS
from corda_lab.points import METRICS, Compared, Point, compare_all, points
from corda_lab.results import SCHEMA
from corda_lab.stored import StoredRun
from corda_lab.summaries import cell
from corda_lab.words import listed, plural

FOLDER = "comparisons"
FILE_NAMES = ("compare.html", "compare.md", "compare.json")
NAME_LENGTH_MAX = 200
KINDS = ("shape", "load", "images", "host", "versions", "commit", "stand-ins", "links", "settings")
"""What can differ between two runs besides their figures, the weightiest first."""


@dataclass(frozen=True)
class Unlike:
    """Something that is not the same in both runs."""

    kind: str
    name: str
    first: str
    second: str


@dataclass(frozen=True)
class Against:
    """A run against the first one. ``alone`` are the labels of points that only one of them has."""

    first: StoredRun
    second: StoredRun
    unlike: list[Unlike]
    rows: dict[str, list[Compared]]
    alone: list[str]

    def regressions(self, metric: str, threshold: float | None) -> list[Compared]:
        """Points that are shown to be worse, by more than the threshold."""
        return [] if threshold is None else [one for one in self.rows[metric] if loss(one, metric) > threshold]


def loss(one: Compared, metric: str) -> float:
    """By what share the second point is shown to be worse; 0 where no difference is shown."""
    found = one.difference
    if found is None or found.verdict != "slower":
        return 0.0
    return 1 - found.ratio if METRICS[metric].higher_is_better else found.ratio - 1


def parse_threshold(text: str) -> float:
    """``5%`` as 0.05."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%?", text.strip())
    if not match or not 0 < float(match[1]) < 100:
        raise LabError(f"--threshold: {text!r} is not a share", "Write it like 5%.")
    return float(match[1]) / 100


def flat(value: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The leaves of nested dictionaries, each with its path."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from flat(inner, f"{prefix}.{name}" if prefix else str(name))
    else:
        yield prefix, json.dumps(value) if isinstance(value, list | bool) or value is None else str(value)


def circumstances(run: StoredRun, step: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Everything but the code under test and the luck of the day that a step's figures depend on, by kind."""
    environment = run.environment(step)
    shape = dict(flat(environment["shape"]))
    workload = {"workload file": run.manifest["workload_files"].get(step["workload"], "")}
    place = {name: step[name] for name in ("flow", "node", "counterparty")}
    return {
        "shape": shape,
        "load": dict(flat({**step["load"], **place, **workload})),
        "images": dict(flat(environment["images"])),
        "host": dict(flat(environment["host"])),
        "versions": dict(flat(environment["versions"])),
        "commit": dict(flat(environment["git"])),
        "stand-ins": {"images": ", ".join(environment["stand_ins"])},
        "links": dict(flat({link["name"]: link["through_ms"] for link in environment["links_measured"]})),
        # What the shape says already, and where the lab listens on this machine, is not told again.
        "settings": {
            name: text
            for name, text in flat(environment["settings"])
            if name not in shape and not name.endswith("_PORT")
        },
    }


def unlike(first: StoredRun, second: StoredRun, pairs: Sequence[tuple[Point, Point]]) -> list[Unlike]:
    """What differs between the points of two runs besides their figures, each once."""
    found: dict[Unlike, None] = {}
    for one, other in pairs:
        before, after = circumstances(first, one.steps[0]), circumstances(second, other.steps[0])
        for kind in KINDS:
            for name in dict.fromkeys([*before[kind], *after[kind]]):
                a, b = before[kind].get(name, "–"), after[kind].get(name, "–")
                if a == b:
                    continue
                if "\n" in a + b:
                    a, b = (f"{len(text.splitlines())} lines, {fingerprint(text)}" for text in (a, b))
                found[Unlike(kind, name, a, b)] = None
    return sorted(found, key=lambda one: KINDS.index(one.kind))


def fingerprint(text: str) -> str:
    """A short name of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def against(first: StoredRun, second: StoredRun) -> Against:
    """Compare every metric at every point that both have. Raises LabError when there is none."""
    ours, theirs = ({point.key: point for point in points(run) if point.phase != "probe"} for run in (first, second))
    common = [key for key in ours if key in theirs]
    if not common:
        raise LabError(
            f"{first.identity} and {second.identity} have no point in common",
            f"The first has {some(ours)}, the second {some(theirs)}.",
        )
    pairs = [(ours[key], theirs[key]) for key in common]
    alone = [f"{point.label} (only in {first.identity})" for key, point in ours.items() if key not in theirs]
    alone += [f"{point.label} (only in {second.identity})" for key, point in theirs.items() if key not in ours]
    rows = {metric: compare_all(pairs, metric, paired=False) for metric in METRICS}
    return Against(first, second, unlike(first, second, pairs), rows, alone)


def some(known: Mapping[str, Point]) -> str:
    """A few points in words."""
    labels = [f"{point.label} of {point.workload}" for point in known.values()]
    return listed(labels[:4]) + (" and others" if len(labels) > 4 else "")


def headline(one: Against, metric: str) -> str:
    """What the comparison says, in a sentence."""
    rows = one.rows[metric]
    what = f"{METRICS[metric].title.capitalize()} of {one.second.identity}"
    if one.first.folder == one.second.folder:
        what = f"A run against itself: {METRICS[metric].title}"
    verdicts: dict[str, list[Compared]] = {}
    for row in rows:
        verdicts.setdefault(verdict_of(row), []).append(row)
    if set(verdicts) == {"no difference seen"}:
        return f"{what}: no difference seen at {'the point' if len(rows) == 1 else f'any of {len(rows)} points'}."
    if set(verdicts) <= {"cannot tell", "cannot be compared"}:
        return f"{what}: one measurement each has no interval, so whether they differ cannot be told."
    parts = []
    for verdict, members in verdicts.items():
        extreme = max(members, key=lambda row: abs(1 - row.difference.ratio) if row.difference else 0.0)
        detail = f" (most at {extreme.second.label}: {ratio_words(extreme)})" if verdict in ("slower", "faster") else ""
        parts.append(f"{verdict} at {len(members)} of {plural(len(rows), 'point')}{detail}")
    return f"{what}: {', '.join(parts)}."


def verdict_of(one: Compared) -> str:
    """The verdict in words; without an interval there is none."""
    if one.difference is None:
        return "cannot be compared"
    return one.difference.verdict if one.difference.low is not None else "cannot tell"


def regression_words(one: Compared, metric: str) -> str:
    """One point that became worse."""
    return f"{one.second.label}: {METRICS[metric].title} {100 * loss(one, metric):.1f} % worse, {ratio_words(one)}"


def chart(one: Against, metric: str, number: int) -> Chart:
    """The ratios with their intervals, point by point."""
    rows = [row for row in one.rows[metric] if row.difference is not None]
    known = [row.difference for row in rows if row.difference is not None]
    trace = Trace(
        "ratio",
        x=[row.second.label for row in rows],
        y=rounded((found.ratio for found in known), 5),
        y_low=rounded((found.low for found in known), 5),
        y_high=rounded((found.high for found in known), 5),
        hollow=[found.low is None for found in known],
        labels=[f"{row.second.label}: {ratio_words(row)}, {verdict_of(row)}" for row in rows],
        kind="intervals",
        **look_of(0),
    )
    better = "above" if METRICS[metric].higher_is_better else "below"
    return Chart(
        f"ratio-{number}-{metric}",
        f"Ratio of {METRICS[metric].title}",
        f"{one.second.identity} ÷ {one.first.identity} with its interval; {better} 1 is better. An interval that crosses 1 shows "
        "no difference.",
        "ratio",
        [trace] if rows else [],
        x_title="",
        is_over_time=False,
        width="wide" if metric == "throughput" else "third",
        axis="category",
        marks=[{"kind": "level", "value": 1, "text": "the same"}],
        is_y_from_zero=False,
    )


def folder_name(runs: Sequence[StoredRun]) -> str:
    """The comparison's own name; a long one is cut and told apart by a fingerprint."""
    name = "--".join(run.identity for run in runs)
    return name if len(name) <= NAME_LENGTH_MAX else f"{name[: NAME_LENGTH_MAX - 13]}-{fingerprint(name)}"


@dataclass(frozen=True)
class Comparison:
    """Runs against the first of them, judged by one metric."""

    runs: list[StoredRun]
    others: list[Against]
    metric: str
    threshold: float | None

    @property
    def regressions(self) -> list[str]:
        """Every point that became worse by more than the threshold, in words."""
        return [
            (f"{one.second.identity}, " if len(self.others) > 1 else "") + regression_words(row, self.metric)
            for one in self.others
            for row in one.regressions(self.metric, self.threshold)
        ]

    def as_dict(self) -> dict[str, Any]:
        """The comparison for programs."""
        return {
            "schema": SCHEMA,
            "runs": [run.identity for run in self.runs],
            "metric": self.metric,
            "threshold": self.threshold,
            "regressions": self.regressions,
            "comparisons": [
                {
                    "run": one.second.identity,
                    "against": one.first.identity,
                    "unlike": [asdict(entry) for entry in one.unlike],
                    "headline": headline(one, self.metric),
                    "points_alone": one.alone,
                    "points": [point_dict(one, number) for number in range(len(one.rows[self.metric]))],
                }
                for one in self.others
            ],
        }

    def markdown(self) -> str:
        """The comparison for a pull request; what differs besides the figures comes first."""
        lines = [f"### Against {self.runs[0].identity}"]
        for one in self.others:
            lines += ["", f"#### {one.second.identity}", "", unlike_headline(one), ""]
            lines += [f"- {entry.kind} {entry.name}: `{entry.first}` → `{entry.second}`" for entry in one.unlike]
            lines += ["", headline(one, self.metric), ""]
            lines += [
                f"| point | {self.runs[0].identity} | {one.second.identity} | ratio | verdict |",
                "|---|---|---|---|---|",
            ]
            for row in one.rows[self.metric]:
                figures = " | ".join(cell(with_interval(point, self.metric)) for point in (row.first, row.second))
                lines.append(f"| {cell(row.second.label)} | {figures} | {ratio_words(row)} | {verdict_of(row)} |")
            lines += [""] if one.alone else []
            lines += [f"- left out: {label}" for label in one.alone]
        if self.threshold is not None:
            lines += ["", threshold_words(self)]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """The comparison as a page."""
        charts = [
            [chart(one, metric, number).as_dict() for metric in METRICS] for number, one in enumerate(self.others)
        ]
        sections = [
            {
                "name": one.second.identity,
                "unlike_headline": unlike_headline(one),
                "unlike": one.unlike,
                "headline": headline(one, self.metric),
                "charts": drawn,
                "tables": [
                    (METRICS[metric].title, [row_dict(row, metric) for row in rows])
                    for metric, rows in one.rows.items()
                ],
                "alone": one.alone,
            }
            for one, drawn in zip(self.others, charts, strict=True)
        ]
        return report.html(
            "compare.html",
            {
                "run": {"id": f"{self.runs[0].identity} compared"},
                "first": self.runs[0].identity,
                "sections": sections,
                "regressions": self.regressions,
                "threshold_words": threshold_words(self),
                "confidence": self.runs[0].sweep["confidence"],
                "data": {"charts": [one for drawn in charts for one in drawn], "spans": []},
            },
        )


def threshold_words(found: Comparison) -> str:
    """Whether the threshold was kept; empty without one."""
    if found.threshold is None:
        return ""
    limit = f"{100 * found.threshold:g} %"
    if found.regressions:
        return f"Worse by more than {limit}: {'; '.join(found.regressions)}."
    return f"No point is shown to be worse by more than {limit}."


def unlike_headline(one: Against) -> str:
    """How much differs between two runs besides their figures."""
    if one.first.folder == one.second.folder:
        return "Both are the same run."
    if not one.unlike:
        return "Both ran in the same environment: shape, load, images, host, versions and commit are the same."
    kinds = listed(list(dict.fromkeys(entry.kind for entry in one.unlike)))
    return f"Not the same in both runs: {kinds}. Whatever differs below may come from it."


def row_dict(row: Compared, metric: str) -> dict[str, str]:
    """A row of a table."""
    return {
        "label": row.second.label,
        "first": with_interval(row.first, metric),
        "second": with_interval(row.second, metric),
        "ratio": ratio_words(row),
        "verdict": verdict_of(row),
    }


def point_dict(one: Against, number: int) -> dict[str, Any]:
    """A point with every metric, for programs."""
    first = next(iter(one.rows.values()))[number]
    return {
        "label": first.second.label,
        "workload": first.second.workload,
        "point": first.second.values,
        "metrics": {
            metric: {
                "first": asdict(rows[number].first.estimate(metric)),
                "second": asdict(rows[number].second.estimate(metric)),
                "difference": asdict(found) if (found := rows[number].difference) else None,
                "verdict": verdict_of(rows[number]),
                "shown": [shown(p.estimate(metric).value, metric) for p in (rows[number].first, rows[number].second)],
            }
            for metric, rows in one.rows.items()
        },
    }


def compare(folders: Sequence[Path], *, metric: str, threshold: float | None) -> Comparison:
    """Compare runs with the first of them. Raises LabError where two have no point in common."""
    runs = [stored.read(folder) for folder in folders]
    return Comparison(runs, [against(runs[0], run) for run in runs[1:]], metric, threshold)


def write(found: Comparison, *, results_folder: Path | None = None) -> Path:
    """Write the comparison as a page, as Markdown and as JSON, and return their folder."""
    folder = (results_folder or RESULTS) / FOLDER / folder_name(found.runs)
    makers: dict[str, Callable[[], str]] = {
        "compare.html": found.html,
        "compare.md": found.markdown,
        "compare.json": lambda: json.dumps(found.as_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
    }
    made = {name: make() for name, make in makers.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        report.replace_text(folder / name, text)
    return folder
