"""Locust's web UI, operated in the same way as by a user, in headless Chromium."""

import time

import pytest

from labkit import Browser, Lab

pytestmark = pytest.mark.lab("standard")


def test_a_run_starts_and_stops_from_the_browser(lab: Lab, browser: Browser) -> None:
    seen = browser.run("start_run.py", "http://locust:8089", "/shared", network=lab.network)
    assert {"workload", "node", "counterparty"} <= set(seen["fields"])
    assert seen["completed"] >= 5
    assert seen["console_errors"] == []
    assert (browser.folder / "running.png").stat().st_size > 10_000


def test_open_load_keeps_its_rate_from_the_browser(lab: Lab, browser: Browser) -> None:
    started = time.time()
    seen = browser.run("start_run.py", "http://locust:8089", "/shared", "constant", "2", network=lab.network)
    seconds = time.time() - started
    assert {"arrivals", "rate", "pacing"} <= set(seen["fields"])
    assert 5 <= seen["completed"] <= 2 * seconds
    assert seen["console_errors"] == []
