"""Heap dumps: private, whole or not at all, never in place of another file, and never left in the container."""

import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.engine import Container
from corda_lab.profile import dump
from corda_lab.profile.histogram import Histogram
from corda_lab.profile.jvm import Jvm
from support.profiler import JVM, commands, jvm_client

LIVE = Histogram("PartyA", True, 100, 50 * 1024**2, ())
ALL = Histogram("PartyA", False, 100, 50 * 1024**2, ())
FOLDER = "/opt/corda/persistence/base/tmp/lab-heap"
REMOVED = f"rm -rf {FOLDER}"

Usage = namedtuple("Usage", "total used free")


def told(_: str) -> None:
    """Take the progress, and do nothing with it."""


def test_only_its_owner_can_read_a_dump_and_nothing_stays_in_the_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = jvm_client(tmp_path, monkeypatch)
    target = tmp_path / "partya.hprof"
    words: list[str] = []
    assert dump.write(JVM, LIVE, target, words.append) == 5
    assert target.read_bytes() == b"bytes"
    assert target.stat().st_mode & 0o777 == 0o600
    assert words == ["PartyA stands still while it writes at most 164 MiB", "copying it out of the container"]
    prepared, dumped, *_, removed = commands(log)
    assert "mkdir -m 700" in prepared
    assert dumped == f"/network/bin/asprof jcmd 17 GC.heap_dump {FOLDER}/heap.hprof"
    assert removed == REMOVED
    assert {path.name for path in tmp_path.iterdir()} == {"client", "partya.hprof"}


def test_garbage_is_dumped_if_it_was_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = jvm_client(tmp_path, monkeypatch)
    dump.write(JVM, ALL, tmp_path / "all.hprof", told)
    assert f"/network/bin/asprof jcmd 17 GC.heap_dump -all {FOLDER}/heap.hprof" in commands(log)


def test_another_file_is_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = jvm_client(tmp_path, monkeypatch)
    target = tmp_path / "kept.hprof"
    target.write_text("kept", encoding="utf-8")
    with pytest.raises(LabError, match=r"^--dump: .*kept\.hprof exists already$"):
        dump.write(JVM, LIVE, target, told)
    assert commands(log) == []
    assert target.read_text(encoding="utf-8") == "kept"


def test_a_file_that_appears_meanwhile_is_not_replaced_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "late.hprof"
    log = jvm_client(tmp_path, monkeypatch, [(" cat ", f"echo kept > {target}; printf bytes")])
    with pytest.raises(LabError, match="exists already"):
        dump.write(JVM, LIVE, target, told)
    assert target.read_text(encoding="utf-8") == "kept\n"
    assert {path.name for path in tmp_path.iterdir()} == {"client", "late.hprof"}
    assert commands(log)[-1] == REMOVED


def test_a_folder_that_does_not_exist_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"^--dump: there is no folder .*nowhere$"):
        dump.require_target(tmp_path / "nowhere" / "x.hprof")


def test_there_must_be_room_here_before_the_node_stands_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = jvm_client(tmp_path, monkeypatch)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**9, 10**9, 100 * 1024**2))
    with pytest.raises(LabError, match=r"^--dump: only 100 MiB are free in .*, but 164 MiB may be needed$"):
        dump.write(JVM, LIVE, tmp_path / "x.hprof", told)
    assert commands(log) == []


def test_there_must_be_room_in_the_volume_of_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = jvm_client(tmp_path, monkeypatch, [("mkdir -m 700", "echo 1024 1024")])
    with pytest.raises(LabError, match=r"^PartyA: only 1 MiB are free in its volume, but 164 MiB may be needed$"):
        dump.write(JVM, LIVE, tmp_path / "x.hprof", told)
    assert not any("GC.heap_dump" in command for command in commands(log))
    assert commands(log)[-1] == REMOVED


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (("GC.heap_dump", "echo No space left on device"), "and says: No space left on device"),
        (("stat -c %s", "echo 7"), r"5 B of 7 B arrived of"),
        ((" cat ", "echo container is not running >&2; exit 1"), "failed: container is not running"),
    ],
)
def test_what_fails_leaves_no_file_and_no_copy(
    answer: tuple[str, str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = jvm_client(tmp_path, monkeypatch, [answer])
    with pytest.raises(LabError, match=words):
        dump.write(JVM, LIVE, tmp_path / "x.hprof", told)
    assert {path.name for path in tmp_path.iterdir()} == {"client"}
    assert commands(log)[-1] == REMOVED


def test_an_interrupted_dump_leaves_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = jvm_client(tmp_path, monkeypatch)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(dump, "jcmd", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dump.write(JVM, LIVE, tmp_path / "x.hprof", told)
    assert commands(log)[-1] == REMOVED
    assert {path.name for path in tmp_path.iterdir()} == {"client"}


def test_the_bridge_has_no_disk_for_a_dump(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"^--dump: the bridge has no disk of its own"):
        dump.write(Jvm("bridge", Container("lab-bridge-1"), 1, "4.3"), LIVE, tmp_path / "x.hprof", told)
