"""The verdict on a claim: where the interval of its statistic lies, and how many more repeats would decide."""

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
NOT_MEASURED = "not measured yet"
"""How a claim is told that no repeat was to measure. Its verdict is *cannot tell*."""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

REPEATS_MIN = 3
"""Fewer repeats hardly show their own scatter, and decide nothing."""
REPEATS_MAX = 100
"""The most repeats that are ever asked for."""

Region = tuple[float, float]
"""Where a claim wants its statistic: the lowest and the highest value, infinite for no end."""

Scale = Literal["logarithms", "values"]
"""``logarithms`` for ratios and levels, which vary by factors; ``values`` for exponents, which are logarithms."""

ROUNDING = 1e-9
"""How far a value may be beyond the end of a region, relative to that end, because numbers are rounded."""


@dataclass(frozen=True)
class Decision:
    """A verdict from repeats.

    ``interval`` is None for fewer than two repeats. ``further`` is how many more repeats decide at the scatter that was
    seen; 0 if it is decided, None if more than ``REPEATS_MAX`` in all would be needed.
    """

    verdict: Verdict
    interval: Interval | None
    n: int
    further: int | None


def decide(values: Sequence[float], region: Region, scale: Scale, confidence: float = CONFIDENCE) -> Decision:
    """Judge the values of a statistic, one of each repeat, by Student's interval.

    The interval is taken on logarithms if the scale asks for it and all values are positive. Raises ValueError if a
    value is infinite or NaN.
    """
    if not all(math.isfinite(value) for value in values):
        raise ValueError(f"not values of a statistic: {values}")
    n = len(values)
    found = interval_of(values, scale, confidence)
    if found is None:
        return Decision(CANNOT_TELL, None, n, REPEATS_MIN - n)
    verdict = verdict_of(found.low, found.high, region)
    if n < REPEATS_MIN or verdict == CANNOT_TELL:
        return Decision(CANNOT_TELL, found, n, _further(values, region, found))
    return Decision(verdict, found, n, 0)


def interval_of(values: Sequence[float], scale: Scale, confidence: float = CONFIDENCE) -> Interval | None:
    """Return Student's interval over repeats; None for fewer than two. Equal values have an interval without width."""
    if len(values) < 2:
        return None
    if min(values) == max(values):
        # Through logarithms and back, 3 becomes 3.0000000000000004, which is outside [3, 3].
        return Interval(values[0], values[0], values[0], confidence, len(values), ON_VALUES)
    if scale == "logarithms" and min(values) >= 0:
        return repeats_interval(values, confidence)
    low, mean, high = around_mean(values, confidence)
    return Interval(low, mean, high, confidence, len(values), ON_VALUES)


def verdict_of(low: float, high: float, region: Region) -> Verdict:
    """Return the verdict on an interval: inside the region, wholly outside of it, or neither."""
    least, most = region[0] - _slack(region[0]), region[1] + _slack(region[1])
    if least <= low and high <= most:
        return HELD
    if high < least or low > most:
        return DID_NOT_HOLD
    return CANNOT_TELL


def agreed(asked: bool, seen: Sequence[bool]) -> Decision:
    """Judge an outcome, such as whether a point broke: every repeat has to agree, at least ``REPEATS_MIN`` of them."""
    n = len(seen)
    if len(set(seen)) > 1:
        return Decision(CANNOT_TELL, None, n, None)
    if n < REPEATS_MIN:
        return Decision(CANNOT_TELL, None, n, REPEATS_MIN - n)
    return Decision(HELD if seen[0] == asked else DID_NOT_HOLD, None, n, 0)


def _slack(end: float) -> float:
    return abs(end) * ROUNDING if math.isfinite(end) else 0.0


def _further(values: Sequence[float], region: Region, found: Interval) -> int | None:
    """Return how many more repeats with the same mean and scatter move the interval to one side."""
    on_logs = found.method == ON_LOGARITHMS
    given = [math.log(value) for value in values] if on_logs else list(values)
    mean, deviation = statistics.fmean(given), statistics.stdev(given)
    for n in range(max(REPEATS_MIN, len(values) + 1), REPEATS_MAX + 1):
        half = t_quantile(found.confidence, n - 1) * deviation / math.sqrt(n)
        low, high = (math.exp(end) if on_logs else end for end in (mean - half, mean + half))
        if verdict_of(low, high, region) != CANNOT_TELL:
            return n - len(values)
    return None
