"""Translates ``docker compose config`` and a placement into the file for ``docker stack deploy``.

A field of a service that is not named here is an error: nobody has decided what becomes of it. On one machine, services
find files in a common volume and in the checkout. No host of a swarm sees the volumes of another. So the image of a
service contains its public files, and its keys and passwords are secrets of Swarm. The names of both have a hash of
their content: a new content is a new name, and Swarm starts the service again with it.
"""

import hashlib
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from corda_lab.errors import LabError
from corda_lab.lab.settings import BOOTSTRAP, parse_size
from corda_lab.paths import ROOT
from corda_lab.swarm.placement import GENERATOR, NODE_NAMES, Fitted, Service
from corda_lab.text import words
from lab_workload.problems import Location, Problem, in_file_order

Fragment = dict[str, Any]
"""A part of the stack file."""
NAMESPACE = "com.docker.stack.namespace"
"""Swarm's label of everything that belongs to a stack."""

LABEL = "org.cordalab.stack"
"""Label of what the lab makes for a stack with the engine alone; its value is the name of the stack."""

CARRIED = (
    *("hostname", "labels", "environment", "dns", "stop_grace_period"),
    *("user", "read_only", "cap_drop", "logging"),
)
"""Fields of services that Swarm has, too."""
LEFT_OUT = ("build", "profiles", "ports", "cpu_shares", "security_opt")
"""Images are built before, Compose has chosen the services of the shape, and the manager leads to the ports. ``docker
stack deploy`` ignores the rest: the placement keeps cores free, ``no-new-privileges`` is a setting of the engines."""
LOAD_LEFT_OUT = ("build", "profiles", "depends_on", "ports", "command")
"""Fields of the load generator that the containers of a load do without: they have other arguments, and no port."""

Known = Mapping[str, "Known | None"]
"""The fields of a mapping, or of each in a list, with those of their values; None if these may be any."""
EACH = "*"
"""Stands for all names."""
SERVICE: Known = {
    **dict.fromkeys((*CARRIED, *LEFT_OUT)),
    # What is put elsewhere, or refused.
    **dict.fromkeys(("image", "entrypoint", "command", "depends_on", "restart")),
    **dict.fromkeys(("shm_size", "mem_limit", "cpus", "cpuset", "pids_limit", "tmpfs")),
    "healthcheck": dict.fromkeys(("test", "interval", "timeout", "start_period", "retries")),
    "volumes": {
        **dict.fromkeys(("type", "source", "target", "read_only")),
        "volume": {},
        "bind": {"create_host_path": None},
    },
    "logging": dict.fromkeys(("driver", "options")),
    "networks": {EACH: {}},
}
PROJECT: Known = {
    "name": None,
    "services": {EACH: SERVICE},
    "networks": {EACH: dict.fromkeys(("name", "driver_opts", "ipam", "internal"))},
    "volumes": {EACH: {"name": None}},
}

VERSION = "3.9"
"""The form of the file. Engines before 25 want it."""
SUFFIX = "-swarm"
"""What the names of the stack and of its volumes have after the project's. On a machine that also has a lab of its own,
the stack must not open the ledgers of that lab."""
AWAIT = ROOT / "deploy" / "swarm" / "await-services"
AWAIT_TARGET = "/opt/corda-lab/await-services"
AWAIT_SECONDS_MAX = 900
"""As long as the health check of a node waits for its start."""
RETRIES = 1_000_000
"""Failed health checks until Swarm stops a container: months. A node that collects garbage, or a bridge that has lost a
node, is not to be stopped in the middle of a load."""
NETWORK = "default"
_RESTART = re.compile(r"on-failure:(\d+)")
_TMPFS_DEFAULTS = {"exec", "mode=1777"}
"""Options of a temporary file system that are those of Swarm, or without which it can do."""
PUBLIC_VOLUME = "network"
"""The volume of the bootstrapper that every service may read. Each of its other volumes is one service's secret."""
PUBLIC_FOLDERS = ("node-infos",)
"""Folders of private volumes whose files are public: what nodes tell one another anyway."""
RUN_CORDAPPS = frozenset((*NODE_NAMES, "bridge"))
"""Services that load what is in folders of the public volume: CorDapps, agents and programs."""
BYTES_MAX = 500 * 1024 - 1
"""Swarm's limit of a secret."""
HASH_DIGITS = 12
NAME_LENGTHS = (24, 24)
"""Characters of a name that its stack and its file may take. With the hash they stay below Swarm's limit of 64."""
SECRET_MODE = 0o600


