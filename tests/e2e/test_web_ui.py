"""Locust's web UI, operated as by a user in headless Chromium, and the runs of its loads."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import polars
import pytest

from e2e.labkit import Browser, Lab, await_idle_web_ui, step_folder, step_of
from lab_workload.row import ROWS_DIRECTORY

pytestmark = pytest.mark.lab("standard")

FILES = {"run.json", "steps", "workloads", "report.html", "summary.md", "summary.csv", "summary.json"}
FILES_OF_STEP = {
    *("step.json", "environment.json", "audit.json"),
    *("requests.parquet", "metrics.parquet", "stages.parquet", "spans.parquet"),
}
LOAD_SECONDS_MAX = 60.0
FORM = {
    "spawn_rate": 10,
    "workload": "iou",
    "node": "",
    "counterparty": "",
    "set_parameters": "",
    "arrivals": "closed",
    "rate": 0,
    "pacing": 0,
}
"""All fields, because Locust keeps the values of those that a form leaves out."""


@pytest.fixture
def locust(lab: Lab) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=lab.settings.url("LOCUST_PORT"), timeout=120, trust_env=False) as client:
        yield client


@pytest.fixture(autouse=True)
def at_rest_afterwards(locust: httpx.Client) -> Iterator[None]:
    yield
    await_idle_web_ui(locust)


def loads(lab: Lab) -> list[dict[str, Any]]:
    """The loads of the web UI without a run, as ``lab list`` shows them, newest first."""
    return [one for one in json.loads(lab.succeed("list", "--json").stdout) if one["kind"] == "web UI"]


def swarm(locust: httpx.Client, users: int) -> dict[str, Any]:
    """Send the form of the web UI, and return the answer."""
    answer: dict[str, Any] = locust.post("/swarm", data={**FORM, "user_count": users}).json()
    return answer


def await_requests(locust: httpx.Client, count: int) -> None:
    """Wait until the load in progress has made so many requests."""
    deadline = time.monotonic() + LOAD_SECONDS_MAX
    while locust.get("/stats/requests").json()["stats"][-1]["num_requests"] < count:
        assert time.monotonic() < deadline, "the load makes no requests"
        time.sleep(0.5)


def test_a_load_from_the_browser_ends_as_a_report_by_one_command(lab: Lab, browser: Browser) -> None:
    seen = browser.run("start_run.py", "http://locust:8089", "/shared", network=lab.network)
    expected = {"workload", "node", "counterparty", "setParameters", "arrivals", "rate", "pacing"}
    assert expected <= set(seen["fields"])
    assert "org.cordalab.flows.Iou" in seen["about"]
    assert "iouValue" in seen["about"]
    assert seen["completed"] >= 5
    assert seen["console_errors"] == []
    assert (browser.folder / "running.png").stat().st_size > 10_000
    (load, *_) = loads(lab)
    assert (load["workload"], load["users"]) == ("iou", 2)
    assert load["requests"] >= 5

    lab.succeed("report", "web-ui")

    run = lab.results()[-1]
    assert run.name.endswith("-web-iou")
    assert {path.name for path in run.iterdir()} == FILES
    assert {path.name for path in step_folder(run).iterdir()} == FILES_OF_STEP
    manifest, step = json.loads((run / "run.json").read_text()), step_of(run)
    assert manifest["web_ui"] == load["run"]
    assert (step["load"]["users"], step["load"]["overrides"]) == (2, {"iouValue": "7"})
    counts = step["counts"]
    assert counts["generator"] == polars.read_parquet(step_folder(run) / "requests.parquet").height >= 5
    assert counts["bridge"] == counts["node"] == counts["generator"]
    assert {check["missing"] for check in counts["transactions"]} == {0}
    assert polars.read_parquet(step_folder(run) / "metrics.parquet").height
    assert step["validity"]["valid"]
    assert json.loads((step_folder(run) / "audit.json").read_text())["verdict"] == "passed"
    assert load["run"] not in [one["run"] for one in loads(lab)]
    assert re.search(rf"{run.name} +run, web UI ", lab.succeed("list").stdout)
    assert load["run"] not in lab.inside("locust", f"ls {ROWS_DIRECTORY}")


@pytest.mark.nightly
def test_a_load_in_progress_is_refused_by_every_command_and_measured_after_its_last_change(
    lab: Lab, locust: httpx.Client
) -> None:
    assert swarm(locust, 1)["success"]
    await_requests(locust, 3)
    (load, *_) = loads(lab)
    assert load["state"] == "in progress"
    for verb in (("run", "iou", "--name", "e2e-beside"), ("report", "web-ui")):
        refused = lab.run(*verb)
        assert refused.returncode == 2, refused.stdout + refused.stderr
        assert f"A load of the Locust web UI is in progress ({load['run']}, running)" in refused.stderr
    assert swarm(locust, 3)["success"]
    await_requests(locust, 40)
    locust.post("/stop")

    done = lab.run("report", "web-ui", load["run"], "--name", "e2e-edited", "--json")

    assert done.returncode == 0, done.stdout + done.stderr
    run = Path(json.loads(done.stdout)["report"]).parent
    step = step_of(run)
    assert run.name.endswith("-e2e-edited")
    assert step["load"]["users"] == 3
    assert "users_changed" in [flag["code"] for flag in step["flags"]]
    assert step["counts"]["agree"]
