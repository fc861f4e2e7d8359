"""The trends of long loads in a report and in the summaries: a row for each value that was watched."""

from collections.abc import Iterator
from typing import Any

from corda_lab.analysis import trends
from corda_lab.analysis.trends import Trend
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import StepEntry
from corda_lab.text.words import amount, milliseconds, size

TITLES = ("value", "where", "points", "mean", "per hour", "95 % interval", "trend")


def rows(run: StoredRun, step: StepEntry) -> list[tuple[str, ...]]:
    """The rows of the table, in the order of ``TITLES``. Empty if the measuring window of the step is not long."""
    return [_row(trend) for trend in trends.of_step(run, step)]


def _row(trend: Trend) -> tuple[str, ...]:
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


def markdown(run: StoredRun) -> Iterator[str]:
    """The lines of the tables in ``summary.md``: one for each long step."""
    for step in run.steps:
        if found := rows(run, step):
            yield from ("", f"**Trends over step {step.index}:** {step.label or step.workload}", "")
            yield f"| {' | '.join(TITLES)} |"
            yield f"|{'---|' * len(TITLES)}"
            yield from (f"| {' | '.join(row)} |" for row in found)


def data(run: StoredRun) -> list[dict[str, Any]]:
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
