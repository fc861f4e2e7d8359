"""Whether a node ended, and why: from its container and its log. Docker is a small program here."""

from pathlib import Path

import pytest

from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.runs import broken
from support.docker import docker_client, listed

SINCE = 1_767_323_045.0
HEAP = "#  java.lang.OutOfMemoryError: Java heap space\\n# and more"


def service(name: str, state: str = "running", exit_code: int = 0) -> str:
    return listed(name, state, exit_code=exit_code)


def lab_with(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *services: str,
    log: str = "",
    killed: str = "false",
    ended_at: str = "2026-01-02T03:04:09.123456789Z",
) -> Compose:
    """The project of a lab with some containers. PartyB has the log, and was killed for its memory or not."""
    lines = "\n".join(services)
    script = f"""\
echo "$@" >> "${{0%/*}}/calls"
case "$*" in
"ps "*{{{{.Status}}}}*) echo '{lines}' ;;
"logs "*" lab-partyb-1") printf '%b' '{log}' ;;
*OOMKilled*" lab-partyb-1") echo 0 {killed} {ended_at} {ended_at} ;;
*OOMKilled*) echo 0 false {ended_at} {ended_at} ;;
esac
exit 0"""
    docker_client(folder, monkeypatch, script)
    return Compose(load_settings(ENV_FILE, {"PARTIES": "2"}))


ALIVE = (service("notary"), service("partya"), service("bridge", "exited", 1))


@pytest.mark.parametrize(
    ("party_b", "log", "killed", "reason"),
    [
        (service("partyb"), "", "false", None),
        (service("partyb", "exited", 0), "", "false", "PartyB ended with exit status 0"),
        (
            service("partyb", "exited", 134),
            HEAP,
            "false",
            "PartyB ended with exit status 134 (java.lang.OutOfMemoryError: Java heap space)",
        ),
        (
            service("partyb", "exited", 137),
            "",
            "true",
            "PartyB ended with exit status 137 (its container reached its memory limit)",
        ),
        (service("partyb"), HEAP, "false", "PartyB exhausted its heap (java.lang.OutOfMemoryError: Java heap space)"),
    ],
)
def test_a_node_that_ended_or_has_no_heap_left_is_named_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, party_b: str, log: str, killed: str, reason: str | None
) -> None:
    compose = lab_with(tmp_path, monkeypatch, *ALIVE, party_b, log=log, killed=killed)
    assert broken.why_broken(compose, SINCE) == reason
    calls = (tmp_path / "calls").read_text(encoding="utf-8")
    assert "--since 2026-01-02T03:04:05.000+00:00 lab-partya-1" in calls


def test_every_node_that_ended_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = (service("partya", "exited", 1), service("partyb", "exited", 137))
    compose = lab_with(tmp_path, monkeypatch, service("notary"), *ended)
    assert broken.why_broken(compose, SINCE) == (
        "PartyA ended with exit status 1 and PartyB ended with exit status 137 (ended by SIGKILL)"
    )


def test_a_node_that_ended_before_is_that_of_an_earlier_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = (service("notary"), service("partya", "exited", 134), service("partyb"))
    compose = lab_with(tmp_path, monkeypatch, *nodes, ended_at="2026-01-02T03:04:04.999999999Z")
    assert broken.why_broken(compose, SINCE) is None
    assert broken.why_broken(compose, SINCE - 1) == "PartyA ended with exit status 134"


@pytest.mark.parametrize(
    ("log", "found"),
    [
        ("all is well", None),
        ("Caused by: java.lang.OutOfMemoryError", "java.lang.OutOfMemoryError"),
        ("x java.lang.OutOfMemoryError: Metaspace \nand on", "java.lang.OutOfMemoryError: Metaspace"),
    ],
)
def test_the_first_memory_error_of_a_log_is_found(log: str, found: str | None) -> None:
    assert broken.memory_error(log) == found
