"""Unfinished sweeps: steps are complete, whatever ends the process, and the run is the same as an uninterrupted one."""

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab import atomic
from corda_lab.errors import FinalError, LabError
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.report import page
from corda_lab.results import folders, stored
from corda_lab.results import store as results_store
from corda_lab.results.manifest import Manifest
from corda_lab.results.store import Measured
from corda_lab.results.stored import StepFile, StoredRun
from corda_lab.results.sweep import SearchOutcome, SweepPlan
from corda_lab.results.sweep_parts import FindMaxFields, ThresholdFields
from corda_lab.steps.entry import StepEntry, ValidityEntry, VerdictEntry
from corda_lab.steps.reasons import reason
from corda_lab.sweeps import command, search, store
from corda_lab.sweeps.command import SweepRequest, finish
from corda_lab.sweeps.file import SweepFile, read_sweep, with_repeats
from corda_lab.sweeps.lab import Lab, Machine
from corda_lab.sweeps.plan import PlannedStep
from corda_lab.sweeps.run import Runner, placed, problems_of
from corda_lab.sweeps.run import finish as finish_run
from lab_workload.load import Load
from support import simulation
from support.entries import changed
from support.runs import measured_of, plan_of

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
GONE = LabError("the node is gone")


class Stub(Runner):
    """Runs steps without a lab: each takes a moment and gives the same simulated rows."""

    def __init__(
        self, kept: store.Unfinished, sample: Measured, *, broken: Mapping[str, Sequence[LabError]] | None = None
    ) -> None:
        super().__init__(kept, Lab(SETTINGS, Machine(None), fresh="shape"))
        self._sample = sample
        self._errors = {key: list(errors) for key, errors in (broken or {}).items()}

    def measure(self, step: PlannedStep) -> Measured:
        if self._errors.get(step.key):
            raise self._errors[step.key].pop(0)
        results_store.begin_step(self._folder, self._begun(step), plan_of(step.load), self._sample.environment)
        time.sleep(STEP_SECONDS)
        entry = changed(self._sample.step, {"load.rate": step.load.rate})
        return self._sample.with_step(placed(entry, step, search.failings(entry, self._sweep.fields)))

    def _keep_container_logs(self, step: PlannedStep) -> None:
        """There are no containers."""


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """A simulated step."""
    folder = tmp_path_factory.mktemp("sample")
    simulated = simulation.closed_rows(2, 5, simulation.fixed(0.05))
    plan_of_two = plan_of(Load(workload="iou", users=2, duration_seconds=4, warm_up_seconds=1))
    return measured_of(folder, plan_of_two, simulated, simulation.end_words(simulated, 2, 5))


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of results. No report is made."""
    monkeypatch.setattr(folders, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(page, "render", lambda folder: folder)
    return tmp_path / "results"


def sweep_file(folder: Path, text: str = SWEEP) -> SweepFile:
    path = folder / "twelve.yaml"
    path.write_text(text, encoding="utf-8")
    return read_sweep(path)


def begin(folder: Path, text: str = SWEEP) -> store.Unfinished:
    return store.begin(sweep_file(folder, text), SETTINGS, results_folder=folder / "results")


def run_all(kept: store.Unfinished, sample: Measured) -> Path:
    Stub(kept, sample).run_missing()
    return finish_run(kept)


def live(folder: Path, sample: Measured, ready: Any) -> None:
    """One life of a sweep process: goes on with what is missing, until it ends or is killed. It makes no report."""
    page.render = lambda folder: folder
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    ready.set()
    kept = store.find(None, results_folder=folder / "results")
    with folders.in_progress(kept.folder):
        results_store.tidy(kept.folder)
        run_all(kept, sample)


def structure(run: Path) -> tuple[Any, ...]:
    """What two runs of the same sweep have in common."""
    read = stored.read(run)
    rows = read.table("requests")
    return (
        sorted(path.name for path in run.iterdir()),
        [(step.index, step.key, step.repeat, step.point) for step in read.steps],
        [sorted(path.name for path in place.iterdir()) for place in read.places.values()],
        rows.group_by("step").len().sort("step").rows(),
        rows.schema,
    )


def left_over(folder: Path) -> set[str]:
    """Return the hidden files and folders, which are incomplete, in the results."""
    return {path.name for path in (folder / "results").rglob(".*") if path.name != ".latest"}


def test_a_sweep_that_is_killed_a_hundred_times_is_the_same_as_an_undisturbed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: Measured
) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "corda_lab.sweeps.run"])
    undisturbed = tmp_path / "undisturbed"
    undisturbed.mkdir()
    monkeypatch.setattr(page, "render", lambda folder: folder)
    kept = begin(undisturbed)
    started = time.monotonic()
    expected = structure(run_all(kept, sample))
    seconds_max = 2 * (time.monotonic() - started) / len(kept.steps)
    source = random.Random(1)
    kills = sweeps = 0
    while kills < KILLS:
        folder = tmp_path / f"disturbed-{sweeps}"
        folder.mkdir()
        kept = begin(folder)
        final = folder / "results" / kept.identity
        lives, done, patience = 0, 0, seconds_max
        while not folders.is_finished(final):
            lives += 1
            assert lives < 500, "the sweep does not get on"
            ready = context.Event()
            process = context.Process(target=live, args=(folder, sample, ready))
            process.start()
            assert ready.wait(300)
            process.join(source.uniform(0, patience))
            if process.is_alive() and process.pid:
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
            process.join(60)
            # A step may take longer than it did undisturbed: a machine that others use must not kill it for ever.
            patience, done = (seconds_max, len(kept.done)) if len(kept.done) > done else (1.2 * patience, done)
        results_store.tidy(final)
        assert structure(final) == expected
        assert left_over(folder) == set()
        assert (folder / "results" / "latest").resolve() == final
        sweeps += 1
    assert sweeps >= 1


def test_what_is_complete_is_not_run_again(tmp_path: Path, sample: Measured) -> None:
    kept = begin(tmp_path)
    first = Stub(kept, sample).step(kept.steps[0], "")
    assert [kept.entry(step) is not None for step in kept.steps[:2]] == [True, False]
    again = Stub(kept, sample, broken={kept.steps[0].key: [GONE, GONE]}).step(kept.steps[0], "")
    assert again == first
    assert stored.read(kept.folder).table("requests").drop("step").equals(sample.requests)


@pytest.mark.usefixtures("results")
def test_what_failed_on_the_way_is_kept_with_the_run(tmp_path: Path, sample: Measured) -> None:
    kept = begin(tmp_path)
    key = kept.steps[0].key
    Stub(kept, sample, broken={key: [GONE]}).run_missing()
    assert len(stored.read(finish_run(kept)).steps) == 12
    assert [(path.name, step.state, step.why) for path, step in kept.attempts(kept.steps[0]).items()] == [
        (f"0001-{key}", "failed", GONE.message),
        (f"0001-{key}-attempt-2", "done", ""),
    ]


@pytest.mark.usefixtures("results")
def test_a_run_that_was_written_before_a_kill_becomes_the_latest_one(
    tmp_path: Path, sample: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    kept = begin(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(folders, "point_latest", killed)
        with pytest.raises(KeyboardInterrupt):
            run_all(kept, sample)
    assert folders.unfinished_sweeps(results=kept.folder.parent) == [kept.folder]
    final = finish_run(kept)
    assert (final.parent / "latest").resolve() == final
    assert folders.unfinished_sweeps(results=kept.folder.parent) == []


@pytest.mark.usefixtures("results")
def test_a_report_of_what_there_is_leaves_nothing_half_written(tmp_path: Path, sample: Measured, results: Path) -> None:
    kept = begin(tmp_path)
    Stub(kept, sample).step(kept.steps[0], "")
    torn = results / f"{atomic.PARTIAL}{kept.identity}-x"
    torn.mkdir()
    assert finish(SweepRequest(None)).is_dir()
    assert not torn.exists()


def test_a_step_without_its_file_is_never_left_by_a_kill(
    tmp_path: Path, sample: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder without ``step.json`` would make the whole run unreadable."""
    kept = begin(tmp_path)
    for name in ("requests", "metrics"):
        folder = kept.new_step(kept.steps[0])

        def killed(_: pl.DataFrame, path: Path, name: str = name) -> None:
            if name in path.name:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(pl.DataFrame, "write_parquet", killed)
            with pytest.raises(KeyboardInterrupt):
                results_store.keep(folder, sample)
        assert stored.read_step(folder).state == "interrupted"
    assert kept.done == []


