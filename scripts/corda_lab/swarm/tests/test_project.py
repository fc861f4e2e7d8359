"""The project as Compose prints it has no field about which nobody has decided."""

import copy
from typing import Any

import pytest

from corda_lab.errors import LabError
from corda_lab.swarm.project import parse_project


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (("services", "partya"), "compose.yaml.services.partya.sysctls: has no rule for Docker Swarm"),
        (("services", "partya", "healthcheck"), "compose.yaml.services.partya.healthcheck.sysctls: has no rule"),
        (("services", "partya", "volumes", 0), "compose.yaml.services.partya.volumes[0].sysctls: has no rule"),
        (("networks", "default"), "compose.yaml.networks.default.sysctls: has no rule"),
        (("volumes", "network"), "compose.yaml.volumes.network.sysctls: has no rule"),
        ((), "compose.yaml.sysctls: has no rule"),
    ],
)
def test_an_unknown_field_is_named(config: dict[str, Any], place: tuple[Any, ...], expected: str) -> None:
    changed = copy.deepcopy(config)
    inner = changed
    for part in place:
        inner = inner[part]
    inner["sysctls"] = {"net.core.somaxconn": 1024}
    with pytest.raises(LabError) as caught:
        parse_project(changed)
    assert caught.value.message.startswith(expected)
    assert "stack.py" in caught.value.remedy


def test_an_option_of_a_network_is_named(config: dict[str, Any]) -> None:
    changed = copy.deepcopy(config)
    changed["services"]["partya"]["networks"] = {"default": {"aliases": ["bank"]}}
    with pytest.raises(LabError, match=r"compose\.yaml\.services\.partya\.networks\.default\.aliases: has no rule"):
        parse_project(changed)


def test_the_bootstrapper_is_known_by_the_volumes_that_it_writes(config: dict[str, Any]) -> None:
    project = parse_project(config)
    assert project.bootstrapped["network"] == "/network"
    assert project.bootstrapped["partya-keys"] == "/nodes/partya"
    assert "bootstrap" not in project.running
