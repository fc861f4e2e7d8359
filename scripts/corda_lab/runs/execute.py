"""One run: load on the lab for a while, then everything that was measured, kept in one folder of ``results/``."""

import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import polars as pl

from corda_lab.clients.bridge import START_REMEDY, Bridge, Flow, Node
from corda_lab.clients.prometheus import SCRAPE_SECONDS, Prometheus
from corda_lab.errors import FinalError, LabError
from corda_lab.lab import environment as manifest
from corda_lab.lab import lifecycle, shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import NOTARY, PARTIES, Settings
from corda_lab.paths import WORKLOADS
from corda_lab.results import files, folders
from corda_lab.results.files import Measured
from corda_lab.runs import containers
from corda_lab.steps import costs, counts, stages
from corda_lab.steps.entry import StageFigures, build_step
from corda_lab.steps.load import LoadOptions, Plan, check_options
from corda_lab.text import ui
from corda_lab.text.words import plural
from corda_lab.workloads.arguments import argument_problems
from lab_workload.names import canonical, did_you_mean
from lab_workload.workload import Part, Workload, WorkloadError, load_workload

REST_BEFORE_SECONDS_MAX = 60.0
NODE_BASE_HEAP_BYTES = 300 * 2**20
ATTACHMENT_HEAP_COPIES = 20
"""How often an attachment is in a node's heap while it is sent, at most: 10 MB pass with 1 GiB, 50 MB end the node."""


def read_workload(name: str, overrides: Mapping[str, str] | None = None) -> Workload:
    """The workload file, with all that is wrong with it told at once."""
    try:
        return load_workload(WORKLOADS, name, (NOTARY, *PARTIES), overrides)
    except WorkloadError as error:
        message = "\n       ".join(error.problems)
        raise FinalError(f"WORKLOAD: {message}", "Workloads are the files of configs/workloads/.") from None


def check_lab_is_up(compose: Compose, bridge: Bridge) -> dict[str, Node]:
    """Every service of the lab has to be ready before load starts; Grafana may be left out. Returns the nodes by name."""
    services = {service.name: service for service in compose.services()}
    needed = ["bridge", "locust", "prometheus", *compose.settings.extra_services]
    missing = [name for name in needed if name not in services or not services[name].is_ready]
    nodes: dict[str, Node] = {}
    if not missing:
        nodes = bridge.nodes()
        missing = [name for name in map(str.lower, nodes) if name not in services or not services[name].is_ready]
    if missing:
        states = [f"{name} {services[name].condition if name in services else 'not started'}" for name in missing]
        is_down = not any(name in services for name in needed)
        if is_down:
            raise LabError("The lab is not up", START_REMEDY)
        raise LabError(f"The lab is not ready: {', '.join(states)}", START_REMEDY, exit_code=1)
    if not bridge.is_ready():
        raise LabError("The lab is not ready: the bridge cannot reach every node", START_REMEDY, exit_code=1)
    return nodes


def find_node(name: str, nodes: Mapping[str, Node], *, field_name: str) -> Node:
    """A party by its name, upper and lower case being the same. Raises LabError that names the option."""
    parties = [node.name for node in nodes.values() if not node.is_notary]
    found = canonical(name, nodes)
    if found is None:
        hint = did_you_mean(name, parties)
        remedy = f"The parties are {', '.join(parties)}."
        if canonical(name, PARTIES):
            remedy += (
                f" Start more with `scripts/lab up --parties {1 + PARTIES.index(canonical(name, PARTIES) or '')}`."
            )
        raise FinalError(f"{field_name}: unknown node {name!r}{hint}", remedy)
    if nodes[found].is_notary:
        raise FinalError(f"{field_name}: {found} is a notary", f"The parties are {', '.join(parties)}.")
    return nodes[found]


def check_requirements(workload: Workload, node: Node, nodes: Mapping[str, Node]) -> None:
    """What the workload says that it needs of the network. Raises LabError."""
    if workload.requires is None:
        return
    parties = [one for one in nodes.values() if not one.is_notary]
    wanted = workload.requires.parties
    if wanted is not None and len(parties) < wanted:
        text = f"needs {wanted} parties, the network has {len(parties)}"
        raise FinalError(
            workload.source.problem(("requires", "parties"), text),
            f"Start the lab with `scripts/lab up --parties {wanted}`.",
        )
    platform = workload.requires.platform
    if platform is not None and node.platform_version < platform:
        text = f"needs platform version {platform}, {node.name} has {node.platform_version}"
        raise FinalError(
            workload.source.problem(("requires", "platform"), text),
            "Set a newer CORDA_VERSION and start the lab again.",
        )


