"""A lab as it is deployed: what everything that measures, reads or breaks it asks of it.

``Compose`` is the lab on one machine, ``DeployedStack`` that on several hosts.
"""

import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from subprocess import CompletedProcess

from bare.commands import last_words
from corda_lab.clients.bridge import Bridge
from corda_lab.clients.prometheus import Prometheus
from corda_lab.errors import LabError
from corda_lab.lab import images
from corda_lab.lab.docker import (
    COMMAND_SECONDS_MAX,
    HERE,
    Container,
    addresses_in,
    ask,
    at,
    docker,
    docker_to_file,
    inspect_all,
    labelled,
    list_seconds_max,
    on_each,
    output_of,
)
from corda_lab.lab.settings import BOOTSTRAP, Settings
from corda_lab.results.manifest import PlacementEntry
from corda_lab.text import ui

RUN_LABEL = "org.cordalab.run"
"""Label of the containers of a load; its value is the id of the run."""
_HEALTH = re.compile(r"\((?:health: )?(starting|healthy|unhealthy)\)")
_EXITED = re.compile(r"(?:Exited|Restarting) \((\d+)\)")
_GONE = re.compile(r"no such container|is not running", re.IGNORECASE)


@dataclass(frozen=True)
class Service:
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


def parse_services(text: str, context: str = HERE, *, prefix: str = "") -> list[Service]:
    """Read the lines of containers that ``docker ps`` prints in ``service_format``. ``prefix`` is left out of names."""
    services = []
    for line in filter(None, text.splitlines()):
        container, state, status, name = line.split("\t")
        health, exited = _HEALTH.search(status), _EXITED.search(status)
        services.append(
            Service(
                name=name.removeprefix(prefix),
                container=Container(container, context),
                state=state,
                health=health[1] if health else "",
                exit_code=int(exited[1]) if exited else 0,
            )
        )
    return services


