"""A workload against the running network: its nodes, parties, flows and requirements."""

from collections.abc import Mapping, Sequence

from corda_lab.clients.bridge import Bridge, Node
from corda_lab.errors import FinalError, LabError
from corda_lab.lab.settings import NOTARY, PARTIES, Settings
from corda_lab.paths import WORKLOADS
from corda_lab.steps import plan as steps_plan
from corda_lab.steps.load import LoadOptions
from lab_workload.flow_arguments import argument_problems
from lab_workload.flows import Flow
from lab_workload.names import canonical, did_you_mean
from lab_workload.problems import Problem, WorkloadError
from lab_workload.workload import Workload, WorkloadPart, load_workload

NODE_BASE_HEAP_BYTES = 300 * 2**20


ATTACHMENT_HEAP_COPIES = 20
"""How often an attachment is in a node's heap while it is sent, at most: 10 MB pass with 1 GiB, 50 MB end the node."""


def read_workload(name: str, overrides: Mapping[str, str] | None = None) -> Workload:
    """The workload file, with all that is wrong with it told at once."""
    try:
        return load_workload(WORKLOADS, name, (NOTARY, *PARTIES), overrides)
    except WorkloadError as error:
        raise FinalError(problems=error.problems, remedy="Workloads are the files of configs/workloads/.") from None


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
        remedy = f"Start the lab with `scripts/lab up --parties {wanted}`."
        raise FinalError(problems=[workload.source.problem(("requires", "parties"), text, remedy)])
    platform = workload.requires.platform
    if platform is not None and node.platform_version < platform:
        text = f"needs platform version {platform}, {node.name} has {node.platform_version}"
        remedy = "Set a newer CORDA_VERSION and start the lab again."
        raise FinalError(problems=[workload.source.problem(("requires", "platform"), text, remedy)])


def check_attachments(workload: Workload, settings: Settings) -> None:
    """The nodes' heap has to bear the attachments of the set-up: one that does not fit ends the node. Raises LabError."""
    for step in workload.setup:
        needed_bytes = NODE_BASE_HEAP_BYTES + (step.megabytes or 0) * 1_000_000 * ATTACHMENT_HEAP_COPIES
        if step.megabytes and needed_bytes > settings.size("NODE_HEAP"):
            text = (
                f"{step.megabytes} MB need a node heap of {needed_bytes / 2**30:.1f} GiB, it is {settings['NODE_HEAP']}"
            )
            remedy = "Take smaller ones (--set megabytes=10), or start the lab with a larger NODE_HEAP and NODE_MEMORY."
            location = (*step.location, "attachments", "megabytes")
            raise FinalError(problems=[workload.source.problem(location, text, remedy)])


def resolve_subject(
    options: LoadOptions, workload: Workload, bridge: Bridge, nodes: Mapping[str, Node]
) -> steps_plan.Subject:
    """Node, counterparties and flows as the network knows them. Raises LabError for what it does not know."""
    node = find_node(options.node or workload.node, nodes, field_name="--node" if options.node else "node")
    check_requirements(workload, node, nodes)
    flows = bridge.flow_definitions(node.name)
    return steps_plan.Subject(
        node.name,
        tuple(resolve_part(options, workload, part, node, nodes, flows) for part in workload.parts),
    )


def resolve_part(
    options: LoadOptions,
    workload: Workload,
    part: WorkloadPart,
    node: Node,
    nodes: Mapping[str, Node],
    flows: Sequence[Flow],
) -> steps_plan.Part:
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
        find_node(place, nodes, field_name=workload.source.problem((*part.location, "states"), "").finding.rstrip(": "))
    return steps_plan.Part(
        name=part.name,
        flow=flow.name,
        flow_short=flow.short_name,
        counterparty=to,
        weight=part.weight,
        unit=part.unit,
        states_per_flow=part.states_per_flow,
        changes=changes,
    )


def find_flow(workload: Workload, part: WorkloadPart, node: Node, flows: Sequence[Flow]) -> Flow:
    """The flow of one part, which its arguments have to fit. Raises LabError with every problem, and the line."""
    flow = next((one for one in flows if part.flow in {one.name, one.short_name}), None)
    if flow is None:
        hint = did_you_mean(part.flow, [name for one in flows for name in (one.name, one.short_name)])
        text, remedy = (
            f"{node.name} has no flow {part.flow!r}{hint}",
            f"`scripts/lab flows {node.name}` lists its flows.",
        )
        raise FinalError(problems=[workload.source.problem((*part.location, "flow"), text, remedy)])
    problems = argument_problems(part.args, flow.constructors)
    if problems:
        located = [workload.source.locate(problem, (*part.location, "args")) for problem in problems]
        raise FinalError(problems=located, remedy=f"`scripts/lab flows {node.name}` lists flows and their parameters.")
    return flow


def lab_problems(workload: Workload, bridge: Bridge) -> list[Problem]:
    """What is wrong with a workload that reads well, on the network that runs: parts, parties, flows, arguments."""
    nodes = bridge.nodes()
    options = LoadOptions(workload.name, users=1, duration_seconds=1, warm_up_seconds=0)
    try:
        node = find_node(workload.node, nodes, field_name="node")
        check_requirements(workload, node, nodes)
        flows = bridge.flow_definitions(node.name)
    except LabError as error:
        return _problems_of(error)
    problems = []
    for part in workload.parts:
        try:
            resolve_part(options, workload, part, node, nodes, flows)
        except LabError as error:
            problems += _problems_of(error)
    return problems


def _problems_of(error: LabError) -> list[Problem]:
    return list(error.problems) or [Problem(error.message, remedy=error.remedy)]
