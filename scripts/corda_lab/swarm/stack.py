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
    """One file of a service of the stack."""

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
    found: list[StackFile] = []
    written = project.bootstrapped
    for mount in service.get("volumes", ()):
        volume = mount.get("source", "")
        if mount["type"] == "bind":
            root = Path(volume)
            found += [config_file(project, service, path, _target(mount, root, path)) for path in _bound_files(root)]
        elif volume == PUBLIC_VOLUME:
            root = network.of(written[volume])
            found += [
                config_file(project, service, path, _target(mount, root, path))
                for path in sorted(root.iterdir())
                if path.is_file() and _is_config(path)
            ]
        elif volume in written:
            found += _private_files(name, mount, service, project, network.of(written[volume]))
    return found


def _private_files(
    name: str, mount: Mapping[str, Any], service: Service, project: Project, root: Path
) -> Iterator[StackFile]:
    for path in _files_in(root):
        target = _target(mount, root, path)
        if path.relative_to(root).parts[0] in PUBLIC_FOLDERS:
            yield config_file(project, service, path, target)
        else:
            yield _stack_file(Kind.SECRET, project, service, path, target, f"{name}-{path.name}", SECRET_MODE)


def config_file(project: Project, service: Service, path: Path, target: str) -> StackFile:
    """Return a file of this machine as a config that a service has at ``target``. Raises LabError."""
    mode = EXECUTABLE_MODE if path.stat().st_mode & 0o111 else CONFIG_MODE
    return _stack_file(Kind.CONFIG, project, service, path, target, path.name, mode)


def _stack_file(
    kind: Kind, project: Project, service: Service, path: Path, target: str, label: str, mode: int
) -> StackFile:
    if not _is_config(path):
        size = path.stat().st_size
        text = f"has {words.size(size)}, but a secret or config of Swarm has at most {words.size(BYTES_MAX)}"
        raise LabError(f"{path}: {text if size else 'is empty, which a secret or config of Swarm cannot be'}")
    of_project, of_file = NAME_LENGTHS
    words_of_name = (project.name[:of_project], re.sub(r"[^A-Za-z0-9_.-]", "-", label)[:of_file], _digest(path))
    return StackFile(kind, "-".join(words_of_name), path, target, service["user"], mode)


def _is_config(path: Path) -> bool:
    return 0 < path.stat().st_size <= BYTES_MAX


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:HASH_DIGITS]


def _files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _bound_files(source: Path) -> list[Path]:
    if not source.exists():
        raise LabError(f"{source}: does not exist", "Restore it from the repository.")
    return _files_in(source) if source.is_dir() else [source]


