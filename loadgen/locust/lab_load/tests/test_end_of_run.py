"""How the end of a run is put together from those of its processes."""

from dataclasses import replace

from lab_load.process_run import ProcessEnd, end_of
from lab_workload.run_end import PreparedStep, RunEnd, WorkerEnd

FIRST = RunEnd(
    started_at=10.0,
    spawned_at=11.0,
    stop_at=20.0,
    ended_at=21.0,
    model="constant",
    rate=20.0,
    users=3,
    requests=40,
    rows={"1": 40},
    outcomes={"ok": 4, "expected": 2, "failed": 1, "unknown": 0},
    cpu_percent_max=50.0,
    exit_reason="completed",
    offered=45,
    late=4,
    dropped=5,
    lag_p99_ms=1.0,
    pool_free_min=1,
    setup=[],
    workers=[WorkerEnd(1, 50.0, 40)],
)
SECOND = replace(
    FIRST,
    started_at=9.5,
    spawned_at=12.0,
    ended_at=22.0,
    requests=60,
    rows={"2": 60},
    pool_free_min=0,
    workers=[WorkerEnd(2, 30.0, 60)],
)


def test_values_of_the_processes_are_put_together() -> None:
    setup = [PreparedStep("coins", 5, 1.25)]
    end = end_of([ProcessEnd(FIRST, [(1000, 40)]), ProcessEnd(SECOND, [(9000, 60)])], setup, "completed")

    assert (end.started_at, end.spawned_at, end.ended_at) == (9.5, 12.0, 22.0)
    assert (end.model, end.rate, end.users, end.requests) == ("constant", 20.0, 6, 100)
    assert (end.offered, end.late, end.dropped, end.pool_free_min) == (90, 8, 10, 0)
    assert (end.lag_p99_ms, end.rows, end.setup) == (9.0, {"1": 40, "2": 60}, setup)
    assert [worker.index for worker in end.workers] == [1, 2]


def test_users_are_spawned_when_those_of_every_process_are() -> None:
    ends = [ProcessEnd(FIRST, []), ProcessEnd(replace(SECOND, spawned_at=None), [])]
    assert end_of(ends, [], "failed").spawned_at is None


def test_closed_load_has_no_arrivals() -> None:
    closed = replace(FIRST, offered=None, late=None, dropped=None, lag_p99_ms=None, pool_free_min=None)
    end = end_of([ProcessEnd(closed, [])], [], "completed")
    assert (end.offered, end.late, end.dropped, end.lag_p99_ms, end.pool_free_min) == (None,) * 5
