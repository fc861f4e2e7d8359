"""A workload for the command line: its file read, and bound to the running network by ``lab_workload``."""

from collections.abc import Mapping
from dataclasses import replace

from corda_lab.clients.bridge import Bridge, Node
from corda_lab.errors import FinalError
from corda_lab.lab.settings import NOTARY, PARTIES, Settings
from corda_lab.paths import WORKLOADS
from corda_lab.steps import plan as steps_plan
from corda_lab.steps.load import LoadOptions
from lab_workload.flows import Party
from lab_workload.network import Asked, BoundPart, Network, bind
from lab_workload.problems import Problem, WorkloadError, in_file_order
from lab_workload.starts import flow_starts
from lab_workload.workload import Workload, load_workload

NODE_BASE_HEAP_BYTES = 300 * 2**20
ATTACHMENT_HEAP_COPIES = 20
"""How often an attachment is in a node's heap while it is sent, at most: 10 MB pass with 1 GiB, 50 MB end the node."""


def read_workload(name: str, overrides: Mapping[str, str] | None = None) -> Workload:
    """The workload file. Raises FinalError with everything that is wrong with it."""
    try:
        return load_workload(WORKLOADS, name, (NOTARY, *PARTIES), overrides)
    except WorkloadError as error:
        raise FinalError(problems=error.problems, remedy="Workloads are the files of configs/workloads/.") from None


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


def network_of(bridge: Bridge, nodes: Mapping[str, Node]) -> Network:
    """What the running lab offers a workload; ``nodes`` are those that the bridge knows."""
    return Network(
        parties={name: Party(name, node.x500_name) for name, node in nodes.items() if not node.is_notary},
        flows=bridge.flow_definitions,
        platform_version=lambda name: nodes[name].platform_version,
        notaries=[name for name, node in nodes.items() if node.is_notary],
        startable=PARTIES,
    )


def resolve_subject(
    options: LoadOptions, workload: Workload, bridge: Bridge, nodes: Mapping[str, Node]
) -> steps_plan.Subject:
    """Node, counterparties and flows as the network knows them. Raises LabError with everything that it lacks."""
    try:
        bound = bind(workload, Asked(options.node, options.counterparty), network_of(bridge, nodes))
    except WorkloadError as error:
        raise FinalError(problems=[_as_option(problem) for problem in error.problems]) from None
    node = bound.roles.node.name
    return steps_plan.Subject(node, tuple(_part_of(one, node) for one in bound.parts))


def lab_problems(workload: Workload, bridge: Bridge) -> list[Problem]:
    """What is wrong with a workload that reads well, on the network that runs: parties, flows, arguments, templates.

    The bridge converts the arguments of one start of each kind; it starts nothing.
    """
    try:
        starts = flow_starts(bind(workload, Asked(), network_of(bridge, bridge.nodes())))
    except WorkloadError as error:
        return list(error.problems)
    refused = ((start, bridge.start_problem(start.node, start.flow, start.args)) for start in starts)
    return in_file_order(workload.source.locate(problem, start.location) for start, problem in refused if problem)


def _as_option(problem: Problem) -> Problem:
    """A problem that is not the file's is one of an option of the run."""
    if problem.path is not None or not problem.location:
        return problem
    return replace(problem, location=(f"--{problem.location[0]}",))


def _part_of(bound: BoundPart, node: str) -> steps_plan.LoadPart:
    part, counterparty = bound.part, bound.counterparty.name if bound.counterparty else None
    return steps_plan.LoadPart(
        name=part.name,
        flow=bound.flow.name,
        flow_short=bound.flow.short_name,
        counterparty=counterparty,
        weight=part.weight,
        unit=part.unit,
        states_per_flow=part.states_per_flow,
        changes=part.vault_changes(node, counterparty),
    )
