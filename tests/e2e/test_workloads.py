"""Every workload file on real nodes: no unexpected error, counts that agree, stages that add up; and a CorDapp of somebody else's."""

import json
from pathlib import Path
from typing import Any

import httpx
import polars
import pytest

from corda_lab.paths import ROOT
from labkit import Lab

WORKLOADS = ROOT / "configs" / "workloads"
STAGE_DIFFERENCE_PERCENT_MAX = 10.0


def workload_names() -> list[str]:
    return sorted(path.stem for path in WORKLOADS.glob("*.yaml"))


def step_of(run: Path) -> dict[str, Any]:
    step: dict[str, Any] = json.loads((run / "steps.json").read_text())["steps"][0]
    return step


def measured(lab: Lab, *arguments: str) -> dict[str, Any]:
    """Run a workload and return its step."""
    done = lab.run("run", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return step_of(lab.results()[-1])


@pytest.mark.parametrize("name", [name for name in workload_names() if name != "settlement-4"])
def test_a_workload_runs_and_its_counts_agree(lab: Lab, name: str) -> None:
    step = measured(lab, name, "--users", "2", "--duration", "15s", "--warm-up", "5s", "--name", f"e2e-{name}")
    assert step["requests"]["errors"] == 0
    assert step["counts"]["agree"], step["counts"]["disagreements"]
    assert step["verdict"]["passed"]
