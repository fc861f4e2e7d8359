"""Locust's web UI with the lab's form, and the health check that looks at it."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from locust_process import GENERATOR
from testkit import WORKLOAD, X500_NAMES, Locust, StubBridge, wait_until


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


def test_the_web_ui_runs_a_workload_from_its_form(locust: Locust, bridge: StubBridge) -> None:
    locust.start_web()

    started = locust.post("/swarm", user_count=2, spawn_rate=10, workload="iou", node="PartyB", counterparty="PartyC")
    assert started["success"], started
    wait_until(lambda: any(map(locust.rows, row_files(locust))), "rows are written")
    assert 'locust_requests_total{node="PartyB",outcome="ok",workload="iou"}' in locust.get(
        "/metrics", locust.metrics_port
    )
    assert "locust_users 2.0" in locust.get("/metrics", locust.metrics_port)
    locust.post("/stop")
    wait_until(lambda: locust.ended(), "the run ends")
    page = locust.get("/metrics", locust.metrics_port)
    assert "locust_requests_in_flight 0.0" in page, "every request that was started has ended"
    assert "locust_schedule_lag_seconds_count 0.0" in page, "nothing is late in closed load"
    answered = re.search(r'locust_requests_total\{node="PartyB",outcome="ok",workload="iou"\} (\S+)', page)
    assert answered is not None
    assert f'locust_request_latency_seconds_count{{node="PartyB",workload="iou"}} {answered[1]}' in page

    [run_id] = locust.ended()
    assert re.fullmatch(r"web-\d{8}T\d{6}Z", run_id)
    rows, end = locust.rows(run_id), locust.end(run_id)
    assert end is not None
    assert (end["exit_reason"], end["requests"], end["users"]) == ("stopped", len(rows), 2)
    assert {row["node"] for row in rows} == {"PartyB"}
    assert bridge.starts[0][1]["args"]["otherParty"] == X500_NAMES["PartyC"]

    again = locust.post("/swarm", user_count=1, spawn_rate=1, workload="iou", node="", counterparty="", run_time="1s")
    assert again["success"], again
    wait_until(lambda: len(locust.ended()) == 2, "the second run ends by itself")
    [second] = set(locust.ended()) - {run_id}
    assert locust.end(second)["exit_reason"] == "completed"  # type: ignore[index]
    assert len(row_files(locust)) == 2, "it has its own rows"


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"workload": "iuo"}, "unknown workload 'iuo', did you mean 'iou'?"),
        ({"node": "PartyX"}, "node: unknown party 'PartyX'"),
        ({"node": "PartyB"}, "counterparty: PartyB is also the node that starts the flows"),
        ({"pacing": "fast"}, "pacing: must be a duration such as 30s or 2m, but is 'fast'"),
        ({"arrivals": "poisson", "rate": "many"}, "rate: 'many' is not a number"),
        ({"arrivals": "poisson", "rate": "0"}, "rate: is missing; poisson arrivals need it"),
        ({"host": "http://127.0.0.1:1"}, "to change it, set the environment variable BRIDGE_URL"),
        ({"set_parameters": "iouValue"}, "--set: 'iouValue' is not key=value"),
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


def test_its_health_does_not_wait_for_that_of_the_bridge(locust: Locust, bridge: StubBridge, tmp_path: Path) -> None:
    environment = {**locust.environment, "LAB_READY_FILE": str(tmp_path / "was-ready")}
    bridge.is_ready = False
    locust.start_web()
    assert subprocess.run([GENERATOR / "healthcheck"], env=environment, timeout=30, check=False).returncode == 0


def test_a_headless_run_is_healthy_without_a_web_ui(locust: Locust, bridge: StubBridge) -> None:
    locust.start_headless("--run-time", "60s")
    wait_until(lambda: bridge.starts, "the run has begun")

    assert json.loads(locust.get("/health", locust.metrics_port)) == {"web_port": None}
