"""One profile from its start to its files, in a container whose JVM answers as one does."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.profile.jvm import AlreadyProfiledError
from corda_lab.profile.session import Session
from corda_lab.results.profiles import Event, Profile
from support.profiler import JVM, commands, jvm_client


@pytest.fixture
def settings() -> Settings:
    return load_settings(environment={})


def taken(session: Session, folder: Path) -> Profile:
    session.start(30)
    session.stop()
    return session.store(folder, "partya-cpu")


def test_a_profile_is_stored_with_its_components(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = jvm_client(tmp_path, monkeypatch)
    session = Session(JVM, Event.CPU, settings)
    found = taken(session, tmp_path)
    assert [(one.name, one.share_percent) for one in found.components] == [("H2", 100.0)]
    assert found.flows is not None
    assert found.flows.is_idle
    assert found.recording_bytes is None
    assert session.began_at is not None
    names = {path.name for path in tmp_path.iterdir()} - {"client"}
    assert names == {f"partya-cpu.{suffix}" for suffix in ("html", "collapsed", "md", "json")}
    assert Profile.model_validate_json((tmp_path / "partya-cpu.json").read_text(encoding="utf-8")) == found
    seen = len(commands(log))
    session.abandon()
    assert len(commands(log)) == seen, "nothing is left to be done"


def test_a_recording_is_made_from_before_the_first_sample_until_after_the_last(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = jvm_client(tmp_path, monkeypatch)
    found = taken(Session(JVM, Event.CPU, settings, "lab-x"), tmp_path)
    assert found.recording_bytes == 5
    assert (tmp_path / "partya-cpu.jfr").read_bytes() == b"bytes"
    actions = ("JFR.start", "asprof start", "asprof stop", "JFR.stop")
    order = [action for command in commands(log) for action in actions if action in command]
    assert order == list(actions)


def test_a_profile_is_kept_if_only_its_recording_fails(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jvm_client(tmp_path, monkeypatch, [("stat -c %s", "exit 1")])
    with pytest.raises(LabError, match="has written no recording"):
        taken(Session(JVM, Event.CPU, settings, "lab-x"), tmp_path)
    assert (tmp_path / "partya-cpu.html").is_file()
    assert not (tmp_path / "partya-cpu.jfr").exists()


def test_nothing_is_recorded_of_a_jvm_that_somebody_else_profiles(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = jvm_client(tmp_path, monkeypatch, [("asprof status", "echo Profiling is running for 7 seconds")])
    session = Session(JVM, Event.CPU, settings, "lab-x")
    with pytest.raises(AlreadyProfiledError):
        session.start(30)
    session.abandon()
    assert [command for command in commands(log) if "status" not in command] == []


def test_an_abandoned_profile_is_stopped_with_its_recording(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = jvm_client(tmp_path, monkeypatch)
    session = Session(JVM, Event.CPU, settings, "lab-x")
    session.start(30)
    session.abandon()
    session.abandon()
    text = "\n".join(commands(log))
    assert text.count("JFR.stop name=lab-x") == 1
    assert text.count("stop -o collapsed -f /dev/null") == 1
    assert "rm -rf /opt/corda/persistence/base/tmp/lab-recording" in text
