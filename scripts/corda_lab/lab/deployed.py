"""A lab as it is deployed: what everything that measures, reads or breaks it asks of it.

``Compose`` is the lab on one machine. The lab on several hosts is another class, with the same methods.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Protocol

from corda_lab.lab.engine import COMMAND_SECONDS_MAX, HERE, Container, Engine
from corda_lab.lab.settings import BOOTSTRAP, Settings
from corda_lab.results.manifest import PlacementEntry

_HEALTH = re.compile(r"\((?:health: )?(starting|healthy|unhealthy)\)")
_EXITED = re.compile(r"(?:Exited|Restarting) \((\d+)\)")

RUN_LABEL = "org.cordalab.run"
"""Label of the containers of a load; its value is the id of the run."""


@dataclass(frozen=True)
class Service:
    """One container of the lab, as its engine reports it."""

    name: str
    container: Container
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


def service_format(label: str) -> str:
    """Return the format of ``docker ps`` that ``parse_services`` reads. ``label`` has the name of the service."""
    return f'{{{{.Names}}}}\t{{{{.State}}}}\t{{{{.Status}}}}\t{{{{.Label "{label}"}}}}'


def parse_services(text: str, engine: Engine, *, prefix: str = "") -> list[Service]:
    """Read the lines of containers that ``docker ps`` prints in ``service_format``. ``prefix`` is left out of names."""
    services = []
    for line in filter(None, text.splitlines()):
        container, state, status, name = line.split("\t")
        health, exited = _HEALTH.search(status), _EXITED.search(status)
        services.append(
            Service(
                name=name.removeprefix(prefix),
                container=Container(container, engine),
                state=state,
                health=health[1] if health else "",
                exit_code=int(exited[1]) if exited else 0,
            )
        )
    return services


@dataclass(frozen=True)
class LoadStart:
    """How a container that generates load is started, from the service ``locust``."""

    container: Container
    label: str
    """``NAME=VALUE``, by which it is found again."""
    arguments: tuple[str, ...]
    has_alias: bool = False
    """Whether other containers also find it under the name of the service, as Prometheus does."""


class Deployed(Protocol):
    """A lab that runs. Methods raise LabError if an engine does not answer."""

    @property
    def settings(self) -> Settings:
        """The settings, with the shape of the lab."""

    @property
    def project(self) -> str:
        """What the names of its volumes and of its load containers begin with."""

    @property
    def engines(self) -> Sequence[Engine]:
        """The engines on which it has containers, each once."""

    @property
    def load_label(self) -> str:
        """``NAME=VALUE``: a label that all its load containers have."""

    @property
    def placement(self) -> PlacementEntry | None:
        """What of it runs on which host; None if all of it runs on this machine."""

    @property
    def load_engines(self) -> Sequence[Engine]:
        """The engine of the process that drives a load, and those of the workers that the lab has for it."""

    @property
    def helper_image(self) -> str:
        """An image with Python that every one of its engines has."""

    @property
    def reader_image(self) -> str:
        """The lab's own image of a node, by its name on the engines of the nodes."""

    @property
    def rows_images(self) -> Sequence[str]:
        """Images with a shell, of which every engine with rows of a load has one."""

    def node_conf(self, node: str) -> str:
        """Return the settings of a node, with its passwords, whether it runs or not. ``node`` is its service."""

    def services(self) -> list[Service]:
        """Return the container of every service, also of those that have stopped."""

    def running_containers(self) -> dict[str, Container]:
        """Return the running containers by the name of their service. It takes less time than ``services``."""

    def web_ui(self) -> Container | None:
        """Return the running container of the service ``locust``; None if it does not run."""

    def shown(self, *arguments: str) -> str:
        """Return a command such as ``exec -T partya ls`` or ``logs partya`` as it can be typed."""

    def run(
        self, *arguments: str, check: bool = True, seconds_max: float = COMMAND_SECONDS_MAX
    ) -> CompletedProcess[str]:
        """Run ``exec -T SERVICE …`` and capture its output. Raises LabError if it fails, unless ``check`` is False."""

    def run_to_file(self, path: Path, *arguments: str, seconds_max: float = COMMAND_SECONDS_MAX) -> None:
        """Run ``exec -T SERVICE …`` and write its output, of any size, to ``path``. Raises LabError if it fails."""

    def log_since(self, service: str, since: str) -> str:
        """Return what a service has logged since a time (RFC 3339)."""

    def log_tails(self, lines: int) -> str:
        """Return the last lines of all services."""

    def recorded_image(self, service: str, name: str) -> str:
        """Return the name of the image of a service as manifests have it. ``name`` is the one that its engine has."""

    def load_containers(self) -> list[str]:
        """Return the names of the running containers that generate the load of a run."""

    def addresses(self) -> dict[Container, list[str]]:
        """Return the addresses of all containers that the lab has in its networks, those of a load too."""

    def neighbours(self, container: Container) -> list[str]:
        """Return the addresses of everything in the networks of a container, and of their gateways, sorted."""

    def start_again(self, service: Service) -> None:
        """Start a service that has ended. Raises LabError."""

    def restart(self, service: Service) -> None:
        """Let a service end as it should, and start it again. Raises LabError."""

    def start_load(self, load: LoadStart) -> None:
        """Start a container that generates load. Raises LabError."""


def is_here(lab: Deployed) -> bool:
    """Whether all of a lab runs on this machine. Only then do the counters of this machine tell of it."""
    return tuple(lab.engines) == (HERE,)


def hosts_of(lab: Deployed) -> tuple[str, ...]:
    """The hosts that a fault can cut off from the others; none if all of the lab runs on this machine."""
    return () if is_here(lab) else tuple(engine.name for engine in lab.engines)
