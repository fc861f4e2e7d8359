"""What each node does now: what is asked of the bridge and of Prometheus, and the answers by node.

``lab status --watch`` shows it, and the queries among ``NODE_SERIES`` that a report needs too are stored with a run.
This module sends no requests.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

NODE_SERIES: Mapping[str, str] = {
    "node_up": 'min by (node) (up{job="corda"})',
    "node_heap_used_bytes": 'sum by (node) (jvm_memory_used_bytes{job="corda",area="heap"})',
    "node_heap_max_bytes": 'sum by (node) (jvm_memory_max_bytes{job="corda",area="heap"})',
    # Recorded by Prometheus (monitoring/prometheus/rules/recording.yml), so they are what the dashboards show.
    "node_flows_in_flight": "node:corda_flows_in_flight:sum",
    "node_flows_ended_per_second": "node:corda_flows_finished:rate20s",
    "node_cpu_cores": "node:process_cpu_seconds:rate20s",
    "artemis_queue_messages": "node_queue:artemis_queue_messages:sum",
    "node_rpc_queue_messages": "node:artemis_rpc_queue_waiting:sum",
}
"""What Prometheus is asked about nodes: name → query. Every value has the label ``node``."""

SERIES_LABEL = "series"
"""The label by which ``one_query`` tells the values of its series apart."""

Series = Mapping[str, Mapping[str, float]]
"""Values of now: name of the series → node → value."""


def one_query(series: Mapping[str, str]) -> str:
    """Return one query for the values of all ``series``, so that one request answers them all."""
    return " or ".join(f'label_replace({query}, "{SERIES_LABEL}", "{name}", "", "")' for name, query in series.items())


def values_by_node(samples: Iterable[tuple[Mapping[str, str], float]]) -> dict[str, dict[str, float]]:
    """Return the values of an answer to ``one_query`` by series and node. ``samples`` are (labels, value).

    Values that differ only in other labels are added up. Those that are not finite are left out. The node of a series
    without the label ``node`` is an empty text.
    """
    found: dict[str, dict[str, float]] = {}
    for labels, value in samples:
        if math.isfinite(value):
            of_series = found.setdefault(labels.get(SERIES_LABEL, ""), {})
            node = labels.get("node", "")
            of_series[node] = of_series.get(node, 0.0) + value
    return found


@dataclass(frozen=True)
class LastFailure:
    """The last flow that the bridge started on a node and that failed. ``at`` is in Unix seconds."""

    flow: str
    reason: str
    detail: str
    at: float

    @classmethod
    def of_json(cls, entry: Mapping[str, Any]) -> "LastFailure":
        """Parse the bridge's ``lastFailure``. Raises ``KeyError`` or ``ValueError`` if it is malformed."""
        at = datetime.fromisoformat(str(entry["at"])).timestamp()
        return cls(str(entry["flow"]), str(entry["reason"]), str(entry["detail"]), at)

    @property
    def text(self) -> str:
        """The flow and what went wrong, in one line."""
        return f"{self.flow}: {' '.join(self.detail.split())}"


@dataclass(frozen=True)
class NodeReport:
    """A node, as the bridge sees it now."""

    name: str
    is_ready: bool
    outstanding_flows: int
    last_failure: LastFailure | None = None

    @classmethod
    def of_json(cls, entry: Mapping[str, Any]) -> "NodeReport":
        """Parse an entry of the bridge's list of nodes.

        Raises ``KeyError``, ``TypeError`` or ``ValueError`` if it is malformed.
        """
        failure = entry.get("lastFailure")
        return cls(
            name=str(entry["name"]),
            is_ready=bool(entry["ready"]),
            outstanding_flows=int(entry.get("outstandingFlows") or 0),
            last_failure=None if failure is None else LastFailure.of_json(failure),
        )


@dataclass(frozen=True)
class NodeState:
    """What a node does now. A value is None if the bridge or Prometheus, who know it, did not tell."""

    name: str
    is_ready: bool | None = None
    """Whether the node answers the bridge by RPC."""
    is_scraped: bool | None = None
    """Whether Prometheus reached the node at its last attempt. If not, the other values may be old or missing."""
    outstanding_flows: int | None = None
    flows_in_flight: float | None = None
    """Flows of all kinds on the node, responders and notarisations included."""
    flows_per_second: float | None = None
    """Flows of all kinds that end."""
    cpu_cores: float | None = None
    heap_used_bytes: float | None = None
    heap_max_bytes: float | None = None
    queue_messages: float | None = None
    """Messages in the queues to and from peers, and RPC requests that wait."""
    last_failure: LastFailure | None = None

    @property
    def health(self) -> str:
        """The state of the node in words."""
        words = {True: "ready", False: "not ready", None: "not known"}[self.is_ready]
        return f"{words}, not scraped" if self.is_scraped is False else words

    @property
    def is_healthy(self) -> bool:
        """Whether the node is known to be ready, and is not known to be out of Prometheus's reach."""
        return self.is_ready is True and self.is_scraped is not False

    @property
    def heap_percent(self) -> float | None:
        """The heap in use, in % of its maximum."""
        if self.heap_used_bytes is None or not self.heap_max_bytes:
            return None
        return 100 * self.heap_used_bytes / self.heap_max_bytes


def node_states(reports: Sequence[NodeReport] | None, series: Series | None) -> list[NodeState]:
    """Return the state of every node from the bridge's reports, and from the values of ``NODE_SERIES`` in Prometheus.

    Either is None if it did not answer. The nodes are those of the bridge; without it, those that Prometheus scrapes.
    """
    series = series or {}
    if reports is None:
        return [_state(name, None, series) for name in sorted(series.get("node_up", {}))]
    return [_state(report.name, report, series) for report in reports]


def _state(name: str, report: NodeReport | None, series: Series) -> NodeState:
    def value(of: str) -> float | None:
        return series.get(of, {}).get(name)

    up = value("node_up")
    queues = [depth for of in ("artemis_queue_messages", "node_rpc_queue_messages") if (depth := value(of)) is not None]
    return NodeState(
        name=name,
        is_ready=None if report is None else report.is_ready,
        is_scraped=None if up is None else up > 0,
        outstanding_flows=None if report is None else report.outstanding_flows,
        flows_in_flight=value("node_flows_in_flight"),
        flows_per_second=value("node_flows_ended_per_second"),
        cpu_cores=value("node_cpu_cores"),
        heap_used_bytes=value("node_heap_used_bytes"),
        heap_max_bytes=value("node_heap_max_bytes"),
        queue_messages=sum(queues) if queues else None,
        last_failure=None if report is None else report.last_failure,
    )
