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
class ProcessTime:
    """The CPU time of a process since its start, in clock ticks, and the id of its container (empty without one)."""

    name: str
    container: str
    ticks: int


@dataclass(frozen=True)
class Reading:
    """CPU time since boot in clock ticks: of all cores, the part that was stolen (None if unknown), and of processes.

    Processes have (process id, start time) as their key, because ids are used again.
    """

    cores: int
    total_ticks: int
    stolen_ticks: int | None
    processes: dict[tuple[int, int], ProcessTime]


@dataclass(frozen=True)
class Neighbour:
    """A program, or a container by its id, and the CPU cores that it used between two readings."""

    name: str
    container: str
    cores: float


def read(root: Path = Path("/")) -> Reading | None:
    """Read the CPU times now; None where there is no ``/proc/stat``."""
    try:
        lines = (root / "proc" / "stat").read_text(encoding="ascii").splitlines()
        # The last two fields, guest and guest_nice, are also in user and nice.
        fields = [int(word) for word in lines[0].split()[1:9]]
    except (OSError, ValueError, IndexError):
        return None
    found = {}
    for folder in (root / "proc").iterdir():
        if folder.name.isdecimal() and (one := _process(folder)):
            found[(int(folder.name), one[0])] = one[1]
    return Reading(
        cores=sum(bool(re.match(r"cpu\d", line)) for line in lines),
        total_ticks=sum(fields),
        stolen_ticks=fields[STEAL_FIELD] if len(fields) > STEAL_FIELD else None,
        processes=found,
    )


def _process(folder: Path) -> tuple[int, ProcessTime] | None:
    """The start time of a process and its CPU time; None if it has ended, or may not be read."""
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
    inside = CONTAINER_ID.search(groups)
    ticks = int(fields[11]) + int(fields[12])
    return int(fields[19]), ProcessTime(before.partition("(")[2], inside[0] if inside else "", ticks)


def neighbours(before: Reading, after: Reading, *, without: Collection[int] = ()) -> list[Neighbour]:
    """The programs and containers that used the CPU between two readings, the busiest first.

    Processes of one name count together, and so do all of one container. ``without`` has ids of processes to leave out.
    """
    elapsed = after.total_ticks - before.total_ticks
    if elapsed <= 0 or not after.cores:
        return []
    used: dict[tuple[str, str], int] = {}
    for key, now in after.processes.items():
        if key[0] in without:
            continue
        earlier = before.processes.get(key)
        ticks = now.ticks - (earlier.ticks if earlier else 0)
        whose = ("", now.container) if now.container else (now.name, "")
        used[whose] = used.get(whose, 0) + ticks
    found = [
        Neighbour(name, container, ticks * after.cores / elapsed)
        for (name, container), ticks in used.items()
        if ticks > 0
    ]
    return sorted(found, key=lambda one: (-one.cores, one.name, one.container))


def stolen_percent(before: Reading, after: Reading) -> float | None:
    """CPU steal between two readings, in percent of the CPU time of all cores; None if it is unknown."""
    elapsed = after.total_ticks - before.total_ticks
    if elapsed <= 0 or before.stolen_ticks is None or after.stolen_ticks is None:
        return None
    return 100.0 * (after.stolen_ticks - before.stolen_ticks) / elapsed
