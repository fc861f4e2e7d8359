"""Checks that must pass before a load starts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from corda_lab.clients.bridge import START_REMEDY, Bridge, Node
from corda_lab.errors import LabError
from corda_lab.faults import inject
from corda_lab.lab import endings, lifecycle, project
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import BASE_SERVICES, GRAFANA, Settings
from corda_lab.results import folders
from corda_lab.runs import by_hand, leftovers
from corda_lab.steps.load import burst_words, check_load, flows_words
from corda_lab.text import ui
from corda_lab.text.words import plural
from corda_lab.workloads.resolve import check_attachments, check_uploads, make_plan, read_workload
from lab_workload.load import Load
from lab_workload.plan import Plan
from lab_workload.problems import Problem
from lab_workload.schema import Workload

OUTSTANDING_MAX = "BRIDGE_MAX_OUTSTANDING_FLOWS"
"""The variable that limits the outstanding flows of a node."""

OUTSTANDING_PER_CORE = 64
"""The bridge's limit for each core of the machine, if the variable is empty."""


def check_lab_is_up(compose: Lab, bridge: Bridge) -> dict[str, Node]:
    """Check that every service of the lab except Grafana is ready. Returns the nodes by name. Raises LabError."""
    project.require_own(compose.project)
    services = {service.name: service for service in compose.services()}
    needed = [name for name in (*BASE_SERVICES, *compose.settings.extra_services) if name != GRAFANA]
    if not any(name in services for name in needed):
        raise LabError("The lab is not up", START_REMEDY)
    endings.require_none(compose, services.values())
    missing = [name for name in needed if name not in services or not services[name].is_ready]
    nodes: dict[str, Node] = {}
    if not missing:
        nodes = bridge.nodes()
        missing = [name for name in map(str.lower, nodes) if name not in services or not services[name].is_ready]
    if missing:
        states = [f"{name} {services[name].condition if name in services else 'not started'}" for name in missing]
        raise LabError(f"The lab is not ready: {', '.join(states)}", START_REMEDY, exit_code=1)
    if not bridge.is_ready():
        raise LabError("The lab is not ready: the bridge cannot reach every node", START_REMEDY, exit_code=1)
    return nodes


def check_no_other_load(compose: Lab, bridge: Bridge, locust_url: str) -> None:
    """Raise LabError if there is any other load. A run counts all flows of the lab between its start and its end."""
    others = compose.load_containers()
    if others:
        raise LabError(f"Another run is in progress ({others[0]})", "Wait for it to end, or stop it: `docker stop`.")
    status = by_hand.ask_status(locust_url)
    if status is not None:
        by_hand.require_idle(status)
    busy = {node.name: node.outstanding_flows for node in bridge.nodes().values() if node.outstanding_flows}
    if busy:
        counted = ", ".join(f"{count} at {name}" for name, count in busy.items())
        raise LabError(f"Flows are still in flight: {counted}", "Wait until `scripts/lab status` shows none.")


@dataclass(frozen=True)
class PreparedRun:
    """A run that has its id, before anything is asked of the lab. Its options have been checked."""

    identity: str
    """The id of the run: the name of its folder and of its containers, and the beginning of every ``client_id``."""
    options: Load
    workload: Workload
    may_break: bool = False
    """Whether it is a result if the load ends a node. Then no load is refused because it would."""


def prepare(options: Load) -> PreparedRun:
    """Check the options, read the workload and make the id of a run, from ``--name`` or its name. Raises LabError."""
    check_load(options)
    workload = read_workload(options.workload, options.overrides)
    name = folders.check_name(options.name or workload.name.lower().replace("_", "-"), option="--name")
    return PreparedRun(folders.run_id(name), options, workload)


def plan(run: PreparedRun, settings: Settings, compose: Lab, bridge: Bridge) -> Plan:
    """Make all checks of a run that need the lab, and return the run's plan. Raises LabError."""
    lifecycle.require_engine()
    inject.heal_left(compose.project)
    nodes = check_lab_is_up(compose, bridge)
    leftovers.collect(compose)
    return plan_on(nodes, run, settings, compose, bridge)


