"""The metrics that figures name: their units, and which of two values is the better one."""

from collections.abc import Iterable, Sequence
from typing import Literal

from corda_lab.analysis.metrics import METRICS, Metric, metric
from corda_lab.errors import LabError
from corda_lab.figures.repeat import Repeat
from corda_lab.figures.schema import FigureFields
from lab_workload.names import did_you_mean

Better = Literal["higher", "lower"]


def metric_of(name: str) -> Metric | None:
    """Return a metric by its name, such as ``p95`` or ``cpu_percent.PartyA``; None if there is none."""
    try:
        return metric(name)
    except LabError:
        return None


def metric_problem(name: str) -> str:
    """Return what is wrong with the name of a metric; empty if nothing is."""
    try:
        metric(name)
    except LabError as error:
        base = name.partition(".")[0]
        if base in METRICS:
            return error.message.removeprefix(f"{name}: ")
        hint = did_you_mean(name, METRICS) or f"; choose from {', '.join(METRICS)}"
        return f"there is no metric {name!r}{hint}"
    return ""


def unit_of(name: str) -> str:
    """Return the unit of a metric; empty if it has none."""
    found = metric_of(name)
    return "" if found is None else found.unit


def better_of(name: str) -> Better:
    """Return which of two values of a metric is the better one."""
    found = metric_of(name)
    return "higher" if found is None or found.higher_is_better else "lower"


def metrics_of(figures: Iterable[FigureFields]) -> list[str]:
    """Return the names of all metrics that figures use, in their charts and claims, sorted."""
    return sorted(
        {name for one in figures for name in (one.chart.y, *(name for claim in one.claims for name in claim.metrics))}
    )


def lacking(repeat: Repeat, names: Sequence[str]) -> list[str]:
    """Return the metrics that were never collected for a repeat.

    A repeat of which every point broke has no values, and lacks none.
    """
    known = {name for point in repeat.points for name in point.metrics}
    return [name for name in names if name not in known] if known else []
