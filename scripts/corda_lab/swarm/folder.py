"""The folder of a stack on the machine that deploys it: ``.cache/swarm/<stack>``.

It contains the keys of all nodes, so only its user may open it.
"""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from corda_lab import atomic, paths
from corda_lab.errors import LabError
from corda_lab.results.manifest import PlacedHost, PlacementEntry
from corda_lab.swarm.stack import SUFFIX


class Record(BaseModel):
    """What was deployed last, and where something of it may be. It is written before anything starts."""

    placement: str
    """As it was given: a name, or the path of a file."""
    hosts: list[str]


class Deployment(BaseModel):
    """What runs where, of a stack that has started. It is written when the stack runs, and deleted before it ends."""

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
    tools: str
    """The image of the tools, which every host has."""

    def entry(self, hosts: Mapping[str, PlacedHost]) -> PlacementEntry:
        """Return what manifests have of it."""
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
    """The folder of one stack, with the names of everything in it."""

    stack: str
    """The name of the stack. Compose projects and volumes that belong to it begin with it."""

    @classmethod
    def of(cls, project: str) -> "StackFolder":
        """Return the folder of the stack of a Compose project."""
        return cls(f"{project}{SUFFIX}")

    @property
    def root(self) -> Path:
        return paths.CACHE / "swarm" / self.stack

    @property
    def network(self) -> Path:
        """A copy of what the bootstrapper has written."""
        return self.root / "bootstrapped"

    def node_conf(self, node: str) -> str:
        """Return the settings of a node as the bootstrapper has written them, with passwords. Raises LabError."""
        path = self.network / "nodes" / node / "node.conf"
        try:
            return path.read_text(encoding="utf-8")
        except OSError as error:
            remedy = "Write it again: `scripts/lab up --placement NAME`."
            raise LabError(f"{path}: cannot be read ({error.strerror})", remedy) from None

    @property
    def stack_file(self) -> Path:
        return self.root / "stack.yaml"

    @property
    def _record_file(self) -> Path:
        return self.root / "record.json"

    def create(self) -> None:
        """Create the folder, which nobody else may open."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root.chmod(0o700)

    def record(self, placement: str, hosts: list[str]) -> None:
        """Record what is about to be deployed. Hosts of earlier deployments stay in it until the stack is removed."""
        self.create()
        known = self.recorded()
        earlier = known.hosts if known else []
        content = Record(placement=placement, hosts=list(dict.fromkeys([*earlier, *hosts])))
        atomic.write_text(self._record_file, content.model_dump_json(indent=2) + "\n")

    def recorded(self) -> Record | None:
        """Return the record; None if there is none. Raises LabError if it cannot be read."""
        try:
            return Record.model_validate_json(self._record_file.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError):
            raise LabError(f"{self._record_file}: is damaged", "Delete it, and give --placement.") from None

    @property
    def deployment_file(self) -> Path:
        """What runs where, as long as the stack runs."""
        return self.root / "deployment.json"

    @property
    def _ended_file(self) -> Path:
        """What ran where before."""
        return self.root / "ended.json"

    def note_deployed(self, deployment: Deployment) -> None:
        """Write that the stack runs."""
        atomic.write_text(self.deployment_file, deployment.model_dump_json(indent=2) + "\n")

    def note_ended(self) -> None:
        """Write that it is not known to run: it is about to be started or stopped. What ran where is kept."""
        with suppress(FileNotFoundError):
            self.deployment_file.replace(self._ended_file)

    def deployed(self) -> Deployment | None:
        """Return what runs where; None if the stack is not known to run. Raises LabError if it cannot be read."""
        return self._deployment_in(self.deployment_file)

    def ended(self) -> Deployment | None:
        """Return what ran where before the stack was last started or stopped; None if nothing did. Raises LabError."""
        return self._deployment_in(self._ended_file)

    def _deployment_in(self, file: Path) -> Deployment | None:
        try:
            return Deployment.model_validate_json(file.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError):
            remedy = "Write it again: `scripts/lab up --placement NAME`. If there is no stack, delete it."
            raise LabError(f"{file}: is damaged", remedy) from None

    def forget(self) -> None:
        """Delete the record: nothing of the stack is left on any host but what was asked to be kept."""
        self._record_file.unlink(missing_ok=True)
