"""The interval of a figure over the repeats of one point.

Student's t on the logarithms, from two repeats on. It was chosen by measured coverage (``python -m
corda_lab.selftest.interval_coverage``; the table is in ``docs/validation.md``, "Coverage of intervals"). No
bootstrap can do it with few repeats: intervals by percentiles, BCa and expanded percentiles (Hesterberg 2015, *What
Teachers Should Know About the Bootstrap*, The American Statistician 69) never reach beyond the smallest and the largest
repeat, and these two enclose the middle of a symmetric distribution with probability 1 − 2·2⁻ⁿ only: 75 % for three
repeats, 94 % for five. Bootstrap-t has no end for three, because resamples of one value repeated have no spread.
Logarithms, because figures of a benchmark are positive and vary by factors: the interval stays above 0, and the ratio
of two points' estimates is the ratio that a comparison reports.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
ON_LOGARITHMS = "Student's t on logarithms"
ON_VALUES = "Student's t"
LOGARITHM_MAX = 700.0
"""Two wild repeats at a high confidence ask for a longer interval than a float can hold."""


@dataclass(frozen=True)
class Interval:
    """Where the figure lies that endless repeats would have, with this confidence.

    ``estimate`` is the geometric mean of the ``n`` repeats, or their arithmetic mean where the method is ``ON_VALUES``.
    """

    low: float
    estimate: float
    high: float
    confidence: float
    n: int
    method: str


def t_quantile(confidence: float, freedom: float) -> float:
    """The t within whose ± Student's t lies with probability ``confidence``; ``freedom`` need not be a whole number."""
    # What scipy.stats.t.ppf calls, without the 0.4 s of CPU time and 45 MB that importing scipy.stats takes in addition.
    from scipy.special import stdtrit

    return -float(stdtrit(freedom, (1 - confidence) / 2))


def around_mean(values: Sequence[float], confidence: float) -> tuple[float, float, float]:
    """Student's interval (low, mean, high) of the mean of at least two values."""
    mean = statistics.fmean(values)
    half = t_quantile(confidence, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return mean - half, mean, mean + half


def repeats_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval | None:
    """The interval over the repeats of a point; None for fewer than two, which say nothing about how much repeats vary.

    ``values`` are one figure of every valid repeat (throughput, a percentile of latency), none negative. A figure that was 0
    in a repeat (nothing succeeded) has no logarithm: then the interval is Student's on the values themselves, cut off at 0.
    Repeats that are all equal give an interval without width.
    """
    if any(not value >= 0 or math.isinf(value) for value in values):
        raise ValueError(f"not figures of a benchmark: {values}")
    if len(values) < 2:
        return None
    if min(values) > 0:
        ends = around_mean([math.log(value) for value in values], confidence)
        low, estimate, high = (math.exp(max(-LOGARITHM_MAX, min(LOGARITHM_MAX, end))) for end in ends)
        return Interval(low, estimate, high, confidence, len(values), ON_LOGARITHMS)
    low, estimate, high = around_mean(values, confidence)
    return Interval(max(0.0, low), estimate, high, confidence, len(values), ON_VALUES)
