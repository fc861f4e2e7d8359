"""The tables of a report, and the files beside it.

``summary.md`` is for a pull request, ``summary.csv`` has a row per point, ``summary.json`` everything.
"""

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from corda_lab.analysis.conclusions import Analysis
from corda_lab.analysis.metrics import COMPARED, METRICS
from corda_lab.analysis.points import Estimate, Point, known_metrics, measured_metrics
from corda_lab.analysis.significance import PointComparison
from corda_lab.analysis.trends import Trend
from corda_lab.analysis.values import ratio_words, shown, with_interval
from corda_lab.knobs import shape as knobs
from corda_lab.report.charts import LAB_PARTS
from corda_lab.report.facts import machines
from corda_lab.results.folders import SCHEMA
from corda_lab.results.stored import StoredRun
from corda_lab.stats.intervals import CONFIDENCE
from corda_lab.steps.costs import DATABASE
from corda_lab.steps.entry import StepEntry
from corda_lab.text.words import NOT_ANSWERED, amount, milliseconds, size

COSTS = (
    "cpu_seconds_per_flow",
    "allocated_bytes_per_flow",
    "sent_bytes_per_flow",
    "received_bytes_per_flow",
    "disk_written_bytes_per_flow",
    "checkpoints_per_flow",
    "database_bytes_per_flow",
    "database_bytes_per_state",
)
"""The columns of the table of costs."""

TREND_TITLES = ("value", "where", "points", "mean", "per hour", "95 % interval", "trend")

ALL_NODES = "all nodes"
DIFFERENCE_TITLES = ("point", "compared with", "ratio (interval)", "p", "n", "verdict")
UNIT_SUFFIXES = {"ms": "_ms", "flows/s": "_per_second", "states/s": "_per_second", "s": "_seconds"}

Cells = tuple[str, ...]


def cost_of_nodes(point: Point, name: str) -> float | None:
    """A cost of all nodes and their database, which are under test. None if it was measured on none of them."""
    tested = [value for part, value in point.cost(name).items() if part not in LAB_PARTS]
    return sum(tested) if tested else None


def cost_rows(points: Sequence[Point]) -> Iterator[Cells]:
    """The costs of a flow: label, node or other part of the lab, and the values of ``COSTS``.

    The first row of each point is the total of its nodes and their database. Points without any cost are left out.
    """
    for point in points:
        costs = {name: point.cost(name) for name in COSTS}
        if any(costs.values()):
            yield point.label, ALL_NODES, *(shown(cost_of_nodes(point, name), name) for name in COSTS)
        for part in dict.fromkeys(part for by_part in costs.values() for part in by_part):
            yield point.label, part, *(shown(by_part.get(part), name) for name, by_part in costs.items())


def cost_hints(run: StoredRun, points: Sequence[Point]) -> Iterator[str]:
    """What the costs leave out of databases."""
    steps = [step for point in points for step in point.valid]
    on_server = [step for step in steps if run.environment(step).shape["DATABASE"] == "postgres"]
    if not all(DATABASE in step.by_part("cpu_seconds_per_flow") for step in on_server):
        yield "The CPU time of PostgreSQL was not measured, so it looks cheaper than H2, which runs inside the nodes."
    if any(step.database_read == "file" for step in steps):
        yield "H2 lets its file grow in leaps, so its growth in a short run says little."


def values_by_node(step: StepEntry) -> tuple[list[str], list[Cells]]:
    """All values of a step, as titles and rows: title and name of each value; of the whole step; of each part."""
    by_name = {name: metric.by_node(step) if metric.by_node else {} for name, metric in METRICS.items()}
    parts = list(dict.fromkeys(part for by_part in by_name.values() for part in by_part))
    rows = []
    for name, by_part in by_name.items():
        whole = METRICS[name].of(step)
        if whole is not None or by_part:
            values = (whole, *map(by_part.get, parts))
            rows.append((METRICS[name].title, name, *(shown(value, name) for value in values)))
    return ["value", "name", "whole run", *parts], rows


def values_by_point(points: Sequence[Point]) -> tuple[list[str], list[Cells]]:
    """The values that the table of points does not have, as titles and rows. A dash stands for one that is missing."""
    rows = [
        (METRICS[name].title, name, *(shown(point.estimate(name).value, name) for point in points))
        for name in measured_metrics(points)
        if name not in COMPARED
    ]
    return ["value", "name", *(point.label for point in points)], rows


def trend_row(trend: Trend) -> Cells:
    """The cells of a trend, in the order of ``TREND_TITLES``."""
    slope = trend.slope
    interval = f"{_change(trend, slope.low)} to {_change(trend, slope.high)}"
    place, mean = trend.place or "–", _in_unit(trend, trend.mean)
    points = str(len(trend.values))
    return trend.name, place, points, mean, _change(trend, slope.estimate), interval, trend.direction


def _in_unit(trend: Trend, value: float) -> str:
    return {"bytes": size, "ms": milliseconds, "count": amount}[trend.unit](value)


def _change(trend: Trend, per_hour: float) -> str:
    """A slope with its sign, in the unit of the value; then in % of the mean, unless only a few are counted."""
    text = f"{'+' if per_hour >= 0 else '−'}{_in_unit(trend, abs(per_hour))}"
    if trend.mean <= 0 or (trend.unit == "count" and trend.mean < 1):
        return text
    return f"{text} ({100 * per_hour / trend.mean:+.1f} %)".replace("(-", "(−")


