"""The suite ``soak``: what it counts beside the load, and what it makes of a sweep without results."""

import sys
import time
from pathlib import Path

import pytest

from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.reliability import soak_suite, stored
from corda_lab.reliability.soak import HeapReading
from corda_lab.reliability.soak_suite import HeapWatch
from corda_lab.selftest import suite
from corda_lab.testing.docker import docker_client

SETTINGS = load_settings(ENV_FILE, {"PARTIES": "2"})
PLACES = ["Notary", "PartyA", "PartyB", "bridge"]
LAB = """case "$1" in
compose)
  for one in notary partya partyb bridge; do
    echo "{\\"Service\\": \\"$one\\", \\"Name\\": \\"lab-$one-1\\", \\"State\\": \\"running\\", \\"ExitCode\\": 0}"
  done ;;
exec)
  case "$*" in
  *jcmd*) echo "$2" >> FOLDER/asked; echo "Total 10 2000" ;;
  *) echo "Async-profiler 4.3"; echo /proc/17/cmdline ;;
  esac ;;
esac"""


def test_every_jvm_is_counted_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak_suite, "HEAP_SECONDS", 0.01)
    docker_client(tmp_path, monkeypatch, LAB.replace("FOLDER", str(tmp_path)))
    began = time.time()
    with HeapWatch(SETTINGS).watching() as watch:
        deadline = time.monotonic() + 30
        while len(watch.readings) < 2 * len(PLACES) and time.monotonic() < deadline:
            time.sleep(0.01)
    assert [one.place for one in watch.readings[: 2 * len(PLACES)]] == 2 * PLACES
    assert {one.live_bytes for one in watch.readings} == {2000}
    assert all(began <= one.at <= time.time() for one in watch.readings)
    assert watch.problems == {}


def test_a_lab_that_is_not_there_yet_is_a_problem_and_no_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak_suite, "HEAP_SECONDS", 0.01)
    docker_client(tmp_path, monkeypatch, "true")
    with HeapWatch(SETTINGS).watching() as watch:
        deadline = time.monotonic() + 30
        while len(watch.problems) < len(PLACES) and time.monotonic() < deadline:
            time.sleep(0.01)
    assert watch.readings == []
    assert set(watch.problems.values()) == {"The lab is not up"}


def test_a_sweep_that_leaves_no_result_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak_suite, "RESULTS", tmp_path)
    monkeypatch.setattr(stored, "FOLDER", tmp_path / "docs")

    def ended(command: list[str], **_: object) -> tuple[int, str]:
        assert command[:4] == [sys.executable, "-m", "corda_lab", "sweep"]
        return 2, "There is not enough memory"

    monkeypatch.setattr(suite, "execute", ended)
    found = soak_suite.soaked(SETTINGS, None)
    assert (found.passed, found.failed) == (0, 1)
    assert found.output.startswith("There is not enough memory")
    assert not (tmp_path / "docs").exists()


def test_what_was_counted_is_kept_beside_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak_suite, "RESULTS", tmp_path)
    soak_suite.keep([HeapReading("PartyA", 1_790_000_000.04, 2000)])
    assert (tmp_path / "heaps.csv").read_text(encoding="utf-8") == (
        "place,at,live_bytes\nPartyA,1790000000.0,2000\n"
    )
