"""A sweep on the real lab: killed in the middle of a step, resumed, and compared with itself."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from corda_lab.results import audits, folders, stored
from corda_lab.results import store as results_store
from corda_lab.sweeps import store
from e2e.labkit import Lab

pytestmark = pytest.mark.lab("sweep")

SECONDS_MAX = 900.0

SWEEP = """\
description: Open load on two nodes, and a fault under closed load, to be interrupted.
workload: iou
shape: {parties: 2, preset: tuned}
steps:
  - {name: open, load: {arrivals: poisson, rate: 3, users: 30, nodes: [PartyA, PartyB]}}
  - {name: fault, load: {users: 2, faults: [{kind: pause, target: partyb, at: 4s, for: 1s}]}}
repeats: 1
fresh: shape
retries: 0
condition: {load: {arrivals: closed, users: 4, nodes: [PartyA, PartyB]}, for: 4s}
warm_up: {min: 3s, max: 3s}
measure: 11s
"""


def kill_in_second_step(lab: Lab, file: Path) -> None:
    """Start a sweep, and kill only its process during the second step."""
    with subprocess.Popen(
        lab.command("sweep", str(file)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        deadline, lines, loads = time.monotonic() + SECONDS_MAX, [], 0
        try:
            for line in process.stdout:
                lines.append(line)
                assert time.monotonic() < deadline, "".join(lines)
                loads += line.startswith("==> Load:")
                if loads == 2:
                    break
            else:
                pytest.fail("the sweep ended before it could be killed:\n" + "".join(lines))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module", autouse=True)
def no_lab(lab: Lab) -> None:
    """Delete the lab first: a sweep starts its own labs, and does not replace a lab that it did not start."""
    lab.succeed("down", "--volumes")


def test_a_sweep_survives_being_killed(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "e2e-sweep.yaml"
    file.write_text(SWEEP, encoding="utf-8")
    kill_in_second_step(lab, file)
    assert len(store.find(None).done) == 1
    assert "steps" in lab.run("list").stdout
    done = lab.succeed("sweep", "resume")
    assert "1 of 2 steps are already complete" in done.stdout
    assert folders.unfinished_sweeps() == []

    run = lab.results()[-1]
    attempt = run / "steps" / "0002-step-fault_r1"
    killed = stored.read_step(attempt)
    assert (killed.state, killed.why) == ("interrupted", stored.KILLED)
    assert killed.rows == results_store.count_rows(attempt)
    assert folders.RUN_NAME.fullmatch(run.name)
    read = stored.read(run)
    steps = [step.model_dump(mode="json") for step in read.steps]
    assert [(step["index"], step["key"]) for step in steps] == [(1, "step-open_r1"), (2, "step-fault_r1")]
    for step in steps:
        assert step["counts"]["agree"], step["counts"]["disagreements"]
        assert step["values"]["cpu_seconds_per_flow"]["PartyA"] > 0
        assert step["values"]["allocated_bytes_per_flow"].keys() >= {"PartyA", "PartyB"}
        assert step["values"]["sent_bytes_per_flow"]["PartyB"] > 0
        assert step["values"]["database_bytes_per_state"].keys() >= {"PartyA", "PartyB"}
    assert_open_load_was_on_both_nodes(steps[0])
    assert_only_the_second_step_had_the_fault(run, steps)
    assert set(read.table("requests")["step"].unique()) == {1, 2}
    assert_nodes_were_conditioned_after_every_start(steps)
    assert len(read.manifest.environments) == 1, "every life ran on the same images and the same shape"
    done = lab.succeed("compare", run.name, run.name, "--threshold", "5%")
    assert "Both are the same run." in done.stdout


def assert_open_load_was_on_both_nodes(step: dict[str, Any]) -> None:
    assert step["load"]["arrivals"] == "poisson"
    assert (step["requests"]["failed"], step["requests"]["unknown"]) == (0, 0)
    assert [one["node"] for one in step["by_node"]] == ["PartyA", "PartyB"]
    total = sum(one["throughput_per_second"] for one in step["by_node"])
    assert total == pytest.approx(step["throughput_per_second"])
    assert [flow["started_by"] for flow in step["counts"]["flows"]] == ["PartyA", "PartyB"]
    assert min(flow["generator"] for flow in step["counts"]["flows"]) > 0


def assert_only_the_second_step_had_the_fault(run: Path, steps: list[dict[str, Any]]) -> None:
    """It is in the step and in the report."""
    first, second = (step["faults"] for step in steps)
    assert first == []
    assert [(fault["kind"], fault["target"], fault["problem"]) for fault in second] == [("pause", "partyb", None)]
    assert second[0]["began_at"] < second[0]["healed_at"]
    assert "pause partyb" in (run / "report.html").read_text(encoding="utf-8")
    assert {audit.verdict for audit in audits.read(run).values()} == {"passed"}


def assert_nodes_were_conditioned_after_every_start(steps: list[dict[str, Any]]) -> None:
    """A lab was started before the first step, and again for the step that the resumed sweep ran."""
    first = {step["index"]: step["conditioning"] for step in steps if step["conditioning"]}
    assert set(first) == {1, 2}
    assert all(before["flows"] > 0 and before["load"]["users"] == 4 for before in first.values())
