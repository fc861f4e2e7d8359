"""Sweeps whose labs, loads and Docker engine are simulated: what is put on the labs, and what becomes of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from corda_lab.errors import LabError
from corda_lab.lab import lifecycle, shape
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.results import folders, store, stored
from corda_lab.results.manifest import Environment
from corda_lab.results.store import Measured
from corda_lab.results.stored import StepFile
from corda_lab.runs import conditioning, execute
from corda_lab.runs.preflight import OUTSTANDING_MAX, PreparedRun
from corda_lab.runs.recording import Recording
from corda_lab.steps.entry import ConditioningEntry
from corda_lab.sweeps import lab
from corda_lab.sweeps import store as sweeps_store
from corda_lab.sweeps.lab import Lab, Machine
from corda_lab.sweeps.run import Runner
from lab_workload.load import Load
from support import simulation, sweeps
from support.docker import docker_client, listed
from support.entries import changed
from support.runs import ENVIRONMENT, measured_of, plan_of
from support.sweep_files import written

SETTINGS = load_settings(ENV_FILE, {"PROMETHEUS_PORT": "1"})
"""No Prometheus has this port, so none is asked."""
SIMULATED = simulation.closed_rows(2, 5, simulation.fixed(0.05))
GONE = "the bridge cannot reach PartyA"


@dataclass
class Loads:
    """What was put on the labs: a start, a conditioning, or the load of a step; and what becomes of the next ones."""

    done: list[str] = field(default_factory=list)
    options: list[Load] = field(default_factory=list)
    """The loads that conditioned the nodes."""
    rates: list[float | None] = field(default_factory=list)
    errors: list[LabError] = field(default_factory=list)
    """What ends the loads with two users."""
    start_errors: list[LabError] = field(default_factory=list)
    conditioning_errors: list[LabError] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    """What the steps of the next loads have instead."""

    def throughputs(self, values: Sequence[float]) -> None:
        """Set the throughputs of the next loads."""
        self.changes = [{"throughput_per_second": value} for value in values]


def leave_evidence(folder: Path, workload: str = "iou") -> None:
    """Leave what a load leaves whose lab ended: what was asked for, and the rows until then."""
    index, _, key = folder.name.partition("-")
    plan = plan_of(Load(workload="iou"))
    plan = plan.model_copy(update={"load": plan.load.updated(workload=workload)})
    step = StepFile(index=int(index), key=key, state="failed", began_at=folders.now())
    store.begin_step(folder, step, plan, ENVIRONMENT)
    simulation.write_rows(folder / stored.EVIDENCE / "x.ndjson", SIMULATED)


def simulate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loads:
    """Replace loads, labs and the Docker client until the end of the test."""
    (tmp_path / "sample").mkdir()
    end = simulation.end_words(SIMULATED, 2, 5)
    sample = measured_of(
        tmp_path / "sample",
        plan_of(Load(workload="iou", users=2, duration_seconds=4, warm_up_seconds=1)),
        SIMULATED,
        end,
    )
    loads = Loads()

    def measure(
        run: PreparedRun, _: object, recorded: Recording, __: Environment, conditioned: ConditioningEntry | None
    ) -> Measured:
        loads.done.append(f"{run.options.users} users")
        loads.rates.append(run.options.rate)
        if loads.errors and run.options.users == 2:
            leave_evidence(recorded.folder)
            raise loads.errors.pop()
        step = changed(sample.step, loads.changes.pop(0)) if loads.changes else sample.step
        measured = sample.with_step(step)
        return measured if conditioned is None else measured.after(conditioned)

    def condition(run: PreparedRun, _: object, folder: Path, __: Environment, ___: int) -> ConditioningEntry:
        loads.done.append("condition")
        loads.options.append(run.options)
        leave_evidence(folder, run.workload.name)
        if loads.conditioning_errors:
            raise loads.conditioning_errors.pop()
        entry = sweeps.conditioning_before(sample.step, steady=True)
        return entry.model_copy(update={"workload": run.workload.name})

    def start(*_: object) -> None:
        loads.done.append("start")
        if loads.start_errors:
            raise loads.start_errors.pop()

    monkeypatch.setattr(execute, "measure", measure)
    monkeypatch.setattr(conditioning, "condition", condition)
    monkeypatch.setattr(Lab, "_start", start)
    monkeypatch.setattr(lab, "read_environment", lambda _: ENVIRONMENT)
    monkeypatch.setattr(shape, "of_running", lambda settings: settings)
    monkeypatch.setattr(lifecycle, "restart_bridge", lambda new: loads.done.append(f"bridge {new[OUTSTANDING_MAX]}"))
    docker_with(tmp_path, monkeypatch)
    return loads


def docker_with(folder: Path, monkeypatch: pytest.MonkeyPatch, *, state: str = "running", log: str = "") -> None:
    """Put a Docker client on PATH whose PartyA is in a state and has a log. All other logs are empty."""
    (folder / "bin").mkdir(exist_ok=True)
    states = {"partya": state, "partyb": "running", "partyc": "running", "notary": "running"}
    exit_code = 134 if state == "exited" else 0
    services = "\n".join(listed(name, each, exit_code=exit_code) for name, each in states.items())
    script = f"""\
case "$*" in
"ps "*{{{{.Status}}}}*) echo '{services}' ;;
*" logs "*" partya" | "logs "*partya*) echo '{log}' ;;
*OOMKilled*) echo 0 false 2099-01-02T03:04:00Z 2099-01-02T03:04:05.123456789Z ;;
esac
exit 0"""
    docker_client(folder / "bin", monkeypatch, script)


def begin(folder: Path, text: str) -> Runner:
    """Begin a sweep, of which no step has run."""
    sweep = written(folder, text)
    return runner_of(sweeps_store.begin(sweep, SETTINGS, results_folder=folder / "results"))


def runner_of(kept: sweeps_store.Unfinished) -> Runner:
    """A runner as one that resumes the sweep has it."""
    return Runner(kept, Lab(SETTINGS, Machine(None), fresh=kept.sweep.fields.fresh))


def heap_exhausted(folder: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the load with two users end PartyA."""
    loads.errors = [LabError(GONE, exit_code=1)] * 2
    docker_with(folder, monkeypatch, state="exited", log="java.lang.OutOfMemoryError: Java heap space")