def check_attachments(workload: Workload, settings: Settings) -> None:
    """The nodes' heap has to bear the attachments of the set-up: one that does not fit ends the node. Raises LabError."""
    for step in workload.setup:
        needed_bytes = NODE_BASE_HEAP_BYTES + (step.megabytes or 0) * 1_000_000 * ATTACHMENT_HEAP_COPIES
        if step.megabytes and needed_bytes > settings.size("NODE_HEAP"):
            text = (
                f"{step.megabytes} MB need a node heap of {needed_bytes / 2**30:.1f} GiB, it is {settings['NODE_HEAP']}"
            )
            raise FinalError(
                workload.source.problem((*step.location, "attachments", "megabytes"), text),
                "Take smaller ones (--set megabytes=10), or start the lab with a larger NODE_HEAP and NODE_MEMORY.",
            )


def resolve_subject(
    options: LoadOptions, workload: Workload, bridge: Bridge, nodes: Mapping[str, Node]
) -> counts.Subject:
    """Node, counterparties and flows as the network knows them. Raises LabError for what it does not know."""
    node = find_node(options.node or workload.node, nodes, field_name="--node" if options.node else "node")
    check_requirements(workload, node, nodes)
    flows = bridge.flow_definitions(node.name)
    return counts.Subject(
        node.name,
        tuple(resolve_part(options, workload, part, node, nodes, flows) for part in workload.parts),
    )


def resolve_part(
    options: LoadOptions,
    workload: Workload,
    part: Part,
    node: Node,
    nodes: Mapping[str, Node],
    flows: Sequence[Flow],
) -> counts.Part:
    """One part of a workload with its flow's full name and its counterparty. Raises LabError."""
    wanted = part.own_counterparty or options.counterparty or workload.counterparty
    field_name = "--counterparty" if options.counterparty and not part.own_counterparty else "counterparty"
    counterparty = find_node(wanted, nodes, field_name=field_name) if wanted else None
    if counterparty == node:
        raise FinalError(f"{field_name}: {node.name} is the node itself", "Choose two different nodes.")
    if counterparty is None and "counterparty" in part.arguments.used_names:
        raise FinalError(
            f"--counterparty: the workload {workload.name} needs one", "For example: --counterparty PartyB"
        )
    flow = find_flow(workload, part, node, flows)
    to = counterparty.name if counterparty else None
    changes = part.vault_changes(node.name, to)
    for place in dict.fromkeys(name for at in changes.values() for name in at):
        find_node(place, nodes, field_name=workload.source.problem((*part.location, "states"), "").rstrip(": "))
    return counts.Part(
        name=part.name,
        flow=flow.name,
        flow_short=flow.short_name,
        counterparty=to,
        weight=part.weight,
        unit=part.unit,
        states_per_flow=part.states_per_flow,
        changes=changes,
    )


def find_flow(workload: Workload, part: Part, node: Node, flows: Sequence[Flow]) -> Flow:
    """The flow of one part, which its arguments have to fit. Raises LabError with every problem, and the line."""
    flow = next((one for one in flows if part.flow in {one.name, one.short_name}), None)
    if flow is None:
        hint = did_you_mean(part.flow, [name for one in flows for name in (one.name, one.short_name)])
        raise FinalError(
            workload.source.problem((*part.location, "flow"), f"{node.name} has no flow {part.flow!r}{hint}"),
            f"`scripts/lab flows {node.name}` lists its flows.",
        )
    problems = argument_problems(part.args, flow.constructors)
    if problems:
        lines = [
            workload.source.problem((*part.location, "args", problem.partition(":")[0]), problem.partition(": ")[2])
            for problem in problems
        ]
        raise FinalError("\n       ".join(lines), f"`scripts/lab flows {node.name}` lists flows and their parameters.")
    return flow


