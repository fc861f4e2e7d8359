"""``--on swarm``: what is wrong before any host is asked."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from corda_lab import paths
from corda_lab.cli import lab, status
from corda_lab.cli.app import app
from corda_lab.cli.options import Where
from corda_lab.errors import LabError
from corda_lab.lab import lock, project
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.swarm import deployment, lifecycle
from corda_lab.swarm.folder import StackFolder
from corda_lab.swarm.members import Member
from corda_lab.testing.docker import docker_client


def test_a_lab_on_several_hosts_needs_a_placement() -> None:
    with pytest.raises(LabError, match="--placement: is missing") as caught:
        lab.examine(Where.SWARM, None)
    assert "one-node-per-host" in caught.value.remedy


def test_a_placement_is_not_for_one_machine() -> None:
    with pytest.raises(LabError, match="--placement: is for the lab on several hosts"):
        lab.examine(Where.MACHINE, "one-node-per-host")


@pytest.mark.parametrize(
    "words",
    [
        *("bench peers", "bench bridge", "bench overhead", "bench overload", "bench stages", "bench repeats"),
        *("bench kills", "quickstart", "reproduce iitb-latency --quick", "reproduce --all"),
    ],
)
def test_what_uses_this_machine_refuses_a_stack(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    monkeypatch.setattr(project, "settle", lambda: None)
    monkeypatch.setattr(lock, "held", lambda _: nullcontext())
    monkeypatch.setattr(deployment, "find", lambda _: SimpleNamespace(project="lab-swarm"))
    with pytest.raises(LabError, match="The stack lab-swarm is up, but this command uses this machine") as caught:
        app(words.split(), standalone_mode=False)
    assert "`scripts/lab down --on swarm`" in caught.value.remedy


def member(host: str) -> Member:
    labels = {"corda-lab.host": host} if host else {}
    return Member(f"id-{host}", host, "192.0.2.1", "ready", "active", labels, "28.2.2", 4.0, 1)


def test_a_stack_is_removed_from_where_it_was_started_and_from_where_its_placement_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    folder = StackFolder("lab-swarm")
    with pytest.raises(LabError, match="not known on which hosts the stack lab-swarm is"):
        lifecycle.hosts_left(folder, None, [])
    folder.record("old", ["gone", "generator"])
    assert [host.name for host in lifecycle.hosts_left(folder, None, [])] == ["gone", "generator"]
    known = [member("generator"), member("network"), member("")]
    found = lifecycle.hosts_left(folder, "generator-apart", known)
    assert [host.name for host in found] == ["gone", "generator", "network"]


def test_the_status_of_a_stack_is_that_of_its_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = (
        '[{"ID": "n1", "Spec": {"Availability": "active"}, "Description": {"Hostname": "h1"},'
        ' "Status": {"State": "ready"}}]'
    )
    service = '[{"ID": "s1", "Spec": {"Name": "lab-swarm_partya", "TaskTemplate": {"ContainerSpec": {"Image": "x"}}}}]'
    task = (
        '[{"ID": "t1", "ServiceID": "s1", "NodeID": "n1", "CreatedAt": "1", "DesiredState": "shutdown",'
        ' "Spec": {"ContainerSpec": {"Image": "x"}}, "Status": {"State": "failed", "Err": "exit 2"}}]'
    )
    docker_client(
        tmp_path,
        monkeypatch,
        f"""case "$*" in
          "node ls "*) echo n1 ;;
          "node inspect "*) echo '{node}' ;;
          "service ls "*) echo s1 ;;
          "inspect --type=service "*) echo '{service}' ;;
          "stack ps "*) echo t1 ;;
          "inspect "*) echo '{task}' ;;
        esac""",
    )
    settings = load_settings(ENV_FILE, {"COMPOSE_PROJECT_NAME": "lab"})
    state = status.gather_stack(settings)
    assert (state.ready, state.project) == (False, "lab-swarm")
    assert state.services == {"partya": "failed on h1: exit 2"}
    assert state.nodes == {}