def _target(mount: Mapping[str, Any], root: Path, path: Path) -> str:
    """Return the path in the container of a file below ``root``, which the container has at the mount's target."""
    return str(PurePosixPath(mount["target"]) / path.relative_to(root).as_posix())


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
    """All that a stack is derived from."""

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
        found = files_of(self.name, self.service, self.derivation.project, self.derivation.network)
        if self._awaited:
            found.append(config_file(self.derivation.project, self.service, AWAIT, AWAIT_TARGET))
        return found

    @cached_property
    def image(self) -> StackImage:
        registry = self.derivation.fitted.placement.fields.registry
        return stack_image(self.name, self.service["image"], registry, self.derivation.network.image_hash)

    @cached_property
    def fragment(self) -> Fragment:
        """The service in the stack file. An empty list or mapping says nothing, and is left out."""
        if cores := self.service.get("cpuset"):
            text = f"{cores} are cores of one machine, and Swarm cannot bind a service to cores"
            remedy = "Leave it empty, and give the service a host of its own."
            raise LabError(problems=[Problem.of("NODE_CPUSET", text, remedy)])
        references = {kind.value: [file.reference for file in self.files if file.kind is kind] for kind in Kind}
        fragment = {
            "image": self.image.name,
            **self._command(),
            **{name: self.service.get(name) for name in CARRIED},
            "volumes": [*self._volumes(), *self._temporary_folders()],
            **references,
            "networks": [name for name in self.service.get("networks", ()) if name != PUBLISHED or self._ports],
            "ports": self._ports,
            "healthcheck": self._healthcheck(),
            "deploy": self._deploy(),
        }
        return {name: value for name, value in fragment.items() if value not in (None, [], {})}

    @cached_property
    def _awaited(self) -> list[str]:
        """The services of this shape that must be healthy before its command starts.

        The bootstrapper is none of them: its files are secrets and configs, which a task has before it starts.
        """
        running = self.derivation.project.running
        on = self.service.get("depends_on", {}).items()
        return [one for one, how in on if how["condition"] == "service_healthy" and one in running]

    def _command(self) -> Fragment:
        """Entrypoint and command. Swarm has no start order, so a service waits itself for those that it needs."""
        entrypoint, command = self.service.get("entrypoint"), self.service.get("command")
        if not self._awaited:
            return {"entrypoint": entrypoint, "command": command}
        if entrypoint is None:
            # What the image runs by itself is dropped with its entrypoint.
            own = self._command_of_image()
            entrypoint = [literal(word) for word in own.entrypoint]
            command = [literal(word) for word in own.command] if command is None else command
        awaiting = ["sh", AWAIT_TARGET, str(AWAIT_SECONDS_MAX), ",".join(self._awaited)]
        return {"entrypoint": [*awaiting, *entrypoint], "command": command}

    def _command_of_image(self) -> ImageCommand:
        found = self.derivation.commands.get(self.service["image"])
        if found is None or not (found.entrypoint or found.command):
            text = f"{self.name}: it is not known what the image {self.service['image']} runs"
            raise LabError(text, "Pull or build the image first.")
        return found

    def _volumes(self) -> list[Fragment]:
        """Its own volumes. What the bootstrapper writes, and folders of this machine, are secrets and configs."""
        own = self.derivation.project.bootstrapped
        mounts = [one for one in self.service.get("volumes", ()) if one["type"] == "volume"]
        kept = ("type", "source", "target", "read_only")
        return [{name: one[name] for name in kept if one.get(name)} for one in mounts if one.get("source") not in own]

    def _temporary_folders(self) -> list[Fragment]:
        """``docker stack deploy`` ignores the fields of Compose for them."""
        found = [self._temporary_folder(entry) for entry in self.service.get("tmpfs") or ()]
        if size := self.service.get("shm_size"):
            found.append({"type": "tmpfs", "target": "/dev/shm", "tmpfs": {"size": int(size)}})
        return found

    def _temporary_folder(self, entry: str) -> Fragment:
        target, _, options = entry.partition(":")
        mounted: Fragment = {"type": "tmpfs", "target": target}
        for option in filter(None, options.split(",")):
            if option.startswith("size="):
                mounted["tmpfs"] = {"size": parse_size(option.removeprefix("size="), option=f"{self.name}: tmpfs")}
            elif option not in _TMPFS_DEFAULTS:
                text = f"{self.name}: tmpfs: Swarm has no option {option!r}"
                raise LabError(text, "Remove it from compose.yaml.")
        return mounted

    @cached_property
    def _ports(self) -> list[Fragment]:
        return [
            {
                "mode": "host",
                "target": port["target"],
                "published": int(port["published"]),
                "protocol": port.get("protocol", "tcp"),
            }
            for port in self.service.get("ports") or ()
            if is_published(self.name, self.service, port)
        ]

    def _healthcheck(self) -> Fragment:
        check = self.service.get("healthcheck")
        return {**check, "retries": RETRIES} if check else {}

    def _deploy(self) -> Fragment:
        service, place = self.service, self.derivation.fitted.places[self.name]
        limits = {"memory": service.get("mem_limit"), "pids": service.get("pids_limit")}
        cpus = service.get("cpus") or 0
        limits["cpus"] = None if math.isclose(cpus, 0) else f"{cpus:g}"
        label = self.derivation.fitted.placement.fields.label
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
            "restart_policy": _restart_policy(service.get("restart", "no")),
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


def _restart_policy(restart: str) -> Fragment:
    """It is always given: Swarm restarts everything by default, a node that failed too."""
    if attempts := _RESTART.fullmatch(restart):
        return {"condition": "on-failure", "max_attempts": int(attempts[1])}
    return {"condition": {"no": "none", "on-failure": "on-failure"}.get(restart, "any")}


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

    def file_names(self, kind: Kind) -> frozenset[str]:
        return frozenset(self.document[kind.value])

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
    document["networks"] = {name: _network(name, project, fitted) for name in _used(services, "networks")}
    document["volumes"] = {name: {"name": f"{project.name}{SUFFIX}_{name}"} for name in _used(services, "volumes")}
    files = [file for derived in derived_services for file in derived.files]
    for kind in Kind:
        document[kind.value] = {file.name: _definition(file) for file in files if file.kind is kind}
    images = tuple(dict.fromkeys(derived.image for derived in derived_services))
    return Stack(f"{project.name}{SUFFIX}", document, images)


def _used(services: Mapping[str, Fragment], field: str) -> list[str]:
    """Return the names of the networks, or of the volumes, that any service has, each once."""
    entries = [entry for service in services.values() for entry in service.get(field, ())]
    names = [entry.get("source") if isinstance(entry, dict) else entry for entry in entries]
    return list(dict.fromkeys(filter(None, names)))


def _network(name: str, project: Project, fitted: Fitted) -> Fragment:
    """Return an overlay network. The options of the project's networks are those of bridges on one machine."""
    options: Fragment = {"driver_opts": {"encrypted": "true"}} if fitted.placement.fields.is_encrypted else {}
    is_internal = project.networks[name].get("internal", False)
    # Containers of the manager that are in no service lead to the ports of services.
    return {"driver": "overlay", "attachable": True, "internal": is_internal, **options}


def _definition(file: StackFile) -> Fragment:
    return {"name": file.name, "file": literal(str(file.path))}
