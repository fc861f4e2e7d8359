"""What a run keeps of its steps, before their loads, after them, and if no result came of them."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab import __version__
from corda_lab.errors import LabError
from corda_lab.results import folders, store, stored
from corda_lab.results.store import Measured
from corda_lab.results.stored import StepFile
from corda_lab.steps.entry import StepEntry
from lab_workload.load import Load
from support.runs import ENVIRONMENT, plan_of, step_file

IDENTITY = "20260102T030405Z-iou"
LOAD = Load(workload="iou", users=20)
PLAN = plan_of(LOAD).model_copy(update={"identity": IDENTITY})
BEGUN = StepFile(index=1, key="run", began_at="2026-01-02T03:04:05+00:00")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of one load, which has begun."""
    run = store.begin(store.manifest(IDENTITY, load=LOAD, command="scripts/lab run iou"), results=tmp_path)
    store.begin_step(store.new_step(run, 1, "run"), BEGUN, PLAN, ENVIRONMENT)
    return run


@pytest.fixture
def step(run: Path) -> Path:
    """The folder of its step."""
    return step_file(run).parent


def listed(run: Path) -> stored.UnfinishedRun:
    (line,) = stored.unfinished(results=run.parent)
    return line


def test_what_was_asked_for_is_there_before_the_load(run: Path, step: Path) -> None:
    assert {path.name for path in step.iterdir()} == {"step.json", "plan.json", "environment.json", "evidence"}
    assert (store.read_plan(step), stored.read_manifest(run).load) == (PLAN, LOAD)


def test_a_run_is_in_progress_as_long_as_its_folder_is_locked(run: Path) -> None:
    with folders.in_progress(run):
        assert listed(run).state == "in progress"
        with pytest.raises(LabError, match="is in progress in another command"), folders.in_progress(run):
            pass
    line = listed(run)
    assert (line.run, line.kind, line.state, line.why, line.rows) == (
        IDENTITY,
        "run",
        "interrupted",
        stored.KILLED,
        None,
    )


def test_a_failed_run_is_listed_with_its_reason_and_is_no_sweep(run: Path, step: Path) -> None:
    ended = BEGUN.model_copy(update={"state": "failed", "why": "The worker ended early", "rows": 7})
    store.end_step(step, ended)
    line = listed(run)
    assert (line.state, line.why, line.rows) == ("failed", "The worker ended early", 7)
    assert folders.unfinished_sweeps(results=run.parent) == []
    assert folders.all_runs(results=run.parent) == []


def test_a_damaged_step_is_named_in_the_list(run: Path, step: Path) -> None:
    (step / "step.json").write_text("{", encoding="utf-8")
    assert "step.json: cannot be read" in (listed(run).damaged or "")


def test_rows_are_counted_without_the_stages_and_without_a_torn_line(step: Path) -> None:
    evidence = step / stored.EVIDENCE
    (evidence / f"{IDENTITY}.1.ndjson").write_text("{}\n{}\n{", encoding="utf-8")
    (evidence / f"{IDENTITY}.2.ndjson").write_text("{}\n", encoding="utf-8")
    for other in ("spans.partya.ndjson", f"{IDENTITY}.1.drops.ndjson", f"{IDENTITY}.end.json"):
        (evidence / other).write_text("{}\n", encoding="utf-8")
    assert store.count_rows(step) == 3


def test_a_step_is_found_by_the_id_of_its_load(run: Path, step: Path) -> None:
    assert store.find_step(IDENTITY, results=run.parent) == step
    assert store.find_step("20260102T030405Z-other", results=run.parent) is None


def test_every_attempt_at_a_step_has_its_folder(run: Path, step: Path) -> None:
    second = store.new_step(run, 1, "run")
    store.end_step(second, BEGUN)
    assert [path.name for path in store.attempts(run, 1, "run")] == ["0001-run", "0001-run-attempt-2"]
    assert store.new_step(run, 1, "run").name == "0001-run-attempt-3"
    assert store.new_step(run, 2, "run").name == "0002-run"


def measured(index: int, stage_rows: pl.DataFrame | None) -> Measured:
    rows = pl.DataFrame({"client_id": ["a"]})
    needed: dict[str, Any] = {"index": index}
    return Measured(StepEntry.model_construct(**needed), rows, rows, stage_rows, ENVIRONMENT, "iou", "")


def test_steps_of_different_workloads_have_different_stages(tmp_path: Path) -> None:
    first = pl.DataFrame({"client_id": ["a"], "collect_signatures_ms": [1.5]})
    second = pl.DataFrame({"client_id": ["b"], "select_ms": [2.5], "notarise_ms": [None]})
    places = {}
    for step in (measured(1, first), measured(2, None), measured(3, second)):
        places[step.step.index] = tmp_path / str(step.step.index)
        places[step.step.index].mkdir()
        for name, table in step.tables().items():
            table.write_parquet(places[step.step.index] / f"{name}.parquet")
    run = stored.StoredRun(tmp_path, store.manifest(IDENTITY), [], places)
    stage_rows = run.stage_rows()
    assert stage_rows is not None
    assert stage_rows.to_dicts() == [
        {"step": 1, "client_id": "a", "collect_signatures_ms": 1.5, "select_ms": None, "notarise_ms": None},
        {"step": 3, "client_id": "b", "collect_signatures_ms": None, "select_ms": 2.5, "notarise_ms": None},
    ]
    assert run.table("requests")["step"].to_list() == [1, 2, 3]


def test_a_damaged_table_of_a_step_is_one_error(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    step_file(run).with_name("requests.parquet").write_bytes(b"PAR1")
    with pytest.raises(LabError, match="its tables cannot be read"):
        stored.read(run).table("requests")


def test_a_stored_run_has_what_its_steps_depended_on(stored_run: Callable[..., Path]) -> None:
    run = stored.read(stored_run())
    assert run.manifest.lab_version == __version__
    assert run.manifest.environments == [ENVIRONMENT]
    assert run.manifest.workload_files == {"iou": "workload: iou\n"}
    assert run.manifest.started_at < run.manifest.ended_at
    assert {path.name for path in run.places[1].iterdir()} >= {"step.json", "environment.json", "requests.parquet"}


def test_the_command_can_be_typed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["x", "run", "iou", "--users", "40", "--name", "it's mine"])
    words = ["scripts/lab", "run", "iou", "--users", "40", "--name", "it's mine"]
    assert shlex.split(store.manifest(IDENTITY).command) == words
