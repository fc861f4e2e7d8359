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

from corda_lab.analysis.conclusions import ratio_words
from corda_lab.analysis.points import METRICS, Found, Point, known_metrics, points, searched
from corda_lab.analysis.significance import CANNOT_COMPARE, Compared, compare_all
from corda_lab.errors import LabError
from corda_lab.paths import RESULTS
from corda_lab.report import page
from corda_lab.report.charts_run import Chart, Trace, bounded, rounded
from corda_lab.report.charts_sweep import look_of, shown, with_interval
from corda_lab.report.summaries import cell
from corda_lab.results import stored
from corda_lab.results.folders import SCHEMA
from corda_lab.results.stored import StoredRun
from corda_lab.text.words import listed, plural

FOLDER = "comparisons"
FILE_NAMES = ("compare.html", "compare.md", "compare.json")
NAME_LENGTH_MAX = 200
LINK_MS_MAX, LINK_SHARE_MAX = 3.0, 0.1
"""By how much two measurements of one link differ: what was asked for is in the shape."""
KINDS = ("shape", "load", "measuring", "images", "host", "versions", "commit", "stand-ins", "links", "settings")
"""What can differ between two runs besides their figures, the weightiest first."""


@dataclass(frozen=True)
class Unlike:
    """Something that is not the same in both runs."""

    kind: str
    name: str
    first: str
    second: str


@dataclass(frozen=True)
class Lost:
    """A point of the first run of which the second one has no figure, and why."""

    label: str
    reason: str


@dataclass(frozen=True)
class Rates:
    """The highest rates that two searches confirmed of the same; there is one of each, so no interval."""

    first: Found
    second: Found

    @property
    def label(self) -> str:
        return self.first.label

    @property
    def ratio(self) -> float | None:
        """Second ÷ first; None where one confirmed nothing."""
        return self.second.rate / self.first.rate if self.first.rate and self.second.rate else None

    @property
    def verdict(self) -> str:
        """Two single rates are never shown to differ; that nothing held any more is."""
        if self.first.rate and not self.second.rate:
            return "no rate confirmed"
        return "cannot tell" if self.ratio else CANNOT_COMPARE


