"""The four counts of one run: the generator's rows, the bridge, the nodes' JMX counters, the vaults.

They are read before the load (after the set-up) and again when everything is at rest, so that the differences can be
compared exactly: flows by class, states by class and node.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import polars as pl

from corda_lab.clients.bridge import Bridge
from corda_lab.clients.prometheus import SCRAPE_SECONDS, Prometheus
from corda_lab.text.words import short

REST_SECONDS_MAX = 120.0
POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Part:
    """One kind of request of a workload: a flow (full class name), and what every success of it changes in the vaults.

    ``changes`` is by class of state, then by node: how many unconsumed states more (or fewer) that vault has.
    """

    name: str
    flow: str
    flow_short: str
    counterparty: str | None = None
    weight: float = 1
    unit: str = "flow"
    states_per_flow: int | None = None
    changes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """What is counted: successes of the parts' flows started on ``node``, and states in the vaults that they change."""

    node: str
    parts: tuple[Part, ...]

    @property
    def flows(self) -> dict[str, str]:
        """Short name of every flow class that is started, by its full name."""
        return {part.flow: part.flow_short for part in self.parts}

    @property
    def vault_places(self) -> tuple[tuple[str, str], ...]:
        """Every (class of state, node) whose count some part changes, or says that it leaves as it is."""
        places = {(state, node): None for part in self.parts for state, nodes in part.changes.items() for node in nodes}
        return tuple(places)

    @property
    def counterparties(self) -> tuple[str, ...]:
        """The other parties, each once."""
        return tuple(dict.fromkeys(part.counterparty for part in self.parts if part.counterparty))

    def vault_expected(self, succeeded: Mapping[str, int]) -> dict[tuple[str, str], int]:
        """By how much each place should have changed when every part succeeded so many times (by its name)."""
        return {
            (state, node): sum(
                succeeded.get(part.name, 0) * part.changes.get(state, {}).get(node, 0) for part in self.parts
            )
            for state, node in self.vault_places
        }


@dataclass(frozen=True)
class Snapshot:
    """Counters at one moment: completions in the bridge by flow class, successes by node and flow class, unconsumed states."""

    bridge_completed: dict[str, int]
    node_success: dict[str, dict[str, int]]
    vault_unconsumed: dict[tuple[str, str], int]


@dataclass(frozen=True)
class FlowCount:
    """Successes of one flow class as three observers saw them."""

    flow: str
    generator: int
    bridge: int
    node: int


@dataclass(frozen=True)
class VaultCount:
    """Change of the unconsumed states of one class in one vault: seen, and expected of the generator's successes."""

    state: str
    node: str
    counted: int
    expected: int


@dataclass(frozen=True)
class Counts:
    """Differences over a run, and whether they agree."""

    flows: tuple[FlowCount, ...]
    vaults: tuple[VaultCount, ...] = ()
    node_flows: dict[str, dict[str, int]] = field(default_factory=dict)
    at_rest: bool = True
    rest_seconds: float = 0.0

    @property
    def disagreements(self) -> list[str]:
        """A sentence for every count that is not the generator's, and one when rest was not reached."""
        several = len(self.flows) > 1
        sentences = [
            f"{name} {count}{f' {short(flow.flow)}' if several else ''}, generator {flow.generator}"
            for flow in self.flows
            for name, count in (("bridge", flow.bridge), ("node", flow.node))
            if count != flow.generator
        ]
        sentences += [
            f"vault of {vault.node} {vault.counted:+d} {short(vault.state)}, expected {vault.expected:+d}"
            for vault in self.vaults
            if vault.counted != vault.expected
        ]
        if not self.at_rest:
            sentences.append(f"flows were still outstanding {self.rest_seconds:.0f} s after the load had ended")
        return sentences

    def as_dict(self) -> dict[str, Any]:
        """The form kept in ``steps.json``: totals first, then each flow class, each vault and state, and every node's flows."""
        by_node: dict[str, int] = {}
        for vault in self.vaults:
            by_node[vault.node] = by_node.get(vault.node, 0) + vault.counted
        return {
            "generator": sum(flow.generator for flow in self.flows),
            "bridge": sum(flow.bridge for flow in self.flows),
            "node": sum(flow.node for flow in self.flows),
            "vaults": by_node,
            "flows": [asdict(flow) for flow in self.flows],
            "vault_states": [asdict(vault) for vault in self.vaults],
            "node_flows": self.node_flows,
            "at_rest": self.at_rest,
            "rest_seconds": self.rest_seconds,
            "agree": not self.disagreements,
            "disagreements": self.disagreements,
        }