@dataclass(frozen=True)
class Project:
    """The Compose project of a shape."""

    name: str
    services: Mapping[str, Service]
    networks: Mapping[str, Mapping[str, Any]]

    @property
    def stack(self) -> str:
        return f"{self.name}{SUFFIX}"

    @property
    def running(self) -> dict[str, Service]:
        """The services that keep running: all but the one that creates the network."""
        return {name: service for name, service in self.services.items() if name != BOOTSTRAP}

    @property
    def bootstrapped(self) -> dict[str, str]:
        """The volumes that the bootstrapper writes → their places in its container."""
        mounts = self.services[BOOTSTRAP]["volumes"] if BOOTSTRAP in self.services else ()
        return {mount["source"]: mount["target"] for mount in mounts if mount["type"] == "volume"}

    def without(self, names: Collection[str]) -> "Project":
        return replace(self, services={name: service for name, service in self.services.items() if name not in names})


def parse_project(config: Mapping[str, Any]) -> Project:
    """Read the output of ``docker compose config``. Raises LabError that names each field that is not known."""
    # Extensions (x-) are the anchors of compose.yaml, already in their places.
    own = {name: value for name, value in config.items() if not name.startswith("x-")}
    if problems := [*_unknown(("compose.yaml",), own, PROJECT)]:
        remedy = "Add it to scripts/corda_lab/swarm/stack.py, and what becomes of it on Swarm."
        raise LabError(problems=in_file_order(problems), remedy=remedy)
    return Project(config["name"], config["services"], config["networks"])


def _unknown(place: Location, value: Any, known: Known) -> Iterator[Problem]:
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _unknown((*place, index), entry, known)
        return
    for name, inner in (value or {}).items():
        if name not in known and EACH not in known:
            yield Problem("has no rule for Docker Swarm", (*place, name))
        elif (fields := known.get(name, known.get(EACH))) is not None:
            yield from _unknown((*place, name), inner, fields)


@dataclass(frozen=True)
class Secret:
    """A file that only one service may read."""

    name: str
    """Its name in Swarm, with the hash of its content."""
    path: Path
    target: str
    """Its path in the container."""
    user: str
    """``uid:gid`` of the container, which owns it."""

    @property
    def reference(self) -> dict[str, str | int]:
        uid, _, gid = self.user.partition(":")
        return {"source": self.name, "target": self.target, "uid": uid, "gid": gid or "0", "mode": SECRET_MODE}


@dataclass(frozen=True)
class Files:
    """What a service finds in the checkout and in volumes of the bootstrapper: path in its container → path here."""

    public: dict[str, Path]
    private: dict[str, Path]


def files_of(name: str, project: Project, network: Path) -> Files:
    """Return the files of a service. Raises LabError if there are none where it has some.

    ``network`` is a copy of what the bootstrapper has written: ``network/``, ``nodes/<node>/``, ``secrets/<service>/``.
    """
    files = Files({}, {})
    for mount in project.services[name].get("volumes", ()):
        volume = mount.get("source", "")
        if mount["type"] == "bind":
            root = Path(volume)
        elif volume in project.bootstrapped:
            root = network / project.bootstrapped[volume].lstrip("/")
        else:
            continue
        paths = [root] if root.is_file() else sorted(path for path in root.rglob("*") if path.is_file())
        if not paths:
            raise LabError(f"{root}: there are no files, but {name} has them", "Restore them from the repository.")
        is_private = mount["type"] == "volume" and volume != PUBLIC_VOLUME
        for path in paths:
            inside = path.relative_to(root)
            target = str(PurePosixPath(mount["target"]) / inside.as_posix())
            if is_private and inside.parts[0] not in PUBLIC_FOLDERS:
                files.private[target] = path
            elif volume != PUBLIC_VOLUME or path.parent == root or name in RUN_CORDAPPS:
                files.public[target] = path
    return files


