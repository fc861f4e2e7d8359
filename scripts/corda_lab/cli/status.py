"""The verb ``status``: the state of every service, flows in flight, URLs, runs in progress and alerts."""

import time
from collections.abc import Collection
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich.text import Text

from corda_lab.cli import live
from corda_lab.cli.options import JsonOption
from corda_lab.clients.bridge import START_REMEDY, Bridge
from corda_lab.clients.prometheus import Alert, Prometheus
from corda_lab.clients.watch import Watch
from corda_lab.errors import LabError
from corda_lab.host import engine
from corda_lab.lab import lifecycle, project, shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.endings import endings
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.swarm import deployment
from corda_lab.swarm.deployment import RUNNING, DeployedStack, StackFolder, tasks_of
from corda_lab.text import tables, ui

COLOURS = {"healthy": "green", "done": "dim", "running": "green", "starting": "yellow"}


@dataclass(frozen=True)
class NodeState:
    """The state of a node, as the bridge sees it."""

    ready: bool
    outstanding_flows: int


@dataclass(frozen=True)
class LabState:
    """The state of the lab. ``--json`` prints its fields."""

    ready: bool
    project: str
    """The name of the Compose project."""
    services: dict[str, str]
    """The state of each service: ``healthy``, ``starting``, ``not started``."""
    nodes: dict[str, NodeState]
    """Empty as long as the bridge does not answer."""
    load_containers: list[str]
    """The containers of the runs in progress."""
    urls: dict[str, str]
    ended: list[str]
    """What has ended although the lab needs it: with its exit status, the cause and the remedy."""
    alerts: list[Alert]
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
    bridge_url, prometheus_url = settings.bridge_url, settings.url("PROMETHEUS_PORT")
    with closing(Watch.at(bridge_url, settings.bridge_token, prometheus_url)) as looking:
        view = looking.look()
        if view.is_down:
            text = f"The lab is not up: neither the bridge at {bridge_url} nor Prometheus at {prometheus_url} answers"
            raise LabError(text, START_REMEDY)
        if as_json:
            ui.print_json(live.as_dict(view))
        elif ui.console.is_terminal and not ui.console.is_dumb_terminal:
            live.follow(looking, view)
        else:
            live.show(view)


def gather(settings: Settings) -> LabState:
    """Return the state of the lab, here or on several hosts. Raises LabError if no engine is running."""
    if engine.probe().state is not engine.EngineState.READY:
        lifecycle.require_engine()
    compose = Compose(settings)
    present = compose.services()
    if not present and (deployed := deployment.services_present(StackFolder.of(settings.project))):
        return _gather_stack(settings, deployed)
    services = {service.name: service.condition for service in present}
    settings = shape.of_running(settings)
    expected = settings.services
    nodes = nodes_of(settings) if services.get("bridge") == "healthy" else {}
    absent = [name for name in expected if name not in services]
    return LabState(
        ready=bool(nodes) and all(node.ready for node in nodes.values()),
        project=settings.project,
        services={name: services.get(name, "not started") for name in expected},
        nodes=nodes,
        load_containers=compose.load_containers(),
        urls=lifecycle.urls(settings, without=absent) if services else {},
        ended=[str(one.problem) for one in endings(Compose(settings), present)],
        alerts=alerts_of(settings) if services.get("prometheus") == "healthy" else [],
    )


def _gather_stack(settings: Settings, services: Collection[str]) -> LabState:
    """Return the state of the lab on several hosts. Raises LabError if this machine is no manager of their swarm."""
    stack = StackFolder.of(settings.project).stack
    tasks = tasks_of(stack)
    running = {name for name, task in tasks.items() if task.state == RUNNING}
    nodes = nodes_of(settings) if "bridge" in running else {}
    absent = [name for name in settings.services if name not in running]
    return LabState(
        ready=bool(nodes) and all(node.ready for node in nodes.values()) and running == set(services),
        project=stack,
        services={name: str(tasks.get(name, "not started")) for name in services},
        nodes=nodes,
        load_containers=loads_of(deployment.find(settings)),
        urls=lifecycle.urls(settings, without=absent) if services else {},
        # A task that has ended says why, and Swarm makes another one.
        ended=[],
        alerts=alerts_of(settings) if "prometheus" in running else [],
    )


def loads_of(stack: DeployedStack | None) -> list[str]:
    """Return the containers that generate load on the hosts of a stack. If a host does not answer, that is printed."""
    try:
        return stack.load_containers() if stack else []
    except LabError as error:
        ui.complain(error.message)
        return []


def nodes_of(settings: Settings) -> dict[str, NodeState]:
    """Return the nodes as the bridge sees them. If it does not answer, that is printed, and there are none."""
    try:
        with closing(Bridge(settings.bridge_url, settings.bridge_token)) as bridge:
            return {node.name: NodeState(node.is_ready, node.outstanding_flows) for node in bridge.nodes().values()}
    except LabError as error:
        ui.complain(error.message)
        return {}


def alerts_of(settings: Settings) -> list[Alert]:
    """Return the alerts that fire. If Prometheus does not tell, that is printed, and there are none."""
    try:
        with closing(Prometheus(settings.url("PROMETHEUS_PORT"))) as prometheus:
            return prometheus.alerts()
    except LabError as error:
        ui.print_error(error)
        return []


def show(state: LabState) -> None:
    if not state.urls:
        ui.say("The lab is not up. Start it with `scripts/lab up`.")
        return
    table = tables.table("service", "state", "outstanding flows")
    in_flight = {name.lower(): str(node.outstanding_flows) for name, node in state.nodes.items()}
    for name, condition in state.services.items():
        # On several hosts, the condition is followed by the host.
        colour = COLOURS.get(condition.partition(" on ")[0], "yellow" if condition == "not started" else "red")
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
