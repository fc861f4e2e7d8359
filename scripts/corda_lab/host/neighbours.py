"""Which programs use the CPU now, by process or container, from two readings of the process table."""

import re
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from corda_lab.host import machine

CONTAINER_ID = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Program:
    """A program by its name, or a container by its id."""

    name: str
    container: str = ""


@dataclass(frozen=True)
class Reading:
    """The CPU times at one moment: of all cores, and of each process in seconds.

    Processes have (process id, start time) as their key, because ids are used again.
    """

    processes: dict[tuple[int, float], tuple[Program, float]]
    cpu: machine.CpuTime = field(default_factory=machine.cpu_time)
    at: float = field(default_factory=time.monotonic)


def read() -> Reading:
    processes = {}
    for process in psutil.process_iter():
        # It may have ended, or belong to a user whose processes are hidden.
        with suppress(psutil.Error, OSError), process.oneshot():
            times = process.cpu_times()
            container = _container_of(process.pid)
            program = Program("", container) if container else Program(process.name())
            processes[process.pid, process.create_time()] = program, times.user + times.system
    return Reading(processes)


def _container_of(pid: int) -> str:
    """Return the id of the container that a process is in; empty if it is in none, or the kernel does not say."""
    with suppress(OSError):
        container = CONTAINER_ID.search((Path("/proc") / str(pid) / "cgroup").read_text(encoding="utf-8"))
        return container[0] if container else ""
    return ""


def cores_used(before: Reading, after: Reading, *, without: Collection[int] = ()) -> list[tuple[Program, float]]:
    """The programs and containers that used the CPU between two readings, with the cores of each, the busiest first.

    Processes of one name count together, and so do all of one container. ``without`` has ids of processes to leave out.
    """
    elapsed = after.at - before.at
    used: dict[Program, float] = {}
    for key, (program, seconds) in after.processes.items():
        if key[0] not in without:
            _, earlier = before.processes.get(key, (program, 0.0))
            used[program] = used.get(program, 0.0) + seconds - earlier
    cores = [(program, seconds / elapsed) for program, seconds in used.items() if seconds > 0]
    return sorted(cores, key=lambda entry: (-entry[1], entry[0].name, entry[0].container))
