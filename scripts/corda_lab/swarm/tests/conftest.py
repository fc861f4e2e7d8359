"""The project of the lab as Compose prints it, in two shapes, and files as the bootstrapper writes them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.swarm.placement import find_placement, fit
from corda_lab.swarm.stack import Derivation, ImageCommand, Project, parse_project

FULL = {
    "DATABASE": "postgres",
    "PARTIES": "11",
    "LINKS": "partya-partyb=+8ms",
    "NODE_CORES": "2",
    "POSTGRES_CORES": "1.5",
}
"""A shape that has every service and every field that a stack can have."""
COMMANDS = {
    "grafana": ImageCommand(entrypoint=("/run.sh",)),
    "postgres-exporter": ImageCommand(entrypoint=("/bin/postgres_exporter",)),
}
PUBLIC = {
    "bin/run-corda": "#!/usr/bin/env bash\n",
    "bin/drivers/postgresql.jar": "driver",
    "cordapps/flows.jar": "flows",
    "network-parameters": "parameters",
    "bridge.env": "BRIDGE_NODES=PartyA=partya:10003\n",
    "targets.json": "[]\n",
    "database-targets.json": "[]\n",
    "parties": "PartyA\n",
    "links.json": "[]\n",
    "schemas": "",
}
PRIVATE = {
    "node.conf": "{name}",
    "jvm.args": "\n",
    "certificates/nodekeystore.jks": "keys of {name}",
    "node-infos/nodeInfo-partya": "info",
}


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


@pytest.fixture
def network(tmp_path: Path, project: Project) -> Path:
    """What the bootstrapper has written, for every service that any shape has."""
    root = tmp_path / "bootstrapped"
    for volume, place in project.bootstrapped.items():
        own = PUBLIC if volume == "network" else PRIVATE if volume.endswith("-keys") else {"password": "of {name}"}
        for file, content in own.items():
            path = root / place.lstrip("/") / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content.format(name=volume), encoding="utf-8")
    return root


@pytest.fixture
def derivation_of(network: Path) -> Callable[..., Derivation]:
    """Return a function that puts together what a stack is derived from."""

    def made(project: Project, placement: str = "one-node-per-host") -> Derivation:
        commands = {project.services[name]["image"]: one for name, one in COMMANDS.items() if name in project.services}
        return Derivation(project, fit(find_placement(placement), project.running), network, commands)

    return made