@dataclass(frozen=True)
class Against:
    """A run against the first one. ``alone`` are the labels of points that only one of them has.

    ``rows`` are the measured points of both by metric, ``rates`` what both searched, ``lost`` what the second run no longer does.
    """

    first: StoredRun
    second: StoredRun
    unlike: list[Unlike]
    rows: dict[str, list[Compared]]
    rates: list[Rates]
    lost: list[Lost]
    alone: list[str]

    def regressions(self, metric: str, threshold: float | None) -> list[Compared]:
        """Points that are shown to be worse, by more than the threshold."""
        return [] if threshold is None else [one for one in self.rows[metric] if loss(one, metric) > threshold]

    def undecided(self, metric: str) -> int:
        """How many points could not be judged."""
        rows = sum(one.verdict in ("cannot tell", CANNOT_COMPARE) for one in self.rows[metric])
        return rows + sum(one.verdict in ("cannot tell", CANNOT_COMPARE) for one in self.rates)

    def judged(self, metric: str) -> int:
        """How many points could be judged."""
        return len(self.rows[metric]) + len(self.rates) - self.undecided(metric)


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
    # Every repeat has the next seed; which repeat comes first here is chance.
    first_seed = step["load"]["seed"] - (step["repeat"] - 1)
    # A search chooses its rates itself, and each of its steps has the next seed.
    searched_rate = {"rate_per_second": "searched"} if run.sweep.get("find_max") else {"seed": first_seed}
    load = {**step["load"], "seed": run.sweep.get("seed"), **searched_rate}
    return {
        "shape": shape,
        "load": dict(flat({**load, **place, **workload})),
        "measuring": measuring(run),
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


def measuring(run: StoredRun) -> dict[str, str]:
    """How a run measured: its policy of warm-up, length, repeats and order, or of a single run its times."""
    if run.is_sweep:
        names = ("warm_up", "measure", "own_spans", "repeats", "order", "fresh", "confidence")
        search = {name: value for name, value in (run.sweep.get("find_max") or {}).items() if name != "outcomes"}
        return dict(flat({**{name: run.sweep[name] for name in names if name in run.sweep}, "find_max": search}))
    return {"warm_up.seconds": f"{run.steps[0]['warm_up']['seconds_max']:g}", "repeats": "1"}


def unlike(first: StoredRun, second: StoredRun, pairs: Sequence[tuple[Point, Point]]) -> list[Unlike]:
    """What differs between the points of two runs besides their figures, each once."""
    found: dict[Unlike, None] = {}
    for one, other in pairs:
        before, after = circumstances(first, one.steps[0]), circumstances(second, other.steps[0])
        for kind in KINDS:
            for name in dict.fromkeys([*before[kind], *after[kind]]):
                a, b = before[kind].get(name, "–"), after[kind].get(name, "–")
                if a == b or (kind == "links" and is_same_link(a, b)):
                    continue
                if "\n" in a + b:
                    a, b = (f"{len(text.splitlines())} lines, {fingerprint(text)}" for text in (a, b))
                found[Unlike(kind, name, a, b)] = None
    return sorted(found, key=lambda one: KINDS.index(one.kind))


def is_same_link(first: str, second: str) -> bool:
    """Whether two measured round trips, in ms, are as near as two measurements of one link are."""
    if "–" in (first, second):
        return False
    a, b = float(first), float(second)
    return abs(a - b) <= max(LINK_MS_MAX, LINK_SHARE_MAX * max(a, b))


def fingerprint(text: str) -> str:
    """A short name of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def against_first(runs: Sequence[StoredRun]) -> list[Against]:
    """Compare every metric at every point that runs share with the first. All comparisons of a metric are judged together.

    Raises LabError where two have no point in common.
    """
    all_points = [points(run) for run in runs]
    pairs = [aligned(runs[0], all_points[0], run, own) for run, own in zip(runs[1:], all_points[1:], strict=True)]
    rates = [found_by_both(runs[0], all_points[0], run, own) for run, own in zip(runs[1:], all_points[1:], strict=True)]
    metrics = [name for name in METRICS if all(name in known_metrics(own) for own in all_points)]
    # A search's points are of rates that it chose itself, so they are not compared.
    judged = {
        metric: iter(compare_all([pair for found in pairs for pair in found], metric, paired=False))
        for metric in metrics
    }
    others = []
    for run, own, shared, searches in zip(runs[1:], all_points[1:], pairs, rates, strict=True):
        rows = {metric: [next(judged[metric]) for _ in shared] for metric in metrics}
        both = [*shared, *((one.first.members[0], one.second.members[0]) for one in searches)]
        others.append(
            Against(
                runs[0],
                run,
                unlike(runs[0], run, both),
                rows,
                searches,
                lost(all_points[0], own, shared, searches),
                alone((runs[0], all_points[0]), (run, own)),
            )
        )
    return others


def aligned(
    first: StoredRun, ours: Sequence[Point], second: StoredRun, theirs: Sequence[Point]
) -> list[tuple[Point, Point]]:
    """The measured points that two runs share. Raises LabError when they share nothing at all."""
    before, after = by_key(ours), by_key(theirs)
    if not before.keys() & after.keys():
        raise LabError(
            f"{first.identity} and {second.identity} have no point in common",
            f"The first has {some(before)}, the second {some(after)}.",
        )
    return [(point, after[key]) for key, point in before.items() if key in after and point.phase == "measure"]


def by_key(own: Sequence[Point]) -> dict[str, Point]:
    """Points by what they have to share with another run's: of a search it is not the rate, which that found itself."""
    found: dict[str, Point] = {}
    for point in own:
        found.setdefault(point.key if point.phase == "measure" else search_key(point), point)
    return found


def search_key(point: Point) -> str:
    """What a search's point has in common with all of that search."""
    return json.dumps(["search", point.workload, point.group], sort_keys=True)


def found_by_both(first: StoredRun, ours: Sequence[Point], second: StoredRun, theirs: Sequence[Point]) -> list[Rates]:
    """What both runs searched."""
    if not (first.sweep.get("find_max") and second.sweep.get("find_max")):
        return []
    after = {found.key: found for found in searched(second, theirs)}
    return [Rates(found, after[found.key]) for found in searched(first, ours) if found.key in after]


def lost(
    ours: Sequence[Point], theirs: Sequence[Point], shared: Sequence[tuple[Point, Point]], rates: Sequence[Rates]
) -> list[Lost]:
    """What the first run has a figure of and the second has not: worse than any ratio could be."""
    after = by_key(theirs)
    found = [
        Lost(label_of(point), "is missing")
        for key, point in by_key(ours).items()
        if key not in after and (point.valid or point.phase != "measure")
    ]
    for before, now in shared:
        if not before.valid or before.collapsed:
            continue
        if not now.valid:
            found.append(Lost(now.label, "has no valid step"))
        elif now.collapsed:
            count = f"{len(now.collapsed)} of {plural(len(now.valid), 'step')}"
            found.append(Lost(now.label, f"completed nothing in {count}"))
    return found + [Lost(one.label, one.verdict) for one in rates if one.verdict == "no rate confirmed"]


def alone(first: tuple[StoredRun, Sequence[Point]], second: tuple[StoredRun, Sequence[Point]]) -> list[str]:
    """The labels of points that only one of two runs has."""
    before, after = by_key(first[1]), by_key(second[1])
    found = [f"{label_of(point)} (only in {first[0].identity})" for key, point in before.items() if key not in after]
    return found + [
        f"{label_of(point)} (only in {second[0].identity})" for key, point in after.items() if key not in before
    ]


def label_of(point: Point) -> str:
    """A point in words; all points of a search are one."""
    return point.label if point.phase == "measure" else f"the search of {point.steps[0]['label'] or point.workload}"


def some(known: Mapping[str, Point]) -> str:
    """A few points in words."""
    labels = [f"{label_of(point)} of {point.workload}" for point in known.values()]
    return listed(labels[:4]) + (" and others" if len(labels) > 4 else "")


def headline(one: Against, metric: str) -> str:
    """What the comparison says, in a sentence or two."""
    what = f"{METRICS[metric].title.capitalize()} of {one.second.identity}"
    if one.first.folder == one.second.folder:
        what = f"A run against itself: {METRICS[metric].title}"
    told = [f"{what}: {rows_words(one.rows[metric])}."] if one.rows[metric] else []
    told += [rates_words(rates) for rates in one.rates]
    told += [f"{found.label}: {found.reason}." for found in one.lost]
    shared = [run.identity for run in (one.first, one.second) if shares_start(run)]
    if shared and any(row.verdict in ("slower", "faster") for row in one.rows[metric]):
        told.append(
            f"Repeats of a shape shared a start of the lab in {listed(list(dict.fromkeys(shared)))}, and two starts differ "
            "too, so it need not be what changed: measure both with `fresh: repeat`."
        )
    return " ".join(told)


def shares_start(run: StoredRun) -> bool:
    """Whether the repeats of a shape had no labs of their own."""
    return run.is_sweep and run.sweep["fresh"] == "shape" and run.sweep["repeats"] > 1


def rows_words(rows: Sequence[Compared]) -> str:
    """What the measured points say."""
    verdicts: dict[str, list[Compared]] = {}
    for row in rows:
        verdicts.setdefault(row.verdict, []).append(row)
    if set(verdicts) == {"no difference seen"}:
        return f"no difference seen at {'the point' if len(rows) == 1 else f'any of {len(rows)} points'}"
    if set(verdicts) == {"cannot tell"}:
        return "one measurement each has no interval, so whether they differ cannot be told"
    if set(verdicts) == {CANNOT_COMPARE}:
        return "no point can be compared, for none has figures above zero in both runs"
    parts = []
    for verdict, members in verdicts.items():
        extreme = max(members, key=lambda row: abs(1 - row.difference.ratio) if row.difference else 0.0)
        detail = f" (most at {extreme.second.label}: {ratio_words(extreme)})" if verdict in ("slower", "faster") else ""
        parts.append(f"{verdict} at {len(members)} of {plural(len(rows), 'point')}{detail}")
    return ", ".join(parts)


def rates_words(rates: Rates) -> str:
    """Two searches of the same."""
    now, before = rate_words(rates.second), rate_words(rates.first)
    if rates.ratio is None:
        return f"Highest rate of {rates.label}: {now} against {before}."
    return (
        f"Highest rate of {rates.label}: {now} against {before}, {rates.ratio:.2f} ×; each search is one measurement, so whether "
        "they differ cannot be told."
    )


def rate_words(found: Found) -> str:
    """``16/s (probes: 16.3/s held, 17/s did not)``."""
    rate = "none confirmed" if found.rate is None else f"{found.rate:g}/s"
    held = [f"{found.low:g}/s held"] if found.low is not None else []
    failed = [f"{found.high:g}/s did not"] if found.high is not None else []
    bracket = ", ".join(held + failed)
    return f"{rate} (probes: {bracket})" if bracket else rate


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
        labels=[f"{row.second.label}: {ratio_words(row)}, {row.verdict}" for row in rows],
        kind="intervals",
        **look_of(0),
    )
    better = "above" if METRICS[metric].higher_is_better else "below"
    drawn = Chart(
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
    return bounded(drawn)


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
        """Every point that became worse by more than the threshold or has no figure any more, in words."""
        if self.threshold is None:
            return []
        return [
            (f"{one.second.identity}, " if len(self.others) > 1 else "") + words
            for one in self.others
            for words in [
                *(regression_words(row, self.metric) for row in one.regressions(self.metric, self.threshold)),
                *(f"{found.label} {found.reason}" for found in one.lost),
            ]
        ]

    @property
    def state(self) -> str:
        """What a reader should make of the threshold: ``good``, ``bad``, or ``doubt`` where points could not be judged."""
        if self.regressions:
            return "bad"
        return "doubt" if any(one.undecided(self.metric) for one in self.others) else "good"

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
                    "rates": [rates_dict(rates) for rates in one.rates],
                    "lost": [asdict(found) for found in one.lost],
                }
                for one in self.others
            ],
        }

    def markdown(self) -> str:
        """The comparison for a pull request; what differs besides the figures comes first."""
        lines = [f"### Against {self.runs[0].identity}"]
        for one in self.others:
            lines += ["", f"#### {one.second.identity}", "", unlike_headline(one)]
            lines += [""] if one.unlike else []
            lines += [f"- {entry.kind} {entry.name}: `{entry.first}` → `{entry.second}`" for entry in one.unlike]
            lines += ["", headline(one, self.metric)]
            lines += markdown_table(
                ("point", self.runs[0].identity, one.second.identity, "ratio", "verdict"),
                shown_rows(one, self.metric),
            )
            lines += [""] if one.alone else []
            lines += [f"- left out: {label}" for label in one.alone]
        if self.threshold is not None:
            lines += ["", threshold_words(self)]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """The comparison as a page."""
        charts = [
            [chart(one, metric, number).as_dict() for metric, rows in one.rows.items() if rows]
            for number, one in enumerate(self.others)
        ]
        sections = [
            {
                "name": one.second.identity,
                "unlike_headline": unlike_headline(one),
                "unlike": one.unlike,
                "headline": headline(one, self.metric),
                "charts": drawn,
                "tables": tables(one),
                "alone": one.alone,
            }
            for one, drawn in zip(self.others, charts, strict=True)
        ]
        return page.html(
            "compare.html",
            {
                "run": {"id": f"{self.runs[0].identity} compared"},
                "first": self.runs[0].identity,
                "sections": sections,
                "state": self.state,
                "threshold_words": threshold_words(self),
                "confidence_words": confidence_words(self.runs),
                "data": {"charts": [one for drawn in charts for one in drawn], "spans": []},
            },
        )


