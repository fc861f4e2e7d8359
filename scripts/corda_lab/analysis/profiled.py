"""Which point of a sweep is worth a profile: one at which a resource of the system was saturated."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from corda_lab.analysis import saturation
from corda_lab.analysis.limits import evidence
from corda_lab.analysis.points import Point, best
from corda_lab.analysis.saturation import Resource, Utilisation
from corda_lab.analysis.significance import judge
from corda_lab.results.stored import StoredRun


@dataclass(frozen=True)
class Choice:
    """A point, and why it is worth a profile, as a sentence without its full stop."""

    point: Point
    reason: str


def choose(run: StoredRun, all_points: Sequence[Point], samples: pl.DataFrame) -> Choice | None:
    """The saturated point of a sweep; None if no point has a valid step with values.

    Of several saturated points it is the best one, because more load than that only makes flows wait. If nothing was
    saturated anywhere, it is the best point of all. ``samples`` has the rows of ``metrics.parquet`` for
    ``saturation.SERIES``.
    """
    judged = judge(run, all_points)
    measured = [point for point in all_points if point.valid]
    uses = {point.key: saturation.uses(run, point, samples) for point in measured}
    for candidates in (judged.tops, measured):
        saturated = [point for point in candidates if _is_saturated(uses[point.key])]
        if saturated:
            # Of the probes of a search, none is the best.
            point = best(saturated, judged.metric) or saturated[0]
            return Choice(point, evidence(uses[point.key]))
    if not measured:
        return None
    point = (judged.tops or measured)[0]
    return Choice(point, f"no point was saturated, and this is the best: {evidence(uses[point.key])}")


def _is_saturated(uses: Sequence[Utilisation]) -> bool:
    """Whether a resource of the system is saturated. If it is the generator, the system had more to give."""
    return any(use.is_saturated for use in uses if use.resource is not Resource.GENERATOR)
