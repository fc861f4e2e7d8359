"""Plans a sweep: makes all checks of its points that need no lab, puts its steps in order, and adds up their times."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from corda_lab.errors import LabError
from corda_lab.faults import inject
from corda_lab.lab import doctor, shape
from corda_lab.lab.settings import Settings
from corda_lab.results import folders
from corda_lab.results.sweep import Fresh, LeftOut
from corda_lab.results.sweep_parts import STEPS_MAX
from corda_lab.runs.preflight import OUTSTANDING_MAX, check_own_limit
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.step import NAME_LENGTH_MAX, PlannedStep, at_rate, points_of, steps_of
from corda_lab.workloads.resolve import check_uploads, read_workload
from lab_workload.load import Load
from lab_workload.names import canonical
from lab_workload.problems import Problem
from lab_workload.schema import Workload

SEARCHES_MAX = 99
"""Most searches of a sweep."""


@dataclass(frozen=True)
class Room:
    """Where the labs of a sweep run, as far as it decides what a point may be."""

    cores_max: int | None = None
    """The most cores that a shape may ask for; None for those of this machine."""
    hosts: tuple[str, ...] = ()
    """The hosts that a fault can cut off; none on one machine."""


HERE = Room()


@dataclass(frozen=True)
class CheckedPlan:
    """The points of a sweep, which have been checked, and its steps in the order in which they run.

    A search plans one step at a time, so it has no steps here.
    """

    points: list[PlannedStep]
    steps: list[PlannedStep]
    left_out: list[LeftOut] = field(default_factory=list)
    """The points that this machine cannot have, if the sweep leaves them out."""


def plan_sweep(sweep: SweepFile, settings: Settings, room: Room = HERE) -> CheckedPlan:
    """Check all points of a sweep, and plan its steps. Raises LabError with all problems of its points."""
    fields, path = sweep.fields, sweep.source.path
    points, left_out = points_of(sweep), []
    if fields.impossible == "skip" and room.cores_max is None:
        left_out = [LeftOut(label=one.label, reason=reason) for one in points if (reason := _lacking(one, settings))]
        if len(left_out) == len(points):
            raise LabError(problems=[Problem.of(f"{path} ({one.label})", one.reason) for one in left_out])
        points = without(points, left_out)
    check_points(sweep, points, settings, room)
    if fields.find_max is not None:
        return CheckedPlan(points, [], left_out)
    if len(points) * fields.repeats > STEPS_MAX:
        raise LabError(
            f"{path}: has {len(points) * fields.repeats} steps, more than {STEPS_MAX}",
            "Reduce repeats, or the number of values in vary.",
        )
    return CheckedPlan(points, steps_of(sweep, points), left_out)


def without(points: Sequence[PlannedStep], left_out: Sequence[LeftOut]) -> list[PlannedStep]:
    """Return the points that are not left out."""
    labels = {one.label for one in left_out}
    return [point for point in points if point.label not in labels]


def _lacking(point: PlannedStep, settings: Settings) -> str:
    """Return why this machine cannot have a point; empty if it can, or if the point has a mistake."""
    try:
        wanted = settings_of(point.variables, settings)
        workload = read_workload(point.workload, point.overrides)
        lacking = doctor.lacking(wanted)
        parties = workload.requires.parties if workload.requires else None
        if parties and wanted.party_count < parties:
            needs = f"the workload {workload.name} needs {parties} parties"
            lacking.append(f"{needs}, and the shape has {wanted.party_count}")
    except LabError:
        # A mistake, which is told with the others.
        return ""
    return "; ".join(lacking)


def settings_of(variables: Mapping[str, str], settings: Settings) -> Settings:
    """Return the settings for the lab of a step. Raises LabError for an unknown size."""
    values = dict(variables)
    size = values.pop("SIZE", None)
    return shape.with_options(settings, values, size=size)


def check_points(sweep: SweepFile, points: Sequence[PlannedStep], settings: Settings, room: Room = HERE) -> None:
    """Make all checks of the points that need no lab. Raises LabError with all problems; each names its point."""
    path, search = sweep.source.path, sweep.fields.find_max
    folders.check_name(sweep.run_name, option=str(path), length_max=NAME_LENGTH_MAX)
    if search is not None and len(points) > SEARCHES_MAX:
        text = f"{path}: has {len(points)} searches, more than {SEARCHES_MAX}"
        raise LabError(text, "Reduce the number of values in vary.")
    problems: list[Problem] = []
    labels: dict[str, str] = {}
    for point in points:
        found = [*_peak_problems(point, points)]
        if (label := labels.setdefault(point.key, point.label)) != point.label:
            found.append(Problem(f"has the same file name as {label!r}"))
        found += _point_problems(at_rate(sweep, point, search.rate_min) if search else point, settings, room)
        problems += [Problem.of(f"{path} ({point.label})", problem.finding, problem.remedy) for problem in found]
    if problems:
        raise LabError(problems=list(dict.fromkeys(problems)))


def _peak_problems(point: PlannedStep, points: Sequence[PlannedStep]) -> Iterator[Problem]:
    if point.peak_factor is not None and not point.peaks(points):
        yield Problem.of(
            "load.rate",
            f"{point.load['rate']} needs a peak of the workload {point.workload} on the same shape",
            "Add a named step with peak: true and closed load.",
        )


def _point_problems(point: PlannedStep, settings: Settings, room: Room) -> Sequence[Problem]:
    """Return what is wrong with the shape of a point, its load, the load that conditions its nodes, and its faults."""
    try:
        wanted = settings_of(point.variables, settings)
    except LabError as error:
        return error.problems
    step = point.at_peak(1.0)
    limit, conditioning = point.variables.get(OUTSTANDING_MAX), step.conditioning()
    problems = [*shape.problems(wanted, cores=room.cores_max), *_load_problems(step.options("x"), wanted, limit)]
    if conditioning is not None:
        problems += [
            Problem(problem.text, ("condition", *problem.location), problem.remedy)
            for problem in _load_problems(conditioning.until_steady, wanted, limit)
            if problem not in problems
        ]
    return [*problems, *_fault_problems(step, wanted, room)]


def _load_problems(load: Load, wanted: Settings, limit: str | None) -> Sequence[Problem]:
    """Return what is wrong with a load on a shape. ``limit`` is the number of outstanding flows that the sweep sets."""
    if problems := [Problem(problem.text, ("load", *problem.location), problem.remedy) for problem in load.problems()]:
        return problems
    try:
        workload = read_workload(load.workload, load.overrides)
        check_own_limit(limit, load, None, workload)
        check_uploads(workload, wanted)
    except LabError as error:
        return error.problems
    return list(_fit_problems(workload, load, wanted))


def _fit_problems(workload: Workload, load: Load, wanted: Settings) -> Iterator[Problem]:
    """Yield what the shape ``wanted`` lacks: parties, nodes that start flows, and the CorDapp of the flows."""
    try:
        parties = wanted.parties
    except LabError:
        # An invalid number of parties is among the problems of the shape.
        return
    needed = workload.requires.parties if workload.requires else None
    if needed and len(parties) < needed:
        text = f"the workload {workload.name} needs {needed} parties, but the shape has {len(parties)}"
        yield Problem(text, remedy="Increase shape.parties.")
    missing = [name for name in load.nodes or () if canonical(name, parties) is None]
    if missing:
        text = f"load.nodes names {', '.join(missing)}, but the parties are {', '.join(parties)}"
        yield Problem(text, remedy="Increase shape.parties, or name other nodes.")
    cordapp = workload.requires.cordapp if workload.requires else None
    if cordapp and wanted["CORDAPP"] != cordapp:
        text = f"the workload {workload.name} needs the CorDapp {cordapp}"
        yield Problem(text, remedy=f"Set shape.cordapp: {cordapp}.")


def _fault_problems(step: PlannedStep, wanted: Settings, room: Room) -> Iterator[Problem]:
    """Yield what is wrong with the faults of a step: the lab cannot have them, or the step has no load left by then."""
    for problem in inject.problems_of(step.faults, wanted, room.hosts):
        yield Problem(problem.text, ("load", *problem.location), problem.remedy)
    surely = step.warm_up[0] + step.seconds_max
    for place, fault in enumerate(step.faults):
        if fault.ends_load:
            remedy = "`scripts/lab chaos` kills the generator, and looks at what is left."
            yield Problem(f"{fault.name} ends the load, so the step has no result", ("load", "faults", place), remedy)
        elif not step.is_counted and fault.at_seconds >= surely:
            text = f"{fault.name} begins at {fault.at_seconds:g} s, but the load may end after {surely:g} s"
            yield Problem(text, ("load", "faults", place, "at"), "Increase measure, or begin it earlier.")


STEP_OVERHEAD_SECONDS = 14
"""Measured duration of a step without its load and set-up: checks, start of the generator, counting, storing.