def threshold_words(found: Comparison) -> str:
    """Whether the threshold was kept, and what could not be judged; empty without one."""
    if found.threshold is None:
        return ""
    limit = f"{100 * found.threshold:g} %"
    if found.regressions:
        return f"Worse by more than {limit}, or gone: {'; '.join(found.regressions)}."
    undecided = sum(one.undecided(found.metric) for one in found.others)
    judged = sum(one.judged(found.metric) for one in found.others)
    if undecided and not judged:
        return (
            f"Nothing could be judged by the threshold of {limit}: no point has an interval. Repeat the measurements."
        )
    rest = f" {undecided} of {plural(undecided + judged, 'point')} could not be judged." if undecided else ""
    return f"No point is shown to be worse by more than {limit}.{rest}"


def confidence_words(runs: Sequence[StoredRun]) -> str:
    """At which confidence each run's own intervals are."""
    found = {run.identity: f"{100 * float(run.sweep['confidence']):g} %" for run in runs}
    if len(set(found.values())) == 1:
        return next(iter(found.values()))
    return listed([f"{confidence} ({identity})" for identity, confidence in found.items()])


def unlike_headline(one: Against) -> str:
    """How much differs between two runs besides their figures."""
    if one.first.folder == one.second.folder:
        return "Both are the same run."
    if not one.unlike:
        return "Both ran in the same environment: shape, load, images, host, versions and commit are the same."
    kinds = listed(list(dict.fromkeys(entry.kind for entry in one.unlike)))
    return f"Not the same in both runs: {kinds}. Whatever differs below may come from it."


