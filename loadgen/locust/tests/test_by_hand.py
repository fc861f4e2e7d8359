"""What is noted and kept of a load that a user starts in the web UI, so that a run can be made of it later."""

import json
import os
import signal
import time

from lab_workload.by_hand import REMOVED_FILE, RemovedLoads
from lab_workload.load import Load
from stub_counters import STARTED_AT
from testkit import WORKLOAD, Locust, StubBridge, wait_until

STATE = "org.cordalab.states.IouState"
IOU = "org.cordalab.flows.Iou"
FORM = {"workload": "iou", "node": "", "counterparty": "", "pacing": "0.1", "spawn_rate": "50"}


def start(locust: Locust, users: int = 2, **more: object) -> None:
    """Start a load, or change its number of users."""
    answer = locust.post("/swarm", user_count=users, **{**FORM, **more})
    assert answer["success"], answer


def run(locust: Locust, bridge: StubBridge, **more: object) -> str:
    """Run a load until it has some rows, stop it, and return its id."""
    before, seen = set(locust.ended()), len(bridge.starts)
    start(locust, **more)  # type: ignore[arg-type]
    wait_until(lambda: len(bridge.starts) > seen + 5, "requests arrive")
    locust.post("/stop")
    (run_id,) = wait_until(lambda: set(locust.ended()) - before, "the load has ended")
    return str(run_id)


def test_options_and_counters_before_and_after_are_noted(locust: Locust, bridge: StubBridge) -> None:
    locust.workload(f"{WORKLOAD}state: {STATE}\n")
    bridge.unconsumed.update(PartyB=100, PartyC=7)
    bridge.completed["PartyB", IOU] = 40
    locust.start_web()

    run_id = run(locust, bridge, node="PartyB", counterparty="PartyC", set_parameters="iouValue=5")

    load, after = locust.by_hand(run_id), locust.counted(run_id)
    ok = sum(row["outcome"] == "ok" for row in locust.rows(run_id))
    assert ok > 5
    assert (load.plan.identity, load.plan.workload_text) == (run_id, f"{WORKLOAD}state: {STATE}\n")
    assert load.form["set_parameters"] == "iouValue=5"
    assert load.plan.load == Load(
        workload="iou",
        users=2,
        warm_up_seconds=0,
        pacing_seconds=0.1,
        node="PartyB",
        counterparty="PartyC",
        overrides={"iouValue": "5"},
    )
    (part,) = load.plan.subject.parts
    assert (load.plan.subject.node, part.flow, part.flow_short, part.counterparty) == ("PartyB", IOU, "Iou", "PartyC")
    assert part.changes == {STATE: {"PartyB": 1, "PartyC": 1}}
    assert (load.before.at_rest, after.at_rest) == (True, True)
    assert load.before.missing == after.missing == []
    assert load.before.bridge_completed == {"PartyB": {IOU: 40}}
    assert after.bridge_completed == {"PartyB": {IOU: 40 + ok}}
    assert after.nodes["PartyB"].succeeded == {IOU: 40 + ok}
    assert (after.nodes["PartyB"].started_at, after.bridge_started_at) == (STARTED_AT, STARTED_AT)
    assert after.nodes["PartyB"].spans_dropped == 2
    vaults = {(one.state, one.node): one.unconsumed for one in load.before.vaults}
    assert vaults == {(STATE, "PartyB"): 140, (STATE, "PartyC"): 47}
    assert {(one.state, one.node): one.unconsumed - vaults[one.state, one.node] for one in after.vaults} == {
        (STATE, "PartyB"): ok,
        (STATE, "PartyC"): ok,
    }
    assert {start["args"]["iouValue"] for _, start in bridge.starts} == {5}


def test_every_number_of_users_is_noted_with_its_times(locust: Locust, bridge: StubBridge) -> None:
    locust.start_web()
    start(locust, 2)
    wait_until(lambda: "locust_users 2.0" in locust.get("/metrics", locust.metrics_port), "two users run")
    start(locust, 5)
    wait_until(lambda: "locust_users 5.0" in locust.get("/metrics", locust.metrics_port), "five users run")
    wait_until(lambda: len(bridge.starts) > 5, "requests arrive")
    # Locust refuses this one, so it is no change.
    assert not locust.post("/swarm", user_count="many", **FORM)["success"]
    locust.post("/stop")

    (run_id,) = locust.ended()
    first, second = locust.by_hand(run_id).users

    assert (first.users, second.users) == (2, 5)
    assert first.spawned_at is not None
    assert second.spawned_at is not None
    assert first.asked_at <= first.spawned_at <= second.asked_at <= second.spawned_at


def test_counters_that_do_not_answer_are_missing_with_their_reason(locust: Locust, bridge: StubBridge) -> None:
    bridge.silent_nodes.add("PartyC")
    locust.start_web()

    after = locust.counted(run(locust, bridge))

    assert set(after.nodes) == {"PartyA", "PartyB"}
    (reason,) = after.missing
    assert reason.startswith("PartyC did not tell its counters (HTTPError at http://127.0.0.1:")


