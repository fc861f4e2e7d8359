"""Verdicts by where the interval lies, and how many more repeats would decide."""

import math
import random

import pytest
from scipy import stats

from corda_lab.figures.verdict import (
    CANNOT_TELL,
    DID_NOT_HOLD,
    HELD,
    REPEATS_MAX,
    REPEATS_MIN,
    Region,
    Verdict,
    agree,
    decide,
    interval_of,
    verdict_of,
)

INF = math.inf


@pytest.mark.parametrize("seed", range(20))
def test_intervals_are_those_of_scipy(seed: int) -> None:
    source = random.Random(seed)
    values = [source.lognormvariate(0, 0.3) for _ in range(source.randint(2, 8))]
    plain = interval_of(values, "values")
    on_logs = interval_of(values, "logarithms")
    assert plain is not None
    assert on_logs is not None
    logs = [math.log(value) for value in values]
    n = len(values)
    expected = stats.t.interval(0.95, n - 1, loc=sum(values) / n, scale=stats.sem(values))
    assert (plain.low, plain.high) == pytest.approx(expected)
    expected = stats.t.interval(0.95, n - 1, loc=sum(logs) / n, scale=stats.sem(logs))
    assert (math.log(on_logs.low), math.log(on_logs.high)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("low", "high", "region", "verdict"),
    [
        (0.8, 1.2, (0.7, 1.3), HELD),
        (0.7, 1.3, (0.7, 1.3), HELD),
        (0.69, 1.2, (0.7, 1.3), CANNOT_TELL),
        (0.8, 1.31, (0.7, 1.3), CANNOT_TELL),
        (0.1, 9, (0.7, 1.3), CANNOT_TELL),
        (0.1, 0.69, (0.7, 1.3), DID_NOT_HOLD),
        (0.1, 0.7, (0.7, 1.3), CANNOT_TELL),
        (1.31, 9, (0.7, 1.3), DID_NOT_HOLD),
        (2.1, 900, (2, INF), HELD),
        (1.9, 900, (2, INF), CANNOT_TELL),
        (1.1, 1.9, (2, INF), DID_NOT_HOLD),
        (-9, 0.5, (-INF, 1.5), HELD),
        (1.6, 2, (-INF, 1.5), DID_NOT_HOLD),
        (4, 4, (4, 4), HELD),
        (0.3 - 1e-16, 0.1 + 0.2, (0.3, 0.3), HELD),
        (5, 5, (4, 4), DID_NOT_HOLD),
    ],
)
def test_inside_outside_or_neither(low: float, high: float, region: Region, verdict: Verdict) -> None:
    assert verdict_of(low, high, region) == verdict


def test_three_repeats_decide_and_two_do_not() -> None:
    assert decide([3.0, 3.1, 3.2], (2, INF), "logarithms").verdict == HELD
    two = decide([3.1, 3.1], (2, INF), "logarithms")
    assert (two.verdict, two.further, two.n) == (CANNOT_TELL, 1, 2)


@pytest.mark.parametrize(("values", "further"), [([], 3), ([3.0], 2)])
def test_without_an_interval_the_fewest_repeats_are_asked_for(values: list[float], further: int) -> None:
    found = decide(values, (2, INF), "logarithms")
    assert (found.verdict, found.interval, found.further) == (CANNOT_TELL, None, further)


def test_equal_repeats_are_exact() -> None:
    # exp(log(3)) is 3.0000000000000004.
    found = decide([3.0, 3.0, 3.0], (3, 3), "logarithms")
    assert found.verdict == HELD
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == (3, 3)


def test_an_exponent_may_be_negative_and_a_level_zero() -> None:
    assert decide([-1.2, -1.25, -1.3], (-INF, -0.5), "values").verdict == HELD
    assert decide([0.0, 0.0, 0.1], (0, 1), "logarithms").verdict == HELD
    assert decide([-0.1, 0.0, 0.1], (-1, 1), "logarithms").verdict == HELD


@pytest.mark.parametrize("seed", range(20))
def test_so_many_more_repeats_with_this_mean_and_scatter_decide_and_one_fewer_do_not(seed: int) -> None:
    source = random.Random(seed)
    region = (0.95, 1.05)
    # A mean that is inside, and a scatter that is too large for so few.
    given = [source.gauss(0, 1) for _ in range(source.randint(3, 5))]
    middle, spread = sum(given) / len(given), stats.tstd(given)
    values = [1.01 + 0.04 * (value - middle) / spread for value in given]
    found = decide(values, region, "values")
    assert found.further is not None
    n, mean = len(values), sum(values) / len(values)
    deviation = stats.tstd(values)

    def verdict(repeats: int) -> Verdict:
        half = stats.t.ppf(0.975, repeats - 1) * deviation / math.sqrt(repeats)
        return verdict_of(mean - half, mean + half, region)

    assert found.further >= 1
    assert verdict(n + found.further) != CANNOT_TELL
    assert all(verdict(repeats) == CANNOT_TELL for repeats in range(n, n + found.further))


def test_a_mean_on_the_end_of_the_region_is_never_decided() -> None:
    found = decide([0.9, 1.0, 1.1], (1.0, INF), "values")
    assert (found.verdict, found.further) == (CANNOT_TELL, None)
    assert REPEATS_MAX >= 100


def test_values_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="not values of a statistic"):
        decide([1.0, math.nan, 1.0], (0, 1), "values")


@pytest.mark.parametrize(
    ("asked", "seen", "verdict", "further"),
    [
        (True, [True] * 3, HELD, 0),
        (False, [False] * 4, HELD, 0),
        (True, [False] * 3, DID_NOT_HOLD, 0),
        (False, [True] * 3, DID_NOT_HOLD, 0),
        (True, [True, True, False], CANNOT_TELL, None),
        (True, [True, True], CANNOT_TELL, 1),
        (True, [], CANNOT_TELL, REPEATS_MIN),
    ],
)
def test_an_outcome_is_decided_by_repeats_that_agree(
    asked: bool, seen: list[bool], verdict: Verdict, further: int | None
) -> None:
    found = agree([broke == asked for broke in seen])
    assert (found.verdict, found.further, found.interval) == (verdict, further, None)
