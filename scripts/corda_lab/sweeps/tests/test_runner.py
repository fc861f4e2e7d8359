"""Steps that end a node, and steps whose rate is a multiple of the peak. Docker and the loads are simulated."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab.errors import LabError
from corda_lab.lab import shape
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.results import evidence, folders, stored
from corda_lab.results.evidence import LoadFile
from corda_lab.results.files import Measured
from corda_lab.results.sweep import LeftOut
from corda_lab.runs import conditioning
from corda_lab.runs import execute as runs_execute
from corda_lab.runs.conditioning import Conditioned
from corda_lab.runs.preflight import PreparedRun
from corda_lab.runs.recording import Recording
from corda_lab.sweeps import execute, lab, plan, store
from corda_lab.sweeps.file import SweepFile, read_sweep
from corda_lab.sweeps.lab import Lab, Machine
from corda_lab.sweeps.runner import Runner, StepFailedError
from corda_lab.sweeps.store import PlanFile
from lab_workload.load import Load
from support import simulation
from support.docker import docker_client, listed
from support.entries import changed
from support.runs import ENVIRONMENT, measured_of, plan_of

SETTINGS = load_settings(ENV_FILE, {"PROMETHEUS_PORT": "1"})
"""No Prometheus has this port, so none is asked."""

BREAKING = """\
description: The second step ends a node.
workload: iou
condition: none
may_break: true
warm_up: {min: 1s, max: 1s}
measure: 4s
steps:
  - {name: small, load: {users: 1}}
  - {name: large, load: {users: 2}}
  - {name: small again, load: {users: 4}}
"""
REASON = "PartyA ended with exit status 134 (java.lang.OutOfMemoryError: Java heap space)"
SIMULATED = simulation.closed_rows(2, 5, simulation.fixed(0.05))


def services(party_a: str, exit_code: int) -> str:
    """What ``docker ps`` prints of a lab whose PartyA is in a state, and whose other nodes are running."""
    states = {"partya": party_a, "partyb": "running", "partyc": "running", "notary": "running"}
    return "\n".join(listed(name, state, exit_code=exit_code) for name, state in states.items())


def docker_with(folder: Path, monkeypatch: pytest.MonkeyPatch, *, state: str = "running", log: str = "") -> None:
    """Put a Docker client on PATH whose PartyA is in a state and has a log. All other logs are empty."""
    (folder / "bin").mkdir(exist_ok=True)
    script = f"""\
