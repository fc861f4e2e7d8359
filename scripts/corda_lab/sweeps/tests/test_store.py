"""Unfinished sweeps: steps are complete, whatever ends the process, and the run is the same as an uninterrupted one."""

import json
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import polars as pl
import pytest

from corda_lab import atomic
from corda_lab.errors import FinalError, LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.report import page
from corda_lab.results import files, folders
from corda_lab.results.manifest import Image, Manifest
from corda_lab.results.stored import StoredRun
from corda_lab.results.sweep import SearchOutcome, SweepPlan
from corda_lab.results.sweep_parts import FindMaxFields, ThresholdFields
from corda_lab.steps.entry import StepEntry, ValidityEntry, VerdictEntry
from corda_lab.steps.reasons import reason
from corda_lab.sweeps import execute, lab, plan, store
from corda_lab.sweeps import runner as sweeps_runner
from corda_lab.sweeps import search as search_module
from corda_lab.sweeps.command import SweepRequest, finish, stored_sweep
from corda_lab.sweeps.file import SweepFile, read_sweep
from corda_lab.sweeps.lab import Machine
from corda_lab.sweeps.step import PlannedStep, points_of
from corda_lab.sweeps.store import PlanFile
from corda_lab.text.redaction import REDACTED
from lab_workload.load import Load
from support import simulation
from support.entries import changed
from support.runs import ENVIRONMENT, measured_of, plan_of

SWEEP = """\
description: Twelve steps.
workload: iou
vary: {load.users: [1, 2, 4, 8]}
repeats: 3
warm_up: {min: 1s, max: 1s}
measure: 4s
"""
KILLS = 100
STEP_SECONDS = 0.02

SETTINGS = load_settings(ENV_FILE, {})

SWAPPED = reason("swapped", pages=300)


GONE = LabError("the node is gone")


class StubLab(lab.Lab):
    """Counts how often it is to be started anew."""

    forgotten = 0

    def forget(self) -> None:
        self.forgotten += 1


class Stub(sweeps_runner.Runner):
    """Runs steps without a lab: each takes a moment and gives the same simulated rows."""

    def __init__(
        self,
        sweep: SweepFile,
        kept: store.Unfinished,
        sample: Path,
        *,
        broken: Mapping[str, Sequence[LabError]] | None = None,
        at_rest: bool = True,
        spoilt: int = 0,
    ) -> None:
        super().__init__(sweep, kept, StubLab(SETTINGS, Machine(None), fresh="shape"))
        self._sample = sample
        self._errors = {key: list(errors) for key, errors in (broken or {}).items()}
        self._at_rest = at_rest
        self._spoilt = spoilt

    @property
    def forgotten(self) -> int:
        """How often a new lab was asked for."""
        assert isinstance(self._lab, StubLab)
        return self._lab.forgotten

    def measure(self, step: PlannedStep) -> files.Measured:
        if self._errors.get(step.key):
            raise self._errors[step.key].pop(0)
        time.sleep(STEP_SECONDS)
        measured = files.read_step(self._sample)
        changes = {
            "counts.at_rest": self._at_rest,
            "load.rate": step.load.get("rate"),
            "validity.machine": [SWAPPED] if self._spoilt > 0 else [],
        }
        self._spoilt -= 1
        entry = changed(measured.step, changes)
        return measured.with_step(sweeps_runner.placed(entry, step, search_module.failings(entry, self._sweep.fields)))

    def _keep_failure(self, step: PlannedStep, attempt: int, error: LabError) -> None:
        self.failed[step.key] = error.message


def step_with(**known: Any) -> StepEntry:
    """As much of a step as judging a sweep needs."""
    return StepEntry.model_construct(**known)


