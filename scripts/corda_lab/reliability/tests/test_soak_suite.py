"""The suite ``soak``: what it counts beside the load, and what it makes of a sweep without results."""

import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab import lifecycle
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.profile import jvm
from corda_lab.reliability import soak_suite, stored
from corda_lab.reliability.soak import Heaps
from corda_lab.reliability.soak_file import SoakFile
from corda_lab.reliability.soak_suite import HeapWatch
from corda_lab.results.audits import Audit
from corda_lab.selftest import own_project, suite
from corda_lab.selftest.suite import Totals
from support import sweeps
from support.docker import docker_client
from support.sweep_files import short_soak
from support.sweeps import SimulatedSweep

SETTINGS = load_settings(ENV_FILE, {"PARTIES": "2"})
PLACES = ["bridge", "Notary", "PartyA", "PartyB"]
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


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimulatedSweep:
    """A finished sweep that was not judged. There is no engine: a soak that is made ends with an error."""
    results, sweep = tmp_path / "results", SimulatedSweep(identity="20260102T030405Z-soak")
    sweeps.store_file(results, sweep, short_soak(tmp_path))
    counted = "place,at,live_bytes,problem\nPartyA,1790000000.0,2000,\n"
    (results / soak_suite.HEAPS).write_text(counted, encoding="ascii")
    monkeypatch.setattr(soak_suite, "RESULTS", results)
    monkeypatch.setattr(stored, "FOLDER", tmp_path / "docs" / "reliability")
    monkeypatch.setattr(stored, "DOCUMENT", tmp_path / "docs" / "reliability.md")
    monkeypatch.setattr(own_project, "lab_of", lambda *_: nullcontext(SETTINGS))

    def no_engine() -> None:
        raise LabError("there is no engine")

    monkeypatch.setattr(lifecycle, "prepare_engine", no_engine)
    return sweep


def test_a_finished_sweep_that_was_not_judged_is_judged_once(left: SimulatedSweep) -> None:
    audit = Audit(verdict="cannot tell", reasons=("PartyC could not be read",))
    (soak_suite.RESULTS / soak_suite.AUDIT).write_text(audit.model_dump_json(), encoding="utf-8")
    totals = Totals()
    soak_suite.run(totals, None)
    assert totals.failed > 0
    (file,) = stored.read_all()
    assert isinstance(file, SoakFile)
    assert file.run == left.identity
    assert "PartyC could not be read" in stored.DOCUMENT.read_text(encoding="utf-8")
    assert soak_suite.unjudged() is None


def test_a_sweep_whose_ledgers_nobody_has_audited_is_made_again(left: SimulatedSweep) -> None:
    """Its lab is gone, so nobody can say whether it lost anything."""
    totals = Totals()
    with pytest.raises(LabError, match="no engine"):
        soak_suite.run(totals, None)
    assert not soak_suite.RESULTS.exists()
    assert not stored.FOLDER.exists()


def test_a_soak_that_still_runs_is_left_alone(left: SimulatedSweep, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(*_: object) -> None:
        raise LabError("Another command is using this lab")

    monkeypatch.setattr(own_project, "lab_of", taken)
    with pytest.raises(LabError, match="Another command"):
        soak_suite.run(Totals(), None)
    assert soak_suite.unjudged() is not None
    assert (soak_suite.RESULTS / soak_suite.HEAPS).is_file()


def test_a_count_that_fails_in_an_unexpected_way_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak_suite, "HEAP_SECONDS", 0.01)

    def broken(*_: object) -> None:
        raise ValueError("not enough values to unpack")

    monkeypatch.setattr(jvm, "find", broken)
    file = tmp_path / "heaps.csv"
    with HeapWatch(SETTINGS, file).watching():
        deadline = time.monotonic() + 30
        while len(soak_suite.heaps_of(file).problems) < 2 * len(PLACES) and time.monotonic() < deadline:
            time.sleep(0.05)
    texts = {one.text for one in soak_suite.heaps_of(file).problems}
    assert texts == {"a defect of the lab: ValueError: not enough values to unpack"}