A conditioning takes as long without its load, because it also starts the generator and waits for rest."""
NODE_START_SECONDS = 17
"""Measured duration of the lab's start on two cores, per node."""
SHAPE_OVERHEAD_SECONDS = 25
"""Measured duration of stopping the previous lab and checking the images."""


@dataclass(frozen=True)
class RunTime:
    """How long steps take in seconds, and the number of starts of the lab."""

    seconds_min: float
    seconds_max: float
    starts: int


def run_time(
    steps: Sequence[PlannedStep], settings: Settings, *, fresh: Fresh, before: PlannedStep | None = None
) -> RunTime:
    """Add up what the sweep file says that steps and conditionings take, and overheads measured on two cores.

    How long bursts and flows take is known only as far as the file says so (``beside``). ``before`` is the step whose
    lab is running now.
    """
    first: list[PlannedStep] = []
    last = before.lab_key(fresh) if before else None
    for step in steps:
        if step.lab_key(fresh) != last:
            first.append(step)
        last = step.lab_key(fresh)
    loads = [step_seconds(step) for step in steps]
    loads += [step.condition.seconds for step in first if step.condition is not None]
    fixed = sum(
        SHAPE_OVERHEAD_SECONDS + len(settings_of(step.variables, settings).nodes) * NODE_START_SECONDS for step in first
    )
    fixed += len(loads) * STEP_OVERHEAD_SECONDS
    return RunTime(fixed + sum(least for least, _ in loads), fixed + sum(most for _, most in loads), len(first))


def step_seconds(step: PlannedStep) -> tuple[float, float]:
    """Return the shortest and the longest duration of a step in seconds, as far as the sweep file says it."""
    fixed = step.beside_seconds or 0.0
    fixed += step.at_peak(1.0).options("x").idle_after_seconds or 0.0
    fixed += 0.0 if step.is_counted else step.seconds_max
    return step.warm_up[0] + fixed, step.warm_up[1] + fixed
