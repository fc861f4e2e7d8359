"""The ratio of pairs."""

import math

import pytest

from corda_lab.bench.parts import Ratio, StageCost, parse_stage_cost, ratio_of, verdict


def test_ratios_are_averaged_as_factors() -> None:
    ratio = ratio_of([(10, 5), (10, 20)])
    assert ratio.mean == pytest.approx(1.0)
    assert (ratio.low, ratio.high) == pytest.approx((0.5, 2.0))


def test_the_interval_is_student_s() -> None:
    ratio = ratio_of([(1, math.exp(value)) for value in (1, 2, 3)])
    # Mean 2, standard deviation 1, three values: 2 ± 4.30265 / √3.
    assert ratio.interval == pytest.approx(
        (math.exp(2 - 4.30265 / math.sqrt(3)), math.exp(2 + 4.30265 / math.sqrt(3))), rel=1e-5
    )
    assert ratio_of([(2, 1)]).interval is None


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        ((0.96, 1.01), "meets the target"),
        ((0.5, 0.9), "misses the target"),
        ((0.9, 1.1), "the interval includes the target"),
        (None, "a single pair does not show"),
    ],
)
def test_says_only_what_the_pairs_show(interval: tuple[float, float] | None, words: str) -> None:
    assert words in verdict(Ratio(1.0, 0.9, 1.1, interval))


def test_reads_the_batches_among_other_lines() -> None:
    text = 'Container started\n{"flows":100,"caller_us_per_flow":9.5,"cpu_us_per_flow":80.25,"rows_dropped":0}\n'
    assert parse_stage_cost(text) == [StageCost(100, 9.5, 80.25, 0)]
