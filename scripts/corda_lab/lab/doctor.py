"""Checks this machine before the lab starts. Each check reports its finding and the remedy."""

import re
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from corda_lab.errors import LabError
from corda_lab.host import engine, machine, plugins, probe
from corda_lab.host.image_files import READER
from corda_lab.lab import cordapps, exposure, interference
from corda_lab.lab.checks import Check, CheckKind, Level, failure, ok
from corda_lab.lab.compose import Compose
from corda_lab.lab.engine import run_docker
from corda_lab.lab.settings import BASE_SERVICES, BOOTSTRAP, Settings
from corda_lab.lab.shape import KEPT
from corda_lab.paths import ROOT
from lab_workload.problems import Problem

GIB = 1024**3

DISK_BYTES_MIN = 2 * GIB
"""Disk space for ledgers, metrics and results, once the images exist."""

DISK_BUILD_BYTES_MIN = 10 * GIB
"""Disk space if base images, build caches and the lab's own images are also needed."""

MEMORY_SHARE_MIN = 0.55
"""Share of all memory limits that must be free. An idle lab uses about half of its limits, and load adds some heap."""

OLDER_VOLUMES = "older volumes"
READ_SHAPE = f"if [ -e /network/nodes ]; then echo {OLDER_VOLUMES}; else cat /network/shape; fi"
"""Prints what the bootstrapper wrote. An older version of the lab kept the keys of all nodes in the same volume."""

PORTS = {
    "BRIDGE_PORT": "bridge",
    "LOCUST_PORT": "Locust's web UI",
    "PROMETHEUS_PORT": "Prometheus",
    "GRAFANA_PORT": "Grafana",
}


def gib(count: float) -> str:
    """Format bytes as ``1.5 GiB``."""
    return f"{count / GIB:.1f} GiB"


def check_python() -> Check:
    """Report the version of the Python interpreter."""
    return ok("python", f"{sys.version_info[0]}.{sys.version_info[1]}.{sys.version_info[2]}")


def check_engine() -> Check:
    """Check that a Docker engine answers. Nothing is installed; ``lab up`` does that on Debian and Ubuntu, as root."""
    found = probe.probe()
    if found.state is probe.EngineState.READY:
        return ok("engine", found.server_version)
    try:
        engine.ensure_engine(install=False)
    except LabError as error:
        return failure("engine", error.message, error.remedy)
    return ok("engine", probe.probe().server_version)


def check_compose() -> Check:
    """Check that Compose is new enough, and that buildx is installed."""
    try:
        return ok("compose", plugins.ensure_compose(install=False))
    except LabError as error:
        return failure("compose", error.message, error.remedy)


def memory_limits(settings: Settings, services: Iterable[str]) -> int:
    """Return the sum of the services' memory limits, in bytes."""
    variables = {node.lower(): "NODE_MEMORY" for node in settings.nodes}
    variables.update({name: f"{name.upper()}_MEMORY" for name in (*BASE_SERVICES, "postgres")})
    return sum(settings.size(variables[service]) for service in services if service in variables)


def judge_memory(limits: int, available: int, total: int) -> Check:
    """Compare the available memory with the memory limits of the services to start, all in bytes."""
    needed = int(limits * MEMORY_SHARE_MIN)
    finding = f"{gib(available)} of {gib(total)} available; the lab needs about {gib(needed)}, at most {gib(limits)}"
    remedy = "Close other programs, give the engine more memory, or reduce NODE_HEAP and NODE_MEMORY in .env."
    if available < needed:
        return failure("memory", finding, remedy)
    if available < limits:
        return Check("memory", Level.WARNING, finding, remedy)
    return ok("memory", finding)


def check_memory(settings: Settings, services: Sequence[str]) -> Check:
    """Check that the machine, or the engine's virtual machine, has enough memory for the services."""
    info = probe.engine_info()
    total = info.mem_total_bytes
    available = machine.memory_available_bytes()
    # An engine in a virtual machine (Docker Desktop) has its own memory, not that of this host.
    if not Path(info.root_dir).exists():
        available = total
    return judge_memory(memory_limits(settings, services), min(available, total), total)


