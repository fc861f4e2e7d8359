"""The number of each kind of claim in one repeat, against numpy, and with a reason where there is none."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from corda_lab.figures.claims import Claim, slope
from corda_lab.figures.points import NoValue, Point, choose, evaluate, text_of
from corda_lab.steps.entry import ParameterValue


def point(values: Mapping[str, ParameterValue], metrics: Mapping[str, float | None], broke: str | None = None) -> Point:
    outcome = "passed" if broke is None else "broke"
    return Point.model_validate({"values": values, "metrics": metrics, "outcome": outcome, "reason": broke})


def number(points: Sequence[Point], **fields: Any) -> float:
    """The number of a claim with these fields."""
    return Claim.model_validate({"name": "a", "says": 1, "within": [0, None], **fields}).number(points)


def curve(values: Callable[[float], float | None], xs: Sequence[ParameterValue] = (1, 10, 40, 70)) -> list[Point]:
    """One point for each x, whose only metric is ``p50``."""
    return [point({"load.users": x}, {"p50": values(float(x)) if isinstance(x, (int, float)) else 1.0}) for x in xs]


@pytest.mark.parametrize("seed", range(10))
def test_a_slope_is_the_least_squares_line_of_numpy(seed: int) -> None:
    source = random.Random(seed)
    line = [(source.uniform(0.1, 1000), source.lognormvariate(0, 3)) for _ in range(source.randint(2, 12))]
    expected = np.polyfit(np.log([x for x, _ in line]), np.log([y for _, y in line]), 1)[0]
    assert slope(line) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("power", [-1.26, 0.0, 0.87, 1, 2.31])
def test_the_exponent_of_a_power_law_is_its_power_in_any_unit(power: float) -> None:
    for unit in (1e-3, 1, 60):
        points = [point({"load.users": x}, {"p50": unit * x**power}) for x in (1, 10, 40, 70)]
        assert number(points, exponent="p50", over="load.users") == pytest.approx(power, abs=1e-9)
        assert number(points, exponent="p50", over="load.users * 10 / 4") == pytest.approx(power, abs=1e-9)


@pytest.mark.parametrize(
    ("values", "xs", "fields", "expected"),
    [
        (lambda x: x**2 if x >= 10 else 99, (1, 10, 40, 70), {"over": "load.users", "from": 10}, 2),
        # The peak is 12, so x starts at 36: the two points that are flat.
        (lambda x: min(x, 12), (1, 10, 40, 70), {"over": "load.users", "from": "3 x peak"}, 0),
        (lambda x: 5 + 2 * x, (0, 2, 5, 20), {"over": "load.users", "above": {"load.users": 0}}, 1),
        (lambda x: 40 * x * (x + 10), (1, 10, 40, 70), {"over": "load.users * (load.users + 10)"}, 1),
    ],
)
def test_an_exponent_is_of_the_points_that_its_fields_name(
    values: Callable[[float], float], xs: tuple[int, ...], fields: dict[str, Any], expected: float
) -> None:
    assert number(curve(values, xs), exponent="p50", **fields) == pytest.approx(expected, abs=1e-9)


def test_ratio_and_level() -> None:
    points = curve(lambda x: 2 * x)
    assert number(points, ratio="p50", of={"load.users": 70}, to={"load.users": 1}) == 70
    assert number(points, level="p50", at={"load.users": 40}) == 80
    times = [point({"n": 1}, {"node_latency_mean": 10_700.0, "burst_total": 14.3})]
    # ms and s are brought to one unit.
    assert number(times, ratio=["node_latency_mean", "burst_total"], of={"n": 1}) == pytest.approx(10.7 / 14.3)


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
    assert choose(curve(lambda x: x, xs), {"load.users": word}, "p50").values["load.users"] == x


def test_best_is_the_best_value_there_is() -> None:
    points = [
        point({"n": n}, {"throughput": value, "p50": value})
        for n, value in ((1, 5.0), (10, 9.0), (70, 2.0), (99, None))
    ]
    assert choose(points, {"n": "best"}, "throughput").values["n"] == 10
    assert choose(points, {"n": "best"}, "p50").values["n"] == 70


EXPONENT = {"exponent": "p50"}


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ({"level": "p50", "at": {"n": 9}}, "no point has n 9"),
        ({"level": "p50", "at": {"v": "b"}}, "2 points have v b"),
        ({"level": "p95", "at": {"n": 1, "v": "a"}}, "n 1, v a: has no p95"),
        ({"level": "p50", "at": {"n": 5, "v": "a"}}, "n 5, v a: the point broke: OutOfMemoryError"),
        ({"level": "p50", "at": {"v": "last"}}, "v has no last value"),
        ({"level": "p95", "at": {"n": "best"}}, "no point has n best"),
        ({"ratio": "p50", "of": {"n": 1, "v": "a"}, "to": {"n": 0, "v": "b"}}, "p50 is 0 at n 0, v b"),
        (EXPONENT | {"over": "n", "where": {"v": "c"}}, "an exponent needs two points"),
        (EXPONENT | {"over": "n", "where": {"v": "a"}}, "n 5, v a: the point broke: OutOfMemoryError"),
        (EXPONENT | {"over": "n", "where": {"v": "a", "n": 1}}, "an exponent needs two points"),
        (EXPONENT | {"over": "n", "where": {"v": "b"}}, "n 0 with p50 0 has no logarithm at n 0, v b"),
        (EXPONENT | {"over": "n + 1", "where": {"v": "b"}}, "n + 1 1 with p50 0 has no logarithm"),
        (EXPONENT | {"over": "n", "where": {"n": [1]}}, "several points have the same n"),
        (EXPONENT | {"over": "v", "where": {"v": "a"}}, "v is 'a' at n 1, v a, which is no number"),
        (EXPONENT | {"over": "k", "where": {"v": "a"}}, "k is None at n 1, v a, which is no number"),
        (EXPONENT | {"over": "1 / (n - 1)", "where": {"n": [1], "v": "a"}}, "has no logarithm"),
    ],
)
def test_what_is_missing_says_why(claim: Mapping[str, Any], why: str) -> None:
    points = [
        point({"n": 1, "v": "a"}, {"p50": 2.0}),
        point({"n": 5, "v": "a"}, {}, broke="OutOfMemoryError"),
        point({"n": 0, "v": "b"}, {"p50": 0.0}),
        point({"n": 1, "v": "b"}, {"p50": 4.0}),
    ]
    with pytest.raises(NoValue) as caught:
        number(points, **claim)
    assert why in str(caught.value)


def test_numbers_are_compared_as_numbers_and_versions_as_they_are_written() -> None:
    assert text_of(8) == text_of(8.0)
    assert text_of("10") == text_of(10)
    assert text_of("4.10") != text_of(4.1)
    assert text_of(1) != text_of(True)


NAMES = {"participants": 8.0, "set.backchainSize": 10.0, "n": 3.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("participants * (participants - 2) * set.backchainSize", 480),
        ("2 + 3 * 4", 14),
        ("20 - 3 - 4", 13),
        ("64 / 4 / 2", 8),
        ("-n + 1", -2),
        ("1.5*n", 4.5),
        ("1e3 * n", 3000),
    ],
)
def test_the_value_of_an_expression_is_that_of_arithmetic(text: str, value: float) -> None:
    assert evaluate(text, NAMES) == value