def test_the_rows_of_a_killed_step_stay_beside_those_of_the_next_attempt(tmp_path: Path, sample: Measured) -> None:
    kept = begin(tmp_path)
    first = kept.steps[0]
    killed = kept.new_step(first)
    begun = StepFile(index=1, key=first.key)
    results_store.begin_step(killed, begun, plan_of(first.load), sample.environment)
    (killed / stored.EVIDENCE / "x.ndjson").write_text("{}\n", encoding="utf-8")
    with folders.in_progress(killed):
        assert stored.read_step(killed).state == "running"
    Stub(kept, sample).step(first, "")
    results_store.tidy(kept.folder)
    assert [step.state for step in kept.attempts(first).values()] == ["interrupted", "done"]
    assert results_store.count_rows(killed) == 1
    assert not (kept.attempts(first).popitem()[0] / stored.EVIDENCE).exists()


# Resuming.


@pytest.mark.parametrize(
    "change",
    ["the sweep file", "NODE_HEAP in .env or the environment", "the workload iou", "the plan of its steps"],
)
def test_a_sweep_whose_conditions_have_changed_is_not_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    kept, settings = store.read(begin(tmp_path).folder), SETTINGS
    sweep = kept.sweep
    kept.require_unchanged(sweep, settings)
    if change == "the sweep file":
        sweep.source.path.write_text(SWEEP.replace("repeats: 3", "repeats: 4"), encoding="utf-8")
    elif change == "the workload iou":
        monkeypatch.setattr(store, "WORKLOADS", tmp_path)
    elif change == "the plan of its steps":
        # As another version of the lab may plan them.
        others = kept.steps[:-1]
        monkeypatch.setattr(store, "steps_of", lambda _: others)
        kept = store.read(kept.folder)
    else:
        settings = SETTINGS.with_values({"NODE_HEAP": "2g"})
    with pytest.raises(LabError, match=f"changed since it began: {change}$"):
        kept.require_unchanged(sweep, settings)


