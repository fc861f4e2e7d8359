"""Slopes over time: exact lines, and the coverage of the interval for correlated values."""

import random
from collections.abc import Iterator

import pytest

from corda_lab.stats.slope import POINTS_MIN, slope_of

SERIES = 600


def correlated(source: random.Random, n: int, correlation: float) -> Iterator[float]:
    """Yield a stationary first-order autoregression with standard deviation 1."""
    value = source.gauss(0, 1)
    for _ in range(n):
        yield value
        value = correlation * value + source.gauss(0, (1 - correlation**2) ** 0.5)


def test_a_straight_line_is_found_exactly() -> None:
    found = slope_of([0.0, *range(1, 12)], [5 + 0.25 * time for time in range(12)])
    assert found is not None
    assert (found.low, found.estimate, found.high) == pytest.approx((0.25, 0.25, 0.25))


def test_a_value_that_never_changes_has_no_slope_and_no_doubt() -> None:
    found = slope_of(range(24), [7.0] * 24)
    assert found is not None
    assert (found.low, found.high) == (0.0, 0.0)


def test_too_few_points_tell_nothing() -> None:
    assert slope_of(range(POINTS_MIN - 1), range(POINTS_MIN - 1)) is None
    with pytest.raises(ValueError, match="finite value for every time"):
        slope_of([1.0, 2.0], [1.0])


# Without the effective sample size, 95 % intervals of 120 values with a correlation of 0.6 cover a third less.
@pytest.mark.parametrize(("n", "correlation"), [(24, 0.0), (24, 0.5), (120, 0.0), (120, 0.3), (120, 0.6)])
def test_the_interval_covers_the_true_slope_of_correlated_values(n: int, correlation: float) -> None:
    source, true = random.Random(n), 0.01
    covered = 0
    for _ in range(SERIES):
        noise = correlated(source, n, correlation)
        found = slope_of(range(n), [100 + true * time + value for time, value in zip(range(n), noise, strict=True)])
        assert found is not None
        covered += found.low <= true <= found.high
    assert covered / SERIES >= 0.92


def test_correlated_values_count_as_fewer() -> None:
    source = random.Random(1)
    alone, alike = (slope_of(range(200), list(correlated(source, 200, share))) for share in (0.0, 0.8))
    assert alone is not None
    assert alike is not None
    assert alike.n_effective < 0.5 * alone.n_effective
    assert alike.high - alike.low > alone.high - alone.low
