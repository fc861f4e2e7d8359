"""How requests end: which outcome a row has, on a real socket."""

from testkit import Locust, StubBridge, client_ids, wait_until


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