def judge_disk(free: int, *, images_present: bool) -> Check:
    """Compare the free disk space (bytes) with the space that the lab needs."""
    needed = DISK_BYTES_MIN if images_present else DISK_BUILD_BYTES_MIN
    finding = f"{gib(free)} free; about {gib(needed)} needed" + ("" if images_present else " to build the images")
    if free < needed:
        remedy = "Free some disk space. `docker system df` shows what images, caches and volumes take."
        return failure("disk", finding, remedy)
    return ok("disk", finding)


def check_disk(settings: Settings) -> Check:
    """Check that the engine's disk has enough free space."""
    root = Path(probe.engine_info().root_dir)
    # If another checkout has built the images, the build cache has most of what this one needs.
    image = settings.foreign_image or f"*/node:{settings['CORDA_VERSION']}"
    present = bool(run_docker(["image", "ls", "--quiet", "--filter", f"reference={image}"]).stdout.strip())
    return judge_disk(machine.disk_free_bytes(root if root.exists() else ROOT), images_present=present)


def port_is_free(port: int) -> bool:
    """Return whether a server could listen on this port of 127.0.0.1 now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Return ``count`` different ports of 127.0.0.1 that are free now."""
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
    """The folder from which it was started."""

    @property
    def is_lab(self) -> bool:
        """Whether it belongs to the lab of a checkout."""
        return bool(self.folder) and (Path(self.folder) / "scripts" / "lab").is_file()


def parse_published(text: str) -> dict[int, Publisher]:
    """Host port → container, from lines ``project<TAB>folder<TAB>container<TAB>127.0.0.1:8080->8080/tcp, …``."""
    published = {}
    for line in text.splitlines():
        project, folder, container, ports = (*line.split("\t"), "", "", "")[:4]
        for port in re.findall(r":(\d+)->", ports):
            published[int(port)] = Publisher(container, project, folder)
    return published


def published_ports() -> dict[int, Publisher]:
    """Return the containers by the host ports that they publish."""
    labels = ("com.docker.compose.project", "com.docker.compose.project.working_dir")
    form = "\t".join([*(f'{{{{.Label "{label}"}}}}' for label in labels), "{{.Names}}", "{{.Ports}}"])
    return parse_published(run_docker(["ps", "--format", form]).stdout)


def check_ports(
    settings: Settings, variables: Iterable[str] = PORTS, *, published: Mapping[int, Publisher]
) -> list[Check]:
    """Check that every port is free or already used by this lab, and that no two variables have the same port.

    All ports that are used by the lab of another checkout are one check.
    """
    checks = []
    seen: dict[int, str] = {}
    others: dict[tuple[str, str], list[str]] = {}
    for variable in variables:
        port = settings.port(variable)
        name = f"port {port} ({PORTS[variable]})"
        publisher = published.get(port)
        remedy = f"Stop it, or choose another port: {variable}={free_ports(1)[0]} in .env or in the environment."
        if port in seen:
            checks.append(failure(name, f"also set by {seen[port]}", f"Set {variable} to another port."))
        elif publisher and publisher.project == settings.project:
            checks.append(ok(name, f"used by this lab ({publisher.container})"))
        elif publisher and publisher.is_lab:
            others.setdefault((publisher.project, publisher.folder), []).append(variable)
        elif publisher:
            checks.append(failure(name, f"used by the container {publisher.container}", remedy))
        elif not port_is_free(port):
            checks.append(failure(name, f"used by {port_owner(port) or 'another program'}", remedy))
        else:
            checks.append(ok(name, "free"))
        seen[port] = variable
    checks += [other_lab_check(settings, taken, project, folder) for (project, folder), taken in others.items()]
    return [replace(check, kind=CheckKind.PORT) for check in checks]


def other_lab_check(settings: Settings, variables: Sequence[str], project: str, folder: str) -> Check:
    """Return the failed check for the ports that the lab of another checkout uses."""
    taken = ", ".join(f"{settings[variable]} ({PORTS[variable]})" for variable in variables)
    free = " ".join(f"{variable}={port}" for variable, port in zip(variables, free_ports(len(variables)), strict=True))
    return failure(
        f"port{'s' if len(variables) > 1 else ''} {taken}",
        f"used by the lab of another checkout, {folder} (project {project})",
        f"Stop that lab (`scripts/lab down` there), or set ports for this one, in .env or for every command: {free}",
    )


