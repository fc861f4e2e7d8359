"""Runs Docker Compose for the lab. Every command could also be typed by hand in the checkout."""

import hashlib
import json
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from bare.commands import last_words
from corda_lab.errors import LabError
from corda_lab.knobs.shape import KNOBS, SHAPE_VARIABLES, Kind
from corda_lab.lab import cordapps, images, shape
from corda_lab.lab.docker import (
    COMMAND_SECONDS_MAX,
    HERE,
    ONEOFF_LABEL,
    PROJECT_LABEL,
    READER,
    SERVICE_LABEL,
    Container,
    addresses_in,
    ask,
    at,
    docker,
    output_of,
    start_docker,
)
from corda_lab.lab.lab import Lab, Service
from corda_lab.lab.settings import NOTARY, OVERRIDE, PARTIES, SET, Settings
from corda_lab.paths import COMPOSE_FILE, CONFIGS

START_SECONDS_MAX = 150.0
"""Longer than the longest time that a service gets to stop."""
SHAPE_PROFILES = ("parties-", "notary-", "database-")
"""Prefixes of the profiles that ``.env`` derives from the shape."""
BRIDGE_VARIABLES = ("BRIDGE_RPC_CONNECTIONS", "BRIDGE_RPC_LEFT_OPEN_MAX")
"""Variables of the bridge that Compose gets besides those of the shape."""
OPTIONAL_SERVICES = ("notary2", "notary3", "notary4", "postgres", "postgres-exporter", "links")
"""Services that only some shapes have, apart from parties."""


def lab_environment(settings: Settings) -> dict[str, str]:
    """Return the environment variables with which Compose starts the wanted shape.

    NODE_INPUTS makes Compose recreate the nodes if a file that they read at start has changed. Every optional service
    has a profile of its own name, and COMPOSE_PROFILES lists those that the shape needs. They replace the profiles that
    ``.env`` derives from the shape; other profiles that the user set are kept.
    """
    set_by_user = settings.values.get("COMPOSE_PROFILES", "")
    optional = {*OPTIONAL_SERVICES, *(party.lower() for party in PARTIES)}
    others = [
        name
        for name in re.sub(r"\$\{[^}]*\}", "", set_by_user).split(",")
        if name and name not in optional and not name.startswith(SHAPE_PROFILES)
    ]
    nodes = [node.lower() for node in settings.nodes if node != NOTARY]
    return {
        **{name: settings.values[name] for name in SHAPE_VARIABLES if name in settings.values},
        **{name: settings.values[name] for name in BRIDGE_VARIABLES if name in settings.values},
        **shape.parse_label(settings.values.get(SET, "")),
        SET: settings.values.get(SET, ""),
        **images.in_use(settings),
        "CORDA_IMAGE": settings.foreign_image,
        "PARTIES": str(settings.party_count),
        "COMPOSE_PROFILES": ",".join([*others, *nodes, *settings.extra_services]),
        "NODE_INPUTS": node_inputs(settings),
    }


def node_inputs(settings: Settings) -> str:
    """Return a hash of everything that nodes read only at start and that none of their other variables covers."""
    files = [CONFIGS / "network.conf"]
    files += [
        CONFIGS / knob.folder / f"{settings.values.get(knob.variable, '')}.conf"
        for knob in KNOBS
        if knob.kind is Kind.FILE
    ]
    digest = hashlib.sha256(cordapps.fingerprint().encode())
    for path in files:
        digest.update(path.read_bytes() if path.exists() else b"")
    for name in ("RPC_USER", "RPC_PASSWORD", "POSTGRES_PASSWORD", "POSTGRES_POOL_SIZE"):
        digest.update(f"{name}={settings.values.get(name, '')}\n".encode())
    return digest.hexdigest()[:16]