def plan_on(nodes: Mapping[str, Node], run: PreparedRun, settings: Settings, compose: Lab, bridge: Bridge) -> Plan:
    """Make the checks of a run that need these nodes, and return the run's plan. Raises LabError."""
    options, workload = with_workers(run.options, compose), run.workload
    check_uploads(workload, settings)
    if not run.may_break:
        check_attachments(workload, settings)
    planned = make_plan(run.identity, options, workload, bridge, nodes)
    check_no_other_load(compose, bridge, settings.url("LOCUST_PORT"))
    starters = planned.subject.nodes
    check_admission(options, min(bridge.outstanding_max(node) for node in starters), len(starters))
    return planned


def with_workers(options: Load, compose: Lab) -> Load:
    """Return the options of a load with the workers that the lab has for it. Raises LabError if there are too few.

    Without ``workers``, a load takes all of them, but no more than it has users. Where workers cannot make a load, a
    single process does.
    """
    placed = len(compose.load_contexts) - 1
    if options.workers is not None:
        if 0 < placed < options.workers:
            raise LabError(
                f"--set workers: is {options.workers}, but the placement has {placed}",
                "Reduce it, or give hosts more workers in the placement, and start the lab with it again.",
            )
        return options
    most = min(placed, options.users)
    return options.updated(workers=most) if most and not options.is_counted else options


def check_admission(options: Load, limit: int, nodes: int = 1) -> None:
    """Raise LabError if the bridge would reject a part of closed load or of a burst; warn if it may of open load.

    ``limit`` is the number of outstanding flows that the bridge admits on each of the ``nodes`` that start flows in
    turn.
    """
    if problem := admission_problem(options, limit, nodes):
        raise LabError(problems=[problem])
    if options.users > limit * nodes:
        ui.warn(f"the bridge admits {limit} outstanding flows ({OUTSTANDING_MAX}), and rejects further starts (429)")


def admission_problem(options: Load, limit: int, nodes: int = 1) -> Problem | None:
    """Return why the bridge would reject a part of closed load or of a burst; None if it admits all of it.

    Users whose starts are rejected would only wait and ask again: the load would be smaller than its number of users.
    A burst would lose the requests that are rejected. ``limit`` is that of each of the ``nodes``, which get the same
    number of users or requests, or one more.
    """
    most = limit * nodes
    if options.is_open or options.places <= most:
        return None
    remedy = f"Reduce it, or start the lab with --set {OUTSTANDING_MAX}={math.ceil(options.places / nodes)}."
    on = "a node" if nodes == 1 else f"the {nodes} nodes"
    return Problem.of(
        "--users" if options.places == options.users else "--set pool",
        f"{options.places} is more than the {most} flows that the bridge admits on {on} at once",
        f"Add --set pool={most}. {remedy}" if options.is_burst and options.pool is None else remedy,
    )


def describe(plan: Plan) -> str:
    subject = plan.subject
    to = f" → {', '.join(subject.counterparties)}" if subject.counterparties else ""
    return f"{plan.load.workload}: {', '.join(subject.flows.values())}, {', '.join(subject.nodes)}{to}"


def title_of(options: Load) -> str:
    if options.is_burst:
        return f"Load: {burst_words(options)}"
    if options.is_counted:
        return f"Load: {plural(options.users, 'user')}, {flows_words(options)}"
    who = (
        f"{options.arrivals} arrivals, {options.rate:g} per second, pool of {options.users}"
        if options.is_open
        else plural(options.users, "user")
    )
    by = f" on {plural(options.workers, 'worker')}" if options.workers else ""
    least, most = options.warm_up_seconds_min, options.warm_up_seconds
    if options.stopping is not None and options.stopping.change_percent_max is not None:
        return f"Load: {who}{by}, {least:g} s to {most:g} s until it is steady + {options.duration_seconds:g} s"
    return f"Load: {who}{by} for {most:g} s + {options.duration_seconds:g} s"
