"""Reads which programs use the CPU now, by process or container, from two readings of ``/proc``.

``root`` is the folder that contains ``proc``; tests use another one than ``/``.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

CONTAINER_ID = re.compile(r"[0-9a-f]{64}")
STEAL_FIELD = 7
"""Place of CPU steal among the numbers of the first line of ``/proc/stat``. Kernels before 2.6.11 do not have it."""


@dataclass(frozen=True)
class Program:
    """A program by its name, or a container by its id."""

    name: str
    container: str = ""


@dataclass(frozen=True)
class Reading:
    """CPU time since boot in clock ticks: of all cores, the part that was stolen (None if unknown), and of processes.

    Processes have (process id, start time) as their key, because ids are used again.
    """

    cores: int
    total_ticks: int
    stolen_ticks: int | None
    processes: dict[tuple[int, int], tuple[Program, int]]


def read(root: Path = Path("/")) -> Reading | None:
    """Read the CPU times now; None where there is no ``/proc/stat``."""
    try:
        lines = (root / "proc" / "stat").read_text(encoding="ascii").splitlines()
        # The last two fields, guest and guest_nice, are also in user and nice.
        fields = [int(word) for word in lines[0].split()[1:9]]
    except (OSError, ValueError, IndexError):
        return None
    processes: dict[tuple[int, int], tuple[Program, int]] = {}
    for folder in (root / "proc").iterdir():
        if folder.name.isdecimal() and (process := _process(folder)):
            started, program, ticks = process
            processes[int(folder.name), started] = program, ticks
    return Reading(
        cores=sum(bool(re.match(r"cpu\d", line)) for line in lines),
        total_ticks=sum(fields),
        stolen_ticks=fields[STEAL_FIELD] if len(fields) > STEAL_FIELD else None,
        processes=processes,
    )


def _process(folder: Path) -> tuple[int, Program, int] | None:
    """Start time, program and CPU ticks of a process; None if it has ended, or may not be read."""
    try:
        stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        groups = (folder / "cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name is in parentheses, and may contain any character, also a closing parenthesis.
    before, _, after = stat.rpartition(")")
    fields = after.split()
    if len(fields) < 20:
        return None
    container = CONTAINER_ID.search(groups)
    program = Program("", container[0]) if container else Program(before.partition("(")[2])
    return int(fields[19]), program, int(fields[11]) + int(fields[12])


def cores_used(before: Reading, after: Reading, *, without: Collection[int] = ()) -> list[tuple[Program, float]]:
    """The programs and containers that used the CPU between two readings, with the cores of each, the busiest first.

    Processes of one name count together, and so do all of one container. ``without`` has ids of processes to leave out.
    """
    elapsed = after.total_ticks - before.total_ticks
    if elapsed <= 0 or not after.cores:
        return []
    used: dict[Program, int] = {}
    for key, (program, ticks) in after.processes.items():
        if key[0] not in without:
            _, earlier = before.processes.get(key, (program, 0))
            used[program] = used.get(program, 0) + ticks - earlier
    cores = [(program, ticks * after.cores / elapsed) for program, ticks in used.items() if ticks > 0]
    return sorted(cores, key=lambda entry: (-entry[1], entry[0].name, entry[0].container))


def stolen_percent(before: Reading, after: Reading) -> float | None:
    """CPU steal between two readings, in percent of the CPU time of all cores; None if it is unknown."""
    elapsed = after.total_ticks - before.total_ticks
    if elapsed <= 0 or before.stolen_ticks is None or after.stolen_ticks is None:
        return None
    return 100.0 * (after.stolen_ticks - before.stolen_ticks) / elapsed
