"""When a sweep conditions the nodes: after every start of a lab, and at no other time. The loads are simulated."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from corda_lab.errors import LabError
from corda_lab.lab import lifecycle, shape
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.results import folders
from corda_lab.results.files import Measured
from corda_lab.runs import conditioning
from corda_lab.runs import execute as runs_execute
from corda_lab.runs.conditioning import Conditioned
from corda_lab.runs.preflight import OUTSTANDING_MAX, PreparedRun
from corda_lab.sweeps import execute, lab, plan, store
from corda_lab.sweeps.command import show_plan
from corda_lab.sweeps.file import read_sweep
from corda_lab.sweeps.lab import Lab, Machine
from corda_lab.sweeps.runner import Runner
from corda_lab.sweeps.step import points_of
from corda_lab.sweeps.store import PlanFile
from lab_workload.load import Load
from support import simulation, sweeps
from support.runs import ENVIRONMENT, measured_of, plan_of

SETTINGS = load_settings(ENV_FILE, {})
SWEEP = """\
description: Two users, three repeats.
workload: iou
vary: {load.users: [1, 2]}
repeats: 3
condition: {load: {users: 5}, for: {min: 10s, max: 20s}}
warm_up: {min: 1s, max: 1s}
measure: 4s
"""
CONDITIONING_TEXT = "flow: Conditioning\n"


@dataclass
class Loads:
    """What was put on the labs: a start, a conditioning, or the load of a step."""

    seen: list[str] = field(default_factory=list)
    options: list[Load] = field(default_factory=list)
    errors: list[LabError] = field(default_factory=list)


@pytest.fixture
def loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loads:
    simulated = simulation.closed_rows(2, 5, simulation.fixed(0.05))
    end = simulation.end_words(simulated, 2, 5)
    (tmp_path / "sample").mkdir()
    measured = measured_of(
        tmp_path / "sample",
        plan_of(Load(workload="iou", users=2, duration_seconds=4, warm_up_seconds=1)),
        simulated,
        end,
    )
    found = Loads()

    def condition(run: PreparedRun, _: object, folder: Path, *__: object) -> Conditioned:
        found.seen.append("condition")
        found.options.append(run.options)
        folder.mkdir(parents=True)
        if found.errors:
            raise found.errors.pop()
        entry = sweeps.conditioning_before(measured.step, steady=True)
        return Conditioned(entry.model_copy(update={"workload": run.workload.name}), CONDITIONING_TEXT)

    def measure(run: PreparedRun, _: object, __: object, ___: object, conditioned: Conditioned | None) -> Measured:
        found.seen.append(f"{run.options.users} users")
        if conditioned is None:
            return measured
        return measured.after(conditioned.entry, conditioned.workload_text)

    monkeypatch.setattr(conditioning, "condition", condition)
    monkeypatch.setattr(runs_execute, "measure", measure)
    monkeypatch.setattr(Lab, "_start", lambda *_: found.seen.append("start"))
    monkeypatch.setattr(lab, "read_environment", lambda _: ENVIRONMENT)
    monkeypatch.setattr(shape, "of_running", lambda settings: settings)
    monkeypatch.setattr("corda_lab.report.page.render", lambda folder: folder)
    return found


def begin(folder: Path, text: str = SWEEP) -> tuple[store.Unfinished, Any]:
    path = folder / "own.yaml"
    path.write_text(text, encoding="utf-8")
    sweep = read_sweep(path)
    checked = plan.plan_sweep(sweep, SETTINGS)
    planned = PlanFile(file=path, command="x", fingerprint={}, quick=False, steps=checked.steps)
    return store.create("20260102T030405Z-own", text, planned, results_folder=folder / "results"), sweep


def run_steps(kept: store.Unfinished, sweep: Any) -> None:
    runner = Runner(sweep, kept, Lab(SETTINGS, Machine(None), fresh=sweep.fields.fresh))
    for step in kept.steps:
        runner.step(step, step.label)


def test_the_nodes_are_conditioned_after_every_start(tmp_path: Path, loads: Loads) -> None:
    kept, sweep = begin(tmp_path)
    run_steps(kept, sweep)
    each = ["start", "condition", "1 users", "2 users"]
    assert loads.seen == [*each, "start", "condition", "2 users", "1 users", *each]
    assert [(one.users, one.total_seconds, one.name) for one in loads.options] == [
        (5, 20, f"condition-{index:04d}") for index in (1, 3, 5)
    ]


@pytest.mark.parametrize(("fresh", "starts"), [("shape", 1), ("step", 6)])
def test_a_lab_that_is_kept_is_conditioned_once(tmp_path: Path, loads: Loads, fresh: str, starts: int) -> None:
    run_steps(*begin(tmp_path, f"{SWEEP}fresh: {fresh}\n"))
    assert (loads.seen.count("start"), loads.seen.count("condition")) == (starts, starts)


def test_knobs_of_the_bridge_change_on_running_nodes_which_are_conditioned_once(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    def restart(settings: Settings) -> None:
        loads.seen.append(f"bridge {settings[OUTSTANDING_MAX]}")

    monkeypatch.setattr(lifecycle, "restart_bridge", restart)
    text = SWEEP.replace("{load.users: [1, 2]}", "{shape.outstanding: [50, 60], load.users: [1, 2]}")
    run_steps(*begin(tmp_path, f"{text.replace('repeats: 3', 'repeats: 2')}fresh: shape\n"))
    up, down = ["1 users", "2 users"], ["2 users", "1 users"]
    assert loads.seen == ["start", "condition", *up, "bridge 60", *up, *down, "bridge 50", *down]


def test_a_bridge_that_does_not_start_leads_to_a_new_lab(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Settings) -> None:
        raise LabError("the bridge did not start", exit_code=1)

    monkeypatch.setattr(lifecycle, "restart_bridge", fail)
    text = SWEEP.replace("{load.users: [1, 2]}", "{shape.outstanding: [50, 60]}\nload: {users: 1}")
    run_steps(*begin(tmp_path, f"{text.replace('repeats: 3', 'repeats: 1')}fresh: shape\n"))
    assert loads.seen == ["start", "condition", "1 users", "start", "condition", "1 users"]


def test_nothing_is_conditioned_if_the_file_says_so(tmp_path: Path, loads: Loads) -> None:
    run_steps(*begin(tmp_path, SWEEP.replace("{load: {users: 5}, for: {min: 10s, max: 20s}}", "none")))
    assert "condition" not in loads.seen


def test_a_sweep_that_is_resumed_conditions_the_lab_that_it_starts(tmp_path: Path, loads: Loads) -> None:
    kept, sweep = begin(tmp_path)
    first = Runner(sweep, kept, Lab(SETTINGS, Machine(None), fresh="repeat"))
    first.step(kept.steps[0], "")
    loads.seen.clear()
    run_steps(kept, sweep)
    assert loads.seen[:4] == ["start", "condition", "2 users", "start"]
    run = execute.finish(sweep, kept)
    steps = folders.read_json(run / "steps.json")["steps"]
    assert [step["index"] for step in steps if step["conditioning"]] == [1, 2, 3, 5]
    planned = folders.read_json(run / "run.json")["sweep"]["condition"]
    assert planned == {"workload": None, "load": {"users": 5}, "set": {}, "for": {"min": 10.0, "max": 20.0}}


def test_another_workload_conditions_the_nodes_and_its_file_is_stored(tmp_path: Path, loads: Loads) -> None:
    kept, sweep = begin(tmp_path, SWEEP.replace("condition: {", "condition: {workload: cash-issue, "))
    run_steps(kept, sweep)
    assert {one.workload for one in loads.options} == {"cash-issue"}
    manifest = folders.read_json(execute.finish(sweep, kept) / "run.json")
    assert manifest["sweep"]["condition"]["workload"] == "cash-issue"
    assert manifest["workload_files"].keys() == {"iou", "cash-issue"}
    assert manifest["workload_files"]["cash-issue"] == CONDITIONING_TEXT
    assert execute.workloads_of(sweep, points_of(sweep)) == ["iou", "iou", "cash-issue"]


def test_a_conditioning_that_fails_is_tried_again_on_a_new_lab(tmp_path: Path, loads: Loads) -> None:
    kept, sweep = begin(tmp_path)
    loads.errors.append(LabError("Flows are still in flight"))
    runner = Runner(sweep, kept, Lab(SETTINGS, Machine(None), fresh="repeat"))
    runner.step(kept.steps[0], "")
    assert loads.seen == ["start", "condition", "start", "condition", "1 users"]
    (attempt,) = (kept.folder / store.FAILED).iterdir()
    assert "Flows are still in flight" in (attempt / "error.txt").read_text(encoding="utf-8")


def test_the_plan_of_a_search_says_what_conditions_the_nodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "search.yaml"
    text = SWEEP.replace("vary: {load.users: [1, 2]}\nrepeats: 3\n", "load: {arrivals: poisson}\n")
    path.write_text(text + "find_max: {rate_min: 1, rate_max: 5, p95_max: 2s, confirm: 60s}\n", encoding="utf-8")
    sweep = read_sweep(path)
    show_plan(sweep, plan.plan_sweep(sweep, SETTINGS), SETTINGS)
    assert (
        "Conditioning: every new lab, by the load of the first step on it with 5 users, for 20 s"
        in capsys.readouterr().out
    )
