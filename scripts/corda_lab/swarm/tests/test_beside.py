"""What runs beside a stack: the files of deploy/swarm as Compose reads them. No engine is asked."""

import json
from typing import Any

import pytest

from corda_lab.lab.engine import run_docker
from corda_lab.swarm.beside import FOLDER, VARIABLES
from corda_lab.swarm.registry import own_port

FILES = ("registry.yaml", "forward.yaml", "access.yaml")


@pytest.fixture(scope="module", params=FILES)
def project(request: pytest.FixtureRequest) -> Any:
    """One of the files, with a value for every variable."""
    values = {name: f"v{number}" for number, name in enumerate(VARIABLES)}
    values |= {name: str(7000 + number) for number, name in enumerate(VARIABLES) if name.endswith("_PORT")}
    command = ["compose", "--file", str(FOLDER / request.param), "--project-name", "x", "config", "--format", "json"]
    done = run_docker(command, environment=values)
    assert done.returncode == 0, done.stderr
    # A variable that is not in the list would be empty.
    assert "variable is not set" not in done.stderr
    return json.loads(done.stdout)


def test_ports_are_open_on_this_machine_alone(project: Any) -> None:
    ports = [port for service in project["services"].values() for port in service.get("ports", ())]
    assert ports
    assert {port["host_ip"] for port in ports} == {"127.0.0.1"}


def test_containers_have_limits_and_no_privileges(project: Any) -> None:
    for name, service in project["services"].items():
        assert int(service["mem_limit"]) > 0, name
        assert service["pids_limit"] > 0, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name


def test_every_proxy_leads_from_the_port_that_is_published(project: Any) -> None:
    for name, service in project["services"].items():
        for one in service.get("configs", ()):
            listening = {entry["listen"] for entry in json.loads(project["configs"][one["source"]]["content"])}
            assert listening == {f"0.0.0.0:{port['target']}" for port in service["ports"]}, name


def test_a_registry_at_the_loopback_address_is_the_labs_own() -> None:
    assert own_port("127.0.0.1:5000") == 5000
    assert own_port("localhost:5001") == 5001
    assert own_port("registry.example:5000") is None
    assert own_port("registry.example") is None
