"""The suite ``soak``: what it counts beside the load, and what it makes of a sweep without results."""

import sys
import time
from pathlib import Path

import pytest

from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.reliability import soak_suite, stored
from corda_lab.reliability.soak import Heaps
from corda_lab.reliability.soak_file import SoakFile
from corda_lab.reliability.soak_suite import HeapWatch
from corda_lab.selftest import suite
from corda_lab.selftest.suite import Totals
from corda_lab.testing import sweeps
from corda_lab.testing.docker import docker_client
from corda_lab.testing.sweep_files import short_soak
from corda_lab.testing.sweeps import SimulatedSweep

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
    file, began = tmp_path / "results" / "heaps.csv", time.time()
    with HeapWatch(SETTINGS, file).watching():
        deadline = time.monotonic() + 30
        while len(soak_suite.heaps_of(file).readings) < 2 * len(PLACES) and time.monotonic() < deadline:
            time.sleep(0.05)
    heaps = soak_suite.heaps_of(file)
    found = heaps.readings
    assert [one.place for one in found[: 2 * len(PLACES)]] == 2 * PLACES
    assert {one.live_bytes for one in found} == {2000}
    # Times are stored to a tenth of a second.
    assert all(began - 0.1 <= one.at <= time.time() + 0.1 for one in found)
    assert heaps.problems == []


def test_a_lab_that_is_not_there_yet_is_a_problem_and_no_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak_suite, "HEAP_SECONDS", 0.01)
    docker_client(tmp_path, monkeypatch, "true")
    file = tmp_path / "heaps.csv"
    with HeapWatch(SETTINGS, file).watching():
        deadline = time.monotonic() + 30
        while len(soak_suite.heaps_of(file).problems) < len(PLACES) and time.monotonic() < deadline:
            time.sleep(0.05)
    heaps = soak_suite.heaps_of(file)
    assert heaps.readings == []
    assert {one.text for one in heaps.problems} == {"The lab is not up"}
    assert {one.place for one in heaps.problems} == set(PLACES)
    # Without the file, every heap is one that was never counted.
    assert soak_suite.heaps_of(tmp_path / "none.csv") == Heaps()


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


def test_a_finished_sweep_that_was_not_judged_is_judged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results, sweep = tmp_path / "results", SimulatedSweep(identity="20260102T030405Z-soak")
    sweeps.store_file(results, sweep, short_soak(tmp_path))
    counted = "place,at,live_bytes,problem\nPartyA,1790000000.0,2000,\n"
    (results / soak_suite.HEAPS).write_text(counted, encoding="ascii")
    monkeypatch.setattr(soak_suite, "RESULTS", results)
    monkeypatch.setattr(stored, "FOLDER", tmp_path / "docs" / "reliability")
    monkeypatch.setattr(stored, "DOCUMENT", tmp_path / "docs" / "reliability.md")
    totals = Totals()
    soak_suite.run(totals, None)
    assert totals.failed > 0, "nobody has audited the simulated ledgers"
    (file,) = stored.read_all()
    assert isinstance(file, SoakFile)
    assert file.run == sweep.identity
    assert "the ledgers were not audited" in stored.DOCUMENT.read_text(encoding="utf-8")
    assert soak_suite.unjudged() is None
