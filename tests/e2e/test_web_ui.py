"""Locust's web UI, operated in the same way as by a user, in headless Chromium, and ``lab top`` beside it."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from labkit import Browser, Lab

pytestmark = pytest.mark.lab("standard")

SHOWN_SECONDS_MAX = 60.0
NODES = ["Notary", "PartyA", "PartyB", "PartyC"]
FORM = {
    "user_count": 4,
    "spawn_rate": 4,
    "workload": "iou",
    "node": "",
    "counterparty": "",
    "arrivals": "closed",
    "rate": 0,
    "pacing": 0,
}


def test_a_run_starts_and_stops_from_the_browser(lab: Lab, browser: Browser) -> None:
    seen = browser.run("start_run.py", "http://locust:8089", "/shared", network=lab.network)
    assert {"workload", "node", "counterparty"} <= set(seen["fields"])
    assert seen["completed"] >= 5
    assert seen["console_errors"] == []
    assert (browser.folder / "running.png").stat().st_size > 10_000


@pytest.mark.slow  # It takes the same way as the test before.
def test_open_load_keeps_its_rate_from_the_browser(lab: Lab, browser: Browser) -> None:
    started = time.time()
    seen = browser.run("start_run.py", "http://locust:8089", "/shared", "constant", "2", network=lab.network)
    seconds = time.time() - started
    assert {"arrivals", "rate", "pacing"} <= set(seen["fields"])
    assert 5 <= seen["completed"] <= 2 * seconds
    assert seen["console_errors"] == []


@contextmanager
def load(lab: Lab) -> Iterator[None]:
    """A load of the web UI during the block."""
    with httpx.Client(base_url=lab.settings.url("LOCUST_PORT"), timeout=90, trust_env=False) as client:
        answer = client.post("/swarm", data=FORM).json()
        assert answer["success"], answer
        try:
            yield
        finally:
            client.post("/stop")
            deadline = time.monotonic() + SHOWN_SECONDS_MAX
            while client.get("/stats/requests").json()["state"] != "stopped":
                assert time.monotonic() < deadline, "the load does not stop"
                time.sleep(0.5)


def top(lab: Lab) -> dict[str, Any]:
    """What ``lab top`` tells a program."""
    told: dict[str, Any] = json.loads(lab.succeed("top", "--json").stdout)
    return told


def test_the_tab_and_lab_top_show_what_each_node_does(lab: Lab, browser: Browser) -> None:
    with load(lab):
        seen = browser.run("nodes_tab.py", "http://locust:8089", "/shared", str(len(NODES)), network=lab.network)
        deadline = time.monotonic() + SHOWN_SECONDS_MAX
        while not ((told := top(lab))["load"] and told["load"]["achieved_per_second"]):
            assert time.monotonic() < deadline, told
        table = lab.succeed("top", "--once").stdout

    assert seen["titles"][:3] == ["Node", "Health", "Flows in flight"]
    assert [(row[0], row[1]) for row in seen["rows"]] == [(node, "ready") for node in NODES]
    assert seen["console_errors"] == []
    assert (browser.folder / "nodes.png").stat().st_size > 10_000

    assert sorted((node["name"], node["health"]) for node in told["nodes"]) == [(node, "ready") for node in NODES]
    for node in told["nodes"]:
        assert 0 < node["heap_percent"] < 100, node
        assert node["cpu_cores"] >= 0, node
        assert len(node["flows_per_second_history"]) > 10, node
    assert told["bridge"]["outstanding_flows"] <= 4
    [run] = told["load"]["runs"]
    assert run.startswith("iou on PartyA (closed, 4 users")
    assert (told["bridge"]["problem"], told["prometheus"]["problem"]) == (None, None)
    assert all(node in table for node in NODES)