def sweep_run(folder: Path, steps: list[StepEntry], planned: SweepPlan) -> StoredRun:
    """As much of a run as judging a sweep needs."""
    known: dict[str, Any] = {"kind": "sweep", "sweep": planned}
    return StoredRun(folder, Manifest.model_construct(**known), steps)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated step, as it is kept."""
    folder = tmp_path_factory.mktemp("sample")
    simulated = simulation.closed_rows(2, 5, simulation.fixed(0.05))
    plan_of_two = plan_of(Load(workload="iou", users=2, duration_seconds=4, warm_up_seconds=1))
    files.write_step(folder, measured_of(folder, plan_of_two, simulated, simulation.end_words(simulated, 2, 5)))
    return folder


def sweep_file(folder: Path) -> SweepFile:
    path = folder / "twelve.yaml"
    path.write_text(SWEEP, encoding="utf-8")
    return read_sweep(path)


def begin(folder: Path, sweep: SweepFile) -> store.Unfinished:
    return store.create(
        folders.run_id(sweep.name),
        sweep.text,
        PlanFile(
            file=sweep.source.path,
            command="scripts/lab sweep twelve.yaml",
            fingerprint=store.fingerprint(sweep.text, ["iou"], SETTINGS),
            quick=sweep.is_quick,
            steps=plan.plan_sweep(sweep, SETTINGS).steps,
        ),
        results_folder=folder / "results",
    )


def run_all(sweep: SweepFile, kept: store.Unfinished, sample: Path) -> Path:
    runner = Stub(sweep, kept, sample)
    for step in kept.steps:
        runner.step(step, step.label)
    return execute.finish(sweep, kept)


def live(folder: Path, sample: Path, ready: Any) -> None:
    """One life of a sweep process: goes on with what is missing, until it ends or is killed. It makes no report."""
    page.render = lambda folder: folder
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    ready.set()
    kept = store.find(None, results_folder=folder / "results")
    with folders.in_progress(kept.folder):
        kept.tidy()
        run_all(sweep_file(folder), kept, sample)


def structure(run: Path) -> tuple[Any, ...]:
    """What two runs of the same sweep have in common, however often they were interrupted."""
    steps = json.loads((run / "steps.json").read_text(encoding="utf-8"))["steps"]
    rows = pl.read_parquet(run / "requests.parquet")
    return (
        sorted(path.name for path in run.iterdir() if path.name != "report.html"),
        [(step["index"], step["key"], step["repeat"], step["point"], sorted(step)) for step in steps],
        rows.group_by("step").len().sort("step").rows(),
        rows.schema,
    )


def left_over(folder: Path) -> set[str]:
    """Return the hidden files and folders, which are incomplete, in the results and among the unfinished sweeps."""
    places = (folder / "results", folder / "results" / folders.UNFINISHED)
    return {path.name for place in places for path in place.glob(".*") if path.name != ".lock"}


def test_a_sweep_that_is_killed_a_hundred_times_is_the_same_as_an_undisturbed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: Path
) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "corda_lab.sweeps.execute"])
    undisturbed = tmp_path / "undisturbed"
    undisturbed.mkdir()
    sweep = sweep_file(undisturbed)
    with monkeypatch.context() as patch:
        patch.setattr("corda_lab.report.page.render", lambda folder: folder)
        kept = begin(undisturbed, sweep)
        started = time.monotonic()
        expected = structure(run_all(sweep, kept, sample))
        seconds_max = 2 * (time.monotonic() - started) / len(kept.steps)
    source = random.Random(1)
    kills = sweeps = 0
    while kills < KILLS:
        folder = tmp_path / f"disturbed-{sweeps}"
        folder.mkdir()
        kept = begin(folder, sweep_file(folder))
        final = folder / "results" / kept.identity
        lives, done, patience = 0, 0, seconds_max
        while not final.exists() or kept.folder.exists():
            lives += 1
            assert lives < 500, "the sweep does not get on"
            ready = context.Event()
            process = context.Process(target=live, args=(folder, sample, ready))
            process.start()
            assert ready.wait(60)
            process.join(source.uniform(0, patience))
            if process.is_alive() and process.pid:
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
            process.join(60)
            # A step may take longer than it did undisturbed: a machine that others use must not kill it for ever.
            patience, done = (seconds_max, len(kept.done)) if len(kept.done) > done else (1.2 * patience, done)
        assert structure(final) == expected
        assert left_over(folder) <= {f".finished-{kept.identity}"}
        kept.tidy()
        assert left_over(folder) == set()
        assert (folder / "results" / "latest").resolve() == final
        sweeps += 1
    assert sweeps >= 1


def test_what_is_complete_is_not_run_again(tmp_path: Path, sample: Path) -> None:
    sweep = sweep_file(tmp_path)
    kept = begin(tmp_path, sweep)
    runner = Stub(sweep, kept, sample)
    first = runner.step(kept.steps[0], "")
    assert kept.has(kept.steps[0])
    assert not kept.has(kept.steps[1])
    again = Stub(sweep, kept, sample, broken={kept.steps[0].key: [GONE, GONE]}).step(kept.steps[0], "")
    assert again.step == first.step
    assert again.requests.equals(first.requests)


def test_a_step_that_breaks_is_tried_twice_and_then_left_out(tmp_path: Path, sample: Path) -> None:
    sweep = sweep_file(tmp_path)
    kept = begin(tmp_path, sweep)
    runner = Stub(sweep, kept, sample, broken={kept.steps[1].key: [GONE, GONE]})
    with pytest.raises(sweeps_runner.StepFailedError):
        runner.step(kept.steps[1], "")
    assert runner.failed == {kept.steps[1].key: "the node is gone"}
    assert runner.forgotten == 2
    assert kept.done == []


def test_a_step_that_breaks_once_is_measured_on_a_fresh_lab(tmp_path: Path, sample: Path) -> None:
    sweep = sweep_file(tmp_path)
    kept = begin(tmp_path, sweep)
    runner = Stub(sweep, kept, sample, broken={kept.steps[0].key: [LabError("The bridge does not answer")]})
    runner.step(kept.steps[0], "")
    assert kept.has(kept.steps[0])
    assert runner.forgotten == 1
    assert runner.failed == {}


def test_what_another_try_does_not_mend_ends_the_sweep(tmp_path: Path, sample: Path) -> None:
    sweep = sweep_file(tmp_path)
    kept = begin(tmp_path, sweep)
    runner = Stub(sweep, kept, sample, broken={kept.steps[0].key: [FinalError("PartyA has no flow 'Iuo'")]})
    with pytest.raises(FinalError, match="no flow"):
        runner.step(kept.steps[0], "")


def test_after_a_step_that_left_flows_under_way_the_lab_is_started_anew(tmp_path: Path, sample: Path) -> None:
    sweep = sweep_file(tmp_path)
    kept = begin(tmp_path, sweep)
    runner = Stub(sweep, kept, sample, at_rest=False)
    runner.step(kept.steps[0], "")
    assert kept.has(kept.steps[0])
    assert runner.forgotten == 1


def test_an_engine_that_gives_no_answer_takes_the_logs_along_and_nothing_else(
    tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = sweep_file(tmp_path)
    kept = begin(tmp_path, sweep)

    def hang(self: Compose, *arguments: str, **options: Any) -> None:
        raise LabError("`docker compose logs` gave no answer within 120 s")

    monkeypatch.setattr(Compose, "run", hang)
    sweeps_runner.Runner._keep_failure(Stub(sweep, kept, sample), kept.steps[0], 1, GONE)
    (folder,) = (kept.folder / "failed").iterdir()
    assert [path.name for path in folder.iterdir()] == ["error.txt"]


def test_the_logs_of_a_failed_attempt_have_no_secret(
    tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = sweep_file(tmp_path)
    kept = begin(tmp_path, sweep)
    printed = CompletedProcess([], 0, "partya-1  | password=hunter22\n", "a warning\n")
    monkeypatch.setattr(Compose, "run", lambda *_, **__: printed)
    sweeps_runner.Runner._keep_failure(Stub(sweep, kept, sample), kept.steps[0], 1, GONE)
    (file,) = (kept.folder / "failed").glob("*/logs.txt")
    assert file.read_text(encoding="utf-8") == f"partya-1  | password={REDACTED}\na warning\n"


def test_what_broke_on_the_way_is_kept_with_the_run(
    tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "render", lambda folder: folder)
    kept = begin(tmp_path, sweep_file(tmp_path))
    (kept.folder / "failed" / "0001-users-1_r1-1").mkdir(parents=True)
    (kept.folder / "failed" / "0001-users-1_r1-1" / "logs.txt").write_text("out of memory\n", encoding="utf-8")
    final = run_all(sweep_file(tmp_path), kept, sample)
    assert (final / "failed" / "0001-users-1_r1-1" / "logs.txt").read_text(encoding="utf-8") == "out of memory\n"


def test_a_run_that_was_written_before_a_kill_becomes_the_latest_one(
    tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "render", lambda folder: folder)
    sweep = sweep_file(tmp_path)
    kept = begin(tmp_path, sweep)
    with monkeypatch.context() as patch:
        patch.setattr(folders, "point_latest", killed)
        with pytest.raises(KeyboardInterrupt):
            run_all(sweep, kept, sample)
    final = execute.finish(sweep, kept)
    assert (final.parent / "latest").resolve() == final
    assert not kept.folder.exists()


def killed(*arguments: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("change", ["sweep", "setting", "workload"])
def test_a_sweep_whose_conditions_have_changed_is_not_resumed(tmp_path: Path, change: str) -> None:
    sweep = sweep_file(tmp_path)
    kept = begin(tmp_path, sweep)
    fingerprint: Callable[..., dict[str, str]] = store.fingerprint
    assert kept.changes(fingerprint(sweep.text, ["iou"], SETTINGS)) == []
    changed = {
        "sweep": lambda: fingerprint(sweep.text + "# more\n", ["iou"], SETTINGS),
        "setting": lambda: fingerprint(sweep.text, ["iou"], SETTINGS.with_values({"NODE_HEAP": "2g"})),
        "workload": lambda: fingerprint(sweep.text, ["iou"], SETTINGS) | {"the workload iou": "another"},
    }[change]()
    (found,) = kept.changes(changed)
    assert {"sweep": "the sweep file", "setting": "NODE_HEAP", "workload": "the workload iou"}[change] in found


def test_an_image_that_was_built_anew_ends_the_sweep(tmp_path: Path, sample: Path) -> None:
    sweep = sweep_file(tmp_path)
    kept = begin(tmp_path, sweep)
    Stub(sweep, kept, sample).step(kept.steps[0], "")
    runner = Stub(sweep, kept, sample)
    name = "corda-lab/node:4.10"
    with pytest.raises(LabError, match=name):
        runner._require_same_images(
            ENVIRONMENT.model_copy(update={"images": {"partya": Image(name=name, id="sha256:other")}})
        )


def test_a_sweep_file_that_was_edited_since_is_not_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = sweep_file(tmp_path)
    monkeypatch.setattr(folders, "RESULTS", tmp_path / "results")
    kept = execute.begin(sweep, plan.plan_sweep(sweep, SETTINGS), SETTINGS)
    stored = stored_sweep(kept)
    execute.require_unchanged(kept, stored, SETTINGS)
    sweep.source.path.write_text(SWEEP.replace("repeats: 3", "repeats: 4"), encoding="utf-8")
    with pytest.raises(LabError, match=r"changed since it began: the sweep file$"):
        execute.require_unchanged(kept, stored, SETTINGS)
    sweep.source.path.unlink()
    execute.require_unchanged(kept, stored, SETTINGS)


def test_a_workload_that_is_gone_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = sweep_file(tmp_path)
    kept = begin(tmp_path, sweep)
    monkeypatch.setattr(store, "WORKLOADS", tmp_path)
    with pytest.raises(LabError, match=r"changed since it began: the workload iou$"):
        execute.require_unchanged(kept, sweep, SETTINGS)


FIND_MAX = FindMaxFields(rate_min=2, rate_max=100, p95_max=2, confirm=9)
SEARCH = """\
description: A search.
workload: iou
load: {arrivals: poisson}
warm_up: {min: 1s, max: 1s}
measure: 4s
find_max: {rate_min: 2, rate_max: 100, precision: 50%, p95_max: 2s, confirm: 9s}
"""


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SweepFile:
    """A search on a system that sustains a rate of 5."""
    monkeypatch.setattr(search_module, "sustained", lambda step, objective: [SWAPPED] if step.load.rate > 5 else [])
    monkeypatch.setattr(page, "render", lambda folder: folder)
    path = tmp_path / "search.yaml"
    path.write_text(SEARCH, encoding="utf-8")
    return read_sweep(path)


def search_with(runner: Stub, sweep: SweepFile) -> SearchOutcome:
    (point,) = points_of(sweep)
    return execute.find_max(sweep, point, 0, runner.sustains)


def test_a_rate_that_breaks_the_lab_is_not_sustained_and_not_asked_again(
    tmp_path: Path, sample: Path, search: SweepFile
) -> None:
    kept = begin(tmp_path, search)
    broken = {key: [GONE, GONE] for key in ("iou_03-probe", "iou_04-probe")}
    outcome = search_with(Stub(search, kept, sample, broken=broken), search)
    assert outcome.reason == "4 was confirmed; 5.657 was not sustained."
    assert [(one.rate, one.sustained) for one in outcome.answers][2:4] == [(8, False), (5.657, False)]
    assert "0003-iou_03-probe" not in [path.name for path in kept.done]
    # Whatever is asked again would now be measured.
    assert search_with(Stub(search, kept, sample), search) == outcome
    assert len(kept.done) == len(outcome.answers) - 2


def test_a_lab_that_has_not_measured_anything_yet_is_not_broken_by_the_rate(
    tmp_path: Path, sample: Path, search: SweepFile
) -> None:
    kept = begin(tmp_path, search)
    with pytest.raises(sweeps_runner.StepFailedError):
        search_with(Stub(search, kept, sample, broken={"iou_01-probe": [GONE, GONE]}), search)
    assert search_with(Stub(search, kept, sample), search).rate == 4


def test_a_search_that_is_finished_early_tells_what_it_found_so_far(
    tmp_path: Path, sample: Path, search: SweepFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = begin(tmp_path, search)
    monkeypatch.setattr(folders, "RESULTS", tmp_path / "results")
    with pytest.raises(FinalError):
        search_with(Stub(search, kept, sample, broken={"iou_04-probe": [FinalError("other image")]}), search)
    ended = finish(SweepRequest(None))
    assert ended.folder is not None
    outcomes = folders.read_json(ended.folder / "run.json")["sweep"]["outcomes"]
    assert outcomes["iou"]["low"] == 4
    assert outcomes["iou"]["high"] == 8
    assert len(outcomes["iou"]["answers"]) == 3
    assert ended.problems == ["iou: The search stopped after 3 steps."]


@pytest.mark.parametrize(("times", "is_valid"), [(1, True), (2, True), (3, False)])
def test_a_step_that_the_machine_spoilt_is_measured_again_on_a_fresh_lab(
    tmp_path: Path, sample: Path, times: int, is_valid: bool
) -> None:
    sweep = sweep_file(tmp_path)
    kept = begin(tmp_path, sweep)
    runner = Stub(sweep, kept, sample, spoilt=times)
    measured = runner.step(kept.steps[0], "")
    assert (not measured.step.validity.machine) is is_valid
    assert measured.step.measured_again == [SWAPPED] * min(times, 2)
    assert runner.forgotten == min(times, 2)
    assert len(kept.done) == 1


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(4, []), (None, ["iou: No rate was confirmed."])],
    ids=["confirmed", "nothing confirmed"],
)
def test_a_search_fails_for_what_it_found_and_for_no_step_on_the_way(
    tmp_path: Path, rate: float | None, expected: list[str]
) -> None:
    outcome = SearchOutcome(rate=rate, low=None, high=None, reason="No rate was confirmed.", answers=[])
    failed = step_with(verdict=VerdictEntry(passed=False, reasons=[reason("requests_failed", errors=3, total=9)]))
    run = sweep_run(tmp_path, [failed], SweepPlan(find_max=FIND_MAX, outcomes={"iou": outcome}))
    assert execute.problems_of(run) == expected


def test_a_sweep_in_progress_is_not_finished_by_another_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "RESULTS", tmp_path / "results")
    kept = begin(tmp_path, sweep_file(tmp_path))
    with folders.in_progress(kept.folder):
        (listed,) = folders.unfinished()
        assert listed.state == "in progress"
        with pytest.raises(LabError, match=f"{kept.identity} is in progress in another command"):
            finish(SweepRequest(None))


def test_the_evidence_of_attempts_is_set_aside_until_their_step_is_stored(
    tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "render", lambda folder: folder)
    kept = begin(tmp_path, sweep_file(tmp_path))
    first, second = kept.steps[:2]
    for step in (first, second):
        (kept.attempt_folder(step) / "rows").mkdir(parents=True)
    kept.keep(first, files.read_step(sample))
    kept.tidy()
    failed = kept.folder / "failed"
    assert [path.name for path in failed.iterdir()] == [f"0002-{second.key}-1"]
    assert kept.set_aside(kept.attempt_folder(second)) == failed / f"0002-{second.key}-2"
    assert not any((kept.folder / "attempts").iterdir())


def test_an_unfinished_sweep_is_found_by_name(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="There is no unfinished sweep"):
        store.find(None, results_folder=tmp_path / "results")
    kept = begin(tmp_path, sweep_file(tmp_path))
    for name in (None, "twelve", kept.identity):
        assert store.find(name, results_folder=tmp_path / "results").identity == kept.identity
    with pytest.raises(LabError, match="no unfinished sweep 'other'"):
        store.find("other", results_folder=tmp_path / "results")
    folders.write_json(kept.folder / "plan.json", {"schema": folders.SCHEMA - 1})
    for name in (None, "twelve"):
        with pytest.raises(LabError, match="was started by another version of the lab"):
            store.find(name, results_folder=tmp_path / "results")


def test_a_report_of_what_there_is_leaves_nothing_half_written(
    tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = begin(tmp_path, sweep_file(tmp_path))
    monkeypatch.setattr(folders, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(page, "render", lambda folder: folder)
    Stub(sweep_file(tmp_path), kept, sample).step(kept.steps[0], "")
    torn = tmp_path / "results" / f"{atomic.PARTIAL}{kept.identity}-x"
    torn.mkdir()
    assert finish(SweepRequest(None)).folder is not None
    assert not torn.exists()


def test_thresholds_that_nothing_valid_was_held_against_are_not_kept(tmp_path: Path) -> None:
    def step(label: str, valid: bool) -> StepEntry:
        validity = ValidityEntry(valid=valid, reasons=[], machine=[])
        return step_with(workload="iou", label=label, validity=validity, verdict=VerdictEntry())

    steps = [step("2 users", True), step("2 users", False), step("8 users", False)]
    for limits, expected in (
        ({"p95_max": 2.0}, ["8 users: has no valid step, so its thresholds could not be checked"]),
        ({}, []),
    ):
        planned = SweepPlan(thresholds=ThresholdFields.model_validate(limits))
        assert execute.problems_of(sweep_run(tmp_path, steps, planned)) == expected