case "$*" in
"ps "*{{{{.Status}}}}*) echo '{services(state, 134 if state == "exited" else 0)}' ;;
*" logs "*" partya" | "logs "*partya*) echo '{log}' ;;
*OOMKilled*) echo 0 false 2099-01-02T03:04:00Z 2099-01-02T03:04:05.123456789Z ;;
esac
exit 0"""
    docker_client(folder / "bin", monkeypatch, script)


@dataclass
class Loads:
    """What was put on the labs: a start, or the load of a step; and what becomes of the load with two users."""

    seen: list[str] = field(default_factory=list)
    rates: list[float | None] = field(default_factory=list)
    errors: list[LabError] = field(default_factory=list)
    start_errors: list[LabError] = field(default_factory=list)
    throughputs: Sequence[float] = ()
    """The throughputs of the next loads."""
    invalid: bool = False
    """Whether the loads are not valid."""
    changes: dict[str, Any] = field(default_factory=dict)
    """What the steps of all loads have instead."""


def leave_evidence(folder: Path) -> None:
    """Leave what a load leaves whose lab ended: what was asked for, and the rows until then."""
    options = Load(workload="iou")
    subject = plan_of(options).subject
    load = LoadFile(id="x", command="x", began_at=folders.now(), workload="iou", options=options, subject=subject)
    evidence.begin(folder, load, "workload: iou\n", ENVIRONMENT)
    simulation.write_rows(folder / evidence.ROWS / "x.ndjson", SIMULATED)


@pytest.fixture
def loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loads:
    (tmp_path / "sample").mkdir()
    end = simulation.end_words(SIMULATED, 2, 5)
    sample = measured_of(
        tmp_path / "sample",
        plan_of(Load(workload="iou", users=2, duration_seconds=4, warm_up_seconds=1)),
        SIMULATED,
        end,
    )
    found = Loads()

    def measure(run: PreparedRun, _: object, recorded: Recording, *__: object) -> Measured:
        found.seen.append(f"{run.options.users} users")
        found.rates.append(run.options.rate)
        if found.errors and run.options.users == 2:
            leave_evidence(recorded.folder)
            raise found.errors.pop()
        if found.invalid:
            return sample.with_step(changed(sample.step, {"validity.valid": False}))
        if found.changes:
            return sample.with_step(changed(sample.step, found.changes))
        if not found.throughputs:
            return sample
        throughput, *found.throughputs = found.throughputs
        return sample.with_step(changed(sample.step, {"throughput_per_second": throughput}))

    def start(*_: object) -> None:
        found.seen.append("start")
        if found.start_errors:
            raise found.start_errors.pop()

    monkeypatch.setattr(runs_execute, "measure", measure)
    monkeypatch.setattr(Lab, "_start", start)
    monkeypatch.setattr(lab, "read_environment", lambda _: ENVIRONMENT)
    monkeypatch.setattr(shape, "of_running", lambda settings: settings)
    docker_with(tmp_path, monkeypatch)
    return found


def begin(folder: Path, text: str) -> tuple[store.Unfinished, SweepFile]:
    path = folder / "own.yaml"
    path.write_text(text, encoding="utf-8")
    sweep = read_sweep(path)
    checked = plan.plan_sweep(sweep, SETTINGS)
    planned = PlanFile(file=path, command="x", fingerprint={}, quick=False, steps=checked.steps)
    return store.create("20260102T030405Z-own", text, planned, results_folder=folder / "results"), sweep


def runner_of(kept: store.Unfinished, sweep: SweepFile) -> Runner:
    return Runner(sweep, kept, Lab(SETTINGS, Machine(None), fresh=sweep.fields.fresh))


def run_steps(runner: Runner, kept: store.Unfinished) -> None:
    for step in kept.steps:
        runner.step(step, step.label)


def heap_exhausted(folder: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the load with two users end PartyA."""
    loads.errors = [LabError("the bridge cannot reach PartyA", exit_code=1)] * 2
    docker_with(folder, monkeypatch, state="exited", log="java.lang.OutOfMemoryError: Java heap space")


