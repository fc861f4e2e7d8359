"""Profiles the saturated point of a sweep, after its last step, under an extra load that is in no value.

The steps themselves are not profiled: a profiler costs CPU time, so it would change what they measure.
"""

from collections.abc import Sequence

import polars as pl

from corda_lab.analysis import profiled, saturation
from corda_lab.analysis.points import points
from corda_lab.analysis.profiled import Choice
from corda_lab.results import files
from corda_lab.results.files import Measured
from corda_lab.results.manifest import ProfileEntry, SweepPlan
from corda_lab.results.profiles import TakenProfile
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.load import INITIATORS
from corda_lab.sweeps import plan, store
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.planned import PlannedStep
from corda_lab.sweeps.points import SweepPoint, points_of
from corda_lab.sweeps.runner import Runner, StepFailedError
from corda_lab.text import ui

SATURATED = "saturated"
INDEX = 9999
"""The place of the extra load in names of containers and folders: after all steps."""
KEY = "profile"
WINDOW_SECONDS = 40.0
"""Measuring window of the extra load. All but a second at each end of it is profiled."""


def is_wanted(sweep: SweepFile) -> bool:
    """Return whether the sweep asks for a profile."""
    return sweep.fields.profile == SATURATED


def profile(sweep: SweepFile, kept: store.Unfinished, runner: Runner, as_planned: SweepPlan) -> None:
    """Profile the saturated point, unless that has been done, and store the profiles with the sweep.

    If the load fails every time, the reason is stored in their place: the steps have been measured all the same.
    ``as_planned`` is the entry ``sweep`` of the future manifest. Raises FinalError as a step does.
    """
    if not is_wanted(sweep) or kept.has_profiles:
        return
    choice = chosen(kept, as_planned)
    if choice is None:
        ui.warn("no point is profiled, because no step is valid")
        return
    step = step_of(sweep, kept, choice.point.steps[0])
    ui.console.print()
    ui.console.print(f"Profile of the saturated point: {choice.point.label}", style="bold cyan", markup=False)
    ui.note(choice.reason)
    taken = _taken(kept, runner, step)
    kept.keep_profiles([one.placed(step=None, point=choice.point.label, reason=choice.reason) for one in taken])
    kept.drop_attempt(step)


def chosen(kept: store.Unfinished, as_planned: SweepPlan) -> Choice | None:
    """Return the saturated point among the complete steps; None if none of them is valid."""
    measured = [files.read_step(folder) for folder in kept.done]
    if not measured:
        return None
    run = run_of(kept, measured, as_planned)
    samples = pl.concat([files.with_step(one.metrics, one.step) for one in measured])
    return profiled.choose(run, points(run), samples.filter(pl.col("name").is_in(saturation.SERIES)))


def run_of(kept: store.Unfinished, measured: Sequence[Measured], as_planned: SweepPlan) -> StoredRun:
    """Return the complete steps as the run that they will be."""
    manifest = files.run_manifest(kept.identity, measured, sweep=as_planned, phases={}, command=kept.plan.command)
    steps = [one.step.updated(environment=manifest.environments.index(one.environment)) for one in measured]
    return StoredRun(kept.folder, manifest, steps)


def step_of(sweep: SweepFile, kept: store.Unfinished, measured: StepEntry) -> PlannedStep:
    """Return the extra load: that of a step which has been measured, with a short window and without its faults."""
    points_left = plan.without(points_of(sweep), kept.plan.left_out)
    point = next(one for one in points_left if is_point_of(one, measured))
    # On the lab of the last step, if that has the shape.
    repeat = kept.steps[-1].repeat if kept.steps else measured.repeat
    return profile_step(sweep, point, repeat, measured.load.rate_per_second)


def is_point_of(point: SweepPoint, measured: StepEntry) -> bool:
    """Return whether a step has measured a point."""
    return point.workload == measured.workload and point.values == measured.point


def profile_step(sweep: SweepFile, point: SweepPoint, repeat: int, rate: float | None) -> PlannedStep:
    """Return the extra load of a point. ``rate`` is that of open load, in arrivals per second."""
    step = plan.step_of(sweep, point, INDEX, repeat, key=KEY, rate=rate)
    changes: dict[str, object] = {"precision": None, "faults": (), "may_break": False}
    if not step.is_counted:
        # The window must begin when it is expected to.
        changes |= {"warm_up": (step.warm_up[1], step.warm_up[1]), "measure": (WINDOW_SECONDS, WINDOW_SECONDS)}
    return step.model_copy(update=changes)


def _taken(kept: store.Unfinished, runner: Runner, step: PlannedStep) -> tuple[TakenProfile, ...]:
    """Put the extra load on a lab of its shape, and profile the nodes that start the flows."""
    try:
        return runner.profile(step, (INITIATORS,))
    except StepFailedError:
        why = " ".join(runner.failed.pop(step.key).split())
        entry = ProfileEntry(node=step.label, problem=f"the load for the profile failed: {why}")
        return (TakenProfile(kept.folder, entry),)
