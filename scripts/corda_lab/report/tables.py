"""The tables of a report whose cells need more than a format: costs, trends, and all values of a step by node."""

from collections.abc import Iterator, Sequence

from corda_lab.analysis.metrics import COMPARED, METRICS
from corda_lab.analysis.points import Point, measured_metrics
from corda_lab.analysis.trends import Trend
from corda_lab.analysis.values import shown
from corda_lab.report.charts import LAB_PARTS
from corda_lab.results.stored import StoredRun
from corda_lab.steps.costs import DATABASE
from corda_lab.steps.entry import StepEntry
from corda_lab.text.words import amount, milliseconds, size

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


def markdown(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a Markdown table, after an empty line."""
    yield from ("", f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}")
    for row in rows:
        escaped = (cell.replace("|", "\\|").replace("\n", " ") for cell in row)
        yield f"| {' | '.join(escaped)} |"
