"""The scatter of repeats and its interval, and the trend over them."""

import math
import random

import pytest

from corda_lab.stats.scatter import scatter_of, trend_of


def repeats(source: random.Random, count: int, deviation: float, slope: float = 0.0) -> list[float]:
    return [10.0 * math.exp(source.gauss(0, deviation) + slope * number) for number in range(count)]


def test_the_coefficient_of_variation_of_a_small_scatter_is_deviation_by_mean() -> None:
    values = [9.8, 10.0, 10.2, 9.9, 10.1]
    seen = scatter_of(values)
    assert seen is not None
    assert seen.cv == pytest.approx(math.sqrt(0.025) / 10, rel=0.01)
    assert seen.low < seen.cv < seen.high
    assert seen.n == 5
    # Four degrees of freedom: chi-squared from 0.4844 to 11.143.
    assert seen.deviation_high / seen.deviation == pytest.approx(math.sqrt(4 / 0.4844), rel=1e-3)
    assert seen.low / seen.cv == pytest.approx(math.sqrt(4 / 11.143), rel=1e-3)


def test_its_interval_contains_the_truth_in_95_of_100_cases() -> None:
    source, deviation, found = random.Random(1), 0.05, 0
    truth = math.sqrt(math.expm1(deviation**2))
    for _ in range(2000):
        seen = scatter_of(repeats(source, 10, deviation))
        assert seen is not None
        found += seen.low <= truth <= seen.high
    assert found / 2000 == pytest.approx(0.95, abs=0.015)


def test_a_single_repeat_has_no_scatter_and_equal_ones_none() -> None:
    assert scatter_of([10.0]) is None
    same = scatter_of([10.0, 10.0, 10.0])
    assert same is not None
    assert (same.cv, same.low, same.high) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_values_that_are_not_those_of_a_benchmark_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="no scatter"):
        scatter_of([10.0, value])
    with pytest.raises(ValueError, match="no trend"):
        trend_of([(1, 10.0), (2, value), (3, 10.0)])


def test_two_very_different_repeats_have_a_finite_interval() -> None:
    seen = scatter_of([1.0, 1e6])
    assert seen is not None
    assert math.isfinite(seen.high)


def test_the_trend_is_the_change_from_one_repeat_to_the_next() -> None:
    seen = trend_of([(number, 10.0 * 1.02**number) for number in (1, 2, 4, 5)])
    assert seen is not None
    assert seen.per_repeat == pytest.approx(0.02)
    assert seen.is_seen
    assert trend_of([(1, 10.0), (2, 20.0)]) is None


def test_no_trend_is_seen_in_95_of_100_cases_without_one_and_a_warm_up_is() -> None:
    source = random.Random(2)

    def seen(slope: float) -> int:
        found = 0
        for _ in range(1000):
            trend = trend_of(list(enumerate(repeats(source, 10, 0.03, slope), start=1)))
            assert trend is not None
            found += trend.is_seen
        return found

    assert seen(0.0) / 1000 == pytest.approx(0.05, abs=0.02)
    assert seen(0.03) / 1000 > 0.99