def tables(one: Against) -> list[tuple[str, list[dict[str, str]]]]:
    """Every table of a comparison: the rates that searches found, then one for each metric."""
    found = [
        (METRICS[metric].title, [row_dict(row, metric) for row in rows]) for metric, rows in one.rows.items() if rows
    ]
    rates = [("highest rate confirmed", [rates_row(rates) for rates in one.rates])] if one.rates else []
    return rates + found


def shown_rows(one: Against, metric: str) -> list[dict[str, str]]:
    """The rows of what is judged: points by a metric, and what searches found."""
    return [row_dict(row, metric) for row in one.rows[metric]] + [rates_row(rates) for rates in one.rates]


def row_dict(row: Compared, metric: str) -> dict[str, str]:
    """A row of a table."""
    return {
        "label": row.second.label,
        "first": with_interval(row.first, metric),
        "second": with_interval(row.second, metric),
        "ratio": ratio_words(row),
        "verdict": row.verdict,
    }


def rates_row(rates: Rates) -> dict[str, str]:
    """A row of the table of two searches."""
    return {
        "label": rates.label,
        "first": rate_words(rates.first),
        "second": rate_words(rates.second),
        "ratio": "–" if rates.ratio is None else f"{rates.ratio:.2f} ×, no interval",
        "verdict": rates.verdict,
    }


