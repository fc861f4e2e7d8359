"""Runs Docker Compose for the lab. Every command could also be typed by hand in the checkout."""

import hashlib
import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corda_lab.errors import LabError
from corda_lab.host.processes import last_lines, last_words
from corda_lab.knobs.options import Kind
from corda_lab.knobs.shape import KNOBS, SHAPE_VARIABLES
from corda_lab.lab import cordapps, images
from corda_lab.lab.settings import BOOTSTRAP, NOTARY, PARTIES, Settings
from corda_lab.paths import COMPOSE_FILE, CONFIGS, ROOT

COMMAND_SECONDS_MAX = 120.0
SHAPE_PROFILES = ("parties-", "notary-", "database-")
"""Prefixes of the profiles that ``.env`` derives from the shape."""
BRIDGE_VARIABLES = ("BRIDGE_RPC_CONNECTIONS", "BRIDGE_RPC_LEFT_OPEN_MAX", "BRIDGE_FLOW_TIMEOUT_SECONDS")
"""Variables of the bridge that a bench may set, besides those of the shape."""
OPTIONAL_SERVICES = ("notary2", "notary3", "notary4", "postgres", "postgres-exporter", "links")
"""Services that only some shapes have, apart from parties."""


@dataclass(frozen=True)
class Service:
    """One container of the lab, as ``docker compose ps`` reports it."""

    name: str
    container: str
    state: str
    health: str
    exit_code: int

    @property
    def is_ready(self) -> bool:
        """Whether it is running and healthy (or has no health check), or is a one-shot service that succeeded."""
        if self.state == "exited":
            return self.name == BOOTSTRAP and self.exit_code == 0
        return self.state == "running" and self.health in {"", "healthy"}

    @property
    def has_failed(self) -> bool:
        """Whether it ended with an error, or is unhealthy."""
        return (self.state in {"exited", "dead"} and self.exit_code != 0) or self.health == "unhealthy"

    @property
    def condition(self) -> str:
        """State and health in one word: ``starting``, ``healthy``, ``done``, ``exited with 1``."""
        if self.state == "running" and self.health:
            return self.health
        if self.state == "exited":
            return "done" if self.is_ready else f"exited with {self.exit_code}"
        return self.state


def parse_services(text: str) -> list[Service]:
    """Parse ``docker compose ps --format json``: one object per line, or a single array from older versions."""
    stripped = text.strip()
    if not stripped:
        return []
    items = json.loads(stripped) if stripped.startswith("[") else [json.loads(line) for line in stripped.splitlines()]
    return [
        Service(
            name=str(item["Service"]),
            container=str(item["Name"]),
            state=str(item.get("State", "")),
            health=str(item.get("Health", "")),
            exit_code=int(item.get("ExitCode", 0)),
        )
        for item in items
    ]


def run_docker(
    arguments: Sequence[str],
    *,
    seconds_max: float = COMMAND_SECONDS_MAX,
    cwd: Path = ROOT,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run ``docker`` and capture its output. It has its own process group, so that Ctrl-C does not reach it directly.

    ``environment`` is added to the environment of this process. The exit status is not checked. Raises LabError if
    there is no docker command, or if it does not end within ``seconds_max``.
    """
    try:
        return subprocess.run(
            ["docker", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds_max,
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            check=False,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise LabError("There is no docker command on PATH", "`scripts/lab doctor` shows how to install it.") from None
    except subprocess.TimeoutExpired:
        raise LabError(
            f"`{shlex.join(['docker', *arguments])}` did not answer within {seconds_max:.0f} s",
            "Run `docker info` to check whether the engine answers; it may be overloaded.",
        ) from None


def run_docker_to_file(
    path: Path,
    arguments: Sequence[str],
    *,
    shown: str,
    seconds_max: float = COMMAND_SECONDS_MAX,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run ``docker`` and write its output, of any size, to ``path``. Raises LabError, with ``shown``, if it fails."""
    try:
        with path.open("wb") as stream:
            done = subprocess.run(
                ["docker", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.PIPE,
                timeout=seconds_max,
                cwd=ROOT,
                env={**os.environ, **(environment or {})},
                check=False,
                start_new_session=True,
            )
    except subprocess.TimeoutExpired:
        raise LabError(f"`{shown}` did not end within {seconds_max:.0f} s", exit_code=1) from None
    if done.returncode != 0:
        words = last_words(done.stderr.decode(errors="replace"))
        raise LabError(f"`{shown}` failed: {words}", "Run it by hand to see its whole output.", exit_code=1)


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

    ``files`` are Compose files in addition to ``compose.yaml``.
    """

    def __init__(self, settings: Settings, *, files: Sequence[Path] = ()) -> None:
        self.settings = settings
        self._files = (COMPOSE_FILE, *files)
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
            labels = {"project": self.project, "service": service, "oneoff": "False"}
            filters = [f"--filter=label=com.docker.compose.{name}={value}" for name, value in labels.items()]
            limit = min(seconds_max, COMMAND_SECONDS_MAX)
            done = run_docker(["ps", *filters, "--format={{.Names}}"], seconds_max=limit)
            names = done.stdout.split()
            if done.returncode != 0 or len(names) != 1:
                return ""
            # A container that replaces another one gets its name.
            self._containers[service] = names[0]
        return self._containers[service]

    def shown(self, *arguments: str) -> str:
        """Return the command as it can be typed in the checkout."""
        return shlex.join(["docker", "compose", *arguments])

    def run(
        self, *arguments: str, check: bool = True, seconds_max: float = COMMAND_SECONDS_MAX
    ) -> subprocess.CompletedProcess[str]:
        """Run a Compose command and capture its output. Raises LabError if it fails, unless ``check`` is False."""
        command = self.arguments(*arguments, seconds_max=seconds_max)
        done = run_docker(command, seconds_max=seconds_max, environment=self.environment)
        if check and done.returncode != 0:
            words = last_words(done.stderr or done.stdout)
            raise LabError(f"`{self.shown(*arguments)}` failed: {words}", "Run it by hand to see its whole output.")
        return done

    def run_to_file(self, path: Path, *arguments: str, seconds_max: float = COMMAND_SECONDS_MAX) -> None:
        """Run a Compose command and write its output, of any size, to ``path``. Raises LabError if it fails."""
        run_docker_to_file(
            path,
            self.arguments(*arguments, seconds_max=seconds_max),
            shown=self.shown(*arguments),
            seconds_max=seconds_max,
            environment=self.environment,
        )

    def start(self, *arguments: str, log: Path) -> subprocess.Popen[bytes]:
        """Start a Compose command in the background. Its output is written to ``log``."""
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
        """Return all containers of the project's services, including stopped ones."""
        return parse_services(self.run("ps", "--all", "--format", "json").stdout)

    def log_tail(self, service: str, count: int = 15) -> list[str]:
        """Return the last ``count`` log lines of a service that are not blank."""
        done = self.run("logs", "--no-color", "--no-log-prefix", "--tail", str(count * 2), service, check=False)
        return last_lines(done.stdout + done.stderr, count)

    def load_containers(self) -> list[str]:
        """Return the names of the running containers that generate the load of a run."""
        done = run_docker(
            [
                "ps",
                "--filter",
                f"label=com.docker.compose.project={self.project}",
                "--filter",
                "label=com.docker.compose.oneoff=True",
                "--filter",
                "label=com.docker.compose.service=locust",
                "--format",
                "{{.Names}}",
            ]
        )
        return done.stdout.split()
