"""Open load: a real Locust process that starts requests at intended times."""

import itertools
import threading
from typing import Any

import pytest

from testkit import Locust, StubBridge, success, wait_until


def slow(seconds: float) -> Any:
    def reply(start: dict[str, Any]) -> Any:
        threading.Event().wait(seconds)
        return success(start)

    return reply


@pytest.mark.parametrize("model", ["constant", "poisson"])
def test_requests_have_intended_times_of_their_schedule(locust: Locust, bridge: StubBridge, model: str) -> None:
    arguments = ("--arrivals", model, "--rate", "20", "--users", "20", "--run-time", "4s")
    locust.run(*arguments, "--stop-timeout", "10", late_max=60)
    rows, end = locust.rows(), locust.whole_end()
    assert (end["model"], end["rate"], end["users"]) == (model, 20, 20)
    assert end["offered"] == end["requests"] == len(rows) == len(bridge.starts)
    assert end["dropped"] == 0
    assert 0 <= end["pool_free_min"] <= 20
    assert 40 < len(rows) < 120
    for row in rows:
        assert row["started_at"] >= row["intended_at"] >= end["spawned_at"]
        assert row["latency_intended_ms"] == pytest.approx((row["ended_at"] - row["intended_at"]) * 1000, abs=0.01)
    assert end["late"] == sum(row["started_at"] - row["intended_at"] > 0.0100005 for row in rows)
    intended = sorted(row["intended_at"] for row in rows)
    gaps = [later - earlier for earlier, later in itertools.pairwise(intended)]
    if model == "constant":
        assert gaps == pytest.approx([0.05] * len(gaps), abs=2e-6)
    else:
        assert max(gaps) > 2 * min(gaps)


def test_a_full_pool_makes_arrivals_late_and_then_drops_them(locust: Locust, bridge: StubBridge) -> None:
    bridge.reply = slow(0.4)
    load = ("--arrivals", "constant", "--rate", "50", "--users", "2", "--run-time", "4s")

    locust.run(*load, "--stop-timeout", "10", late_max=0.3)
    rows, end = locust.rows(), locust.whole_end()
    assert end["offered"] == len(rows) + end["dropped"]
    assert end["dropped"] > end["offered"] / 2
    drops = locust.drops()
    assert len(drops) == end["dropped"]
    intended = sorted(one["intended_at"] for one in [*rows, *drops])
    assert intended == pytest.approx([end["spawned_at"] + n / 50 for n in range(len(intended))], abs=0.05), (
        "every arrival has a row or a drop"
    )
    due = 50 * (end["stop_at"] - end["spawned_at"])
    assert end["offered"] == pytest.approx(due, abs=3), "whoever waits at the end is offered too"
    assert end["late"] > 0
    assert end["pool_free_min"] == 0
    assert end["lag_p99_ms"] > 10
    assert all(row["started_at"] - row["intended_at"] < 0.3 + 0.25 for row in rows), "one that is too late is dropped"
    assert {row["user_id"] for row in rows} == {1, 2}
    changes = [(row["started_at"], 1) for row in rows] + [(row["ended_at"], -1) for row in rows]
    assert max(itertools.accumulate(change for _, change in sorted(changes))) <= 2


def test_a_long_wait_for_the_next_arrival_does_not_keep_a_run_from_its_end(locust: Locust) -> None:
    load = ("--arrivals", "constant", "--rate", "0.01", "--users", "5", "--run-time", "2s")

    locust.run(*load, "--stop-timeout", "60")
    end = locust.whole_end()
    assert (end["requests"], end["offered"], end["dropped"]) == (1, 1, 0)
    assert end["ended_at"] - end["stop_at"] < 10


def test_users_that_are_taken_away_lose_no_arrival(locust: Locust, bridge: StubBridge) -> None:
    locust.start_web()
    form = {"workload": "iou", "node": "", "counterparty": "", "arrivals": "constant", "rate": "50", "pacing": "0"}
    assert locust.post("/swarm", user_count=8, spawn_rate=100, **form)["success"]
    wait_until(lambda: len(bridge.starts) > 10, "requests arrive")

    assert locust.post("/swarm", user_count=2, spawn_rate=100, **form)["success"]
    wait_until(lambda: "locust_users 2.0" in locust.get("/metrics", locust.metrics_port), "two places are left")
    seen = len(bridge.starts)
    wait_until(lambda: len(bridge.starts) > seen + 10, "requests go on")
    locust.post("/stop")

    [run_id] = locust.ended()
    end = locust.whole_end(run_id)
    assert (end["users"], end["outcomes"]["ok"]) == (2, end["requests"])
    assert end["offered"] == end["requests"] + end["dropped"] == len(bridge.starts) + end["dropped"]
