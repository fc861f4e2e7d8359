"""The four counts of one run: the generator's rows, the bridge, the nodes' JMX counters, the vaults.

They are read before the load and again when everything is at rest, so that the differences can be compared exactly.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from corda_lab.bridge import Bridge
from corda_lab.prometheus import SCRAPE_SECONDS, Prometheus

REST_SECONDS_MAX = 120.0
POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Subject:
    """What is counted: successes of ``flow`` (full class name) started on ``node``, states in the vaults of both sides."""

    node: str
    counterparty: str | None
    flow: str
    flow_short: str
    state: str | None

    @property
    def vault_nodes(self) -> tuple[str, ...]:
        """Nodes whose vaults must have recorded every success."""
        if self.state is None:
            return ()
        return (self.node,) if self.counterparty is None else (self.node, self.counterparty)


@dataclass(frozen=True)
class Snapshot:
    """Counters at one moment. ``node_success`` is by node, then by flow class."""

    bridge_completed: int
    node_success: dict[str, dict[str, int]]
    vault_total: dict[str, int]


@dataclass(frozen=True)
class Counts:
    """Differences over a run, and whether they agree."""

    generator: int
    bridge: int
    node: int
    vaults: dict[str, int]
    node_flows: dict[str, dict[str, int]] = field(default_factory=dict)
    at_rest: bool = True
    rest_seconds: float = 0.0

    @property
    def disagreements(self) -> list[str]:
        """A sentence for every count that is not the generator's, and one when rest was not reached."""
        counts = {"bridge": self.bridge, "node": self.node}
        counts.update({f"vault of {node}": count for node, count in self.vaults.items()})
        sentences = [
            f"{name} {count}, generator {self.generator}" for name, count in counts.items() if count != self.generator
        ]
        if not self.at_rest:
            sentences.append(f"flows were still outstanding {self.rest_seconds:.0f} s after the load had ended")
        return sentences

    def as_dict(self) -> dict[str, Any]:
        """The form kept in ``steps.json``."""
        return {**asdict(self), "agree": not self.disagreements, "disagreements": self.disagreements}


def snapshot(bridge: Bridge, prometheus: Prometheus, subject: Subject) -> Snapshot:
    """Read all counters now."""
    completed = sum(
        sample.value
        for sample in bridge.metrics()
        if sample.name == "bridge_flows_completed_total"
        and sample.labels.get("node") == subject.node
        and sample.labels.get("flow") in {subject.flow, subject.flow_short}
    )
    node_success: dict[str, dict[str, int]] = {}
    for value in prometheus.latest('corda_flow_duration_seconds_count{outcome="success"}'):
        node_success.setdefault(value.labels["node"], {})[value.labels["flow"]] = int(value.value)
    return Snapshot(
        bridge_completed=int(completed),
        node_success=node_success,
        vault_total={node: bridge.vault_total(node, subject.state or "") for node in subject.vault_nodes},
    )


def difference(before: Snapshot, after: Snapshot, subject: Subject, *, generator: int) -> Counts:
    """What was counted between two snapshots."""
    node_flows = {
        node: {
            flow: count - before.node_success.get(node, {}).get(flow, 0)
            for flow, count in sorted(flows.items())
            if count != before.node_success.get(node, {}).get(flow, 0)
        }
        for node, flows in sorted(after.node_success.items())
    }
    return Counts(
        generator=generator,
        bridge=after.bridge_completed - before.bridge_completed,
        node=node_flows.get(subject.node, {}).get(subject.flow, 0),
        vaults={node: total - before.vault_total[node] for node, total in after.vault_total.items()},
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
    bridge: Bridge, prometheus: Prometheus, subject: Subject, before: Snapshot, *, generator: int, ended_at: float
) -> Counts:
    """Wait for rest, then compare the four counts.

    Every number is one that was read after rest. A scrape reads a node's MBeans one after another, so one that straddled
    the end of a flow may hold an older counter: where the counts differ, they are read once more from the next scrape.
    """
    started = time.monotonic()
    at_rest = await_rest(bridge, prometheus, since=ended_at)
    counts = difference(before, snapshot(bridge, prometheus, subject), subject, generator=generator)
    if at_rest and counts.disagreements:
        await_rest(bridge, prometheus, since=time.time(), seconds_max=3 * SCRAPE_SECONDS)
        counts = difference(before, snapshot(bridge, prometheus, subject), subject, generator=generator)
    return Counts(
        generator=counts.generator,
        bridge=counts.bridge,
        node=counts.node,
        vaults=counts.vaults,
        node_flows=counts.node_flows,
        at_rest=at_rest,
        rest_seconds=round(time.monotonic() - started, 3),
    )