def test_a_sweep_whose_file_is_gone_is_resumed_from_its_stored_text(tmp_path: Path) -> None:
    kept = begin(tmp_path)
    (tmp_path / "twelve.yaml").unlink()
    kept.require_unchanged(kept.sweep, SETTINGS)


def test_a_resumed_sweep_has_the_repeats_and_the_seed_with_which_it_began(tmp_path: Path) -> None:
    sweep = with_repeats(sweep_file(tmp_path), 2, 4)
    kept = store.read(store.begin(sweep, SETTINGS, results_folder=tmp_path / "results").folder)
    resumed = kept.sweep
    assert (resumed.fields.repeats, resumed.fields.seed, resumed.source.path) == (2, 4, sweep.source.path)
    assert len(kept.steps) == 8


def test_a_sweep_in_progress_is_not_finished_by_another_command(tmp_path: Path, results: Path) -> None:
    kept = begin(tmp_path)
    with folders.in_progress(kept.folder):
        (listed,) = stored.unfinished()
        assert listed.state == "in progress"
        with pytest.raises(LabError, match=f"{kept.identity} is in progress in another command"):
            finish(SweepRequest(None))


def test_an_unfinished_sweep_is_found_by_name(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="There is no unfinished sweep"):
        store.find(None, results_folder=tmp_path / "results")
    kept = begin(tmp_path)
    for name in (None, "twelve", kept.identity):
        assert store.find(name, results_folder=tmp_path / "results").identity == kept.identity
    with pytest.raises(LabError, match="no unfinished sweep 'other'"):
        store.find("other", results_folder=tmp_path / "results")
    changed_schema = {**folders.read_object(kept.folder / folders.RUN), "schema": folders.SCHEMA - 1}
    folders.write_json(kept.folder / folders.RUN, changed_schema)
    for name in (None, "twelve"):
        with pytest.raises(LabError, match="by another version of the lab"):
            store.find(name, results_folder=tmp_path / "results")


SEARCH = """\
description: A search.
workload: iou
load: {arrivals: poisson}
warm_up: {min: 1s, max: 1s}
measure: 4s
find_max: {rate_min: 2, rate_max: 100, precision: 50%, p95_max: 2s, confirm: 9s}
"""


