"""Starts and stops the lab."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from bare.commands import last_words
from corda_lab.errors import LabError, chosen
from corda_lab.host import engine
from corda_lab.host.processes import follow, last_line, last_lines
from corda_lab.lab import cordapps, doctor, images, project, shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import docker, output_of
from corda_lab.lab.endings import endings
from corda_lab.lab.environment import measure_links
from corda_lab.lab.lab import Service
from corda_lab.lab.progress import StartProgress, events
from corda_lab.lab.settings import BOOTSTRAP, GRAFANA, PARTIES, Settings
from corda_lab.paths import CACHE
from corda_lab.text import ui
from corda_lab.text.words import plural

BUILD_SECONDS_MAX = 1800.0
UP_SECONDS_MAX = 600.0
DOWN_SECONDS_MAX = 300.0
REPORT_EVERY_SECONDS = 15.0

RECOVERY_SECONDS_MAX = 600.0

DASHBOARD = "lab-overview"
LEDGER = "/opt/corda/persistence"
INTACT, LOST = 3, 4
"""Exit statuses of ``recover-ledger``: the database is not damaged, or nothing whole was found in it."""

ImageChoice = Literal["registry", "local"]


def require_engine() -> None:
    engine.ensure_engine(install=False)
    engine.ensure_compose(install=False)


def prepare_engine() -> None:
    """Make sure that a Docker engine and Compose are available. Install and start them if that is possible here."""
    with ui.phase("Docker engine and Compose"), engine.prepared_alone():
        version = engine.ensure_engine()
        compose = engine.ensure_compose()
        ui.note(f"engine {version}, compose {compose}")


def prepare_images(settings: Settings, forced: ImageChoice | None) -> None:
    with ui.phase("Third-party images"), engine.prepared_alone():
        engine.ensure_images(images.image_names(settings), forced)


def left_out() -> tuple[str, ...]:
    """Return the services that cannot start here: Grafana, if its image is not available."""
    return () if images.grafana_present() else (GRAFANA,)


def check_machine(settings: Settings) -> None:
    with ui.phase("Checking this machine"):
        made = doctor.check_start(settings, without=left_out())
        doctor.require_sound(made, shown=lambda check: not check.name.startswith("port "))


def build(settings: Settings, *services: str) -> None:
    """Build the lab's own images, or only those of ``services``. Quick if nothing has changed. Raises LabError."""
    with ui.phase("Building the lab's images"):
        log = CACHE / "build.log"
        command = ("build", *services)
        status = _follow(Compose(settings), command, log, lambda: last_line(log), seconds_max=BUILD_SECONDS_MAX)
        if status != 0:
            for line in last_lines(log.read_text(encoding="utf-8", errors="replace"), 20):
                ui.note(f"| {line}")
            reason = f"did not end within {BUILD_SECONDS_MAX:.0f} s" if status is None else "failed"
            raise LabError(
                f"Building the images {reason}", f"See the lines above; the whole log is in {log}.", exit_code=1
            )


def _follow(
    compose: Compose,
    command: Sequence[str],
    log: Path,
    tell: Callable[[], str],
    *,
    seconds_max: float,
    is_in_vain: Callable[[], bool] = lambda: False,
) -> int | None:
    """Print and run a command of Compose, and show its progress. Return its status; None if it was ended."""
    ui.note(compose.shown(*command))
    process = compose.start(*command, log=log)
    return follow(process, tell, seconds_max=seconds_max, every_seconds=REPORT_EVERY_SECONDS, is_in_vain=is_in_vain)


def whole(settings: Settings) -> Settings:
    """Return settings that include the services of all shapes, for commands that stop them."""
    return settings.with_values({"PARTIES": str(len(PARTIES)), "NOTARY": "bft", "DATABASE": "postgres", "LINKS": "any"})


def remove_surplus(settings: Settings) -> list[Service]:
    """Remove the containers that would disturb the start, and return the others. Ledgers are kept.

    These are services that the wanted shape does not have, because Compose would leave them running, and a bridge of
    which a node does not run: it is unhealthy, or will be, and Compose would fail on it although the node is about to
    start.
    """
    compose = Compose(whole(settings))
    needed = settings.services
    present = compose.services()
    is_bridge_kept = {node.lower() for node in settings.nodes} <= {each.name for each in present if each.is_ready}
    kept = [each for each in present if each.name in needed and (each.name != "bridge" or is_bridge_kept)]
    surplus = [service.name for service in present if service not in kept]
    if surplus:
        ui.note(compose.shown("rm", "--stop", "--force", *surplus))
        compose.run("rm", "--stop", "--force", *surplus)
    return kept


