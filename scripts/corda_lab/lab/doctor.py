"""Checks this machine: a table of checks, each with its name, the function that looks, and its remedy.

``FIRST`` is what everything needs, ``START`` must pass before the lab starts, and ``DISTORTIONS`` never fails.
"""

import os
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from pathlib import Path

import psutil
from packaging.version import Version

from corda_lab.errors import LabError
from corda_lab.host import engine, machine
from corda_lab.lab import cordapps, shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import PROJECT_LABEL, READER, docker
from corda_lab.lab.settings import BASE_SERVICES, BOOTSTRAP, GRAFANA, Settings
from corda_lab.paths import ROOT
from corda_lab.text import ui
from lab_workload.problems import Problem

GIB = 1024**3
DISK_BYTES_MIN = 2 * GIB
"""Disk space for ledgers, metrics and results, once the images exist."""
DISK_BUILD_BYTES_MIN = 10 * GIB
"""Disk space if base images, build caches and the lab's own images are also needed."""
MEMORY_SHARE_MIN = 0.55
"""Share of all memory limits that must be free. An idle lab uses about half of its limits, and load adds some heap."""
CORES_ENOUGH = 1_000_000
"""More cores than any machine has: what is wrong with a shape even then is a mistake."""
PORTS = {
    "BRIDGE_PORT": "bridge",
    "LOCUST_PORT": "Locust's web UI",
    "PROMETHEUS_PORT": "Prometheus",
    "GRAFANA_PORT": "Grafana",
}
SAMPLE_SECONDS = 0.9
"""Time between two readings of the CPU times."""
STOLEN_PERCENT_MAX = 1.0
"""CPU steal, in percent, above which there is a warning. A run has one only above 5 %, over a longer time."""
NEIGHBOUR_CORES_MIN = 0.05
"""CPU cores that a neighbour uses at least to be named: five ticks of the kernel's clock within the sample."""
NEIGHBOURS_SHOWN_MAX = 5
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


def warning(name: str, finding: str, remedy: str) -> Check:
    return Check(name, Level.WARNING, finding, remedy)


def failure(name: str, finding: str, remedy: str) -> Check:
    return Check(name, Level.FAILURE, finding, remedy)


Finding = tuple[Level, str]


@dataclass(frozen=True)
class Row:
    """A row of the table: the remedies are those of a finding that is not OK, and of one that cannot be told.

    ``look`` may also return a whole check, or None if there is nothing to say.
    """

    name: str
    look: Callable[["Examined"], Finding | Check | None]
    remedy: str = ""
    unknown_remedy: str = ""

    def check(self, examined: "Examined") -> Check | None:
        """Make the check. The remedy of a LabError takes the place of the row's."""
        try:
            result = self.look(examined)
        except LabError as error:
            return failure(self.name, error.message, error.remedy)
        if result is None or isinstance(result, Check):
            return result
        level, finding = result
        remedy = {Level.OK: "", Level.UNKNOWN: self.unknown_remedy or self.remedy}.get(level, self.remedy)
        return Check(self.name, level, finding, remedy)


@dataclass
class Examined:
    """What is examined: the machine, and the lab of these settings, of which ``without`` will not be started.

    ``root`` is the folder that contains ``sys``.
    """

    settings: Settings
    without: frozenset[str] = frozenset()
    root: Path = Path("/")

    @cached_property
    def engine(self) -> engine.EngineInfo:
        return engine.engine_info()

    @cached_property
    def has_engine(self) -> bool:
        return engine.probe().state is engine.EngineState.READY

    @cached_property
    def readings(self) -> tuple[machine.Activity, machine.Activity]:
        """The CPU times at two moments."""
        before = machine.activity()
        time.sleep(SAMPLE_SECONDS)
        return before, machine.activity()


def run(rows: Iterable[Row], examined: Examined) -> list[Check]:
    return [check for row in rows if (check := row.check(examined))]


def gib(count: float) -> str:
    return f"{count / GIB:.1f} GiB"


def memory_limits(settings: Settings, services: Iterable[str]) -> int:
    """Return the sum of the services' memory limits, in bytes."""
    variables = {node.lower(): "NODE_MEMORY" for node in settings.nodes}
    variables.update({name: f"{name.upper()}_MEMORY" for name in (*BASE_SERVICES, "postgres")})
    return sum(settings.size(variables[service]) for service in services if service in variables)


def judge_memory(limits: int, available: int, total: int) -> Finding:
    """Compare the available memory with the memory limits of the services to start, all in bytes."""
    needed = int(limits * MEMORY_SHARE_MIN)
    level = Level.FAILURE if available < needed else Level.WARNING if available < limits else Level.OK
    return (
        level,
        f"{gib(available)} of {gib(total)} available; the lab needs about {gib(needed)}, at most {gib(limits)}",
    )


