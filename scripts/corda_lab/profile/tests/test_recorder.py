"""Recordings of Flight Recorder: bounded, moved out of the container, and refused where there can be none."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.engine import Container
from corda_lab.profile import recorder
from corda_lab.profile.jvm import Jvm
from support.profiler import JVM, commands, jvm_client

FOLDER = "/opt/corda/persistence/base/tmp/lab-recording"
REMOVED = f"rm -rf {FOLDER}"


def test_a_recording_has_a_limit_in_size_and_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = jvm_client(tmp_path, monkeypatch)
    recorder.start(JVM, "lab-x", 30)
    assert commands(log)[-1] == (
        "/network/bin/asprof jcmd 17 JFR.start name=lab-x settings=profile duration=90s maxsize=67108864 "
        f"filename={FOLDER}/lab-x.jfr"
    )


def test_the_file_is_moved_out_of_the_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = jvm_client(tmp_path, monkeypatch)
    recorder.stop(JVM, "lab-x")
    assert recorder.fetch(JVM, "lab-x", tmp_path / "x.jfr") == 5
    assert (tmp_path / "x.jfr").read_bytes() == b"bytes"
    assert commands(log)[0] == "/network/bin/asprof jcmd 17 JFR.stop name=lab-x"
    assert commands(log)[-1] == REMOVED


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("java.lang.IllegalArgumentException: Unknown diagnostic command", "Unknown diagnostic command"),
        ("Flight Recorder is disabled.", "Flight Recorder is disabled."),
    ],
)
def test_a_jvm_without_flight_recorder_is_one_error_with_its_words(
    said: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = jvm_client(tmp_path, monkeypatch, [("JFR.start", f"echo JVM response code = 0; echo '{said}'")])
    with pytest.raises(LabError) as raised:
        recorder.start(JVM, "lab-x", 30)
    assert raised.value.message.startswith("PartyA: its JVM does not start Flight Recorder, and says: ")
    assert words in raised.value.message
    assert "response code" not in raised.value.message
    assert commands(log)[-1] == REMOVED


def test_a_recording_that_was_not_written_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = jvm_client(tmp_path, monkeypatch, [("stat -c %s", "exit 1")])
    with pytest.raises(LabError, match=r"^PartyA: Flight Recorder has written no recording$"):
        recorder.fetch(JVM, "lab-x", tmp_path / "x.jfr")
    assert commands(log)[-1] == REMOVED
    assert not (tmp_path / "x.jfr").exists()


def test_the_first_recording_of_a_jvm_is_made_and_thrown_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = jvm_client(tmp_path, monkeypatch)
    recorder.warm_up(JVM)
    assert commands(log)[-2:] == ["/network/bin/asprof jcmd 17 JFR.stop name=lab-warm-up", REMOVED]


def test_the_bridge_has_no_disk_for_a_recording() -> None:
    with pytest.raises(LabError, match=r"^--jfr: the bridge has no disk of its own"):
        recorder.require_possible(Jvm("bridge", Container("lab-bridge-1"), 1, "4.3"), "--jfr")
