"""Turns a sweep file into steps in the order in which they run, and makes all checks that need no lab."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from corda_lab.errors import LabError
from corda_lab.faults import inject
from corda_lab.lab import doctor, shape
from corda_lab.lab.settings import Settings
from corda_lab.results import folders
from corda_lab.results.manifest import LeftOut
from corda_lab.runs.preflight import OUTSTANDING_MAX, check_own_limit
from corda_lab.steps.load import LoadOptions, check_options
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.planned import NAME_LENGTH_MAX, SEARCHES_MAX, PlannedStep
from corda_lab.sweeps.points import at_rate, points_of, steps_of
from corda_lab.sweeps.schema import STEPS_MAX
from corda_lab.workloads.resolve import check_uploads, read_workload
from lab_workload.names import canonical
from lab_workload.problems import Problem
from lab_workload.workload import Workload


def settings_of(variables: Mapping[str, str], settings: Settings) -> Settings:
    """Return the settings for the lab of a step. Raises LabError for an unknown size."""
    values = dict(variables)
    size = values.pop("SIZE", None)
    return shape.with_options(settings, values, size=size)


@dataclass(frozen=True)
class Room:
    """Where the labs of a sweep run, as far as it decides what a point may be."""

    cores_max: int | None = None
    """The most cores that a shape may ask for; None for those of this machine."""
    hosts: tuple[str, ...] = ()
    """The hosts that a fault can cut off; none on one machine."""


HERE = Room()


def check_points(sweep: SweepFile, points: Sequence[PlannedStep], settings: Settings, room: Room = HERE) -> None:
    """Make all checks of the points that need no lab. Raises LabError with all problems; each names its point."""
    folders.check_name(sweep.run_name, option=str(sweep.source.path), length_max=NAME_LENGTH_MAX)
    if sweep.fields.find_max is not None and len(points) > SEARCHES_MAX:
        raise LabError(
            f"{sweep.source.path}: has {len(points)} searches, more than {SEARCHES_MAX}",
            "Reduce the number of values in vary.",
        )
    problems: list[Problem] = []
    seen: dict[str, PlannedStep] = {}
    for point in points:
        where = f"{sweep.source.path} ({point.label})"
        if point.key in seen:
            problems.append(Problem.of(where, f"has the same file name as {seen[point.key].label!r}"))
        seen[point.key] = point
        found = [*_point_problems(sweep, point, settings, room), *_peak_problems(point, points)]
        problems += [Problem.of(where, problem.finding, problem.remedy) for problem in found]
    if problems:
        raise LabError(problems=list(dict.fromkeys(problems)))


def _point_problems(sweep: SweepFile, point: PlannedStep, settings: Settings, room: Room) -> Iterator[Problem]:
    try:
        wanted = settings_of(point.variables, settings)
        yield from shape.problems(wanted, cores=room.cores_max)
    except LabError as error:
        yield from error.problems
        return
    search = sweep.fields.find_max
    step = (at_rate(sweep, point, search.rate_min) if search else point).at_peak(1.0)
    try:
        check_options(step.options("x"))
        before, first = step.conditioning(), _conditioned_by(step, wanted)
        workload = read_workload(point.workload, point.overrides)
        check_own_limit(step.variables.get(OUTSTANDING_MAX), step.options("x"), before, workload)
        check_uploads(workload, wanted)
    except LabError as error:
        yield from error.problems
        return
    yield from fit_problems(workload, step.options("x"), wanted)
    if before is not None and first is not None:
        for problem in fit_problems(first, before.options, wanted):
            yield Problem(problem.text, ("condition", *problem.location), problem.remedy)
    yield from _fault_problems(step, wanted, room)


def _fault_problems(step: PlannedStep, wanted: Settings, room: Room) -> Iterator[Problem]:
    """What is wrong with the faults of a step: the lab cannot have them, or the step has no load left by then."""
    for problem in inject.problems_of(step.faults, wanted, room.hosts):
        yield Problem(problem.text, ("load", *problem.location), problem.remedy)
    surely = step.warm_up[0] + step.measure
    for place, fault in enumerate(step.faults):
        if fault.ends_load:
            remedy = "`scripts/lab chaos` kills the generator, and looks at what is left."
            yield Problem(f"{fault.name} ends the load, so the step has no result", ("load", "faults", place), remedy)
        elif not step.is_counted and fault.at_seconds >= surely:
            text = f"{fault.name} begins at {fault.at_seconds:g} s, but the load may end after {surely:g} s"
            yield Problem(text, ("load", "faults", place, "at"), "Increase measure, or begin it earlier.")


def _peak_problems(point: PlannedStep, points: Sequence[PlannedStep]) -> Iterator[Problem]:
    same = ((other.workload, other.shape_key) for other in points if other.is_peak)
    if point.is_multiple and (point.workload, point.shape_key) not in same:
        yield Problem.of(
            "load.rate",
            f"{point.load['rate']} needs a peak of the workload {point.workload} on the same shape",
            "Add a named step with peak: true and closed load.",
        )


def _conditioned_by(step: PlannedStep, wanted: Settings) -> Workload | None:
    """Check the load that conditions the nodes for a step, and return its workload if it differs from the step's own.

    Raises LabError, which names the field.
    """
    before = step.conditioning()
    if before is None:
        return None
    try:
        check_options(before.until_steady)
    except LabError as error:
        raise LabError(f"condition.load: {error.message}", error.remedy) from None
    options = before.options
    if (options.workload, options.overrides) == (step.workload, step.overrides):
        return None
    try:
        workload = read_workload(options.workload, options.overrides)
        check_uploads(workload, wanted)
    except LabError as error:
        raise LabError(f"condition: {error.message}", error.remedy) from None
    return workload


@dataclass(frozen=True)
class CheckedPlan:
    """The points of a sweep, which have been checked, and its steps in the order in which they run.

    A search plans one step at a time, so it has no steps here.
    """

    points: list[PlannedStep]
    steps: list[PlannedStep]
    left_out: list[LeftOut] = field(default_factory=list)


def plan_sweep(sweep: SweepFile, settings: Settings, room: Room = HERE) -> CheckedPlan:
    """Check all points of a sweep, and plan its steps. Raises LabError with all problems of its points.

    If the sweep says so, the points that this machine cannot have are left out before. ``room`` is where the labs run.
    """
    points = points_of(sweep)
    may_lack = sweep.fields.impossible == "skip" and room.cores_max is None
    left_out = impossible_points(sweep, points, settings) if may_lack else []
    points = without(points, left_out)
    check_points(sweep, points, settings, room)
    return CheckedPlan(points, _steps_of(sweep, points) if sweep.fields.find_max is None else [], left_out)


def impossible_points(sweep: SweepFile, points: Sequence[PlannedStep], settings: Settings) -> list[LeftOut]:
    """Return the points that this machine cannot have. Raises LabError if there are no others."""
    found = []
    for point in points:
        if reason := _impossible(point, settings):
            found.append(LeftOut(label=point.label, reason=reason))
    if len(found) == len(points):
        raise LabError(problems=[Problem.of(f"{sweep.source.path} ({one.label})", one.reason) for one in found])
    return found


def _impossible(point: PlannedStep, settings: Settings) -> str:
    """Return why this machine cannot have a point; empty if it can, or if the point has a mistake."""
    try:
        wanted = settings_of(point.variables, settings)
        workload = read_workload(point.workload, point.overrides)
        parties = workload.requires.parties if workload.requires else None
        lacking = doctor.lacking(wanted)
        if parties and wanted.party_count < parties:
            has = f"the shape has {wanted.party_count}"
            lacking.append(f"the workload {workload.name} needs {parties} parties, and {has}")
    except LabError:
        # A mistake, which is told with the others.
        return ""
    return "; ".join(lacking)


def without(points: Iterable[PlannedStep], left_out: Iterable[LeftOut]) -> list[PlannedStep]:
    """Return the points that are not left out."""
    labels = {one.label for one in left_out}
    return [point for point in points if point.label not in labels]


def _steps_of(sweep: SweepFile, points: Sequence[PlannedStep]) -> list[PlannedStep]:
    fields = sweep.fields
    if len(points) * fields.repeats > STEPS_MAX:
        raise LabError(
            f"{sweep.source.path}: has {len(points) * fields.repeats} steps, more than {STEPS_MAX}",
            "Reduce repeats, or the number of values in vary.",
        )
    return steps_of(sweep, points)


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