def rates_dict(rates: Rates) -> dict[str, Any]:
    """Two searches, for programs."""
    sides = {
        name: {"rate": found.rate, "low": found.low, "high": found.high}
        for name, found in (("first", rates.first), ("second", rates.second))
    }
    return {"label": rates.label, **sides, "ratio": rates.ratio, "verdict": rates.verdict}


def markdown_table(titles: Sequence[str], rows: Sequence[dict[str, str]]) -> list[str]:
    """The lines of a table, with an empty one in front."""
    lines = ["", f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    return lines + [f"| {' | '.join(cell(text) for text in row.values())} |" for row in rows]


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
                "verdict": rows[number].verdict,
                "shown": [shown(p.estimate(metric).value, metric) for p in (rows[number].first, rows[number].second)],
            }
            for metric, rows in one.rows.items()
        },
    }


def compare(folders: Sequence[Path], *, metric: str, threshold: float | None) -> Comparison:
    """Compare runs with the first of them. Raises LabError where two have no point in common."""
    runs = [stored.read(folder) for folder in folders]
    others = against_first(runs)
    if any(metric not in one.rows for one in others):
        raise LabError(
            f"--metric {metric}: not every run knows it",
            "Choose another one, or workloads that say their states_per_flow.",
        )
    return Comparison(runs, others, metric, threshold)


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
        page.replace_text(folder / name, text)
    return folder
