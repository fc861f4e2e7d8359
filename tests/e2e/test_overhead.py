"""``lab bench overhead`` on real nodes: every switch truly switches, and everything is on again, however it ends."""

import signal
import subprocess
import time
from collections.abc import Callable

import pytest

from corda_lab.bench.file import BENCH
from corda_lab.bench.overhead.measurement import OverheadBench
from corda_lab.clients.prometheus import Prometheus
from corda_lab.lab.engine import run_docker
from corda_lab.results.folders import read_model
from e2e.labkit import Lab

pytestmark = [pytest.mark.lab("standard"), pytest.mark.nightly]

NODES = ("partya", "partyb")
"""The nodes that time flows of the workload."""
SWITCH = "/opt/corda/persistence/base/logs/stages.ndjson.off"
SECONDS_MAX = 420.0
"""Cold nodes are conditioned first, for up to four minutes."""


def await_that(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, f"not within {SECONDS_MAX:.0f} s: {what}"
        time.sleep(0.2)


def is_off(lab: Lab, node: str) -> bool:
    return lab.inside(node, f"test -e {SWITCH} && echo off || echo on").strip() == "off"


def prometheus_state(lab: Lab) -> str:
    return next(service.state for service in lab.compose.services() if service.name == "prometheus")


def assert_everything_is_on(lab: Lab) -> None:
    """Prometheus scrapes again, and the stages of flows are timed again."""
    since = time.time()
    assert prometheus_state(lab) == "running"
    assert not any(is_off(lab, node) for node in NODES)
    prometheus = Prometheus(lab.prometheus_url)

    def are_timing() -> bool:
        seen = [value for value in prometheus.latest("corda_stage_timing_on") if value.time > since]
        return len(seen) >= len(NODES) and all(value.value == 1 for value in seen)

    try:
        await_that(are_timing, "a new scrape of nodes that time stages")
    finally:
        prometheus.close()


def test_every_part_is_off_and_on_in_turn_and_on_at_the_end(lab: Lab) -> None:
    load = ("--workload", "iou", "--users", "4", "--duration", "8s", "--warm-up", "3s")
    lab.succeed("bench", "overhead", *load, "--blocks", "1", "--only", "everything")
    bench = read_model(sorted(BENCH.glob("*-overhead.json"))[-1], OverheadBench)
    assert [each.state for each in bench.measurements] == ["on", "off", "off", "on"]
    for measured in bench.measurements:
        assert measured.problem is None
        assert measured.flows > 0
        seen = (measured.rows, measured.scrapes, measured.stage_rows)
        assert all(seen) if measured.state == "on" else seen == (0, 0, 0), measured
        # Both sides of an IOU are timed. The window is a part of the load.
        assert measured.state == "off" or (measured.rows or 0) >= measured.flows
    assert_everything_is_on(lab)
    # The next run finds stage rows and metrics as ever.
    step = lab.measure("iou", "--users", "2", "--duration", "6s", "--warm-up", "2s")
    assert step["stages"]["flows"], step["stages"]["reason"]


def test_a_killed_bench_leaves_nothing_switched_off(lab: Lab) -> None:
    load = ("--workload", "iou", "--users", "2", "--duration", "15s", "--warm-up", "2s")
    command = lab.command("bench", "overhead", *load, "--blocks", "1", "--only", "everything")
    label = f"label=com.docker.compose.project={lab.settings.project}"
    try:
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                # It is paused last, so then everything is off.
                await_that(lambda: prometheus_state(lab) == "paused", "Prometheus is paused")
                assert all(is_off(lab, node) for node in NODES)
            finally:
                process.send_signal(signal.SIGKILL)
        await_that(lambda: prometheus_state(lab) == "running", "Prometheus runs again")
        await_that(lambda: not any(is_off(lab, node) for node in NODES), "stage timing is on again")
        assert_everything_is_on(lab)
        await_that(lambda: lab.conditions()["prometheus"] == "healthy", "Prometheus is healthy again")
    finally:
        left = run_docker(["ps", "--all", "--quiet", "--filter", label, "--filter", "label=org.cordalab.run"])
        run_docker(["rm", "--force", *left.stdout.split()])
