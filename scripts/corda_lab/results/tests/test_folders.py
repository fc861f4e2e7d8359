"""The folders of runs: their names, which are finished, and whether they can be written."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.results import folders, store


def make_run(folder: Path, identity: str) -> Path:
    manifest = store.manifest(identity)
    run = store.begin(manifest, results=folder)
    store.seal(run, manifest)
    return run


def test_a_run_becomes_the_latest(tmp_path: Path) -> None:
    first = make_run(tmp_path, "20260101T000000Z-iou")
    assert (tmp_path / "latest").resolve() == first
    second = make_run(tmp_path, "20260101T000100Z-iou")
    assert (tmp_path / "latest").resolve() == second
    assert (tmp_path / "latest").readlink() == Path(second.name), "relative, so that results/ can be moved"
    assert folders.all_runs(results=tmp_path) == [first, second]


def test_the_latest_run_is_a_finished_one(tmp_path: Path) -> None:
    first = make_run(tmp_path, "20260101T000000Z-iou")
    begun = store.begin(store.manifest("20260101T000100Z-iou"), results=tmp_path)
    # As a kill leaves it between the two operations that finish a run.
    folders.point_latest(begun)
    assert folders.find_run("latest", results=tmp_path) == first


def test_a_run_without_results_cannot_be_compared_and_says_where_to_look(tmp_path: Path) -> None:
    begun = store.begin(store.manifest("20260101T000100Z-iou"), results=tmp_path)
    for name in (begun.name, "iou"):
        with pytest.raises(LabError, match="has no results, because it did not finish") as caught:
            folders.find_run(name, results=tmp_path)
        assert caught.value.remedy == f"See `scripts/lab report {name}`."


def test_a_run_never_overwrites_another(tmp_path: Path) -> None:
    make_run(tmp_path, "20260101T000000Z-iou")
    with pytest.raises(LabError, match="already exists"):
        make_run(tmp_path, "20260101T000000Z-iou")


def test_finds_runs_by_name_start_end_and_path(tmp_path: Path) -> None:
    first = make_run(tmp_path, "20260101T000000Z-iou")
    second = make_run(tmp_path, "20260102T000000Z-tuned")
    assert folders.find_run("latest", results=tmp_path) == second
    assert folders.find_run("20260101", results=tmp_path) == first
    assert folders.find_run("tuned", results=tmp_path) == second
    assert folders.find_run(str(first), results=tmp_path) == first


def test_says_what_there_is_when_a_run_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="There is no run yet"):
        folders.find_run("latest", results=tmp_path)
    make_run(tmp_path, "20260101T000000Z-iou")
    make_run(tmp_path, "20260102T000000Z-iou")
    with pytest.raises(LabError, match="There is no run 'nothing'"):
        folders.find_run("nothing", results=tmp_path)
    with pytest.raises(LabError, match=r"'iou' matches 2 runs"):
        folders.find_run("iou", results=tmp_path)


def test_names_a_damaged_file(tmp_path: Path) -> None:
    broken = tmp_path / "step.json"
    broken.write_text("{", encoding="utf-8")
    with pytest.raises(LabError, match=r"step\.json: cannot be read"):
        folders.read_json(broken)


def test_the_identity_sorts_by_time() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert folders.run_id("iou", at=at) == "20260102T030405Z-iou"
    assert folders.RUN_NAME.fullmatch(folders.run_id("iou"))


@pytest.mark.parametrize("name", ["", "Ünï", "a/b", "..", "-x", "a b", "x" * 61])
def test_refuses_names_that_cannot_be_folders(name: str) -> None:
    with pytest.raises(LabError, match=r"^--name: "):
        folders.check_name(name, option="--name")


def test_a_folder_that_cannot_be_written_is_one_error_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LabError, match=r"file: results cannot be written there \(.+\)$") as caught:
        folders.require_writable(results=tmp_path / "file")
    assert "LAB_RESULTS_DIR" in caught.value.remedy


def test_a_full_disk_is_found_before_the_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders.require_writable(results=tmp_path)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(folders, "FREE_BYTES_MIN", 1 << 62)
    with pytest.raises(LabError, match="MiB of disk space are free"):
        folders.require_writable(results=tmp_path)
