"""Checks the points of a sweep against the lab that they are to run on, before anything starts."""

from collections.abc import Iterator
from dataclasses import replace

from corda_lab.errors import LabError
from corda_lab.faults import inject
from corda_lab.lab import doctor, shape
from corda_lab.lab.settings import Settings
from corda_lab.results import folders
from corda_lab.results.sweep import LeftOut
from corda_lab.results.sweep_parts import STEPS_MAX
from corda_lab.runs.preflight import OUTSTANDING_MAX, admission_problem
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.lab import Machine, Site
from corda_lab.sweeps.plan import NAME_LENGTH_MAX, PlannedStep, points_of
from corda_lab.workloads.resolve import check_uploads, read_workload
from lab_workload.load import Load
from lab_workload.names import canonical
from lab_workload.problems import Problem

SEARCHES_MAX = 99
"""Most searches of a sweep."""
HERE = Machine(None)


def checked(sweep: SweepFile, settings: Settings, site: Site = HERE) -> SweepFile:
    """Return a sweep that can run, without the points that the machine cannot have if the sweep leaves them out.

    Raises LabError with all problems of its points; each names its point.
    """
    fields, path = sweep.fields, sweep.source.path
    folders.check_name(sweep.run_name, option=str(path), length_max=NAME_LENGTH_MAX)
    points = points_of(sweep)
    if fields.impossible == "skip" and site.cores_max is None:
        left_out = [LeftOut(label=point.label, reason=why) for point in points if (why := _lacking(point, settings))]
        if len(left_out) == len(points):
            raise LabError(problems=[Problem.of(f"{path} ({each.label})", each.reason) for each in left_out])
        sweep = replace(sweep, left_out=left_out)
        points = points_of(sweep)
    count, most, what = len(points) * fields.repeats, STEPS_MAX, "steps"
    if fields.find_max is not None:
        most, what = SEARCHES_MAX, "searches"
        points = [point.at_rate(fields.find_max.rate_min) for point in points]
    if count > most:
        raise LabError(f"{path}: has {count} {what}, more than {most}", "Reduce repeats, or the values in vary.")
    problems: list[Problem] = []
    labels: dict[str, str] = {}
    for point in points:
        of_point = _problems(point, points, settings, site)
        if (label := labels.setdefault(point.key, point.label)) != point.label:
            of_point.append(Problem(f"has the same file name as {label!r}"))
        problems += [Problem.of(f"{path} ({point.label})", problem.finding, problem.remedy) for problem in of_point]
    if problems:
        raise LabError(problems=list(dict.fromkeys(problems)))
    return sweep


def _lacking(point: PlannedStep, settings: Settings) -> str:
    """Return why this machine cannot have a point; empty if it can, or if the point has a mistake."""
    try:
        lab = point.settings(settings)
        workload = read_workload(point.workload, point.load.overrides)
        lacking = doctor.lacking(lab)
        parties = workload.requires.parties if workload.requires else None
        if parties and lab.party_count < parties:
            needs = f"the workload {workload.name} needs {parties} parties"
            lacking.append(f"{needs}, and the shape has {lab.party_count}")
    except LabError:
        # A mistake, which is reported with the others.
        return ""
    return "; ".join(lacking)


def _problems(point: PlannedStep, points: list[PlannedStep], settings: Settings, site: Site) -> list[Problem]:
    """Return what is wrong with the shape of a point, its load, the load that conditions its nodes, and its faults."""
    problems: list[Problem] = []
    if point.peak_factor is not None and not point.peaks(points):
        text = f"{point.peak_factor:g} x peak needs a peak of the workload {point.workload} on the same shape"
        problems.append(Problem.of("load.rate", text, "Add a named step with peak: true and closed load."))
    try:
        lab, step = point.settings(settings), point.at_peak(1.0)
    except LabError as error:
        return [*problems, *error.problems]
    limit = point.variables.get(OUTSTANDING_MAX)
    problems += [*shape.problems(lab, cores=site.cores_max), *_load_problems(step.load, lab, limit)]
    if step.condition is not None:
        problems += [
            replace(problem, location=("condition", *problem.location))
            for problem in _load_problems(step.condition.until_steady, lab, limit)
            if problem not in problems
        ]
    return [*problems, *_fault_problems(step.load, lab, site)]


def _load_problems(load: Load, lab: Settings, limit: str | None) -> list[Problem]:
    """Return what is wrong with a load on a shape: its fields, its nodes, parties that it needs, and the CorDapp.

    ``limit`` is the number of outstanding flows on each node, if the sweep sets it.
    """
    if problems := [replace(problem, location=("load", *problem.location)) for problem in load.problems()]:
        return problems
    try:
        workload = read_workload(load.workload, load.overrides)
        check_uploads(workload, lab)
    except LabError as error:
        return list(error.problems)
    nodes = 1 if load.node else len(load.nodes or workload.nodes)
    if limit and (problem := admission_problem(load, int(limit), nodes)):
        text = f"shape.outstanding: {problem.finding}"
        problems.append(Problem(text, remedy="Increase it, or reduce load.users."))
    try:
        parties = lab.parties
    except LabError:
        # An invalid number of parties is among the problems of the shape.
        return problems
    needed = workload.requires.parties if workload.requires else None
    if needed and len(parties) < needed:
        text = f"the workload {workload.name} needs {needed} parties, but the shape has {len(parties)}"
        problems.append(Problem(text, remedy="Increase shape.parties."))
    missing = [name for name in load.nodes or () if canonical(name, parties) is None]
    if missing:
        text = f"load.nodes names {', '.join(missing)}, but the parties are {', '.join(parties)}"
        problems.append(Problem(text, remedy="Increase shape.parties, or name other nodes."))
    cordapp = workload.requires.cordapp if workload.requires else None
    if cordapp and lab["CORDAPP"] != cordapp:
        text = f"the workload {workload.name} needs the CorDapp {cordapp}"
        problems.append(Problem(text, remedy=f"Set shape.cordapp: {cordapp}."))
    return problems


def _fault_problems(load: Load, lab: Settings, site: Site) -> Iterator[Problem]:
    """Yield what is wrong with the faults of a load: the lab cannot have them, or the load may have ended by then."""
    for problem in inject.problems_of(load.faults, lab, site.hosts):
        yield replace(problem, location=("load", *problem.location))
    surely = load.warm_up_seconds_min + load.duration_seconds
    for place, fault in enumerate(load.faults):
        if fault.ends_load:
            remedy = "`scripts/lab chaos` kills the generator, and looks at what is left."
            yield Problem(f"{fault.name} ends the load, so the step has no result", ("load", "faults", place), remedy)
        elif not load.is_counted and fault.at_seconds >= surely:
            text = f"{fault.name} begins at {fault.at_seconds:g} s, but the load may end after {surely:g} s"
            yield Problem(text, ("load", "faults", place, "at"), "Increase measure, or begin it earlier.")
