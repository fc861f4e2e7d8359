"""The checks of ``lab doctor``: what a check is, what distorts measurements, and what the lab is exposed to."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from packaging.version import Version

from corda_lab.errors import LabError
from corda_lab.host import engine, frequency, neighbours
from corda_lab.lab.engine import run_docker
from corda_lab.lab.settings import Settings

SAMPLE_SECONDS = 0.9
"""Time between two readings of the CPU times."""


class Level(StrEnum):
    """The result of a check. Only a failure prevents ``lab up``."""

    OK = "ok"
    UNKNOWN = "unknown"
    """This machine does not show what the check examines."""
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True)
class Check:
    """One check: what was examined, the result, the finding, and the remedy unless the result is OK."""

    name: str
    level: Level
    finding: str
    remedy: str = ""


def ok(name: str, finding: str) -> Check:
    return Check(name, Level.OK, finding)


def unknown(name: str, finding: str, remedy: str) -> Check:
    return Check(name, Level.UNKNOWN, finding, remedy)


def warning(name: str, finding: str, remedy: str) -> Check:
    return Check(name, Level.WARNING, finding, remedy)


def failure(name: str, finding: str, remedy: str) -> Check:
    return Check(name, Level.FAILURE, finding, remedy)


Finding = tuple[Level, str]


@dataclass(frozen=True)
class Row:
    """A row of the table: the remedies are those of a finding that is not OK, and of one that cannot be told."""

    name: str
    look: Callable[["Examined"], Finding]
    remedy: str = ""
    unknown_remedy: str = ""

    def check(self, examined: "Examined") -> Check:
        """Make the check. The remedy of a LabError takes the place of the row's."""
        try:
            level, finding = self.look(examined)
        except LabError as error:
            return failure(self.name, error.message, error.remedy)
        remedy = {Level.OK: "", Level.UNKNOWN: self.unknown_remedy or self.remedy}.get(level, self.remedy)
        return Check(self.name, level, finding, remedy)


@dataclass
class Examined:
    """What is examined: the machine, and the lab of these settings, of which ``without`` will not be started.

    ``root`` is the folder that contains ``proc`` and ``sys``.
    """

    settings: Settings
    without: frozenset[str] = frozenset()
    root: Path = Path("/")
    pause: Callable[[float], None] = field(default=time.sleep)

    @cached_property
    def engine(self) -> engine.EngineInfo:
        return engine.engine_info()

    @cached_property
    def has_engine(self) -> bool:
        return engine.probe().state is engine.EngineState.READY

    @cached_property
    def readings(self) -> tuple[neighbours.Reading, neighbours.Reading] | None:
        """The CPU times at two moments; None where the kernel does not show them."""
        before = neighbours.read(self.root)
        self.pause(SAMPLE_SECONDS)
        after = neighbours.read(self.root)
        return (before, after) if before and after else None

    def containers(self) -> Iterator[tuple[str, str, bool]]:
        """Yield id, name, and whether it belongs to this lab, of every running container."""
        form = '{{.ID}}\t{{.Names}}\t{{.Label "com.docker.compose.project"}}'
        done = run_docker(["ps", "--no-trunc", "--format", form]) if self.has_engine else None
        for line in done.stdout.splitlines() if done else ():
            identity, name, project = line.split("\t")
            yield identity, name, project == self.settings.project


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

DISTORTIONS = (
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
"""What distorts measurements. None of these fails, because the lab runs on any machine; every run watches the same."""


INTERNAL_NETWORK = "INTERNAL_NETWORK"
LOG4SHELL_FIXED = (4, 9)
"""The first version of Corda on Maven Central without Log4Shell (CVE-2021-44228). 4.6 to 4.8 have Log4j 2.13.3, older
ones 2.9.1 or older; 4.9 has 2.17.1."""
LOOPBACK_HELD = Version("28")
"""The first engine whose ports on 127.0.0.1 are closed to other machines of the same network segment (moby/moby issue
45610)."""
RESOLVER_HELD = Version("26")
"""The first engine that resolves no outside names for containers of internal networks (CVE-2024-29018). 25.0.4 and
23.0.11 do not either."""
RESOLVER_HELD_TOO = {25: Version("25.0.4"), 23: Version("23.0.11")}


def is_internal(settings: Settings) -> bool:
    """Return whether containers are to reach nothing outside. Raises LabError if the variable is no truth value."""
    value = settings.values.get(INTERNAL_NETWORK) or "true"
    if value not in {"true", "false"}:
        raise LabError(f"{INTERNAL_NETWORK}: {value!r} is neither true nor false", "Use true, unless you need egress.")
    return value == "true"


def exposures(settings: Settings) -> Iterator[Check]:
    """Yield checks for an open network, and for nodes with known holes. Raises LabError for a wrong value."""
    if is_internal(settings):
        yield ok("network", "containers reach nothing outside")
    else:
        yield warning(
            "network",
            f"containers reach other networks and the internet ({INTERNAL_NETWORK}=false)",
            f"Set {INTERNAL_NETWORK}=true unless a CorDapp needs to reach something outside.",
        )
    version = settings["CORDA_VERSION"]
    numbers = tuple(int(number) for number in version.split(".") if number.isdecimal())
    if numbers and numbers < LOG4SHELL_FIXED:
        doubt = "; the lab does not know whether this image has it" if settings.foreign_image else ""
        yield warning(
            f"Corda {version}",
            "its Log4j on Maven Central has Log4Shell (CVE-2021-44228): who can send it text can run code in a"
            f" node{doubt}",
            f"Use Corda {'.'.join(map(str, LOG4SHELL_FIXED))} or newer, or start only flows and CorDapps that you"
            f" trust, with {INTERNAL_NETWORK}=true.",
        )


def resolves_outside(engine: Version) -> bool:
    """Return whether an engine resolves outside names for containers of internal networks."""
    return engine < RESOLVER_HELD_TOO.get(engine.major, RESOLVER_HELD)


def engine_exposures(text: str) -> Iterator[Check]:
    """Yield the holes of old engines, by the version that the engine gives, such as ``20.10.24+dfsg1``."""
    version = engine.parse_version(text)
    if version and version < LOOPBACK_HELD:
        yield warning(
            f"engine {text}",
            "other machines of the same network segment can reach ports that it publishes on 127.0.0.1, such as"
            " those of the bridge and of Locust",
            f"Use Docker {LOOPBACK_HELD} or newer, or run the lab only in a network that you trust.",
        )
    if version and resolves_outside(version):
        yield warning(
            f"engine {text}",
            "it resolves outside names for containers of internal networks (CVE-2024-29018)",
            f"Use Docker {RESOLVER_HELD} or newer, or only CorDapps that you trust.",
        )
