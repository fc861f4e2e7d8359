"""Files that services find in a common volume or in the checkout on one machine, as secrets and configs of Swarm.

No host of a swarm sees the volumes of another. Swarm hands every task the secrets and configs of its service. They
cannot be changed, so their names contain a hash of their content: a new content is a new name, and Swarm starts the
service again with it.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from corda_lab.errors import LabError
from corda_lab.swarm.project import Project, Service
from corda_lab.text import words

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
