"""How a stack is handed to Swarm, with a client that answers like one. Real engines are in tests/swarm."""

from pathlib import Path

import pytest

from corda_lab import paths
from corda_lab.errors import LabError
from corda_lab.swarm import deploy
from corda_lab.swarm.deploy import command, write
from corda_lab.swarm.folder import StackFolder
from corda_lab.swarm.stack import Stack
from support.docker import docker_client, stack_task

STACK = Stack(
    "lab-swarm",
    {
        "services": {"partya": {"image": "r/node:1"}},
        "secrets": {"lab-keys-2": {}},
        "configs": {"lab-info-1": {}},
    },
    (),
)
CLIENT = """\
echo "$*" >> {home}/calls
case "$*" in
  "stack deploy "*) [ ! -e {home}/refused ] || {{ echo 'invalid mount' >&2; exit 1; }} ;;
  "stack ps "*) /bin/cat {home}/tasks ;;
  "service update "*) /bin/cp {home}/running {home}/tasks ;;
  "service logs "*) echo 'run-corda: /node/node.conf does not exist' ;;
  "secret ls "*) echo lab-keys-1; echo lab-keys-2 ;;
  "config ls "*) echo lab-info-1 ;;
esac
"""


class Swarm:
    """A client that knows one service, and the calls that it got."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "running").write_text(self._task("Running"))

    def _task(self, state: str, trouble: str = "") -> str:
        return stack_task("lab-swarm_partya", "t1", f"{state} 3 seconds ago", host="h1", trouble=trouble)

    def has(self, state: str, trouble: str = "") -> None:
        """Let the service have a task in this state."""
        (self.home / "tasks").write_text(self._task(state, trouble))

    def calls(self, beginning: str) -> list[str]:
        lines = (self.home / "calls").read_text().splitlines()
        return [line for line in lines if line.startswith(beginning)]


@pytest.fixture
def swarm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Swarm:
    home = tmp_path / "home"
    home.mkdir()
    docker_client(tmp_path, monkeypatch, CLIENT.format(home=home))
    monkeypatch.setattr(deploy, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(deploy, "SETTLED_SECONDS", 0.0)
    return Swarm(home)


def test_the_file_is_written_and_the_command_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    file = write(STACK, StackFolder("lab-swarm"))
    assert file.read_text(encoding="utf-8") == STACK.text
    shown = capsys.readouterr().out
    assert f"docker stack deploy --prune --with-registry-auth --compose-file {file} lab-swarm" in shown


def test_a_stack_is_deployed_when_its_services_run(swarm: Swarm) -> None:
    swarm.has("Running")
    deploy.deploy(STACK, Path("/stack.yaml"))
    assert swarm.calls("stack deploy") == [" ".join(command(STACK, Path("/stack.yaml")))]
    assert swarm.calls("service update") == []


def test_keys_of_earlier_forms_are_deleted(swarm: Swarm) -> None:
    swarm.has("Running")
    deploy.deploy(STACK, Path("/stack.yaml"))
    assert swarm.calls("secret rm") == ["secret rm lab-keys-1"]
    assert swarm.calls("config rm") == []


def test_a_service_that_has_ended_is_started_again(swarm: Swarm) -> None:
    swarm.has("Failed", "task: non-zero exit (143)")
    deploy.deploy(STACK, Path("/stack.yaml"))
    assert len(swarm.calls("service update --detach --force")) == 1


def test_a_service_that_ends_while_it_starts_is_named_with_its_last_lines(
    swarm: Swarm, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(deploy, "ENDED_SECONDS_MAX", 0.0)
    swarm.has("Failed", "task: non-zero exit (2)")
    (swarm.home / "running").write_text((swarm.home / "tasks").read_text())
    with pytest.raises(LabError, match=r"did not start: partya: task: non-zero exit \(2\)") as caught:
        deploy.deploy(STACK, Path("/stack.yaml"))
    assert "docker service logs lab-swarm_partya" in caught.value.remedy
    assert "| run-corda: /node/node.conf does not exist" in capsys.readouterr().out


def test_a_start_has_a_limit(swarm: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deploy, "READY_SECONDS_MAX", 0.1)
    swarm.has("Starting")
    with pytest.raises(LabError, match="not ready within 0 s: starting: partya"):
        deploy.deploy(STACK, Path("/stack.yaml"))


def test_a_file_that_swarm_refuses_is_an_error_with_its_words(swarm: Swarm) -> None:
    (swarm.home / "refused").touch()
    with pytest.raises(LabError, match="`docker stack deploy` failed: invalid mount"):
        deploy.deploy(STACK, Path("/stack.yaml"))
