"""Which points of a sweep differ. All comparisons are judged together once, so that no sentence contradicts another.

The family is every pair of points that may be compared, because a report that names the best point has looked at all of
them.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from corda_lab.analysis.metrics import METRICS
from corda_lab.analysis.points import Point, best, judged_metric, strata, x_name
from corda_lab.results.stored import StoredRun
from corda_lab.stats import difference
from corda_lab.stats.difference import Difference

CANNOT_COMPARE = "cannot be compared"
NOTHING_COMPLETED = "nothing completed"


@dataclass(frozen=True)
class PointComparison:
    """The comparison of a point (``second``) with another (``first``).

    ``difference`` is None if one of them has no value above zero.
    """

    first: Point
    second: Point
    difference: Difference | None

    @property
    def verdict(self) -> str:
        """The verdict of the difference; without a difference, ``NOTHING_COMPLETED`` or ``CANNOT_COMPARE``."""
        if self.difference is not None:
            return self.difference.verdict
        never = self.second.valid and len(self.second.collapsed) == len(self.second.valid)
        if never and self.first.valid and not self.first.collapsed:
            return NOTHING_COMPLETED
        return CANNOT_COMPARE

    @property
    def is_worse(self) -> bool:
        """Whether the second point is shown to be worse."""
        return self.verdict in ("slower", NOTHING_COMPLETED)

    def turned(self) -> "PointComparison":
        """The same comparison in the other direction."""
        return PointComparison(self.second, self.first, self.difference.turned() if self.difference else None)


def compare_all(pairs: Sequence[tuple[Point, Point]], metric: str, *, paired: bool) -> list[PointComparison]:
    """Compare the second point of each pair with the first. All comparisons are judged together, see ``holm``.

    The repeats of one sweep are interleaved, so its points are compared in pairs. Those of two runs are not.
    """
    found = [_difference(first, second, metric, paired=paired) for first, second in pairs]
    judged = iter(difference.holm([one for one in found if one is not None]))
    return [
        PointComparison(first, second, None if one is None else next(judged))
        for (first, second), one in zip(pairs, found, strict=True)
    ]


def _difference(first: Point, second: Point, metric: str, *, paired: bool) -> Difference | None:
    a, b = _by_repeat(first, metric), _by_repeat(second, metric)
    # A ratio needs two values above zero, and no latency of requests that were not answered.
    if not a or not b or first.collapsed or second.collapsed:
        return None
    if not all(0 < value < math.inf for value in [*a.values(), *b.values()]):
        return None
    higher_is = METRICS[metric].higher_is
    if paired and a.keys() & b.keys():
        return difference.paired(a, b, higher_is=higher_is)
    return difference.unpaired(list(a.values()), list(b.values()), higher_is=higher_is)


def _by_repeat(point: Point, metric: str) -> dict[int, float]:
    values = ((int(step.repeat), METRICS[metric].of(step)) for step in point.valid)
    return {repeat: value for repeat, value in values if value is not None}


@dataclass(frozen=True)
class PlannedComparison:
    """A comparison of two points that differ in one parameter only. The first value of that parameter comes first."""

    parameter: str
    compared: PointComparison


def planned_pairs(run: StoredRun, stratum: Sequence[Point]) -> list[tuple[str, Point, Point]]:
    """Every planned pair, as (parameter, point with the first value of the parameter, other point).

    A numeric parameter on the x axis makes a curve, not planned pairs.
    """
    found = []
    for name in dict.fromkeys(name for point in stratum for name in point.values):
        if name == x_name(run) and all(_is_number(point.values.get(name)) for point in stratum):
            continue
        first_of: dict[str, Point] = {}
        for point in stratum:
            base = first_of.setdefault(_without(point, name), point)
            if base is not point:
                found.append((name, base, point))
    return found


def _without(point: Point, name: str) -> str:
    others = {key: value for key, value in point.values.items() if key != name}
    return json.dumps([point.phase, others], sort_keys=True)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class MetricComparisons:
    """All comparisons of a run by one metric. ``tops`` has the best point of each stratum that has a value."""

    metric: str
    strata: list[list[Point]]
    tops: list[Point]
    planned: list[PlannedComparison]
    pairs: dict[tuple[str, str], PointComparison]

    def between(self, first: Point, second: Point) -> PointComparison:
        """The comparison of ``second`` with ``first``, two points of one stratum."""
        found = self.pairs.get((first.key, second.key))
        return found if found is not None else self.pairs[second.key, first.key].turned()

    def stratum_of(self, point: Point) -> list[Point]:
        """The points that a point may be compared with, including itself."""
        return next(stratum for stratum in self.strata if any(one is point for one in stratum))

    def against(self, point: Point) -> list[PointComparison]:
        """The comparisons of every other point of the stratum that has a valid step with ``point``."""
        return [self.between(point, other) for other in self.stratum_of(point) if other is not point and other.valid]

    def sees_difference(self, stratum: Sequence[Point]) -> bool:
        """Whether any comparison of two points of a stratum shows a difference."""
        return any(
            self.between(first, second).verdict in ("faster", "slower", NOTHING_COMPLETED)
            for first, second in combinations(stratum, 2)
        )


def judge(run: StoredRun, all_points: Sequence[Point]) -> MetricComparisons:
    """Compare all points of a run that may be compared, by the metric of ``judged_metric``."""
    metric, layers = judged_metric(run, all_points), strata(all_points)
    planned = [entry for stratum in layers for entry in planned_pairs(run, stratum)]
    pairs = [pair for stratum in layers for pair in combinations(stratum, 2)]
    compared = compare_all(pairs, metric, paired=True)
    found = MetricComparisons(
        metric,
        layers,
        [top for top in (best(stratum, metric) for stratum in layers) if top is not None],
        [],
        {(one.first.key, one.second.key): one for one in compared},
    )
    return replace(
        found, planned=[PlannedComparison(name, found.between(first, second)) for name, first, second in planned]
    )
