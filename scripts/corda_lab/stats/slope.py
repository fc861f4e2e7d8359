"""The slope of a value over time, with an interval that allows for autocorrelation, and what it says about a bound.

Values of one load that follow each other are alike: what slows the lab down in one minute still does so in the next.
Student's interval of a least-squares line takes each of them for new, and is too narrow. Here their number is reduced
to the *effective sample size* n · (1 − r) / (1 + r), where r is the correlation of neighbouring residuals. Source:
Santer et al. (2000), *Statistical significance of trends and trend differences in layer-average atmospheric temperature
time series*, Journal of Geophysical Research 105. Residuals of a line are less correlated than what they stand for, so
r is corrected by its bias first (Kendall 1954, *Note on Bias in the Estimation of Autocorrelation*, Biometrika 41, with
one more degree of freedom for the slope). ``stats/tests/test_slope.py`` measures the coverage.
"""

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from corda_lab.stats.intervals import CONFIDENCE, t_quantile

POINTS_MIN = 8
"""With fewer points, neither the line nor its residuals say much."""
CORRELATION_MAX = 0.95
EFFECTIVE_MIN = 3.0
"""A line through fewer independent points has no scatter from which an interval could be computed."""


@dataclass(frozen=True)
class Slope:
    """The change of a value per unit of time, with its interval. ``n_effective`` is that of Santer et al."""

    low: float
    estimate: float
    high: float
    n: int
    n_effective: float


def slope_of(times: Sequence[float], values: Sequence[float]) -> Slope | None:
    """The least-squares slope of ``values`` over evenly spaced ``times``, in order, per unit of time.

    None for fewer than ``POINTS_MIN`` points. If all values are on one line, the interval has no width. Raises
    ValueError if the sequences differ in length, or if a number is not finite.
    """
    if len(times) != len(values) or not all(map(math.isfinite, (*times, *values))):
        raise ValueError("a slope needs a finite value for every time")
    n = len(values)
    if n < POINTS_MIN:
        return None
    middle, mean = statistics.fmean(times), statistics.fmean(values)
    spread = sum((time - middle) ** 2 for time in times)
    estimate = sum((time - middle) * (value - mean) for time, value in zip(times, values, strict=True)) / spread
    residuals = [value - mean - estimate * (time - middle) for time, value in zip(times, values, strict=True)]
    squares = sum(residual**2 for residual in residuals)
    if squares <= (1e-12 * max(map(abs, values), default=0.0)) ** 2 * n:
        return Slope(estimate, estimate, estimate, n, float(n))
    correlation = _correlation(residuals, squares)
    effective = max(EFFECTIVE_MIN, n * (1 - correlation) / (1 + correlation))
    error = math.sqrt(squares / (effective - 2) / spread)
    half = t_quantile(CONFIDENCE, effective - 2) * error
    return Slope(estimate - half, estimate, estimate + half, n, effective)


def _correlation(residuals: Sequence[float], squares: float) -> float:
    """The correlation of neighbouring residuals of a line, without its bias, from 0 to ``CORRELATION_MAX``.

    A negative one would narrow the interval, and is taken for chance.
    """
    n = len(residuals)
    found = sum(one * following for one, following in itertools.pairwise(residuals)) / squares
    unbiased = found + (2 + 4 * found) / n
    return min(CORRELATION_MAX, max(0.0, unbiased))
