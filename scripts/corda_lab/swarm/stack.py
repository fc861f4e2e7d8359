"""Translates ``docker compose config`` and a placement into the file for ``docker stack deploy``.

A field of a service that is not named here is an error: nobody has decided what becomes of it. Files that services find
in a common volume or in the checkout on one machine become secrets and configs, because no host of a swarm sees the
volumes of another. They cannot be changed, so their names contain a hash of their content: a new content is a new name,
and Swarm starts the service again with it.
"""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from corda_lab.errors import LabError
from corda_lab.lab.settings import parse_size
from corda_lab.paths import ROOT
from corda_lab.swarm.placement import NODE_NAMES, Fitted
from corda_lab.swarm.project import CARRIED, Project, Service
from corda_lab.text import words
from lab_workload.problems import Problem

Fragment = dict[str, Any]
"""A part of the stack file."""

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
PUBLISHED = "published"
"""The network of services with ports. Without a published port, nothing needs it."""
ANY_ADDRESS = ("0.0.0.0", "::")
LOOPBACK = ("127.0.0.1", "::1")
TOKEN = "BRIDGE_TOKEN"
_RESTART = re.compile(r"on-failure:(\d+)")
_TMPFS_DEFAULTS = {"exec", "mode=1777"}
"""Options of a temporary file system that are those of Swarm, or without which it can do."""
PUBLIC_VOLUME = "network"
"""The volume of the bootstrapper that every service may read. Each of its other volumes is one service's secret."""
PUBLIC_FOLDERS = ("node-infos",)
"""Folders of private volumes whose files are public: what nodes tell one another anyway."""
BYTES_MAX = 500 * 1024 - 1
"""Swarm's limit of a secret, and of a config of older engines."""
HASH_DIGITS = 12
NAME_LENGTHS = (24, 24)
"""Characters of a name that its stack and its file may take. With the hash they stay below Swarm's limit of 64."""
SECRET_MODE = 0o600
CONFIG_MODE = 0o644
EXECUTABLE_MODE = 0o755
"""Nobody can write to them in a container. But a node copies some into its volume with their mode, and replaces the
copies when it starts again."""
RUN_CORDAPPS = frozenset((*NODE_NAMES, "bridge"))
"""Services that load CorDapps and agents from the public volume, and so need images that contain them."""


class Kind(Enum):
    """How Swarm keeps a file. The values are the fields of the stack file."""

    SECRET = "secrets"
    """Encrypted, and only in the memory of the hosts whose tasks have it."""
    CONFIG = "configs"


@dataclass(frozen=True)
class StackFile:
    kind: Kind
    name: str
    """The name of the secret or config in Swarm, with the hash of its content."""
    path: Path
    """Where its content is on the machine that makes the stack."""
    target: str
    """Its path in the container."""
    user: str
    """``uid:gid`` of the container, which owns it if it is a secret."""
    mode: int

    @property
    def reference(self) -> dict[str, str | int]:
        uid, _, gid = self.user.partition(":")
        owner: dict[str, str | int] = {"uid": uid, "gid": gid or "0"} if self.kind is Kind.SECRET else {}
        return {"source": self.name, "target": self.target, **owner, "mode": self.mode}


@dataclass(frozen=True)
class NetworkFiles:
    """A copy of what the bootstrapper has written: ``network/``, ``nodes/<node>/`` and ``secrets/<service>/``."""

    root: Path

    def of(self, place: str) -> Path:
        """Return the folder of a volume that the bootstrapper has at ``place``. Raises LabError if it is empty."""
        folder = self.root / place.lstrip("/")
        if not folder.is_dir() or not any(folder.iterdir()):
            raise LabError(
                f"{folder}: there are no files of the bootstrapper",
                f"Run the bootstrapper in this shape, and copy {place} of its container there.",
            )
        return folder

    @property
    def image_files(self) -> tuple[Path, ...]:
        """The public files that are in images made for the stack, sorted: CorDapps, programs, agents.

        These are all in folders, and what is too large for a config, or empty, which Swarm does not take.
        """
        root = self.of(f"/{PUBLIC_VOLUME}")
        return tuple(path for path in _files_in(root) if path.parent != root or not _is_config(path))

    @cached_property
    def image_hash(self) -> str:
        digest = hashlib.sha256()
        root = self.of(f"/{PUBLIC_VOLUME}")
        for path in self.image_files:
            digest.update(f"{path.relative_to(root).as_posix()}\n{_digest(path)}\n".encode())
        return digest.hexdigest()[:HASH_DIGITS]


