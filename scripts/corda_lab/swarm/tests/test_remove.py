"""How a stack is removed, with a client that answers like a swarm. Real engines are in tests/swarm."""

from pathlib import Path

import pytest

from corda_lab import paths
from corda_lab.errors import LabError
from corda_lab.swarm import lifecycle
from corda_lab.swarm.folder import StackFolder
from support.docker import docker_client
from support.stacks import deployment

HOSTS = ["a", "b"]
CLIENT = """\
echo "$*" >> {home}/calls
case "$*" in
  "--context b "*) [ ! -e {home}/silent ] || {{ echo 'error during connect: refused' >&2; exit 1; }} ;;
esac
case "$*" in
  *"ps --all"*) [ ! -e {home}/left ] || echo lab-swarm_partya.1.x ;;
  "network ls --filter=label=com.docker.stack"*) echo lab-swarm_default ;;
  "network rm "*) : > {home}/gone ;;
  "network inspect "*) [ ! -e {home}/gone ] ;;
  "container inspect "*) exit 1 ;;
  *"volume ls --quiet --filter=label=com.docker.stack"*) echo lab-swarm_partya-persistence ;;
esac
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the client, which notes its calls there."""
    folder = tmp_path / "home"
    folder.mkdir()
    docker_client(tmp_path, monkeypatch, CLIENT.format(home=folder))
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    for name in ("GONE_POLL_SECONDS", "NETWORK_POLL_SECONDS"):
        monkeypatch.setattr(lifecycle, name, 0.01)
    return folder


def calls(home: Path, part: str) -> list[str]:
    return [line for line in (home / "calls").read_text().splitlines() if part in line]


def test_volumes_and_keys_are_kept_unless_they_are_to_be_deleted(home: Path) -> None:
    folder = StackFolder("lab-swarm")
    folder.note(deployment("one", ["a", "b"]))
    lifecycle.remove(folder, HOSTS, volumes=False)
    assert calls(home, "stack rm") == ["stack rm lab-swarm"]
    assert calls(home, "network rm") == ["network rm lab-swarm_default"]
    assert calls(home, "volume") == []
    assert not any("--volumes" in line for line in calls(home, " down "))
    assert folder.known() is not None


def test_volumes_of_every_host_and_of_the_manager_are_deleted(home: Path) -> None:
    folder = StackFolder("lab-swarm")
    folder.note(deployment("one", ["a", "b"]))
    lifecycle.remove(folder, HOSTS, volumes=True)
    deleted = sorted(calls(home, "volume rm"))
    assert deleted == [
        *(f"--context {name} volume rm --force lab-swarm_partya-persistence" for name in "ab"),
        "volume rm --force lab-swarm_partya-persistence",
    ]
    assert not folder.root.exists()


def test_a_host_that_is_not_reached_is_named_and_the_others_are_cleared(home: Path) -> None:
    (home / "silent").touch()
    folder = StackFolder("lab-swarm")
    folder.note(deployment("one", ["a", "b"]))
    with pytest.raises(LabError, match="b: its engine does not answer") as caught:
        lifecycle.remove(folder, HOSTS, volumes=True)
    assert len(caught.value.problems) == 1
    assert len(calls(home, "--context a volume rm")) == 1
    # Later, they can still be found there.
    assert folder.known() is not None


def test_containers_that_stay_are_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "GONE_SECONDS_MAX", 0.05)
    (home / "left").touch()
    with pytest.raises(LabError, match="still there: partya on a, partya on b"):
        lifecycle.remove(StackFolder("lab-swarm"), HOSTS, volumes=False)
