"""The folder of a stack on the machine that deploys it: ``.cache/swarm/<stack>``.

It contains the keys of all nodes, so only its user may open it.
"""

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from corda_lab import atomic, paths
from corda_lab.errors import LabError
from corda_lab.results.manifest import PlacedHost, PlacementEntry
from corda_lab.swarm.stack import SUFFIX


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
        return f"{self.stack}_default"

    @property
    def network(self) -> Path:
        return self.root / "bootstrapped"

    def node_conf(self, node: str) -> str:
        """Return the settings of a node as the bootstrapper has written them, with passwords. Raises LabError."""
        path = self.network / "nodes" / node / "node.conf"
        try:
            return path.read_text(encoding="utf-8")
        except OSError as error:
            remedy = "Write it again: `scripts/lab up --on PLACEMENT`."
            raise LabError(f"{path}: cannot be read ({error.strerror})", remedy) from None

    @property
    def stack_file(self) -> Path:
        return self.root / "stack.yaml"

    @property
    def deployment_file(self) -> Path:
        return self.root / "deployment.json"

    def create(self) -> None:
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root.chmod(0o700)

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
