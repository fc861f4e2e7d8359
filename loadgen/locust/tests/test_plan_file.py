"""Runs of a plan that the command line has written."""

from lab_workload.load import Load
from testkit import Locust, StubBridge, client_ids, problem


def test_a_plan_of_the_command_line_says_all_of_a_load(locust: Locust, bridge: StubBridge) -> None:
    load = Load(workload="iou", users=5, seed=7, node="PartyC", warm_up_seconds=1, duration_seconds=1)
    path = locust.plan(load, 2.0)
    (locust.workloads / "iou.yaml").unlink()
    bridge.parties = problem(503, "node-unavailable", "nobody has to be asked again")

    locust.start("--headless", "--only-summary", "--plan", str(path))
    status, output = locust.finish()

    assert status == 0, output
    rows, end = locust.rows(), locust.whole_end()
    assert (end["users"], end["exit_reason"], end["requests"]) == (5, "completed", len(rows))
    assert {row["node"] for row in rows} == {"PartyC"}
    assert 1.5 < end["stop_at"] - end["started_at"] < 4


def test_without_recording_the_same_requests_leave_only_the_end_file(locust: Locust, bridge: StubBridge) -> None:
    path = locust.plan(Load(workload="iou", users=3), 2.0, recording="none")

    locust.start("--headless", "--only-summary", "--plan", str(path))
    status, output = locust.finish()

    assert status == 0, output
    assert locust.files() == ["test.end.json"]
    end = locust.whole_end()
    assert end["requests"] == end["outcomes"]["ok"] == len(client_ids(bridge)) > 0
    assert end["rows"] == {"0": 0}
