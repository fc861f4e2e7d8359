"""The verdict on numbers: where the interval of a statistic lies, and how many more repeats would decide."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from corda_lab.stats.intervals import (
    CONFIDENCE,
    ON_LOGARITHMS,
    ON_VALUES,
    Interval,
    around_mean,
    repeats_interval,
    t_quantile,
)

Verdict = Literal["held", "did not hold", "cannot tell", "not testable here"]
HELD: Verdict = "held"
DID_NOT_HOLD: Verdict = "did not hold"
CANNOT_TELL: Verdict = "cannot tell"
NOT_TESTABLE: Verdict = "not testable here"
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

Region = tuple[float, float]
"""Where a claim wants its statistic: the lowest and the highest value, infinite for no end."""

REPEATS_MIN = 3
"""Fewer repeats hardly show their own scatter, and decide nothing."""
REPEATS_MAX = 100
"""The most repeats that are ever asked for."""
ROUNDING = 1e-9
"""How far a value may be beyond the end of a region, relative to that end, because numbers are rounded."""

Scale = Literal["logarithms", "values"]
"""``logarithms`` for ratios and levels, which vary by factors; ``values`` for exponents, which are logarithms."""


@dataclass(frozen=True)
class Decision:
    """A verdict from ``n`` repeats.

    ``interval`` is None for fewer than two repeats, and for an outcome. ``further`` is how many more repeats decide at
    the scatter seen; 0 if it is decided, None if more than ``REPEATS_MAX`` in all would be needed.
    """

    verdict: Verdict
    interval: Interval | None
    n: int
    further: int | None


def decide(values: Sequence[float], region: Region, scale: Scale) -> Decision:
    """Judge the values of a statistic, one of each repeat, by Student's interval.

    Raises ValueError if a value is infinite or NaN.
    """
    if not all(math.isfinite(value) for value in values):
        raise ValueError(f"not values of a statistic: {values}")
    n = len(values)
    interval = interval_of(values, scale)
    if interval is None:
        return Decision(CANNOT_TELL, None, n, REPEATS_MIN - n)
    verdict = verdict_of(interval.low, interval.high, region)
    if n < REPEATS_MIN or verdict == CANNOT_TELL:
        return Decision(CANNOT_TELL, interval, n, _further(values, region, interval))
    return Decision(verdict, interval, n, 0)


def interval_of(values: Sequence[float], scale: Scale = "logarithms") -> Interval | None:
    """Return Student's interval over repeats; None for fewer than two. Equal values have an interval without width.

    It is taken on logarithms if the scale asks for it and no value is negative.
    """
    if len(values) < 2:
        return None
    if min(values) == max(values):
        # Through logarithms and back, 3 becomes 3.0000000000000004, which is outside [3, 3].
        return Interval(values[0], values[0], values[0], CONFIDENCE, len(values), ON_VALUES)
    if scale == "logarithms" and min(values) >= 0:
        return repeats_interval(values)
    return Interval(*around_mean(values, CONFIDENCE), CONFIDENCE, len(values), ON_VALUES)


def verdict_of(low: float, high: float, region: Region) -> Verdict:
    """Return the verdict on an interval: inside the region, wholly outside of it, or neither."""
    least, most = (end + sign * abs(end) * ROUNDING for end, sign in zip(region, (-1, 1), strict=True))
    if least <= low and high <= most:
        return HELD
    return DID_NOT_HOLD if high < least or low > most else CANNOT_TELL


def _further(values: Sequence[float], region: Region, interval: Interval) -> int | None:
    """Return how many more repeats with the same mean and scatter move the interval to one side."""
    on_logs = interval.method == ON_LOGARITHMS
    given = [math.log(value) for value in values] if on_logs else values
    mean, deviation = statistics.fmean(given), statistics.stdev(given)
    for n in range(max(REPEATS_MIN, len(values) + 1), REPEATS_MAX + 1):
        half = t_quantile(CONFIDENCE, n - 1) * deviation / math.sqrt(n)
        low, high = (math.exp(end) if on_logs else end for end in (mean - half, mean + half))
        if verdict_of(low, high, region) != CANNOT_TELL:
            return n - len(values)
    return None


def agree(as_asked: Sequence[bool]) -> Decision:
    """Judge an outcome, such as whether a point broke: every repeat has to agree, at least ``REPEATS_MIN`` of them."""
    n = len(as_asked)
    if len(set(as_asked)) > 1:
        return Decision(CANNOT_TELL, None, n, None)
    if n < REPEATS_MIN:
        return Decision(CANNOT_TELL, None, n, REPEATS_MIN - n)
    return Decision(HELD if as_asked[0] else DID_NOT_HOLD, None, n, 0)
