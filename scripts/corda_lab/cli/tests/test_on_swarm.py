"""``--on PLACEMENT``: what is wrong before any host is asked."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from corda_lab import paths
from corda_lab.cli import start
from corda_lab.cli.verbs import app
from corda_lab.errors import LabError
from corda_lab.faults import inject
from corda_lab.host import engine
from corda_lab.lab import lifecycle as machine
from corda_lab.lab import lock, project
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.runs import leftovers
from corda_lab.swarm import deployment, lifecycle
from corda_lab.swarm.deployment import StackFolder
from corda_lab.swarm.hosts import Member
from support.docker import docker_client, stack_task
from support.stacks import deployment as record


@pytest.mark.parametrize("words", ["quickstart", "reproduce iitb-latency --quick", "reproduce all"])
def test_what_uses_this_machine_refuses_a_stack(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    monkeypatch.setattr(project, "settle", lambda: None)
    monkeypatch.setattr(lock, "held", lambda _: nullcontext())
    monkeypatch.setattr(deployment, "find", lambda _: SimpleNamespace(project="lab-swarm", known=DEPLOYED))
    with pytest.raises(LabError, match="The stack lab-swarm is up, but this command uses this machine") as caught:
        app(words.split(), standalone_mode=False)
    assert "`scripts/lab down --on three`" in caught.value.remedy


DEPLOYED = record("three")


@pytest.fixture
def done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What `up` and `down` do, one after another, on a stack that was deployed once and is no longer known to run."""
    found: list[str] = []
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    settings = load_settings()
    monkeypatch.setattr(start, "load_settings", lambda: settings)
    monkeypatch.setattr(project, "settle", lambda: None)
    monkeypatch.setattr(lock, "held", lambda _: nullcontext())
    monkeypatch.setattr(machine, "require_engine", lambda: None)
    monkeypatch.setattr(machine, "print_urls", lambda _: None)
    monkeypatch.setattr(leftovers, "stop_loads", lambda one: found.append(f"stop loads of {one.project}"))
    monkeypatch.setattr(leftovers, "collect", lambda one: found.append(f"collect {one.project}"))
    monkeypatch.setattr(inject, "heal_left", lambda name: found.append(f"heal {name}"))
    monkeypatch.setattr(lifecycle, "down", lambda *_, volumes: found.append(f"down {volumes}"))
    monkeypatch.setattr(lifecycle, "up", lambda *_: found.append("up"))
    folder = StackFolder.of(settings.project)
    folder.note(DEPLOYED)
    assert deployment.find(settings) is None
    return found


@pytest.mark.parametrize("volumes", [False, True])
def test_rows_are_collected_before_a_stack_is_stopped_even_if_its_start_has_failed(
    done: list[str], *, volumes: bool
) -> None:
    start.down(volumes=volumes, stop_engine=False, placement="three")
    assert done == [f"collect {load_settings().project}-swarm", f"down {volumes}"]


def test_what_is_left_of_faults_is_healed_before_a_stack_starts_or_stops(
    done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = deployment.former(load_settings())
    assert found is not None
    monkeypatch.setattr(deployment, "find", lambda _: found)
    monkeypatch.setattr(inject, "is_left", lambda _: True)
    start.up(placement="three")
    assert done[0] == f"heal {found.project}"

    def lost(_: str) -> None:
        raise LabError("one: its engine does not answer")

    done.clear()
    monkeypatch.setattr(inject, "heal_left", lost)
    start.down(volumes=False, stop_engine=False, placement="three")
    assert done == [f"collect {found.project}", "down False"]


def member(host: str) -> Member:
    labels = {"corda-lab.host": host} if host else {}
    return Member(f"id-{host}", host, "192.0.2.1", "ready", "active", labels, 4.0, 1)


def test_a_stack_is_removed_from_where_it_was_started_and_from_where_its_placement_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    folder = StackFolder("lab-swarm")
    assert lifecycle.hosts_left(folder, "generator-apart", []) == []
    folder.note(DEPLOYED.model_copy(update={"hosts": ["gone", "generator"]}))
    known = [member("generator"), member("network"), member("")]
    assert lifecycle.hosts_left(folder, "generator-apart", known) == ["gone", "generator", "network"]


def test_the_status_of_a_stack_is_that_of_its_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(
        tmp_path,
        monkeypatch,
        """case "$*" in
          "service ls "*) echo lab-swarm_partya ;;
          "service inspect "*) printf 'lab-swarm_partya\\t\\n' ;;
          "stack ps "*) echo '"""
        + stack_task("lab-swarm_partya", "t1", "Failed 2 minutes ago", host="h1", trouble="exit 2")
        + """' ;;
        esac""",
    )
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(engine, "probe", lambda: SimpleNamespace(state=engine.EngineState.READY))
    settings = load_settings(ENV_FILE, {"COMPOSE_PROJECT_NAME": "lab"})
    StackFolder.of("lab").note(DEPLOYED)
    state = start.gather(settings)
    assert (state.ready, state.project) == (False, "lab-swarm")
    assert state.services == {"partya": "failed on h1: exit 2"}
    assert state.nodes == ()
