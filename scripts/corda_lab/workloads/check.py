"""``lab workload check``: finds all problems of workload files, without a run."""

from collections.abc import Callable, Sequence
from pathlib import Path

from corda_lab.lab.settings import NOTARY, PARTIES
from lab_workload.problems import Problem, WorkloadError
from lab_workload.workload import Workload, load_workload, workload_names


def problems_of(
    folder: Path, names: Sequence[str], against_lab: Callable[[Workload], list[Problem]] | None
) -> dict[str, list[Problem]]:
    """Return the problems of the named workloads, or of all if ``names`` is empty: name → problems.

    ``against_lab`` checks a valid file against the running nodes; it is None if the lab is not up.
    """
    found: dict[str, list[Problem]] = {}
    for name in names or workload_names(folder):
        try:
            workload = load_workload(folder, name, (NOTARY, *PARTIES))
        except WorkloadError as error:
            found[name] = list(error.problems)
            continue
        found[name] = against_lab(workload) if against_lab else []
    return found
