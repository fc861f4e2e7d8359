"""A stack that runs: its folder and the record of it on the manager, what Swarm says of it, and the lab that it is."""

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from bare.commands import come_true
from corda_lab import atomic, paths
from corda_lab.errors import LabError
from corda_lab.lab import shape
from corda_lab.lab.docker import (
    POLL_SECONDS_MAX,
    READER,
    Container,
    ask,
    docker,
    labelled,
    on_each,
    output_of,
    replace,
    replace_ended,
)
from corda_lab.lab.lab import Lab, Service
from corda_lab.lab.settings import Settings
from corda_lab.results.manifest import PlacedHost, PlacementEntry
from corda_lab.swarm.hosts import facts_of
from corda_lab.swarm.placement import GENERATOR
from corda_lab.swarm.stack import LABEL, NAMESPACE, NETWORK, SUFFIX, Stack

SERVICE_LABEL = "com.docker.swarm.service.name"
RUNNING = "running"
STOP_SECONDS_MAX = 150.0
"""How long a container may take to end before Swarm makes another one: as for the engine of one machine."""
_CPU = re.compile(r"model name\s*:\s*(.+)")


class Deployment(BaseModel):
    """What of a stack runs where. It is written before anything starts."""

    placement: str
    """As it was given: a name, or the path of a file."""
    text: str
    """The text of the placement file."""
    overlay: Literal["encrypted", "plain"]
    services: dict[str, str]
    """The host of each service."""
    workers: list[str]
    """The host of each worker of the load generator, in the order of their indexes, which begin at 1."""
    images: dict[str, str]
    """The image of each service as a lab on one machine has it."""
    helper_image: str
    """The image of the load generator in the registry, which every host has."""
    reader_image: str
    """The image of the nodes in the registry."""
    hosts: list[str]
    """Every host on which something of the stack may be, of earlier deployments, too."""
    is_running: bool = False
    """Whether it has started. It is False again as soon as it is about to be started or stopped."""

    def entry(self, hosts: Mapping[str, PlacedHost]) -> PlacementEntry:
        return PlacementEntry(
            name=named(self.placement),
            sha256=hashlib.sha256(self.text.encode()).hexdigest(),
            text=self.text,
            overlay=self.overlay,
            hosts=dict(hosts),
        )


def named(placement: str) -> str:
    """Return a placement as it was given, but a file of this checkout from its root on, as others have it."""
    path = Path(placement)
    return str(path.relative_to(paths.ROOT)) if path.is_relative_to(paths.ROOT) else placement


@dataclass(frozen=True)
class StackFolder:
    """The folder of a stack on the machine that deploys it: ``.cache/swarm/<stack>``.

    It contains the keys of all nodes, so only its user may open it.
    """

    stack: str
    """The name of the stack. Compose projects and volumes that belong to it begin with it."""

    @classmethod
    def of(cls, project: str) -> "StackFolder":
        return cls(f"{project}{SUFFIX}")

    @property
    def root(self) -> Path:
        return paths.CACHE / "swarm" / self.stack

    @property
    def overlay(self) -> str:
        """The network of all its containers."""
        return f"{self.stack}_{NETWORK}"

    @property
    def network(self) -> Path:
        """A copy of what the bootstrapper has written."""
        return self.root / "bootstrapped"

    @property
    def stack_file(self) -> Path:
        return self.root / "stack.yaml"

    @property
    def load_file(self) -> Path:
        return self.root / "load.json"

    @property
    def deployment_file(self) -> Path:
        return self.root / "deployment.json"

    def create(self) -> None:
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root.chmod(0o700)

    def write(self, stack: Stack) -> None:
        self.create()
        atomic.write_text(self.stack_file, stack.text)
        atomic.write_text(self.load_file, json.dumps(stack.load_document, indent=2) + "\n")

    def note(self, deployment: Deployment) -> None:
        self.create()
        known = self.known()
        hosts = dict.fromkeys([*(known.hosts if known else ()), *deployment.hosts])
        content = deployment.model_copy(update={"hosts": list(hosts)})
        atomic.write_text(self.deployment_file, content.model_dump_json(indent=2) + "\n")

    def note_ended(self) -> None:
        """Write that the stack is not known to run. What ran where is kept."""
        if known := self.known():
            self.note(known.model_copy(update={"is_running": False}))

    def known(self) -> Deployment | None:
        """Return what runs where, or ran last; None if nothing did. Raises LabError if it cannot be read."""
        try:
            return Deployment.model_validate_json(self.deployment_file.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError):
            remedy = "Delete it, and write it again: `scripts/lab up --on PLACEMENT`."
            raise LabError(f"{self.deployment_file}: is damaged", remedy) from None

    def forget(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)


@dataclass(frozen=True)
class Task:
    """The newest task of a service: its container on a host, or what is to become one."""

    id: str
    state: str
    """Swarm's word: ``pending``, ``preparing``, ``starting``, ``running``, ``failed`` and others."""
    host: str = ""
    """The hostname of its node; empty as long as there is none."""
    trouble: str = ""
    """Why it does not run; empty if there is nothing to say."""

    def __str__(self) -> str:
        return self.state + (f" on {self.host}" if self.host else "") + (f": {self.trouble}" if self.trouble else "")


