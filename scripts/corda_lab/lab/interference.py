"""Checks of this machine for what distorts measurements: CPU frequency, CPU steal, and other programs that use the CPU.

None of them can fail, because the lab runs on any machine. The same things are watched during every run.
"""

import os

from corda_lab.host import frequency, neighbours
from corda_lab.lab.checks import Examined, Finding, Level, Row

STOLEN_PERCENT_MAX = 1.0
"""CPU steal, in percent, above which there is a warning. A run has one only above 5 %, over a longer time."""

NEIGHBOUR_CORES_MIN = 0.05
"""CPU cores that a neighbour uses at least to be named: five ticks of the kernel's clock within the sample."""

NEIGHBOURS_SHOWN_MAX = 5


def _governor(examined: Examined) -> Finding:
    seen = frequency.read(examined.root)
    if seen.governor is None:
        return Level.UNKNOWN, "cannot be told here: the kernel shows no cpufreq, as in most virtual machines"
    if seen.governors == ("performance",):
        return Level.OK, "performance"
    return Level.WARNING, f"{seen.governor}: a light load is measured on a slower CPU, so its latencies are too long"


def _turbo(examined: Examined) -> Finding:
    turbo = frequency.read(examined.root).turbo
    if turbo is None:
        return Level.UNKNOWN, "cannot be told here: the kernel shows no switch, as in most virtual machines"
    if not turbo:
        return Level.OK, "off"
    return Level.WARNING, "on: the first minutes, and loads on few cores, are measured on a faster CPU than the rest"


def _steal(examined: Examined) -> Finding:
    percent = neighbours.stolen_percent(*examined.readings) if examined.readings else None
    if percent is None:
        return Level.UNKNOWN, "cannot be told here: there is no /proc/stat with it"
    if percent <= STOLEN_PERCENT_MAX:
        return Level.OK, f"{percent:.1f} % now"
    return Level.WARNING, f"{percent:.1f} % now: other virtual machines on this host take this part of the CPU time"


def _neighbours(examined: Examined) -> Finding:
    if examined.readings is None:
        return Level.UNKNOWN, "cannot be told here: there is no /proc with the CPU times of processes"
    containers = list(examined.containers())
    own, names = {identity for identity, _, is_own in containers if is_own}, {one[0]: one[1] for one in containers}
    busy = [
        one
        for one in neighbours.neighbours(*examined.readings, without={os.getpid()})
        if one.cores >= NEIGHBOUR_CORES_MIN and one.container not in own
    ]
    if not busy:
        return Level.OK, "no other program uses the CPU now"
    shown = ", ".join(
        f"{f'container {names.get(one.container, one.container[:12])}' if one.container else one.name}"
        f" ({one.cores:.2f} cores)"
        for one in busy[:NEIGHBOURS_SHOWN_MAX]
    )
    more = f" and {len(busy) - NEIGHBOURS_SHOWN_MAX} more" if len(busy) > NEIGHBOURS_SHOWN_MAX else ""
    return Level.WARNING, f"{shown}{more}: what they use is missing in every measurement, and changes while it runs"


REPEATS = "Measure at another time, and use more repeats: they show it as scatter."
ASK_HOST = "If this is a virtual machine, ask its host. Every run also measures the speed of the CPU (calibration)."

ROWS = (
    Row(
        "CPU governor",
        _governor,
        f"Set it until the next start: `echo performance | sudo tee /{frequency.CPUS}/cpu*/cpufreq/scaling_governor`",
        ASK_HOST,
    ),
    Row(
        "CPU turbo",
        _turbo,
        f"Turn it off until the next start: `echo 1 | sudo tee /{frequency.CPUS}/intel_pstate/no_turbo` on Intel, "
        f"`echo 0 | sudo tee /{frequency.CPUS}/cpufreq/boost` elsewhere.",
        ASK_HOST,
    ),
    Row("CPU steal", _steal, f"Use a machine or an instance type with cores of its own. {REPEATS}", REPEATS),
    Row(
        "neighbours",
        _neighbours,
        "Stop them before you measure. `docker ps` shows containers, `top` shows processes.",
        REPEATS,
    ),
)
