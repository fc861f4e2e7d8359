"""Checks this machine before the lab starts: a table of checks, each with its name, its function and its remedy."""

import re
import shutil
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from corda_lab.errors import LabError
from corda_lab.host import engine, machine
from corda_lab.lab import checks, cordapps, shape
from corda_lab.lab.checks import Check, Examined, Finding, Level, Row, failure, ok
from corda_lab.lab.compose import Compose
from corda_lab.lab.engine import READER, run_docker
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
    present = bool(run_docker(["image", "ls", "--quiet", "--filter", f"reference={image}"]).stdout.strip())
    return judge_disk(shutil.disk_usage(root if root.exists() else ROOT).free, images_present=present)


def judge_shape(text: str, settings: Settings) -> list[str]:
    """Return the settings that differ from those with which the existing volumes were created.

    ``text`` is what the bootstrapper wrote into the network volume, such as
    ``corda=4.10 database=h2 notary=simple dev-mode=false``.
    """
    kept = dict(word.partition("=")[::2] for word in text.split())
    wanted = {name: settings[variable] for name, variable in shape.KEPT.items()}
    return [
        f"{name} {kept.get(name, 'unknown')}, but {wanted[name]} is configured"
        for name in wanted
        if kept and kept.get(name) != wanted[name]
    ]


def _volumes(examined: Examined) -> Finding:
    settings = examined.settings
    volume = f"{settings.project}_network"
    if run_docker(["volume", "inspect", volume]).returncode != 0:
        return Level.OK, "none yet"
    # Any node image of this lab can read the volume, even if the version was changed and its image is not built yet.
    form, own = "{{.Repository}}:{{.Tag}}", f"reference={settings.own_image('node:*')}"
    images = run_docker(["image", "ls", "--format", form, "--filter", own]).stdout.split()
    if not images:
        return Level.OK, "kept from an earlier start"
    image = settings.node_image if settings.node_image in images else images[0]
    read = ["run", "--rm", *READER, "--volume", f"{volume}:/network:ro", "--entrypoint", "cat", image, "/network/shape"]
    found = run_docker(read)
    if found.returncode == 0 and (differences := judge_shape(found.stdout, settings)):
        return Level.FAILURE, f"they contain a network with another configuration ({'; '.join(differences)})"
    return Level.OK, f"kept from an earlier start ({found.stdout.strip() or 'not finished'})"


BASICS = (
    Row("python", lambda _: (Level.OK, ".".join(map(str, sys.version_info[:3])))),
    Row("engine", lambda _: (Level.OK, engine.ensure_engine(install=False))),
    Row("compose", lambda _: (Level.OK, engine.ensure_compose(install=False))),
)
STORES = (
    Row("memory", _memory, "Close other programs, give the engine more memory, or reduce NODE_HEAP and NODE_MEMORY."),
    Row("disk", _disk, "Free some disk space. `docker system df` shows what images, caches and volumes take."),
    Row("volumes", _volumes, "Restore the old values, or delete the old network with `scripts/lab down --volumes`."),
)


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
        for one in psutil.net_connections(kind="tcp"):
            is_listener = one.status == psutil.CONN_LISTEN and one.laddr and one.laddr.port == port
            if is_listener and one.pid is not None:
                return f"{psutil.Process(one.pid).name()} (process {one.pid})"
    return ""


@dataclass(frozen=True)
class Publisher:
    """A container that publishes a port. Project and folder are empty if Compose did not start it."""

    container: str
    project: str = ""
    folder: str = ""

    @property
    def words(self) -> str:
        """``the container shop-web-1``, with the folder from which Compose has started it."""
        return f"the container {self.container}{f', started from {self.folder}' if self.folder else ''}"


def parse_published(text: str) -> dict[int, Publisher]:
    """Host port → container, from lines ``project<TAB>folder<TAB>container<TAB>127.0.0.1:8080->8080/tcp, …``."""
    published = {}
    for line in text.splitlines():
        project, folder, container, ports = (*line.split("\t"), "", "", "")[:4]
        for port in re.findall(r":(\d+)->", ports):
            published[int(port)] = Publisher(container, project, folder)
    return published