def test_the_counters_after_a_load_wait_until_the_lab_is_at_rest(locust: Locust, bridge: StubBridge) -> None:
    locust.start_web()
    assert (locust.status().state, locust.status().id) == ("idle", None)
    start(locust)
    wait_until(lambda: len(bridge.starts) > 5, "requests arrive")
    assert locust.status().state == "running"
    bridge.in_flight["PartyB"] = 1
    locust.post("/stop")

    (run_id,) = locust.ended()
    status = locust.status()
    assert (status.state, status.id) == ("counting", run_id)
    assert f"{run_id}.after.json" not in locust.files()
    bridge.in_flight.clear()

    assert locust.counted(run_id).at_rest
    wait_until(lambda: locust.status().state == "idle", "the load is counted")


def test_a_load_starts_only_when_nothing_else_runs(locust: Locust, bridge: StubBridge) -> None:
    locust.start_web()
    command = locust.rows_folder / "20260102T030405Z-iou.ready.json"
    command.write_text("{}")
    refused = locust.post("/swarm", user_count=1, **FORM)
    assert refused["message"].startswith("the run 20260102T030405Z-iou of the command line is in progress")

    # Its command was killed, and nobody has collected its files yet.
    long_ago = time.time() - 3600
    os.utime(command, (long_ago, long_ago))
    bridge.outstanding["PartyB"] = 3
    refused = locust.post("/swarm", user_count=1, **FORM)
    assert refused["message"] == "flows are still in flight (3 at PartyB); wait until they have ended"
    assert bridge.starts == []

    bridge.outstanding.clear()
    start(locust)
    locust.post("/stop")


def test_the_oldest_loads_go_when_there_are_too_many_and_are_remembered(locust: Locust, bridge: StubBridge) -> None:
    locust.environment["LAB_WEB_LOADS_MAX"] = "2"
    locust.start_web()
    first, second, third = (run(locust, bridge) for _ in range(3))

    locust.counted(third)
    assert set(locust.ended()) == {second, third}
    assert not any(name.startswith(f"{first}.") for name in locust.files())
    (removed,) = RemovedLoads.read((locust.rows_folder / REMOVED_FILE).read_text()).loads
    assert (removed.id, removed.workload) == (first, "iou")
    assert removed.requests is not None
    assert removed.requests > 5


def test_a_load_that_is_larger_than_the_limit_is_stopped_and_says_why(locust: Locust, bridge: StubBridge) -> None:
    locust.environment["LAB_WEB_ROWS_MAX_MIB"] = "0.02"
    locust.start_web()
    start(locust, 20, pacing="0")

    (run_id,) = wait_until(locust.ended, "the load is stopped")
    end = locust.end(run_id)
    assert end is not None
    assert end["exit_reason"] == "failed"
    assert len(locust.rows(run_id)) == end["requests"]
    assert "its rows have reached the limit" in locust.get("/logs")


def test_a_load_whose_generator_is_killed_has_no_end(locust: Locust, bridge: StubBridge) -> None:
    locust.start_web()
    start(locust)
    wait_until(lambda: locust.files() and any(map(locust.rows, ids(locust))), "rows are written")
    assert locust.process is not None
    locust.process.send_signal(signal.SIGKILL)
    locust.process.wait(timeout=10)

    assert [name.partition(".")[2] for name in locust.files()] == ["load.json", "ndjson"]


def ids(locust: Locust) -> list[str]:
    return [name.removesuffix(".ndjson") for name in locust.files() if name.endswith(".ndjson")]


def test_a_scripted_run_notes_nothing_of_this(locust: Locust) -> None:
    status, output = locust.run_headless("--run-time", "1s")

    assert status == 0, output
    assert locust.files() == ["test.end.json", "test.ndjson"]


def test_the_page_with_the_form_shows_what_the_chosen_workload_does(locust: Locust) -> None:
    (locust.workloads / "broken.yaml").write_text("description: nothing else")
    (locust.workloads / "swap.yaml").write_text(
        WORKLOAD.replace("Issue an IOU.", "Swap <two> things.")
        + "parameters:\n  participants: {default: 2, choices: [2, 4]}\nrequires: {parties: 3}\n"
    )
    locust.start_web()

    assert '<script src="./lab/workload_panel.js"></script></body>' in locust.get("/")
    assert "workload_panel" not in locust.get("/stats/requests")
    assert "select[name=workload]" in locust.get("/lab/workload_panel.js")
    page = locust.get("/lab/workloads/swap")
    for words in ("Swap &lt;two&gt; things.", "PartyA, with PartyB", IOU, "3 parties", "participants", "2, 4"):
        assert words in page
    assert "node: is missing" in locust.get("/lab/workloads/broken")
    assert "unknown workload &#39;iuo&#39;" in locust.get("/lab/workloads/iuo")


def test_a_value_with_spaces_is_set_with_quotes(locust: Locust, bridge: StubBridge) -> None:
    locust.start_web()

    load = locust.by_hand(run(locust, bridge, set_parameters='iouValue=7 otherParty="O=PartyC,L=Paris,C=FR"'))

    assert load.plan.load.overrides == {"iouValue": "7", "otherParty": "O=PartyC,L=Paris,C=FR"}
    assert json.loads(json.dumps(load.form))["workload"] == "iou"
