"""Folders of runs: whole or not at all."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.results import folders


def make_run(folder: Path, identity: str) -> Path:
    with folders.new_run(identity, results=folder) as run:
        folders.write_json(run / "run.json", {"id": identity})
    return folder / identity


def test_a_run_appears_whole_and_becomes_the_latest(tmp_path: Path) -> None:
    first = make_run(tmp_path, "20260101T000000Z-iou")
    assert (tmp_path / "latest").resolve() == first
    second = make_run(tmp_path, "20260101T000100Z-iou")
    assert (tmp_path / "latest").resolve() == second
    assert (tmp_path / "latest").readlink() == Path(second.name), "relative, so that results/ can be moved"
    assert folders.all_runs(results=tmp_path) == [first, second]


@pytest.mark.parametrize("reason", [KeyboardInterrupt(), LabError("no"), RuntimeError("defect")])
def test_a_run_that_breaks_off_leaves_nothing(tmp_path: Path, reason: BaseException) -> None:
    kept = make_run(tmp_path, "20260101T000000Z-iou")

    def break_off() -> None:
        with folders.new_run("20260101T000100Z-iou", results=tmp_path) as run:
            (run / "requests.parquet").write_bytes(b"half")
            raise reason

    with pytest.raises(type(reason)):
        break_off()
    assert {path.name for path in tmp_path.iterdir()} == {kept.name, "latest"}
    assert (tmp_path / "latest").resolve() == kept


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
    broken = tmp_path / "steps.json"
    broken.write_text("{", encoding="utf-8")
    with pytest.raises(LabError, match=r"steps\.json: cannot be read"):
        folders.read_json(broken)


def test_the_identity_sorts_by_time() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert folders.run_id("iou", at=at) == "20260102T030405Z-iou"
    assert folders.RUN_NAME.fullmatch(folders.run_id("iou"))


@pytest.mark.parametrize("name", ["", "Ünï", "a/b", "..", "-x", "a b", "x" * 61])
def test_refuses_names_that_cannot_be_folders(name: str) -> None:
    with pytest.raises(LabError, match=r"^--name: "):
        folders.check_name(name, option="--name")


def test_lists_sweeps_that_broke_off_with_their_whole_steps(tmp_path: Path) -> None:
    sweep = tmp_path / folders.UNFINISHED / "20260103T000000Z-sweep"
    for name in ("users-1_r1", "users-2_r1", ".partial-users-3_r1"):
        (sweep / "steps" / name).mkdir(parents=True)
    folders.write_json(sweep / "plan.json", {"schema": folders.SCHEMA, "steps": [{}, {}, {}, {}]})
    (found,) = folders.unfinished(results=tmp_path)
    assert (found.run, found.steps, found.steps_planned) == (sweep.name, 2, 4)
    assert folders.all_runs(results=tmp_path) == []
