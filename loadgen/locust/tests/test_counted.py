"""Loads that end after a number of requests: bursts, and closed load with ``--flows``."""

import itertools
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from testkit import PAY, Locust, StubBridge, free_port, paid, problem, success, wait_until

LIMIT = ("--run-time", "60s", "--stop-timeout", "10")
"""The longest time of a load that ends by itself."""


def slow(seconds: float) -> Callable[[dict[str, Any]], Any]:
    def reply(start: dict[str, Any]) -> Any:
        threading.Event().wait(seconds)
        return success(start)

    return reply


def in_bursts(rows: list[dict[str, Any]], size: int) -> list[list[dict[str, Any]]]:
    """The rows of each burst."""
    ordered = sorted(rows, key=lambda row: float(row["intended_at"]))
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]


def most_in_flight(rows: list[dict[str, Any]]) -> int:
    changes = [(row["started_at"], 1) for row in rows] + [(row["ended_at"], -1) for row in rows]
    return max(itertools.accumulate(change for _, change in sorted(changes)))


def test_each_burst_starts_evenly_spread_after_the_last_has_ended_and_a_rest(
    locust: Locust, bridge: StubBridge
) -> None:
    bridge.reply = slow(0.3)
    burst = ("--arrivals", "burst", "--users", "10", "--within", "0.5", "--bursts", "3", "--rest", "0.4")

    locust.run(*burst, *LIMIT)
    rows, end = locust.rows(), locust.whole_end()
    assert (end["model"], end["rate"], end["users"]) == ("burst", None, 10)
    assert (end["exit_reason"], end["offered"], end["dropped"], len(rows)) == ("completed", 30, 0, 30)
    bursts = in_bursts(rows, 10)
    for burst_rows in bursts:
        first = burst_rows[0]["intended_at"]
        spread = [row["intended_at"] - first for row in burst_rows]
        assert spread == pytest.approx([0.05 * number for number in range(10)], abs=2e-6)
    for before, after in itertools.pairwise(bursts):
        rest = after[0]["intended_at"] - max(row["ended_at"] for row in before)
        assert 0.399 <= rest < 0.399 + 0.5
    assert all(row["started_at"] >= row["intended_at"] >= end["spawned_at"] for row in rows)
    assert end["stop_at"] - max(row["ended_at"] for row in rows) < 2.5, "it ends by itself"


def test_requests_that_find_the_pool_full_wait_and_none_is_dropped(locust: Locust, bridge: StubBridge) -> None:
    bridge.reply = slow(0.2)
    burst = ("--arrivals", "burst", "--requests", "12", "--users", "3", "--within", "0.1", "--bursts", "2")

    locust.run(*burst, "--rest", "0", *LIMIT)
    rows, end = locust.rows(), locust.whole_end()
    assert (len(rows), end["dropped"], end["pool_free_min"]) == (24, 0, 0)
    assert most_in_flight(rows) == 3
    for burst_rows in in_bursts(rows, 12):
        assert max(row["intended_at"] for row in burst_rows) - burst_rows[0]["intended_at"] < 0.1
        # Four after one another, of which the last three waited.
        assert max(row["latency_intended_ms"] for row in burst_rows) > 700
    first, second = in_bursts(rows, 12)
    assert second[0]["intended_at"] >= max(row["ended_at"] for row in first)


def test_failed_requests_belong_to_their_burst_and_the_next_one_comes(locust: Locust, bridge: StubBridge) -> None:
    bridge.reply = lambda start: problem(429, "too-many-outstanding-flows", "2 are outstanding", Retry_After="30")
    burst = ("--arrivals", "burst", "--users", "4", "--within", "0.2", "--bursts", "3", "--rest", "0.1")

    locust.run(*burst, *LIMIT)
    end = locust.whole_end()
    assert (end["exit_reason"], end["outcomes"]["failed"]) == ("completed", 12)


def test_a_closed_load_ends_after_a_number_of_flows(locust: Locust, bridge: StubBridge) -> None:
    bridge.reply = slow(0.05)

    locust.run("--flows", "10", "--flows-after", "3", *LIMIT)
    rows, end = locust.rows(), locust.whole_end()
    assert (end["model"], end["exit_reason"], end["requests"], len(rows)) == ("closed", "completed", 13, 13)
    assert sorted(row["request_id"] for row in rows) == list(range(1, 14))
    assert most_in_flight(rows) == 3
    assert end["stop_at"] - max(row["ended_at"] for row in rows) < 2.5, "it ends by itself"


def test_a_closed_load_that_does_not_reach_its_number_says_so(locust: Locust, bridge: StubBridge) -> None:
    bridge.reply = slow(0.2)

    locust.run("--flows", "1000", "--run-time", "1s", "--stop-timeout", "10")
    end = locust.whole_end()
    assert end["exit_reason"] == "out_of_time"
    assert end["requests"] == end["outcomes"]["ok"] < 1000


@pytest.mark.parametrize(
    ("load", "prepared"),
    [
        (("--flows", "5", "--flows-after", "2", "--users", "2"), 7),
        (("--arrivals", "burst", "--users", "3", "--bursts", "2", "--rest", "0"), 6),
        (("--arrivals", "burst", "--requests", "4", "--users", "2", "--bursts", "2", "--rest", "0"), 8),
    ],
)
def test_the_set_up_prepares_as_many_as_there_are_requests(
    locust: Locust, bridge: StubBridge, load: tuple[str, ...], prepared: int
) -> None:
    locust.workload(PAY)

    locust.run(*load, *LIMIT)
    (setup,) = [start for _, start in bridge.starts if start["flow"].endswith("CashPrepare")]
    assert setup["args"]["count"] == prepared
    assert len(set(paid(bridge))) == len(paid(bridge)) == prepared


def test_workers_are_refused(locust: Locust, bridge: StubBridge) -> None:
    master = ("--master", "--master-bind-port", str(free_port()), "--expect-workers", "2")

    status, output = locust.run_headless(*master, "--flows", "3", *LIMIT)

    assert status == 2, output
    assert "workers: cannot make bursts, or end after a number of flows" in output
    assert bridge.starts == []


def test_the_web_ui_makes_bursts_and_stops_by_itself(locust: Locust, bridge: StubBridge) -> None:
    locust.start_web()
    form = {"workload": "iou", "node": "", "counterparty": "", "arrivals": "burst", "rate": "0", "pacing": "0"}

    started = locust.post("/swarm", user_count=4, spawn_rate=10, within="0.2", bursts="2", rest="0.1", **form)

    assert started["success"], started
    (run_id,) = wait_until(locust.ended, "the run ends")
    end = locust.whole_end(run_id)
    assert (end["model"], end["exit_reason"], end["outcomes"]["ok"]) == ("burst", "completed", 8)
    wait_until(lambda: json.loads(locust.get("/stats/requests"))["state"] == "stopped", "Locust has stopped")
