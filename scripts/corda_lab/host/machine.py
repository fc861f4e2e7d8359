"""This machine, as far as results depend on it: CPU, its frequency and its speed now, memory, swap, other programs.

CPU steal shows the time that a hypervisor gave to others. A processor that is slower (heat, power, a neighbour on the
same physical core) shows only in how long the same work takes: the calibration.
"""

import os
import platform
import random
import re
import time
import zlib
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import psutil

PROC = Path("/proc")
CPUS = Path("sys/devices/system/cpu")
ROUNDS = 7
"""The fastest round counts: it is the one that nothing interrupted."""
WORK_BYTES = 128 * 1024
WORK = f"zlib {zlib.ZLIB_RUNTIME_VERSION}, {platform.python_implementation()} {platform.python_version()}"
"""What was timed. Times of different work cannot be compared."""
CONTAINER_ID = re.compile(r"[0-9a-f]{64}")


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


@dataclass(frozen=True)
class Program:
    """A program by its name, or a container by its id."""

    name: str
    container: str = ""


@dataclass(frozen=True)
class Activity:
    """What uses the CPU, by its times at one moment: of all cores, and of each process in seconds.

    Processes have (process id, start time) as their key, because ids are used again.
    """

    processes: dict[tuple[int, float], tuple[Program, float]]
    cpu: CpuTime = field(default_factory=cpu_time)
    at: float = field(default_factory=time.monotonic)


def activity() -> Activity:
    processes = {}
    for process in psutil.process_iter():
        # It may have ended, or belong to a user whose processes are hidden.
        with suppress(psutil.Error, OSError), process.oneshot():
            times = process.cpu_times()
            container = _container_of(process.pid)
            program = Program("", container) if container else Program(process.name())
            processes[process.pid, process.create_time()] = program, times.user + times.system
    return Activity(processes)


def _container_of(pid: int) -> str:
    """Return the id of the container that a process is in; empty if it is in none, or the kernel does not say."""
    with suppress(OSError):
        container = CONTAINER_ID.search((PROC / str(pid) / "cgroup").read_text(encoding="utf-8"))
        return container[0] if container else ""
    return ""


def cores_used(before: Activity, after: Activity, *, without: Collection[int] = ()) -> list[tuple[Program, float]]:
    """The programs and containers that used the CPU between two moments, with the cores of each, the busiest first.

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
