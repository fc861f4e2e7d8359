"""Arrivals of open load: when each is meant to start, and how late they start."""

import math
import random
from collections.abc import Iterable, Iterator

from lab_workload.load import Arrivals
from lab_workload.prepared import Share

LATE_SECONDS = 0.010
"""An arrival that starts later than this after its intended time counts as late."""
_DIGITS = 3


def arrival_offsets(arrivals: Arrivals, rate: float, seed: int, share: Share) -> Iterator[float]:
    """Seconds from the begin of the schedule to each of this worker's arrivals, without end.

    ``rate`` is that of all workers together. Constant arrivals are dealt out in turn; of Poisson arrivals every worker has
    its own seeded sequence, which together are Poisson arrivals again.
    """
    if arrivals == "constant":
        number = 0
        while True:
            number += 1
            yield (share.number(number) - 1) / rate
    source = random.Random(f"arrivals/{seed}/{share.worker}")
    offset = 0.0
    while True:
        offset += source.expovariate(rate / share.count)
        yield offset


class Lags:
    """Distribution of schedule lags, kept to three digits, so that its size is bounded whatever the number of requests."""

    def __init__(self, counts: Iterable[tuple[int, int]] = ()) -> None:
        self.counts: dict[int, int] = {}
        for key, count in counts:
            self.counts[key] = self.counts.get(key, 0) + count

    def add(self, seconds: float) -> None:
        """Count one lag."""
        key = _upward(max(0, math.ceil(seconds * 1e6)))
        self.counts[key] = self.counts.get(key, 0) + 1

    def quantile_ms(self, quantile: float) -> float | None:
        """The lag that a share ``quantile`` of all does not exceed, in milliseconds; None without any."""
        rank = math.ceil(round(quantile * sum(self.counts.values()), 9))
        for key in sorted(self.counts):
            rank -= self.counts[key]
            if rank <= 0:
                return key / 1000
        return None


class Schedule:
    """Hands out arrivals in order, none twice, and counts what became of them. Times are monotonic seconds."""

    def __init__(self, offsets: Iterator[float], late_max_seconds: float) -> None:
        self.late = self.dropped = self.started = 0
        self.lags = Lags()
        self._offsets = offsets
        self._late_max_seconds = late_max_seconds
        self._origin = 0.0
        self._next = math.inf

    @property
    def offered(self) -> int:
        """Arrivals that the load was to make: started or dropped."""
        return self.started + self.dropped

    def begin(self, now: float) -> None:
        """The first arrival is counted from ``now`` on."""
        self._origin = now
        self._next = now + next(self._offsets)

    @property
    def next_at(self) -> float:
        """Intended time of the next arrival."""
        return self._next

    @property
    def droppable_at(self) -> float:
        """When the next arrival is too late to start."""
        return self._next + self._late_max_seconds

    def take(self) -> float:
        """Intended time of the arrival that is handed out now."""
        return self._advance()

    def drop(self) -> None:
        """Give up the next arrival: it found no free place for too long."""
        self._advance()
        self.dropped += 1

    def note_start(self, intended: float, started: float) -> None:
        """Count an arrival that has started."""
        lag = started - intended
        self.started += 1
        self.late += lag > LATE_SECONDS
        self.lags.add(lag)

    def drop_due(self, now: float) -> None:
        """Drop every arrival that should have started by ``now`` and has not."""
        while self._next <= now:
            self.drop()

    def end(self) -> None:
        """No arrival comes any more."""
        self._next = math.inf

    def _advance(self) -> float:
        intended = self._next
        self._next = self._origin + next(self._offsets)
        return intended


def _upward(microseconds: int) -> int:
    """The least number of three digits and zeros that is not below."""
    unit: int = 10 ** max(0, len(str(microseconds)) - _DIGITS)
    return math.ceil(microseconds / unit) * unit
