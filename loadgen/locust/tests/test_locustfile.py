"""A real Locust process against a real HTTP server that answers like the bridge."""

import itertools
import re
import resource
import signal
import subprocess
import threading
from typing import Any

import pytest

from lab_workload.load import SAME_FAILURE_REQUESTS_MIN, SAME_FAILURE_SECONDS_MIN
from testkit import WORKLOAD, Locust, StubBridge, client_ids, problem, success, wait_until

ROW_FIELDS = {
    *("request_id", "user_id", "workload", "node", "flow", "started_at", "ended_at", "latency_ms", "outcome", "status"),
    *("error", "flow_id", "tx_id", "client_id", "bridge_rpc_ms", "bridge_flow_ms"),
    *("bridge_received_at", "bridge_started_at"),
    *("part", "worker", "intended_at", "latency_intended_ms", "trace_id"),
}


def slow(seconds: float, released: threading.Event) -> Any:
    """A reply that keeps a flow in flight until ``released``, or for ``seconds``."""

    def reply(start: dict[str, Any]) -> Any:
        released.wait(seconds)
        return success(start)

    return reply


def test_every_request_of_a_headless_run_is_a_row(locust: Locust, bridge: StubBridge) -> None:
    status, output = locust.run_headless("--run-time", "2s", "--stop-timeout", "10")

    assert status == 0, output
    rows, end = locust.rows(), locust.whole_end()
    row = rows[0]
    assert set(row) == ROW_FIELDS
    assert (row["workload"], row["node"], row["flow"]) == ("iou", "PartyA", "org.cordalab.flows.Iou")
    assert (row["outcome"], row["status"], row["error"]) == ("ok", 200, None)
    assert (row["flow_id"], row["tx_id"]) == (f"flow-of-{row['client_id']}", f"tx-of-{row['client_id']}")
    assert (row["bridge_rpc_ms"], row["bridge_flow_ms"], row["bridge_received_at"]) == (1.5, 20.25, 1.7e9)
    assert row["latency_ms"] == pytest.approx((row["ended_at"] - row["started_at"]) * 1000, abs=0.01)
    assert re.fullmatch(r"test-[0-9a-f]{8}-\d+", row["client_id"])
    assert sorted(row["client_id"] for row in rows) == sorted(client_ids(bridge))
    assert sorted(row["request_id"] for row in rows) == list(range(1, len(rows) + 1))
    assert {row["user_id"] for row in rows} == {1, 2, 3}
    assert (end["requests"], end["outcomes"]["ok"], end["users"]) == (len(rows), len(rows), 3)
    assert end["exit_reason"] == "completed"
    assert end["started_at"] <= end["spawned_at"] <= end["stop_at"] <= end["ended_at"]
    assert end["cpu_percent_max"] > 0
    assert "Traceback" not in output


def test_every_request_has_the_bridge_s_token_and_nothing_else_shows_it(locust: Locust, bridge: StubBridge) -> None:
    locust.environment["BRIDGE_TOKEN"] = "0123456789abcdef"
    status, output = locust.run_headless("--run-time", "1s", "--stop-timeout", "10")

    assert status == 0, output
    assert bridge.starts
    assert bridge.tokens == {"Bearer 0123456789abcdef"}
    assert "0123456789abcdef" not in output
    assert all("0123456789abcdef" not in (locust.rows_folder / name).read_text() for name in locust.files())


def test_the_same_seed_gives_the_same_arguments(locust: Locust, bridge: StubBridge) -> None:
    def values(run_id: str, seed: str) -> list[int]:
        bridge.starts.clear()
        status, output = locust.run_headless("--run-time", "1s", "--stop-timeout", "10", name=run_id, seed=seed)
        assert status == 0, output
        by_request = sorted(bridge.starts, key=lambda item: int(item[1]["clientId"].rpartition("-")[2]))
        return [start["args"]["iouValue"] for _, start in by_request[:10]]

    first = values("first", "7")
    assert len(first) == 10
    assert values("second", "7") == first
    assert values("third", "8") != first