def secret_of(project: Project, owner: str, path: Path, target: str) -> Secret:
    """Return a file as the secret of a service. Raises LabError if Swarm cannot take it."""
    size = path.stat().st_size
    if not 0 < size <= BYTES_MAX:
        text = f"has {words.size(size)}, but a secret of Swarm has at most {words.size(BYTES_MAX)}"
        raise LabError(f"{path}: {text if size else 'is empty, which a secret of Swarm cannot be'}")
    of_project, of_file = NAME_LENGTHS
    label = re.sub(r"[^A-Za-z0-9_.-]", "-", f"{owner}-{path.name}")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:HASH_DIGITS]
    name = f"{project.name[:of_project]}-{label[:of_file]}-{digest}"
    return Secret(name, path, target, project.services[owner]["user"])


@dataclass(frozen=True)
class StackImage:
    """An image of the stack, and what it is made from."""

    source: str
    """The image that a lab on one machine uses."""
    name: str
    """Its name in the registry, with a hash of the files."""
    files: Mapping[str, Path]
    """The files that are added to it: path in the image → path here."""


def is_executable(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o111)


@cache
def _digest(path: Path, _modified_ns: int, _size: int) -> str:
    """Return the hash of a file in this state. All nodes have the same CorDapps, which are large."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def stack_image(source: str, registry: str, files: Mapping[str, Path]) -> StackImage:
    digest = hashlib.sha256()
    for target, path in sorted(files.items()):
        state = path.stat()
        content = _digest(path, state.st_mtime_ns, state.st_size)
        digest.update(f"{target} {content} {is_executable(path)}\n".encode())
    # A copy has another digest in another registry.
    name = source.partition("@")[0]
    host, slash, path_below = name.partition("/")
    if slash and (":" in host or "." in host or host == "localhost"):
        # A path may contain dots, but no colon.
        name = f"{host.replace(':', '-')}/{path_below}"
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        repository, tag = name, "latest"
    return StackImage(source, f"{registry}/{repository}:{tag}-{digest.hexdigest()[:HASH_DIGITS]}", files)


@dataclass(frozen=True)
class ImageCommand:
    """What an image runs by itself: ``docker image inspect`` shows it."""

    entrypoint: Sequence[str] = ()
    command: Sequence[str] = ()


@dataclass(frozen=True)
class Derivation:
    project: Project
    fitted: Fitted
    network: Path
    """A copy of what the bootstrapper has written."""
    commands: Mapping[str, ImageCommand]
    """What images run by themselves, by the name that Compose has for them. Only those that must wait are needed."""


@dataclass(frozen=True)
class DerivedService:
    """One service on its way into the stack. Raises LabError if Swarm cannot do what it asks for."""

    name: str
    derivation: Derivation

    @property
    def service(self) -> Service:
        return self.derivation.project.services[self.name]

    @cached_property
    def _files(self) -> Files:
        return files_of(self.name, self.derivation.project, self.derivation.network)

    @cached_property
    def secrets(self) -> list[Secret]:
        project = self.derivation.project
        return [secret_of(project, self.name, path, target) for target, path in self._files.private.items()]

    @cached_property
    def image(self) -> StackImage:
        awaiting = {AWAIT_TARGET: AWAIT} if self._awaited else {}
        registry = self.derivation.fitted.placement.fields.registry
        return stack_image(self.service["image"], registry, {**self._files.public, **awaiting})

    @cached_property
    def fragment(self) -> Fragment:
        """The service in the stack file. An empty list or mapping says nothing, and is left out."""
        service = self.service
        if cores := service.get("cpuset"):
            text = f"{cores} are cores of one machine, and Swarm cannot bind a service to cores"
            remedy = "Leave it empty, and give the service a host of its own."
            raise LabError(problems=[Problem.of("NODE_CPUSET", text, remedy)])
        check = service.get("healthcheck")
        fragment = {
            "image": self.image.name,
            **self._command(),
            **{name: service.get(name) for name in CARRIED},
            "volumes": [*self.volumes, *self._temporary_folders()],
            "secrets": [secret.reference for secret in self.secrets],
            "networks": [NETWORK],
            "healthcheck": {**check, "retries": RETRIES} if check else {},
            "deploy": self._deploy(),
        }
        return {name: value for name, value in fragment.items() if value not in (None, [], {})}

    @cached_property
    def _awaited(self) -> list[str]:
        """The services of this shape that must be healthy before its command starts.

        The bootstrapper is none of them: a task has its files before it starts.
        """
        running, on = self.derivation.project.running, self.service.get("depends_on", {})
        return [name for name, how in on.items() if how["condition"] == "service_healthy" and name in running]

    def _command(self) -> Fragment:
        """Entrypoint and command. Swarm has no start order, so a service waits itself for those that it needs."""
        entrypoint, command = self.service.get("entrypoint"), self.service.get("command")
        if not self._awaited:
            return {"entrypoint": entrypoint, "command": command}
        if entrypoint is None:
            # What the image runs by itself is dropped with its entrypoint.
            own = self.derivation.commands.get(self.service["image"], ImageCommand())
            if not (own.entrypoint or own.command):
                text = f"{self.name}: it is not known what the image {self.service['image']} runs"
                raise LabError(text, "Pull or build the image first.")
            entrypoint = [literal(word) for word in own.entrypoint]
            command = [literal(word) for word in own.command] if command is None else command
        awaiting = ["sh", AWAIT_TARGET, str(AWAIT_SECONDS_MAX), ",".join(self._awaited)]
        return {"entrypoint": [*awaiting, *entrypoint], "command": command}

    @cached_property
    def volumes(self) -> list[Fragment]:
        """Its own volumes, without those that the bootstrapper writes, and without folders of this machine."""
        own = ("type", "source", "target", "read_only")
        return [
            {name: mount[name] for name in own if mount.get(name)}
            for mount in self.service.get("volumes", ())
            if mount["type"] == "volume" and mount.get("source") not in self.derivation.project.bootstrapped
        ]

    def _temporary_folders(self) -> Iterator[Fragment]:
        """``docker stack deploy`` ignores the fields of Compose for them."""
        for entry in self.service.get("tmpfs") or ():
            target, _, options = entry.partition(":")
            folder: Fragment = {"type": "tmpfs", "target": target}
            for option in filter(None, options.split(",")):
                if option.startswith("size="):
                    folder["tmpfs"] = {"size": parse_size(option.removeprefix("size="), option=f"{self.name}: tmpfs")}
                elif option not in _TMPFS_DEFAULTS:
                    text = f"{self.name}: tmpfs: Swarm has no option {option!r}"
                    raise LabError(text, "Remove it from compose.yaml.")
            yield folder
        if size := self.service.get("shm_size"):
            yield {"type": "tmpfs", "target": "/dev/shm", "tmpfs": {"size": int(size)}}

    def _deploy(self) -> Fragment:
        service, place = self.service, self.derivation.fitted.places[self.name]
        limits = {"memory": service.get("mem_limit"), "pids": service.get("pids_limit")}
        cpus = service.get("cpus") or 0
        limits["cpus"] = None if math.isclose(cpus, 0) else f"{cpus:g}"
        label, restart = self.derivation.fitted.placement.fields.label, service.get("restart", "no")
        # It is always given: Swarm restarts everything by default, a node that failed too.
        policy: Fragment = {"condition": {"no": "none", "on-failure": "on-failure"}.get(restart, "any")}
        if attempts := _RESTART.fullmatch(restart):
            policy = {"condition": "on-failure", "max_attempts": int(attempts[1])}
        return {
            "mode": "replicated",
            "replicas": 1,
            # Names lead straight to the tasks. The other mode needs IPVS in the kernel of every host.
            "endpoint_mode": "dnsrr",
            "placement": {"constraints": [f"node.labels.{label} == {place.host}"]},
            "resources": {
                "limits": {name: value for name, value in limits.items() if value},
                "reservations": {"cpus": f"{place.cores:g}", "memory": str(place.memory)},
            },
            "restart_policy": policy,
            # Two containers must never open the same ledger.
            "update_config": {"order": "stop-first"},
        }


def literal(text: str) -> str:
    """Return a text that the Docker client reads as it is: it takes words after a ``$`` for variables."""
    return text.replace("$", "$$")


@dataclass(frozen=True)
class Stack:
    """A stack, and what has to be there before it can be deployed."""

    name: str
    document: Mapping[str, Any]
    """The stack file."""
    load_document: Mapping[str, Any]
    """A Compose file for the containers of a load on any host: Swarm has no one-off containers."""
    images: tuple[StackImage, ...]
    """Every image once, in the order of the services."""

    @property
    def services(self) -> tuple[str, ...]:
        return tuple(self.document["services"])

    def image_of(self, service: str) -> str:
        return str(self.document["services"][service]["image"])

    @property
    def text(self) -> str:
        header = "# Derived from compose.yaml and a placement; docs/scale-out.md says how. Do not edit it.\n"
        header += f"#   docker stack deploy --compose-file FILE {self.name}\n"
        return header + yaml.dump(dict(self.document), Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    """Writes equal lists in full. PyYAML would write aliases, which hide what a service has."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def derive(derivation: Derivation) -> Stack:
    """Derive the stack. Raises LabError if Swarm cannot do what the project asks for."""
    project, fitted = derivation.project, derivation.fitted
    derived = {name: DerivedService(name, derivation) for name in project.running}
    services = {name: service.fragment for name, service in derived.items()}
    # The options of the project's networks are those of bridges on one machine.
    options: Fragment = {"driver_opts": {"encrypted": "true"}} if fitted.placement.fields.is_encrypted else {}
    document = {
        "version": VERSION,
        "services": services,
        "networks": {
            NETWORK: {
                "driver": "overlay",
                # Containers of the manager that are in no service lead to the ports of services.
                "attachable": True,
                "internal": project.networks[NETWORK].get("internal", False),
                **options,
            }
        },
        "volumes": {
            mount["source"]: {"name": f"{project.stack}_{mount['source']}"}
            for service in derived.values()
            for mount in service.volumes
            if "source" in mount
        },
        "secrets": {
            secret.name: {"name": secret.name, "file": literal(str(secret.path))}
            for service in derived.values()
            for secret in service.secrets
        },
    }
    images = {service.image.name: service.image for service in derived.values()}
    return Stack(project.stack, document, load_document(derived[GENERATOR]), tuple(images.values()))


def load_document(generator: DerivedService) -> Fragment:
    """Return the Compose file of a load: the service of the generator, with image, overlay and volumes of the stack.

    A plain container can have what ``docker stack deploy`` ignores.
    """
    stack, service = generator.derivation.project.stack, generator.service
    own = {name: value for name, value in service.items() if name not in LOAD_LEFT_OUT}
    # On a host without the service, a volume is new. `lab down --volumes` finds it by its label.
    volumes = {
        mount["source"]: {"name": f"{stack}_{mount['source']}", "labels": {NAMESPACE: stack}}
        for mount in generator.volumes
    }
    container = {
        **own,
        "image": generator.image.name,
        "labels": {**(service.get("labels") or {}), LABEL: stack},
        "healthcheck": {"disable": True},
        "networks": {NETWORK: None},
        "volumes": generator.volumes,
    }
    return {
        "name": f"{stack}-load",
        "services": {GENERATOR: container},
        "networks": {NETWORK: {"external": True, "name": f"{stack}_{NETWORK}"}},
        "volumes": volumes,
    }
