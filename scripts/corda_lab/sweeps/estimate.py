"""Estimates how long the steps of a sweep take."""

from collections.abc import Sequence
from dataclasses import dataclass

from corda_lab.lab.settings import Settings
from corda_lab.steps.load import LOAD_OPTIONS, LoadOptions
from corda_lab.sweeps.plan import settings_of
from corda_lab.sweeps.planned import PlannedStep
from corda_lab.sweeps.schema import Fresh

STEP_OVERHEAD_SECONDS = 14
"""Measured duration of a step without its load and set-up: checks, start of the generator, counting, storing.

A conditioning takes as long without its load, because it also starts the generator and waits for rest."""
NODE_START_SECONDS = 17
"""Measured duration of the lab's start on two cores, per node."""
SHAPE_OVERHEAD_SECONDS = 25
"""Measured duration of stopping the previous lab and checking the images."""

FLOWS_PER_SECOND = 8.0
"""The throughput that is assumed for a step that ends by count: about that of IOUs on two cores.

Flows that fetch a long history take many times as long, so the estimate of such a step is a lower bound."""
USERS_AT_HALF = 3.0
"""The number of users with whom half of that throughput is assumed."""
RATES_GUESSED = (
    f"Bursts, and steps that end by count, are estimated at up to {FLOWS_PER_SECOND:g} flows per second, and at "
    f"{FLOWS_PER_SECOND / (1 + USERS_AT_HALF):g} with one user. Flows that take long take longer."
)


@dataclass(frozen=True)
class RunTime:
    """The estimated duration of steps in seconds, and the number of starts of the lab."""

    seconds_min: float
    seconds_max: float
    starts: int


def estimate(
    steps: Sequence[PlannedStep], settings: Settings, *, fresh: Fresh, before: PlannedStep | None = None
) -> RunTime:
    """Estimate the duration of steps and conditionings from their spans, and from overheads measured on two cores.

    What the sweep file says that steps take beside their loads is added.
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
    fixed += sum(step.beside_seconds or 0.0 for step in steps)
    spans = [span_seconds(step) for step in steps]
    least, most = [shortest for shortest, _ in spans], [longest for _, longest in spans]
    return RunTime(
        fixed + sum(least) + sum(shortest for shortest, _ in conditioned),
        fixed + sum(most) + sum(longest for _, longest in conditioned),
        len(first),
    )


def span_seconds(step: PlannedStep) -> tuple[float, float]:
    """Return the shortest and the longest duration of the load of a step, in seconds, with the rest after it.

    Both are guessed for counts.
    """
    idle = option_seconds(step.at_peak(FLOWS_PER_SECOND).options("x"), "idle_after")
    if not step.is_counted:
        return step.warm_up[0] + step.measure + idle, step.warm_up[1] + step.measure + idle
    seconds = counted_seconds(step) + idle
    return seconds, seconds


def counted_seconds(step: PlannedStep) -> float:
    """Guess how long a step lasts that ends after some bursts or flows, in seconds."""
    options = step.at_peak(FLOWS_PER_SECOND).options("x")
    if step.flows is not None:
        return (step.flows + step.flows_after) / flows_per_second(options.users)
    rest = option_seconds(options, "rest")
    burst = option_seconds(options, "within") + options.users / flows_per_second(options.places)
    return (step.bursts or 1) * (burst + rest)


def flows_per_second(users: int) -> float:
    """Guess the throughput with some users."""
    return FLOWS_PER_SECOND * users / (users + USERS_AT_HALF)


def option_seconds(options: LoadOptions, name: str) -> float:
    """Return the effective value of a duration of a load, in seconds; 0 if the load does not have it."""
    return float(LOAD_OPTIONS[name].value(options) or 0.0)


def start_seconds(step: PlannedStep, settings: Settings) -> float:
    """Estimate the duration of a start of the lab for a step, in seconds."""
    return SHAPE_OVERHEAD_SECONDS + len(settings_of(step.variables, settings).nodes) * NODE_START_SECONDS
