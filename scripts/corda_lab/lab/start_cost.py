"""Compares the duration of a start with the CPU time that its containers needed. The rest was waiting."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from corda_lab.host import control_groups, machine
from corda_lab.host.machine import CpuTime


@dataclass(frozen=True)
class Beginning:
    """The time when a start began, and the machine's CPU time until then."""

    at: float = field(default_factory=time.monotonic)
    machine: CpuTime | None = field(default_factory=machine.cpu_time)


def summary(beginning: Beginning, containers: Sequence[str]) -> str:
    """Describe in one line what the start of ``containers`` (ids) took until now."""
    seconds, now = time.monotonic() - beginning.at, machine.cpu_time()
    used = control_groups.cpu_seconds(containers)
    if not used:
        return f"{seconds:.1f} s; its CPU time is unknown: the engine's containers do not run on this system"
    elsewhere = now.busy_seconds - beginning.machine.busy_seconds - used if now and beginning.machine else None
    return in_words(seconds, used, elsewhere, cores=os.cpu_count() or 1)


def in_words(seconds: float, used: float, elsewhere: float | None, *, cores: int) -> str:
    """Describe a start of ``seconds``, given the CPU-seconds of its containers (``used``) and of other processes."""
    least = used / cores
    text = (
        f"{seconds:.1f} s: {seconds / least:.2f} times the {least:.1f} s"
        f" that the containers' {used:.1f} CPU-seconds take on {cores} cores"
    )
    return text if elsewhere is None else f"{text}; other processes used {max(0.0, elsewhere):.1f} CPU-seconds"
