"""How requests end: which outcome a row has, on a real socket."""

from typing import Any

import pytest

from testkit import Locust, StubBridge, client_ids, problem, wait_until


def test_a_bridge_that_breaks_connections_leaves_outcomes_unknown_at_a_bounded_rate(
    locust: Locust, bridge: StubBridge
) -> None:
    bridge.reply = lambda start: (_ for _ in ()).throw(ConnectionError("the bridge breaks the connection"))

    status, output = locust.run_headless("--users", "1", "--run-time", "3s", "--stop-timeout", "10")

    assert status == 0, output
    rows = locust.rows()
    assert 2 <= len(rows) <= 4
    assert {(row["outcome"], row["status"]) for row in rows} == {("unknown", 0)}
    assert all(row["error"].startswith("no-answer: ") for row in rows)
    assert sorted(row["client_id"] for row in rows) == sorted(client_ids(bridge)), "nothing was sent twice"


def test_a_request_that_nobody_accepted_has_failed(locust: Locust, bridge: StubBridge) -> None:
    process = locust.start_headless("--users", "1", "--run-time", "4s", "--stop-timeout", "10")
    wait_until(lambda: len(bridge.starts) > 2, "requests arrive")
    bridge.close()
    # Only new connections are refused, so the present one has to break.
    bridge.reply = lambda start: (_ for _ in ()).throw(ConnectionError("the bridge breaks the connection"))

    process.wait(timeout=60)
    rows = locust.rows()
    assert (rows[-1]["outcome"], rows[-1]["status"]) == ("failed", 0)
    assert rows[-1]["error"].startswith("not-sent: ")
    assert rows[-1]["client_id"] not in client_ids(bridge)


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (lambda _: problem(504, "outcome-unknown", "The flow has not ended within 300 s."), "unknown"),
        (lambda _: problem(500, "internal-error", "The bridge failed."), "unknown"),
        (lambda _: problem(503, "node-unavailable", "Nothing was started."), "failed"),
        (lambda _: problem(429, "too-many-outstanding-flows", "Nothing was started."), "failed"),
    ],
)
def test_an_outcome_is_unknown_only_if_the_flow_may_have_run(
    locust: Locust, bridge: StubBridge, reply: Any, outcome: str
) -> None:
    bridge.reply = reply

    status, output = locust.run_headless("--users", "1", "--run-time", "1s", "--stop-timeout", "10")

    assert status == 0, output
    assert {row["outcome"] for row in locust.rows()} == {outcome}
