"""Student's t distribution: its tail and its quantile, which is all that intervals and comparisons need of a statistics library.

``docs/decisions.md`` says why there is no scipy. Compared with scipy 1.15, both are right to ten digits for 1 to 100,000 degrees
of freedom.
"""

import math
from functools import lru_cache
from statistics import NormalDist

TERMS_MAX = 1000
NEWTON_STEPS_MAX = 100
TOLERANCE = 1e-14


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22) for x < (a+1)/(a+b+2), by Lentz's method."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, TERMS_MAX):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for coefficient in (even, odd):
            c, d = 1 + coefficient / c, 1 / (1 + coefficient * d)
            fraction *= c * d
        if abs(c * d - 1) < TOLERANCE:
            break
    return fraction


def tail(t: float, freedom: float) -> float:
    """Probability that Student's t with ``freedom`` ≥ 1 degrees of freedom, not necessarily whole, is beyond ±``t``."""
    if t == 0:
        return 1.0
    a, b = freedom / 2, 0.5
    x, rest = freedom / (freedom + t * t), t * t / (freedom + t * t)
    beta_log = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    front = math.exp(-a * math.log1p(t * t / freedom) - beta_log) * math.sqrt(rest)
    if x < (a + 1) / (a + b + 2):
        return front / a * _beta_fraction(x, a, b)
    return 1 - front / b * _beta_fraction(rest, b, a)


def _density(t: float, freedom: float) -> float:
    log_scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    return math.exp(log_scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))


@lru_cache(maxsize=4096)
def quantile(confidence: float, freedom: float) -> float:
    """The t within whose ± Student's t with ``freedom`` ≥ 1 degrees of freedom lies with probability ``confidence``.

    Newton's method from the normal quantile, which lies below: there the tail is convex, so no step overshoots.
    """
    t = NormalDist().inv_cdf((1 + confidence) / 2)
    for _ in range(NEWTON_STEPS_MAX):
        step = (tail(t, freedom) - (1 - confidence)) / (2 * _density(t, freedom))
        t += step
        if abs(step) <= 1e-12 * t:
            break
    return t
