"""The lab as a whole: all services are healthy, all signals arrive, and the nodes are those of the network."""

import json
import re
import time
from pathlib import Path
from zipfile import ZipFile

import httpx
import pytest

from corda_lab.lab import images
from corda_lab.lab.docker import docker
from e2e.labkit import Lab

pytestmark = pytest.mark.lab("standard")

TARGETS_SECONDS_MAX = 30.0


def test_every_service_is_healthy(lab: Lab) -> None:
    conditions = lab.conditions()
    expected = {"notary", "partya", "partyb", "partyc", "bridge", "locust", "prometheus"}
    if images.grafana_present():
        expected.add("grafana")
    assert conditions.pop("bootstrap") == "done"
    assert conditions == dict.fromkeys(expected, "healthy")


def test_status_says_so_too(lab: Lab) -> None:
    status = lab.run("status")
    assert status.returncode == 0, status.stdout + status.stderr
    assert lab.bridge_url in status.stdout
    # Prometheus has its rules, whatever it says of them.
    assert "has no alerts" not in status.stderr
    assert isinstance(json.loads(lab.run("status", "--json").stdout)["alerts"], list)


def health_of_targets(lab: Lab) -> dict[tuple[str, str], str]:
    """The health of every target by its job and node."""
    answer = httpx.get(f"{lab.prometheus_url}/api/v1/targets", trust_env=False).json()
    return {
        (target["labels"]["job"], target["labels"].get("node", "")): target["health"]
        for target in answer["data"]["activeTargets"]
    }


def test_prometheus_reaches_every_target(lab: Lab) -> None:
    nodes = {("corda", node) for node in ("Notary", "PartyA", "PartyB", "PartyC")}
    expected = dict.fromkeys(nodes | {("bridge", ""), ("locust", ""), ("prometheus", "")}, "up")
    # The load of an earlier test stays a target until Prometheus asks for the addresses of the generators again.
    deadline = time.monotonic() + TARGETS_SECONDS_MAX
    while (health := health_of_targets(lab)) != expected and time.monotonic() < deadline:
        time.sleep(0.5)
    assert health == expected


def test_ports_are_published_on_loopback_only(lab: Lab) -> None:
    for service in lab.compose.config()["services"].values():
        for port in service.get("ports", ()):
            assert port["host_ip"] == "127.0.0.1"


def test_no_service_runs_as_root(lab: Lab) -> None:
    for service in ("notary", "partya", "bridge", "locust", "prometheus"):
        uid = lab.compose.exec(service, "id", "-u").stdout.strip()
        assert int(uid) > 0, service


def test_four_identities_are_on_the_network(bridge: httpx.Client) -> None:
    parties = bridge.get("/v1/nodes/PartyA/parties").json()["parties"]
    assert {(party["name"], party["notary"]) for party in parties} == {
        ("Notary", True),
        ("PartyA", False),
        ("PartyB", False),
        ("PartyC", False),
    }


def test_corda_has_the_method_that_nodes_do_not_compile(lab: Lab, tmp_path: Path) -> None:
    excluded = re.search(r"exclude,(\S+),(\w+)", lab.inside("partya", r"tr '\0' '\n' < /proc/1/cmdline"))
    assert excluded is not None
    class_name, method = excluded.groups()
    jar = lab.inside("partya", "echo /opt/corda/lib/corda-node-[0-9]*.jar").strip()
    container = next(service.container.name for service in lab.compose.services() if service.name == "partya")
    copied = docker("cp", f"{container}:{jar}", str(tmp_path / "node.jar"))
    assert copied.returncode == 0, copied.stderr
    with ZipFile(tmp_path / "node.jar") as node:
        assert method.encode() in node.read(f"{class_name}.class")


def test_up_refuses_volumes_of_another_corda_version(lab: Lab) -> None:
    up = lab.run("up", CORDA_VERSION="4.9")
    assert up.returncode == 2, up.stdout + up.stderr
    assert "down --volumes" in up.stderr
    assert set(lab.conditions().values()) <= {"healthy", "done"}