def _memory(examined: Examined) -> Finding:
    running = {service.name for service in Compose(examined.settings).services() if service.state == "running"}
    to_start = [name for name in examined.settings.services if name not in running | examined.without]
    if not to_start:
        return Level.OK, "the lab is running"
    total = examined.engine.mem_total_bytes
    # An engine in a virtual machine (Docker Desktop) has its own memory, not that of this host.
    available = psutil.virtual_memory().available if Path(examined.engine.root_dir).exists() else total
    return judge_memory(memory_limits(examined.settings, to_start), min(available, total), total)


def judge_disk(free: int, *, images_present: bool) -> Finding:
    needed = DISK_BYTES_MIN if images_present else DISK_BUILD_BYTES_MIN
    finding = f"{gib(free)} free; about {gib(needed)} needed" + ("" if images_present else " to build the images")
    return Level.FAILURE if free < needed else Level.OK, finding


def _disk(examined: Examined) -> Finding:
    settings, root = examined.settings, Path(examined.engine.root_dir)
    # If another checkout has built the images, the build cache has most of what this one needs.
    image = settings.foreign_image or f"*/node:{settings['CORDA_VERSION']}"
    present = bool(docker("image", "ls", "--quiet", "--filter", f"reference={image}").stdout.strip())
    return judge_disk(shutil.disk_usage(root if root.exists() else ROOT).free, images_present=present)


def judge_shape(text: str, settings: Settings) -> list[str]:
    """Return the settings that differ from those with which the existing volumes were created.

    ``text`` is what the bootstrapper wrote into the network volume, such as
    ``corda=4.10 database=h2 notary=simple dev-mode=false``.
    """
    kept = dict(word.partition("=")[::2] for word in text.split())
    configured = {name: settings[variable] for name, variable in shape.KEPT.items()}
    return [
        f"{name} {kept.get(name, 'unknown')}, but {configured[name]} is configured"
        for name in configured
        if kept and kept.get(name) != configured[name]
    ]


def _volumes(examined: Examined) -> Finding:
    settings = examined.settings
    volume = f"{settings.project}_network"
    if docker("volume", "inspect", volume).returncode != 0:
        return Level.OK, "none yet"
    # Any node image of this lab can read the volume, even if the version was changed and its image is not built yet.
    form, own = "{{.Repository}}:{{.Tag}}", f"reference={settings.own_image('node:*')}"
    images = docker("image", "ls", "--format", form, "--filter", own).stdout.split()
    if not images:
        return Level.OK, "kept from an earlier start"
    image = settings.node_image if settings.node_image in images else images[0]
    read = ["run", "--rm", *READER, "--volume", f"{volume}:/network:ro", "--entrypoint", "cat", image, "/network/shape"]
    done = docker(*read)
    if done.returncode == 0 and (differences := judge_shape(done.stdout, settings)):
        return Level.FAILURE, f"they contain a network with another configuration ({'; '.join(differences)})"
    return Level.OK, f"kept from an earlier start ({done.stdout.strip() or 'not finished'})"


def _governor(examined: Examined) -> Finding:
    frequency = machine.frequency(examined.root)
    if frequency.governor is None:
        return Level.UNKNOWN, "cannot be told here: the kernel shows no cpufreq, as in most virtual machines"
    if frequency.governors == ("performance",):
        return Level.OK, "performance"
    return (
        Level.WARNING,
        f"{frequency.governor}: a light load is measured on a slower CPU, so its latencies are too long",
    )


def _turbo(examined: Examined) -> Finding:
    turbo = machine.frequency(examined.root).turbo
    if turbo is None:
        return Level.UNKNOWN, "cannot be told here: the kernel shows no switch, as in most virtual machines"
    if not turbo:
        return Level.OK, "off"
    return Level.WARNING, "on: the first minutes, and loads on few cores, are measured on a faster CPU than the rest"


def _steal(examined: Examined) -> Finding:
    before, after = examined.readings
    percent = machine.stolen_percent(before.cpu, after.cpu)
    if percent is None:
        return Level.UNKNOWN, "cannot be told here: the system does not count it"
    if percent <= STOLEN_PERCENT_MAX:
        return Level.OK, f"{percent:.1f} % now"
    return Level.WARNING, f"{percent:.1f} % now: other virtual machines on this host take this part of the CPU time"


