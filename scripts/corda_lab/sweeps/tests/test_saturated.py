"""The profile of a sweep's saturated point: after the last step, once, planned, and in no value."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from corda_lab.errors import LabError
from corda_lab.lab import shape
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.results import files, folders, stored
from corda_lab.results.files import Measured
from corda_lab.results.stored import StoredRun
from corda_lab.runs import execute as runs_execute
from corda_lab.runs.preflight import PreparedRun
from corda_lab.runs.recording import Recording
from corda_lab.steps.load import LoadOptions
from corda_lab.sweeps import execute, lab, plan, saturated, store
from corda_lab.sweeps.command import show_plan
from corda_lab.sweeps.estimate import STEP_OVERHEAD_SECONDS, profile_seconds
from corda_lab.sweeps.file import SweepFile, read_sweep
from corda_lab.sweeps.lab import Lab
from corda_lab.sweeps.planned import PlanFile
from corda_lab.sweeps.points import points_of
from corda_lab.sweeps.runner import Runner
from corda_lab.sweeps.site import Machine
from support import simulation
from support.pages import report_text
from support.profiler import taken_in
from support.runs import ENVIRONMENT, measured_of, plan_of
from support.sweep_files import sweep_of
from support.sweeps import SimulatedSweep, Simulator, sweep_file

SETTINGS = load_settings(ENV_FILE, {})
SATURATING = SimulatedSweep(vary={"load.users": [1, 16]}, repeats=2, busy_percent=110)


class Loads:
    """The loads that are put on labs, which are simulated: their options, and what becomes of the next ones."""

    def __init__(self) -> None:
        self.seen: list[LoadOptions] = []
        self.starts = 0
        self.errors: list[LabError] = []


@pytest.fixture
def loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loads:
    found = Loads()
    (tmp_path / "sample").mkdir()
    simulated = simulation.closed_rows(2, 5, simulation.fixed(0.05))
    end = simulation.end_words(simulated, 2, 5)
    sample = measured_of(tmp_path / "sample", plan_of(LoadOptions("iou", 2, 4, 1)), simulated, end)

    def measure(run: PreparedRun, _: object, recorded: Recording, *__: object) -> Measured:
        found.seen.append(run.options)
        if found.errors:
            raise found.errors.pop()
        taken = taken_in(recorded.folder, began_at=1.0)
        return replace(sample, profiles=(taken.placed(step=1),))

    def start(*_: object) -> None:
        found.starts += 1

    monkeypatch.setattr(runs_execute, "measure", measure)
    monkeypatch.setattr(Lab, "_start", start)
    monkeypatch.setattr(Runner, "_condition", lambda *_: None)
    monkeypatch.setattr(Runner, "_keep_logs", lambda *_: None)
    monkeypatch.setattr(lab, "read_environment", lambda _: ENVIRONMENT)
    monkeypatch.setattr(shape, "of_running", lambda settings: settings)
    return found


def begun(folder: Path, wanted: str = "profile: saturated\n") -> SweepFile:
    """A sweep file that asks for a profile."""
    file = sweep_file(SATURATING, folder, None)
    file.source.path.write_text(file.text + wanted, encoding="utf-8")
    return read_sweep(file.source.path)


def measured_all(folder: Path, file: SweepFile) -> store.Unfinished:
    """An unfinished sweep whose steps are all complete."""
    steps = plan.plan_sweep(file, SETTINGS).steps
    planned = PlanFile(file=file.source.path, command="x", fingerprint={}, quick=False, steps=steps)
    kept = store.create("20260102T030405Z-own", file.text, planned, results_folder=folder / "results")
    simulator = Simulator(SATURATING, file)
    for step in steps:
        kept.keep(step, simulator.step(step))
    return kept


def profiled(file: SweepFile, kept: store.Unfinished) -> None:
    """Do what a sweep does when its steps are complete."""
    runner = Runner(file, kept, Lab(SETTINGS, Machine(None), fresh=file.fields.fresh))
    saturated.profile(file, kept, runner, execute.sweep_manifest(file, None))


def finished(file: SweepFile, kept: store.Unfinished) -> StoredRun:
    return stored.read(execute.finish(file, kept, None))


def test_the_saturated_point_is_loaded_once_more_and_profiled(tmp_path: Path, loads: Loads) -> None:
    file = begun(tmp_path)
    kept = measured_all(tmp_path, file)
    profiled(file, kept)
    (options,) = loads.seen
    assert (options.users, options.profile) == (16, ("initiators",))
    assert (options.warm_up_seconds_min, options.warm_up_seconds, options.duration_seconds) == (15, 15, 40)
    run = finished(file, kept)
    (entry,) = run.manifest.profiles
    assert (entry.node, entry.step, entry.point, entry.problem) == ("PartyA", None, "16 users", None)
    assert entry.reason.startswith("the machine was ")
    assert (run.folder / "profiles" / "partya-cpu.html").is_file()
    text = report_text(run.folder)
    assert "Where the CPU time went" in text
    assert "An extra load of 16 users, which is in no value." in text
    assert list(folders.unfinished_folder(results=tmp_path / "results").iterdir()) == []


def test_it_is_in_no_value(tmp_path: Path, loads: Loads) -> None:
    file = begun(tmp_path)
    kept = measured_all(tmp_path, file)
    before = [files.read_step(folder).step for folder in kept.done]
    profiled(file, kept)
    run = finished(file, kept)
    assert [step.updated(environment=0) for step in run.steps] == before
    assert set(pl.read_parquet(run.folder / "requests.parquet")["step"]) == {step.index for step in before}
    assert len(loads.seen) == 1


def test_a_sweep_that_is_resumed_profiles_what_was_not_profiled_and_nothing_twice(tmp_path: Path, loads: Loads) -> None:
    file = begun(tmp_path)
    kept = measured_all(tmp_path, file)
    (kept.folder / ".partial-profile-x").mkdir()
    kept.tidy()
    assert not kept.has_profiles
    assert not (kept.folder / ".partial-profile-x").exists()
    profiled(file, kept)
    profiled(file, store.read(kept.folder))
    assert len(loads.seen) == 1
    assert len(kept.read_profiles()) == 1


def test_a_sweep_that_does_not_ask_for_it_is_not_profiled(tmp_path: Path, loads: Loads) -> None:
    file = begun(tmp_path, "")
    kept = measured_all(tmp_path, file)
    profiled(file, kept)
    assert loads.seen == []
    assert finished(file, kept).manifest.profiles == []


def test_a_load_that_fails_is_tried_on_a_new_lab(tmp_path: Path, loads: Loads) -> None:
    file = begun(tmp_path)
    kept = measured_all(tmp_path, file)
    loads.errors = [LabError("the node is gone")]
    profiled(file, kept)
    assert (len(loads.seen), loads.starts) == (2, 2)
    assert [one.entry.problem for one in kept.read_profiles()] == [None]


def test_a_load_that_fails_every_time_leaves_the_steps_and_the_reason(tmp_path: Path, loads: Loads) -> None:
    file = begun(tmp_path)
    kept = measured_all(tmp_path, file)
    loads.errors = [LabError("the node is gone")] * 2
    profiled(file, kept)
    run = finished(file, kept)
    (entry,) = run.manifest.profiles
    assert (entry.file, entry.problem) == (None, "the load for the profile failed: the node is gone")
    assert len(run.steps) == 4
    assert execute.problems_of(run) == []
    assert "the load for the profile failed: the node is gone" in report_text(run.folder)
    assert len(list((run.folder / store.FAILED).iterdir())) == 2


def test_open_load_is_offered_at_the_rate_that_was_measured(tmp_path: Path) -> None:
    text = "workload: iou\nsteps:\n  - {name: twice, load: {arrivals: poisson, rate: 2 x peak}}\n"
    file = sweep_of(tmp_path, text + "  - {name: first, load: {users: 8}}\n")
    point = next(one for one in points_of(file) if one.label == "twice")
    step = saturated.profile_step(file, point, 3, 16.8)
    assert (step.load["rate"], step.repeat, step.index, step.key) == (16.8, 3, 9999, "profile")
    assert step.options("x").rate == 16.8


def test_a_step_that_ends_by_count_is_repeated_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "counted.yaml"
    path.write_text("description: x\nworkload: iou\nmeasure: {flows: 20, after: 2}\n", encoding="utf-8")
    file = read_sweep(path)
    (point,) = points_of(file)
    step = saturated.profile_step(file, point, 1, None)
    assert (step.flows, step.flows_after, step.options("x").stopping) == (20, 2, None)


def test_the_plan_shows_it_and_its_time(tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    for wanted, is_shown in (("profile: saturated\n", True), ("", False)):
        file = begun(tmp_path, wanted)
        show_plan(file, plan.plan_sweep(file, settings), settings)
        words = "the saturated point (if none is, the best one) is loaded once more and profiled"
        assert (words in capsys.readouterr().out) is is_shown
    file = begun(tmp_path)
    loads = [saturated.profile_step(file, point, 1, None) for point in points_of(file)]
    least, most = profile_seconds(loads, settings)
    # Warm-up, window, and what a step takes besides; at most also a start of the lab with its conditioning.
    assert least == 15 + 40 + STEP_OVERHEAD_SECONDS
    assert most > least + 240


def test_only_the_saturated_point_can_be_asked_for(tmp_path: Path) -> None:
    with pytest.raises(LabError) as caught:
        begun(tmp_path, "profile: all\n")
    assert "profile: " in caught.value.message