@pytest.fixture
def searching(tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch) -> store.Unfinished:
    """A search on a system that sustains a rate of 5, of which nothing has run."""
    swapped = reason("swapped", pages=300)
    monkeypatch.setattr(search, "sustained", lambda step, _: [swapped] if step.load.rate > 5 else [])
    return begin(tmp_path, SEARCH)


def outcome_of(kept: store.Unfinished) -> SearchOutcome:
    return stored.read(finish_run(kept)).sweep.outcomes["iou"]


def test_a_rate_that_breaks_the_lab_is_not_sustained_and_not_asked_again(
    searching: store.Unfinished, sample: Measured
) -> None:
    broken = {key: [GONE, GONE] for key in ("iou_03-probe", "iou_04-probe")}
    Stub(searching, sample, broken=broken).search_all()
    assert "0003-iou_03-probe" not in [path.name for path in searching.done]
    count = len(searching.done)
    # Whatever is asked again would now be measured.
    Stub(searching, sample).search_all()
    assert len(searching.done) == count
    outcome = outcome_of(searching)
    assert outcome.reason == "4 was confirmed; 5.657 was not sustained."
    assert [(one.rate, one.sustained) for one in outcome.answers][2:4] == [(8, False), (5.657, False)]
    assert len(outcome.answers) == count + 2


def test_a_lab_that_has_not_measured_anything_yet_is_not_broken_by_the_rate(
    searching: store.Unfinished, sample: Measured
) -> None:
    runner = Stub(searching, sample, broken={"iou_01-probe": [GONE, GONE]})
    runner.search_all()
    assert runner.failed == {"iou_01-probe": "the node is gone"}
    Stub(searching, sample).search_all()
    assert outcome_of(searching).rate == 4


def test_a_search_that_is_finished_early_tells_what_it_found_so_far(
    searching: store.Unfinished, sample: Measured
) -> None:
    with pytest.raises(FinalError):
        Stub(searching, sample, broken={"iou_04-probe": [FinalError("other image")]}).search_all()
    run = stored.read(finish(SweepRequest(None)))
    outcome = run.sweep.outcomes["iou"]
    assert (outcome.low, outcome.high, len(outcome.answers)) == (4, 8, 3)
    assert problems_of(run) == ["iou: The search stopped after 3 steps."]


# What a sweep fails for.


def step_with(**known: Any) -> StepEntry:
    """As much of a step as judging a sweep needs."""
    return StepEntry.model_construct(**known)


def sweep_run(folder: Path, steps: list[StepEntry], planned: SweepPlan) -> StoredRun:
    """As much of a run as judging a sweep needs."""
    known: dict[str, Any] = {"kind": "sweep", "sweep": planned}
    return StoredRun(folder, Manifest.model_construct(**known), steps)


@pytest.mark.parametrize(("rate", "expected"), [(4, []), (None, ["iou: No rate was confirmed."])])
def test_a_search_fails_for_what_it_found_and_for_no_step_on_the_way(
    tmp_path: Path, rate: float | None, expected: list[str]
) -> None:
    outcome = SearchOutcome(rate=rate, low=None, high=None, reason="No rate was confirmed.", answers=[])
    find_max = FindMaxFields(rate_min=2, rate_max=100, p95_max=2, confirm=9)
    verdict = VerdictEntry(passed=False, reasons=[reason("requests_failed", errors=3, total=9)])
    run = sweep_run(tmp_path, [step_with(verdict=verdict)], SweepPlan(find_max=find_max, outcomes={"iou": outcome}))
    assert problems_of(run) == expected


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
        assert problems_of(sweep_run(tmp_path, steps, planned)) == expected


def test_a_sweep_that_ends_early_says_how_to_continue(
    tmp_path: Path, sample: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = begin(tmp_path)
    broken = {step.key: [GONE, GONE] for step in kept.steps[1:3]}
    monkeypatch.setattr("corda_lab.sweeps.run.Runner", lambda *_: Stub(kept, sample, broken=broken))
    with pytest.raises(LabError) as caught:
        command._run(kept, Lab(SETTINGS, Machine(None), fresh="shape"))
    assert caught.value.message == "\n".join(f"step {key}: the node is gone" for key in broken)
    assert caught.value.remedy.startswith("10 complete steps stored. Continue with `scripts/lab sweep resume`")
    assert caught.value.exit_code == 1