def markdown_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a Markdown table, after an empty line."""
    yield from ("", f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}")
    for row in rows:
        escaped = (cell.replace("|", "\\|").replace("\n", " ") for cell in row)
        yield f"| {' | '.join(escaped)} |"


# The files beside a report.


def texts(analysis: Analysis) -> dict[str, str]:
    """The files by their names."""
    return {"summary.md": markdown(analysis), "summary.csv": table(analysis), "summary.json": data(analysis)}


def markdown(analysis: Analysis) -> str:
    run, points = analysis.run, analysis.points
    names = known_metrics(points)
    lines = [f"### {run.identity}", "", analysis.headline, ""]
    lines += [f"- Limit at {label}: {limit}" for label, limit in analysis.limits.items()]
    lines += [f"- ⚠ {note.title}: {note}" for note in analysis.notes]
    rows = []
    for point in points:
        broke = f", {len(point.broken)} broke" if point.broken else ""
        values = (with_interval(point, name) for name in names)
        rows.append([point.label, *values, f"{len(point.valid)} of {len(point.steps)}{broke}"])
    titles = [METRICS[name].title.removeprefix("latency ") for name in names]
    lines += markdown_table(("point", *titles, "valid steps"), rows)
    if run.is_sweep and not analysis.searches and analysis.judged.shown:
        lines += markdown_table(DIFFERENCE_TITLES, [difference_row(pair) for pair in analysis.judged.shown])
    labels_of = {step.index: step.label or step.workload for step in run.steps}
    for index, trends in analysis.trends.items():
        lines += ["", f"**Trends over step {index}:** {labels_of[index]}"]
        lines += markdown_table(TREND_TITLES, [trend_row(trend) for trend in trends])
    environment = run.environment(run.steps[0])
    shapes = knobs.describe_all([known.shape for known in run.manifest.environments])
    lines += ["", f"{shapes}. Commit {environment.git.words}. {machines(environment)}."]
    lines += ["", f"`{run.manifest.command}`"]
    return "\n".join(lines) + "\n"


def difference_row(pair: PointComparison) -> list[str]:
    """The point, the one that it is compared with, ratio, p, repeats of both, and verdict."""
    known = pair.difference
    p = "–" if known is None or known.p_value is None else f"{known.p_value:.3g}"
    repeats = "–" if known is None else f"{known.n_b} / {known.n_a}"
    return [pair.second.label, pair.first.label, ratio_words(pair), p, repeats, pair.verdict]


def table(analysis: Analysis) -> str:
    """The summary as CSV: one row per point, latencies in milliseconds, rates per second. Missing values are empty."""
    parameters = list(dict.fromkeys(name for point in analysis.points for name in point.values))
    names = measured_metrics(analysis.points)
    rows: list[dict[str, Any]] = []
    for point in analysis.points:
        row: dict[str, Any] = {
            "run": analysis.run.identity,
            "workload": point.workload,
            "phase": point.phase,
            "label": point.label,
            **{name: point.values.get(name, "") for name in parameters},
            "steps": len(point.steps),
            "steps_valid": len(point.valid),
            "steps_unsteady": len(point.valid) - len(point.steady),
            "steps_broke": len(point.broken),
            "failed": sum(step.requests.failed for step in point.steps),
            "unknown": sum(step.requests.unknown for step in point.steps),
        }
        for name in names:
            estimate, column = point.estimate(name), column_of(name)
            ends = {"": estimate.value, "_low": estimate.low, "_high": estimate.high}
            row |= {f"{column}{end}": _cell(value) for end, value in ends.items()}
        rows.append(row)
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def column_of(name: str) -> str:
    """The column of a metric in ``summary.csv``. It ends in the unit, unless its name has the unit already."""
    return name if "seconds" in name else f"{name}{UNIT_SUFFIXES.get(METRICS[name].unit, '')}"


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return NOT_ANSWERED if math.isinf(value) else f"{value:.6g}"


def data(analysis: Analysis) -> str:
    run = analysis.run
    content = {
        "schema": SCHEMA,
        "id": run.identity,
        "kind": run.manifest.kind,
        "command": run.manifest.command,
        "headline": analysis.headline,
        "limits": analysis.limits,
        "notes": [asdict(note) for note in analysis.notes],
        "points": [point_data(point) for point in analysis.points],
        "trends": [
            {"step": index, **asdict(trend), "mean": trend.mean, "direction": trend.direction}
            for index, trends in analysis.trends.items()
            for trend in trends
        ],
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def point_data(point: Point) -> dict[str, Any]:
    """A point with every value that it has, its interval, its number of valid steps and its unit, by metric.

    ``steady`` is the same without the unsteady steps, if there are some.
    """
    values = {}
    for name in measured_metrics([point]):
        steady = point.steady_estimate(name)
        values[name] = {
            **estimate_data(point.estimate(name)),
            "unit": METRICS[name].unit,
            **({"steady": estimate_data(steady)} if steady else {}),
        }
    return {
        "label": point.label,
        "workload": point.workload,
        "phase": point.phase,
        "point": point.values,
        "steps": [step.index for step in point.steps],
        "steps_valid": [step.index for step in point.valid],
        "steps_broke": {str(step.index): step.broke for step in point.broken},
        "steps_unsteady": [step.index for step in point.valid if step.unsteady],
        "confidence": CONFIDENCE,
        "values": values,
        "shown": {name: shown(point.estimate(name).value, name) for name in values},
    }


def estimate_data(estimate: Estimate) -> dict[str, Any]:
    """An estimate, with a text for an infinite value."""
    return {**asdict(estimate), "value": NOT_ANSWERED if estimate.value == math.inf else estimate.value}
