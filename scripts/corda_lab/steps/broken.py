"""The entry of a step that broke the lab. It is a result, so it is valid, and none of its values enters a point.

Either a node ended, or open load left more flows than the lab completes in the time in which it may come to rest.
"""

from dataclasses import dataclass

import polars as pl

from corda_lab.steps import validity
from corda_lab.steps.build import MeasuredPart, of_rows
from corda_lab.steps.entry import SetupEntry, StepEntry, ValidityEntry, VerdictEntry, WarmUpEntry
from corda_lab.steps.rows import Window
from lab_workload.load import Load
from lab_workload.subject import Subject

SECONDS_MIN = 1.0
"""The shortest time over which the rows are counted. A node that ends in the set-up leaves none."""
LEFT_SHARE_MIN = 0.1
"""Share of the requests that open load has to leave without an outcome to break the lab. Fewer flows may wait for a
person, in Corda's flow hospital, and say nothing about the load."""


@dataclass(frozen=True)
class BrokenLoad:
    """What is known of a load that a node did not survive. Times are in unix seconds.

    ``requests`` has the columns of ``rows.ROW_SCHEMA``, and is empty if the node ended before the load.
    """

    options: Load
    workload: str
    subject: Subject
    setup: list[SetupEntry]
    requests: pl.DataFrame
    began_at: float
    ended_at: float

    @property
    def window(self) -> Window:
        started_at = self.requests["started_at"].min()
        begin = self.began_at if started_at is None else float(str(started_at))
        return Window(begin, max(self.ended_at, begin + SECONDS_MIN))


def why_overloaded(step: StepEntry) -> str | None:
    """Return why open load broke the lab although its nodes live: it left flows behind. None if it did not.

    A load that the generator or the machine spoilt breaks nothing. Neither do bursts, which may just take long.
    """
    left = step.resolved.unknown
    if not step.load.is_open or step.counts.at_rest or step.validity.machine:
        return None
    if left == 0 or left < LEFT_SHARE_MIN * step.requests.total or validity.generator_limits(step):
        return None
    return f"the lab was not at rest {step.counts.rest_seconds:.0f} s after the load, and {left:,} flows were left"


def as_broken(step: StepEntry, reason: str) -> StepEntry:
    """Return a step that broke the lab: valid, with nothing to complain about, and on a lab that is not used again."""
    return step.updated(
        state="broke",
        why=reason,
        flags=[],
        unsteady=[],
        counts=step.counts.model_copy(update={"at_rest": False}),
        validity=ValidityEntry(),
        verdict=VerdictEntry(),
        thresholds=VerdictEntry(),
    )


def broken_step(load: BrokenLoad, reason: str) -> StepEntry:
    """Return the entry of a step whose load could not be measured, because a node ended. ``reason`` says which."""
    options = load.options
    least, most = options.warm_up_seconds_min, options.warm_up_seconds
    warm_up = WarmUpEntry(seconds_min=least, seconds_max=most, cut_seconds=0.0)
    measured, window = MeasuredPart(load.window, load.requests, warm_up), load.window
    options = options.updated(workload=load.workload)
    step = of_rows(options, load.subject, load.requests, measured, seconds=window.seconds)
    return as_broken(step.updated(setup=load.setup), reason)
