"""The files of loads by hand: how many are kept, and what else lies beside them."""

import os
from pathlib import Path

from lab_load.kept_loads import kept_loads, make_room, run_of_command_line
from lab_workload.by_hand import REMOVED_FILE, REMOVED_MAX, RemovedLoads


def load(directory: Path, number: int, size: int = 100) -> str:
    """Write the files of a load that began in second ``number``, and return its id."""
    identity = f"web-20260102T0304{number:02d}Z"
    (directory / f"{identity}.ndjson").write_bytes(bytes(size))
    (directory / f"{identity}.load.json").write_text("{", encoding="utf-8")
    return identity


def kept(directory: Path) -> list[str]:
    return [one.identity for one in kept_loads(directory)]


def test_only_files_of_the_web_ui_are_loads_by_hand(tmp_path: Path) -> None:
    for name in ("20260102T030405Z-iou.ndjson", "test.end.json", ".web-20260102T030405Z.end.json.7", REMOVED_FILE):
        (tmp_path / name).touch()
    second, first = load(tmp_path, 2), load(tmp_path, 1)
    (tmp_path / f"{first}-2.ndjson").write_bytes(bytes(3))

    assert [(one.identity, one.bytes) for one in kept_loads(tmp_path)] == [
        (first, 101),
        (f"{first}-2", 3),
        (second, 101),
    ]


def test_the_oldest_go_until_both_limits_are_kept(tmp_path: Path) -> None:
    loads = [load(tmp_path, number) for number in range(5)]

    assert make_room(tmp_path, loads_max=4, bytes_max=10_000)
    assert kept(tmp_path) == loads[1:]
    assert make_room(tmp_path, loads_max=4, bytes_max=250)
    assert kept(tmp_path) == loads[3:]


def test_the_load_in_progress_is_never_removed(tmp_path: Path) -> None:
    first, second = load(tmp_path, 1), load(tmp_path, 2)

    assert not make_room(tmp_path, loads_max=9, bytes_max=50, current=first)
    assert kept(tmp_path) == [first]
    (removed,) = RemovedLoads.read((tmp_path / REMOVED_FILE).read_text(encoding="utf-8")).loads
    assert (removed.id, removed.workload, removed.requests) == (second, None, None), "its files cannot be read"


def test_only_the_last_removed_loads_are_remembered(tmp_path: Path) -> None:
    for number in range(REMOVED_MAX + 5):
        load(tmp_path, number)
        assert make_room(tmp_path, loads_max=0, bytes_max=1000)

    found = RemovedLoads.read((tmp_path / REMOVED_FILE).read_text(encoding="utf-8")).loads
    assert len(found) == REMOVED_MAX
    assert found[-1].id == f"web-20260102T0304{REMOVED_MAX + 4:02d}Z"


def test_a_run_of_the_command_line_is_in_progress_while_its_files_change(tmp_path: Path) -> None:
    load(tmp_path, 1)
    assert run_of_command_line(tmp_path, now=1000.0) is None
    file = tmp_path / "20260102T030405Z-iou.ndjson"
    file.touch()
    os.utime(file, (1000.0, 1000.0))

    assert run_of_command_line(tmp_path, now=1001.0) == "20260102T030405Z-iou"
    assert run_of_command_line(tmp_path, now=1000.0 + 3600) is None
