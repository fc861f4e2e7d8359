"""Which points of a sweep differ. All comparisons are judged together once, so that no sentence contradicts another.

The family is every pair of points that may be compared, because a report that names the best point has looked at all of
them.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    differences = [_difference(first, second, metric, paired=paired) for first, second in pairs]
    judged = iter(difference.holm([known for known in differences if known is not None]))
    return [
        PointComparison(first, second, None if known is None else next(judged))
        for (first, second), known in zip(pairs, differences, strict=True)
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
    values = ((step.repeat, METRICS[metric].of(step)) for step in point.valid)
    return {repeat: value for repeat, value in values if value is not None}


@dataclass(frozen=True)
class MetricComparisons:
    """All comparisons of a run by one metric. ``tops`` has the best point of each stratum that has a value."""

    metric: str
    strata: list[list[Point]]
    tops: list[Point]
    pairs: Mapping[tuple[str, str], PointComparison]
    """Of the second point with the first, by their keys, in both directions."""
    planned: list[PointComparison]
    """Pairs of points that differ in one parameter only. The point with its first value comes first."""

    def between(self, first: Point, second: Point) -> PointComparison:
        return self.pairs[first.key, second.key]

    def against(self, point: Point) -> list[PointComparison]:
        """The comparisons of every other point of its stratum that has a valid step with a point."""
        stratum = next(members for members in self.strata if any(member is point for member in members))
        return [self.between(point, other) for other in stratum if other is not point and other.valid]

    @property
    def shown(self) -> list[PointComparison]:
        """What reports show: the planned comparisons, and the best points compared with all others."""
        planned = {frozenset((pair.first.key, pair.second.key)) for pair in self.planned}
        others = [pair for top in self.tops for pair in self.against(top)]
        return [*self.planned, *(pair for pair in others if {pair.first.key, pair.second.key} not in planned)]


def judge(run: StoredRun, all_points: Sequence[Point]) -> MetricComparisons:
    """Compare all points of a run that may be compared, by the metric of ``judged_metric``."""
    metric, layers = judged_metric(run, all_points), strata(all_points)
    pairs: dict[tuple[str, str], PointComparison] = {}
    family = [pair for stratum in layers for pair in combinations(stratum, 2)]
    for pair in compare_all(family, metric, paired=True):
        pairs[pair.first.key, pair.second.key] = pair
        pairs[pair.second.key, pair.first.key] = pair.turned()
    return MetricComparisons(
        metric,
        layers,
        [top for stratum in layers if (top := best(stratum, metric)) is not None],
        pairs,
        [pairs[base.key, other.key] for stratum in layers for base, other in planned_pairs(run, stratum)],
    )


def planned_pairs(run: StoredRun, stratum: Sequence[Point]) -> Iterator[tuple[Point, Point]]:
    """Every planned pair: the point with the first value of a parameter, and one that differs in this parameter only.

    A numeric parameter on the x axis makes a curve, not planned pairs.
    """
    for name in dict.fromkeys(name for point in stratum for name in point.values):
        if name == x_name(run) and all(is_number(point.values.get(name)) for point in stratum):
            continue
        first_of: dict[str, Point] = {}
        for point in stratum:
            others = {key: value for key, value in point.values.items() if key != name}
            base = first_of.setdefault(json.dumps([point.phase, others], sort_keys=True), point)
            if base is not point:
                yield base, point


def is_number(value: Any) -> bool:
    """Whether a value of a parameter has a place on a numeric axis."""
    return isinstance(value, int | float) and not isinstance(value, bool)
