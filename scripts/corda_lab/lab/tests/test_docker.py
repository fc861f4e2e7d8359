"""Engines by their docker contexts: what is wrong if they say nothing, and what is asked once of each."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab import docker as docker_module
from corda_lab.lab.docker import Container, ask, docker, docker_to_file, inspect_all, on_each, outcomes, problems_of
from support.docker import docker_client

MISSING = 'Failed to initialize: unable to resolve docker endpoint: context "partya": context not found'
DENIED = "permission denied while trying to connect to the docker API at unix:///var/run/docker.sock"
SILENT = "error during connect: Get http://docker.example/v1.41/info: exit status 255: ssh: connect to host refused"


@pytest.mark.parametrize(
    ("said", "words", "remedy"),
    [
        (MISSING, "there is no docker context of this name", "docker context create partya"),
        (SILENT, "its engine does not answer: error during connect", "docker --context partya version"),
        (DENIED, "its engine does not answer: permission denied", "docker --context partya version"),
    ],
)
def test_an_engine_that_is_not_reached_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, words: str, remedy: str
) -> None:
    docker_client(tmp_path, monkeypatch, f"echo '{said}' >&2; exit 1")
    with pytest.raises(LabError, match=f"^partya: {words}") as caught:
        docker("info", on="partya")
    assert remedy in caught.value.remedy


def test_a_host_gets_no_more_than_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, "exec /bin/sleep 60")
    with pytest.raises(LabError, match=r"^partya: its engine did not answer within 0 s") as caught:
        docker("info", seconds_max=0.2, on="partya")
    assert "docker --context partya version" in caught.value.remedy
    monkeypatch.setattr(docker_module, "POLL_SECONDS_MAX", 0.2)
    with pytest.raises(LabError, match=r"^partya: its engine did not answer within 0 s"):
        inspect_all([Container("a", "partya")], "{{.State.Status}}")
    with pytest.raises(LabError, match=r"^`docker info` did not answer within 0 s"):
        docker("info", seconds_max=0.2)


def test_a_command_that_fails_is_shown_with_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, "echo 'no such volume' >&2; exit 1")
    with pytest.raises(LabError, match="partya: `docker volume rm x` failed: no such volume"):
        ask("volume", "rm", "x", on="partya")
    assert docker("volume", "rm", "x", on="partya").returncode == 1


def test_what_a_command_prints_can_go_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, 'echo "$@"; exit "$1"')
    docker_to_file(tmp_path / "text", "0", shown="docker 0")
    assert (tmp_path / "text").read_text() == "0\n"
    with pytest.raises(LabError, match="`docker 3` failed"):
        docker_to_file(tmp_path / "text", "3", shown="docker 3")


def test_what_is_wrong_with_any_host_is_said_at_once() -> None:
    def act(context: str) -> str:
        if context != "b":
            raise LabError(f"{context}: broken")
        return "fine"

    found = outcomes("abc", act)
    assert found["b"] == "fine"
    assert [problem.finding for problem in problems_of(found)] == ["a: broken", "c: broken"]
    with pytest.raises(LabError, match="a: broken\nc: broken"):
        on_each("abc", act)


def test_what_a_container_says_is_no_problem_of_its_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, "echo 'failed to connect to server: permission denied' >&2; exit 2")
    assert Container("db", "partya").inside("psql").returncode == 2


def test_containers_are_inspected_with_one_call_on_each_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = tmp_path / "calls"
    script = f"""echo "$@" >> {calls}
        case "$*" in
            *"b"*) echo "/x running 0" ;;
            *) echo "/x exited 1"; echo; echo "/y running 0" ;;
        esac"""
    docker_client(tmp_path, monkeypatch, script)
    there = "b"
    asked = [Container("x"), Container("gone"), Container("x", there), Container("y")]
    assert inspect_all(asked, "{{.State}}") == {
        Container("x"): "exited 1",
        Container("y"): "running 0",
        Container("x", there): "running 0",
    }
    form = "container inspect --format {{.Name}} {{.State}}"
    assert sorted(calls.read_text().splitlines()) == [f"--context b {form} x", f"{form} x gone y"]
