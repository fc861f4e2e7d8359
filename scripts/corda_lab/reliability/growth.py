"""What one value did over a soak: its points, the slope through them, and the verdict.

``docs/methodology.md`` defines them. A slope is stated in % an hour of the mean. Where things are counted (connections,
ids, messages), the mean may be next to nothing; the slope is then in % of one of them, and the bound is one more an
hour: few things cannot grow by a part of one.
"""

import statistics
from collections.abc import Iterable, Sequence
from typing import Literal

from corda_lab.bench.file import BenchPart
from corda_lab.stats.slope import POINTS_MIN, Slope, SlopeVerdict, slope_of
from corda_lab.text.words import plural

BOUND_PERCENT = 2.0
"""The slope up to which nothing grows, in % an hour. The whole interval has to be within."""
POINTS_SHARE_MIN = 0.9
"""The share of the points of a soak that has to be there. With fewer, nobody knows what happened in the rest of it."""
COUNT_BOUND = 1.0
"""The bound of what is counted, if 2 % of it are less: so many more an hour."""

Unit = Literal["bytes", "ms", "count"]
Statistic = Literal["live objects", "lowest", "mean", "p50", "p95"]
"""How a point stands for its part of the soak. live objects: what a full collection has left at that moment. The others
are those of the samples or requests in a window."""


class Growth(BenchPart):
    """The points of one value over a soak, at the middles of their windows, in minutes from its begin."""

    name: str
    """The value, as the document calls it."""
    place: str
    """The node or the part of the lab; empty for a value of the whole."""
    unit: Unit
    statistic: Statistic
    minutes: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    points: int = 0
    """How many points the whole soak has of such a value."""
    must_be_told: bool = True
    """Whether the soak fails if the scatter hides the slope. What was not measured fails it in any case."""
    missing: str | None = None
    """Why there are no points."""

    @property
    def mean(self) -> float | None:
        """The mean of the points; None without any."""
        return statistics.fmean(self.values) if self.values else None

    @property
    def slope(self) -> Slope | None:
        """The slope in % an hour; None if there are too few points."""
        found = slope_of(self.minutes, self.values)
        if found is None or self.mean is None:
            return None
        scale = max(self.mean, 1.0) if self.unit == "count" else self.mean
        return found.scaled(60 * 100 / scale) if scale > 0 else None

    @property
    def bound_percent(self) -> float:
        """The bound of this value, in % an hour."""
        if self.unit != "count" or self.mean is None:
            return BOUND_PERCENT
        return max(BOUND_PERCENT, 100 * COUNT_BOUND / max(self.mean, 1.0))

    @property
    def verdict(self) -> SlopeVerdict:
        """Whether the whole interval of the slope is within the bound.

        A few things that never differ by more than the bound over all the time are within it, however they scatter.
        """
        if self.slope is None or self.is_partial:
            return "cannot tell"
        if self.bound_percent > BOUND_PERCENT and self._range_per_hour <= COUNT_BOUND:
            return "within"
        return self.slope.verdict(self.bound_percent)

    @property
    def is_partial(self) -> bool:
        """Whether too many points are missing."""
        return len(self.values) < POINTS_SHARE_MIN * self.points

    @property
    def _range_per_hour(self) -> float:
        """The difference of the highest and the lowest point, by the hours between the first and the last."""
        return (max(self.values) - min(self.values)) / ((self.minutes[-1] - self.minutes[0]) / 60)

    @property
    def seen_from_percent(self) -> float | None:
        """The smallest slope that would have stood out from the scatter, in % an hour: half of the interval's width."""
        return None if self.slope is None else (self.slope.high - self.slope.low) / 2

    @property
    def reason(self) -> str | None:
        """Why the slope cannot be told; None if it can."""
        if self.verdict != "cannot tell":
            return None
        if self.missing is not None:
            return self.missing
        if self.is_partial:
            return f"{len(self.values)} of {plural(self.points, 'point')} were measured"
        if self.seen_from_percent is None:
            return f"{plural(len(self.values), 'point')}, and a slope needs {POINTS_MIN}"
        return (
            f"the points scatter, so that a slope is seen from {self.seen_from_percent:.2f} % an hour on, and the "
            f"interval reaches beyond {self.bound_percent:.3g} %"
        )

    @property
    def fails(self) -> bool:
        """Whether the soak fails for this value: it grows, it was not measured, or its slope has to be told."""
        if self.verdict == "cannot tell":
            return self.must_be_told or self.slope is None or self.is_partial
        return self.verdict == "beyond"

    @property
    def title(self) -> str:
        """The value and its place: ``heap of PartyA``."""
        return f"{self.name} of {self.place}" if self.place else self.name


def windows(
    times: Sequence[float], values: Sequence[float], *, began: float, ended: float, minutes: float
) -> Iterable[tuple[float, list[float]]]:
    """Yield the middle of each whole window in minutes from ``began``, and the values in it. Empty ones are left out.

    Times are in unix seconds. A last window that is shorter is left out.
    """
    seconds = 60 * minutes
    found: dict[int, list[float]] = {}
    for at, value in zip(times, values, strict=True):
        if began <= at < ended:
            found.setdefault(int((at - began) / seconds), []).append(value)
    for number in sorted(found):
        if began + (number + 1) * seconds <= ended + 1e-6:
            yield minutes * (number + 0.5), found[number]
