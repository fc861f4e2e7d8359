"""Student's t against its closed forms and the printed tables."""

import math
from statistics import NormalDist

import pytest

from corda_lab.stats.student import quantile, tail


@pytest.mark.parametrize("t", [0.0, 0.3, 1.0, 4.0, 30.0, 1e4])
def test_tails_of_one_two_and_three_degrees_of_freedom_have_closed_forms(t: float) -> None:
    assert tail(t, 1) == pytest.approx(2 * math.atan2(1, t) / math.pi)
    # 1 − t / √(2 + t²), written so that nothing cancels.
    assert tail(t, 2) == pytest.approx(2 / (math.sqrt(2 + t * t) * (math.sqrt(2 + t * t) + t)), rel=1e-9)
    angle = math.atan2(t, math.sqrt(3))
    assert tail(t, 3) == pytest.approx(1 - 2 / math.pi * (angle + math.sin(angle) * math.cos(angle)), abs=1e-12)


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
    assert round(quantile(confidence, freedom), 3) == printed


@pytest.mark.parametrize("freedom", [1.0, 1.3, 2.7, 3.9, 17.4, 800.0])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.9995])
def test_the_quantile_leaves_the_rest_to_the_tail(confidence: float, freedom: float) -> None:
    assert tail(quantile(confidence, freedom), freedom) == pytest.approx(1 - confidence, rel=1e-8)


def test_many_degrees_of_freedom_are_the_normal_distribution() -> None:
    assert quantile(0.95, 1e5) == pytest.approx(NormalDist().inv_cdf(0.975), rel=1e-4)
