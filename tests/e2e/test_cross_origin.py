"""A web page of another origin, in a real browser, cannot start, stop or read anything of the lab."""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from e2e import hostile
from e2e.harm import READY_SECONDS_MAX, counted, require_unchanged
from e2e.labkit import Browser, Lab, await_idle_web_ui

pytestmark = [pytest.mark.lab("standard"), pytest.mark.nightly]

RUN_SECONDS_MAX = 60.0
FORBIDDEN, UNKNOWN_HOST, BLOCKED = 403, 421, "blocked"

REFUSALS = {
    "start a flow": FORBIDDEN,
    "start a flow by a form": FORBIDDEN,
    "start a flow as JSON": BLOCKED,
    "start a run": FORBIDDEN,
    "start a run by a form": FORBIDDEN,
    "stop the run": FORBIDDEN,
    "stop the run by a GET": FORBIDDEN,
    "reset the statistics": FORBIDDEN,
    "change the users": FORBIDDEN,
    "show the web UI in a frame": FORBIDDEN,
    "read the nodes": BLOCKED,
    "read the statistics": BLOCKED,
    "read the nodes by rebinding": UNKNOWN_HOST,
    "read the web UI by rebinding": UNKNOWN_HOST,
    "lead the user to the web UI": 200,
}


@pytest.fixture
def locust(lab: Lab) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=lab.settings.url("LOCUST_PORT"), timeout=120, trust_env=False) as client:
        yield client


def statistics(locust: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = locust.get("/stats/requests").json()
    return found


def requests_of(locust: httpx.Client) -> int:
    return int(statistics(locust)["stats"][-1]["num_requests"])


def flows_started(bridge: httpx.Client) -> float:
    """Return the number of flows that the bridge has started on all nodes."""
    lines = bridge.get("/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("bridge_flows_started_total"))


def attack(lab: Lab, browser: Browser) -> dict[str, Any]:
    """Attack the lab where its user has it, on loopback: only there does a browser say which site a request is from."""
    return browser.run("cross_origin.py", lab.bridge_url, lab.settings.url("LOCUST_PORT"), network="host")


def await_more_requests(locust: httpx.Client, before: int) -> None:
    deadline = time.monotonic() + RUN_SECONDS_MAX
    while requests_of(locust) <= before:
        assert time.monotonic() < deadline, statistics(locust)
        time.sleep(0.5)


def test_a_foreign_page_starts_and_reads_nothing(
    lab: Lab, browser: Browser, bridge: httpx.Client, locust: httpx.Client
) -> None:
    flows, state = flows_started(bridge), statistics(locust)["state"]

    assert attack(lab, browser) == REFUSALS

    assert flows_started(bridge) == flows
    assert statistics(locust)["state"] == state != "running"


def test_a_foreign_page_does_not_stop_a_run(lab: Lab, browser: Browser, locust: httpx.Client) -> None:
    # Locust remembers what another form has chosen, so this one says everything.
    form = {"user_count": 1, "spawn_rate": 1, "workload": "empty", "node": "", "counterparty": "", "pacing": 0.2}
    form |= {"arrivals": "closed", "rate": 0}
    started = locust.post("/swarm", data=form).json()
    assert started["success"], started
    try:
        await_more_requests(locust, 0)

        assert attack(lab, browser) == REFUSALS

        before = requests_of(locust)
        assert before > 0, "nobody has reset the statistics"
        await_more_requests(locust, before)
        assert statistics(locust)["state"] == "running"
    finally:
        locust.post("/stop")
        await_idle_web_ui(locust)


def test_what_a_foreign_page_tries_leaves_memory_and_ledgers_as_they_were(
    lab: Lab, browser: Browser, bridge: httpx.Client
) -> None:
    # The first attempts make the bridge load what it answers them with.
    attack(lab, browser)
    before = counted(lab, bridge)
    assert attack(lab, browser) == REFUSALS
    hostile.seconds_until(lambda: hostile.is_ready(bridge), READY_SECONDS_MAX)
    require_unchanged(before, lab, bridge)
