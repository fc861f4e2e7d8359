"""The tables of a report whose cells are made of values: costs, bursts, trends, and all values by name."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from corda_lab.analysis import trends, values
from corda_lab.analysis.metrics import COMPARED, METRICS
from corda_lab.analysis.points import Point, measured_metrics
from corda_lab.analysis.trends import Trend
from corda_lab.results.stored import StoredRun
from corda_lab.steps.bursts import CLOCKS
from corda_lab.steps.costs import DATABASE
from corda_lab.steps.entry import BurstsEntry, StepEntry
from corda_lab.text.words import amount, milliseconds, size


@dataclass(frozen=True)
class ValueTable:
    """A table of values. ``columns`` are points, or parts of the lab. A row has a name, a title and its cells."""

    columns: list[str]
    rows: list[tuple[str, str, list[str]]]


def values_by_point(all_points: Sequence[Point]) -> ValueTable:
    """The values that the table of points does not have, of each point. A dash stands for a value that it lacks."""
    rows = [
        (name, METRICS[name].title, [_cell(point.estimate(name).value, name) for point in all_points])
        for name in measured_metrics(all_points)
        if name not in COMPARED
    ]
    return ValueTable([point.label for point in all_points], rows)


def values_by_node(step: StepEntry) -> ValueTable:
    """All values of a step: of the whole step (or all its nodes), and of each part of the lab that has values."""
    by_name = {name: metric.by_node(step) if metric.by_node else {} for name, metric in METRICS.items()}
    parts = list(dict.fromkeys(part for by_part in by_name.values() for part in by_part))
    rows = []
    for name, by_part in by_name.items():
        whole = METRICS[name].of(step)
        if whole is not None or by_part:
            cells = [_cell(value, name) for value in (whole, *(by_part.get(part) for part in parts))]
            rows.append((name, METRICS[name].title, cells))
    return ValueTable(["whole run", *parts], rows)


def _cell(value: float | None, name: str) -> str:
    return "–" if value is None else values.shown(value, name)


COSTS = (
    ("cpu_seconds_per_flow", "CPU per flow", lambda value: f"{amount(1000 * value)} ms"),
    ("allocated_bytes_per_flow", "allocated per flow", size),
    ("sent_bytes_per_flow", "sent per flow", size),
    ("received_bytes_per_flow", "received per flow", size),
    ("disk_written_bytes_per_flow", "to disk per flow", size),
    ("checkpoints_per_flow", "checkpoints per flow", amount),
    ("database_bytes_per_flow", "database per flow", size),
    ("database_bytes_per_state", "database per state", size),
)


def cost_rows(all_points: Sequence[Point]) -> list[dict[str, Any]]:
    """The costs of a flow at each point: the total of the nodes and their database, and the costs by node and lab part.

    Points without any measured cost are left out. A dash stands for a cost that was not measured.
    """
    rows = []
    for point in all_points:
        by_name = {name: values.costs_of(point, name) for name, _, _ in COSTS}
        if not any(by_name.values()):
            continue
        # A cost that was measured on no node is unknown, not zero.
        tested = {name: values.under_test(nodes) for name, nodes in by_name.items()}
        totals = [write(sum(tested[name].values())) if tested[name] else "–" for name, _, write in COSTS]
        nodes = list(dict.fromkeys(node for costs in by_name.values() for node in costs))
        by_node = [
            (node, [write(by_name[name][node]) if node in by_name[name] else "–" for name, _, write in COSTS])
            for node in nodes
        ]
        rows.append({"label": point.label, "totals": totals, "nodes": by_node})
    return rows


def database_hint(run: StoredRun, all_points: Sequence[Point]) -> str:
    """Sentences on what the values say about the databases. Empty if there is nothing to be said."""
    steps = [step for point in all_points for step in point.valid]
    in_server = [step for step in steps if run.environment(step).shape["DATABASE"] == "postgres"]
    hints = []
    if in_server and all(DATABASE in step.costs["cpu_seconds_per_flow"] for step in in_server):
        hints.append("The CPU time of PostgreSQL is measured over the whole load too.")
    elif in_server:
        hints.append(
            "The CPU time of PostgreSQL was not measured and is missing from these values. H2 runs inside the nodes, "
            "so in comparison PostgreSQL looks cheaper than it is."
        )
    if any(step.database_read == "file" for step in steps):
        hints.append(
            "H2 lets its file grow in leaps, so its growth in a short run says little; "
            "`database_size` of a load can measure compacted copies."
        )
    return " ".join(hints)


def burst_rows(bursts: BurstsEntry) -> list[list[str]]:
    """A row for each burst and one for their mean.

    The cells are its number, the requests that failed or have an unknown outcome, the time until the last one had
    started, and then for each clock the total time, the flows per second and the mean latency.
    """
    rows = [
        [str(number), str(burst.failed + burst.unknown), *_burst_cells(partial(getattr, burst))]
        for number, burst in enumerate(bursts.bursts, start=1)
    ]
    return [*rows, ["mean", "", *_burst_cells(bursts.mean)]]


def _burst_cells(value: Callable[[str], float | None]) -> list[str]:
    cells = [_number(value("last_started_seconds"), " s")]
    for prefix in CLOCKS.values():
        cells += [
            _number(value(f"{prefix}total_seconds"), " s"),
            _number(value(f"{prefix}throughput_per_second")),
            milliseconds(value(f"{prefix}latency_mean_ms")),
        ]
    return cells


def _number(value: float | None, unit: str = "") -> str:
    return "–" if value is None else f"{value:,.2f}{unit}"


TREND_TITLES = ("value", "where", "points", "mean", "per hour", "95 % interval", "trend")


def trend_rows(run: StoredRun, step: StepEntry) -> list[tuple[str, ...]]:
    """The rows of the table, in the order of ``TREND_TITLES``. Empty if the measuring window is not long."""
    return [_trend_row(trend) for trend in trends.of_step(run, step)]


def _trend_row(trend: Trend) -> tuple[str, ...]:
    slope = trend.slope
    interval = f"{_change(trend, slope.low)} to {_change(trend, slope.high)}"
    mean = _in_unit(trend, trend.mean)
    points = str(len(trend.values))
    return (trend.name, trend.place or "–", points, mean, _change(trend, slope.estimate), interval, trend.direction)


def _in_unit(trend: Trend, value: float) -> str:
    return {"bytes": size, "ms": milliseconds, "count": amount}[trend.unit](value)


def _change(trend: Trend, per_hour: float) -> str:
    """A slope with its sign, in the unit of the value; then in % of the mean, unless only a few are counted."""
    sign = "+" if per_hour >= 0 else "−"
    text = f"{sign}{_in_unit(trend, abs(per_hour))}"
    if trend.mean <= 0 or (trend.unit == "count" and trend.mean < 1):
        return text
    return f"{text} ({100 * per_hour / trend.mean:+.1f} %)".replace("(-", "(−")


def trends_markdown(run: StoredRun) -> Iterator[str]:
    for step in run.steps:
        if rows := trend_rows(run, step):
            yield from ("", f"**Trends over step {step.index}:** {step.label or step.workload}")
            yield from markdown(TREND_TITLES, rows)


def markdown(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a Markdown table, after an empty line."""
    yield from ("", f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}")
    for row in rows:
        escaped = (cell.replace("|", "\\|").replace("\n", " ") for cell in row)
        yield f"| {' | '.join(escaped)} |"


def trends_data(run: StoredRun) -> list[dict[str, Any]]:
    """The trends of all long steps as JSON: slopes per hour, in the unit of each value."""
    return [
        {
            "step": step.index,
            "name": trend.name,
            "place": trend.place,
            "unit": trend.unit,
            "points": len(trend.values),
            "mean": trend.mean,
            "per_hour": trend.slope.estimate,
            "per_hour_low": trend.slope.low,
            "per_hour_high": trend.slope.high,
            "direction": trend.direction,
        }
        for step in run.steps
        for trend in trends.of_step(run, step)
    ]
