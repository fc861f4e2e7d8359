"""What Compose prints, and what is made of it."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab import compose
from corda_lab.lab.compose import Compose, lab_environment
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from support.docker import docker_client

SERVICES = """\
corda-lab-bridge-1\trunning\tUp 5 minutes (healthy)\tbridge
corda-lab-bootstrap-1\texited\tExited (0) 5 minutes ago\tbootstrap
corda-lab-partya-1\texited\tExited (137) 2 seconds ago\tpartya
corda-lab-postgres-1\texited\tExited (0) 2 seconds ago\tpostgres
corda-lab-partyb-1\trunning\tUp About an hour (unhealthy)\tpartyb
corda-lab-notary-1\trunning\tUp 3 seconds (health: starting)\tnotary
corda-lab-partyc-1\tpaused\tUp 4 minutes (healthy) (Paused)\tpartyc
"""


def test_services_are_judged_by_what_the_engine_says_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, f"printf '%s' '{SERVICES}'")
    services = Compose(load_settings(ENV_FILE, {})).services()
    assert {one.name: (one.condition, one.is_ready, one.has_failed) for one in services} == {
        "bridge": ("healthy", True, False),
        "bootstrap": ("done", True, False),
        "partya": ("exited with 137", False, True),
        "postgres": ("exited with 0", False, False),
        "partyb": ("unhealthy", False, True),
        "notary": ("starting", False, False),
        "partyc": ("paused", False, False),
    }


def test_a_command_runs_in_the_container_of_a_service_which_is_looked_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = "case $1 in ps) echo my-partya-1;; exec) echo 1000;; esac"
    docker_client(tmp_path, monkeypatch, f'echo "$@" >> "{tmp_path}/calls"\n{answers}')
    compose = Compose(load_settings(ENV_FILE, {}))
    assert [compose.exec("partya", "id", "-u").stdout for _ in range(2)] == ["1000\n"] * 2
    listed, *executed = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert "label=com.docker.compose.service=partya" in listed
    assert executed == ["exec my-partya-1 id -u"] * 2


def test_a_command_in_a_service_without_a_container_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, "true")
    compose = Compose(load_settings(ENV_FILE, {}))
    assert compose.exec("partya", "true", check=False).returncode == 1
    with pytest.raises(LabError, match="partya has no running container"):
        compose.exec("partya", "true")


def test_compose_is_told_the_parties_and_keeps_other_profiles() -> None:
    settings = load_settings(ENV_FILE, {"COMPOSE_PROFILES": "tracing,partyc"}).with_values({"PARTIES": "2"})
    assert lab_environment(settings)["PARTIES"] == "2"
    assert lab_environment(settings)["COMPOSE_PROFILES"] == "tracing,partya,partyb"
    environment = Compose(load_settings(ENV_FILE, {}).with_values({"PARTIES": "4"})).environment
    assert environment["COMPOSE_PROFILES"] == "partya,partyb,partyc,partyd"


def test_override_of_the_user_is_read_as_plain_compose_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compose, "COMPOSE_FILE", tmp_path / "compose.yaml")
    settings = load_settings(ENV_FILE, {})
    assert Compose(settings).arguments("up")[:4] == ["compose", "--file", f"{tmp_path}/compose.yaml", "--project-name"]
    (tmp_path / "compose.override.yaml").write_text("services: {}\n", encoding="utf-8")
    assert Compose(settings).arguments("up")[3:5] == ["--file", f"{tmp_path}/compose.override.yaml"]
