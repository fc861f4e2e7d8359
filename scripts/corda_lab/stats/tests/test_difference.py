"""Comparisons: by hand, by how often they raise a false alarm, and by what they find."""

import math
import random
from collections.abc import Callable

import pytest

from corda_lab.stats.difference import Difference, holm, paired, t_tail, unpaired
from corda_lab.stats.intervals import t_quantile

SIMULATIONS = 4000
MARGIN = 0.011
"""Three standard errors of a share of 5 % among so many simulations."""


def repeats(source: random.Random, n: int, cv: float, mean: float = 100.0) -> list[float]:
    return [mean * source.lognormvariate(0, math.sqrt(math.log1p(cv * cv))) for _ in range(n)]


def compare_unpaired(a: list[float], b: list[float]) -> Difference:
    return unpaired(a, b, higher_is="faster")


def compare_paired(a: list[float], b: list[float]) -> Difference:
    return paired(dict(enumerate(a)), dict(enumerate(b)), higher_is="faster")


Compare = Callable[[list[float], list[float]], Difference]
both = pytest.mark.parametrize("compare", [compare_paired, compare_unpaired])


@pytest.mark.parametrize("t", [0.0, 0.3, -1.0, 4.0, 30.0, 1e4])
def test_tails_of_one_and_two_degrees_of_freedom_have_closed_forms(t: float) -> None:
    size = abs(t)
    assert t_tail(t, 1) == pytest.approx(2 * math.atan2(1, size) / math.pi)
    # 1 − t / √(2 + t²), written so that nothing cancels.
    assert t_tail(t, 2) == pytest.approx(2 / (math.sqrt(2 + t * t) * (math.sqrt(2 + t * t) + size)))


@pytest.mark.parametrize("freedom", [1.0, 1.3, 2.7, 17.4, 800.0])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9995])
def test_an_interval_leaves_to_the_p_value_what_it_does_not_hold(confidence: float, freedom: float) -> None:
    assert t_tail(t_quantile(confidence, freedom), freedom) == pytest.approx(1 - confidence)


def test_pairs_by_hand() -> None:
    a = {1: 10.0, 2: 20.0, 3: 40.0}
    b = {repeat: a[repeat] * math.exp(repeat) for repeat in a}
    one = paired(a, b, higher_is="faster")
    half = 4.30265 / math.sqrt(3)
    assert one.ratio == pytest.approx(math.exp(2))
    assert (one.low, one.high) == pytest.approx((math.exp(2 - half), math.exp(2 + half)), rel=1e-5)
    # t = 2√3 with 2 degrees of freedom.
    assert one.p_value == pytest.approx(1 - math.sqrt(12 / 14))
    assert one.verdict == "no difference seen"


def test_welch_by_hand() -> None:
    a, b = [math.exp(value) for value in (0, 1, 2)], [math.exp(value) for value in (3, 7, 11, 7)]
    one = unpaired(a, b, higher_is="slower")
    # Variances 1 and 32/3: 1/3 + 8/3 = 3; (3)² / ((1/3)²/2 + (8/3)²/3).
    assert one.standard_error == pytest.approx(math.sqrt(3))
    assert one.freedom == pytest.approx(9 / (1 / 18 + 64 / 27))
    assert one.ratio == pytest.approx(math.exp(6))
    assert one.verdict == "slower"


def test_verdicts_follow_what_a_higher_value_means() -> None:
    a, b = [100.0, 101.0, 99.0, 100.0], [80.0, 81.0, 79.0, 80.0]
    assert unpaired(a, b, higher_is="faster").verdict == "slower"
    assert unpaired(a, b, higher_is="slower").verdict == "faster"
    assert unpaired(b, a, higher_is="faster").verdict == "faster"
    assert unpaired(a, a, higher_is="faster").verdict == "no difference seen"


@both
def test_one_repeat_cannot_tell(compare: Compare) -> None:
    one = compare([100.0], [50.0])
    assert one.ratio == pytest.approx(0.5)
    assert (one.verdict, one.low, one.high, one.p_value) == ("too few repeats to tell", None, None, None)


def test_only_repeats_of_both_sides_are_pairs() -> None:
    one = paired({1: 10.0, 2: 10.0, 3: 999.0}, {1: 11.0, 2: 11.5, 4: 1.0}, higher_is="faster")
    assert (one.n_a, one.n_b) == (2, 2)
    assert one.ratio == pytest.approx(math.sqrt(1.1 * 1.15))
    with pytest.raises(ValueError, match="a ratio needs positive values"):
        paired({1: 10.0}, {2: 10.0}, higher_is="faster")


def test_repeats_without_spread_differ_or_do_not() -> None:
    assert compare_unpaired([10.0, 10.0], [10.0, 10.0]).verdict == "no difference seen"
    one = compare_unpaired([10.0, 10.0], [11.0, 11.0])
    assert one.verdict == "faster"
    assert (one.low, one.high) == pytest.approx((1.1, 1.1))


