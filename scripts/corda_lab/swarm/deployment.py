"""A stack that runs: the record of it on the manager, and the lab that it is."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from bare.commands import come_true
from corda_lab.errors import LabError
from corda_lab.lab import shape
from corda_lab.lab.docker import (
    COMMAND_SECONDS_MAX,
    READER,
    Container,
    addresses_in,
    ask,
    docker,
    inspect_all,
    labelled,
    on_each,
    replace,
    replace_ended,
)
from corda_lab.lab.lab import LIST_SECONDS_MAX, Lab, Service, parse_services, service_format
from corda_lab.lab.settings import Settings
from corda_lab.results.manifest import PlacedHost, PlacementEntry
from corda_lab.swarm.deploy import LABEL, NAMESPACE, has_left_swarm, services_of
from corda_lab.swarm.folder import Deployment, StackFolder
from corda_lab.swarm.hosts import facts_of
from corda_lab.swarm.load_container import SERVICE, LoadTemplate, copy_files, read_stack_file

CREATE_SECONDS_MAX = 60.0
"""All rows of a worker may be hundreds of megabytes."""
STOP_SECONDS_MAX = 150.0
"""How long a container may take to end before Swarm makes another one: as for the engine of one machine."""
_CPU = re.compile(r"model name\s*:\s*(.+)")
SERVICE_LABEL = "com.docker.swarm.service.name"


class DeployedStack(Lab):
    """A stack that runs on several hosts. Methods raise LabError that names the host whose engine does not answer."""

    def __init__(self, settings: Settings, folder: StackFolder, known: Deployment) -> None:
        """``settings`` are with the shape of the stack."""
        super().__init__(settings, folder.stack)
        self.folder = folder
        self.known = known

    @cached_property
    def contexts(self) -> tuple[str, ...]:
        """Those of its hosts; of the hosts of earlier deployments, too, if it is not known to run."""
        names = self.known.hosts
        if self.known.is_running:
            names = [*self.known.services.values(), *self.known.workers]
        return tuple(dict.fromkeys(names))

    @property
    def load_contexts(self) -> tuple[str, ...]:
        return (self._host_of(SERVICE), *self.known.workers)

    @property
    def load_label(self) -> str:
        return f"{LABEL}={self.project}"

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The stack file. Raises LabError if it is gone."""
        try:
            return read_stack_file(self.folder.stack_file.read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError):
            text = f"{self.folder.stack_file}: the file of the stack that runs cannot be read"
            raise LabError(text, "Write it again: `scripts/lab up --on PLACEMENT`.") from None

    @property
    def helper_image(self) -> str:
        return self.known.helper_image

    @property
    def reader_image(self) -> str:
        return str(self.document["services"][self.settings.nodes[0].lower()]["image"])

    def node_conf(self, node: str) -> str:
        return self.folder.node_conf(node)

    @cached_property
    def placement(self) -> PlacementEntry:
        """What runs on which host, and what each host is, as its engine says. Raises LabError."""
        return self.known.entry(on_each(self.contexts, self._described))

    def _described(self, host: str) -> PlacedHost:
        facts = facts_of(host)
        read = ("run", "--rm", *READER, f"--label={self.load_label}", "--entrypoint=grep", self.helper_image)
        # Some processors have no name, and a host that was asked for it too late has one all the same.
        named = _CPU.search(docker(*read, "--max-count=1", "model name", "/proc/cpuinfo", on=host).stdout)
        return PlacedHost(
            cores=facts.cores,
            memory_bytes=facts.memory,
            engine=facts.version,
            kernel=facts.kernel,
            architecture=facts.architecture,
            cpu_model=named[1].strip() if named else None,
            services=sorted(name for name, where in self.known.services.items() if where == host),
            workers=self.known.workers.count(host),
        )

    def services(self) -> list[Service]:
        listing = ("ps", "--all", *labelled(f"{NAMESPACE}={self.project}"), f"--format={service_format(SERVICE_LABEL)}")
        texts = on_each(self.contexts, lambda host: ask(*listing, on=host, seconds_max=LIST_SECONDS_MAX))
        present: dict[str, Service] = {}
        for host, text in texts.items():
            for service in parse_services(text, host, prefix=f"{self.project}_"):
                # An engine names its newest container first. Older ones are those of tasks that have ended.
                if self.known.services.get(service.name) == host:
                    present.setdefault(service.name, service)
        return [present[name] for name in self.known.services if name in present]

    def container(self, service: str, seconds_max: float = COMMAND_SECONDS_MAX) -> Container | None:
        """Return the running container of a service; None if there is none. Only its host is asked."""
        host, limit = self._host_of(service), min(seconds_max, LIST_SECONDS_MAX)
        listing = ("ps", *labelled(f"{SERVICE_LABEL}={self.project}_{service}"), "--format={{.Names}}")
        names = ask(*listing, on=host, seconds_max=limit).split()
        return Container(names[0], host) if names else None

    def _host_of(self, service: str) -> str:
        if service not in self.known.services:
            raise LabError(f"The stack {self.project} has no {service}", "`scripts/lab status` shows all.")
        return self.known.services[service]

    def logs_command(self, *services: str) -> str:
        return " ".join(["docker", "service", "logs", *map(self.replacer, services)])

    def recorded_image(self, service: str, name: str) -> str:
        return super().recorded_image(service, self.known.images.get(service, name))

    def addresses(self) -> dict[Container, list[str]]:
        """Return the addresses of all containers in the overlay of the stack, those of a load too."""
        listing = ("ps", f"--filter=network={self.folder.overlay}", "--format={{.Names}}")
        texts = on_each(self.contexts, lambda host: ask(*listing, on=host, seconds_max=LIST_SECONDS_MAX))
        containers = [Container(name, host) for host, text in texts.items() for name in text.split()]
        # Addresses in networks of one host, such as that of published ports, may be in use on another one, too.
        form = f'{{{{with index .NetworkSettings.Networks "{self.folder.overlay}"}}}}{{{{.IPAddress}}}}{{{{end}}}}'
        return {container: addresses_in(text) for container, text in inspect_all(containers, form).items()}

    def neighbours(self, container: Container) -> list[str]:
        """Return the addresses of all other containers in the overlay of the stack, sorted."""
        others = {other: addresses for other, addresses in self.addresses().items() if other != container}
        return sorted({address for addresses in others.values() for address in addresses})

    def replacer(self, service: str) -> str:
        return f"{self.project}_{service}"

    def start_again(self, service: Service) -> None:
        """Let Swarm make a new container of a service that has ended, unless it is about to. Raises LabError."""
        replace_ended(self.replacer(service.name))

    def restart(self, service: Service) -> None:
        """Let Swarm end the container of a service, and make a new one. Wait until it has ended. Raises LabError.

        Otherwise the old one, which still answers, would be taken for the new one.
        """
        replacer = self.replacer(service.name)
        replace(replacer)
        if not come_true(lambda: has_ended(service.container), seconds_max=STOP_SECONDS_MAX):
            text = f"{service.name} did not end within {STOP_SECONDS_MAX:.0f} s"
            raise LabError(text, f"`docker service ps {replacer}` shows its tasks.", exit_code=1)

    def start_load(
        self,
        container: Container,
        arguments: Sequence[str],
        *,
        label: str,
        has_alias: bool = False,
    ) -> None:
        """Create a container on its host, give it its files, and start it. Raises LabError."""
        host, template = container.context, LoadTemplate(self.project, self.document)
        create = template.create(container.name, arguments, label=label, has_alias=has_alias)
        ask(*create, on=host, seconds_max=CREATE_SECONDS_MAX, environment=template.environment)
        with TemporaryDirectory(prefix="load-files-") as folder:
            for place, target in enumerate(template.folders):
                copies = copy_files(template.files, target, Path(folder) / str(place))
                ask("cp", f"{copies}/.", f"{container.name}:{target}", on=host, seconds_max=CREATE_SECONDS_MAX)
        ask("start", container.name, on=host, seconds_max=CREATE_SECONDS_MAX)


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


def has_ended(container: Container) -> bool:
    return container.inspected("{{.State.Status}}").strip() not in ("running", "paused")
