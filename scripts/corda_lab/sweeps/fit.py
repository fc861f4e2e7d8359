"""Checks whether a shape has what the workload and the load of a point need. No lab is asked."""

from collections.abc import Iterator

from corda_lab.errors import LabError
from corda_lab.lab.settings import Settings
from corda_lab.steps.load import LoadOptions
from lab_workload.names import canonical
from lab_workload.problems import Problem
from lab_workload.workload import Workload


def fit_problems(workload: Workload, options: LoadOptions, wanted: Settings) -> Iterator[Problem]:
    """Yield what the shape ``wanted`` lacks: parties, nodes that start flows, and the CorDapp of the flows."""
    try:
        parties = wanted.parties
    except LabError:
        # An invalid number of parties is reported separately.
        return
    needed = workload.requires.parties if workload.requires else None
    if needed and len(parties) < needed:
        text = f"the workload {workload.name} needs {needed} parties, but the shape has {len(parties)}"
        yield Problem(text, remedy="Increase shape.parties.")
    missing = [name for name in options.nodes or () if canonical(name, parties) is None]
    if missing:
        text = f"load.nodes names {', '.join(missing)}, but the parties are {', '.join(parties)}"
        yield Problem(text, remedy="Increase shape.parties, or name other nodes.")
    cordapp = workload.requires.cordapp if workload.requires else None
    if cordapp and wanted["CORDAPP"] != cordapp:
        text = f"the workload {workload.name} needs the CorDapp {cordapp}"
        yield Problem(text, remedy=f"Set shape.cordapp: {cordapp}.")
