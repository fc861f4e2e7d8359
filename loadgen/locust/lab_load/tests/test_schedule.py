"""Arrivals of open load and of bursts: their times, whom they belong to, and what is counted of them."""

import itertools
import math
from itertools import islice

import pytest

from lab_load.schedule import Lags, Schedule, arrival_offsets, burst_offsets
from lab_workload.load import Arrivals
from lab_workload.prepared import ALONE, Share


def offsets(arrivals: Arrivals, count: int, *, rate: float = 10.0, seed: int = 1, share: Share = ALONE) -> list[float]:
    return list(islice(arrival_offsets(arrivals, rate, seed, share), count))


def test_constant_arrivals_are_evenly_apart() -> None:
    assert offsets("constant", 4) == pytest.approx([0, 0.1, 0.2, 0.3])


def test_workers_share_constant_arrivals_without_overlap() -> None:
    shares = [offsets("constant", 4, share=Share(worker, 3)) for worker in (1, 2, 3)]

    assert sorted(itertools.chain(*shares)) == pytest.approx(offsets("constant", 12))


def test_poisson_gaps_have_the_mean_and_the_spread_of_exponential_ones() -> None:
    times = offsets("poisson", 20_000)
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5

    assert mean == pytest.approx(0.1, rel=0.03)
    assert deviation == pytest.approx(mean, rel=0.03)


def test_poisson_arrivals_follow_from_the_seed_and_differ_between_workers() -> None:
    assert offsets("poisson", 9) == offsets("poisson", 9)
    assert offsets("poisson", 9) != offsets("poisson", 9, seed=2)
    assert offsets("poisson", 9, share=Share(1, 2)) != offsets("poisson", 9, share=Share(2, 2))
    assert offsets("poisson", 5000, share=Share(1, 2))[-1] == pytest.approx(1000, rel=0.05), "half the rate each"


def test_a_schedule_hands_out_every_arrival_once_and_counts_late_ones() -> None:
    schedule = Schedule(arrival_offsets("constant", 10, 1, ALONE), 1.0)
    schedule.begin(100.0)

    for lag in (0.0, 0.02, 0.005):
        intended = schedule.take()
        schedule.note_start(intended, intended + lag)

    assert schedule.next_at == pytest.approx(100.3)
    assert (schedule.offered, schedule.late, schedule.dropped) == (3, 1, 0)


def test_arrivals_that_are_due_and_find_no_place_are_offered_and_dropped() -> None:
    schedule = Schedule(arrival_offsets("constant", 10, 1, ALONE), 1.0)
    schedule.begin(100.0)

    schedule.drop_due(100.35)
    schedule.end()

    assert (schedule.offered, schedule.dropped) == (4, 4)  # those meant for 0.0, 0.1, 0.2 and 0.3 s
    assert schedule.next_at == float("inf")


def test_the_arrivals_of_a_burst_are_spread_over_its_time_and_begin_again() -> None:
    schedule = Schedule(burst_offsets(4, 1.0), math.inf)
    for begin in (100.0, 107.5):
        schedule.begin(begin)
        assert [schedule.take() - begin for _ in range(4)] == pytest.approx([0, 0.25, 0.5, 0.75])
        assert schedule.next_at == math.inf, "the next burst has not begun"


def test_the_quantile_of_lags_is_exact_to_three_digits_and_can_be_put_together() -> None:
    halves = [Lags(), Lags()]
    for number in range(1, 1001):
        halves[number % 2].add(number / 1e4)

    together = Lags(itertools.chain(*(half.counts.items() for half in halves)))

    assert together.quantile_ms(0.99) == 99.0
    assert together.quantile_ms(0.5) == 50.0
    assert Lags().quantile_ms(0.99) is None


def test_lags_take_a_bounded_room() -> None:
    lags = Lags()
    for number in range(100_000):
        lags.add(number * 6.1e-4)

    assert len(lags.counts) < 6000
    lags.add(-0.001)
    assert min(lags.counts) == 0
