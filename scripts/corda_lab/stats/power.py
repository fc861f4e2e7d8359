"""How many repeats it takes to see a difference: the power of the tests in ``stats.difference``."""

import math
from typing import Literal

from corda_lab.stats.intervals import CONFIDENCE, t_quantile

POWER = 0.8
"""Probability with which a difference of the given size is to be seen, if it exists."""

REPEATS_MIN = 3
"""Two repeats hardly show their own scatter, so fewer than three are never recommended."""
REPEATS_MAX = 1000

SHIFT_MAX = 12.0
"""A difference of so many standard errors beyond the limit is always seen. scipy's function fails far above that."""

Design = Literal["paired", "independent"]
"""Whether the repeats of two points are compared in pairs, or all repeats of one with all of the other."""


def power_of(repeats: int, scatter: float, change: float, design: Design, confidence: float = CONFIDENCE) -> float:
    """The probability that ``repeats`` of each point show a difference, at ``confidence``, two-sided.

    ``scatter`` is the standard deviation of the logarithm of what is averaged: for a paired design, of the ratio within
    a pair; otherwise, of a single repeat. ``change`` is the true ratio minus 1: 0.05 for 5 % more, -0.05 for 5 % less.
    Raises ValueError for fewer than ``REPEATS_MIN`` repeats, or a scatter that is not positive.
    """
    from scipy.special import nctdtr  # see t_quantile

    if repeats < REPEATS_MIN or scatter <= 0:
        raise ValueError(f"no power with {repeats} repeats and a scatter of {scatter}")
    error = scatter * math.sqrt((1 if design == "paired" else 2) / repeats)
    freedom = repeats - 1 if design == "paired" else 2 * repeats - 2
    shift, limit = abs(math.log1p(change)) / error, t_quantile(confidence, freedom)
    if shift > limit + SHIFT_MAX:
        return 1.0
    # The two tails. By symmetry, the lower one is the upper one of the opposite shift.
    return float(2 - nctdtr(freedom, shift, limit) - nctdtr(freedom, -shift, limit))


def repeats_needed(
    scatter: float, change: float, design: Design, *, confidence: float = CONFIDENCE, power: float = POWER
) -> int | None:
    """The fewest repeats of each point that show a difference with probability ``power``; None above ``REPEATS_MAX``.

    The arguments are those of ``power_of``. Without any scatter, the fewest are enough.
    """
    if scatter == 0:
        return REPEATS_MIN
    low, high = REPEATS_MIN, REPEATS_MAX
    if power_of(high, scatter, change, design, confidence) < power:
        return None
    while low < high:
        middle = (low + high) // 2
        if power_of(middle, scatter, change, design, confidence) >= power:
            high = middle
        else:
            low = middle + 1
    return low
