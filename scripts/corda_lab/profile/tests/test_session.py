"""One profile from its start to its files, in a container whose JVM answers as one does."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.profile.session import Reading, Session, flows_between, read_flows
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
    assert session.began_at is not None
    names = {path.name for path in tmp_path.iterdir()} - {"client"}
    assert names == {f"partya-cpu.{suffix}" for suffix in ("html", "collapsed", "json")}
    assert Profile.model_validate_json((tmp_path / "partya-cpu.json").read_text(encoding="utf-8")) == found
    seen = len(commands(log))
    session.abandon()
    assert len(commands(log)) == seen, "nothing is left to be done"


def test_a_profile_of_somebody_else_is_left_alone(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = jvm_client(tmp_path, monkeypatch, [("asprof start", "echo '[ERROR] Profiler already started' >&2; exit 1")])
    session = Session(JVM, Event.CPU, settings)
    with pytest.raises(LabError, match="another profile of it is running"):
        session.start(30)
    session.abandon()
    assert not [command for command in commands(log) if "stop" in command]


def test_an_abandoned_profile_is_stopped_once(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = jvm_client(tmp_path, monkeypatch)
    session = Session(JVM, Event.CPU, settings)
    session.start(30)
    session.abandon()
    session.abandon()
    assert "\n".join(commands(log)).count("stop -o collapsed -f /dev/null") == 1


def test_both_counters_are_read_from_the_page_of_a_node(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jvm_client(tmp_path, monkeypatch)
    reading = read_flows(JVM, settings)
    assert reading is not None
    assert (reading.started, reading.ended) == (142, 126)
    jvm_client(tmp_path, monkeypatch, [("dev/tcp", "echo nothing")])
    assert read_flows(JVM, settings) is None


def test_the_load_is_what_ended_between_two_readings() -> None:
    flows = flows_between(Reading(100.0, 10, 8), Reading(110.0, 35, 33))
    assert flows is not None
    assert (flows.ended, flows.started, flows.per_second, flows.is_idle) == (25, 25, 2.5, False)


def test_the_load_is_unknown_without_counters_and_after_a_restart() -> None:
    reading = Reading(100.0, 10, 8)
    assert flows_between(None, reading) is None
    assert flows_between(reading, None) is None
    assert flows_between(reading, Reading(110.0, 3, 2)) is None
