"""The files of trials, ``<utc>-<kind>.json``. Each kind has a model of its own."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from corda_lab import atomic
from corda_lab.results.manifest import Environment
from corda_lab.steps.entry import ConditioningEntry

SCHEMA = 1
"""Version of the format."""


class BenchPart(BaseModel):
    """Base of all parts of a file: immutable, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class BenchFile(BenchPart):
    """What all files begin with."""

    schema_: int = Field(default=SCHEMA, alias="schema")
    id: str
    """``<utc>-<kind>``."""
    lab_version: str
    environment: Environment
    conditioning: ConditioningEntry | None = None
    """The load that conditioned the nodes before the first measurement; None if they were warm."""

    @property
    def database(self) -> str:
        """The database of the nodes: ``h2`` or ``postgres``."""
        return self.environment.shape.get("DATABASE") or "h2"


def store(bench: BenchFile, folder: Path) -> Path:
    """Write the file as a whole, and return its path."""
    path = folder / f"{bench.id}.json"
    atomic.write_text(path, bench.model_dump_json(by_alias=True, indent=2) + "\n")
    return path