class Compose(Lab):
    """The lab on this machine: a Compose project, with the environment for the wanted shape.

    ``files`` are Compose files in addition to those that Compose reads by itself: ``compose.yaml`` and, if there is
    one, ``compose.override.yaml``, which may change every service.
    """

    def __init__(self, settings: Settings, *, files: Sequence[Path] = ()) -> None:
        super().__init__(settings, settings.project)
        override = COMPOSE_FILE.with_name(OVERRIDE)
        self._files = (COMPOSE_FILE, *([override] if override.exists() else []), *files)
        self.environment = lab_environment(settings)
        # By these, the engine itself finds containers: Compose would first read the whole project, which takes several
        # times as long, and a run does it two dozen times.
        self.load_label = f"{PROJECT_LABEL}={self.project}"
        self.labels = (self.load_label, f"{ONEOFF_LABEL}=False")
        self.service_label = SERVICE_LABEL
        self.network_filter = f"label={self.load_label}"
        self.address_form = "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}"
        self.helper_image = settings.own_image("locust")
        # The bootstrapper has it in every lab.
        self.reader_image = settings.own_node_image

    def arguments(self, *arguments: str) -> list[str]:
        files = [word for path in self._files for word in ("--file", str(path))]
        return ["compose", *files, "--project-name", self.project, *arguments]

    def shown(self, *arguments: str, on: str = HERE) -> str:
        return shlex.join(["docker", *at(on, "compose", *arguments)])

    def run(
        self, *arguments: str, check: bool = True, seconds_max: float = COMMAND_SECONDS_MAX
    ) -> CompletedProcess[str]:
        """Run a command of Compose. Raises LabError if it fails, unless ``check`` is False."""
        done = docker(*self.arguments(*arguments), seconds_max=seconds_max, environment=self.environment)
        if check and done.returncode != 0:
            words = last_words(done.stderr or done.stdout)
            raise LabError(f"`{self.shown(*arguments)}` failed: {words}", "Run it by hand to see its whole output.")
        return done

    def start(self, *arguments: str, log: Path) -> "subprocess.Popen[bytes]":
        """Start a command of Compose in the background, with its output in ``log``."""
        log.parent.mkdir(parents=True, exist_ok=True)
        plain = {"BUILDKIT_PROGRESS": "plain", "COMPOSE_PROGRESS": "plain"}
        with log.open("wb") as stream:
            return start_docker(
                *self.arguments(*arguments),
                stdout=stream,
                stderr=subprocess.STDOUT,
                environment={**self.environment, **plain},
            )

    def config(self) -> dict[str, Any]:
        """Return the project as Compose parses it, with all variables resolved."""
        config: dict[str, Any] = json.loads(self.run("config", "--format", "json").stdout)
        return config

    def logs_command(self, *services: str) -> str:
        return self.shown("logs", *services)

    def node_conf(self, node: str) -> str:
        # It is in a volume that only the node sees.
        options = ("--rm", "--user=1000:1000", *READER, "--log-driver=none")
        volume = f"--volume={self.project}_{node}-keys:/node:ro"
        done = docker("run", *options, volume, "--entrypoint=cat", self.reader_image, "/node/node.conf")
        return output_of(done, f"The settings of {node} cannot be read")

    def neighbours(self, container: Container) -> list[str]:
        def inspect(form: str) -> str:
            return ask("container", "inspect", "--format", form, container.name)

        about = "{{range .IPAM.Config}}{{.Gateway}} {{end}}{{range .Containers}}{{.IPv4Address}} {{end}}"
        present: set[str] = set()
        for network in inspect("{{range $name, $_ := .NetworkSettings.Networks}}{{$name}} {{end}}").split():
            present |= set(addresses_in(ask("network", "inspect", "--format", about, network)))
        own = addresses_in(inspect(self.address_form))
        return sorted(present - set(own))

    def start_again(self, service: Service) -> None:
        ask("start", service.container.name, seconds_max=START_SECONDS_MAX)

    def restart(self, service: Service) -> None:
        done = docker("restart", service.container.name, seconds_max=START_SECONDS_MAX)
        output_of(done, f"{service.name} could not be started again")
