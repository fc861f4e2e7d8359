"""Where a sweep starts its labs, and what it may replace there."""

from pathlib import Path

import pytest

from corda_lab import paths
from corda_lab.errors import LabError
from corda_lab.lab import lifecycle, project
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.results import folders
from corda_lab.swarm import deployment
from corda_lab.swarm import lifecycle as swarm
from corda_lab.swarm.deployment import StackFolder
from corda_lab.sweeps import command, lab, store
from corda_lab.sweeps.command import SweepRequest
from corda_lab.sweeps.lab import Machine, Swarm
from support.docker import docker_client, listed
from support.stacks import deployment as record

SETTINGS = Settings(load_settings(ENV_FILE, {}).values, "lab")
DEPLOYED = record("three", {"locust": "one"})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StackFolder:
    """The folder of a stack that was deployed once."""
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(lifecycle, "require_engine", lambda: None)
    monkeypatch.setattr(lifecycle, "prepare_engine", lambda: None)
    found = StackFolder.of("lab")
    found.note(DEPLOYED)
    return found


def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, runs: bool = True, here: str = "") -> None:
    """An engine with the overlay of a stack, or without, and with containers of a lab on this machine."""
    (tmp_path / "bin").mkdir()
    overlay = "echo overlay-1" if runs else "false"
    script = f"case $1 in network) {overlay};; ps) printf '%s' '{here}';; esac"
    docker_client(tmp_path / "bin", monkeypatch, script)


def test_a_request_says_where() -> None:
    assert isinstance(SweepRequest("smoke").site, Machine)
    assert isinstance(SweepRequest("smoke", placement="three").site, Swarm)


def test_a_stack_of_a_person_is_not_replaced(
    folder: StackFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine(tmp_path, monkeypatch)
    with pytest.raises(LabError, match=r"stack lab-swarm .* already exists") as caught:
        Swarm(None, "three").require_replaceable(SETTINGS)
    assert "--on three --volumes" in caught.value.remedy
    Swarm(None, "three").mark(SETTINGS)
    assert project.marked(folder.stack) == "overlay-1"
    Swarm(None, "three").require_replaceable(SETTINGS)


def test_volumes_of_a_stack_that_was_stopped_may_be_a_ledger(
    folder: StackFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine(tmp_path, monkeypatch, runs=False)
    assert lab._stack_present(SETTINGS) == "volumes"
    with pytest.raises(LabError, match="already exists"):
        Swarm(None, "three").require_replaceable(SETTINGS)
    folder.forget()
    Swarm(None, "three").require_replaceable(SETTINGS)


@pytest.mark.usefixtures("folder")
def test_a_lab_on_this_machine_is_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine(tmp_path, monkeypatch, here=listed("partya", "running"))
    with pytest.raises(LabError, match="The lab lab is up on this machine"):
        Swarm(None, "three").require_alone(SETTINGS)


def test_a_stack_is_in_the_way_of_a_sweep_on_this_machine(monkeypatch: pytest.MonkeyPatch, folder: StackFolder) -> None:
    class Stack:
        project = folder.stack
        known = DEPLOYED

    monkeypatch.setattr(deployment, "find", lambda _: Stack())
    with pytest.raises(LabError, match="The stack lab-swarm is up") as caught:
        Machine(None).require_alone(SETTINGS)
    assert "`scripts/lab down --on three`" in caught.value.remedy


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize("placement", [None, "one-node-per-host"])
def test_a_sweep_that_may_replace_its_lab_does_not_begin_beside_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, resumed: bool, placement: str | None
) -> None:
    def found_elsewhere(site: object, _: object) -> None:
        raise LabError(f"{type(site).__name__}: another lab is up")

    monkeypatch.setattr(folders, "RESULTS", tmp_path / "results")
    for place in (Machine, Swarm):
        monkeypatch.setattr(place, "require_alone", found_elsewhere)
    request = SweepRequest("smoke", placement=placement, replace=True)
    if resumed:
        store.begin(command.read(request), SETTINGS, placement=placement)
    # One that is resumed goes on where it began.
    with pytest.raises(LabError, match=f"{'Machine' if placement is None else 'Swarm'}: another lab is up"):
        command.resume(SweepRequest(None, replace=True), SETTINGS) if resumed else command.begin(request, SETTINGS)
    assert len(folders.unfinished_sweeps()) == resumed


@pytest.mark.usefixtures("folder")
def test_each_lab_begins_on_empty_ledgers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine(tmp_path, monkeypatch)
    done: list[object] = []
    monkeypatch.setattr(swarm, "down", lambda _, name, **how: done.append(("down", name, how)))
    monkeypatch.setattr(swarm, "up", lambda _, name, images, **how: done.append(("up", name, images, how)))
    Swarm(None, "three").start(SETTINGS)
    starting = project.STARTING
    assert done == [
        ("down", "three", {"volumes": True, "mark": starting}),
        ("up", "three", None, {"mark": starting}),
    ]
