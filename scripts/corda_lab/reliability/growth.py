"""What one value did over a soak: its points, the slope through them, and the verdict.

``docs/methodology.md`` defines them. A slope is stated in % an hour of the mean. Where things are counted (connections,
ids, messages), the mean may be next to nothing; the slope is then in % of one of them. 2 % of one an hour is one more
in two days.
"""

import statistics
from collections.abc import Iterable, Sequence
from typing import Literal

from corda_lab.bench.file import BenchPart
from corda_lab.stats.slope import Slope, SlopeVerdict, slope_of

BOUND_PERCENT = 2.0
"""The slope up to which nothing grows, in % an hour. The whole interval has to be within."""

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
    minutes: tuple[float, ...]
    values: tuple[float, ...]

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
    def verdict(self) -> SlopeVerdict:
        """Whether the whole interval of the slope is within ``BOUND_PERCENT``."""
        return "cannot tell" if self.slope is None else self.slope.verdict(BOUND_PERCENT)

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
