"""The files of the benches of the lab itself, in ``results/bench/``. Each bench has a model of its own.

A file is ``<utc>-<kind>.json``. It holds every single measurement, and everything on which it depends.
"""

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from corda_lab import atomic
from corda_lab.paths import RESULTS
from corda_lab.results.manifest import Environment
from corda_lab.steps.entry import ConditioningEntry

SCHEMA = 1
"""Version of the format."""

BENCH = RESULTS / "bench"


class BenchPart(BaseModel):
    """Base of all parts of a file: immutable, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class BenchFile(BenchPart):
    """What the files of all benches begin with."""

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

    def joined_with(self, other: Self) -> Self | None:
        """Return this file with the measurements of another that measured the same.

        None if this bench's measurements of different starts cannot be judged together.
        """
        return None


def store(bench: BenchFile, folder: Path = BENCH) -> Path:
    """Write the file as a whole, and return its path."""
    path = folder / f"{bench.id}.json"
    atomic.write_text(path, bench.model_dump_json(by_alias=True, indent=2) + "\n")
    return path
