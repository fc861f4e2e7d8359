"""Measured values as text: with their interval, or with the reason why they have none."""

import math

from corda_lab.analysis import metrics
from corda_lab.analysis.points import Estimate, Point
from corda_lab.analysis.saturation import by_node as node_means
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.reasons import sentences
from corda_lab.text.words import amount, milliseconds, per_second, percent, plural, size


def shown(value: float | None, metric: str) -> str:
    """A value of a metric with its unit: ``12.30 flows/s``, ``45.6 ms``, ``1.5 MiB``. None becomes a dash."""
    unit = metrics.metric(metric).unit
    return f"{bare(value, metric)} {unit}" if unit.endswith("/s") else bare(value, metric)


def bare(value: float | None, metric: str) -> str:
    """A value of a metric as ``shown``, but a rate without its unit."""
    match metrics.metric(metric).unit:
        case "ms":
            return milliseconds(value)
        case "flows/s" | "states/s":
            return per_second(value)
        case "bytes":
            return size(value)
        case "%":
            return percent(value)
        case unit:
            return amount(value) if value is None or not unit else f"{amount(value)} {unit}"


def with_unit(value: float | None, metric: str) -> tuple[str, str]:
    """A value as ``shown``, as (text, unit): ``("45.6", "ms")``, ``("1.23", "s")``. None is ``("–", "")``."""
    if value is None:
        return "–", ""
    if math.isinf(value):
        return shown(value, metric), ""
    text, _, unit = shown(value, metric).partition(" ")
    return text, unit


def without_value(point: Point) -> str:
    """The text for a point without a value: it broke, has no valid step, or (a dash) no latency as no flow ended."""
    if point.valid:
        return "–"
    return "broke" if point.broken else "no valid step"


INTERVAL_FACTOR_MAX = 10.0
"""An interval is not shown if its ends differ by more than this factor: the point then has too few repeats."""

TOO_FEW_REPEATS = "too few repeats for an interval"


def interval_shown(low: float | None, high: float | None) -> tuple[float, float] | None:
    """The ends of an interval; None if there is none, or if it is too wide to be shown."""
    if low is None or high is None or high > INTERVAL_FACTOR_MAX * low:
        return None
    return low, high


def interval_words(found: Estimate, metric: str) -> str:
    """``12.0 to 12.6``, or why no interval is shown."""
    ends = interval_shown(found.low, found.high)
    if ends is None:
        return "no interval" if found.low is None else TOO_FEW_REPEATS
    low, high = (bare(value, metric) for value in ends)
    return f"{low} to {high}"


def steady_words(point: Point, metric: str) -> str:
    """``12.9 flows/s without 1 unsteady step``; empty if no step is unsteady, or all are."""
    found = point.steady_estimate(metric)
    if found is None:
        return ""
    return f"{shown(found.value, metric)} without {plural(len(point.valid) - len(point.steady), 'unsteady step')}"


def with_interval(point: Point, metric: str) -> str:
    """``12.3 flows/s (12.0 to 12.6, n = 3)``, and the value without unsteady steps if there are some."""
    found = point.estimate(metric)
    if found.value is None:
        return without_value(point)
    if math.isinf(found.value):
        return shown(found.value, metric)
    without = steady_words(point, metric)
    return f"{_with_interval(found, metric)}{f', {without}' if without else ''}"


def _with_interval(found: Estimate, metric: str) -> str:
    count, interval = f"n = {found.n}", interval_words(found, metric)
    is_known = interval_shown(found.low, found.high) is not None
    return f"{shown(found.value, metric)} ({', '.join([interval, count] if is_known else [count, interval])})"


def step_holds(step: StepEntry) -> bool:
    """Whether a step is valid and keeps the thresholds."""
    return bool(step.validity.valid and step.thresholds.passed)


def why(step: StepEntry) -> str:
    """Why a step is invalid or misses a threshold; empty if neither is so."""
    return "; ".join(sentences([*step.validity.reasons, *step.thresholds.reasons]))


def stage_means(point: Point) -> dict[str, float]:
    """Mean milliseconds of each stage over the valid steps of a point, with start and end. Empty without stage rows."""
    per_step = []
    for step in point.valid:
        tables = step.stages.flows if not step.stages.reason else []
        total = sum(table.rows for table in tables)
        if not total:
            continue
        sums: dict[str, float] = {}
        for table in tables:
            lines = {
                "start": table.start_ms.mean,
                **{line.stage: line.mean_ms for line in table.stages},
                "end": table.end_ms.mean,
            }
            for stage, value in lines.items():
                sums[stage] = sums.get(stage, 0.0) + (value or 0.0) * table.rows / total
        per_step.append(sums)
    return node_means(per_step)


def costs_of(point: Point, name: str) -> dict[str, float]:
    """Mean of one cost over the valid steps of a point, by node. Empty if it could not be measured."""
    return node_means([step.costs[name] for step in point.valid if step.costs.get(name)])


LAB_PARTS = ("bridge", "locust", "prometheus")
"""Parts of the lab that use CPU time and are not under test."""


def under_test(costs: dict[str, float]) -> dict[str, float]:
    """The costs of the nodes and their database, without the lab's own parts."""
    return {name: value for name, value in costs.items() if name not in LAB_PARTS}