def _neighbours(examined: Examined) -> Finding:
    form = f'{{{{.ID}}}}\t{{{{.Names}}}}\t{{{{.Label "{PROJECT_LABEL}"}}}}'
    listed = docker("ps", "--no-trunc", "--format", form).stdout if examined.has_engine else ""
    containers = {line.split("\t")[0]: line.split("\t")[1:] for line in listed.splitlines()}
    busy = []
    for program, cores in machine.cores_used(*examined.readings, without={os.getpid()}):
        name, project = containers.get(program.container, (program.container[:12], ""))
        if cores >= NEIGHBOUR_CORES_MIN and (not program.container or project != examined.settings.project):
            busy.append(f"{program.name or f'container {name}'} ({cores:.2f} cores)")
    if not busy:
        return Level.OK, "no other program uses the CPU now"
    shown = ", ".join(busy[:NEIGHBOURS_SHOWN_MAX])
    more = f" and {len(busy) - NEIGHBOURS_SHOWN_MAX} more" if len(busy) > NEIGHBOURS_SHOWN_MAX else ""
    return Level.WARNING, f"{shown}{more}: what they use is missing in every measurement, and changes while it runs"


REPEATS = "Measure at another time, and use more repeats: they show it as scatter."
ASK_HOST = "If this is a virtual machine, ask its host. Every run also measures the speed of the CPU (calibration)."

DISTORTIONS = (
    Row(
        "CPU governor",
        _governor,
        f"Set it until the next start: `echo performance | sudo tee /{machine.CPUS}/cpu*/cpufreq/scaling_governor`",
        ASK_HOST,
    ),
    Row(
        "CPU turbo",
        _turbo,
        f"Turn it off until the next start: `echo 1 | sudo tee /{machine.CPUS}/intel_pstate/no_turbo` on Intel, "
        f"`echo 0 | sudo tee /{machine.CPUS}/cpufreq/boost` elsewhere.",
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


def port_is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) for _ in range(count)]
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
        return [int(listener.getsockname()[1]) for listener in listeners]


def port_owner(port: int) -> str:
    """Return the program that listens on a port, or empty if this user may not see it."""
    # The processes of other users' sockets are hidden, and macOS shows sockets only to root.
    with suppress(psutil.Error, OSError):
        for socket_ in psutil.net_connections(kind="tcp"):
            is_listener = socket_.status == psutil.CONN_LISTEN and socket_.laddr and socket_.laddr.port == port
            if is_listener and socket_.pid is not None:
                return f"{psutil.Process(socket_.pid).name()} (process {socket_.pid})"
    return ""


def _port(variable: str, examined: Examined) -> Check | None:
    """Check that a port is free or already used by this lab, and that no other variable has the same."""
    settings = examined.settings
    if variable.partition("_")[0].lower() in examined.without:
        return None
    port = settings.port(variable)
    name = f"port {port} ({PORTS[variable]})"
    earlier = next((other for other in PORTS if settings.port(other) == port), variable)
    if earlier != variable:
        return failure(name, f"also set by {earlier}", f"Set {variable} to another port.")
    project, folder, container = publisher_of(port) if examined.has_engine else ("", "", "")
    if project == settings.project:
        return ok(name, f"used by this lab ({container})")
    if not container and port_is_free(port):
        return ok(name, "free")
    started = f", started from {folder}" if folder else ""
    holder = f"the container {container}{started}" if container else port_owner(port) or "another program"
    remedy = f"Stop it, or choose another port: {variable}={free_ports(1)[0]} in .env or in the environment."
    return failure(name, f"used by {holder}", remedy)


def publisher_of(port: int) -> tuple[str, str, str]:
    """Return the Compose project and its folder, and the container that publishes a port; empty texts if none does."""
    labels = (PROJECT_LABEL, f"{PROJECT_LABEL}.working_dir")
    form = "\t".join([*(f'{{{{.Label "{label}"}}}}' for label in labels), "{{.Names}}"])
    lines = docker("ps", "--filter", f"publish={port}", "--format", form).stdout.splitlines()
    project, folder, container = lines[0].split("\t") if lines else ("", "", "")
    return project, folder, container


def is_internal(settings: Settings) -> bool:
    """Return whether containers are to reach nothing outside. Raises LabError if the variable is no truth value."""
    value = settings.values.get(INTERNAL_NETWORK) or "true"
    if value not in {"true", "false"}:
        raise LabError(f"{INTERNAL_NETWORK}: {value!r} is neither true nor false", "Use true, unless you need egress.")
    return value == "true"


def _network(examined: Examined) -> Finding:
    if is_internal(examined.settings):
        return Level.OK, "containers reach nothing outside"
    return Level.WARNING, f"containers reach other networks and the internet ({INTERNAL_NETWORK}=false)"


