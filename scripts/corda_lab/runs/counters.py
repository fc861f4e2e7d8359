"""Reads the counters behind the four counts, and waits until the lab is at rest."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from prometheus_client.samples import Sample

from corda_lab.clients.bridge import Bridge
from corda_lab.clients.prometheus import Prometheus
from corda_lab.errors import LabError
from corda_lab.lab import endings
from corda_lab.lab.lab import Lab
from corda_lab.runs import node_metrics
from corda_lab.runs.node_metrics import NodeMetrics
from corda_lab.runs.running import ask_all, begin_asking
from corda_lab.steps import counts
from corda_lab.steps.counts import Snapshot
from corda_lab.steps.reasons import Reason, reason
from corda_lab.text import ui
from corda_lab.text.words import listed, plural, short
from lab_workload.subject import Subject

REST_SECONDS_MAX = 120.0
REST_SECONDS_PER_PLACE = 0.2
"""How much longer for each request that may be in flight when a load ends. Open load beyond the peak leaves thousands
of flows, and nodes complete some five per second."""
TELL_SECONDS = 10.0
"""How often a wait says what it is for, where a line cannot be replaced."""
GO_ON = "`scripts/lab status` shows the lab, `scripts/lab up` starts what has ended, and Ctrl-C keeps the rows"
Found = TypeVar("Found")


def read_vaults(
    places: Iterable[tuple[str, str]], read: Callable[[str, str], Found]
) -> tuple[dict[tuple[str, str], Found], tuple[Reason, ...]]:
    """Call ``read`` with the node and the class of state of each (class of state, node), after a load.

    Returns what it found, and a reason for each vault that cannot be read: what was measured is worth keeping without.
    The vaults are read at the same time: after a hundred thousand transactions, each takes minutes.
    """
    found: dict[tuple[str, str], Found] = {}
    unread: list[Reason] = []
    for (state, node), answer in begin_asking(lambda place: read(place[1], place[0]), places).items():
        try:
            found[state, node] = answer.result()
        except LabError as error:
            unread.append(reason("vault_unread", node=node, state=short(state), why=error.message))
    return found, tuple(unread)


def snapshot(
    bridge: Bridge, metrics: NodeMetrics, subject: Subject, vaults: Mapping[tuple[str, str], int] | None = None
) -> Snapshot:
    """Read the counters of bridge and vaults now. ``vaults`` has those of the vaults if they were read already.

    ``metrics`` has the counters of the nodes. Raises LabError.
    """
    found = snapshot_of({**metrics, counts.BRIDGE: bridge.metrics()}, subject)
    if vaults is None:
        vaults = ask_all(lambda place: bridge.vault_unconsumed(place[1], place[0]), subject.vault_places)
    return replace(found, vault_unconsumed=dict(vaults))


LabSamples = Mapping[str, Sequence[Sample]]
"""Samples by the process that has them: a node by its name, or another part of the lab by its job in Prometheus."""

COUNTED = "|".join(("bridge_flows_completed_total", *node_metrics.NAMES))


def samples_at(prometheus: Prometheus, at: float) -> LabSamples:
    """The counters that Prometheus had read last by a time, in unix seconds. Raises LabError."""
    found: dict[str, list[Sample]] = {}
    for value in prometheus.instant(f'{{__name__=~"{COUNTED}",job=~"bridge|corda|locust"}}', at=at):
        labels = value.labels
        process = labels["node"] if labels["job"] == "corda" else labels["job"]
        found.setdefault(process, []).append(Sample(labels["__name__"], labels, value.value))
    return found


def snapshot_of(samples: LabSamples, subject: Subject) -> Snapshot:
    """The counters in samples, without those of the vaults."""
    completed = {one.node: dict.fromkeys(one.flows, 0) for one in subject.each}
    started_at: dict[str, float] = {}
    node_success: dict[str, dict[str, int]] = {}
    for process, own in samples.items():
        for sample in own:
            if sample.name == "process_start_time_seconds":
                started_at[process] = sample.value
            elif sample.name == "corda_flow_duration_seconds_count" and sample.labels["outcome"] == "success":
                node_success.setdefault(process, {})[sample.labels["flow"]] = int(sample.value)
            elif sample.name == "bridge_flows_completed_total":
                at_node = completed.get(sample.labels.get("node", ""), {})
                for flow in at_node:
                    if sample.labels.get("flow") in {flow, subject.flows[flow]}:
                        at_node[flow] += int(sample.value)
    return Snapshot(bridge_completed=completed, node_success=node_success, vault_unconsumed={}, started_at=started_at)


def awaited(lab: Lab) -> str:
    """Return what a lab has to do until it is at rest; empty if it is: no flow is in flight, at bridge or nodes.

    A lab that does not answer is not at rest: a bridge that was killed may still be starting again.
    """
    try:
        nodes = lab.bridge.nodes()
        if held := {name: node.outstanding_flows for name, node in nodes.items() if node.outstanding_flows}:
            return f"{plural(sum(held.values()), 'flow')} at the bridge, started on {listed(sorted(held))}"
        in_flight = node_metrics.in_flight(node_metrics.read(lab))
    except LabError as error:
        return f"an answer ({error.message})"
    if busy := {name: count for name, count in in_flight.items() if count}:
        return f"{plural(sum(busy.values()), 'flow')} in flight on {listed(sorted(busy))}"
    silent = sorted(set(nodes) - set(in_flight))
    return f"the metrics of {listed(silent)}" if silent else ""


def await_rest(lab: Lab, *, seconds_max: float = REST_SECONDS_MAX) -> bool:
    """Wait until the lab is at rest, and say what for. Return False if it is not, or does not answer, within the limit.

    Raises LabError if a service of the lab has ended.
    """
    deadline = time.monotonic() + seconds_max
    with ui.Ticker(every_seconds=TELL_SECONDS) as ticker:

        def is_at_rest() -> bool:
            waits_for = awaited(lab)
            if waits_for:
                left = max(0.0, deadline - time.monotonic())
                ticker.show(f"waiting for {waits_for}, for at most {left:.0f} s; {GO_ON}")
            return not waits_for

        return endings.come_true(lab, is_at_rest, seconds_max=seconds_max)


def rest_seconds_max(places: int) -> float:
    """Return how long a lab may take to be at rest after a load, in seconds: longer if it may leave more flows."""
    return REST_SECONDS_MAX + REST_SECONDS_PER_PLACE * places


@dataclass(frozen=True)
class Rest:
    """Waits until the lab is at rest after a load. The limit is for all waits together.

    ``ended_at`` is when the load ended, in unix seconds by its own clock; ``places`` requests at most were in flight.
    ``began`` is when the lab was first expected to come to rest, by the monotonic clock: parts that a fault has ended
    start again before.
    """

    ended_at: float
    places: int
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return round(max(0.0, time.time() - self.ended_at), 3)

    def wait(self, lab: Lab) -> bool:
        """Wait until the lab is at rest, and return whether it is. After the limit, it is looked at once.

        Raises LabError if a service of the lab has ended.
        """
        left = self.began + rest_seconds_max(self.places) - time.monotonic()
        return await_rest(lab, seconds_max=max(0.0, left))