def published_ports() -> dict[int, Publisher]:
    labels = ("com.docker.compose.project", "com.docker.compose.project.working_dir")
    form = "\t".join([*(f'{{{{.Label "{label}"}}}}' for label in labels), "{{.Names}}", "{{.Ports}}"])
    return parse_published(run_docker(["ps", "--format", form]).stdout)


def check_ports(
    settings: Settings, variables: Iterable[str] = PORTS, *, published: Mapping[int, Publisher]
) -> Iterator[Check]:
    """Check that every port is free or already used by this lab, and that no two variables have the same port."""
    seen: dict[int, str] = {}
    free = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
    for variable in variables:
        port = settings.port(variable)
        name = f"port {port} ({PORTS[variable]})"
        publisher = published.get(port)
        remedy = f"Stop it, or choose another port: {variable}={free[variable]} in .env or in the environment."
        if port in seen:
            yield failure(name, f"also set by {seen[port]}", f"Set {variable} to another port.")
        elif publisher and publisher.project == settings.project:
            yield ok(name, f"used by this lab ({publisher.container})")
        elif publisher:
            yield failure(name, f"used by {publisher.words}", remedy)
        elif not port_is_free(port):
            yield failure(name, f"used by {port_owner(port) or 'another program'}", remedy)
        else:
            yield ok(name, "free")
        seen[port] = variable


def check_disk(settings: Settings) -> Check:
    return STORES[1].check(Examined(settings))


def check_extra_cordapps(settings: Settings) -> list[Check]:
    jars = cordapps.extra_jars()
    problems = cordapps.extra_problems(settings["CORDA_VERSION"], settings["CORDAPP"])
    if problems:
        return [failure("extra CorDapp", problem.finding, problem.remedy) for problem in problems]
    return [ok("extra CorDapps", f"{len(jars)} in cordapps/extra/" if jars else "none in cordapps/extra/")]


def examine(settings: Settings) -> list[Check]:
    """Make all checks. Those that need a Docker engine are left out if there is none."""
    examined = Examined(settings)
    basics = [row.check(examined) for row in BASICS]
    if not examined.has_engine:
        basics = [check for check in basics if check.name != "compose"]
        start = list(check_ports(settings, published={}))
    else:
        start = check_start(settings) if all(check.level is Level.OK for check in basics) else []
    distortions = [row.check(examined) for row in checks.DISTORTIONS]
    return [*basics, *check_extra_cordapps(settings), *start, *distortions]


def check_start(settings: Settings, *, without: Iterable[str] = ()) -> list[Check]:
    """Make the checks that must pass before ``docker compose up``. Services in ``without`` will not be started."""
    examined = Examined(settings, frozenset({BOOTSTRAP, *without}))
    ports = [variable for variable in PORTS if variable.partition("_")[0].lower() not in examined.without]
    return [
        *(row.check(examined) for row in STORES),
        *check_ports(settings, ports, published=published_ports()),
        *checks.exposures(settings),
        *checks.engine_exposures(examined.engine.server_version),
    ]


def lacking(settings: Settings) -> list[str]:
    """Return what a shape needs that this machine does not have: cores, an image, or memory; empty if nothing.

    Mistakes, which no machine would mend, are not among them: ``shape.problems`` has those too. Raises LabError for
    values that have no meaning.
    """
    mistakes = {problem.text for problem in shape.problems(settings, cores=CORES_ENOUGH)}
    found = [problem.text.rstrip(".") for problem in shape.problems(settings) if problem.text not in mistakes]
    if shape.is_enterprise(settings["NODE_PRESET"]) and not settings.foreign_image:
        found.append(f"the preset {settings['NODE_PRESET']} needs an image of Corda Enterprise (CORDA_IMAGE)")
    # What other programs use now may be free later, so all memory of the machine counts.
    services = [service for service in settings.services if service != GRAFANA]
    needed, total = int(memory_limits(settings, services) * MEMORY_SHARE_MIN), machine.memory_total_bytes()
    memory = [f"the lab needs about {gib(needed)} of memory; this machine has {gib(total)}"] if needed > total else []
    return [*found, *memory]


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
