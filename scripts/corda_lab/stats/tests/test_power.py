"""The power of the tests, compared with simulated experiments and with a textbook value."""

import math
import random

import pytest

from corda_lab.stats.difference import paired, unpaired
from corda_lab.stats.power import Design, power_of, repeats_needed

TRIES = 3000


def seen(repeats: int, scatter: float, change: float, design: Design) -> float:
    """The share of simulated experiments in which the test of the lab sees the difference."""
    source = random.Random(7)
    count = 0
    for _ in range(TRIES):
        if design == "paired":
            a = dict.fromkeys(range(repeats), 1.0)
            b = {number: (1 + change) * math.exp(source.gauss(0, scatter)) for number in range(repeats)}
            found = paired(a, b, higher_is="faster")
        else:
            first = [math.exp(source.gauss(0, scatter)) for _ in range(repeats)]
            second = [(1 + change) * math.exp(source.gauss(0, scatter)) for _ in range(repeats)]
            found = unpaired(first, second, higher_is="faster")
        count += found.verdict in ("faster", "slower")
    return count / TRIES


@pytest.mark.parametrize(
    ("repeats", "scatter", "change", "design"),
    [(3, 0.02, 0.05, "paired"), (5, 0.05, 0.05, "paired"), (6, 0.03, -0.05, "independent")],
)
def test_power_is_the_share_of_experiments_that_see_the_difference(
    repeats: int, scatter: float, change: float, design: Design
) -> None:
    # Welch's degrees of freedom are a little below the pooled ones, which the formula uses.
    assert power_of(repeats, scatter, change, design) == pytest.approx(seen(repeats, scatter, change, design), abs=0.03)


def test_without_a_difference_only_false_alarms_are_seen() -> None:
    assert power_of(5, 0.05, 0.0, "paired") == pytest.approx(0.05, abs=1e-6)


def test_the_repeats_needed_are_the_fewest_with_that_power() -> None:
    # Cohen's example: a difference of half a standard deviation between two groups needs 64 in each.
    assert repeats_needed(0.1, math.expm1(0.05), "independent") == 64
    found = repeats_needed(0.04, 0.05, "paired")
    assert found is not None
    assert power_of(found, 0.04, 0.05, "paired") >= 0.8 > power_of(found - 1, 0.04, 0.05, "paired")
    assert repeats_needed(0.0, 0.05, "paired") == 3
    assert repeats_needed(1.0, 0.001, "paired") is None


def test_two_repeats_are_too_few() -> None:
    with pytest.raises(ValueError, match="no power with 2 repeats"):
        power_of(2, 0.1, 0.05, "paired")
