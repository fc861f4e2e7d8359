"""Searches for the highest rate that a point sustains, step by step."""

from collections.abc import Callable

from corda_lab.results.manifest import SearchAnswer, SearchOutcome
from corda_lab.sweeps import plan, store
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.planned import PlannedStep
from corda_lab.sweeps.points import SweepPoint, points_of
from corda_lab.sweeps.runner import is_sustained
from corda_lab.sweeps.search import Search

Answer = Callable[[PlannedStep, str], bool | None]
"""Takes a step and its heading, and returns whether its rate is sustained; None stops the search."""


def found_so_far(sweep: SweepFile, kept: store.Unfinished) -> dict[str, SearchOutcome] | None:
    """Return the outcome so far of every search that has begun, by the point's label; None if there is no search."""
    if sweep.fields.find_max is None:
        return None

    def answer(step: PlannedStep, heading: str) -> bool | None:
        return kept_answer(kept, step)

    points = plan.without(points_of(sweep), kept.plan.left_out)
    found = {point.label: find_max(sweep, point, number, answer) for number, point in enumerate(points)}
    return {label: outcome for label, outcome in found.items() if outcome.answers}


def kept_answer(kept: store.Unfinished, step: PlannedStep) -> bool | None:
    """Return whether a stored step sustained its rate; None if it has not run. One that was given up did not."""
    if kept.has(step):
        return is_sustained(kept.read(step))
    return False if kept.is_given_up(step) else None


def find_max(sweep: SweepFile, point: SweepPoint, number: int, answer: Answer) -> SearchOutcome:
    """Search for the highest rate that a point sustains, as far as ``answer`` has answers."""
    wanted = sweep.fields.find_max
    assert wanted is not None
    search = Search(wanted.rate_min, wanted.rate_max, wanted.precision, wanted.steps_max)
    count = 0
    while (rate := search.next()) is not None:
        count += 1
        phase = search.phase or "probe"
        step = plan.step_of(
            sweep,
            point,
            number * 100 + count,
            1,
            phase=phase,
            key=f"{point.key}_{count:02d}-{phase}",
            rate=rate,
            measure=wanted.confirm if phase == "confirm" else None,
            # If a rate is offered again, its arrivals must differ.
            seed=sweep.fields.seed + count - 1,
        )
        heading = f"{point.label}: step {count} of at most {wanted.steps_max}, {phase} {rate:g}/s"
        found = answer(step, heading)
        if found is None:
            break
        search.tell(rate, found)
    outcome = search.so_far
    return SearchOutcome(
        rate=outcome.rate,
        low=outcome.low,
        high=outcome.high,
        reason=outcome.reason,
        answers=[SearchAnswer(rate=one.rate, sustained=one.sustained, phase=one.phase) for one in outcome.answers],
    )
