"""Measured values as text: with their interval, or with the reason why they have none."""

import math

from corda_lab.analysis.metrics import metric
from corda_lab.analysis.points import Point
from corda_lab.analysis.significance import PointComparison
from corda_lab.text.words import amount, milliseconds, per_second, percent, plural, size

INTERVAL_FACTOR_MAX = 10.0
"""An interval is not shown if its ends differ by more than this factor: the point then has too few repeats."""

TOO_FEW_REPEATS = "too few repeats for an interval"


def shown(value: float | None, name: str) -> str:
    """A value of a metric with its unit: ``12.30 flows/s``, ``45.6 ms``, ``1.5 MiB``. None becomes a dash."""
    unit = metric(name).unit
    return f"{bare(value, name)} {unit}" if unit.endswith("/s") and value is not None else bare(value, name)


def bare(value: float | None, name: str) -> str:
    """A value of a metric as ``shown``, but a rate without its unit."""
    match metric(name).unit:
        case "ms":
            return milliseconds(value)
        case "s":
            return milliseconds(None if value is None else 1000 * value)
        case "flows/s" | "states/s":
            return per_second(value)
        case "bytes":
            return size(value)
        case "%":
            return percent(value)
        case unit:
            return amount(value) if value is None or not unit else f"{amount(value)} {unit}"


def interval_shown(low: float | None, high: float | None) -> tuple[float, float] | tuple[None, None]:
    """The ends of an interval; None if there is none, or if it is too wide to be shown."""
    if low is None or high is None or high > INTERVAL_FACTOR_MAX * low:
        return None, None
    return low, high


def interval_words(point: Point, name: str) -> str:
    """``12.0 to 12.6``, or why no interval is shown."""
    estimate = point.estimate(name)
    low, high = interval_shown(estimate.low, estimate.high)
    if low is not None and high is not None:
        return f"{bare(low, name)} to {bare(high, name)}"
    if estimate.low is not None:
        return TOO_FEW_REPEATS
    if point.valid:
        return "no interval" if estimate.n else "–"
    return "broke" if point.broken else "no valid step"


def steady_words(point: Point, name: str) -> str:
    """``12.9 flows/s without 1 unsteady step``; empty if no step is unsteady, or all are."""
    estimate = point.steady_estimate(name)
    if estimate is None:
        return ""
    return f"{shown(estimate.value, name)} without {plural(len(point.valid) - len(point.steady), 'unsteady step')}"


def with_interval(point: Point, name: str) -> str:
    """``12.3 flows/s (12.0 to 12.6, n = 3)``, and the value without unsteady steps if there are some."""
    estimate = point.estimate(name)
    if estimate.value is None:
        return interval_words(point, name)
    if math.isinf(estimate.value):
        return shown(estimate.value, name)
    text = f"{shown(estimate.value, name)} ({interval_words(point, name)}, n = {estimate.n})"
    return ", ".join(filter(None, (text, steady_words(point, name))))


def ratio_words(compared: PointComparison) -> str:
    """``0.82 × (0.78 to 0.86)``."""
    difference = compared.difference
    if difference is None:
        return "cannot be compared"
    ratio = f"{difference.ratio:.2f} ×"
    low, high = difference.low, difference.high
    if low is None or high is None:
        return f"{ratio}, no interval"
    if interval_shown(low, high) == (None, None) and low <= 1 <= high:
        return f"{ratio} ({TOO_FEW_REPEATS})"
    return f"{ratio} ({low:.2f} to {high:.2f})"