def replace_network(settings: Settings) -> None:
    """Remove containers and networks if the network is open but must be internal, or the other way round.

    Compose may keep a network that exists. Ledgers are kept. Raises LabError.
    """
    name = f"{settings.project}_default"
    present = docker("network", "inspect", "--format", "{{.Internal}}", name).stdout.strip()
    needed = "true" if doctor.is_internal(settings) else "false"
    if present in {"", needed}:
        return
    compose = Compose(whole(settings))
    ui.note(f"the network becomes {'internal' if needed == 'true' else 'open'}: {compose.shown('down')}")
    compose.run("down", "--remove-orphans", seconds_max=DOWN_SECONDS_MAX)


def start(settings: Settings, files: Sequence[Path] = ()) -> None:
    """Run ``docker compose up`` and wait until every service is healthy. Raises LabError that names failed services.

    ``files`` are Compose files in addition to ``compose.yaml``.
    """
    settings.check_bridge_address()
    settings.check_traces_endpoint()
    with ui.phase("Starting the lab"):
        compose = Compose(settings, files=files)
        out = left_out()
        # Compose pulls images even for services scaled to 0. So if a service is left out, all the others are named.
        services = settings.services
        replace_network(settings)
        ready = {service.name: service.condition for service in remove_surplus(settings) if service.is_ready}
        named = [name for name in services if name not in out and name != BOOTSTRAP] if out else []
        expected = tuple(name for name in services if name not in out)
        bring_up(compose, named, expected, ready)


def restart_bridge(settings: Settings) -> Compose:
    """Start the bridge again with the knobs of these settings, and wait until it has connected. Raises LabError.

    Nothing else is touched. Compose replaces the container only if its knobs differ. Returns the project with them.
    """
    with ui.phase("Starting the bridge with other knobs"):
        compose = Compose(settings)
        bring_up(compose, ["--no-deps", "bridge"], ("bridge",), {})
        return compose


def bring_up(compose: Compose, arguments: Sequence[str], expected: tuple[str, ...], ready: Mapping[str, str]) -> None:
    """Run ``docker compose up``, and wait until the ``expected`` services are healthy, or until one has ended.

    ``ready`` has the condition of services that are ready before. Raises LabError.
    """
    log = CACHE / "up.log"
    with events(compose.project, CACHE / "events.ndjson") as stream:
        progress = StartProgress(expected, stream, dict(ready))
        try:
            status = _follow(
                compose,
                ("up", "--detach", "--wait", *arguments),
                log,
                progress.tell,
                seconds_max=UP_SECONDS_MAX,
                is_in_vain=lambda: progress.has_failed,
            )
        except KeyboardInterrupt:
            ui.note("the started services keep running: `scripts/lab up` continues, `scripts/lab down` stops them")
            raise
        progress.tell()
    if status != 0:
        raise start_error(compose, progress, log, timed_out=status is None and not progress.has_failed)


def start_error(compose: Compose, progress: StartProgress, log: Path, *, timed_out: bool) -> LabError:
    """Return the error of a start: what has ended, else what is unhealthy, else what Compose said."""
    services = compose.services()
    if ended := endings(compose, services, progress.codes):
        return LabError(problems=[ending.problem for ending in ended], exit_code=1)
    if unhealthy := [service for service in services if service.has_failed]:
        names = ", ".join(f"{service.name} {service.condition}" for service in unhealthy)
        remedy = f"See `{compose.logs_command(unhealthy[0].name)}`. Then run `scripts/lab up` again."
        return LabError(f"The lab did not start: {names}", remedy, exit_code=1)
    if progress.codes:
        # The engine has started them again since then.
        names = ", ".join(f"{name} ended with exit status {code}" for name, code in progress.codes.items())
        return LabError(f"The lab did not start: {names}", "Run `scripts/lab up` again.", exit_code=1)
    words = last_words(log.read_text(encoding="utf-8", errors="replace"))
    reason = f"it was not ready within {UP_SECONDS_MAX:.0f} s" if timed_out else words
    return LabError(f"The lab did not start: {reason}", f"The output of Compose is in {log}.", exit_code=1)


def urls(settings: Settings, *, without: Iterable[str] = ()) -> dict[str, str]:
    """Return the URL of each service with a web page: title → URL. ``without`` names services to leave out."""
    addresses = {
        "Locust": settings.url("LOCUST_PORT"),
        "Grafana": settings.url("GRAFANA_PORT"),
        "Prometheus": settings.url("PROMETHEUS_PORT"),
        "Bridge": settings.bridge_url + "/v1/nodes",
    }
    return {name: address for name, address in addresses.items() if name.lower() not in set(without)}


def dashboard_link(settings: Settings, started_at: float, ended_at: float) -> str | None:
    """Return the URL of the dashboard for a time range (Unix seconds); None if the lab runs without Grafana."""
    if not images.grafana_present():
        return None
    times = f"from={1000 * started_at:.0f}&to={1000 * ended_at:.0f}"
    return f"{settings.url('GRAFANA_PORT')}/d/{DASHBOARD}?{times}"