def test_a_step_that_ends_a_node_is_a_result_and_the_next_one_gets_a_new_lab(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, sweep = begin(tmp_path, BREAKING)
    runner = runner_of(kept, sweep)
    runner.step(kept.steps[0], "")
    heap_exhausted(tmp_path, loads, monkeypatch)
    broke = runner.step(kept.steps[1], "").step
    docker_with(tmp_path, monkeypatch)
    runner.step(kept.steps[2], "")
    assert loads.seen == ["start", "1 users", "2 users", "start", "4 users"]
    assert (broke.outcome, broke.broke, broke.validity.valid, broke.label) == ("broke", REASON, True, "large")
    assert broke.requests.ok == len(SIMULATED)
    assert runner.failed == {}
    (folder,) = (kept.folder / store.BROKE).iterdir()
    assert folder.name == "0002-step-large_r1-1"
    assert (folder / "reason.txt").read_text(encoding="utf-8") == f"{REASON}\n"
    assert {path.name for path in folder.iterdir()} >= {"logs.txt", "rows", "load.json"}
    # A sweep that is resumed has it.
    run_steps(runner_of(kept, sweep), kept)
    assert len(loads.seen) == 5


def test_the_report_shows_the_point_that_broke(tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch) -> None:
    text = BREAKING.replace("may_break: true", "repeats: 2")
    kept, sweep = begin(tmp_path, text.replace("users: 2}", "users: 2}, may_break: true"))
    runner = runner_of(kept, sweep)
    for step in kept.steps:
        if step.may_break:
            heap_exhausted(tmp_path, loads, monkeypatch)
        runner.step(step, step.label)
        docker_with(tmp_path, monkeypatch)
    kept.plan.left_out.append(LeftOut(label="huge", reason="this machine has 2 cores"))
    found = execute.finish(sweep, kept)
    run = stored.read(found)
    assert execute.problems_of(run) == []
    assert [step.outcome for step in run.steps] == ["passed", "broke", "passed", "passed", "broke", "passed"]
    assert (found / store.BROKE / "0002-step-large_r1-1" / "rows").is_dir()
    assert pl.read_parquet(found / "requests.parquet").filter(pl.col("step") == 2).height == len(SIMULATED)
    page = (found / "report.html").read_text(encoding="utf-8")
    for words in (
        f"large broke in 2 of 2 repeats: {REASON}.",
        "huge was left out, because this machine cannot have it: this machine has 2 cores.",
        "every step is valid, 2 of them broke",
        "✓ broke",
    ):
        assert words in page
    summary = json.loads((found / "summary.json").read_text(encoding="utf-8"))
    (large,) = (point for point in summary["points"] if point["label"] == "large")
    assert large["steps_broke"] == {"2": REASON, "5": REASON}
    assert large["values"]["throughput"]["value"] is None


def test_a_step_that_was_measured_breaks_too_if_a_node_ended_under_it(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, sweep = begin(tmp_path, BREAKING)
    docker_with(tmp_path, monkeypatch, log="Exception: java.lang.OutOfMemoryError: Java heap space")
    found = runner_of(kept, sweep).step(kept.steps[0], "").step
    assert found.broke == "PartyA exhausted its heap (java.lang.OutOfMemoryError: Java heap space)"
    assert (found.outcome, found.counts.at_rest, loads.seen) == ("broke", False, ["start", "1 users"])


@pytest.mark.parametrize("may_break", [True, False])
def test_a_load_after_which_the_lab_is_not_at_rest_breaks_it_if_it_may(
    tmp_path: Path, loads: Loads, may_break: bool
) -> None:
    loads.changes = {
        "load.arrivals": "poisson", "resolved.unknown": 300, "counts.at_rest": False, "validity.valid": False
    }  # fmt: skip
    kept, sweep = begin(tmp_path, BREAKING if may_break else BREAKING.replace("may_break: true\n", ""))
    found = runner_of(kept, sweep).step(kept.steps[0], "").step
    assert (found.outcome, found.validity.valid) == (("broke", True) if may_break else ("passed", False))
    assert (found.broke or "").startswith("the lab was not at rest") == may_break
    assert (kept.folder / store.BROKE).exists() == may_break


@pytest.mark.parametrize(
    ("load", "nodes"),
    [("", "PartyA"), (", node: PartyB", "PartyB"), (", nodes: [partyb, PartyA]", "PartyB, PartyA")],
)
def test_a_node_that_ends_at_the_start_of_the_lab_is_a_result_without_rows(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch, load: str, nodes: str
) -> None:
    kept, sweep = begin(tmp_path, BREAKING.replace("{users: 1}", f"{{users: 1{load}}}"))
    loads.start_errors = [LabError("partya exited with 134", exit_code=1)]
    docker_with(tmp_path, monkeypatch, state="exited")
    found = runner_of(kept, sweep).step(kept.steps[0], "")
    assert found.step.broke == "PartyA ended with exit status 134"
    assert (found.requests.height, found.step.requests.total, found.step.node) == (0, 0, nodes)
    assert loads.seen == ["start"]
    assert kept.read(kept.steps[0]).step == found.step


def test_a_node_that_ends_while_it_is_conditioned_is_a_result_without_the_rows_of_that_load(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    def condition(_: PreparedRun, __: object, folder: Path, *___: object) -> Conditioned:
        leave_evidence(folder)
        raise LabError("the bridge cannot reach PartyA", exit_code=1)

    monkeypatch.setattr(conditioning, "condition", condition)
    kept, sweep = begin(tmp_path, BREAKING.replace("condition: none", "condition: {load: {users: 5}}"))
    docker_with(tmp_path, monkeypatch, state="exited")
    found = runner_of(kept, sweep).step(kept.steps[0], "")
    assert found.step.broke == "PartyA ended with exit status 134, while the nodes were conditioned"
    assert (found.step.load.users, found.requests.height, found.step.requests.total) == (1, 0, 0)
    assert loads.seen == ["start"]
    (folder,) = (kept.folder / store.BROKE).iterdir()
    assert (folder / "rows" / "x.ndjson").is_file(), "the evidence is kept"


@pytest.mark.parametrize(
    ("text", "state"), [(BREAKING, "running"), (BREAKING.replace("may_break: true\n", ""), "exited")]
)
def test_a_failure_is_a_failure_if_no_node_ended_or_none_may(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch, text: str, state: str
) -> None:
    kept, sweep = begin(tmp_path, text)
    docker_with(tmp_path, monkeypatch, state=state)
    loads.errors = [LabError("the bridge cannot reach PartyA", exit_code=1)] * 2
    runner = runner_of(kept, sweep)
    with pytest.raises(StepFailedError):
        runner.step(kept.steps[1], "")
    assert loads.seen == ["start", "2 users", "start", "2 users"]
    assert not kept.has(kept.steps[1])
    assert len(list((kept.folder / store.FAILED).iterdir())) == 2


def test_a_step_with_wrong_counts_names_the_node_that_ended(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, sweep = begin(tmp_path, BREAKING.replace("may_break: true\n", ""))
    loads.invalid = True
    docker_with(tmp_path, monkeypatch, state="exited", log="java.lang.OutOfMemoryError: Java heap space")
    with pytest.raises(StepFailedError):
        runner_of(kept, sweep).step(kept.steps[1], "")
    assert (loads.seen, kept.has(kept.steps[1])) == (["start", "2 users", "start", "2 users"], False)
    attempts = list((kept.folder / store.FAILED).iterdir())
    assert len(attempts) == 2
    for folder in attempts:
        remedy = "Give the nodes more in shape.heap or shape.memory, or say may_break: true."
        assert (folder / "error.txt").read_text(encoding="utf-8") == f"{REASON}\n{remedy}\n"
        assert (folder / "logs.txt").is_file()


def test_a_sweep_without_retries_runs_no_step_again_that_failed(tmp_path: Path, loads: Loads) -> None:
    kept, sweep = begin(tmp_path, BREAKING.replace("may_break: true", "retries: 0"))
    loads.errors = [LabError("the vault of PartyA cannot be read", exit_code=1)]
    with pytest.raises(StepFailedError):
        runner_of(kept, sweep).step(kept.steps[1], "")
    assert (loads.seen, loads.errors) == (["start", "2 users"], [])
    assert [folder.name for folder in (kept.folder / store.FAILED).iterdir()] == ["0002-step-large_r1-1"]


PEAKS = """\
description: Twice the peak.
workload: iou
repeats: 2
condition: none
warm_up: {min: 1s, max: 1s}
measure: 4s
steps:
  - {name: double, load: {arrivals: poisson, rate: 2 x peak}}
  - {name: few, load: {users: 1}}
  - {name: knee, peak: true, load: {users: 8}}
"""


def test_the_rate_is_a_multiple_of_the_peak_of_its_repeat(tmp_path: Path, loads: Loads) -> None:
    kept, sweep = begin(tmp_path, PEAKS)
    loads.throughputs = [8.43, 1.0, 9.0, 7.0, 9.0, 1.0]
    run_steps(runner_of(kept, sweep), kept)
    assert loads.rates == [None, 16.86, None, None, None, 14.0]
    assert [kept.entry(step).label for step in kept.steps] == ["knee", "double", "few", "knee", "few", "double"]


def test_a_sweep_that_is_resumed_offers_the_same_multiple(tmp_path: Path, loads: Loads) -> None:
    kept, sweep = begin(tmp_path, PEAKS)
    loads.throughputs = [8.43]
    runner_of(kept, sweep).step(kept.steps[0], "")
    loads.throughputs = [99.0] * 5
    run_steps(runner_of(kept, sweep), kept)
    assert loads.rates[1] == 16.86


def test_a_multiple_waits_for_a_step_that_failed(tmp_path: Path, loads: Loads) -> None:
    kept, sweep = begin(tmp_path, PEAKS)
    runner = runner_of(kept, sweep)
    knee, double, few = kept.steps[:3]
    runner.step(few, "")
    with pytest.raises(StepFailedError):
        runner.step(double, "")
    assert runner.failed == {double.key: "the peak of repeat 1 is not known: knee not measured yet"}
    assert len(loads.seen) == 2
    runner.step(knee, "")
    assert runner.step(double, "").step.label == "double"


def test_a_peak_of_steps_that_are_invalid_or_broke_is_not_known(tmp_path: Path, loads: Loads) -> None:
    kept, sweep = begin(tmp_path, PEAKS.replace("  - {name: few, load: {users: 1}}\n", ""))
    knee, double = kept.steps[:2]
    runner = runner_of(kept, sweep)
    measured = runner.measure(knee)
    broke: dict[str, Any] = {"outcome": "broke", "broke": "PartyA ended with exit status 1"}
    kept.keep(knee, measured.with_step(measured.step.updated(**broke)))
    with pytest.raises(StepFailedError):
        runner.step(double, "")
    assert "no valid step shows a throughput" in runner.failed[double.key]