def judge_shape(shape: str, settings: Settings) -> list[str]:
    """Return the settings that differ from those with which the existing volumes were created.

    ``shape`` is the text that the bootstrapper wrote into the network volume, such as
    ``corda=4.10 database=h2 notary=simple dev-mode=false``.
    """
    kept = dict(word.partition("=")[::2] for word in shape.split())
    wanted = {name: settings[variable] for name, variable in KEPT.items()}
    return [
        f"{name} {kept.get(name, 'unknown')}, but {wanted[name]} is configured"
        for name in wanted
        if kept and kept.get(name) != wanted[name]
    ]


def check_volumes(settings: Settings) -> Check:
    """Check that the existing volumes, if any, were created with the current configuration."""
    volume = f"{settings.project}_network"
    if run_docker(["volume", "inspect", volume]).returncode != 0:
        return ok("volumes", "none yet")
    # Any node image of this lab can read the volume, even if the version was changed and its image is not built yet.
    form, own = "{{.Repository}}:{{.Tag}}", f"reference={settings.own_image('node:*')}"
    images = run_docker(["image", "ls", "--format", form, "--filter", own]).stdout.split()
    if not images:
        return ok("volumes", "kept from an earlier start")
    image = settings.node_image if settings.node_image in images else images[0]
    read = ["run", "--rm", *READER, "--volume", f"{volume}:/network:ro", "--entrypoint", "sh"]
    shape = run_docker([*read, image, "-c", READ_SHAPE])
    if OLDER_VOLUMES in shape.stdout:
        return failure(
            "volumes",
            "an older version of the lab made them, in which every node could read the keys of all nodes",
            "Delete them and all ledgers with `scripts/lab down --volumes`, or use that version of the lab.",
        )
    differences = judge_shape(shape.stdout, settings) if shape.returncode == 0 else []
    if differences:
        return failure(
            "volumes",
            f"they contain a network with another configuration ({'; '.join(differences)})",
            "Restore the old values, or delete the old network with `scripts/lab down --volumes`.",
        )
    return ok("volumes", f"kept from an earlier start ({shape.stdout.strip() or 'not finished'})")


def check_extra_cordapps(settings: Settings) -> list[Check]:
    """Check that a node of the configured version would load every jar in ``cordapps/extra/``, and its settings."""
    jars = cordapps.extra_jars()
    problems = cordapps.extra_problems(settings["CORDA_VERSION"], settings["CORDAPP"])
    if problems:
        return [failure("extra CorDapp", problem.finding, problem.remedy) for problem in problems]
    return [ok("extra CorDapps", f"{len(jars)} in cordapps/extra/" if jars else "none in cordapps/extra/")]


def examine(settings: Settings) -> list[Check]:
    """Run all checks. Checks that need a Docker engine are left out if there is none."""
    always, docker = [check_python(), *check_extra_cordapps(settings)], check_engine()
    if docker.level is Level.FAILURE:
        return [*always, docker, *check_ports(settings, published={}), *interference.examine([])]
    compose = check_compose()
    start = check_start(settings) if compose.level is not Level.FAILURE else []
    return [*always, docker, compose, *start, *interference.examine(list(interference.containers(settings)))]


def check_start(settings: Settings, *, without: Iterable[str] = ()) -> list[Check]:
    """Run the checks that must pass before ``docker compose up``. Services in ``without`` will not be started."""
    left_out = {BOOTSTRAP, *without}
    running = {service.name for service in Compose(settings).services() if service.state == "running"}
    to_start = [name for name in settings.services if name not in running | left_out]
    memory = check_memory(settings, to_start) if to_start else ok("memory", "the lab is running")
    ports = [variable for variable in PORTS if variable.partition("_")[0].lower() not in left_out]
    return [
        memory,
        check_disk(settings),
        *check_ports(settings, ports, published=published_ports()),
        check_volumes(settings),
        *exposure.examine(settings),
        *exposure.examine_engine(probe.probe().server_version),
    ]


def blocking_error(checks: Iterable[Check]) -> LabError | None:
    """Return one error for all failed checks; None if none failed."""
    failures = [check for check in checks if check.level is Level.FAILURE]
    if not failures:
        return None
    return LabError(problems=[Problem.of(check.name, check.finding, check.remedy) for check in failures])
