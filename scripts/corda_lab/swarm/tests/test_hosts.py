"""Engines of other hosts, by their docker contexts: what they say, and what is wrong if they say nothing."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.swarm.hosts import Host, on_each, outcomes, parse_facts, problems_of
from corda_lab.testing.docker import docker_client

INFO = """\
{"ServerVersion": "20.10.24", "NCPU": 4, "MemTotal": 8589934592, "Architecture": "x86_64",
 "SystemTime": "2026-11-26T02:00:00.123456789Z", "Swarm": {"NodeID": "abc", "LocalNodeState": "active"}}"""
MISSING = 'Failed to initialize: unable to resolve docker endpoint: context "partya": context not found'
SILENT = "error during connect: Get http://docker.example/v1.41/info: exit status 255: ssh: connect to host refused"


def test_an_engine_says_what_it_is_and_what_time_it_has() -> None:
    noon = 1795658400.0
    facts = parse_facts(INFO, noon - 0.1, noon + 0.3)
    assert (facts.version, facts.node, facts.cores, facts.memory) == ("20.10.24", "abc", 4, 8 * 1024**3)
    assert facts.clock.offset_seconds == pytest.approx(0.023456, abs=1e-5)
    assert facts.clock.error_seconds == pytest.approx(0.2)


@pytest.mark.parametrize(
    "time_text", ["2026-11-26T02:00:00.12Z", "2026-11-26T02:00:00Z", "2026-11-26T04:00:00.1+02:00"]
)
def test_a_time_of_fewer_digits_or_another_zone_is_read(time_text: str) -> None:
    facts = parse_facts(INFO.replace("2026-11-26T02:00:00.123456789Z", time_text), 1795658400.0, 1795658400.0)
    assert abs(facts.clock.offset_seconds) < 0.2


def test_a_command_runs_on_the_context_of_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, 'echo "$@"')
    assert Host("partya").checked("volume", "ls") == "--context partya volume ls\n"


def test_a_missing_context_is_named_with_the_command_that_creates_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker_client(tmp_path, monkeypatch, f"echo '{MISSING}' >&2; exit 1")
    with pytest.raises(LabError, match="partya: there is no docker context of this name") as caught:
        Host("partya").run("info")
    assert "docker context create partya" in caught.value.remedy


def test_an_engine_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, f"echo '{SILENT}' >&2; exit 1")
    with pytest.raises(LabError, match="partya: its engine does not answer: error during connect"):
        Host("partya").run("info")


def test_a_host_gets_no_more_than_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, "exec /bin/sleep 60")
    with pytest.raises(LabError, match="did not answer within 0 s"):
        Host("partya").run("info", seconds_max=0.2)


def test_a_command_that_fails_is_shown_with_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, "echo 'no such volume' >&2; exit 1")
    with pytest.raises(LabError, match="partya: `docker volume rm x` failed: no such volume"):
        Host("partya").checked("volume", "rm", "x")
    assert Host("partya").run("volume", "rm", "x").returncode == 1


def test_what_is_wrong_with_any_host_is_said_at_once() -> None:
    def act(host: Host) -> str:
        if host.name != "b":
            raise LabError(f"{host.name}: broken")
        return "fine"

    hosts = [Host("a"), Host("b"), Host("c")]
    found = outcomes(hosts, act)
    assert found["b"] == "fine"
    assert [problem.finding for problem in problems_of(found)] == ["a: broken", "c: broken"]
    with pytest.raises(LabError, match="a: broken\nc: broken"):
        on_each(hosts, act)
