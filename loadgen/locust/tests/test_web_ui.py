"""Locust's web UI with the lab's form, and the health check that looks at it."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lab_workload.load import Load
from locust_process import GENERATOR
from testkit import WORKLOAD, Locust, StubBridge, wait_until

FORM = {"workload": "iou", "node": "", "counterparty": "", "pacing": "0.1", "spawn_rate": "50"}


def test_the_web_ui_shows_the_lab_s_fields_with_their_choices(locust: Locust) -> None:
    locust.start_web()

    page = locust.get("/")

    options = json.loads(re.search(r"window\.templateArgs = (\{.*\})", page)[1])["extra_options"]  # type: ignore[index]
    bursts = ["requests", "within", "bursts", "rest", "flows", "flows_after"]
    load = ["arrivals", "rate", "pacing", *bursts]
    assert list(options) == ["workload", "node", "counterparty", "set_parameters", *load]
    assert (options["arrivals"]["choices"], options["arrivals"]["default_value"]) == (
        ["closed", "constant", "poisson", "burst"],
        "closed",
    )
    assert (options["workload"]["choices"], options["workload"]["default_value"]) == (["iou"], "iou")
    assert options["node"]["choices"] == options["counterparty"]["choices"] == ["", "PartyA", "PartyB", "PartyC"]
    # A workload file that was just written can be chosen after a reload.
    (locust.workloads / "own.yaml").write_text(WORKLOAD)
    assert '["iou", "own"]' in locust.get("/")


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"workload": "iuo"}, "unknown workload 'iuo', did you mean 'iou'?"),
        ({"node": "PartyX"}, "node: unknown party 'PartyX'"),
        ({"arrivals": "poisson", "rate": "0"}, "rate: is missing; poisson arrivals need it"),
        ({"set_parameters": "iouvalue=5"}, "--set: unknown key 'iouvalue', did you mean 'iouValue'?"),
        ({"user_count": "many"}, "Invalid user_count value: 'many' (must be an integer)"),
    ],
)
def test_the_web_ui_says_what_is_wrong_and_starts_nothing(locust: Locust, form: dict[str, str], message: str) -> None:
    locust.start_web()

    answer = locust.post("/swarm", **{"user_count": 1, "spawn_rate": 1, "workload": "iou", **form})

    assert not answer["success"]
    assert message in answer["message"]
    assert json.loads(locust.get("/stats/requests"))["state"] == "ready"
    assert locust.files() == []


def test_the_web_ui_changes_only_the_number_of_users_of_a_run(locust: Locust, bridge: StubBridge) -> None:
    (locust.workloads / "own.yaml").write_text(WORKLOAD)
    locust.start_web()
    form = {"spawn_rate": 10, "workload": "iou", "node": "", "counterparty": "", "pacing": 0.1}
    assert locust.post("/swarm", user_count=1, host=bridge.url, **form)["success"]
    wait_until(lambda: bridge.starts, "the run has begun")

    refused = locust.post("/swarm", user_count=1, **{**form, "workload": "own"})
    more = locust.post("/swarm", user_count=4, **form)

    assert refused["message"].startswith("a run is in progress; stop it first")
    assert more["success"], more
    wait_until(lambda: "locust_users 4.0" in locust.get("/metrics", locust.metrics_port), "four users run")
    locust.post("/stop")
    assert len(row_files(locust)) == 1


def row_files(locust: Locust) -> list[str]:
    """The ids of all loads that have rows."""
    return [name.removesuffix(".ndjson") for name in locust.files() if name.endswith(".ndjson")]


def test_the_health_check_follows_the_generator(locust: Locust, tmp_path: Path) -> None:
    was_ready = tmp_path / "was-ready"

    def check() -> int:
        environment = {**locust.environment, "LAB_READY_FILE": str(was_ready), "LAB_REST_SECONDS": "0.1"}
        return subprocess.run([GENERATOR / "healthcheck"], env=environment, capture_output=True, check=False).returncode

    locust.start_web()
    assert check() == 0
    assert was_ready.exists()
    assert check() == 0
    locust.close()
    assert check() == 1


def test_a_headless_run_is_healthy_without_a_web_ui(locust: Locust, bridge: StubBridge) -> None:
    locust.start_headless("--run-time", "60s")
    wait_until(lambda: bridge.starts, "the run has begun")

    assert json.loads(locust.get("/health", locust.metrics_port)) == {"web_port": None}


def run(locust: Locust, bridge: StubBridge, **form: object) -> str:
    """Run a load until it has some rows, stop it, and return its id."""
    before, seen = set(locust.ended()), len(bridge.starts)
    answer = locust.post("/swarm", **{**FORM, "user_count": 2, **form})
    assert answer["success"], answer
    wait_until(lambda: len(bridge.starts) > seen + 5, "requests arrive")
    locust.post("/stop")
    (run_id,) = wait_until(lambda: set(locust.ended()) - before, "the load has ended")
    return str(run_id)


def test_a_load_of_the_form_has_the_files_of_any_load(locust: Locust, bridge: StubBridge) -> None:
    locust.start_web()

    parameters = 'iouValue=5 otherParty="O=PartyC,L=Paris,C=FR"'
    run_id = run(locust, bridge, node="PartyB", counterparty="PartyC", set_parameters=parameters)

    page = locust.get("/metrics", locust.metrics_port)
    assert "locust_requests_in_flight 0.0" in page, "every request that was started has ended"
    assert "locust_schedule_lag_seconds_count 0.0" in page, "nothing is late in closed load"
    answered = re.search(r'locust_requests_total\{node="PartyB",outcome="ok",workload="iou"\} (\S+)', page)
    assert answered is not None
    assert f'locust_request_latency_seconds_count{{node="PartyB",workload="iou"}} {answered[1]}' in page
    rows, end = locust.rows(run_id), locust.whole_end(run_id)
    assert (end["exit_reason"], end["requests"], end["users"]) == ("stopped", len(rows), 2)

    plan = locust.plan_of(run_id)
    assert (plan.identity, plan.workload_text) == (run_id, WORKLOAD)
    assert plan.load == Load(
        workload="iou",
        users=2,
        warm_up_seconds=0,
        pacing_seconds=0.1,
        node="PartyB",
        counterparty="PartyC",
        overrides={"iouValue": "5", "otherParty": "O=PartyC,L=Paris,C=FR"},
    )
    (part,) = plan.subject.parts
    assert (plan.subject.node, part.flow, part.counterparty) == ("PartyB", "org.cordalab.flows.Iou", "PartyC")
    assert {start["args"]["iouValue"] for _, start in bridge.starts} == {5}
    assert [name.partition(".")[2] for name in locust.files()] == ["end.json", "ndjson", "plan.json"]


def test_a_changed_number_of_users_is_noted_with_the_time_since_when_it_holds(
    locust: Locust, bridge: StubBridge
) -> None:
    locust.start_web()
    assert locust.post("/swarm", **FORM, user_count=2)["success"]
    wait_until(lambda: "locust_users 2.0" in locust.get("/metrics", locust.metrics_port), "two users run")
    changed_at = time.time()
    assert locust.post("/swarm", **FORM, user_count=5)["success"]
    wait_until(lambda: "locust_users 5.0" in locust.get("/metrics", locust.metrics_port), "five users run")
    # Locust refuses this one, so it is no change.
    assert not locust.post("/swarm", **FORM, user_count="many")["success"]
    wait_until(lambda: bridge.starts, "requests arrive")
    locust.post("/stop")

    (run_id,) = wait_until(locust.ended, "the load has ended")
    end = locust.whole_end(run_id)
    assert (end["users"], end["users_changed"]) == (5, True)
    assert changed_at < end["spawned_at"] < end["stop_at"]


def test_users_that_are_still_starting_at_the_end_are_noted(locust: Locust, bridge: StubBridge) -> None:
    locust.start_web()
    assert locust.post("/swarm", **FORM, user_count=1)["success"]
    wait_until(lambda: bridge.starts, "requests arrive")
    assert locust.post("/swarm", **{**FORM, "spawn_rate": "0.1"}, user_count=9)["success"]
    locust.post("/stop")

    (run_id,) = wait_until(locust.ended, "the load has ended")
    end = locust.whole_end(run_id)
    assert (end["spawned_at"], end["users_changed"]) == (None, True)


def test_a_load_starts_only_when_nothing_else_runs(locust: Locust, bridge: StubBridge) -> None:
    locust.start_web()
    command = locust.rows_folder / "20260102T030405Z-iou.ready.json"
    command.write_text("{}")
    refused = locust.post("/swarm", **FORM, user_count=1)
    assert refused["message"].startswith("the run 20260102T030405Z-iou of the command line is in progress")

    # Its command was killed, and nobody has collected its files yet.
    long_ago = time.time() - 3600
    os.utime(command, (long_ago, long_ago))
    bridge.outstanding["PartyB"] = 3
    refused = locust.post("/swarm", **FORM, user_count=1)
    assert refused["message"] == "flows are still in flight (3 at PartyB); wait until they have ended"
    assert bridge.starts == []
    assert (locust.status().state, locust.status().id) == ("idle", None)

    bridge.outstanding.clear()
    assert locust.post("/swarm", **FORM, user_count=1)["success"]
    assert locust.status().state == "running"
    locust.post("/stop")


def test_prometheus_reads_the_counters_between_two_loads(locust: Locust, bridge: StubBridge) -> None:
    locust.environment["LAB_WEB_LOADS_MAX"] = "1"
    locust.start_web()

    first = run(locust, bridge)
    ended_at = locust.end(first)["ended_at"]  # type: ignore[index]
    second = run(locust, bridge)

    assert locust.end(second)["started_at"] - ended_at > 5  # type: ignore[index]
    assert not any(name.startswith(f"{first}.") for name in locust.files()), "the oldest load went to make room"


def test_a_load_that_is_larger_than_the_limit_is_stopped_and_says_why(locust: Locust, bridge: StubBridge) -> None:
    locust.environment["LAB_WEB_ROWS_MAX_MIB"] = "0.02"
    locust.start_web()
    assert locust.post("/swarm", **{**FORM, "pacing": "0"}, user_count=20)["success"]

    (run_id,) = wait_until(locust.ended, "the load is stopped")
    end = locust.whole_end(run_id)
    assert end["exit_reason"] == "failed"
    assert len(locust.rows(run_id)) == end["requests"]
    assert "its rows have reached the limit" in locust.get("/logs")


def test_a_load_whose_generator_is_killed_has_no_end(locust: Locust, bridge: StubBridge) -> None:
    locust.start_web()
    assert locust.post("/swarm", **FORM, user_count=2)["success"]
    wait_until(lambda: any(map(locust.rows, row_files(locust))), "rows are written")
    assert locust.process is not None
    locust.process.send_signal(signal.SIGKILL)
    locust.process.wait(timeout=10)

    assert [name.partition(".")[2] for name in locust.files()] == ["ndjson", "plan.json"]


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
    assert "can change rate_max, participants, iouValue, otherParty." in page
    assert "description: Swap &lt;two&gt; things.\nnode: PartyA\n" in page
    assert "node: is missing" in locust.get("/lab/workloads/broken")
    assert "unknown workload &#39;iuo&#39;" in locust.get("/lab/workloads/iuo")
