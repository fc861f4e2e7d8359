"""How many repeats a sweep needs: against simulated experiments, a textbook value, and a simulated sweep."""

import math
import random
from pathlib import Path

import pytest

from corda_lab.analysis.detection import detections, latest_run_of, pooled, power_of, repeats_needed
from corda_lab.analysis.points import points
from corda_lab.errors import LabError
from corda_lab.results import stored
from corda_lab.stats.difference import paired, unpaired

TRIES = 3000


def test_the_scatter_is_pooled_over_points() -> None:
    scatter, freedom = pooled([[1.0, 3.0], [5.0], [2.0, 2.0, 2.0]])
    assert scatter == pytest.approx(math.sqrt(2 / 3))
    assert freedom == 3
    assert pooled([[1.0], []]) == (0.0, 0)


def seen(repeats: int, scatter: float, change: float, samples: int) -> float:
    """The share of simulated experiments in which the test of the lab sees the difference."""
    source = random.Random(7)

    def logs() -> list[float]:
        return [math.exp(source.gauss(0, scatter)) for _ in range(repeats)]

    count = 0
    for _ in range(TRIES):
        second = [(1 + change) * one for one in logs()]
        if samples == 1:
            found = paired(dict.fromkeys(range(repeats), 1.0), dict(enumerate(second)), higher_is="faster")
        else:
            found = unpaired(logs(), second, higher_is="faster")
        count += found.verdict in ("faster", "slower")
    return count / TRIES


@pytest.mark.parametrize(
    ("repeats", "scatter", "change", "samples"), [(3, 0.02, 0.05, 1), (5, 0.05, 0.05, 1), (6, 0.03, -0.05, 2)]
)
def test_power_is_the_share_of_experiments_that_see_the_difference(
    repeats: int, scatter: float, change: float, samples: int
) -> None:
    # Welch's degrees of freedom are a little below the pooled ones, which the formula uses.
    expected = seen(repeats, scatter, change, samples)
    assert power_of(repeats, scatter, change, samples=samples) == pytest.approx(expected, abs=0.03)


def test_the_repeats_needed_are_the_fewest_with_that_power() -> None:
    # Cohen's example: a difference of half a standard deviation between two groups needs 64 in each.
    assert repeats_needed(0.1, math.expm1(0.05), samples=2) == 64
    found = repeats_needed(0.04, 0.05, samples=1)
    assert found is not None
    assert power_of(found, 0.04, 0.05, samples=1) >= 0.8 > power_of(found - 1, 0.04, 0.05, samples=1)
    assert repeats_needed(0.0, 0.05, samples=1) == 3
    assert repeats_needed(1.0, 0.001, samples=1) is None
    assert power_of(5, 0.05, 0.0, samples=1) == pytest.approx(0.05, abs=1e-6), "only false alarms"


def test_more_scatter_and_smaller_differences_need_more_repeats(sweep: Path) -> None:
    run = stored.read(sweep)
    (throughput, *_) = detections(run, 0.05)
    assert throughput.metric == "throughput"
    assert throughput.repeats is not None
    pairs = math.comb(len(points(run)), 2)
    assert power_of(throughput.repeats, throughput.scatter, 0.05, samples=1, confidence=1 - 0.05 / pairs) >= 0.8
    smaller = detections(run, 0.02)[0].repeats
    assert smaller is not None
    assert smaller > throughput.repeats


def test_a_sweep_that_never_ran_has_no_scatter(sweep: Path) -> None:
    run = stored.read(sweep)
    assert latest_run_of(run.sweep.name, results=sweep.parent).identity == run.identity
    with pytest.raises(LabError, match="there is no finished run of the sweep 'other'"):
        latest_run_of("other", results=sweep.parent)
