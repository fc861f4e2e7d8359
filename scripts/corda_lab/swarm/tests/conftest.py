"""The project of the lab as Compose prints it, in two shapes."""

from collections.abc import Mapping
from typing import Any

import pytest

from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.swarm.project import Project, parse_project

FULL = {
    "DATABASE": "postgres",
    "PARTIES": "11",
    "LINKS": "partya-partyb=+8ms",
    "NODE_CORES": "2",
    "POSTGRES_CORES": "1.5",
}
"""A shape that has every service and every field that a stack can have."""


def config_of(values: Mapping[str, str]) -> dict[str, Any]:
    """Return what ``docker compose config`` prints for a shape. Only the Docker client is needed."""
    return Compose(load_settings(ENV_FILE, {}).with_values(values)).config()


@pytest.fixture(scope="session")
def config() -> dict[str, Any]:
    """The project in the full shape, not parsed."""
    return config_of(FULL)


@pytest.fixture(scope="session")
def project(config: dict[str, Any]) -> Project:
    """The project in the full shape."""
    return parse_project(config)


@pytest.fixture(scope="session")
def default_project() -> Project:
    """The project in the shape of ``.env``."""
    return parse_project(config_of({}))
