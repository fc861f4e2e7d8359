"""What compose.yaml promises of every service, whatever the shape."""

from typing import Any

import pytest
import yaml

from corda_lab.paths import COMPOSE_FILE

COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_FILE.read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
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
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", ()))


def test_the_network_is_internal_and_only_services_with_ports_are_in_another() -> None:
    assert COMPOSE["networks"]["default"] == {"internal": "${INTERNAL_NETWORK:-true}"}
    masquerade = "com.docker.network.bridge.enable_ip_masquerade"
    assert COMPOSE["networks"]["published"] == {"driver_opts": {masquerade: "false"}}
    for name, service in SERVICES.items():
        expected = ["default", "published"] if service.get("ports") else None
        assert service.get("networks") == expected, name