def files_of(name: str, service: Service, project: Project, network: NetworkFiles) -> list[StackFile]:
    """Return what a service finds in the checkout and in volumes of the bootstrapper. Raises LabError."""
    files: list[StackFile] = []
    written = project.bootstrapped
    for mount in service.get("volumes", ()):
        volume = mount.get("source", "")
        if mount["type"] == "bind":
            root = Path(volume)
            if not root.exists():
                raise LabError(f"{root}: does not exist", "Restore it from the repository.")
            paths = _files_in(root) if root.is_dir() else [root]
        elif volume in written:
            root = network.of(written[volume])
            paths = _files_in(root)
            if volume == PUBLIC_VOLUME:
                paths = [path for path in paths if path.parent == root and _is_config(path)]
        else:
            continue
        is_private = volume in written and volume != PUBLIC_VOLUME
        for path in paths:
            inside = path.relative_to(root)
            target = str(PurePosixPath(mount["target"]) / inside.as_posix())
            owner = name if is_private and inside.parts[0] not in PUBLIC_FOLDERS else ""
            files.append(stack_file(project, service, path, target, owner=owner))
    return files


def stack_file(project: Project, service: Service, path: Path, target: str, *, owner: str = "") -> StackFile:
    """Return a file of this machine that a service has at ``target``: a secret of its ``owner``, or a config.

    Raises LabError if Swarm cannot take it.
    """
    if not _is_config(path):
        size = path.stat().st_size
        text = f"has {words.size(size)}, but a secret or config of Swarm has at most {words.size(BYTES_MAX)}"
        raise LabError(f"{path}: {text if size else 'is empty, which a secret or config of Swarm cannot be'}")
    of_project, of_file = NAME_LENGTHS
    label = re.sub(r"[^A-Za-z0-9_.-]", "-", f"{owner}-{path.name}" if owner else path.name)
    name = "-".join((project.name[:of_project], label[:of_file], _digest(path)))
    if owner:
        return StackFile(Kind.SECRET, name, path, target, service["user"], SECRET_MODE)
    mode = EXECUTABLE_MODE if path.stat().st_mode & 0o111 else CONFIG_MODE
    return StackFile(Kind.CONFIG, name, path, target, service["user"], mode)


def _is_config(path: Path) -> bool:
    return 0 < path.stat().st_size <= BYTES_MAX


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:HASH_DIGITS]


def _files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@dataclass(frozen=True)
class ImageCommand:
    """What an image runs by itself: ``docker image inspect`` shows it."""

    entrypoint: Sequence[str] = ()
    command: Sequence[str] = ()


@dataclass(frozen=True)
class StackImage:
    """An image of the stack, and what it is made from."""

    source: str
    """The image that a lab on one machine uses."""
    name: str
    """Its name in the registry."""
    has_network_files: bool
    """Whether the public files of the network are added to it."""


def stack_image(service: str, source: str, registry: str, network_hash: str) -> StackImage:
    """Return the image of a service of the stack.

    An image with files of the network has their hash in its tag, so that new CorDapps are a new image.
    """
    # A copy has another digest in another registry.
    name = source.partition("@")[0]
    host, slash, path = name.partition("/")
    if slash and (":" in host or "." in host or host == "localhost"):
        # A path may contain dots, but no colon.
        name = f"{host.replace(':', '-')}/{path}"
    if service not in RUN_CORDAPPS:
        return StackImage(source, f"{registry}/{name}", has_network_files=False)
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        repository, tag = name, "latest"
    return StackImage(source, f"{registry}/{repository}:{tag}-{network_hash}", has_network_files=True)


@dataclass(frozen=True)
class Derivation:
    project: Project
    fitted: Fitted
    network: NetworkFiles
    commands: Mapping[str, ImageCommand]
    """What images run by themselves, by the name that Compose has for them. Only those that must wait are needed."""