def web_ui_users(url: str) -> int:
    """Users that run in the Locust web UI now; 0 also where it does not answer, for then it drives no load."""
    try:
        return int(httpx.get(f"{url}/stats/requests", timeout=10.0, trust_env=False).json().get("user_count") or 0)
    except (httpx.HTTPError, ValueError):
        return 0


def lab_problems(workload: Workload, bridge: Bridge) -> list[str]:
    """What is wrong with a workload that reads well, on the network that runs: parts, parties, flows, arguments."""
    nodes = bridge.nodes()
    options = LoadOptions(workload.name, users=1, duration_seconds=1, warm_up_seconds=0)
    try:
        node = find_node(workload.node, nodes, field_name="node")
        check_requirements(workload, node, nodes)
        flows = bridge.flow_definitions(node.name)
    except LabError as error:
        return error.message.split("\n       ")
    problems = []
    for part in workload.parts:
        try:
            resolve_part(options, workload, part, node, nodes, flows)
        except LabError as error:
            problems += error.message.split("\n       ")
    return problems


def check_no_other_load(compose: Compose, bridge: Bridge, locust_url: str) -> None:
    """A run counts what happens between two moments, so nothing else may happen between them."""
    others = compose.load_containers()
    if others:
        raise LabError(f"Another run is under way ({others[0]})", "Wait for its end, or stop it with `docker stop`.")
    users = web_ui_users(locust_url)
    busy = {node.name: node.outstanding_flows for node in bridge.nodes().values() if node.outstanding_flows}
    if users > 0:
        raise LabError(
            f"The Locust web UI is running {users} users",
            "Stop them there first: a run counts every flow of the lab.",
        )
    if busy:
        counted = ", ".join(f"{count} at {name}" for name, count in busy.items())
        raise LabError(f"Flows are outstanding: {counted}", "Wait until `scripts/lab status` shows none.")


def run_name(options: LoadOptions) -> str:
    """What a run is called beside its time: its own name, or its workload's. Raises LabError."""
    name = options.name or read_workload(options.workload, options.overrides).name.lower().replace("_", "-")
    return folders.check_name(name, option="--name")


def plan(options: LoadOptions, settings: Settings, compose: Compose, bridge: Bridge) -> Plan:
    """Check everything that can be checked before the load starts."""
    check_options(options)
    workload = read_workload(options.workload, options.overrides)
    lifecycle.require_engine()
    nodes = check_lab_is_up(compose, bridge)
    check_attachments(workload, settings)
    subject = resolve_subject(options, workload, bridge, nodes)
    check_no_other_load(compose, bridge, settings.url("LOCUST_PORT"))
    if options.users > int(settings["BRIDGE_MAX_OUTSTANDING_FLOWS"]):
        ui.warn(f"more users than BRIDGE_MAX_OUTSTANDING_FLOWS={settings['BRIDGE_MAX_OUTSTANDING_FLOWS']}: expect 429")
    return Plan(
        folders.run_id(run_name(options)), options, workload, subject, int(settings["BRIDGE_FLOW_TIMEOUT_SECONDS"])
    )


def describe(plan: Plan) -> str:
    """What a run starts, in a line."""
    subject = plan.subject
    to = f" → {', '.join(subject.counterparties)}" if subject.counterparties else ""
    return f"{plan.workload.name}: {', '.join(subject.flows.values())}, {subject.node}{to}"


def title_of(options: LoadOptions) -> str:
    """The load in a few words."""
    who = (
        f"{options.arrivals} arrivals, {options.rate:g} per second, pool of {options.users}"
        if options.is_open
        else plural(options.users, "user")
    )
    by = f" on {options.workers} workers" if options.workers else ""
    return f"Load: {who}{by} for {options.warm_up_seconds:g} s + {options.duration_seconds:g} s"


