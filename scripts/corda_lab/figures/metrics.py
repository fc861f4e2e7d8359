"""The metrics that figures name: their units, which of two values is the better one, and whose definition changed."""

from collections.abc import Iterable, Sequence

from corda_lab.analysis.metrics import METRICS, Metric, metric
from corda_lab.errors import LabError
from corda_lab.figures.repeat import Repeat, RepeatPoint
from corda_lab.figures.schema import FigureFields
from corda_lab.figures.statistics import Better
from lab_workload.names import did_you_mean


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


def versions_of(names: Iterable[str]) -> dict[str, int]:
    """Return the versions of the definitions of metrics, of those whose version is not 1."""
    known = {name: metric_of(name) for name in names}
    return {name: one.version for name, one in known.items() if one is not None and one.version != 1}


def outdated(repeat: Repeat) -> frozenset[str]:
    """Return the metrics of a repeat that were measured by another definition than today's."""
    names = {name for point in repeat.points for name in point.metrics}
    now = versions_of(names)
    return frozenset(name for name in names if repeat.versions.get(name, 1) != now.get(name, 1))


def current_points(repeat: Repeat) -> list[RepeatPoint]:
    """Return the points of a repeat with those values only that were measured by today's definitions."""
    old = outdated(repeat)
    if not old:
        return repeat.points
    return [
        point.model_copy(update={"metrics": {name: value for name, value in point.metrics.items() if name not in old}})
        for point in repeat.points
    ]


def lacking(repeat: Repeat, names: Sequence[str]) -> list[str]:
    """Return the metrics that a repeat does not have: never collected, or measured by an older definition.

    A repeat of which every point broke has no values, and lacks none.
    """
    known = {name for point in repeat.points for name in point.metrics}
    old = outdated(repeat)
    return [name for name in names if name not in known or name in old] if known else []