@dataclass(frozen=True)
class DerivedService:
    """One service on its way into the stack. Raises LabError if Swarm cannot do what it asks for."""

    name: str
    service: Service
    derivation: Derivation

    @cached_property
    def files(self) -> list[StackFile]:
        project = self.derivation.project
        files = files_of(self.name, self.service, project, self.derivation.network)
        return [*files, stack_file(project, self.service, AWAIT, AWAIT_TARGET)] if self._awaited else files

    @cached_property
    def image(self) -> StackImage:
        registry = self.derivation.fitted.placement.fields.registry
        return stack_image(self.name, self.service["image"], registry, self.derivation.network.image_hash)

    @cached_property
    def fragment(self) -> Fragment:
        """The service in the stack file. An empty list or mapping says nothing, and is left out."""
        service = self.service
        if cores := service.get("cpuset"):
            text = f"{cores} are cores of one machine, and Swarm cannot bind a service to cores"
            remedy = "Leave it empty, and give the service a host of its own."
            raise LabError(problems=[Problem.of("NODE_CPUSET", text, remedy)])
        ports = [
            {
                "mode": "host",
                "target": port["target"],
                "published": int(port["published"]),
                "protocol": port.get("protocol", "tcp"),
            }
            for port in service.get("ports") or ()
            if is_published(self.name, service, port)
        ]
        check = service.get("healthcheck")
        fragment = {
            "image": self.image.name,
            **self._command(),
            **{name: service.get(name) for name in CARRIED},
            "volumes": [*self._volumes(), *self._temporary_folders()],
            **{kind.value: [file.reference for file in self.files if file.kind is kind] for kind in Kind},
            "networks": [name for name in service.get("networks", ()) if name != PUBLISHED or ports],
            "ports": ports,
            "healthcheck": {**check, "retries": RETRIES} if check else {},
            "deploy": self._deploy(),
        }
        return {name: value for name, value in fragment.items() if value not in (None, [], {})}

    @cached_property
    def _awaited(self) -> list[str]:
        """The services of this shape that must be healthy before its command starts.

        The bootstrapper is none of them: its files are secrets and configs, which a task has before it starts.
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

    def _volumes(self) -> Iterator[Fragment]:
        """Its own volumes. What the bootstrapper writes, and folders of this machine, are secrets and configs."""
        for mount in self.service.get("volumes", ()):
            if mount["type"] == "volume" and mount.get("source") not in self.derivation.project.bootstrapped:
                yield {name: mount[name] for name in ("type", "source", "target", "read_only") if mount.get(name)}

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


def is_published(name: str, service: Service, port: Mapping[str, Any]) -> bool:
    """Return whether a port is meant for other machines. Raises LabError if Swarm cannot publish it so."""
    address = port.get("host_ip", "")
    if address in LOOPBACK:
        return False
    if address and address not in ANY_ADDRESS:
        text = f"{name}: Swarm publishes a port on all addresses of a host, not only on {address}"
        raise LabError(text, "Use 127.0.0.1, which publishes nothing, or 0.0.0.0.")
    if not (service.get("environment") or {}).get(TOKEN):
        text = f"is empty, but other machines are to reach {name}"
        remedy = "Set it to 16 or more random characters, or BRIDGE_ADDRESS=127.0.0.1."
        raise LabError(problems=[Problem.of(TOKEN, text, remedy)])
    return True


@dataclass(frozen=True)
class Stack:
    """A stack, and what has to be there before it can be deployed."""

    name: str
    document: Mapping[str, Any]
    """The stack file."""
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
    derived_services = [DerivedService(name, service, derivation) for name, service in project.running.items()]
    services = {derived.name: derived.fragment for derived in derived_services}
    document: Fragment = {"version": VERSION, "services": {**services}}
    # The options of the project's networks are those of bridges on one machine.
    options: Fragment = {"driver_opts": {"encrypted": "true"}} if fitted.placement.fields.is_encrypted else {}
    document["networks"] = {
        # Containers of the manager that are in no service lead to the ports of services.
        name: {
            "driver": "overlay",
            "attachable": True,
            "internal": project.networks[name].get("internal", False),
            **options,
        }
        for name in _used(services, "networks")
    }
    document["volumes"] = {name: {"name": f"{project.name}{SUFFIX}_{name}"} for name in _used(services, "volumes")}
    files = [file for derived in derived_services for file in derived.files]
    for kind in Kind:
        document[kind.value] = {
            file.name: {"name": file.name, "file": literal(str(file.path))} for file in files if file.kind is kind
        }
    images = tuple(dict.fromkeys(derived.image for derived in derived_services))
    return Stack(f"{project.name}{SUFFIX}", document, images)


def _used(services: Mapping[str, Fragment], field: str) -> list[str]:
    """Return the names of the networks, or of the volumes, that any service has, each once."""
    entries = [entry for service in services.values() for entry in service.get(field, ())]
    names = [entry.get("source") if isinstance(entry, dict) else entry for entry in entries]
    return list(dict.fromkeys(filter(None, names)))
