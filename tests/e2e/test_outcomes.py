"""What became of flows whose answers never came: the bridge is killed under load, and started again."""

import subprocess
import time
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from corda_lab.lab.docker import docker
from corda_lab.results import folders
from e2e.labkit import Lab, step_folder, step_of
from lab_workload.row import ROWS_DIRECTORY

pytestmark = pytest.mark.lab("standard")

ROWS_SECONDS_MAX = 120.0
RUN_SECONDS_MAX = 300.0


def await_rows(lab: Lab, count: int) -> None:
    """Wait until the load that is running has written rows."""
    deadline = time.monotonic() + ROWS_SECONDS_MAX
    while int(lab.inside("locust", f"cat {ROWS_DIRECTORY}/*-killed.ndjson 2> /dev/null | wc -l")) < count:
        assert time.monotonic() < deadline, "the load wrote no rows"
        time.sleep(0.5)


@pytest.mark.nightly  # A trial of lab chaos kills the bridge too, and its audit asks about every flow.
def test_every_flow_is_accounted_for_after_the_bridge_was_killed(lab: Lab) -> None:
    command = lab.command("run", "iou", "--users", "8", "--duration", "25s", "--warm-up", "2s", "--name", "killed")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        await_rows(lab, 20)
        bridge = next(service.container.name for service in lab.compose.services() if service.name == "bridge")
        assert docker("kill", "--signal", "KILL", bridge).returncode == 0
        assert docker("start", bridge).returncode == 0
        output, _ = process.communicate(timeout=RUN_SECONDS_MAX)

    assert process.returncode == 1, output
    folder: Path = lab.results()[-1]
    assert folders.name_of(folder.name) == "killed", output
    step = step_of(folder)
    rows = pl.read_parquet(step_folder(folder) / "requests.parquet")
    outcomes = Counter(rows["outcome"])
    assert outcomes["ok"] > 0
    assert step["requests"]["unknown"] == outcomes["unknown"] > 0, output
    resolved, counted = step["resolved"], step["counts"]
    assert resolved["unknown"] == 0, output
    assert resolved["ok"] + resolved["failed"] + resolved["not_started"] == outcomes["unknown"]
    assert counted["restarted"] == ["bridge"]
    assert counted["bridge"] is None
    assert counted["agree"], counted["disagreements"]
    assert counted["generator"] == counted["node"] == outcomes["ok"] + resolved["ok"]
    assert {check["missing"] for check in counted["transactions"]} == {0}
    assert "requests got no answer about their outcome" in output