def tasks_of(stack: str) -> dict[str, Task]:
    """Return the newest task of each service of a stack that has one. Raises LabError."""
    done = docker("stack", "ps", "--no-trunc", "--format={{json .}}", stack, seconds_max=POLL_SECONDS_MAX)
    if done.returncode != 0 and "nothing found in stack" not in done.stderr:
        output_of(done, f"`docker stack ps {stack}` failed")
    tasks: dict[str, Task] = {}
    for entry in map(json.loads, done.stdout.splitlines()):
        # The name of a task is that of its service, with a number. The newest comes first.
        service = entry["Name"].removeprefix(f"{stack}_").rpartition(".")[0]
        state, _, _ = entry["CurrentState"].lower().partition(" ")
        tasks.setdefault(service, Task(entry["ID"], state, entry["Node"], entry["Error"].strip('"')))
    return tasks


def services_of(stack: str) -> dict[str, str]:
    """Return the label with the shape of each service of a stack; empty if it does not exist. Raises LabError."""
    listing = ("service", "ls", "--format={{.Name}}", *labelled(f"{NAMESPACE}={stack}"))
    names = ask(*listing, seconds_max=POLL_SECONDS_MAX).split()
    form = f'{{{{.Spec.Name}}}}\t{{{{index .Spec.TaskTemplate.ContainerSpec.Labels "{shape.LABEL}"}}}}'
    text = ask("service", "inspect", f"--format={form}", *names, seconds_max=POLL_SECONDS_MAX) if names else ""
    labels = dict(line.split("\t") for line in text.splitlines())
    return {name.removeprefix(f"{stack}_"): labels[name] for name in sorted(labels)}


class DeployedStack(Lab):
    """A stack that runs on several hosts. Methods raise LabError that names the host whose engine does not answer."""

    def __init__(self, settings: Settings, folder: StackFolder, known: Deployment) -> None:
        """``settings`` are with the shape of the stack."""
        super().__init__(settings, folder.stack)
        self.folder = folder
        self.known = known
        self.helper_image = known.helper_image
        self.reader_image = known.reader_image
        self.load_label = f"{LABEL}={self.project}"
        self.labels = (f"{NAMESPACE}={self.project}",)
        self.service_label = SERVICE_LABEL
        self.prefix = f"{self.project}_"
        self.network_filter = f"network={folder.overlay}"
        # Addresses in networks of one host, such as that of published ports, may be in use on another one, too.
        in_overlay = f'{{{{with index .NetworkSettings.Networks "{folder.overlay}"}}}}'
        self.address_form = in_overlay + "{{.IPAddress}}{{end}}"

    @cached_property
    def contexts(self) -> tuple[str, ...]:
        """Those of its hosts; of the hosts of earlier deployments, too, if it is not known to run."""
        names = self.known.hosts
        if self.known.is_running:
            names = [*self.known.services.values(), *self.known.workers]
        return tuple(dict.fromkeys(names))

    @property
    def load_contexts(self) -> tuple[str, ...]:
        return (self.known.services[GENERATOR], *self.known.workers)

    def node_conf(self, node: str) -> str:
        path = self.folder.network / "nodes" / node / "node.conf"
        try:
            return path.read_text(encoding="utf-8")
        except OSError as error:
            remedy = "Write it again: `scripts/lab up --on PLACEMENT`."
            raise LabError(f"{path}: cannot be read ({error.strerror})", remedy) from None

    @cached_property
    def placement(self) -> PlacementEntry:
        """What runs on which host, and what each host is, as its engine says. Raises LabError."""
        return self.known.entry(on_each(self.contexts, self._described))

    def _described(self, host: str) -> PlacedHost:
        facts = facts_of(host)
        read = ("run", "--rm", *READER, f"--label={self.load_label}", "--entrypoint=grep", self.helper_image)
        # Some processors have no name, and a host that was asked for it too late has one all the same.
        named_cpu = _CPU.search(docker(*read, "--max-count=1", "model name", "/proc/cpuinfo", on=host).stdout)
        return PlacedHost(
            cores=facts.cores,
            memory_bytes=facts.memory,
            engine=facts.version,
            kernel=facts.kernel,
            architecture=facts.architecture,
            cpu_model=named_cpu[1].strip() if named_cpu else None,
            services=sorted(name for name, where in self.known.services.items() if where == host),
            workers=self.known.workers.count(host),
        )

    def context_of(self, service: str) -> str | None:
        return self.known.services.get(service)

    def logs_command(self, *services: str) -> str:
        return " ".join(["docker", "service", "logs", *map(self.replacer, services)])

    def recorded_image(self, service: str, name: str) -> str:
        return super().recorded_image(service, self.known.images.get(service, name))

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

    def arguments(self, *arguments: str) -> list[str]:
        file = self.folder.load_file
        if not file.exists():
            text = f"{file}: is gone, but the load generator of the stack is started from it"
            raise LabError(text, "Write it again: `scripts/lab up --on PLACEMENT`.")
        return ["compose", "--file", str(file), "--project-name", f"{self.project}-load", *arguments]


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
        state = docker("info", "--format", "{{.Swarm.LocalNodeState}}", seconds_max=POLL_SECONDS_MAX).stdout
        if state.strip() == "inactive":
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
