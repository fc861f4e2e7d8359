"""The kill of the bridge or the load generator at a seeded random moment of a load, as a fault of that load."""

import random
from pathlib import Path

from corda_lab.bench.kills.measurement import Target
from corda_lab.results import faults, folders
from corda_lab.steps.faults import Fault, FaultEntry
from corda_lab.steps.load import LoadOptions


def moment_of(seed: int, target: Target, options: LoadOptions) -> float:
    """When a trial kills, in seconds after the begin of its load: any moment of the load with equal probability."""
    return round(random.Random(f"{seed}/{target}").uniform(0.0, options.total_seconds), 2)


def fault_of(seed: int, target: Target, options: LoadOptions) -> Fault:
    """The kill of a trial. A killed bridge is started again at once."""
    return Fault(kind="kill", target=target, at_seconds=moment_of(seed, target, options), for_seconds=0.0)


def made_in(folder: Path) -> FaultEntry | None:
    """What became of the kill, as the folder of its run says; None if the load did not begin. Raises LabError."""
    return faults.read(folder).loads[0].faults[0] if (folder / folders.FAULTS).is_file() else None
