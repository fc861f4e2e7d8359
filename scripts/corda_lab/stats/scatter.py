"""How much repeats of one load vary, and whether they change in the order in which they were made.

Both are computed on logarithms, like the intervals of a point (``stats.intervals``): values of a benchmark are
positive, and what disturbs them acts in proportion.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from corda_lab.stats.intervals import CONFIDENCE, t_quantile

SCATTER_REPEATS_MIN = 2
TREND_REPEATS_MIN = 3


@dataclass(frozen=True)
class Scatter:
    """The coefficient of variation over ``n`` repeats, a share of the mean, with its interval.

    ``deviation`` is the standard deviation of the logarithms, which ``stats.power`` takes; ``deviation_high`` is the
    upper end of its interval. For a small scatter, both are about the same as the coefficient of variation.
    """

    cv: float
    low: float
    high: float
    deviation: float
    deviation_high: float
    n: int


@dataclass(frozen=True)
class Trend:
    """The change from one repeat to the next, a share, with its interval: 0.01 if each is 1 % higher than the last."""

    per_repeat: float
    low: float
    high: float

    @property
    def is_seen(self) -> bool:
        """Whether the interval leaves out that nothing changes."""
        return self.low > 0 or self.high < 0


def scatter_of(values: Sequence[float], confidence: float = CONFIDENCE) -> Scatter | None:
    """The scatter of repeats, by the chi-squared distribution of the variance of their logarithms.

    None for fewer than two repeats. Raises ValueError if a value is not positive and finite.
    """
    from scipy.special import chdtri  # see intervals.t_quantile

    if any(not 0 < value < math.inf for value in values):
        raise ValueError(f"no scatter of {values}")
    if len(values) < SCATTER_REPEATS_MIN:
        return None
    freedom = len(values) - 1
    deviation = statistics.stdev([math.log(value) for value in values])
    # chdtri gives the value that chi-squared exceeds with this probability.
    low, high = (
        deviation * math.sqrt(freedom / float(chdtri(freedom, exceeded)))
        for exceeded in ((1 - confidence) / 2, (1 + confidence) / 2)
    )
    return Scatter(_cv(deviation), _cv(low), _cv(high), deviation, high, len(values))


def _cv(deviation: float) -> float:
    """The coefficient of variation of a log-normal distribution whose logarithm has this standard deviation."""
    # With few repeats the upper end may be so large that the exponential overflows.
    return math.sqrt(math.expm1(min(deviation**2, 700.0)))


def trend_of(values: Sequence[tuple[int, float]], confidence: float = CONFIDENCE) -> Trend | None:
    """The least-squares line through the logarithms of repeats, given as (number, value) in the order of their time.

    The interval is Student's t of the slope. None for fewer than three repeats, which lie on a line by chance. Raises
    ValueError if a value is not positive and finite.
    """
    if any(not 0 < value < math.inf for _, value in values):
        raise ValueError(f"no trend of {values}")
    if len(values) < TREND_REPEATS_MIN:
        return None
    numbers = [float(number) for number, _ in values]
    logs = [math.log(value) for _, value in values]
    slope, intercept = statistics.linear_regression(numbers, logs)
    rest = sum((log - intercept - slope * number) ** 2 for number, log in zip(numbers, logs, strict=True))
    middle = statistics.fmean(numbers)
    spread = sum((number - middle) ** 2 for number in numbers)
    error = math.sqrt(rest / (len(values) - 2) / spread)
    half = t_quantile(confidence, len(values) - 2) * error
    return Trend(math.expm1(slope), math.expm1(slope - half), math.expm1(slope + half))
