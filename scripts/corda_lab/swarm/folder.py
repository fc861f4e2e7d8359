"""The folder of a stack on the machine that deploys it: ``.cache/swarm/<stack>``.

It contains the keys of all nodes, so only its user may open it.
"""

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from corda_lab import atomic, paths
from corda_lab.errors import LabError
from corda_lab.swarm.stack import SUFFIX


class Record(BaseModel):
    """What was deployed last, and where something of it may be. It is written before anything starts."""

    placement: str
    """As it was given: a name, or the path of a file."""
    hosts: list[str]


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

    def forget(self) -> None:
        """Delete the record: nothing of the stack is left on any host but what was asked to be kept."""
        self._record_file.unlink(missing_ok=True)
