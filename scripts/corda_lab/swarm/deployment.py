"""A stack that runs: the record of it on the manager, and its services, as everything that measures asks for them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from bare.commands import come_true, last_words
from corda_lab.errors import LabError
from corda_lab.lab import images, replacing, shape
from corda_lab.lab.deployed import RUN_LABEL, LoadStart, Service, parse_services, service_format
from corda_lab.lab.engine import (
    COMMAND_SECONDS_MAX,
    READER,
    Container,
    Engine,
    addresses_in,
    inspect_all,
    on_each,
    run_docker_to_file,
)
from corda_lab.lab.settings import Settings
from corda_lab.results.manifest import PlacedHost, PlacementEntry
from corda_lab.swarm.deploy import LABEL, NAMESPACE, has_left_swarm, services_of
from corda_lab.swarm.folder import Deployment, StackFolder
from corda_lab.swarm.hosts import facts_of
from corda_lab.swarm.load_container import SERVICE, LoadTemplate, copy_files, create_arguments, environment_of

LIST_SECONDS_MAX = 30.0
CREATE_SECONDS_MAX = 60.0
"""All rows of a worker may be hundreds of megabytes."""
EXEC = ("exec", "-T")
_CPU = re.compile(r"model name\s*:\s*(.+)")
SERVICE_LABEL = "com.docker.swarm.service.name"


@dataclass(frozen=True)
class DeployedStack:
    """A stack that runs on several hosts. Methods raise LabError that names the host whose engine does not answer."""

    settings: Settings
    """With the shape of the stack."""
    folder: StackFolder
    known: Deployment
    _containers: dict[str, Container] = field(default_factory=dict)
    """The running containers that commands have run in, by their service."""

    @property
    def project(self) -> str:
        return self.folder.stack

    @cached_property
    def engines(self) -> tuple[Engine, ...]:
        """The engines of its hosts; of those of earlier deployments, too, if it is not known to run."""
        names = self.known.hosts
        if self.known.is_running:
            names = [*self.known.services.values(), *self.known.workers]
        return tuple(Engine(name) for name in dict.fromkeys(names))

    @property
    def load_engines(self) -> tuple[Engine, ...]:
        return tuple(Engine(host) for host in (self._host_of(SERVICE), *self.known.workers))

    @property
    def load_label(self) -> str:
        return f"{LABEL}={self.project}"

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The stack file. Raises LabError if it is gone."""
        try:
            document: Mapping[str, Any] = yaml.safe_load(self.folder.stack_file.read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError):
            text = f"{self.folder.stack_file}: the file of the stack that runs cannot be read"
            raise LabError(text, "Write it again: `scripts/lab up --on PLACEMENT`.") from None
        return document

    @property
    def load_template(self) -> LoadTemplate:
        return LoadTemplate(self.project, self.document)

    @property
    def helper_image(self) -> str:
        return self.known.helper_image

    @property
    def reader_image(self) -> str:
        return self._image_of(self.settings.nodes[0].lower())

    @property
    def rows_images(self) -> tuple[str, ...]:
        return (self.helper_image,)

    def node_conf(self, node: str) -> str:
        return self.folder.node_conf(node)

    def _image_of(self, service: str) -> str:
        return str(self.document["services"][service]["image"])

    @cached_property
    def placement(self) -> PlacementEntry:
        """What runs on which host, and what each host is, as its engine says. Raises LabError."""
        found = on_each(self.engines, self._described)
        return self.known.entry(found)

    def _described(self, engine: Engine) -> PlacedHost:
        facts = facts_of(engine)
        read = ("run", "--rm", *READER, f"--label={self.load_label}", "--entrypoint=grep", self.helper_image)
        # Some processors have no name, and a host that was asked for it too late has one all the same.
        named = _CPU.search(engine.run(*read, "--max-count=1", "model name", "/proc/cpuinfo").stdout)
        return PlacedHost(
            cores=facts.cores,
            memory_bytes=facts.memory,
            engine=facts.version,
            kernel=facts.kernel,
            architecture=facts.architecture,
            cpu_model=named[1].strip() if named else None,
            services=sorted(name for name, host in self.known.services.items() if host == engine.name),
            workers=self.known.workers.count(engine.name),
        )

    def services(self) -> list[Service]:
        return self._listed("--all")

    def running_containers(self) -> dict[str, Container]:
        return {service.name: service.container for service in self._listed()}

    def _listed(self, *options: str) -> list[Service]:
        listing = (
            "ps",
            *options,
            f"--filter=label={NAMESPACE}={self.project}",
            f"--format={service_format(SERVICE_LABEL)}",
        )
        said = on_each(self.engines, lambda engine: engine.checked(*listing, seconds_max=LIST_SECONDS_MAX))
        found: dict[str, Service] = {}
        for engine in self.engines:
            for service in parse_services(said[engine.name], engine, prefix=f"{self.project}_"):
                # An engine names its newest container first. Older ones are those of tasks that have ended.
                if self.known.services.get(service.name) == engine.name:
                    found.setdefault(service.name, service)
        return [found[name] for name in self.known.services if name in found]

    def _container_of(self, service: str) -> Container | None:
        """Return the running container of a service; None if there is none. Raises LabError."""
        if service not in self._containers:
            engine = Engine(self._host_of(service))
            listing = ("ps", f"--filter=label={SERVICE_LABEL}={self.project}_{service}", "--format={{.Names}}")
            names = engine.checked(*listing, seconds_max=LIST_SECONDS_MAX).split()
            if not names:
                return None
            self._containers[service] = Container(names[0], engine)
        return self._containers[service]

    def web_ui(self) -> Container | None:
        """Return the running container of the service ``locust``; None if it does not run. Only its host is asked."""
        # Rows are read once, so a container that was replaced must not be known by its old name.
        self._containers.pop(SERVICE, None)
        return self._container_of(SERVICE)

    def _host_of(self, service: str) -> str:
        if service not in self.known.services:
            raise LabError(f"The stack {self.project} has no {service}", "`scripts/lab status` shows all.")
        return self.known.services[service]

    def shown(self, *arguments: str) -> str:
        """Return a command such as ``exec -T partya ls`` or ``logs partya`` as it can be typed on the manager."""
        if arguments[:2] == EXEC:
            known = self._containers.get(arguments[2])
            name = known.name if known else f"{self.project}_{arguments[2]}…"
            return " ".join(["docker", *Engine(self._host_of(arguments[2])).arguments("exec", name, *arguments[3:])])
        if arguments[:1] == ("logs",):
            return " ".join(["docker", "service", "logs", *(f"{self.project}_{name}" for name in arguments[1:])])
        return " ".join(["docker", *arguments])

    def run(
        self, *arguments: str, check: bool = True, seconds_max: float = COMMAND_SECONDS_MAX
    ) -> CompletedProcess[str]:
        done = self._run(*arguments, seconds_max=seconds_max)
        if done.returncode != 0 and is_gone(done.stderr):
            # Swarm has replaced the container since, by one of another name.
            self._containers.pop(arguments[2], None)
            done = self._run(*arguments, seconds_max=seconds_max)
        if check and done.returncode != 0:
            words = last_words(done.stderr or done.stdout)
            raise LabError(f"`{self.shown(*arguments)}` failed: {words}", "Run it by hand to see its whole output.")
        return done

    def _run(self, *arguments: str, seconds_max: float) -> CompletedProcess[str]:
        service = _service_in(arguments)
        container = self._container_of(service)
        if container is None:
            return CompletedProcess(arguments, 1, "", f"{service} has no running container")
        return container.inside(*arguments[3:], seconds_max=seconds_max)

    def run_to_file(self, path: Path, *arguments: str, seconds_max: float = COMMAND_SECONDS_MAX) -> None:
        service = _service_in(arguments)
        # Rows are read once, so a container that was replaced must not be known by its old name.
        self._containers.pop(service, None)
        container = self._container_of(service)
        if container is None:
            raise LabError(f"`{self.shown(*arguments)}` failed: {service} has no running container", exit_code=1)
        command = container.engine.arguments("exec", container.name, *arguments[3:])
        run_docker_to_file(path, command, shown=self.shown(*arguments), seconds_max=seconds_max)

    def log_since(self, service: str, since: str) -> str:
        found = next((one.container for one in self.services() if one.name == service), None)
        return log_of(found, "--since", since) if found else ""

    def log_tails(self, lines: int) -> str:
        found = []
        for service in self.services():
            text = log_of(service.container, "--tail", str(lines))
            found += [f"{service.name} | {line}\n" for line in text.splitlines()]
        return "".join(found)

    def recorded_image(self, service: str, name: str) -> str:
        source = self.known.images.get(service, name)
        return self.settings.recorded_name(images.official_name(self.settings, source))

    def load_containers(self) -> list[str]:
        filters = (f"--filter=label={self.load_label}", f"--filter=label={RUN_LABEL}")
        listing = ("ps", *filters, "--format={{.Names}}")
        said = on_each(self.engines, lambda engine: engine.checked(*listing, seconds_max=LIST_SECONDS_MAX))
        return [name for text in said.values() for name in text.split()]

    def addresses(self) -> dict[Container, list[str]]:
        """Return the addresses of all containers in the overlay of the stack, those of a load too."""
        listing = ("ps", f"--filter=network={self.folder.overlay}", "--format={{.Names}}")
        said = on_each(self.engines, lambda engine: engine.checked(*listing, seconds_max=LIST_SECONDS_MAX))
        found = [Container(name, engine) for engine in self.engines for name in said[engine.name].split()]
        # Addresses in networks of one host, such as that of published ports, may be in use on another one, too.
        form = f'{{{{with index .NetworkSettings.Networks "{self.folder.overlay}"}}}}{{{{.IPAddress}}}}{{{{end}}}}'
        return {one: addresses_in(text) for one, text in inspect_all(found, form).items()}

    def neighbours(self, container: Container) -> list[str]:
        """Return the addresses of all other containers in the overlay of the stack, sorted."""
        found = self.addresses()
        return sorted({address for one in found if one != container for address in found[one]})

    def start_again(self, service: Service) -> None:
        """Let Swarm make a new container of a service that has ended, unless it is about to. Raises LabError."""
        replacing.replace_ended(replacing.replacer_of(self, service.name))

    def restart(self, service: Service) -> None:
        """Let Swarm end the container of a service, and make a new one. Wait until it has ended. Raises LabError.

        Otherwise the old one, which still answers, would be taken for the new one.
        """
        replacer = replacing.replacer_of(self, service.name)
        replacing.replace(replacer)
        if not come_true(partial(has_ended, service.container), seconds_max=replacing.STOP_SECONDS_MAX):
            words = f"{service.name} did not end within {replacing.STOP_SECONDS_MAX:.0f} s"
            raise LabError(words, f"`docker service ps {replacer}` shows its tasks.", exit_code=1)

    def start_load(self, load: LoadStart) -> None:
        """Create a container on its host, give it its files, and start it. Raises LabError."""
        engine, template = load.container.engine, self.load_template
        create = create_arguments(template, load)
        engine.checked(*create, seconds_max=CREATE_SECONDS_MAX, environment=environment_of(template))
        with TemporaryDirectory(prefix="load-files-") as folder:
            for place, target in enumerate(template.folders):
                copies = copy_files(template.files, target, Path(folder) / str(place))
                engine.checked("cp", f"{copies}/.", f"{load.container.name}:{target}", seconds_max=CREATE_SECONDS_MAX)
        engine.checked("start", load.container.name, seconds_max=CREATE_SECONDS_MAX)


