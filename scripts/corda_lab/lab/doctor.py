"""Checks of this machine before the lab starts: each says what it found and how to mend it."""

import re
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import psutil

from corda_lab.errors import LabError
from corda_lab.host import engine, machine, plugins, probe
from corda_lab.lab import cordapps
from corda_lab.lab.compose import Compose, run_docker
from corda_lab.lab.settings import Settings
from corda_lab.lab.shape import KEPT
from corda_lab.paths import ROOT

GIB = 1024**3

DISK_BYTES_MIN = 2 * GIB
"""Room for ledgers, metrics and results once the images are there."""

DISK_BUILD_BYTES_MIN = 10 * GIB
"""Room for base images, build caches and the lab's own images besides."""

MEMORY_SHARE_MIN = 0.55
"""Share of all memory limits that has to be free: an idle lab uses about half of its limits, and load adds some heap."""

PORTS = {
    "BRIDGE_PORT": "bridge",
    "LOCUST_PORT": "Locust's web UI",
    "PROMETHEUS_PORT": "Prometheus",
    "GRAFANA_PORT": "Grafana",
}


class Level(StrEnum):
    """How a check ended: fine, worth knowing, or in the way of ``lab up``."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True)
class Check:
    """One finding: what was looked at, how it stands, and what to do when it is not fine."""

    name: str
    level: Level
    finding: str
    remedy: str = ""

    def as_dict(self) -> dict[str, str]:
        return {"name": self.name, "level": self.level.value, "finding": self.finding, "remedy": self.remedy}


def ok(name: str, finding: str) -> Check:
    """A check that found nothing to mend."""
    return Check(name, Level.OK, finding)


def failure(name: str, finding: str, remedy: str) -> Check:
    """A check that found what keeps the lab from working."""
    return Check(name, Level.FAILURE, finding, remedy)


def gib(count: float) -> str:
    """Bytes for people."""
    return f"{count / GIB:.1f} GiB"


def check_python() -> Check:
    """The interpreter that runs the lab."""
    return ok("python", f"{sys.version_info[0]}.{sys.version_info[1]}.{sys.version_info[2]}")


def check_engine() -> Check:
    """Whether an engine answers; on Debian and Ubuntu, as root, ``lab up`` installs and starts one."""
    found = probe.probe()
    if found.state is probe.EngineState.READY:
        return ok("engine", found.server_version)
    try:
        engine.ensure_engine(install=False)
    except LabError as error:
        return failure("engine", error.message, error.remedy)
    return ok("engine", probe.probe().server_version)


def check_compose() -> Check:
    """Whether Compose is new enough and buildx is there."""
    try:
        return ok("compose", plugins.ensure_compose(install=False))
    except LabError as error:
        return failure("compose", error.message, error.remedy)


def memory_limits(settings: Settings, services: Iterable[str]) -> int:
    """Sum of the memory limits of the services that keep running."""
    variables = {node.lower(): "NODE_MEMORY" for node in settings.nodes}
    variables.update(
        {name: f"{name.upper()}_MEMORY" for name in ("bridge", "locust", "prometheus", "grafana", "postgres")}
    )
    return sum(settings.size(variables[service]) for service in services if service in variables)


def judge_memory(limits: int, available: int, total: int) -> Check:
    """Compare free memory with what the lab will need."""
    needed = int(limits * MEMORY_SHARE_MIN)
    finding = f"{gib(available)} free of {gib(total)}; what is to start uses about {gib(needed)}, at most {gib(limits)}"
    remedy = "Close other programs, give the engine more memory, or set smaller NODE_HEAP and NODE_MEMORY in .env."
    if available < needed:
        return failure("memory", finding, remedy)
    if available < limits:
        return Check("memory", Level.WARNING, finding, remedy)
    return ok("memory", finding)


def check_memory(settings: Settings, services: Sequence[str]) -> Check:
    """Whether the machine (or the engine's virtual machine) has the memory that the services may use."""
    info = probe.engine_info()
    total = info.mem_total_bytes
    available = machine.memory_available_bytes()
    # An engine in a virtual machine of its own (Docker Desktop) has other memory than this host.
    if not Path(info.root_dir).exists():
        available = total
    return judge_memory(memory_limits(settings, services), min(available, total), total)


def judge_disk(free: int, *, images_present: bool) -> Check:
    """Compare free disk with what the lab will need."""
    needed = DISK_BYTES_MIN if images_present else DISK_BUILD_BYTES_MIN
    finding = f"{gib(free)} free; about {gib(needed)} needed" + ("" if images_present else " while images are built")
    if free < needed:
        return failure("disk", finding, "Free some: `docker system df` shows what images, caches and volumes take.")
    return ok("disk", finding)


def check_disk(settings: Settings) -> Check:
    """Whether the engine's disk has room."""
    root = Path(probe.engine_info().root_dir)
    present = run_docker(["image", "inspect", settings.node_image]).returncode == 0
    return judge_disk(machine.disk_free_bytes(root if root.exists() else ROOT), images_present=present)


def port_is_free(port: int) -> bool:
    """Whether a server could listen on this port of 127.0.0.1 now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Different ports of 127.0.0.1 on which nothing listens now."""
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) for _ in range(count)]
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
        return [int(listener.getsockname()[1]) for listener in listeners]


def port_owner(port: int) -> str:
    """Which program listens on a port, as far as this user may know; empty when unknown."""
    # Other users' sockets have no process here, and macOS shows sockets to root only.
    with suppress(psutil.Error, OSError):
        for one in psutil.net_connections(kind="tcp"):
            is_listener = one.status == psutil.CONN_LISTEN and one.laddr and one.laddr.port == port
            if is_listener and one.pid is not None:
                return f"{psutil.Process(one.pid).name()} (process {one.pid})"
    return ""


