"""The file ``faults.json`` of a run, or of the evidence of a load: its faults, and what became of each."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from corda_lab.errors import LabError
from corda_lab.faults.model import FaultEntry, Part
from corda_lab.results import folders
from corda_lab.steps.entry import StepEntry

SCHEMA = 1


class LoadFaults(Part):
    step: int = 1
    seed: int
    """The seed of the load. ``lab chaos`` draws the faults from it too."""
    faults: tuple[FaultEntry, ...]
    restarted: tuple[str, ...] = ()
    """The nodes that were started again after the load, because flows stayed in flight without that."""


class FaultsFile(Part):
    schema_: int = Field(default=SCHEMA, alias="schema")
    loads: tuple[LoadFaults, ...]


def file_of(steps: Sequence[StepEntry]) -> FaultsFile | None:
    """The file of a run with these steps; None if no step has a fault."""
    loads = tuple(
        LoadFaults(step=step.index, seed=step.load.seed, faults=step.faults, restarted=step.restarted_after_faults)
        for step in steps
        if step.faults
    )
    return FaultsFile(schema=SCHEMA, loads=loads) if loads else None


def write(folder: Path, content: FaultsFile) -> None:
    folders.write_json(folder / folders.FAULTS, content.model_dump(mode="json", by_alias=True))


def read(folder: Path) -> FaultsFile:
    """Read the file of a run. Raises LabError if the run has no faults, or if its file is damaged."""
    if not (folder / folders.FAULTS).is_file():
        raise LabError(f"{folder.name}: the run has no faults", "Choose one that `scripts/lab chaos` has made.")
    return folders.read_model(folder / folders.FAULTS, FaultsFile)
