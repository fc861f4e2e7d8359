"""The arrivals of open load and of bursts: their intended times, and how late they start."""

import math
import random
from collections.abc import Iterable, Iterator

from lab_workload.load import LATE_SECONDS, Arrivals
from lab_workload.prepared import Share

_DIGITS = 3


def arrival_offsets(arrivals: Arrivals, rate: float, seed: int, share: Share) -> Iterator[float]:
    """Yield the times of this worker's arrivals, in seconds from the start of the schedule, without end.

    ``rate`` is the total of all workers, per second. Constant arrivals are assigned to the workers in turn. For Poisson
    arrivals, every worker has its own seeded sequence; the combination of independent Poisson processes is a Poisson
    process.
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


def burst_offsets(requests: int, within_seconds: float) -> Iterator[float]:
    """Yield the times of the arrivals of a burst, in seconds from its begin, then infinity; again for every burst.

    The arrivals are evenly spread: the first at 0, each ``within_seconds / requests`` after the one before it.
    """
    while True:
        yield from (number * within_seconds / requests for number in range(requests))
        yield math.inf


class Lags:
    """The distribution of schedule lags, rounded up to three digits, so that its size is limited."""

    def __init__(self, counts: Iterable[tuple[int, int]] = ()) -> None:
        self.counts: dict[int, int] = {}
        for key, count in counts:
            self.counts[key] = self.counts.get(key, 0) + count

    def add(self, seconds: float) -> None:
        key = _upward(max(0, math.ceil(seconds * 1e6)))
        self.counts[key] = self.counts.get(key, 0) + 1

    def quantile_ms(self, quantile: float) -> float | None:
        """Return the lag in milliseconds that a share ``quantile`` of all lags does not exceed; None without lags."""
        rank = math.ceil(round(quantile * sum(self.counts.values()), 9))
        for key in sorted(self.counts):
            rank -= self.counts[key]
            if rank <= 0:
                return key / 1000
        return None


class Schedule:
    """Returns arrivals in order, and counts which started or were dropped. Times are on the monotonic clock."""

    def __init__(self, offsets: Iterator[float], late_max_seconds: float) -> None:
        self.late = self.dropped = self.started = 0
        self.lags = Lags()
        self._drops: list[float] = []
        self._offsets = offsets
        self._late_max_seconds = late_max_seconds
        self._origin = 0.0
        self._next = math.inf

    @property
    def offered(self) -> int:
        return self.started + self.dropped

    def begin(self, now: float) -> None:
        self._origin = now
        self._next = now + next(self._offsets)

    @property
    def next_at(self) -> float:
        """Intended time of the next arrival; infinite if there is none."""
        return self._next

    @property
    def droppable_at(self) -> float:
        """Time from which the next arrival is too late to start."""
        return self._next + self._late_max_seconds

    def take(self) -> float:
        return self._advance()

    def drop(self) -> None:
        """Drop the next arrival, because no place became free in time."""
        self._drops.append(self._advance())
        self.dropped += 1

    def note_start(self, intended: float, started: float) -> None:
        lag = started - intended
        self.started += 1
        self.late += lag > LATE_SECONDS
        self.lags.add(lag)

    def take_drops(self) -> list[float]:
        """Return the intended times of the arrivals that were dropped since the last call."""
        taken, self._drops = self._drops, []
        return taken

    def drop_due(self, now: float) -> None:
        """Drop all arrivals that should have started by ``now`` and have not."""
        while self._next <= now:
            self.drop()

    def end(self) -> None:
        self._next = math.inf

    def _advance(self) -> float:
        intended = self._next
        self._next = self._origin + next(self._offsets)
        return intended


def _upward(microseconds: int) -> int:
    """Round up to three significant digits."""
    unit: int = 10 ** max(0, len(str(microseconds)) - _DIGITS)
    return math.ceil(microseconds / unit) * unit
