"""Ratio, exponent and level of one repeat: against numpy, and with a reason where there is none."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from corda_lab.figures import statistics
from corda_lab.figures.expression import Expression, parse
from corda_lab.figures.repeat import Outcome, RepeatPoint
from corda_lab.figures.statistics import NoStatistic, Place, chosen, level, line, ratio, slope
from corda_lab.steps.entry import ParameterValue


def point(
    values: Mapping[str, ParameterValue], metrics: Mapping[str, float | None], broke: str | None = None
) -> RepeatPoint:
    outcome: Outcome = "passed" if broke is None else "broke"
    return RepeatPoint(values=dict(values), metrics=dict(metrics), outcome=outcome, reason=broke)


def exponent(points: Sequence[RepeatPoint], metric: str, over: Expression, **chosen_by: Any) -> float:
    return slope(line(points, metric, over, **chosen_by))


def curve(values: Callable[[float], float | None], xs: Sequence[ParameterValue] = (1, 10, 40, 70)) -> list[RepeatPoint]:
    """One point for each x, whose only metric is ``y``."""
    return [point({"load.users": x}, {"y": values(float(x)) if isinstance(x, (int, float)) else 1.0}) for x in xs]


@pytest.mark.parametrize("seed", range(30))
def test_a_slope_is_the_least_squares_line_of_numpy(seed: int) -> None:
    source = random.Random(seed)
    line = [(source.uniform(0.1, 1000), source.lognormvariate(0, 3)) for _ in range(source.randint(2, 12))]
    expected = np.polyfit(np.log([x for x, _ in line]), np.log([y for _, y in line]), 1)[0]
    assert slope(line) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("power", [-1.26, 0.0, 0.87, 1, 2.31])
def test_the_exponent_of_a_power_law_is_its_power_in_any_unit(power: float) -> None:
    for unit in (1e-3, 1, 60):
        points = [point({"users": x}, {"y": unit * x**power}) for x in (1, 10, 40, 70)]
        assert exponent(points, "y", parse("users"), where={}) == pytest.approx(power, abs=1e-9)


def test_a_factor_in_x_does_not_change_an_exponent() -> None:
    points = curve(lambda x: 3 + x)
    alone = exponent(points, "y", parse("users"), where={})
    assert exponent(points, "y", parse("users * 10 / 4"), where={}) == pytest.approx(alone)


def test_an_exponent_starts_at_the_least_x() -> None:
    points = curve(lambda x: x**2 if x >= 10 else 99)
    assert exponent(points, "y", parse("load.users"), where={}, least=10) == pytest.approx(2)


def test_an_exponent_may_start_at_a_multiple_of_the_peak() -> None:
    # The peak is 12, so x starts at 36: the two points that are flat.
    points = curve(lambda x: min(x, 12))
    assert exponent(points, "y", parse("users"), where={}, least="3 x peak") == pytest.approx(0)
    assert exponent(points, "y", parse("users"), where={}, least="0.05 x peak") > 0.3


def test_an_exponent_of_what_a_value_is_above_that_of_a_point() -> None:
    points = curve(lambda x: 5 + 2 * x, xs=(0, 2, 5, 20))
    found = exponent(points, "y", parse("users"), where={}, above=Place({"load.users": 0}, "y"))
    assert found == pytest.approx(1)


def test_an_exponent_takes_the_points_that_where_names() -> None:
    points = [point({"n": n, "v": v}, {"y": n ** (1 if v == "a" else 3)}) for n in (1, 5, 40) for v in "ab"]
    assert exponent(points, "y", parse("n"), where={"v": "b"}) == pytest.approx(3)
    assert exponent(points, "y", parse("n"), where={"v": "a", "n": (1, 5)}) == pytest.approx(1)


def test_names_that_do_not_vary_come_from_the_sweep() -> None:
    points = curve(lambda x: 40 * x * (x + 10))
    found = exponent(points, "y", parse("users * (users + depth)"), where={}, constants=lambda _: {"set.depth": "10"})
    assert found == pytest.approx(1)


def test_ratio_and_level() -> None:
    points = curve(lambda x: 2 * x)
    assert ratio(points, Place({"load.users": 70}, "y"), Place({"load.users": 1}, "y")) == 70
    assert level(points, Place({"load.users": 40}, "y")) == 80


def test_a_ratio_of_two_metrics_is_taken_in_one_unit() -> None:
    points = [point({"n": 1}, {"latency": 10_700.0, "total": 14.3})]
    scale = statistics.unit_scale("ms", "s")
    assert ratio(points, Place({"n": 1}, "latency"), Place({"n": 1}, "total"), scale) == pytest.approx(10.7 / 14.3)


@pytest.mark.parametrize(
    ("unit", "other", "scale"),
    [("ms", "s", 1e-3), ("s", "ms", 1e3), ("KB", "bytes", 1e3), ("flows/s", "tx/s", 1), ("ms", "MB", 1), ("s", "s", 1)],
)
def test_units_of_one_kind_are_converted(unit: str, other: str, scale: float) -> None:
    assert statistics.unit_scale(unit, other) == pytest.approx(scale)


@pytest.mark.parametrize(
    ("word", "xs", "x"),
    [
        ("first", (40, 1, 10), 1),
        ("last", (40, 1, 10), 40),
        ("last", ("512m", "1g", "2g"), "2g"),
        ("first", ("512m", "1g", "0.25g"), "0.25g"),
        ("last", ("9", "10"), "10"),
    ],
)
def test_first_and_last_are_the_lowest_and_the_highest_number(word: str, xs: list[ParameterValue], x: object) -> None:
    assert chosen(curve(lambda x: x, xs), Place({"load.users": word}, "y")).values["load.users"] == x


def test_last_is_among_the_points_with_the_other_values() -> None:
    points = [point({"step": step, "n": n}, {"y": n}) for step, n in (("a", 4), ("a", 8), ("b", 10))]
    assert level(points, Place({"step": "a", "n": "last"}, "y")) == 8


def test_best_is_the_best_value_there_is() -> None:
    points = [*curve(lambda x: -((x - 10) ** 2)), point({"load.users": 99}, {"y": None})]
    assert chosen(points, Place({"load.users": "best"}, "y", "higher")).values["load.users"] == 10
    assert chosen(points, Place({"load.users": "best"}, "y", "lower")).values["load.users"] == 70


@pytest.mark.parametrize(
    ("statistic", "why"),
    [
        (lambda points: level(points, Place({"n": 9}, "y")), "no point has n 9"),
        (lambda points: level(points, Place({"v": "b"}, "y")), "2 points have v b; they differ in n"),
        (lambda points: level(points, Place({"n": 1, "v": "a"}, "z")), "n 1, v a: has no z"),
        (lambda points: level(points, Place({"n": 5, "v": "a"}, "y")), "n 5, v a: the point broke: OutOfMemoryError"),
        (
            lambda points: level(points, Place({"v": "last"}, "y")),
            "v has no last value, because not all its values are numbers",
        ),
        (lambda points: level(points, Place({"n": "best"}, "z")), "n best: no point has z"),
        (
            lambda points: ratio(points, Place({"n": 1, "v": "a"}, "y"), Place({"n": 0, "v": "b"}, "y")),
            "y is 0 at n 0, v b, and nothing can be divided by it",
        ),
        (lambda points: exponent(points, "y", parse("n"), where={"v": "c"}), "no point has v c"),
        (
            lambda points: exponent(points, "y", parse("n"), where={"v": "a"}),
            "n 5, v a: the point broke: OutOfMemoryError",
        ),
        (
            lambda points: exponent(points, "y", parse("n"), where={"v": "a", "n": 1}),
            "an exponent needs two points, and 1 has v a, n 1",
        ),
        (
            lambda points: exponent(points, "y", parse("n"), where={"v": "b"}),
            "n is 0 at a point, and has no logarithm; set from",
        ),
        (
            lambda points: exponent(points, "y", parse("n + 1"), where={"v": "b"}),
            "y is 0 where n + 1 is 1, and has no logarithm",
        ),
        (
            lambda points: exponent(points, "y", parse("n"), where={}, least=1),
            "several points have the same n: 1; name one of them in where",
        ),
        (
            lambda points: exponent(points, "y", parse("v"), where={"v": "a"}),
            "v is 'a' at n 1, v a, which is no number",
        ),
        (lambda points: exponent(points, "y", parse("k"), where={"v": "a"}), "k is not known at n 1, v a"),
        (
            lambda points: exponent(points, "y", parse("1 / (n - 1)"), where={"v": "a"}),
            "n 1, v a: 1 / (n - 1) divides by 0, or is too large",
        ),
        (
            lambda points: exponent(points, "z", parse("n"), where={"v": "b"}, least="3 x peak"),
            "no point has z, so there is no peak",
        ),
    ],
)
def test_what_is_missing_says_why(statistic: Callable[[list[RepeatPoint]], float], why: str) -> None:
    points = [
        point({"n": 1, "v": "a"}, {"y": 2.0}),
        point({"n": 5, "v": "a"}, {}, broke="OutOfMemoryError"),
        point({"n": 0, "v": "b"}, {"y": 0.0}),
        point({"n": 1, "v": "b"}, {"y": 4.0}),
    ]
    with pytest.raises(NoStatistic) as caught:
        statistic(points)
    assert str(caught.value) == why


def test_numbers_are_compared_as_numbers_and_versions_as_they_are_written() -> None:
    assert statistics.same(8, 8.0)
    assert statistics.same("10", 10)
    assert not statistics.same("4.10", 4.1)
    assert not statistics.same(1, True)


def test_an_infinite_value_is_missing() -> None:
    with pytest.raises(NoStatistic):
        level([point({"n": 1}, {"y": math.inf})], Place({"n": 1}, "y"))
