"""The end of a warm-up, on series whose truth is known."""

import math
import random
import statistics

import pytest

import interval_coverage
from corda_lab.stats.steady import (
    WarmUp,
    completions_per_bin,
    steady_window,
    warm_up_end,
)

ORIGIN = 1_795_000_000.0


def completions(rates: list[float], source: random.Random) -> list[float]:
    """Times of completion with so many per second in each second, noisy as Poisson's."""
    return [
        ORIGIN + second + source.random()
        for second, rate in enumerate(rates)
        for _ in range(interval_coverage.poisson(source, rate))
    ]


def cut_of(rates: list[float], source: random.Random, seconds_min: float = 5, seconds_max: float = 60) -> WarmUp:
    return warm_up_end(
        completions(rates, source),
        started_at=ORIGIN,
        stopped_at=ORIGIN + len(rates),
        seconds_min=seconds_min,
        seconds_max=seconds_max,
    )


def test_counts_what_ended_in_each_whole_bin() -> None:
    times = [9.99, 10.0, 10.49, 10.5, 11.2, 11.6, 99.0]
    assert completions_per_bin(times, started_at=10, stopped_at=11.7, bin_seconds=0.5) == [2, 1, 1]
    assert completions_per_bin([], started_at=0, stopped_at=3, bin_seconds=0.1) == [0] * 30
    assert completions_per_bin([], started_at=5, stopped_at=4, bin_seconds=1) == []


def test_cuts_where_a_step_in_throughput_lies() -> None:
    source = random.Random(1)
    found = [cut_of([20.0] * 25 + [100.0] * 125, source) for _ in range(100)]
    assert sum(one.found for one in found) >= 70
    assert min(one.cut_seconds for one in found) == 25  # never before the step
    assert statistics.median(one.cut_seconds for one in found) <= 40


def test_a_cut_takes_the_bias_of_a_slow_start_away() -> None:
    source = random.Random(2)
    rates = [40 * (1 - 0.6 * math.exp(-second / 15)) for second in range(180)]
    raw, cut = [], []
    for _ in range(100):
        warm_up = cut_of(rates, source)
        series = completions_per_bin(
            completions(rates, source), started_at=ORIGIN, stopped_at=ORIGIN + 180, bin_seconds=1
        )
        raw.append(statistics.fmean(series))
        cut.append(statistics.fmean(series[int(warm_up.cut_seconds) :]))
    assert statistics.fmean(raw) < 0.96 * 40
    assert statistics.fmean(cut) == pytest.approx(40, rel=0.01)


def test_a_load_without_warm_up_loses_little_more_than_the_floor() -> None:
    source = random.Random(3)
    found = [cut_of([20.0] * 180, source) for _ in range(200)]
    assert sum(one.found for one in found) >= 150
    assert statistics.median(one.cut_seconds for one in found) == 5


@pytest.mark.parametrize(
    "rates",
    [
        [20.0] * 70 + [100.0] * 110,  # becomes steady after the ceiling
        [20.0] * 40 + [100.0] * 20,  # and in the second half
        [100.0] * 49,  # too short to tell
        [],
    ],
)
def test_without_a_good_cut_the_ceiling_is_taken_and_said_so(rates: list[float]) -> None:
    assert cut_of(rates, random.Random(4)) == WarmUp(60, False)


def steady_from(
    rates: list[float], source: random.Random, *, seconds_min: float = 30, seconds_max: float = 180
) -> WarmUp:
    """Whether the last minute of a load is steady."""
    return steady_window(
        completions(rates, source),
        started_at=ORIGIN,
        stopped_at=ORIGIN + len(rates),
        window_seconds=60,
        seconds_min=seconds_min,
        seconds_max=seconds_max,
        change_percent_max=10.0,
    )


def test_the_last_minute_of_a_steady_load_is_steady_and_the_rest_its_warm_up() -> None:
    source = random.Random(11)
    found = [steady_from([50.0] * 120, source) for _ in range(100)]
    assert sum(one.found for one in found) >= 70
    assert {one.cut_seconds for one in found} == {60.0}


def test_a_minute_in_which_throughput_rises_is_not_steady() -> None:
    source = random.Random(12)
    rising = [5.0 + second / 2 for second in range(100)]
    assert not any(steady_from(rising, source).found for _ in range(50))


def test_a_minute_before_which_the_load_had_not_warmed_up_is_not_steady() -> None:
    source = random.Random(13)
    late = [10.0] * 70 + [50.0] * 50
    assert not any(steady_from(late, source).found for _ in range(50))


def test_a_load_that_is_shorter_than_its_warm_up_and_its_window_is_not_steady_yet() -> None:
    assert not any(steady_from([50.0] * 80, random.Random(seed)).found for seed in range(20))


def test_a_warm_up_ends_at_its_limit_whatever_follows() -> None:
    found = steady_from([1.0 + second for second in range(300)], random.Random(14))
    assert found == WarmUp(180.0, False)


def test_a_load_of_which_nothing_ended_is_not_steady() -> None:
    assert not steady_from([0.0] * 120, random.Random(15)).found
