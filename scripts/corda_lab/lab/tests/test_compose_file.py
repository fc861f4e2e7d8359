"""What compose.yaml promises of every service, whatever the shape."""

import re
from typing import Any

import pytest
import yaml

from corda_lab.lab.settings import PARTIES, load_settings
from corda_lab.paths import COMPOSE_FILE, ENV_FILE, ROOT

COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_FILE.read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
LOOPS = re.compile(r"for (?:node|service) in ([a-z0-9\\\s-]+); do")
each_service = pytest.mark.parametrize("name", SERVICES)


@each_service
def test_a_service_has_no_privilege_and_cannot_change_its_root(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert service["user"].split(":")[0] != "0"
    assert {"cap_add", "devices", "ipc", "network_mode", "pid", "privileged"}.isdisjoint(service)
    assert not any("docker.sock" in str(volume) for volume in service.get("volumes", ()))


@each_service
def test_a_service_has_limits(name: str) -> None:
    assert {"mem_limit", "pids_limit", "logging"} <= set(SERVICES[name])


@each_service
def test_a_service_can_write_what_is_temporary(name: str) -> None:
    assert any(place.partition(":")[0] == "/tmp" for place in SERVICES[name]["tmpfs"])


@each_service
def test_ports_are_published_on_loopback_only(name: str) -> None:
    # Only the bridge, which a token can protect, may be published elsewhere (BRIDGE_ADDRESS).
    address = load_settings(ENV_FILE, {})["BRIDGE_ADDRESS"] if name == "bridge" else ""
    ports = [port.replace("${BRIDGE_ADDRESS}", address) for port in SERVICES[name].get("ports", ())]
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_network_is_internal_and_only_services_with_ports_are_in_another() -> None:
    assert COMPOSE["networks"]["default"] == {"internal": "${INTERNAL_NETWORK:-true}"}
    masquerade = "com.docker.network.bridge.enable_ip_masquerade"
    assert COMPOSE["networks"]["published"] == {"driver_opts": {masquerade: "false"}}
    for name, service in SERVICES.items():
        expected = ["default", "published"] if service.get("ports") else None
        assert service.get("networks") == expected, name
        # An internal network has no names outside. With INTERNAL_NETWORK=false, nodes have those of the engine.
        assert service.get("dns") == ("${NAME_SERVER}" if expected else None), name
    assert load_settings(ENV_FILE, {})["NAME_SERVER"] == "127.0.0.1"


NODES = ("notary", "notary2", "notary3", "notary4", *(party.lower() for party in PARTIES))


def test_every_node_is_started_before_the_bridge_whose_check_takes_one_that_is_not_there_for_ended() -> None:
    started = {"condition": "service_started", "required": False}
    found = {name: how for name, how in SERVICES["bridge"]["depends_on"].items() if name != "bootstrap"}
    assert found == dict.fromkeys(NODES, started)


SECRETS = ("bridge", "grafana", "jmeter", "postgres", "postgres-exporter")


def mounts(name: str) -> dict[str, str]:
    """Volume or folder of a mount of a service → where it is, with ``:ro``."""
    places = [volume.partition(":") for volume in SERVICES[name]["volumes"] if ":" in volume]
    return {source: place for source, _, place in places}


def test_only_a_node_and_the_bootstrapper_see_the_keys_of_the_node() -> None:
    for node in NODES:
        seen = {name: mounts(name)[f"{node}-keys"] for name in SERVICES if f"{node}-keys" in mounts(name)}
        assert seen == {"bootstrap": f"/nodes/{node}", node: "/node:ro"}


def test_only_a_service_and_the_bootstrapper_see_the_passwords_of_the_service() -> None:
    for service in SECRETS:
        volume = f"{service}-secrets"
        seen = {name: mounts(name)[volume] for name in SERVICES if volume in mounts(name)}
        assert seen == {"bootstrap": f"/secrets/{service}", service: "/secrets:ro"}


def test_only_the_bootstrapper_sees_the_authority_and_writes_to_the_network() -> None:
    assert [name for name in SERVICES if "authority" in mounts(name)] == ["bootstrap"]
    writers = [name for name in SERVICES if mounts(name).get("network") == "/network"]
    assert writers == ["bootstrap"]


def test_only_the_bootstrapper_gets_a_password_by_its_environment_and_only_one_that_a_user_has_set() -> None:
    variables = ("RPC_PASSWORD", "POSTGRES_PASSWORD", "GRAFANA_PASSWORD")
    for name, service in SERVICES.items():
        given = [variable for variable in variables if f"${{{variable}" in str(service)]
        assert given == (list(variables) if name == "bootstrap" else []), name
    settings = load_settings(ENV_FILE, {})
    assert [settings[variable] for variable in variables] == ["", "", ""]


def test_the_image_has_a_folder_for_every_volume_of_the_bootstrapper() -> None:
    # A new volume gets the owner of the image's folder in its place. Otherwise it belongs to root.
    dockerfile = (ROOT / "nodes" / "Dockerfile").read_text(encoding="utf-8")
    nodes, services = (re.sub(r"\\\n\s*", "", found).split() for found in LOOPS.findall(dockerfile))
    assert tuple(nodes) == NODES
    assert tuple(services) == SECRETS
