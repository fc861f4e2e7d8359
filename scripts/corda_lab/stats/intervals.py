"""The interval of a value over the repeats of one point: Student's t on logarithms, from two repeats on.

The method was chosen by measured coverage (``tests/evidence/interval_coverage.py``; ``docs/validation.md``
has the table, under "Coverage of intervals"). A bootstrap cannot work with few repeats. Percentile, BCa and
expanded-percentile intervals (Hesterberg 2015, *What Teachers Should Know About the Bootstrap*, The American
Statistician 69) never extend beyond the smallest and the largest repeat. These two enclose the middle of a symmetric
distribution with a probability of only 1 − 2·2⁻ⁿ: 75 % for three repeats, 94 % for five. Bootstrap-t is unbounded for
three repeats, because a resample that repeats one value has no spread.

Logarithms are used because the values of a benchmark are positive and vary by factors. The interval stays above 0, and
the ratio of the estimates of two points is the ratio that a comparison reports.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
ON_LOGARITHMS = "Student's t on logarithms"
ON_VALUES = "Student's t"
LOGARITHM_MAX = 700.0
"""Bound of an interval on the logarithmic scale. Two very different repeats at a high confidence overflow a float."""


@dataclass(frozen=True)
class Interval:
    """The range that, at this confidence, contains the value that infinitely many repeats would give.

    ``estimate`` is the geometric mean of the ``n`` repeats, or their arithmetic mean if the method is ``ON_VALUES``.
    """

    low: float
    estimate: float
    high: float
    confidence: float
    n: int
    method: str


def t_quantile(confidence: float, freedom: float) -> float:
    """The t for which Student's t is within ±t with probability ``confidence``. ``freedom`` may be fractional."""
    # scipy.stats.t.ppf calls this function too, but importing scipy.stats costs another 0.4 s of CPU time and 45 MB.
    from scipy.special import stdtrit

    return -float(stdtrit(freedom, (1 - confidence) / 2))


def around_mean(values: Sequence[float], confidence: float) -> tuple[float, float, float]:
    """Student's interval of the mean of at least two values: (low, mean, high)."""
    mean = statistics.fmean(values)
    half = t_quantile(confidence, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return mean - half, mean, mean + half


def repeats_interval(values: Sequence[float]) -> Interval | None:
    """The interval over the repeats of a point. None for fewer than two repeats, which do not show how much they vary.

    ``values`` has one value of each valid repeat (throughput, or a percentile of latency). If a value is 0 (nothing
    succeeded in that repeat), it has no logarithm; the interval is then Student's t on the values themselves, cut off
    at 0. If all values are equal, the interval has no width. Raises ValueError if a value is negative, infinite or NaN.
    """
    if any(not value >= 0 or math.isinf(value) for value in values):
        raise ValueError(f"not values of a benchmark: {values}")
    if len(values) < 2:
        return None
    if min(values) > 0:
        ends = around_mean([math.log(value) for value in values], CONFIDENCE)
        low, estimate, high = (math.exp(max(-LOGARITHM_MAX, min(LOGARITHM_MAX, end))) for end in ends)
        return Interval(low, estimate, high, CONFIDENCE, len(values), ON_LOGARITHMS)
    low, estimate, high = around_mean(values, CONFIDENCE)
    return Interval(max(0.0, low), estimate, high, CONFIDENCE, len(values), ON_VALUES)
