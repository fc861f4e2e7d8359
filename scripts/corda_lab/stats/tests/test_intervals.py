"""The interval over repeats, by hand and by how often it holds."""

import math
import random

import pytest

from corda_lab.stats.intervals import ON_LOGARITHMS, ON_VALUES, around_mean, repeats_interval, t_quantile


@pytest.mark.parametrize(
    ("confidence", "freedom", "printed"),
    [
        (0.95, 1, 12.706),
        (0.95, 2, 4.303),
        (0.95, 4, 2.776),
        (0.95, 9, 2.262),
        (0.95, 120, 1.980),
        (0.99, 2, 9.925),
        (0.99, 30, 2.750),
        (0.90, 5, 2.015),
        (0.999, 1, 636.619),
    ],
)
def test_quantiles_are_those_of_the_printed_tables(confidence: float, freedom: float, printed: float) -> None:
    assert round(t_quantile(confidence, freedom), 3) == printed


def test_the_interval_of_a_mean_is_the_textbook_s() -> None:
    # Mean 12, standard deviation 2, four values: 12 ± 3.18245 * 2 / √4.
    values = [12 - math.sqrt(6), 12.0, 12.0, 12 + math.sqrt(6)]
    assert around_mean(values, 0.95) == pytest.approx((12 - 3.18245, 12, 12 + 3.18245), rel=1e-6)


def test_is_student_s_interval_of_the_logarithms() -> None:
    interval = repeats_interval([math.exp(value) for value in (1, 2, 3)])
    assert interval is not None
    # Mean 2, standard deviation 1, three values: 2 ± 4.30265 / √3.
    half = 4.30265 / math.sqrt(3)
    assert (interval.low, interval.high) == pytest.approx((math.exp(2 - half), math.exp(2 + half)), rel=1e-5)
    assert interval.estimate == pytest.approx(math.exp(2))
    assert (interval.n, interval.confidence, interval.method) == (3, 0.95, ON_LOGARITHMS)


@pytest.mark.parametrize("values", [[], [7.5]])
def test_fewer_than_two_repeats_have_no_interval(values: list[float]) -> None:
    assert repeats_interval(values) is None


def test_a_repeat_without_successes_leaves_an_interval_that_ends_at_zero() -> None:
    interval = repeats_interval([0.0, 3.0, 6.0])
    assert interval is not None
    assert (interval.low, interval.estimate, interval.method) == (0.0, 3.0, ON_VALUES)
    assert interval.high == pytest.approx(3 + 4.30265 * 3 / math.sqrt(3), rel=1e-5)
    nothing = repeats_interval([0.0, 0.0])
    assert nothing is not None
    assert (nothing.low, nothing.estimate, nothing.high) == (0, 0, 0)


def test_two_wild_repeats_do_not_overflow() -> None:
    interval = repeats_interval([1e-150, 1e150])
    assert interval is not None
    assert 0 < interval.low < interval.estimate < interval.high < math.inf


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_refuses_what_no_benchmark_shows(value: float) -> None:
    with pytest.raises(ValueError, match="not values"):
        repeats_interval([1.0, value])


@pytest.mark.parametrize("n", [2, 3, 5, 10])
@pytest.mark.parametrize("cv", [0.03, 0.15])
def test_covers_the_true_mean_as_often_as_it_says(n: int, cv: float) -> None:
    source, sigma, held, simulations = random.Random(20), math.sqrt(math.log1p(cv * cv)), 0, 4000
    for _ in range(simulations):
        interval = repeats_interval([source.lognormvariate(0, sigma) for _ in range(n)])
        assert interval is not None
        # Held to the arithmetic mean, not to the geometric one, which it is made for.
        held += interval.low <= math.exp(sigma * sigma / 2) <= interval.high
    assert held / simulations == pytest.approx(0.95, abs=0.012)
