"""Docker Compose, as the lab calls it: every command here is one that a person could type in the checkout."""

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
from corda_lab.lab import cordapps
from corda_lab.lab.settings import NOTARY, PARTIES, Settings
from corda_lab.paths import COMPOSE_FILE, CONFIGS, ROOT

COMMAND_SECONDS_MAX = 120.0
SHAPE_PROFILES = ("parties-", "notary-", "database-")
"""How the profiles begin that .env makes of the shape."""
OPTIONAL_SERVICES = ("notary2", "notary3", "notary4", "postgres", "postgres-exporter", "links")
"""Services besides parties that only some shapes have."""

ONE_SHOTS = ("bootstrap",)
"""Services whose work is done when they end."""


@dataclass(frozen=True)
class Service:
    """One container of the lab as ``docker compose ps`` tells of it."""

    name: str
    container: str
    state: str
    health: str
    exit_code: int

    @property
    def is_ready(self) -> bool:
        """Running and healthy (or without a health check), or a one-shot that ended well."""
        if self.state == "exited":
            return self.name in ONE_SHOTS and self.exit_code == 0
        return self.state == "running" and self.health in {"", "healthy"}

    @property
    def has_failed(self) -> bool:
        """Ended with an error, or running and found unhealthy."""
        return (self.state in {"exited", "dead"} and self.exit_code != 0) or self.health == "unhealthy"

    @property
    def condition(self) -> str:
        """State and health in one word."""
        if self.state == "running" and self.health:
            return self.health
        if self.state == "exited":
            return "done" if self.is_ready else f"exited with {self.exit_code}"
        return self.state


def parse_services(text: str) -> list[Service]:
    """Read ``docker compose ps --format json``: an object per line, or one array from older versions."""
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
    """Run ``docker`` quietly in a process group of its own, so that Ctrl-C reaches the lab first and not the client.

    ``environment`` is laid over this process's own.
    Never raises for an exit status; a missing client and a command that hangs are a LabError.
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
        raise LabError("There is no docker command on PATH", "`scripts/lab doctor` says how to get one.") from None
    except subprocess.TimeoutExpired:
        raise LabError(
            f"`{shlex.join(['docker', *arguments])}` gave no answer within {seconds_max:.0f} s",
            "Is the engine overloaded? `docker info` tells whether it answers.",
        ) from None


def lab_environment(settings: Settings) -> dict[str, str]:
    """The variables with which Compose starts the shape that is wanted, nodes anew when what they read at start changed.

    Every service that not all shapes have is of a profile of its own name, so that one is started by naming it. Profiles of
    anything else stay as they are; ``.env`` turns on some that follow from the shape, which these replace.
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
        "CORDA_IMAGE": settings.node_image,
        "PARTIES": str(settings.party_count),
        "COMPOSE_PROFILES": ",".join([*others, *nodes, *settings.extra_services]),
        "NODE_INPUTS": node_inputs(settings),
    }


def node_inputs(settings: Settings) -> str:
    """Changes with everything that nodes read only when they start and that no other variable of theirs tells."""
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
    """The lab's Compose project."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.project = settings.project
        self.environment = lab_environment(settings)
        """What every command gets besides this process's own environment."""

    def arguments(self, *arguments: str) -> list[str]:
        """What follows ``docker`` on the command line."""
        return ["compose", "--file", str(COMPOSE_FILE), "--project-name", self.project, *arguments]

    def shown(self, *arguments: str) -> str:
        """The command as a person would type it in the checkout."""
        return shlex.join(["docker", "compose", *arguments])

    def run(
        self, *arguments: str, check: bool = True, seconds_max: float = COMMAND_SECONDS_MAX
    ) -> subprocess.CompletedProcess[str]:
        """Run one Compose command quietly; a failure is a LabError with its last words unless ``check`` is off."""
        done = run_docker(self.arguments(*arguments), seconds_max=seconds_max, environment=self.environment)
        if check and done.returncode != 0:
            words = last_words(done.stderr or done.stdout)
            raise LabError(f"`{self.shown(*arguments)}` failed: {words}", "Run it by hand to see all of it.")
        return done

    def run_to_file(self, path: Path, *arguments: str, seconds_max: float = COMMAND_SECONDS_MAX) -> None:
        """Run one Compose command with its output in ``path``, however much it is. Raises LabError when it fails."""
        try:
            with path.open("wb") as stream:
                done = subprocess.run(
                    ["docker", *self.arguments(*arguments)],
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.PIPE,
                    timeout=seconds_max,
                    cwd=ROOT,
                    env={**os.environ, **self.environment},
                    check=False,
                    start_new_session=True,
                )
        except subprocess.TimeoutExpired:
            raise LabError(f"`{self.shown(*arguments)}` did not end within {seconds_max:.0f} s", exit_code=1) from None
        if done.returncode != 0:
            words = last_words(done.stderr.decode(errors="replace"))
            raise LabError(
                f"`{self.shown(*arguments)}` failed: {words}", "Run it by hand to see all of it.", exit_code=1
            )

    def start(self, *arguments: str, log: Path) -> subprocess.Popen[bytes]:
        """Start a Compose command in the background with its output in ``log``."""
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
        """The project as Compose understands it, variables filled in."""
        config: dict[str, Any] = json.loads(self.run("config", "--format", "json").stdout)
        return config

    def services(self) -> list[Service]:
        """Every container of the project's services, ended ones too."""
        return parse_services(self.run("ps", "--all", "--format", "json").stdout)

    def log_tail(self, service: str, count: int = 15) -> list[str]:
        """The last log lines of a service."""
        done = self.run("logs", "--no-color", "--no-log-prefix", "--tail", str(count * 2), service, check=False)
        return last_lines(done.stdout + done.stderr, count)

    def load_containers(self) -> list[str]:
        """Names of the running containers in which a scripted run generates load."""
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
