"""How the end of a run is put together from those of its processes."""

from dataclasses import replace

import pytest

from lab_load.end_file import ProcessSummary, end_of
from lab_workload.load import Load
from lab_workload.plan import Plan
from lab_workload.run_end import PreparedStep
from lab_workload.subject import Subject

FIRST = ProcessSummary(
    worker=1,
    started_at=10.0,
    spawned_at=11.0,
    stop_at=20.0,
    ended_at=21.0,
    users=3,
    requests=40,
    rows=40,
    outcomes={"ok": 4, "expected": 2, "failed": 1, "unknown": 0},
    cpu_percent_max=50.0,
    exit_reason="completed",
    offered=45,
    late=4,
    dropped=5,
    lags=[(1000, 40)],
    pool_free_min=1,
)
SECOND = replace(
    FIRST,
    worker=2,
    started_at=9.5,
    spawned_at=12.0,
    ended_at=22.0,
    requests=60,
    rows=60,
    lags=[(9000, 60)],
    pool_free_min=0,
)


@pytest.fixture
def plan() -> Plan:
    return Plan(
        identity="run",
        load=Load(workload="empty", users=6, arrivals="constant", rate=20.0),
        workload_text="description: x\nnode: PartyA\nflow: Empty\n",
        starters=(),
        subject=Subject("PartyA", ()),
        seconds=10.0,
    )


def test_values_of_the_processes_are_put_together(plan: Plan) -> None:
    end = end_of(plan, [FIRST, SECOND], [PreparedStep("coins", 5, 1.25)], "completed").as_dict()

    assert (end["started_at"], end["spawned_at"], end["ended_at"]) == (9.5, 12.0, 22.0)
    assert (end["model"], end["rate"], end["users"], end["requests"]) == ("constant", 20.0, 6, 100)
    assert (end["offered"], end["late"], end["dropped"], end["pool_free_min"]) == (90, 8, 10, 0)
    assert end["lag_p99_ms"] == 9.0
    assert end["rows"] == {"1": 40, "2": 60}
    assert end["setup"] == [{"name": "coins", "items": 5, "seconds": 1.25}]
    assert end["workers"][1] == {"index": 2, "cpu_percent_max": 50.0, "rows": 60}


def test_users_are_spawned_when_those_of_every_process_are(plan: Plan) -> None:
    assert end_of(plan, [FIRST, replace(SECOND, spawned_at=None)], [], "failed").spawned_at is None


def test_closed_load_has_no_arrivals(plan: Plan) -> None:
    closed = replace(FIRST, offered=None, late=None, dropped=None, lags=[], pool_free_min=None)
    end = end_of(plan.model_copy(update={"load": Load(workload="empty", users=6)}), [closed], [], "completed")

    assert (end.rate, end.offered, end.late, end.dropped, end.lag_p99_ms, end.pool_free_min) == (None,) * 6
