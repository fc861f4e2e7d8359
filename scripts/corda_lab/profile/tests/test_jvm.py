"""Which JVM is profiled, and every way in which that fails: one clear error with its remedy."""

from pathlib import Path

import pytest

from corda_lab.errors import BAD_INPUT, LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import Container
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.profile import jvm
from corda_lab.profile.jvm import Jvm
from corda_lab.results.profiles import Event
from support.docker import docker_client, listed

JVM = Jvm("PartyA", Container("lab-partya-1"), 1, "4.3")


@pytest.fixture
def settings() -> Settings:
    return load_settings(environment={})


def docker(folder: Path, monkeypatch: pytest.MonkeyPatch, *, state: str = "running", code: int = 0, run: str) -> None:
    """A Docker client that knows one node. In its container, every command does ``run``."""
    script = f"""case "$1" in
ps) echo '{listed("partya", state, exit_code=code)}' ;;
exec) {run} ;;
esac"""
    docker_client(folder, monkeypatch, script)


def test_a_node_is_found_ignoring_case_and_the_bridge_is_one_of_them(settings: Settings) -> None:
    assert jvm.find_name("PARTYA", settings) == "PartyA"
    assert jvm.find_name("Bridge", settings) == "bridge"
    with pytest.raises(LabError) as raised:
        jvm.find_name("PartyZ", settings.with_values({"PARTIES": "2", "NOTARY": "raft"}))
    assert raised.value.message == "NODE: unknown node 'PartyZ', did you mean 'PartyB'?"
    assert raised.value.remedy == "Choose from Notary, Notary2, Notary3, PartyA, PartyB, bridge."


def test_the_jvm_of_a_node_is_found_in_its_container(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker(tmp_path, monkeypatch, run="echo Async-profiler 4.3 built on Jan 13 2026; echo /proc/17/cmdline")
    assert jvm.find("PartyA", Compose(settings)) == Jvm("PartyA", Container("lab-partya-1"), 17, "4.3")


def test_a_lab_that_is_not_up_is_one_error(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, "true")
    with pytest.raises(LabError, match="The lab is not up") as raised:
        jvm.find("PartyA", Compose(settings))
    assert "scripts/lab up" in raised.value.remedy


@pytest.mark.parametrize(
    ("node", "state", "code", "words"),
    [
        ("PartyA", "exited", 137, "PartyA is not running: exited with 137"),
        ("PartyB", "running", 0, "PartyB is not running: not started"),
    ],
)
def test_a_node_that_is_not_running_is_one_error_with_its_state(
    node: str, state: str, code: int, words: str, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker(tmp_path, monkeypatch, state=state, code=code, run="exit 1")
    with pytest.raises(LabError) as raised:
        jvm.find(node, Compose(settings))
    assert raised.value.message == words


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("echo missing", "PartyA has no async-profiler in its container"),
        ("echo Async-profiler 4.3", "PartyA: there is no Java process in its container"),
        ("echo container is paused >&2; exit 1", "PartyA: the container does not answer: container is paused"),
    ],
)
def test_a_container_without_a_profiler_or_a_jvm_is_one_error(
    run: str, words: str, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker(tmp_path, monkeypatch, run=run)
    with pytest.raises(LabError) as raised:
        jvm.find("PartyA", Compose(settings))
    assert raised.value.message == words


@pytest.mark.parametrize(
    ("said", "words", "code"),
    [
        ("[ERROR] Profiler already started", "PartyA: another profile of it is running", BAD_INPUT),
        (
            "[ERROR] No AllocTracer symbols found. Are JDK debug symbols installed?",
            "PartyA: its allocations cannot be profiled, because its JVM's library has no symbols",
            BAD_INPUT,
        ),
        ("Error response from daemon: container 17 is not running", "PartyA ended while it was profiled", 1),
        ("Process not found", "PartyA ended while it was profiled", 1),
        (
            "[ERROR] Something new",
            "PartyA: async-profiler refused `start --event alloc --threads --timeout 65`: Something new",
            1,
        ),
    ],
)
def test_what_async_profiler_refuses_is_one_error(
    said: str, words: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker(tmp_path, monkeypatch, run=f"echo '{said}' >&2; exit 1")
    with pytest.raises(LabError) as raised:
        JVM.start(Event.ALLOC, 5)
    assert (raised.value.message, raised.value.exit_code) == (words, code)
    assert raised.value.remedy
