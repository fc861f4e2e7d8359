"""Open load: whose lag it was."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab.steps.entry import StepEntry, of_whole
from corda_lab.steps.open_load import (
    arrival_values,
    generator_was_limit,
    lag_values,
    max_in_flight,
    system_could_not_keep_up,
    with_lag,
)
from corda_lab.steps.reasons import reason
from corda_lab.steps.rows import NO_DROPS, Window, distribution, timed_within
from lab_workload.load import Load
from lab_workload.run_end import RunEnd
from support import simulation
from support.entries import run_end, step_with

WINDOW = Window(simulation.ORIGIN + 5, simulation.ORIGIN + 60)


def step_of(
    rows: pl.DataFrame, end: RunEnd, pool: int, drops: pl.Series = NO_DROPS, window: Window = WINDOW
) -> StepEntry:
    """As much of a step as says whose lag it was."""
    timed = with_lag(rows, pool)
    within = timed_within(timed, window)
    load = Load(workload="iou", users=pool, arrivals="constant", rate=end.rate)
    values = arrival_values(timed, drops, window, end) | lag_values(within)
    return step_with(values=values, lag_ms=distribution(within["lag_ms"]), load=load)


def simulated(tmp_path: Path, pool: int, rate: float, **about: Any) -> StepEntry:
    service = simulation.fixed(about.pop("service_seconds"))
    content, drops = simulation.open_rows(rate, 60, service, pool=pool, **about)
    end = simulation.end_words(content, pool, 60, rate=rate, drops=drops)
    return step_of(simulation.frame(tmp_path, content), end, pool, pl.Series(drops, dtype=pl.Float64))


def test_a_load_below_capacity_is_neither_late_nor_dropped(tmp_path: Path) -> None:
    found = simulated(tmp_path, 10, 10, service_seconds=0.05)
    assert [found.value(name) for name in ("offered", "late", "dropped", "offered_per_second")] == [600, 0, 0, 10]
    assert found.lag_ms.max == pytest.approx(0, abs=0.001)
    assert not found.value("pool_was_full")
    assert generator_was_limit(found) is None
    assert system_could_not_keep_up(found) is None


def test_above_capacity_arrivals_wait_for_the_pool_and_are_dropped(tmp_path: Path) -> None:
    # One server that takes 100 ms does 10 a second; of 20 a second half cannot be served.
    found = simulated(tmp_path, 5, 20, service_seconds=0.1)
    assert found.value("dropped") == pytest.approx(600 - 10, abs=30)
    assert found.value("due_in_window") == 55 * 20, "a dropped arrival was due too"
    assert found.value("dropped_in_window") == pytest.approx(55 * 10, abs=30)
    assert found.value("pool_was_full")
    assert (found.lag_ms.p99 or 0.0) > 500
    assert generator_was_limit(found) is None
    assert "the system did not keep up" in str(system_could_not_keep_up(found))


def test_lag_behind_a_free_place_is_the_generator_s(tmp_path: Path) -> None:
    found = simulated(tmp_path, 50, 10, service_seconds=0.05, lag_seconds=0.025)
    assert found.value("generator_lag_ms_p99") == pytest.approx(25, abs=0.1)
    assert "550 of 550 requests started more than 10 ms late although the pool had a free place" in str(
        generator_was_limit(found)
    )


def test_lag_that_is_small_beside_the_latency_changes_no_value(tmp_path: Path) -> None:
    found = simulated(tmp_path, 50, 1, service_seconds=0.5, lag_seconds=0.025)
    assert found.value("generator_lag_ms_max") == pytest.approx(0.05 * 525, abs=0.1)
    assert generator_was_limit(found) is None


def test_one_late_start_among_few_says_nothing(tmp_path: Path) -> None:
    content = [simulation.row(n, n, n + 0.1, intended=n) for n in range(20)]
    for late, is_limit in ((1, False), (2, True)):
        moved = [{**row, "started_at": row["started_at"] + 0.02} for row in content[:late]] + content[late:]
        end = simulation.end_words(moved, 5, 60, rate=1)
        whole = Window(simulation.ORIGIN, simulation.ORIGIN + 60)
        found = step_of(simulation.frame(tmp_path, moved), end, 5, window=whole)
        assert (found.value("generator_late"), found.lag_ms.count) == (late, 20)
        assert (generator_was_limit(found) is not None) == is_limit


def test_a_few_late_starts_before_the_pool_fills_do_not_blame_the_generator(tmp_path: Path) -> None:
    found = simulated(tmp_path, 5, 20, service_seconds=0.1, lag_seconds=0.02)
    assert found.value("generator_lag_ms_p99") == 0
    assert generator_was_limit(found) is None


def test_arrivals_dropped_while_places_were_free_are_the_generator_s(tmp_path: Path) -> None:
    content, _ = simulation.open_rows(10, 60, simulation.fixed(0.05), pool=10)
    end = simulation.end_words(content, 10, 60, rate=10, drops=[simulation.ORIGIN] * 3)
    found = step_of(simulation.frame(tmp_path, content), end, 10)
    assert generator_was_limit(found) == reason("generator_dropped", dropped=3)
    # One was due just before the load was told to stop.
    assert generator_was_limit(found.updated(values=found.values | of_whole(dropped=1))) is None


def test_every_worker_has_its_own_share_of_the_pool(tmp_path: Path) -> None:
    # Worker 1 has both its places taken when its third request is due; worker 2 sits idle.
    content = [
        simulation.row(1, 0.0, 2.0, intended=0.0, worker=1),
        simulation.row(2, 0.1, 2.1, intended=0.1, worker=1),
        simulation.row(3, 2.0, 3.0, intended=1.0, worker=1),
        simulation.row(4, 5.0, 6.0, intended=5.0, worker=2),
    ]
    timed = with_lag(simulation.frame(tmp_path, content), pool=4)
    assert timed["pool_was_free"].to_list() == [True, True, False, True]
    assert timed["lag_ms"].to_list() == pytest.approx([0, 0, 1000, 0], abs=0.01)


def test_a_run_without_a_row_has_no_lag(tmp_path: Path) -> None:
    empty = simulation.frame(tmp_path, [])
    end = run_end(stop_at=10.0, model="constant", rate=1.0, offered=0, late=0, dropped=0)
    found = step_of(empty, end, 5)
    assert found.value("generator_lag_ms_p99") is None
    assert generator_was_limit(found) is None


def test_one_that_ends_as_another_starts_has_left_its_place(tmp_path: Path) -> None:
    content = [simulation.row(1, 0.0, 1.0), simulation.row(2, 1.0, 2.0), simulation.row(3, 1.5, 2.0)]
    assert max_in_flight(simulation.frame(tmp_path, content)) == 2
