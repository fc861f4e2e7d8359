"""The four counts of a run: the rows of the generator, the bridge, the JMX counters of the nodes, and the vaults.

They are read before the load (after the set-up) and again at rest, so the differences can be compared exactly: flows by
class, and states by class and node.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from corda_lab.steps.entry import CountsEntry, FlowCount, TransactionCheck, VaultCount
from corda_lab.steps.reasons import Reason, reason
from corda_lab.steps.resolutions import has_succeeded
from corda_lab.text.words import short
from lab_workload.subject import Subject


@dataclass(frozen=True)
class Snapshot:
    """Counters at one moment: completions in the bridge and successes in the nodes, both by node and flow class, and
    unconsumed states by (class of state, node).

    ``started_at`` has the start of the bridge's process and of each node's, in unix seconds, where it is known.
    """

    bridge_completed: dict[str, dict[str, int]]
    node_success: dict[str, dict[str, int]]
    vault_unconsumed: dict[tuple[str, str], int]
    started_at: dict[str, float] = field(default_factory=dict)

    def restarted(self, after: "Snapshot") -> frozenset[str]:
        """The processes that have started again by ``after``, so that their counters began again at 0."""
        return frozenset(
            name for name, at in self.started_at.items() if abs(after.started_at.get(name, at) - at) > START_JITTER
        )


BRIDGE = "bridge"
"""The name of the bridge in ``Snapshot.started_at``; a node has its own."""

START_JITTER = 0.5
"""A process start is stored in seconds. Two readings of one start differ by less than this."""


def judged(counts: CountsEntry, unread: Sequence[Reason] = ()) -> CountsEntry:
    """The counts with their totals, and with a reason for every count that differs from that of the generator.

    ``unread`` says why vaults could not be read after the load: without them, nobody knows whether the counts agree. A
    lab that was not at rest is a reason too.
    """
    found = [
        reason(
            "count_differs",
            observer=f"{name} {flow.started_by}" if flow.started_by and name == "node" else name,
            count=count,
            flow=short(flow.flow),
            generator=flow.generator,
        )
        for flow in counts.flows
        for name, count in (("bridge", flow.bridge), ("node", flow.node))
        if count is not None and count != flow.generator
    ]
    found += [
        reason(
            "vault_differs", node=vault.node, state=short(vault.state), counted=vault.counted, expected=vault.expected
        )
        for vault in counts.vault_states
        if vault.counted is not None and vault.counted != vault.expected
    ]
    found += [
        reason(
            "transactions_missing",
            missing=check.missing,
            told=check.told,
            node=check.node,
            state=short(check.state),
            example=check.missing_ids[0],
        )
        for check in counts.transactions
        if check.missing
    ]
    found += unread
    if not counts.at_rest:
        found.append(reason("not_at_rest", seconds=counts.rest_seconds))
    totals = {
        "generator": sum(flow.generator for flow in counts.flows),
        "bridge": _sum(flow.bridge for flow in counts.flows),
        "node": _sum(flow.node for flow in counts.flows),
        "vaults": {
            node: _sum(vault.counted for vault in counts.vault_states if vault.node == node)
            for node in dict.fromkeys(vault.node for vault in counts.vault_states)
        },
    }
    return counts.model_copy(update={**totals, "agree": not found, "disagreements": found})


def _sum(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)


def succeeded_by_part(rows: pl.DataFrame) -> dict[str, dict[str, int]]:
    """The number of flows that succeeded, by node and part. Nodes and vaults do not count expected failures."""
    found: dict[str, dict[str, int]] = {}
    for node, part, count in rows.filter(has_succeeded()).group_by("node", "part").len().iter_rows():
        found.setdefault(str(node), {})[str(part)] = int(count)
    return found


MISSING_SHOWN_MAX = 10


def told_transactions(rows: pl.DataFrame, subject: Subject) -> dict[tuple[str, str], set[str]]:
    """The transactions that must have recorded states at each (class of state, node), as far as requests were told.

    A part that declares more states for a vault than it takes from it records its transaction there. Where it declares
    none or fewer, its transaction may leave no state behind.
    """
    known = rows.filter(has_succeeded()).with_columns(
        pl.coalesce("tx_id", "resolved_tx_id").str.to_uppercase().alias("transaction")
    )
    told: dict[tuple[str, str], set[str]] = {}
    for starter, part in subject.starts:
        own = known.filter((pl.col("part") == part.name) & (pl.col("node") == starter))
        ids = set(own["transaction"].drop_nulls())
        for state, nodes in part.changes.items():
            for node, change in nodes.items():
                if change > 0:
                    told.setdefault((state, node), set()).update(ids)
    return told


def check_transactions(
    told: Mapping[tuple[str, str], set[str]], vaults: Mapping[tuple[str, str], set[str]]
) -> list[TransactionCheck]:
    """Compare transactions by (class of state, node). A vault that is not in ``vaults`` was not read."""
    return [
        TransactionCheck(
            state=state,
            node=node,
            told=len(ids),
            missing=len(ids - vaults[state, node]),
            missing_ids=sorted(ids - vaults[state, node])[:MISSING_SHOWN_MAX],
            others=len(vaults[state, node] - ids),
        )
        for (state, node), ids in told.items()
        if (state, node) in vaults
    ]


def difference(
    before: Snapshot,
    after: Snapshot,
    subject: Subject,
    *,
    succeeded: Mapping[str, Mapping[str, int]],
    unread: frozenset[str] = frozenset(),
) -> CountsEntry:
    """The counts between two snapshots. ``succeeded`` has the successes at the generator by node and name of the part.

    A counter that began again at 0 in between counts nothing: the bridge and the node then have None. So has the bridge
    for a node that was restarted: it did not see how the flows ended that were in flight then. ``unread`` has the
    processes whose counters were not read before or after the load; what they would have counted is None too.
    """
    restarted = before.restarted(after)
    lost = restarted | unread
    node_flows = {
        node: {
            flow: count - before.node_success.get(node, {}).get(flow, 0)
            for flow, count in sorted(flows.items())
            if count != before.node_success.get(node, {}).get(flow, 0)
        }
        for node, flows in sorted(after.node_success.items())
        if node not in lost
    }
    flows = [
        FlowCount(
            flow=flow,
            generator=sum(succeeded.get(one.node, {}).get(part.name, 0) for part in one.parts if part.flow == flow),
            bridge=None
            if BRIDGE in lost or one.node in restarted
            else after.bridge_completed.get(one.node, {}).get(flow, 0)
            - before.bridge_completed.get(one.node, {}).get(flow, 0),
            node=None if one.node in lost else node_flows.get(one.node, {}).get(flow, 0),
            started_by=one.node if subject.others else None,
        )
        for one in subject.each
        for flow in one.flows
    ]
    vaults = [
        VaultCount(
            state=state,
            node=node,
            counted=_change(before.vault_unconsumed, after.vault_unconsumed, (state, node)),
            expected=count,
        )
        for (state, node), count in subject.vault_expected(succeeded).items()
    ]
    counted = {node: flows for node, flows in node_flows.items() if flows}
    return judged(CountsEntry(flows=flows, vault_states=vaults, node_flows=counted, restarted=sorted(restarted)))


def _change(
    before: Mapping[tuple[str, str], int], after: Mapping[tuple[str, str], int], place: tuple[str, str]
) -> int | None:
    return after[place] - before[place] if place in before and place in after else None
