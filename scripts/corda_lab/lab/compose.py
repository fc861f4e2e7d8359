"""Runs Docker Compose for the lab. Every command could also be typed by hand in the checkout."""

import hashlib
import json
import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bare.commands import last_words
from corda_lab.errors import LabError
from corda_lab.knobs.options import Kind
from corda_lab.knobs.shape import KNOBS, SHAPE_VARIABLES
from corda_lab.lab import cordapps, images, shape
from corda_lab.lab.deployed import LoadStart, Service, parse_services, service_format
from corda_lab.lab.engine import (
    COMMAND_SECONDS_MAX,
    HERE,
    READER,
    Container,
    Engine,
    addresses_in,
    inspect_all,
    output_of,
    run_docker,
    run_docker_to_file,
)
from corda_lab.lab.settings import NOTARY, OVERRIDE, PARTIES, SET, Settings
from corda_lab.paths import COMPOSE_FILE, CONFIGS, ROOT
from corda_lab.text import ui

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


class Compose:
    """The lab's Compose project, with the environment for the wanted shape.

    ``files`` are Compose files in addition to those that Compose reads by itself: ``compose.yaml`` and, if there is
    one, ``compose.override.yaml``, which may change every service.
    """

    def __init__(self, settings: Settings, *, files: Sequence[Path] = ()) -> None:
        self.settings = settings
        override = COMPOSE_FILE.with_name(OVERRIDE)
        self._files = (COMPOSE_FILE, *([override] if override.exists() else []), *files)
        self.project = settings.project
        self.environment = lab_environment(settings)
        """Variables that every command gets in addition to the environment of this process."""
        self._containers: dict[str, str] = {}

    def arguments(self, *arguments: str, seconds_max: float = COMMAND_SECONDS_MAX) -> list[str]:
        """Return the arguments that follow ``docker`` on the command line.

        ``exec -T`` becomes an ``exec`` of the engine in the service's container: Compose would first read the whole
        project, which takes several times as long, and a run does it two dozen times. The engine may take
        ``seconds_max`` to name the container. Raises LabError if it takes longer.
        """
        if arguments[:2] == ("exec", "-T") and (container := self._container(arguments[2], seconds_max)):
            return ["exec", container, *arguments[3:]]
        files = [word for path in self._files for word in ("--file", str(path))]
        return ["compose", *files, "--project-name", self.project, *arguments]

    def _container(self, service: str, seconds_max: float) -> str:
        """Return the name of the running container of a service; empty if there is none, or more than one."""
        if service not in self._containers:
            limit = min(seconds_max, COMMAND_SECONDS_MAX)
            done = run_docker(self._listing(service), seconds_max=limit)
            names = done.stdout.split()
            if done.returncode != 0 or len(names) != 1:
                return ""
            # A container that replaces another one gets its name.
            self._containers[service] = names[0]
        return self._containers[service]

    def _listing(self, service: str, *, oneoff: str = "False") -> list[str]:
        """The arguments of ``docker`` that name the running containers of a service, or those of loads (one-offs)."""
        labels = {"project": self.project, "service": service, "oneoff": oneoff}
        filters = [f"--filter=label=com.docker.compose.{name}={value}" for name, value in labels.items()]
        return ["ps", *filters, "--format={{.Names}}"]

    def web_ui(self) -> Container | None:
        names = HERE.checked(*self._listing("locust")).split()
        return Container(names[0]) if names else None

    def shown(self, *arguments: str) -> str:
        """Return the command as it can be typed in the checkout."""
        return shlex.join(["docker", "compose", *arguments])

    def run(
        self, *arguments: str, check: bool = True, seconds_max: float = COMMAND_SECONDS_MAX
    ) -> subprocess.CompletedProcess[str]:
        command = self.arguments(*arguments, seconds_max=seconds_max)
        done = run_docker(command, seconds_max=seconds_max, environment=self.environment)
        if check and done.returncode != 0:
            words = last_words(done.stderr or done.stdout)
            raise LabError(f"`{self.shown(*arguments)}` failed: {words}", "Run it by hand to see its whole output.")
        return done

    def run_to_file(self, path: Path, *arguments: str, seconds_max: float = COMMAND_SECONDS_MAX) -> None:
        run_docker_to_file(
            path,
            self.arguments(*arguments, seconds_max=seconds_max),
            shown=self.shown(*arguments),
            seconds_max=seconds_max,
            environment=self.environment,
        )

    def start(self, *arguments: str, log: Path) -> subprocess.Popen[bytes]:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as stream:
            return subprocess.Popen(
                ["docker", *self.arguments(*arguments)],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env={**os.environ, **self.environment, "BUILDKIT_PROGRESS": "plain", "COMPOSE_PROGRESS": "plain"},
                start_new_session=True,
            )

    def config(self) -> dict[str, Any]:
        """Return the project as Compose parses it, with all variables resolved."""
        config: dict[str, Any] = json.loads(self.run("config", "--format", "json").stdout)
        return config

    def services(self) -> list[Service]:
        """Return all containers of the project's services, including stopped ones.

        The engine is asked, since Compose would read the whole project first.
        """
        labels = (f"com.docker.compose.project={self.project}", "com.docker.compose.oneoff=False")
        filters = (f"--filter=label={label}" for label in labels)
        form = service_format("com.docker.compose.service")
        return parse_services(HERE.checked("ps", "--all", *filters, f"--format={form}"), HERE)

    def log_since(self, service: str, since: str) -> str:
        done = self.run("logs", "--no-color", "--no-log-prefix", "--since", since, service, check=False)
        return done.stdout + done.stderr

    def log_tails(self, lines: int) -> str:
        done = self.run("logs", "--no-color", "--tail", str(lines), check=False)
        return done.stdout + done.stderr

    def running_containers(self) -> dict[str, Container]:
        # Not one that has ended and is about to be started again.
        return {one.name: one.container for one in self.services() if one.state in {"running", "paused"}}

    @property
    def engines(self) -> tuple[Engine, ...]:
        return (HERE,)

    @property
    def placement(self) -> None:
        return None

    @property
    def load_engines(self) -> tuple[Engine, ...]:
        return (HERE,)

    @property
    def load_label(self) -> str:
        """The label by which all containers of the project are found."""
        return f"com.docker.compose.project={self.project}"

    @property
    def helper_image(self) -> str:
        return self.settings.own_image("locust")

    @property
    def reader_image(self) -> str:
        """The lab's own image of a node. The bootstrapper has it in every lab."""
        return self.settings.own_node_image

    @property
    def rows_images(self) -> tuple[str, ...]:
        """Images with a shell. Which of them exist depends on what was built."""
        settings = self.settings
        return (settings.own_image("locust"), images.image_name(settings, "PYTHON_IMAGE"), settings.node_image)

    def node_conf(self, node: str) -> str:
        """Return the settings of a node, with its passwords, from the volume that only the node sees."""
        options = ("--rm", "--user=1000:1000", *READER, "--log-driver=none")
        volume = f"--volume={self.project}_{node}-keys:/node:ro"
        done = HERE.run("run", *options, volume, "--entrypoint=cat", self.reader_image, "/node/node.conf")
        return output_of(done, f"The settings of {node} cannot be read")

    def recorded_image(self, service: str, name: str) -> str:
        """Return the name of the image of a service as manifests have it.

        It has no project in it, so that it is the same in every checkout. That of a stand-in is the official one.
        """
        del service
        return self.settings.recorded_name(images.official_name(self.settings, name))

    def addresses(self) -> dict[Container, list[str]]:
        form = "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}"
        filters = f"--filter=label=com.docker.compose.project={self.project}"
        names = HERE.checked("ps", filters, "--format={{.Names}}").split()
        return {one: addresses_in(text) for one, text in inspect_all(map(Container, names), form).items()}

    def neighbours(self, container: Container) -> list[str]:
        form = "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}} {{end}}"
        about = "{{range .IPAM.Config}}{{.Gateway}} {{end}}{{range .Containers}}{{.IPv4Address}} {{end}}"
        found: set[str] = set()
        for network in container.checked(form).split():
            found |= set(addresses_in(HERE.checked("network", "inspect", "--format", about, network)))
        own = addresses_in(container.checked("{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}"))
        return sorted(found - set(own))

    def start_again(self, service: Service) -> None:
        HERE.checked("start", service.container.name, seconds_max=START_SECONDS_MAX)

    def restart(self, service: Service) -> None:
        done = HERE.run("restart", service.container.name, seconds_max=START_SECONDS_MAX)
        output_of(done, f"{service.name} could not be started again")

    def start_load(self, load: LoadStart) -> None:
        alias = ("--use-aliases",) if load.has_alias else ()
        arguments = ("run", "--detach", "--no-deps", "--label", load.label, *alias, "--name", load.container.name)
        arguments += ("locust", *load.arguments)
        if load.has_alias:
            ui.note(self.shown(*arguments))
        self.run(*arguments)

    def load_containers(self) -> list[str]:
        return run_docker(self._listing("locust", oneoff="True")).stdout.split()