def print_urls(settings: Settings) -> None:
    for name, address in urls(settings, without=left_out()).items():
        ui.note(f"{name:<11} {address}")


def check_extra_cordapps(settings: Settings) -> None:
    if problems := cordapps.extra_problems(settings["CORDA_VERSION"]):
        raise LabError(problems=problems)
    if jars := cordapps.extra_jars():
        ui.note(f"extra CorDapps: {len(jars)} in cordapps/extra/")


def recoverable(settings: Settings, name: str) -> str:
    """Return the node that ``name`` names. Raises LabError if the lab has no such node, or none on H2."""
    node = chosen("--recover: unknown node", name, settings.nodes)
    if settings.values.get("DATABASE") == "postgres":
        raise LabError("--recover: the nodes of this lab are on PostgreSQL", "It recovers the files of H2 only.")
    return node


def recover_ledger(settings: Settings, node: str) -> None:
    """Go back to the last whole state of a node's H2 file, and keep the damaged file beside it. Raises LabError.

    The node must have stopped. A file that is not damaged, or of which nothing can be recovered, stays as it is.
    """
    if node.lower() in Compose(settings).running_containers():
        raise LabError(f"--recover: {node} runs", "Stop it first, or leave the option out.")
    volume = f"{settings.project}_{node.lower()}-persistence"
    if docker("volume", "inspect", volume).returncode != 0:
        raise LabError(f"--recover: {node} has no ledger yet", "Leave the option out.")
    container = f"{settings.project}-recover-{node.lower()}"
    with ui.phase(f"Recovering the database of {node}"):
        try:
            done = docker(
                *("run", "--rm", f"--name={container}", "--network=none", "--user=1000:1000", "--cap-drop=ALL"),
                *("--security-opt=no-new-privileges:true", "--pids-limit=256", "--memory=1g"),
                *(f"--volume={volume}:{LEDGER}", "--entrypoint=recover-ledger", settings.own_node_image, LEDGER),
                seconds_max=RECOVERY_SECONDS_MAX,
            )
        finally:
            # An interrupted command leaves its container, which must not replace the file of a node that runs again.
            docker("rm", "--force", container)
        if done.returncode == INTACT:
            ui.note(f"nothing to recover: H2 opens all of the database of {node}")
        elif done.returncode == LOST:
            raise LabError(
                f"No whole state was found in the database of {node}",
                "Its ledger is lost. Start a new network: `scripts/lab down --volumes`, then `scripts/lab up`.",
                exit_code=1,
            )
        else:
            damaged, count = output_of(done, f"The database of {node} was not recovered").split()
            ui.note(f"{plural(int(count), 'transaction')} recovered; the damaged file is {damaged} in {volume}")
            ui.note("`scripts/lab audit RUN` says whether a transaction of a run was lost")


def up(settings: Settings, forced: ImageChoice | None, *, mark: str | None = None, recover: str | None = None) -> None:
    """Start the lab, whatever its current state, and wait until it is ready. Raises LabError.

    ``mark`` is the record of ``project.mark`` during the start. ``recover`` is a node whose database is damaged.
    """
    shape.require_possible(settings)
    damaged = recoverable(settings, recover) if recover else None
    check_extra_cordapps(settings)
    prepare_engine()
    project.require_own(settings.project)
    prepare_images(settings, forced)
    check_machine(settings)
    build(settings)
    if damaged:
        recover_ledger(settings, damaged)
    project.mark(settings.project, mark)
    start(settings, project.files_of_start(mark))
    for link in measure_links(Compose(settings)) if settings.values.get("LINKS") else ():
        ui.note(
            f"{link.name:<20} round-trip time {link.through_ms:.1f} ms, {link.direct_ms:.1f} ms without the link's"
            f" latency (+{link.wanted_ms} ms configured)"
        )


def down(settings: Settings, *, volumes: bool, mark: str | None = None) -> None:
    """Stop the lab. With ``volumes``, also delete ledgers, identities and metrics. Raises LabError.

    ``mark`` is the record of ``project.mark`` for anything that remains.
    """
    project.require_own(settings.project)
    project.mark(settings.project, mark)
    with ui.phase("Stopping the lab" + (" and deleting its volumes" if volumes else "")):
        # Include the services of all shapes: Compose does not stop services of inactive profiles.
        compose = Compose(whole(settings))
        arguments = ("down", "--remove-orphans", *(("--volumes",) if volumes else ()))
        log = CACHE / "down.log"
        status = _follow(compose, arguments, log, lambda: "stopping the containers", seconds_max=DOWN_SECONDS_MAX)
        if status != 0:
            words = last_words(log.read_text(encoding="utf-8", errors="replace"))
            raise LabError(f"`{compose.shown(*arguments)}` failed: {words}", "Run it again by hand.", exit_code=1)