def test_a_failed_flow_is_an_error_row_and_the_run_still_ends_well(locust: Locust, bridge: StubBridge) -> None:
    bridge.reply = lambda start: problem(502, "flow-failed", f"IllegalArgumentException in {start['clientId']}")

    status, output = locust.run_headless("--run-time", "1s", "--stop-timeout", "10")

    assert status == 0, output
    rows, end = locust.rows(), locust.whole_end()
    assert len(rows) > 3
    assert {(row["outcome"], row["status"]) for row in rows} == {("failed", 502)}
    assert rows[0]["error"] == f"flow-failed: IllegalArgumentException in {rows[0]['client_id']}"
    assert end["outcomes"]["failed"] == end["requests"] == len(rows)
    # Equal errors are one line of Locust's table, whatever identifiers they carry.
    assert len(re.findall("flow-failed: IllegalArgumentException in …", output)) == 1


def test_a_run_ends_when_every_request_fails_in_the_same_way(locust: Locust, bridge: StubBridge) -> None:
    bridge.reply = lambda start: problem(400, "invalid-argument", f"args.iouValue is {start['args']['iouValue']}")

    status, output = locust.run_headless("--run-time", "600s", "--stop-timeout", "10")

    assert status == 0, output
    rows, end = locust.rows(), locust.whole_end()
    assert (end["exit_reason"], end["outcomes"]["failed"]) == ("all_failed", len(rows))
    assert len(rows) >= SAME_FAILURE_REQUESTS_MIN
    assert SAME_FAILURE_SECONDS_MIN <= end["stop_at"] - end["started_at"] < 20
    assert "all requests have failed: 400 invalid-argument: args.iouValue is …" in output


def test_a_user_waits_as_long_as_429_asks(locust: Locust, bridge: StubBridge) -> None:
    bridge.reply = lambda start: problem(429, "too-many-outstanding-flows", "800 are outstanding", Retry_After="1")

    locust.run("--users", "1", "--run-time", "3s", "--stop-timeout", "10")
    rows = locust.rows()
    assert len(rows) >= 2
    assert {row["error"] for row in rows} == {"too-many-outstanding-flows: 800 are outstanding"}
    assert all(later["started_at"] - row["ended_at"] >= 1 for row, later in itertools.pairwise(rows))


def test_pacing_keeps_the_starts_of_a_user_apart(locust: Locust) -> None:
    locust.run("--pacing", "0.5", "--run-time", "3s", "--stop-timeout", "10")
    rows = locust.rows()
    for user_id in (1, 2, 3):
        starts = [row["started_at"] for row in rows if row["user_id"] == user_id]
        assert len(starts) >= 3
        assert all(later - start > 0.45 for start, later in itertools.pairwise(starts))


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_waits_for_its_flows(locust: Locust, bridge: StubBridge, kind: signal.Signals) -> None:
    bridge.reply = slow(0.3, threading.Event())
    process = locust.start_headless("--run-time", "60s", "--stop-timeout", "20")
    wait_until(lambda: len(locust.rows()) >= 3, "rows are written while the run goes on")

    process.send_signal(kind)
    status, output = locust.finish()

    assert status == 130, output
    rows, end = locust.rows(), locust.whole_end()
    assert sorted(row["client_id"] for row in rows) == sorted(client_ids(bridge))
    assert {row["outcome"] for row in rows} == {"ok"}
    assert (end["exit_reason"], end["requests"]) == ("interrupted", len(rows))
    assert "Traceback" not in output


def test_a_second_ctrl_c_does_not_wait_any_longer(locust: Locust, bridge: StubBridge) -> None:
    released = threading.Event()
    bridge.reply = slow(60, released)
    process = locust.start_headless("--run-time", "60s", "--stop-timeout", "50")
    wait_until(lambda: len(bridge.starts) == 3, "every user has a flow in flight")

    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=1)
    process.send_signal(signal.SIGINT)
    status, output = locust.finish(timeout_seconds=10)
    released.set()

    assert status == 130, output
    rows = locust.rows()
    assert sorted(row["client_id"] for row in rows) == sorted(client_ids(bridge))
    assert {row["error"] for row in rows} == {"no-answer: cut off when the run stopped"}
    assert locust.end() is not None


def test_a_killed_process_leaves_whole_rows_and_no_end(locust: Locust) -> None:
    process = locust.start_headless("--run-time", "60s")
    file = locust.rows_folder / "test.ndjson"
    # Only the size: the rows themselves may be read while one of them is being written.
    wait_until(lambda: file.exists() and file.stat().st_size, "rows are written while the run goes on")

    process.kill()
    locust.finish()

    assert locust.rows()
    assert locust.files() == ["test.ndjson"]


