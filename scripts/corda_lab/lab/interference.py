"""Checks of this machine for what bends measurements: CPU frequency, CPU steal, and other programs that use the CPU.

None of them can fail, because the lab runs on any machine. The same things are watched during every run.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from corda_lab.host import frequency, neighbours
from corda_lab.host.frequency import Frequency
from corda_lab.host.neighbours import Neighbour, Reading
from corda_lab.lab.checks import Check, ok, unknown, warning
from corda_lab.lab.engine import run_docker
from corda_lab.lab.settings import Settings

SAMPLE_SECONDS = 0.9
"""Time between two readings of the CPU times."""

GOVERNOR = "performance"

STOLEN_PERCENT_MAX = 1.0
"""CPU steal, in percent, above which there is a warning. A run has one only above 5 %, over a longer time."""

NEIGHBOUR_CORES_MIN = 0.05
"""CPU cores that a neighbour uses at least to be named: five ticks of the kernel's clock within the sample."""

SHOWN_MAX = 5

REPEATS = "Measure at another time, and use more repeats: they show it as scatter."


def check_governor(seen: Frequency) -> Check:
    """Check that the frequency of no core follows the load."""
    name = "CPU governor"
    if seen.governor is None:
        return unknown(
            name,
            "cannot be told here: the kernel shows no cpufreq, as in most virtual machines",
            "If this is a virtual machine, ask its host. Every run also measures the speed of the CPU (calibration).",
        )
    if seen.governors == (GOVERNOR,):
        return ok(name, GOVERNOR)
    return warning(
        name,
        f"{seen.governor}: the frequency follows the load, so a light load is measured on a slower CPU than a heavy "
        "one, and latencies at low load are too long",
        f"Set it until the next start: `echo {GOVERNOR} | sudo tee /{frequency.CPUS}/cpu*/cpufreq/scaling_governor`",
    )


def check_turbo(seen: Frequency) -> Check:
    """Check that no core may run above its base frequency."""
    name = "CPU turbo"
    if seen.turbo is None:
        return unknown(
            name,
            "cannot be told here: the kernel shows neither no_turbo nor boost, as in most virtual machines",
            "If this is a virtual machine, ask its host. Every run also measures the speed of the CPU (calibration).",
        )
    if not seen.turbo:
        return ok(name, "off")
    return warning(
        name,
        "on: the frequency depends on temperature and on how many cores are busy, so the first minutes, and loads on "
        "few cores, are measured on a faster CPU than the rest",
        f"Turn it off until the next start: `echo 1 | sudo tee /{frequency.CPUS}/intel_pstate/no_turbo` on Intel, "
        f"`echo 0 | sudo tee /{frequency.CPUS}/cpufreq/boost` elsewhere.",
    )


def check_steal(before: Reading | None, after: Reading | None) -> Check:
    """Check that no other virtual machine on the same host takes CPU time from this one."""
    name = "CPU steal"
    percent = neighbours.stolen_percent(before, after) if before and after else None
    if percent is None:
        return unknown(name, "cannot be told here: there is no /proc/stat with it", REPEATS)
    if percent <= STOLEN_PERCENT_MAX:
        return ok(name, f"{percent:.1f} % now")
    return warning(
        name,
        f"{percent:.1f} % now: other virtual machines on this host take this part of the CPU time, so throughput is "
        "too low and latency too long, by an amount that changes",
        f"Use a machine or an instance type with cores of its own. {REPEATS}",
    )


def check_neighbours(busy: list[Neighbour] | None, names: Mapping[str, str]) -> Check:
    """Check that no other program uses the CPU. ``names`` has those of containers by id."""
    name = "neighbours"
    if busy is None:
        return unknown(name, "cannot be told here: there is no /proc with the CPU times of processes", REPEATS)
    if not busy:
        return ok(name, "no other program uses the CPU now")
    shown = ", ".join(f"{_name_of(one, names)} ({one.cores:.2f} cores)" for one in busy[:SHOWN_MAX])
    more = f" and {len(busy) - SHOWN_MAX} more" if len(busy) > SHOWN_MAX else ""
    return warning(
        name,
        f"{shown}{more}: what they use is missing in every measurement, and changes while it runs",
        "Stop them before you measure. `docker ps` shows containers, `top` shows processes.",
    )


def _name_of(one: Neighbour, names: Mapping[str, str]) -> str:
    if not one.container:
        return one.name
    return f"container {names.get(one.container, one.container[:12])}"


def of_others(found: list[Neighbour], own: set[str]) -> list[Neighbour]:
    """The neighbours that use enough to be named, without the containers in ``own``, given by id."""
    return [one for one in found if one.cores >= NEIGHBOUR_CORES_MIN and one.container not in own]


def containers(settings: Settings) -> Iterator[tuple[str, str, bool]]:
    """Yield id, name, and whether it belongs to this lab, of every running container."""
    form = '{{.ID}}\t{{.Names}}\t{{.Label "com.docker.compose.project"}}'
    for line in run_docker(["ps", "--no-trunc", "--format", form]).stdout.splitlines():
        identity, name, project = line.split("\t")
        yield identity, name, project == settings.project


def examine(
    running: list[tuple[str, str, bool]], *, root: Path = Path("/"), pause: Callable[[float], None] = time.sleep
) -> list[Check]:
    """Make all checks of this module. ``running`` is what ``containers`` yields. Takes about a second."""
    seen = frequency.read(root)
    before = neighbours.read(root)
    pause(SAMPLE_SECONDS)
    after = neighbours.read(root)
    own = {identity for identity, _, is_own in running if is_own}
    busy = None
    if before and after:
        busy = of_others(neighbours.neighbours(before, after, without={os.getpid()}), own)
    names = {identity: name for identity, name, _ in running}
    return [check_governor(seen), check_turbo(seen), check_steal(before, after), check_neighbours(busy, names)]
