"""The CPU time and memory of containers during a load."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from corda_lab.host.control_groups import Meter, meters
from corda_lab.steps.rows import Window

INTERVAL_SECONDS = 0.25
"""Interval of readings. Each reads two small files per container."""


@dataclass(frozen=True)
class Reading:
    """The sum over all containers at one moment, in Unix seconds: CPU-seconds since their start, bytes of memory."""

    at: float
    cpu_seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class Usage:
    """CPU-seconds in a window, and the largest memory in it. None if they are unknown."""

    cpu_seconds: float | None = None
    memory_bytes_max: int | None = None


@dataclass
class Readings:
    """The readings of a load, oldest first."""

    all: list[Reading] = field(default_factory=list)

    def within(self, window: Window) -> Usage:
        """Return the usage in a window. It is unknown if the readings begin after the window, or are too few.

        A container may end at the end of the window, just before a reading; then its last reading counts.
        """
        inside = [each for each in self.all if window.started_at <= each.at <= window.ended_at]
        if not inside or self.all[0].at > window.started_at:
            return Usage()
        if window.ended_at - inside[-1].at > 4 * INTERVAL_SECONDS:
            return Usage()
        cpu = self._cpu_seconds_at(window.ended_at) - self._cpu_seconds_at(window.started_at)
        return Usage(cpu, max(each.memory_bytes for each in inside))

    def _cpu_seconds_at(self, moment: float) -> float:
        """CPU-seconds at a moment, interpolated between two readings; after the last one, its value."""
        before = [each for each in self.all if each.at <= moment][-1]
        after = next((each for each in self.all if each.at > moment), before)
        if after.at == before.at:
            return before.cpu_seconds
        share = (moment - before.at) / (after.at - before.at)
        return before.cpu_seconds + share * (after.cpu_seconds - before.cpu_seconds)


@contextmanager
def recorded(containers: Sequence[str]) -> Iterator[Readings]:
    """Read the usage of running containers during the block, until one of them ends. ``containers``: ids or names."""
    readings = Readings()
    done = threading.Event()
    thread = threading.Thread(target=_read, args=(meters(containers) or [], readings, done), daemon=True)
    thread.start()
    try:
        yield readings
    finally:
        done.set()
        thread.join()


def _read(files: Sequence[Meter], readings: Readings, done: threading.Event) -> None:
    while files and not done.is_set():
        try:
            values = [each.read() for each in files]
        except (OSError, ValueError):
            return  # A container has ended, and its control group with it.
        cpu, memory = (sum(column) for column in zip(*values, strict=True))
        readings.all.append(Reading(time.time(), cpu, int(memory)))
        done.wait(INTERVAL_SECONDS)