def succeeded_by_part(rows: pl.DataFrame) -> dict[str, int]:
    """Rows with outcome ok of every part. Expected failures are none of them: no node and no vault counts those."""
    counts = rows.filter(pl.col("outcome") == "ok").group_by("part").len()
    return {str(part): int(count) for part, count in counts.iter_rows()}


def snapshot(bridge: Bridge, prometheus: Prometheus, subject: Subject) -> Snapshot:
    """Read all counters now."""
    completed = dict.fromkeys(subject.flows, 0)
    for sample in bridge.metrics():
        if sample.name == "bridge_flows_completed_total" and sample.labels.get("node") == subject.node:
            for flow, short in subject.flows.items():
                if sample.labels.get("flow") in {flow, short}:
                    completed[flow] += int(sample.value)
    node_success: dict[str, dict[str, int]] = {}
    for value in prometheus.latest('corda_flow_duration_seconds_count{outcome="success"}'):
        node_success.setdefault(value.labels["node"], {})[value.labels["flow"]] = int(value.value)
    return Snapshot(
        bridge_completed=completed,
        node_success=node_success,
        vault_unconsumed={(state, node): bridge.vault_unconsumed(node, state) for state, node in subject.vault_places},
    )


def difference(before: Snapshot, after: Snapshot, subject: Subject, *, succeeded: Mapping[str, int]) -> Counts:
    """What was counted between two snapshots, beside the generator's successes of every part."""
    node_flows = {
        node: {
            flow: count - before.node_success.get(node, {}).get(flow, 0)
            for flow, count in sorted(flows.items())
            if count != before.node_success.get(node, {}).get(flow, 0)
        }
        for node, flows in sorted(after.node_success.items())
    }
    expected = subject.vault_expected(succeeded)
    return Counts(
        flows=tuple(
            FlowCount(
                flow=flow,
                generator=sum(succeeded.get(part.name, 0) for part in subject.parts if part.flow == flow),
                bridge=after.bridge_completed.get(flow, 0) - before.bridge_completed.get(flow, 0),
                node=node_flows.get(subject.node, {}).get(flow, 0),
            )
            for flow in subject.flows
        ),
        vaults=tuple(
            VaultCount(state, node, total - before.vault_unconsumed[state, node], expected[state, node])
            for (state, node), total in after.vault_unconsumed.items()
        ),
        node_flows={node: flows for node, flows in node_flows.items() if flows},
    )


def is_at_rest(bridge: Bridge, prometheus: Prometheus, *, since: float) -> bool:
    """Whether no flow is under way anywhere, by the bridge now and by every node in a scrape made after ``since``."""
    nodes = bridge.nodes()
    if any(node.outstanding_flows for node in nodes.values()):
        return False
    in_flight = {
        value.labels["node"]: value
        for value in prometheus.latest('corda_flows_in_flight{job="corda"}')
        if value.scraped_at > since
    }
    return set(in_flight) >= set(nodes) and not any(value.value for value in in_flight.values())


def await_rest(
    bridge: Bridge,
    prometheus: Prometheus,
    *,
    since: float,
    seconds_max: float = REST_SECONDS_MAX,
    pause: Callable[[float], None] = time.sleep,
) -> bool:
    """Wait until the lab is at rest; False when it was not within the limit."""
    deadline = time.monotonic() + seconds_max
    while not is_at_rest(bridge, prometheus, since=since):
        if time.monotonic() > deadline:
            return False
        pause(POLL_SECONDS)
    return True


def count_run(
    bridge: Bridge,
    prometheus: Prometheus,
    subject: Subject,
    before: Snapshot,
    *,
    succeeded: Mapping[str, int],
    ended_at: float,
) -> Counts:
    """Wait for rest, then compare the four counts.

    Every number is one that was read after rest. A scrape reads a node's MBeans one after another, so one that straddled
    the end of a flow may hold an older counter: where the counts differ, they are read once more from the next scrape.
    """
    started = time.monotonic()
    at_rest = await_rest(bridge, prometheus, since=ended_at)
    counts = difference(before, snapshot(bridge, prometheus, subject), subject, succeeded=succeeded)
    if at_rest and counts.disagreements:
        await_rest(bridge, prometheus, since=time.time(), seconds_max=3 * SCRAPE_SECONDS)
        counts = difference(before, snapshot(bridge, prometheus, subject), subject, succeeded=succeeded)
    return replace(counts, at_rest=at_rest, rest_seconds=round(time.monotonic() - started, 3))
