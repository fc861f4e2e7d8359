"""Reads how the kernel chooses the frequency of the CPU: the governor of each core, and turbo (boost).

``root`` is the folder that contains ``sys``; tests use another one than ``/``.
"""

from dataclasses import dataclass
from pathlib import Path

CPUS = Path("sys/devices/system/cpu")


@dataclass(frozen=True)
class Frequency:
    """The governors of the cores, each once and sorted, and whether turbo is on.

    ``governors`` is empty and ``turbo`` is None if the kernel does not show them, as in most virtual machines.
    """

    governors: tuple[str, ...]
    turbo: bool | None

    @property
    def governor(self) -> str | None:
        """``performance``, or ``performance, powersave`` if cores differ; None if it is unknown."""
        return ", ".join(self.governors) or None


def read(root: Path = Path("/")) -> Frequency:
    cpus = root / CPUS
    found = {_text(path) for path in cpus.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    found |= {_text(path) for path in cpus.glob("cpufreq/policy[0-9]*/scaling_governor")}
    return Frequency(tuple(sorted(filter(None, found))), _turbo(cpus))


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
