"""What a start took beside what its containers need: how much of it was waiting."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from corda_lab.host import control_groups, machine
from corda_lab.host.machine import CpuTime


@dataclass(frozen=True)
class Beginning:
    """When a start began, and what the processors had done until then."""

    at: float = field(default_factory=time.monotonic)
    machine: CpuTime | None = field(default_factory=machine.cpu_time)


def summary(beginning: Beginning, containers: Sequence[str]) -> str:
    """What the start of ``containers`` (ids) took until now, in a line for people."""
    seconds, now = time.monotonic() - beginning.at, machine.cpu_time()
    used = control_groups.cpu_seconds(containers)
    if not used:
        return f"{seconds:.1f} s; how much of it was waiting is not known: the engine's containers do not run on this system"
    elsewhere = now.busy_seconds - beginning.machine.busy_seconds - used if now and beginning.machine else None
    return in_words(seconds, used, elsewhere, cores=os.cpu_count() or 1)


def in_words(seconds: float, used: float, elsewhere: float | None, *, cores: int) -> str:
    """``seconds`` of a start whose containers used that many seconds of processors, and everything ``elsewhere`` some more."""
    least = used / cores
    text = (
        f"{seconds:.1f} s: {seconds / least:.2f} times the {least:.1f} s"
        f" that the containers' {used:.1f} CPU-seconds take on {cores} cores"
    )
    return text if elsewhere is None else f"{text}; all else on this machine took {max(0.0, elsewhere):.1f} CPU-seconds"
