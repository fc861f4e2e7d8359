"""The verbs that start, stop, check and show the lab: ``doctor``, ``up``, ``down``, ``status``."""

import time
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich.text import Text

from corda_lab.cli import live
from corda_lab.cli.options import ImagesOption, JsonOption, PlacementOption, declared, shape_variables
from corda_lab.clients.bridge import START_REMEDY
from corda_lab.clients.prometheus import Alert
from corda_lab.clients.watch import LabView, NodeState, Watch
from corda_lab.errors import LabError
from corda_lab.faults import inject
from corda_lab.host import engine
from corda_lab.knobs.shape import BY_NAME, SIZE
from corda_lab.lab import doctor as doctor_module
from corda_lab.lab import lifecycle, project, shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.doctor import Level
from corda_lab.lab.endings import endings
from corda_lab.lab.lock import locks_lab
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.runs import by_hand, leftovers
from corda_lab.swarm import deployment
from corda_lab.swarm import lifecycle as swarm
from corda_lab.swarm.deployment import RUNNING, DeployedStack, StackFolder, tasks_of
from corda_lab.text import tables, ui
from corda_lab.text.words import plural

LEVEL_COLOURS = {Level.OK: "green", Level.UNKNOWN: "dim", Level.WARNING: "yellow", Level.FAILURE: "red"}
COLOURS = {"healthy": "green", "done": "dim", "running": "green", "starting": "yellow", "not started": "yellow"}


def doctor(as_json: JsonOption = False, placement: PlacementOption = None) -> None:
    """Check Docker, Compose, memory, disk, ports and existing volumes, and show a remedy for every problem.

    Also warns of what bends measurements: CPU governor and turbo, CPU steal, and other programs that use the CPU now.

    With --on, check every host of the placement, that it reaches the registry, and that its clock is that of this one.

    Exit status 2 if a check fails. A warning is no failure.

    Example: `scripts/lab doctor`
    """
    project.settle()
    settings = load_settings()
    if placement is not None:
        checks = swarm.check(swarm.prepare(settings, placement))
    else:
        checks = doctor_module.examine(shape.of_running(settings))
    if as_json:
        ui.print_json([asdict(check) for check in checks])
    else:
        for check in checks:
            ui.console.print(f"{check.level.value:<8}", style=LEVEL_COLOURS[check.level], end="")
            ui.say(f" {check.name}: {check.finding}")
            if check.level is not Level.OK and check.remedy:
                ui.say(f"         {check.remedy}")
    if any(check.level is Level.FAILURE for check in checks):
        raise typer.Exit(2)


@locks_lab
def up(
    corda: Annotated[str | None, declared(BY_NAME["corda"])] = None,
    database: Annotated[str | None, declared(BY_NAME["database"])] = None,
    notary: Annotated[str | None, declared(BY_NAME["notary"])] = None,
    parties: Annotated[int | None, declared(BY_NAME["parties"])] = None,
    cordapp: Annotated[str | None, declared(BY_NAME["cordapp"])] = None,
    preset: Annotated[str | None, declared(BY_NAME["preset"])] = None,
    link: Annotated[list[str] | None, declared(BY_NAME["link"])] = None,
    size: Annotated[str | None, declared(SIZE)] = None,
    variables: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="VARIABLE=VALUE",
            help="Set any other variable of .env for this lab: NODE_HEAP=2g. Repeatable.",
        ),
    ] = None,
    images: ImagesOption = None,
    placement: PlacementOption = None,
    recover: Annotated[
        str | None,
        typer.Option(
            metavar="NODE",
            help="First recover the H2 database of a node that cannot be opened. The damaged file is kept.",
        ),
    ] = None,
) -> None:
    """Pull or build the images, start every service and wait until all are healthy.

    What you leave out comes from .env, where every variable is explained. CorDapps in cordapps/extra/ are checked and
    installed on every node.

    With --on, this machine must be a manager of the swarm.

    Example: `scripts/lab up --parties 5 --database postgres --set NODE_HEAP=2g`
    """
    given: dict[str, object] = {"corda": corda, "database": database, "notary": notary, "parties": parties}
    given |= {"cordapp": cordapp, "preset": preset, "link": link}
    known = load_settings()
    settings = shape.with_options(known, shape_variables(given, variables, known), size=size)
    if placement is None:
        leftovers.start_lab(settings, images, recover=recover)
    elif recover:
        raise LabError("--recover is not for a lab on several hosts", "Leave it out, or start a new network.")
    else:
        _start_stack(settings, placement, images)
    lifecycle.print_urls(settings)