def find(settings: Settings) -> DeployedStack | None:
    """Return the stack of a Compose project, if it runs, with its shape. Without a record, no engine is asked.

    Raises LabError if the engine does not answer.
    """
    folder = StackFolder.of(settings.project)
    known = folder.known()
    services = services_present(folder) if known and known.is_running else {}
    if known is None or not services:
        return None
    values = shape.parse_labels("\n".join(f"{name} {label}" for name, label in services.items()))
    return DeployedStack(settings.with_values(values), folder, known)


def services_present(folder: StackFolder) -> dict[str, str]:
    """Return what ``services_of`` says of a stack that was deployed, whether it is ready or not. Raises LabError.

    An engine that has left its swarm has none, whatever the record says.
    """
    if folder.known() is None:
        return {}
    try:
        return services_of(folder.stack)
    except LabError as error:
        if has_left_swarm():
            return {}
        remedy = f"Start the engine. If the stack {folder.stack} is gone for good, delete {folder.deployment_file}."
        raise LabError(problems=error.problems, remedy=remedy, exit_code=1) from None


def former(settings: Settings) -> DeployedStack | None:
    """Return the stack that was deployed last, to collect what is in its volumes; None if there was none.

    It need not run: it was stopped, or its last start failed. Raises LabError.
    """
    folder = StackFolder.of(settings.project)
    known = folder.known()
    return None if known is None else DeployedStack(settings, folder, known)


def _service_in(arguments: Sequence[str]) -> str:
    if tuple(arguments[:2]) != EXEC:
        raise ValueError(f"only `exec -T` runs in a stack, not {json.dumps(list(arguments))}")
    return arguments[2]


def is_gone(detail: str) -> bool:
    return "no such container" in detail.lower() or "is not running" in detail.lower()


def has_ended(container: Container) -> bool:
    return container.inspected("{{.State.Status}}").strip() not in ("running", "paused")


def log_of(container: Container, *options: str) -> str:
    done = container.engine.run("logs", *options, container.name)
    return done.stdout + done.stderr
