"""What runs beside a stack, because Swarm cannot: the registry, and the ways to it and to the services' ports.

They are plain containers of a Compose project on one host, described in ``deploy/swarm/``. Swarm publishes a port on
all addresses of a host or not at all, and these must be open on 127.0.0.1 alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess

from corda_lab.errors import LabError
from corda_lab.host.processes import last_words
from corda_lab.lab.engine import run_docker
from corda_lab.paths import ROOT
from corda_lab.swarm.hosts import Host

FOLDER = ROOT / "deploy" / "swarm"
UP_SECONDS_MAX = 180.0
DOWN_SECONDS_MAX = 120.0
VARIABLES = (
    "REGISTRY_IMAGE",
    "LAB_TOOLS_IMAGE",
    "LAB_REGISTRY_PORT",
    "LAB_IMAGES_NETWORK",
    "LAB_STACK_NETWORK",
    "BRIDGE_PORT",
    "LOCUST_PORT",
    "PROMETHEUS_PORT",
    "GRAFANA_PORT",
)
"""Every variable of these files."""
UNSET = "0"
"""Stands for a variable of a project that is only removed."""


@dataclass(frozen=True)
class Beside:
    """One Compose project beside a stack, on one host."""

    file: Path
    project: str
    host: Host | None = None
    """None is the engine of this machine, the manager."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Values of the variables that the file needs to start."""

    @property
    def where(self) -> str:
        return self.host.name if self.host else "the manager"

    def up(self, *services: str) -> None:
        """Start all services, or some, and wait until they are healthy. Raises LabError with what they last said."""
        wait = ("--wait", "--wait-timeout", f"{UP_SECONDS_MAX:.0f}")
        done = self._compose("up", "--detach", *wait, *services, seconds_max=UP_SECONDS_MAX + 30)
        if done.returncode != 0:
            said = self._compose("logs", "--no-color", "--tail=3", *services, seconds_max=30).stdout
            words = " | ".join(filter(None, (last_words(done.stderr, 1), last_words(said, 3))))
            raise LabError(f"{self.where}: {self.file.name} did not start: {words}", exit_code=1)

    def down(self, *, volumes: bool = False) -> None:
        """Remove its containers and networks, and its volumes if that is wanted. Raises LabError."""
        also = ("--volumes",) if volumes else ()
        done = self._compose("down", "--remove-orphans", "--timeout=5", *also, seconds_max=DOWN_SECONDS_MAX)
        if done.returncode != 0:
            words = last_words(done.stderr, 2)
            raise LabError(f"{self.where}: the project {self.project} was not removed: {words}", exit_code=1)

    def _compose(self, *arguments: str, seconds_max: float) -> CompletedProcess[str]:
        command = ("compose", "--file", str(self.file), "--project-name", self.project, *arguments)
        values = {**dict.fromkeys(VARIABLES, UNSET), **self.environment}
        if self.host is None:
            return run_docker(command, seconds_max=seconds_max, environment=values)
        return self.host.run(*command, seconds_max=seconds_max, environment=values)
