"""Facts about this machine on which results depend: CPU, its frequency, memory, swap."""

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

PROC = Path("/proc")
CPUS = Path("sys/devices/system/cpu")


@dataclass(frozen=True)
class CpuTime:
    """CPU-seconds since boot, summed over all cores."""

    busy_seconds: float
    total_seconds: float
    stolen_seconds: float | None
    """CPU steal: the part of the busy time that the hypervisor gave to other VMs; None if it is not counted."""


def cpu_time() -> CpuTime:
    return sum_cpu_time(psutil.cpu_times()._asdict())


def sum_cpu_time(seconds: Mapping[str, float]) -> CpuTime:
    """Add up the fields of ``psutil.cpu_times`` (seconds). CPU steal counts as busy; I/O wait does not.

    Only Linux has ``iowait`` and ``steal``. ``guest`` and ``guest_nice`` are left out, because Linux already includes
    them in ``user`` and ``nice``.
    """
    total = sum(value for name, value in seconds.items() if name not in {"guest", "guest_nice"})
    busy = total - seconds["idle"] - seconds.get("iowait", 0.0)
    return CpuTime(busy, total, seconds.get("steal"))


def busy_percent(before: CpuTime | None, after: CpuTime | None) -> float | None:
    """Return the CPU utilisation between two readings, in percent of all cores; None without two readings."""
    return _percent(before, after, lambda reading: reading.busy_seconds)


def stolen_percent(before: CpuTime | None, after: CpuTime | None) -> float | None:
    """Return the CPU steal between two readings, in percent of all cores; None if it is unknown."""
    return _percent(before, after, lambda reading: reading.stolen_seconds)


def _percent(before: CpuTime | None, after: CpuTime | None, of: Callable[[CpuTime], float | None]) -> float | None:
    if before is None or after is None or after.total_seconds <= before.total_seconds:
        return None
    earlier, later = of(before), of(after)
    if earlier is None or later is None:
        return None
    return 100.0 * (later - earlier) / (after.total_seconds - before.total_seconds)


def swapped_pages() -> int | None:
    """Return the pages swapped in and out since boot; None if ``/proc`` does not contain the number.

    psutil is not used: it returns 0 if the number is unknown, and on macOS it also counts pages of mapped files.
    """
    try:
        lines = (PROC / "vmstat").read_text(encoding="ascii").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith(("pswpin ", "pswpout ")))
    except (OSError, ValueError, IndexError):
        return None


def memory_total_bytes() -> int:
    return int(psutil.virtual_memory().total)


def cpu_model() -> str:
    """Return the CPU's model name, which psutil does not provide."""
    try:
        for line in (PROC / "cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.lower().startswith(("model name", "hardware")):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def cores() -> int | None:
    return psutil.cpu_count()


@dataclass(frozen=True)
class Frequency:
    """The governors of the cores, each once and sorted, and whether turbo (boost) is on.

    ``governors`` is empty and ``turbo`` is None if the kernel does not show them, as in most virtual machines.
    """

    governors: tuple[str, ...]
    turbo: bool | None

    @property
    def governor(self) -> str | None:
        """``performance``, or ``performance, powersave`` if cores differ; None if it is unknown."""
        return ", ".join(self.governors) or None


def frequency(root: Path = Path("/")) -> Frequency:
    """Read how the kernel chooses the frequency of the CPU. ``root`` is the folder that contains ``sys``."""
    cpus = root / CPUS
    files = [*cpus.glob("cpu[0-9]*/cpufreq/scaling_governor"), *cpus.glob("cpufreq/policy[0-9]*/scaling_governor")]
    return Frequency(tuple(sorted(filter(None, {_text(path) for path in files}))), _turbo(cpus))


def _turbo(cpus: Path) -> bool | None:
    """Whether any core may run above its base frequency. Drivers have a switch for all cores, or one for each policy.

    https://docs.kernel.org/admin-guide/pm/cpufreq.html describes ``boost``, and ``intel_pstate.html`` ``no_turbo``.
    """
    if (off := _text(cpus / "intel_pstate" / "no_turbo")) in {"0", "1"}:
        return off == "0"
    switches = [cpus / "cpufreq" / "boost", *cpus.glob("cpufreq/policy[0-9]*/boost")]
    known = {text for path in switches if (text := _text(path)) in {"0", "1"}}
    return "1" in known if known else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
