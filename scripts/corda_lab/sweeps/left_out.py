"""The points of a sweep that this machine cannot have."""

from collections.abc import Iterable, Sequence

from corda_lab.errors import LabError
from corda_lab.lab import possible
from corda_lab.lab.settings import Settings
from corda_lab.results.manifest import LeftOut
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.points import SweepPoint, settings_of
from corda_lab.workloads.resolve import read_workload
from lab_workload.problems import Problem


def impossible_points(sweep: SweepFile, points: Sequence[SweepPoint], settings: Settings) -> list[LeftOut]:
    """Return the points that this machine cannot have. Raises LabError if there are no others."""
    found = []
    for point in points:
        if reason := _impossible(point, settings):
            found.append(LeftOut(label=point.label, reason=reason))
    if len(found) == len(points):
        raise LabError(problems=[Problem.of(f"{sweep.source.path} ({one.label})", one.reason) for one in found])
    return found


def _impossible(point: SweepPoint, settings: Settings) -> str:
    """Return why this machine cannot have a point; empty if it can, or if the point has a mistake."""
    try:
        wanted = settings_of(point.variables, settings)
        workload = read_workload(point.workload, point.overrides)
        parties = workload.requires.parties if workload.requires else None
        lacking = possible.lacking(wanted)
        if parties and wanted.party_count < parties:
            has = f"the shape has {wanted.party_count}"
            lacking.append(f"the workload {workload.name} needs {parties} parties, and {has}")
    except LabError:
        # A mistake, which is told with the others.
        return ""
    return "; ".join(lacking)


def without(points: Iterable[SweepPoint], left_out: Iterable[LeftOut]) -> list[SweepPoint]:
    """Return the points that are not left out."""
    labels = {one.label for one in left_out}
    return [point for point in points if point.label not in labels]