def _log4shell(examined: Examined) -> Check | None:
    version = examined.settings["CORDA_VERSION"]
    numbers = tuple(int(number) for number in version.split(".") if number.isdecimal())
    if not numbers or numbers >= LOG4SHELL_FIXED:
        return None
    doubt = "; the lab does not know whether this image has it" if examined.settings.foreign_image else ""
    return warning(
        f"Corda {version}",
        "its Log4j on Maven Central has Log4Shell (CVE-2021-44228): who can send it text can run code in a"
        f" node{doubt}",
        f"Use Corda {'.'.join(map(str, LOG4SHELL_FIXED))} or newer, or start only flows and CorDapps that you trust,"
        f" with {INTERNAL_NETWORK}=true.",
    )


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
    if version and version < RESOLVER_HELD_TOO.get(version.major, RESOLVER_HELD):
        yield warning(
            f"engine {text}",
            "it resolves outside names for containers of internal networks (CVE-2024-29018)",
            f"Use Docker {RESOLVER_HELD} or newer, or only CorDapps that you trust.",
        )


FIRST = (
    Row("python", lambda _: (Level.OK, ".".join(map(str, sys.version_info[:3])))),
    Row("engine", lambda _: (Level.OK, engine.ensure_engine(install=False))),
    Row("compose", lambda _: (Level.OK, engine.ensure_compose(install=False))),
)
DISK = Row("disk", _disk, "Free some disk space. `docker system df` shows what images, caches and volumes take.")
PORT_ROWS = tuple(Row(f"port of {title}", partial(_port, variable)) for variable, title in PORTS.items())
EXPOSURES = (
    Row("network", _network, f"Set {INTERNAL_NETWORK}=true unless a CorDapp needs to reach something outside."),
    Row("Corda", _log4shell),
)
START = (
    Row("memory", _memory, "Close other programs, give the engine more memory, or reduce NODE_HEAP and NODE_MEMORY."),
    DISK,
    Row("volumes", _volumes, "Restore the old values, or delete the old network with `scripts/lab down --volumes`."),
    *PORT_ROWS,
    *EXPOSURES,
)


def check_extra_cordapps(settings: Settings) -> list[Check]:
    jars = cordapps.extra_jars()
    problems = cordapps.extra_problems(settings["CORDA_VERSION"])
    if problems:
        return [failure("extra CorDapp", problem.finding, problem.remedy) for problem in problems]
    return [ok("extra CorDapps", f"{len(jars)} in cordapps/extra/" if jars else "none in cordapps/extra/")]


def examine(settings: Settings) -> list[Check]:
    """Make all checks. Those that need a Docker engine are left out if there is none."""
    examined = Examined(settings)
    first = run(FIRST, examined)
    if not examined.has_engine:
        first = [check for check in first if check.name != "compose"]
        start = run(PORT_ROWS, examined)
    else:
        start = check_start(settings) if all(check.level is Level.OK for check in first) else []
    return [*first, *check_extra_cordapps(settings), *start, *run(DISTORTIONS, examined)]


def check_start(settings: Settings, *, without: Iterable[str] = ()) -> list[Check]:
    """Make the checks that must pass before ``docker compose up``. Services in ``without`` will not be started."""
    examined = Examined(settings, frozenset({BOOTSTRAP, *without}))
    return [*run(START, examined), *engine_exposures(examined.engine.server_version)]


def lacking(settings: Settings) -> list[str]:
    """Return what a shape needs that this machine does not have: cores, an image, or memory; empty if nothing.

    Mistakes, which no machine would mend, are not among them: ``shape.problems`` has those too. Raises LabError for
    values that have no meaning.
    """
    mistakes = {problem.text for problem in shape.problems(settings, cores=CORES_ENOUGH)}
    reasons = [problem.text.rstrip(".") for problem in shape.problems(settings) if problem.text not in mistakes]
    if shape.is_enterprise(settings["NODE_PRESET"]) and not settings.foreign_image:
        reasons.append(f"the preset {settings['NODE_PRESET']} needs an image of Corda Enterprise (CORDA_IMAGE)")
    # What other programs use now may be free later, so all memory of the machine counts.
    services = [service for service in settings.services if service != GRAFANA]
    needed, total = int(memory_limits(settings, services) * MEMORY_SHARE_MIN), machine.memory_total_bytes()
    if needed > total:
        reasons.append(f"the lab needs about {gib(needed)} of memory; this machine has {gib(total)}")
    return reasons


def require_sound(made: Iterable[Check], *, shown: Callable[[Check], bool]) -> None:
    """Print warnings and the findings that are to be ``shown``. Raises LabError with all failed checks."""
    made = list(made)
    for check in made:
        if check.level is Level.WARNING:
            ui.warn(f"{check.name}: {check.finding}")
    failures = [check for check in made if check.level is Level.FAILURE]
    if failures:
        raise LabError(problems=[Problem.of(check.name, check.finding, check.remedy) for check in failures])
    ui.note("; ".join(f"{check.name}: {check.finding}" for check in made if shown(check)))
