"""Which steps of a run the ledgers of a network can have. What is read of them needs databases (``tests/e2e``)."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from corda_lab.audit import command, databases
from corda_lab.audit.command import audit_lab
from corda_lab.audit.model import Load, Request, Window
from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import Container
from corda_lab.lab.lab import Service
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.results.audits import Audit, Verdict, Violation, ViolationKind

SETTINGS = load_settings(ENV_FILE, {"COMPOSE_PROJECT_NAME": "my-lab", "PARTIES": "2"})
OLD, NEW = (
    Load(Window(since, since + 10), (Request(f"run-{since:.0f}", "PartyA", "acknowledged", "flow", "AB"),))
    for since in (100.0, 200.0)
)
DOUBLED = Violation(kind=ViolationKind.DOUBLED, ids=("AB",), text="twice")


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch, stored_run: Callable[..., Path]) -> Callable[[float, Audit], Audit]:
    """Audit a run of an older and a newer step on a network that was made at a time, with what is then found."""

    def audit(created_at: float, found: Audit) -> Audit:
        monkeypatch.setattr(databases, "network_created_at", lambda _compose: created_at)
        monkeypatch.setattr(command, "loads_of", lambda *_, **__: (OLD, NEW))
        monkeypatch.setattr(command, "_audit", lambda *_, **__: found)
        return audit_lab(Compose(SETTINGS), stored_run())

    return audit


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (Audit(verdict="passed"), "cannot tell"),
        (Audit(verdict="violations", violations=(DOUBLED,)), "violations"),
    ],
)
def test_steps_that_are_older_than_the_network_are_left_out(
    judged: Callable[[float, Audit], Audit], found: Audit, verdict: Verdict
) -> None:
    """Every repeat of a sweep starts a new lab: only the last steps are still on its ledgers."""
    told = judged(150.0, found)
    assert (told.verdict, told.violations) == (verdict, found.violations)
    assert told.reasons == ("of 2 steps, 1 are older than the network",)


def test_a_network_that_was_made_again_cannot_tell_of_an_older_run(judged: Callable[[float, Audit], Audit]) -> None:
    told = judged(300.0, Audit(verdict="passed"))
    assert told.verdict == "cannot tell"
    assert "newer than the run" in told.reasons[0]


def test_a_network_that_was_only_bootstrapped_again_has_the_run(judged: Callable[[float, Audit], Audit]) -> None:
    """Another preset, or more parties: the ledgers are kept, and so is the time at which the network was made."""
    passed = Audit(verdict="passed")
    assert judged(50.0, passed) == passed


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Compose:
    compose = Compose(SETTINGS)
    monkeypatch.setattr(compose, "services", lambda: [Service("partya", Container("my-lab-partya-1"), "exited", "", 0)])
    return compose


def test_the_time_of_a_network_is_read_from_its_volume(lab: Compose, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def stat(*arguments: str, **_: object) -> subprocess.CompletedProcess[str]:
        asked.extend(arguments)
        return subprocess.CompletedProcess(arguments, 0, "1700000000\n", "")

    monkeypatch.setattr(databases, "docker", stat)
    assert databases.network_created_at(lab) == 1_700_000_000.0
    assert "--volume=my-lab_network:/network:ro" in asked
    assert asked[-3:] == ["my-lab/node:4.10", "--format=%Y", "/network/network-parameters"]


def test_a_network_without_the_file_or_a_lab_is_an_error(lab: Compose, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = subprocess.CompletedProcess([], 1, "", "stat: cannot statx '/network/network-parameters'")
    monkeypatch.setattr(databases, "docker", lambda *_, **__: wrong)
    with pytest.raises(LabError, match="when the network was made cannot be read: stat: cannot statx"):
        databases.network_created_at(lab)
    monkeypatch.setattr(lab, "services", list)
    with pytest.raises(LabError, match="no lab to audit"):
        databases.network_created_at(lab)