def _start_stack(settings: Settings, placement: str, images: lifecycle.ImageChoice | None) -> None:
    """Start the lab on the hosts of a placement, without what ended commands have left in it. Raises LabError."""
    lifecycle.require_engine()
    if stack := deployment.find(settings):
        if inject.is_left(stack.project):
            inject.heal_left(stack.project)
        leftovers.stop_loads(stack)
    swarm.up(settings, placement, images)
    if stack := deployment.find(settings):
        leftovers.collect(stack)


@locks_lab
def down(
    volumes: Annotated[
        bool, typer.Option("--volumes", help="Also delete the volumes: ledgers, identities and metrics.")
    ] = False,
    stop_engine: Annotated[bool, typer.Option("--engine", help="Also stop Docker, if scripts/lab started it.")] = False,
    placement: PlacementOption = None,
) -> None:
    """Stop the lab. Volumes (ledgers, identities, metrics) are kept unless you pass --volumes. Results are always kept.

    With --on, on the hosts on which the lab was started, and on those of the placement.

    Example: `scripts/lab down --volumes`
    """
    settings = load_settings()
    lifecycle.require_engine()
    if placement is not None:
        _stop_stack(settings, placement, volumes=volumes)
        return
    with inject.removing(settings.project):
        loads = [] if volumes else by_hand.here()
        if volumes:
            # Rows of a run whose command was killed, and of loads of the web UI, are not the lab's to delete.
            leftovers.collect_before_removal(Compose(settings))
            by_hand.keep_all(settings)
        lifecycle.down(settings, volumes=volumes)
    if loads:
        ui.note(f"kept in the lab's volume: {plural(len(loads), 'load')} of the web UI without a run")
    if stop_engine and engine.stop_engine_if_ours():
        ui.note("stopped the Docker engine that scripts/lab had started")


def _stop_stack(settings: Settings, placement: str, *, volumes: bool) -> None:
    """Stop the lab on several hosts, of which one may be gone for good. Raises LabError."""
    known = deployment.find(settings) or deployment.former(settings)
    with inject.removing(known.project) if known else nullcontext():
        if known:
            # Rows of a run whose command was killed are not the lab's to delete.
            collect = leftovers.collect_before_removal if volumes else leftovers.collect
            collect(known)
        swarm.down(settings, placement, volumes=volumes)


@dataclass(frozen=True)
class LabState:
    """The state of the lab. ``--json`` prints its fields."""

    ready: bool
    project: str
    """The name of the Compose project, or of the stack."""
    services: dict[str, str]
    """The state of each service: ``healthy``, ``starting``, ``not started``; on several hosts ``running on HOST``."""
    nodes: tuple[NodeState, ...]
    """Empty as long as the bridge does not answer."""
    load_containers: list[str]
    """The containers of the runs in progress."""
    urls: dict[str, str]
    ended: list[str]
    """What has ended although the lab needs it: with its exit status, the cause and the remedy."""
    alerts: tuple[Alert, ...]
    """What Prometheus says is wrong. Empty also as long as it does not answer."""


def status(
    as_json: JsonOption = False,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Follow what each node does, the bridge, the load and the alerts, until Ctrl-C. Without a terminal: "
            "one table.",
        ),
    ] = False,
) -> None:
    """Show the state of every service, the outstanding flows, the URLs and the alerts.

    --watch changes nothing and asks little, so it can run beside a measurement. Prometheus has new values every five
    seconds.

    If the lab is on several hosts, the state is that of Swarm's task, with its host.

    Exit status 1 if the lab is not ready. Alerts do not change it.

    Example: `scripts/lab status --watch`
    """
    if watch:
        _watch(load_settings(), as_json=as_json)
        return
    # Otherwise the first command in a second checkout would show the lab of the first checkout.
    project.settle()
    state = gather(load_settings())
    if as_json:
        ui.print_json(asdict(state))
    else:
        show(state)
    if not state.ready:
        raise typer.Exit(1)