class Observer:
    """Reads every counter when the set-up is done, and again at rest after the load."""

    def __init__(self, compose: Compose, bridge: Bridge, prometheus: Prometheus, subject: counts.Subject) -> None:
        self._compose = compose
        self._bridge = bridge
        self._prometheus = prometheus
        self._subject = subject
        # A scrape that is older than this may still show a flow of the set-up.
        if not counts.await_rest(bridge, prometheus, since=time.time(), seconds_max=REST_BEFORE_SECONDS_MAX):
            raise LabError("The lab is not at rest", "Wait until `scripts/lab status` shows no flow in flight.")
        self._nodes = bridge.nodes()
        self._before = counts.snapshot(bridge, prometheus, subject)
        self._stage_offsets = stages.offsets(compose, list(self._nodes))
        self._dropped = stages.dropped_rows(prometheus)
        self._costs = costs.read(compose, prometheus, list(self._nodes))

    def count(self, requests: pl.DataFrame, ended_at: float) -> counts.Counts:
        """The four counts over the load, at rest."""
        return counts.count_run(
            self._bridge,
            self._prometheus,
            self._subject,
            self._before,
            succeeded=counts.succeeded_by_part(requests),
            ended_at=ended_at,
        )

    def stage_rows(self, directory: Path) -> pl.DataFrame | None:
        """Stage rows of every flow that ended since; None when there is none."""
        time.sleep(stages.FLUSH_SECONDS)
        return stages.read_stages(stages.collect(self._compose, self._stage_offsets, directory), self._nodes)

    def stage_figures(self, requests: pl.DataFrame, rows: pl.DataFrame | None) -> StageFigures:
        """The entry ``stages`` of the step, once its measuring window is known."""
        dropped = stages.dropped_rows(self._prometheus)
        return lambda window: stages.stage_figures(
            requests,
            rows,
            window,
            {part.name: part.flow for part in self._subject.parts},
            is_on=bool(self._stage_offsets),
            dropped={node: count - self._dropped.get(node, 0) for node, count in dropped.items()},
        )

    def readings(self) -> tuple[costs.Reading, costs.Reading]:
        """What costs are counted from: before the load, and now."""
        return self._costs, costs.read(self._compose, self._prometheus, list(self._nodes))


def measure(options: LoadOptions, settings: Settings, environment: dict[str, Any] | None = None) -> Measured:
    """Run and measure. Nothing is kept yet; an interrupted load is stopped, and what it left is removed.

    ``environment`` is the lab's own, where the caller knows it already.
    """
    settings = shape.of_running(settings)
    compose = Compose(settings)
    bridge, prometheus = Bridge(settings.url("BRIDGE_PORT")), Prometheus(settings.url("PROMETHEUS_PORT"))
    with ui.phase("Checking the run"):
        planned = plan(options, settings, compose, bridge)
        environment = environment or manifest.environment(settings)
        ui.note(describe(planned))
    with tempfile.TemporaryDirectory(prefix="corda-lab-run-") as scratch:
        directory = Path(scratch)
        with containers.load_containers(compose, planned) as names:
            with ui.phase("Set-up, and reading the counters"):
                for step in containers.await_setup(compose, planned, names):
                    ui.note(f"{step['name']}: {step['items']} items in {step['seconds']:.1f} s")
                observer = Observer(compose, bridge, prometheus, planned.subject)
            with ui.phase(title_of(options)):
                containers.let_go(compose, planned)
                timeline = containers.generate_load(compose, planned, bridge, names)
                requests, end = containers.collect(compose, planned, names, directory)
        with ui.phase("Waiting for rest, counting"):
            counted = observer.count(requests, float(end["ended_at"]))
            stage_rows = observer.stage_rows(directory)
            metrics = prometheus.run_metrics(
                started_at=float(end["started_at"]) - 3 * SCRAPE_SECONDS, ended_at=time.time()
            )
            figures = observer.stage_figures(requests, stage_rows)
            step = build_step(planned, requests, metrics, end, counted, timeline, figures, observer.readings())
    text = planned.workload.source.path.read_text(encoding="utf-8")
    return Measured(step, requests, metrics, stage_rows, environment, planned.workload.name, text)


def execute(options: LoadOptions, settings: Settings) -> tuple[Path, dict[str, Any]]:
    """Run, measure and keep. Returns the run's folder and its step.

    An interrupted or failed run leaves no folder: the load is stopped and what was collected is dropped, so every folder
    of ``results/`` is a whole run.
    """
    check_options(options)
    identity = folders.run_id(run_name(options))
    folders.require_free(identity)
    measured = measure(options, settings)
    with ui.phase("Keeping the results"), folders.new_run(identity) as folder:
        files.write_run(folder, files.single(identity, measured), [measured])
    return folders.find_run(identity), measured.step