class Lab(ABC):
    """A lab that runs. Methods raise LabError if an engine does not answer."""

    labels: tuple[str, ...]
    """Labels of the containers of its services: ``NAME=VALUE``."""
    service_label: str
    """The label whose value is the name of a service, after ``prefix``."""
    prefix = ""
    network_filter: str
    """The filter of ``docker ps`` for all containers in its networks."""
    address_form: str
    """The format of ``docker inspect`` for the addresses of a container in them."""
    load_label: str
    """``NAME=VALUE``: a label that all its load containers have."""
    helper_image: str
    """An image with Python that every one of its engines has."""
    reader_image: str
    """The lab's own image of a node, by its name on the engines of the nodes."""

    def __init__(self, settings: Settings, project: str) -> None:
        self.settings = settings
        """The settings, with the shape of the lab."""
        self.project = project
        """What the names of its volumes and of its load containers begin with."""
        self.environment: dict[str, str] = {}
        """Variables that every command of Compose gets in addition to the environment of this process."""
        self._containers: dict[str, Container] = {}
        """The running containers that commands have run in, by their service."""

    @cached_property
    def bridge(self) -> Bridge:
        """The client of its bridge. Raises LabError if its address must not be published."""
        return Bridge(self.settings.bridge_url, self.settings.bridge_token)

    @cached_property
    def prometheus(self) -> Prometheus:
        return Prometheus(self.settings.url("PROMETHEUS_PORT"))

    def close(self) -> None:
        for name in ("bridge", "prometheus"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()

    @property
    def contexts(self) -> tuple[str, ...]:
        """The docker contexts of the engines on which it has containers, each once."""
        return (HERE,)

    @property
    def load_contexts(self) -> tuple[str, ...]:
        """That of the process that drives a load, and those of the workers that the lab has for it."""
        return (HERE,)

    @property
    def placement(self) -> PlacementEntry | None:
        """What of it runs on which host; None if all of it runs on this machine."""
        return None

    @property
    def is_here(self) -> bool:
        """Whether all of it runs on this machine. Only then do the counters of this machine tell of it."""
        return self.contexts == (HERE,)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that a fault can cut off from the others; none if all of the lab runs on this machine."""
        return () if self.is_here else self.contexts

    @abstractmethod
    def node_conf(self, node: str) -> str:
        """Return the settings of a node, with its passwords, whether it runs or not. ``node`` is its service."""

    def context_of(self, service: str) -> str | None:
        """Return the context of the engine of a service; None if the lab has no such service."""
        del service
        return HERE

    def on_each(self, *arguments: str) -> dict[str, str]:
        """Return what ``docker`` prints on each of its engines. Raises LabError."""
        return on_each(self.contexts, lambda on: ask(*arguments, on=on, seconds_max=list_seconds_max(on)))

    def services(self) -> list[Service]:
        """Return the container of every service, also of those that have stopped."""
        listing = ("ps", "--all", *labelled(*self.labels), f"--format={service_format(self.service_label)}")
        present: dict[str, Service] = {}
        for context, text in self.on_each(*listing).items():
            for service in parse_services(text, context, prefix=self.prefix):
                # An engine names its newest container first. Older ones are those of tasks that have ended.
                if self.context_of(service.name) == context:
                    present.setdefault(service.name, service)
        return list(present.values())

    def container(self, service: str, seconds_max: float = COMMAND_SECONDS_MAX) -> Container | None:
        """Return the running container of a service; None if there is none. Only its engine is asked."""
        context = self.context_of(service)
        if context is None:
            raise LabError(f"The lab {self.project} has no {service}", "`scripts/lab status` shows all.")
        filters = labelled(*self.labels, f"{self.service_label}={self.prefix}{service}")
        limit = min(seconds_max, list_seconds_max(context))
        names = docker("ps", *filters, "--format={{.Names}}", on=context, seconds_max=limit).stdout.split()
        return Container(names[0], context) if names else None

    @abstractmethod
    def logs_command(self, *services: str) -> str:
        """Return the command that shows the logs of services, as it can be typed."""

    def addresses(self) -> dict[Container, list[str]]:
        """Return the addresses of all containers that the lab has in its networks, those of a load too."""
        texts = self.on_each("ps", f"--filter={self.network_filter}", "--format={{.Names}}")
        containers = [Container(name, context) for context, text in texts.items() for name in text.split()]
        return {container: addresses_in(text) for container, text in inspect_all(containers, self.address_form).items()}

    @abstractmethod
    def neighbours(self, container: Container) -> list[str]:
        """Return the addresses of everything in the networks of a container, and of their gateways, sorted."""

    @abstractmethod
    def start_again(self, service: Service) -> None:
        """Start a service that has ended. Raises LabError."""

    @abstractmethod
    def restart(self, service: Service) -> None:
        """Let a service end as it should, and start it again. Raises LabError."""

    @abstractmethod
    def arguments(self, *arguments: str) -> list[str]:
        """Return what follows ``docker`` on the command line of a command of Compose that starts loads."""

    def shown(self, *arguments: str, on: str = HERE) -> str:
        """Return a command of Compose for the engine of a context, as it can be typed in the checkout."""
        return shlex.join(["docker", *at(on, *self.arguments(*arguments))])

    def start_load(
        self, container: Container, arguments: Sequence[str], *, label: str, has_alias: bool = False
    ) -> None:
        """Start a container that generates load, from the service ``locust``. Raises LabError.

        ``label`` is ``NAME=VALUE``, by which it is found again. With ``has_alias``, other containers also find it under
        the name of the service, as Prometheus does.
        """
        alias = ("--use-aliases",) if has_alias else ()
        options = ("--detach", "--no-deps", "--label", label, *alias, "--name", container.name)
        command = ("run", *options, "locust", *arguments)
        shown = self.shown(*command, on=container.context)
        if has_alias:
            ui.note(shown)
        done = docker(*self.arguments(*command), on=container.context, environment=self.environment)
        output_of(done, f"`{shown}` failed", "Run it by hand to see its whole output.")

    def replacer(self, service: str) -> str:
        """Return the service of Swarm that makes new containers of a service; empty if the same is started again."""
        del service
        return ""

    def running_containers(self) -> dict[str, Container]:
        # Not one that has ended and is about to be started again.
        return {
            service.name: service.container for service in self.services() if service.state in {"running", "paused"}
        }

    def load_containers(self) -> list[str]:
        """Return the names of the running containers that generate the load of a run."""
        texts = self.on_each("ps", *labelled(self.load_label, RUN_LABEL), "--format={{.Names}}")
        return [name for text in texts.values() for name in text.split()]

    def exec(
        self, service: str, *command: str, check: bool = True, seconds_max: float = COMMAND_SECONDS_MAX
    ) -> CompletedProcess[str]:
        """Run a command in the container of a service, and capture its output.

        Naming the container takes a part of ``seconds_max``, once. Raises LabError if the command fails, unless
        ``check`` is False.
        """
        done = self._exec(service, command, seconds_max)
        if done.returncode != 0 and _GONE.search(done.stderr):
            # It may have been replaced since, by a container of another name.
            self._containers.pop(service, None)
            done = self._exec(service, command, seconds_max)
        if check and done.returncode != 0:
            known = self._containers.get(service) or Container(service)
            words = last_words(done.stderr or done.stdout)
            remedy = "Run it by hand to see its whole output."
            raise LabError(f"`{known.shown('exec', *command)}` failed: {words}", remedy)
        return done

    def _exec(self, service: str, command: Sequence[str], seconds_max: float) -> CompletedProcess[str]:
        container = self._containers.get(service) or self.container(service, seconds_max)
        if container is None:
            return CompletedProcess(command, 1, "", f"{service} has no running container")
        self._containers[service] = container
        return container.inside(*command, seconds_max=seconds_max)

    def exec_to_file(self, path: Path, service: str, *command: str, seconds_max: float = COMMAND_SECONDS_MAX) -> None:
        """Run a command in the container of a service, and write its output, of any size, to ``path``.

        Raises LabError if it fails.
        """
        # Rows are read once, so a container that was replaced must not be known by its old name.
        container = self.container(service, seconds_max)
        if container is None:
            raise LabError(f"{service} has no running container", exit_code=1)
        docker_to_file(
            path,
            *("exec", container.name, *command),
            on=container.context,
            shown=container.shown("exec", *command),
            seconds_max=seconds_max,
        )

    def log_tails(self, lines: int) -> str:
        """Return the last lines of all services, each with the name of its service."""
        tails = ((service.name, service.container.log("--tail", str(lines))) for service in self.services())
        return "".join(f"{name} | {line}\n" for name, text in tails for line in text.splitlines())

    def recorded_image(self, service: str, name: str) -> str:
        """Return the name of the image of a service as manifests have it. ``name`` is the one that its engine has.

        It has no project in it, so that it is the same in every checkout. That of a stand-in is the official one.
        """
        del service
        return self.settings.recorded_name(images.official_name(self.settings, name))
