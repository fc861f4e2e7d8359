"""Intervals of a mean over repeats. A thin placeholder for the module of the same name and signatures."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


@dataclass(frozen=True)
class Interval:
    """An estimate with the interval that covers the true value with ``confidence``."""

    low: float
    estimate: float
    high: float
    confidence: float
    n: int
    method: str


def repeats_interval(values: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """The interval of the mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    mean = statistics.fmean(values)
    half = _T95.get(len(values) - 1, 2.0) * statistics.stdev(values) / math.sqrt(len(values))
    return Interval(mean - half, mean, mean + half, confidence, len(values), "Student's t (placeholder)")
