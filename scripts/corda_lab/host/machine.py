"""The machine under the lab: what its numbers depend on."""

import platform
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from corda_lab.paths import ROOT

PROC = Path("/proc")


@dataclass(frozen=True)
class CpuTime:
    """CPU-seconds of all cores together since boot."""

    busy_seconds: float
    total_seconds: float
    stolen_seconds: float | None
    """The part of the busy time that a hypervisor gave to other virtual machines; None where the system does not count it."""


def cpu_time() -> CpuTime:
    """CPU time of this machine so far."""
    return sum_cpu_time(psutil.cpu_times()._asdict())


def sum_cpu_time(seconds: Mapping[str, float]) -> CpuTime:
    """Add up the fields of ``psutil.cpu_times``. Waiting for a disk and idling are not busy, CPU steal is.

    Linux alone has ``iowait`` and ``steal``. It counts the time of guests within ``user`` and ``nice`` too.
    """
    total = sum(value for name, value in seconds.items() if name not in {"guest", "guest_nice"})
    busy = total - seconds["idle"] - seconds.get("iowait", 0.0)
    return CpuTime(busy, total, seconds.get("steal"))


def busy_percent(before: CpuTime | None, after: CpuTime | None) -> float | None:
    """Share of all CPU time that was busy between two readings, in percent; None without two readings."""
    return _percent(before, after, lambda reading: reading.busy_seconds)


def stolen_percent(before: CpuTime | None, after: CpuTime | None) -> float | None:
    """Share of all CPU time that was stolen between two readings, in percent; None where it is not known."""
    return _percent(before, after, lambda reading: reading.stolen_seconds)


def _percent(before: CpuTime | None, after: CpuTime | None, of: Callable[[CpuTime], float | None]) -> float | None:
    if before is None or after is None or after.total_seconds <= before.total_seconds:
        return None
    earlier, later = of(before), of(after)
    if earlier is None or later is None:
        return None
    return 100.0 * (later - earlier) / (after.total_seconds - before.total_seconds)


def swapped_pages() -> int | None:
    """Pages that this machine has moved to and from its swap since boot; None where ``/proc`` does not say.

    Not by psutil, which gives 0 where it does not know, and on macOS counts the pages of mapped files as well.
    """
    try:
        lines = (PROC / "vmstat").read_text(encoding="ascii").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith(("pswpin ", "pswpout ")))
    except (OSError, ValueError, IndexError):
        return None


def memory_total_bytes() -> int:
    """Memory of this machine."""
    return int(psutil.virtual_memory().total)


def memory_available_bytes() -> int:
    """Memory that programs could take now without swapping."""
    return int(psutil.virtual_memory().available)


def cpu_model() -> str:
    """The processor's own name, which psutil does not know."""
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


def cores() -> int | None:
    """How many logical processors the machine has."""
    return psutil.cpu_count()


def describe() -> dict[str, Any]:
    """The host as it stands in a run's manifest."""
    return {
        "cpu_model": cpu_model(),
        "cpu_count": cores(),
        "memory_bytes": memory_total_bytes(),
        "kernel": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
    }
