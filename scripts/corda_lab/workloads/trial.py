"""``lab workload new --try``: starts the flow of a new workload once, and finds what it changes in the vaults."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from corda_lab.clients.bridge import ANSWER_SECONDS_MAX, Bridge, Node
from corda_lab.errors import LabError
from corda_lab.text import ui
from corda_lab.workloads.resolve import checked_starters, network_of
from lab_workload.flows import Flow, named
from lab_workload.load import Load
from lab_workload.problems import WorkloadError
from lab_workload.schema import Workload
from lab_workload.starts import FlowStart, flow_starts

ANY_STATE = "net.corda.core.contracts.ContractState"
"""The class of all states."""

Changes = Mapping[str, Mapping[str, int]]
"""State class → node → change of the number of unconsumed states."""


@dataclass(frozen=True)
class Trial:
    """What one flow did."""

    start: FlowStart
    transaction: str | None
    """The id of its transaction, if it returned one."""
    changes: Changes
    """The classes of which a vault recorded or consumed a state, with every vault that did."""


def check_kind(workload: Workload, node: str, flow: Flow) -> None:
    """Check that the file is for this flow alone, so that one start is the whole load. Raises LabError."""
    part = workload.flows[0]
    if workload.setup or len(workload.flows) > 1:
        raise LabError(
            f"{workload.source.path}: has a set-up or several flows, so one flow is not the whole load",
            "Write its `states` by hand: docs/workloads.md says how.",
        )
    if named(part.flow, [flow]) != [flow] or workload.nodes != [node]:
        raise LabError(
            f"{workload.source.path}: is there already, and starts {part.flow} on {', '.join(workload.nodes)}",
            "Pass another --name, or delete the file first.",
        )


def make(workload: Workload, bridge: Bridge, at_rest: Callable[[], bool], *, flow_seconds_max: float) -> Trial:
    """Start the flow of a workload once, as a run would, and compare the vaults of all nodes before and after.

    ``flow_seconds_max`` is how long the bridge waits for the flow. ``at_rest`` waits until no flow is in flight at a
    scrape after a time, and returns whether that is so. Raises LabError: with exit status 2 if the arguments are not
    accepted, in which case nothing has started, and with 1 if the flow failed, or if the vaults cannot be compared
    because something else changed them too.
    """
    nodes = bridge.nodes()
    try:
        starters = checked_starters(workload, Load(workload=workload.name), network_of(bridge, nodes))
        start = flow_starts(workload, starters)[-1]
    except WorkloadError as error:
        raise LabError(problems=error.problems) from None
    if not at_rest():
        raise LabError("Flows are in flight, whose states would be taken for those of the trial", exit_code=1)
    before = {node: bridge.vault_unconsumed(node, ANY_STATE) for node in nodes}
    since = time.time()
    identity = f"trial-{workload.name}-{time.time_ns()}"
    # The bridge says more of a flow that takes too long than a time limit here could.
    seconds_max = flow_seconds_max + ANSWER_SECONDS_MAX
    try:
        ended = bridge.start_flow(start.node, start.flow, start.args, identity, seconds_max=seconds_max)
    finally:
        try:
            bridge.forget_flows(start.node, identity)
        except LabError as error:
            # It must not hide a failure of the flow.
            ui.warn(error.message)
    # The other parties may record the transaction after the flow has ended.
    if not at_rest():
        raise LabError("The trial flow has ended, but flows are still in flight at its counterparties", exit_code=1)
    found = {node: bridge.vault_changes(node, since) for node in nodes}
    for node, changes in found.items():
        difference = bridge.vault_unconsumed(node, ANY_STATE) - before[node]
        if difference != sum(changes.values()):
            raise LabError(
                f"The vault of {node} has {difference:+d} states since before the trial, but those since its start are"
                f" {sum(changes.values()):+d}: something else changed it too",
                "Write `states` by hand, or try again while nothing else uses the lab.",
                exit_code=1,
            )
    classes = sorted({state for changes in found.values() for state in changes})
    by_class = {
        state: {node: changes[state] for node, changes in found.items() if state in changes} for state in classes
    }
    return Trial(start, ended.get("txId"), by_class)


def proposed(trial: Trial, workload: Workload, nodes: Mapping[str, Node]) -> dict[str, dict[str, int]]:
    """Return the changes in the words of a workload file. Notaries are left out, whose vaults a file cannot name."""
    words = {workload.node: "node"}
    if workload.counterparty:
        words[workload.counterparty] = "counterparty"
    states = {
        state: {words.get(node, node): change for node, change in changes.items() if not nodes[node].is_notary}
        for state, changes in trial.changes.items()
    }
    return {state: changes for state, changes in states.items() if changes}


def ledger_words(trial: Trial) -> list[str]:
    """Return what the flow did to the ledger: a line for its transaction, and one for each class of states."""
    lines = [f"transaction {trial.transaction}"] if trial.transaction else []
    for state, changes in trial.changes.items():
        by_change: dict[int, list[str]] = {}
        for node, change in changes.items():
            by_change.setdefault(change, []).append(node)
        at = "; ".join(f"{change:+d} at {', '.join(where)}" for change, where in by_change.items())
        lines.append(f"{state}: {at}")
    return lines if trial.changes else [*lines, "no vault has changed"]


def advice(states: Changes, *, is_proposed: bool) -> str:
    """Return what to do with the states that one flow changed. ``is_proposed`` says whether the file has them now."""
    if not states:
        return "The flow changes no vault, so the file needs no `states`. Check its values, then:"
    stays = "What the flow did stays on the ledger."
    if is_proposed:
        return f"{stays} The file now declares it as `states`: check that every flow does the same, then:"
    return f"{stays} The file is unchanged: compare its `states` with these changes, then:"
