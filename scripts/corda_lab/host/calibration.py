"""Measures how fast the processor is now: the time of a fixed piece of work on each core.

CPU steal shows the time that a hypervisor gave to others. A processor that is slower (heat, power, a neighbour on
the same physical core) shows only in how long the same work takes.
"""

import os
import platform
import random
import time
import zlib
from dataclasses import dataclass
from functools import cache

ROUNDS = 7
"""The fastest round counts: it is the one that nothing interrupted."""
WORK_BYTES = 128 * 1024
WORK = f"zlib {zlib.ZLIB_RUNTIME_VERSION}, {platform.python_implementation()} {platform.python_version()}"
"""What was timed. Times of different work cannot be compared."""


@dataclass(frozen=True)
class Calibration:
    """The milliseconds that the fixed work took on each core, by its number. Empty if cores cannot be chosen."""

    work: str
    core_ms: dict[int, float]


def calibrate() -> Calibration:
    """Time the fixed piece of work on each core that this process may use, about 50 ms per core."""
    if not hasattr(os, "sched_setaffinity"):
        # macOS does not let a process choose its core.
        return Calibration(WORK, {})
    allowed = os.sched_getaffinity(0)
    try:
        return Calibration(WORK, {core: _time_on(core) for core in sorted(allowed)})
    finally:
        os.sched_setaffinity(0, allowed)


def _time_on(core: int) -> float:
    os.sched_setaffinity(0, {core})
    return round(1000 * min(_time_once() for _ in range(ROUNDS)), 4)


def _time_once() -> float:
    content = _content()
    started = time.perf_counter()
    zlib.compress(content, 6)
    return time.perf_counter() - started


@cache
def _content() -> bytes:
    """The data that are compressed: always the same, and neither uniform nor random."""
    source = random.Random(1)
    words = [bytes(source.choices(range(97, 123), k=source.randint(2, 9))) for _ in range(500)]
    return b" ".join(source.choices(words, k=WORK_BYTES // 4))[:WORK_BYTES]
