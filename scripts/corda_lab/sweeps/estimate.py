"""Estimates how long the steps of a sweep take."""

from collections.abc import Sequence
from dataclasses import dataclass

from corda_lab.lab.settings import Settings
from corda_lab.sweeps.plan import PlannedStep, settings_of
from corda_lab.sweeps.schema import Fresh

STEP_OVERHEAD_SECONDS = 14
"""Measured duration of a step without its load and set-up: checks, start of the generator, counting, storing.

A conditioning takes as long without its load, because it also starts the generator and waits for rest."""
NODE_START_SECONDS = 17
"""Measured duration of the lab's start on two cores, per node."""
SHAPE_OVERHEAD_SECONDS = 25
"""Measured duration of stopping the previous lab and checking the images."""


@dataclass(frozen=True)
class RunTime:
    """The estimated duration of steps in seconds, the number of starts of the lab, and of its conditionings."""

    seconds_min: float
    seconds_max: float
    starts: int
    conditionings: int


def estimate(
    steps: Sequence[PlannedStep], settings: Settings, *, fresh: Fresh, before: PlannedStep | None = None
) -> RunTime:
    """Estimate the duration of steps and conditionings from their spans, and from overheads measured on two cores.

    ``before`` is the step whose lab is running now.
    """
    first: list[PlannedStep] = []
    last = before.lab_key(fresh) if before else None
    for step in steps:
        if step.lab_key(fresh) != last:
            first.append(step)
        last = step.lab_key(fresh)
    conditioned = [step.condition.seconds for step in first if step.condition is not None]
    fixed = sum(start_seconds(step, settings) for step in first)
    fixed += (len(steps) + len(conditioned)) * STEP_OVERHEAD_SECONDS
    least = [step.warm_up[0] + (step.measure[0] if step.precision else step.measure[1]) for step in steps]
    most = [step.warm_up[1] + step.measure[1] for step in steps]
    return RunTime(
        fixed + sum(least) + sum(shortest for shortest, _ in conditioned),
        fixed + sum(most) + sum(longest for _, longest in conditioned),
        len(first),
        len(conditioned),
    )


def start_seconds(step: PlannedStep, settings: Settings) -> float:
    """Estimate the duration of a start of the lab for a step, in seconds."""
    return SHAPE_OVERHEAD_SECONDS + len(settings_of(step.variables, settings).nodes) * NODE_START_SECONDS
