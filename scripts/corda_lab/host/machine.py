"""The machine under the lab: what its numbers depend on."""

import os
import platform
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corda_lab.paths import ROOT

PROC = Path("/proc")


@dataclass(frozen=True)
class CpuTime:
    """Seconds of all processors together since boot."""

    busy_seconds: float
    total_seconds: float
    stolen_seconds: float = 0.0
    """The part of the busy time that a hypervisor gave to other guests."""


def parse_cpu_time(stat: str, ticks_per_second: int) -> CpuTime:
    """Read the first line of ``/proc/stat``; waiting for a disk and idling are not busy, time stolen by other guests is."""
    fields = [int(text) for text in stat.splitlines()[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return CpuTime(
        (sum(fields) - idle) / ticks_per_second, sum(fields) / ticks_per_second, fields[7] / ticks_per_second
    )


def cpu_time() -> CpuTime | None:
    """Processor time of this machine so far; None where ``/proc`` does not tell."""
    try:
        return parse_cpu_time((PROC / "stat").read_text(encoding="ascii"), os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError):
        return None


def busy_percent(before: CpuTime | None, after: CpuTime | None) -> float | None:
    """Share of all processors that was busy between two readings, in percent."""
    return _percent(before, after, lambda reading: reading.busy_seconds)


def stolen_percent(before: CpuTime | None, after: CpuTime | None) -> float | None:
    """Share of all processors that other guests took between two readings, in percent."""
    return _percent(before, after, lambda reading: reading.stolen_seconds)


def _percent(before: CpuTime | None, after: CpuTime | None, of: Callable[[CpuTime], float]) -> float | None:
    if before is None or after is None or after.total_seconds <= before.total_seconds:
        return None
    return 100.0 * (of(after) - of(before)) / (after.total_seconds - before.total_seconds)


def swapped_pages() -> int | None:
    """Pages that this machine has moved to and from its swap since boot; None where ``/proc`` does not tell."""
    try:
        lines = (PROC / "vmstat").read_text(encoding="ascii").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith(("pswpin ", "pswpout ")))
    except (OSError, ValueError, IndexError):
        return None


def memory_bytes(field: str) -> int | None:
    """A field of ``/proc/meminfo`` in bytes: ``MemTotal``, ``MemAvailable``."""
    try:
        for line in (PROC / "meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def cpu_model() -> str:
    """The processor's own name."""
    try:
        for line in (PROC / "cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.lower().startswith(("model name", "hardware")):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def disk_free_bytes(path: Path = ROOT) -> int:
    """Free space where ``path`` lies."""
    return shutil.disk_usage(path).free


def describe() -> dict[str, Any]:
    """The host as it stands in a run's manifest."""
    return {
        "cpu_model": cpu_model(),
        "cpu_count": os.cpu_count(),
        "memory_bytes": memory_bytes("MemTotal"),
        "kernel": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
    }