def _watch(settings: Settings, *, as_json: bool) -> None:
    """Show what the nodes do: live in a terminal, otherwise once. Raises LabError if nothing answers."""
    with closing(watch_of(settings)) as watch:
        view = watch.look()
        if view.is_down:
            bridge, prometheus = settings.bridge_url, settings.url("PROMETHEUS_PORT")
            text = f"The lab is not up: neither the bridge at {bridge} nor Prometheus at {prometheus} answers"
            raise LabError(text, START_REMEDY)
        if as_json:
            ui.print_json(asdict(view))
        elif ui.console.is_terminal and not ui.console.is_dumb_terminal:
            live.follow(watch, view)
        else:
            live.show(view)


def watch_of(settings: Settings) -> Watch:
    return Watch.at(settings.bridge_url, settings.bridge_token, settings.url("PROMETHEUS_PORT"))


def gather(settings: Settings) -> LabState:
    """Return the state of the lab, here or on several hosts. Raises LabError if no engine is running."""
    if engine.probe().state is not engine.EngineState.READY:
        lifecycle.require_engine()
    compose, folder = Compose(settings), StackFolder.of(settings.project)
    present = compose.services()
    deployed = {} if present else deployment.services_present(folder)
    if deployed:
        tasks = tasks_of(folder.stack)
        services = {name: str(tasks.get(name, "not started")) for name in deployed}
        working = there = {name for name, task in tasks.items() if task.state == RUNNING}
        name, loads = folder.stack, loads_of(deployment.find(settings))
    else:
        settings = shape.of_running(settings)
        conditions = {service.name: service.condition for service in present}
        services = {service: conditions.get(service, "not started") for service in settings.services}
        working, there = {one for one, condition in conditions.items() if condition == "healthy"}, {*conditions}
        name, loads = settings.project, compose.load_containers()
    view = look(settings) if "bridge" in working else None
    nodes = view.nodes if view and not view.bridge_problem else ()
    absent = [service for service in settings.services if service not in there]
    return LabState(
        ready=bool(nodes) and all(node.is_ready for node in nodes) and (not deployed or working == set(deployed)),
        project=name,
        services=services,
        nodes=nodes,
        load_containers=loads,
        urls=lifecycle.urls(settings, without=absent) if present or deployed else {},
        # A task that has ended says why, and Swarm makes another one.
        ended=[str(one.problem) for one in endings(Compose(settings), present)] if present else [],
        alerts=view.alerts if view else (),
    )


def loads_of(stack: DeployedStack | None) -> list[str]:
    """Return the containers that generate load on the hosts of a stack. If a host does not answer, that is printed."""
    try:
        return stack.load_containers() if stack else []
    except LabError as error:
        ui.complain(error.message)
        return []


def look(settings: Settings) -> LabView:
    """What the bridge and Prometheus say. If one does not answer, that is printed."""
    with closing(watch_of(settings)) as watch:
        view = watch.look()
    for problem in filter(None, (view.bridge_problem, view.prometheus_problem)):
        ui.complain(problem)
    return view


def show(state: LabState) -> None:
    if not state.urls:
        ui.say("The lab is not up. Start it with `scripts/lab up`.")
        return
    table = tables.table("service", "state", "outstanding flows")
    in_flight = {node.name.lower(): str(node.outstanding_flows) for node in state.nodes}
    for name, condition in state.services.items():
        # On several hosts, the condition is followed by the host.
        colour = COLOURS.get(condition.partition(" on ")[0], "red")
        table.add_row(name, Text(condition, style=colour), in_flight.get(name, ""))
    tables.show(table)
    ui.console.print()
    for name, address in state.urls.items():
        ui.say(f"{name:<11} {address}")
    for ending in state.ended:
        ui.say(ending)
    for container in state.load_containers:
        ui.say(f"A run is in progress: {container}")
    for alert in state.alerts:
        ui.console.print(live.alert_line(alert, time.time()))
