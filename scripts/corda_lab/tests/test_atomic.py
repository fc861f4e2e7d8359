"""Files and folders: whole or not at all."""

from pathlib import Path

import pytest

from corda_lab import atomic


def test_a_file_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    file = tmp_path / "new" / "note.json"
    atomic.write_text(file, "first\n")
    atomic.write_text(file, "second\n")
    assert file.read_bytes() == b"second\n"
    assert file.stat().st_mode & 0o777 == 0o644
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("reason", [KeyboardInterrupt(), RuntimeError("defect")])
def test_a_file_that_is_not_finished_leaves_the_one_before(tmp_path: Path, reason: BaseException) -> None:
    file = tmp_path / "note"
    atomic.write_text(file, "first")

    def interrupted() -> None:
        with atomic.whole_file(file) as partial:
            partial.write_text("half", encoding="utf-8")
            raise reason

    with pytest.raises(type(reason)):
        interrupted()
    assert file.read_text(encoding="utf-8") == "first"
    assert list(tmp_path.iterdir()) == [file]


def test_a_program_can_be_run_as_soon_as_it_is_there(tmp_path: Path) -> None:
    program = tmp_path / "program"
    with atomic.whole_file(program, mode=0o755) as partial:
        partial.write_text("#!/bin/sh\n", encoding="utf-8")
        assert not program.exists()
    assert program.stat().st_mode & 0o777 == 0o755


def test_a_folder_appears_with_all_that_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "steps" / "one"
    with atomic.whole_folder(folder) as partial:
        (partial / "rows").write_text("all", encoding="utf-8")
        assert not folder.exists()
    assert (folder / "rows").read_text(encoding="utf-8") == "all"
    assert list(folder.parent.iterdir()) == [folder]
