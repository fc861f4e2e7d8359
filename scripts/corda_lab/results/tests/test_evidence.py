"""The evidence of a load: written before it, listed while it runs and when no run came of it."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.results import evidence, folders
from lab_workload.load import Load
from lab_workload.subject import Subject
from support.runs import ENVIRONMENT

IDENTITY = "20260102T030405Z-iou"
LOAD = evidence.LoadFile(
    id=IDENTITY,
    command="scripts/lab run iou",
    began_at="2026-01-02T03:04:05+00:00",
    workload="iou",
    options=Load(workload="iou", users=20),
    subject=Subject("PartyA", ()),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = folders.unfinished_folder(results=tmp_path) / IDENTITY
    evidence.begin(path, LOAD, "flow: Iou\n", ENVIRONMENT)
    return path


def test_what_was_asked_for_is_there_before_the_load(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {"load.json", "workload.yaml", "environment.json", "rows"}
    assert folders.read_model(folder / "load.json", evidence.LoadFile) == LOAD


def test_a_run_is_in_progress_as_long_as_its_folder_is_locked(folder: Path, tmp_path: Path) -> None:
    with folders.in_progress(folder):
        (found,) = evidence.unfinished_runs(results=tmp_path)
        assert found.state == "in progress"
        with pytest.raises(LabError, match="is in progress in another command"), folders.in_progress(folder):
            pass
    (found,) = evidence.unfinished_runs(results=tmp_path)
    assert (found.run, found.state, found.reason, found.rows) == (IDENTITY, "interrupted", evidence.KILLED, None)


def test_a_failed_run_is_listed_with_its_reason_and_is_no_sweep(folder: Path, tmp_path: Path) -> None:
    evidence.end(folder, "failed", "The worker ended early", rows=7)
    (found,) = evidence.unfinished_runs(results=tmp_path)
    assert (found.state, found.reason, found.rows) == ("failed", "The worker ended early", 7)
    assert folders.unfinished(results=tmp_path) == []
    assert folders.all_runs(results=tmp_path) == []


def test_a_run_without_results_cannot_be_compared_and_says_where_to_look(folder: Path, tmp_path: Path) -> None:
    for name in (IDENTITY, "iou"):
        with pytest.raises(LabError, match="has no results, because it did not finish") as caught:
            folders.find_run(name, results=tmp_path)
        assert caught.value.remedy == f"See `scripts/lab report {name}`."


def test_a_run_that_was_stored_is_no_longer_unfinished(folder: Path, tmp_path: Path) -> None:
    (tmp_path / IDENTITY).mkdir()
    (tmp_path / IDENTITY / "run.json").touch()
    assert evidence.unfinished_runs(results=tmp_path) == []


def test_rows_are_counted_without_the_stages_and_without_a_torn_line(folder: Path) -> None:
    (folder / "rows" / f"{IDENTITY}.1.ndjson").write_text("{}\n{}\n{", encoding="utf-8")
    (folder / "rows" / f"{IDENTITY}.2.ndjson").write_text("{}\n", encoding="utf-8")
    for other in ("stages.partya.ndjson", f"{IDENTITY}.1.drops.ndjson", f"{IDENTITY}.end.json"):
        (folder / "rows" / other).write_text("{}\n", encoding="utf-8")
    assert evidence.count_rows(evidence.rows_files(folder)) == 3


def test_the_evidence_of_a_step_of_a_sweep_is_found_by_the_id_of_its_load(folder: Path, tmp_path: Path) -> None:
    assert evidence.find(IDENTITY, results=tmp_path) == folder
    step = folders.unfinished_folder(results=tmp_path) / "20260101T000000Z-smoke" / "attempts" / "0001-users-1_r1"
    step.parent.mkdir(parents=True)
    folder.rename(step)
    assert evidence.find(IDENTITY, results=tmp_path) == step
    assert evidence.find("20260102T030405Z-other", results=tmp_path) is None


def test_a_folder_that_cannot_be_written_is_one_error_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LabError, match=r"file: results cannot be written there \(.+\)$") as caught:
        folders.require_writable(results=tmp_path / "file")
    assert "LAB_RESULTS_DIR" in caught.value.remedy


def test_a_full_disk_is_found_before_the_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders.require_writable(results=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [folders.UNFINISHED]
    monkeypatch.setattr(folders, "FREE_BYTES_MIN", 1 << 62)
    with pytest.raises(LabError, match="MiB of disk space are free"):
        folders.require_writable(results=tmp_path)