@both
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_refuses_values_without_a_ratio(compare: Compare, value: float) -> None:
    with pytest.raises(ValueError, match="a ratio needs positive values"):
        compare([value, 1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="a ratio needs positive values"):
        compare([1.0, 1.0], [value, 1.0])


@both
@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.parametrize("cv", [0.03, 0.10])
def test_the_same_system_twice_raises_no_more_false_alarms_than_it_says(compare: Compare, n: int, cv: float) -> None:
    source = random.Random(31)
    verdicts = [compare(repeats(source, n, cv), repeats(source, n, cv)).verdict for _ in range(SIMULATIONS)]
    alarms = SIMULATIONS - verdicts.count("no difference seen")
    assert alarms / SIMULATIONS <= 0.05 + MARGIN


@both
def test_a_slowdown_of_15_percent_is_found_with_5_repeats_at_3_percent_noise(compare: Compare) -> None:
    source = random.Random(32)
    verdicts = [compare(repeats(source, 5, 0.03), repeats(source, 5, 0.03, 85.0)).verdict for _ in range(1000)]
    assert verdicts.count("slower") / 1000 > 0.99


def test_pairs_are_not_misled_by_a_machine_that_gets_slower() -> None:
    source = random.Random(33)
    found, pooled = 0, 0
    for _ in range(500):
        drift = [1 - 0.1 * repeat for repeat in range(5)]
        a = [value * factor for value, factor in zip(repeats(source, 5, 0.03), drift, strict=True)]
        b = [value * factor for value, factor in zip(repeats(source, 5, 0.03, 90.0), drift, strict=True)]
        found += compare_paired(a, b).verdict == "slower"
        pooled += compare_unpaired(a, b).verdict == "slower"
    assert found / 500 > 0.9
    assert pooled / 500 < 0.3


def test_holm_by_hand() -> None:
    def with_p(p_value: float) -> Difference:
        # With 1 degree of freedom p = 1 − 2/π·atan(t).
        error = 1.0
        ratio_log = math.tan(math.pi / 2 * (1 - p_value)) * error
        return Difference(math.exp(-ratio_log), 0, 1, p_value, "slower", 0.95, 2, 2, "", "faster", error, 1.0)

    judged = holm([with_p(p) for p in (0.04, 0.011, 0.2, 0.02)])
    assert [one.p_value for one in judged] == pytest.approx([0.08, 0.044, 0.2, 0.06])
    assert [one.verdict for one in judged] == [
        "no difference seen",
        "slower",
        "no difference seen",
        "no difference seen",
    ]
    assert [1 - one.confidence for one in judged] == pytest.approx([0.05 / 3, 0.05 / 4, 0.05 / 3, 0.05 / 3])
    for one in judged:
        assert one.low is not None
        assert one.high is not None
        assert (one.low <= 1 <= one.high) == (one.verdict == "no difference seen")


def test_seen_from_the_other_side() -> None:
    one = compare_unpaired([100.0, 101.0, 99.0, 100.0], [80.0, 81.0, 79.0])
    other = compare_unpaired([80.0, 81.0, 79.0], [100.0, 101.0, 99.0, 100.0])
    turned = one.turned()
    assert (turned.verdict, turned.n_a, turned.n_b) == (other.verdict, other.n_a, other.n_b) == ("faster", 3, 4)
    assert (turned.ratio, turned.low, turned.high) == pytest.approx((other.ratio, other.low, other.high))


def test_holm_leaves_a_single_comparison_and_those_that_cannot_tell_alone() -> None:
    one, untold = compare_paired([10.0, 11.0, 12.0], [20.0, 21.0, 25.0]), compare_paired([1.0], [2.0])
    judged = holm([untold, one])
    assert judged[0] == untold
    assert judged[1].p_value == one.p_value
    assert (judged[1].low, judged[1].high) == pytest.approx((one.low, one.high))
    assert holm([]) == []


@both
def test_a_sweep_of_equal_points_raises_a_false_alarm_as_seldom_as_a_single_comparison(compare: Compare) -> None:
    source, alarmed = random.Random(34), 0
    for _ in range(SIMULATIONS // 2):
        judged = holm([compare(repeats(source, 3, 0.05), repeats(source, 3, 0.05)) for _ in range(8)])
        alarmed += any(one.verdict != "no difference seen" for one in judged)
    assert alarmed / (SIMULATIONS // 2) <= 0.05 + 1.5 * MARGIN


def test_interval_and_verdict_of_joint_comparisons_never_contradict_each_other() -> None:
    source = random.Random(35)
    for _ in range(300):
        differences = [
            compare_unpaired(repeats(source, 3, 0.05), repeats(source, 4, 0.05, mean))
            for mean in (100, 95, 85, 70, 130)
        ]
        for one in holm(differences):
            assert one.low is not None
            assert one.high is not None
            assert one.low < one.ratio < one.high
            assert (one.low <= 1 <= one.high) == (one.verdict == "no difference seen")


def test_two_wild_repeats_among_many_comparisons_do_not_overflow() -> None:
    wild = [compare_paired([1.0, 1e150], [1e150, 1.0]) for _ in range(50)]
    assert {one.verdict for one in holm(wild)} == {"no difference seen"}