def parse_published(text: str) -> dict[int, tuple[str, str]]:
    """Host port → (project, container) from lines ``project<TAB>container<TAB>127.0.0.1:8080->8080/tcp, …``."""
    published = {}
    for line in text.splitlines():
        project, container, ports = (*line.split("\t"), "", "")[:3]
        for port in re.findall(r":(\d+)->", ports):
            published[int(port)] = (project, container)
    return published


def published_ports() -> dict[int, tuple[str, str]]:
    """Which container publishes which host port."""
    form = '{{.Label "com.docker.compose.project"}}\t{{.Names}}\t{{.Ports}}'
    return parse_published(run_docker(["ps", "--format", form]).stdout)


def check_ports(
    settings: Settings, variables: Iterable[str] = PORTS, *, published: Mapping[int, tuple[str, str]]
) -> list[Check]:
    """Whether every port is free, or is the lab's own already; two equal ones are found as well."""
    checks = []
    seen: dict[int, str] = {}
    for variable in variables:
        port = settings.port(variable)
        name = f"port {port} ({PORTS[variable]})"
        project, container = published.get(port, ("", ""))
        remedy = f"Stop it, or choose another port: {variable}={free_ports(1)[0]} in .env or in the environment."
        if port in seen:
            checks.append(failure(name, f"is {seen[port]} as well", f"Give {variable} another number."))
        elif container and project == settings.project:
            checks.append(ok(name, f"used by this lab ({container})"))
        elif container:
            checks.append(failure(name, f"taken by the container {container}", remedy))
        elif not port_is_free(port):
            checks.append(failure(name, f"taken by {port_owner(port) or 'another program'}", remedy))
        else:
            checks.append(ok(name, "free"))
        seen[port] = variable
    return checks


def judge_shape(shape: str, settings: Settings) -> list[str]:
    """Which settings differ from those that the kept volumes were made with.

    ``shape`` is what the bootstrapper wrote into the network volume: ``corda=4.10 database=h2 notary=simple dev-mode=false``.
    """
    kept = dict(word.partition("=")[::2] for word in shape.split())
    wanted = {name: settings[variable] for name, variable in KEPT.items()}
    return [
        f"{name} {kept.get(name, 'not known')}, but {wanted[name]} is configured"
        for name in wanted
        if kept and kept.get(name) != wanted[name]
    ]


def check_volumes(settings: Settings) -> Check:
    """Whether the kept volumes, if any, were made by the configuration at hand."""
    volume = f"{settings.project}_network"
    if run_docker(["volume", "inspect", volume]).returncode != 0:
        return ok("volumes", "none yet")
    # Any image of the lab will do to look into the volume, also when the version was changed and its image is not built.
    images = run_docker(["image", "ls", "--format", "{{.Repository}}:{{.Tag}}", "corda-lab/node"]).stdout.split()
    if not images:
        return ok("volumes", "kept from an earlier start")
    image = settings.node_image if settings.node_image in images else images[0]
    read = ["run", "--rm", "--network", "none", "--volume", f"{volume}:/network:ro", "--entrypoint", "cat"]
    shape = run_docker([*read, image, "/network/shape"])
    differences = judge_shape(shape.stdout, settings) if shape.returncode == 0 else []
    if differences:
        return failure(
            "volumes",
            f"they hold a network of another configuration ({'; '.join(differences)})",
            "Set the old values again, or forget the old network with `scripts/lab down --volumes`.",
        )
    return ok("volumes", f"kept from an earlier start ({shape.stdout.strip() or 'not finished'})")


def check_extra_cordapps(settings: Settings) -> list[Check]:
    """Whether a node of the configured version would take every jar of ``cordapps/extra/``."""
    jars = cordapps.extra_jars()
    problems = cordapps.find_problems(jars, settings["CORDA_VERSION"], cordapps.lab_contract_classes())
    if problems:
        return [failure("extra CorDapp", problem.text, problem.remedy) for problem in problems]
    return [ok("extra CorDapps", f"{len(jars)} in cordapps/extra/" if jars else "none in cordapps/extra/")]


def examine(settings: Settings) -> list[Check]:
    """All checks; those that need an engine are left out where there is none."""
    always, docker = [check_python(), *check_extra_cordapps(settings)], check_engine()
    if docker.level is Level.FAILURE:
        return [*always, docker, *check_ports(settings, published={})]
    compose = check_compose()
    if compose.level is Level.FAILURE:
        return [*always, docker, compose]
    return [*always, docker, compose, *check_start(settings)]


def check_start(settings: Settings, *, without: Iterable[str] = ()) -> list[Check]:
    """What has to hold before ``docker compose up``; services in ``without`` are left out of the start."""
    left_out = set(without)
    running = {service.name for service in Compose(settings).services() if service.state == "running"}
    services = [
        *settings.extra_services,
        *(node.lower() for node in settings.nodes),
        *("bridge", "locust", "prometheus", "grafana"),
    ]
    to_start = [name for name in services if name not in running | left_out]
    memory = check_memory(settings, to_start) if to_start else ok("memory", "the lab is running")
    ports = [variable for variable in PORTS if variable.partition("_")[0].lower() not in left_out]
    return [
        memory,
        check_disk(settings),
        *check_ports(settings, ports, published=published_ports()),
        check_volumes(settings),
    ]


def blocking_error(checks: Iterable[Check]) -> LabError | None:
    """One error for all checks that failed; None when none did."""
    failures = [check for check in checks if check.level is Level.FAILURE]
    if not failures:
        return None
    return LabError("\n".join(f"{check.name}: {check.finding}\n       {check.remedy}" for check in failures))