def test_rows_that_cannot_be_written_fail_the_run(locust: Locust) -> None:
    status, output = locust.run_headless(
        *("--run-time", "60s", "--stop-timeout", "5"),
        limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000)),
    )

    assert status == 1
    assert len(re.findall(r"Run test failed: cannot write rows to .*/test.ndjson: File too large", output)) == 1
    assert "Traceback" not in output
    assert locust.end() is None
    locust.rows()


def test_a_template_that_fails_along_the_way_fails_the_run(locust: Locust, bridge: StubBridge) -> None:
    (locust.workloads / "iou.yaml").write_text(WORKLOAD.replace("random_int(1, 99)", "60 // (5 - counter())"))

    status, output = locust.run_headless("--run-time", "60s", "--stop-timeout", "10")

    assert status == 1
    reason = "iou.yaml:5: args: template: ZeroDivisionError: integer division or modulo by zero"
    assert len(re.findall(re.escape(reason), output)) == 1
    assert "Traceback" not in output
    end = locust.whole_end()
    assert (end["exit_reason"], end["requests"], len(bridge.starts)) == ("failed", 4, 4)


def test_a_bad_environment_is_told_at_once(locust: Locust) -> None:
    locust.environment |= {"BRIDGE_URL": "bridge:8080", "BRIDGE_FLOW_TIMEOUT_SECONDS": "long", "LAB_PARTIES": ","}
    locust.environment["LAB_ALLOWED_HOSTS"] = "locust,http://lab:8089"

    status, output = locust.run_headless("--run-time", "1s")

    assert status == 2
    assert "BRIDGE_FLOW_TIMEOUT_SECONDS: 'long' is not a number above 0" in output
    assert "BRIDGE_URL: 'bridge:8080' is not an http:// address" in output
    assert "LAB_ALLOWED_HOSTS: 'http://lab:8089' is not a host name; leave out scheme and port" in output
    assert "LAB_PARTIES: must contain the name of a node" in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--workload", "iuo"), "argument --workload: invalid choice: 'iuo'"),
        (("--pacing", "fast"), "pacing: must be a duration such as 30s or 2m, but is 'fast'"),
        (("--set-parameters", "name=../escape"), "name: '../escape' is invalid; use 1 to 100 letters, digits"),
        (("--plan", "none.json"), "none.json: cannot be read: No such file or directory"),
        (("--seeed", "1"), "unrecognized arguments: --seeed"),
        (("--processes", "2"), "argument --processes: start the workers with --worker instead"),
        (("--arrivals", "poisson"), "rate: is missing; poisson arrivals need it"),
    ],
)
def test_a_bad_argument_is_one_clear_message(locust: Locust, arguments: tuple[str, ...], message: str) -> None:
    status, output = locust.run_headless("--run-time", "1s", *arguments)

    assert status == 2, output
    assert message in output
    assert "Traceback" not in output
    assert locust.files() == []


def test_arguments_that_the_bridge_refuses_are_told_before_anything_starts(locust: Locust, bridge: StubBridge) -> None:
    refusal = {"field": "args.iouValue", "detail": "args.iouValue must be an int"}
    bridge.check = lambda start: (400, {"Content-Type": "application/problem+json"}, refusal)

    status, output = locust.run_headless("--run-time", "1s")

    assert status == 2, output
    assert "iou.yaml:6: args.iouValue: the bridge rejects it: args.iouValue must be an int" in output
    assert bridge.starts == []


def test_every_mistake_in_a_workload_is_told_at_once(locust: Locust, bridge: StubBridge) -> None:
    (locust.workloads / "iou.yaml").write_text(WORKLOAD.replace("flow:", "flwo:").replace("random_int", "random_in"))

    status, output = locust.run_headless("--run-time", "1s")

    assert status == 2
    path = locust.workloads / "iou.yaml"
    assert f"locust: error: {path}:1: flow: is missing" in output
    assert f"{path}:4: flwo: unknown field, did you mean 'flow'?" in output
    assert f"{path}:6: args.iouValue: template: unknown name 'random_in', did you mean 'random_int'?" in output
    assert "Traceback" not in output
    assert bridge.starts == []


def test_a_run_id_is_not_used_twice(locust: Locust) -> None:
    (locust.rows_folder / "test.ndjson").write_text("{}\n")

    status, output = locust.run_headless("--run-time", "1s")

    assert status == 2
    assert "run id 'test' is already used" in output
    assert locust.rows() == [{}]
