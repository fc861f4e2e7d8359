"""The page, the Markdown and the JSON of a comparison, and the words in them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from corda_lab import atomic
from corda_lab.analysis.circumstances import fingerprint
from corda_lab.analysis.comparison import Against, Comparison, Rates
from corda_lab.analysis.conclusions import ratio_words
from corda_lab.analysis.points import METRICS, Found
from corda_lab.analysis.significance import CANNOT_COMPARE, Compared
from corda_lab.analysis.values import interval_shown, shown, with_interval
from corda_lab.paths import RESULTS
from corda_lab.report import page
from corda_lab.report.chart import Chart, Trace, bounded, look_of, rounded
from corda_lab.report.summaries import cell
from corda_lab.results.folders import SCHEMA
from corda_lab.results.stored import StoredRun
from corda_lab.text.words import listed, plural

FOLDER = "comparisons"


FILE_NAMES = ("compare.html", "compare.md", "compare.json")


NAME_LENGTH_MAX = 200


def as_dict(found: Comparison) -> dict[str, Any]:
    """The comparison for programs."""
    return {
        "schema": SCHEMA,
        "runs": [run.identity for run in found.runs],
        "metric": found.metric,
        "threshold": found.threshold,
        "regressions": found.regressions,
        "comparisons": [
            {
                "run": one.second.identity,
                "against": one.first.identity,
                "unlike": [asdict(entry) for entry in one.unlike],
                "headline": headline(one, found.metric),
                "points_alone": one.alone,
                "points": [point_dict(one, number) for number in range(len(one.rows[found.metric]))],
                "rates": [rates_dict(rates) for rates in one.rates],
                "lost": [asdict(lost) for lost in one.lost],
            }
            for one in found.others
        ],
    }


def markdown(found: Comparison) -> str:
    """The comparison for a pull request; what differs besides the figures comes first."""
    lines = [f"### Against {found.runs[0].identity}"]
    for one in found.others:
        lines += ["", f"#### {one.second.identity}", "", unlike_headline(one)]
        lines += [""] if one.unlike else []
        lines += [f"- {entry.kind} {entry.name}: `{entry.first}` → `{entry.second}`" for entry in one.unlike]
        lines += ["", headline(one, found.metric)]
        lines += markdown_table(
            ("point", found.runs[0].identity, one.second.identity, "ratio", "verdict"),
            shown_rows(one, found.metric),
        )
        lines += [""] if one.alone else []
        lines += [f"- left out: {label}" for label in one.alone]
    if found.threshold is not None:
        lines += ["", threshold_words(found)]
    return "\n".join(lines) + "\n"


def html(found: Comparison) -> str:
    """The comparison as a page."""
    charts = [
        [chart(one, metric, number).as_dict() for metric, rows in one.rows.items() if rows]
        for number, one in enumerate(found.others)
    ]
    sections = [
        {
            "name": one.second.identity,
            "unlike_headline": unlike_headline(one),
            "unlike": one.unlike,
            "headline": headline(one, found.metric),
            "charts": drawn,
            "tables": tables(one),
            "alone": one.alone,
        }
        for one, drawn in zip(found.others, charts, strict=True)
    ]
    return page.html(
        "compare.html",
        {
            "run": {"id": f"{found.runs[0].identity} compared"},
            "first": found.runs[0].identity,
            "sections": sections,
            "state": found.state,
            "threshold_words": threshold_words(found),
            "confidence_words": confidence_words(found.runs),
            "data": {"charts": [one for drawn in charts for one in drawn], "spans": []},
        },
    )


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
    return run.is_sweep and run.sweep.fresh == "shape" and run.sweep.repeats > 1


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


def chart(one: Against, metric: str, number: int) -> Chart:
    """The ratios with their intervals, point by point."""
    rows = [row for row in one.rows[metric] if row.difference is not None]
    known = [row.difference for row in rows if row.difference is not None]
    ends = [interval_shown(found.low, found.high) or (None, None) for found in known]
    trace = Trace(
        "ratio",
        x=[row.second.label for row in rows],
        y=rounded((found.ratio for found in known), 5),
        y_low=rounded((low for low, _ in ends), 5),
        y_high=rounded((high for _, high in ends), 5),
        hollow=[low is None for low, _ in ends],
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
    found = {run.identity: f"{100 * float(run.sweep.confidence):g} %" for run in runs}
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


def write(found: Comparison, *, results_folder: Path | None = None) -> Path:
    """Write the comparison as a page, as Markdown and as JSON, and return their folder."""
    folder = (results_folder or RESULTS) / FOLDER / folder_name(found.runs)
    makers: dict[str, Callable[[], str]] = {
        "compare.html": lambda: html(found),
        "compare.md": lambda: markdown(found),
        "compare.json": lambda: json.dumps(as_dict(found), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
    }
    made = {name: make() for name, make in makers.items()}
    for name, text in made.items():
        atomic.write_text(folder / name, text)
    return folder
