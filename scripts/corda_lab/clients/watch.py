"""What the lab does now, from one round of questions to the bridge and Prometheus, for ``lab status --watch``."""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from corda_lab.clients.bridge import Bridge, LastFailure, Node
from corda_lab.clients.prometheus import SCRAPE_SECONDS, SERIES, Alert, Prometheus, Value
from corda_lab.errors import LabError

ANSWER_SECONDS_MAX = 2.0
"""A part that needs longer for an answer is shown as one that does not answer."""
HISTORY_SECONDS = 120.0
RATE_WINDOW = "20s"
"""That of the recorded series."""

NODE_VALUES: Mapping[str, str] = {
    "flows_in_flight": "node_flows_in_flight",
    "flows_per_second": "node_flows_ended_per_second",
    "cpu_cores": "node_cpu_cores",
    "heap_used_bytes": "node_heap_used_bytes",
    "heap_max_bytes": "node_heap_max_bytes",
}
"""The field of ``NodeState`` → its series."""
QUEUES = ("artemis_queue_messages", "node_rpc_queue_messages")
UP = "node_up"

NODE_SERIES: Mapping[str, str] = {
    UP: 'min by (node) (up{job="corda"})',
    **{name: SERIES[name] for name in (*NODE_VALUES.values(), *QUEUES)},
}
"""What Prometheus is asked about nodes: name → query. Every value has the label ``node``."""

BRIDGE_RATES = tuple(f"{what}_per_second" for what in ("completed", "failed", "rejected"))
LOAD_SERIES: Mapping[str, str] = {
    **{f"bridge_{rate}": SERIES[f"bridge_{rate}"] for rate in BRIDGE_RATES},
    "locust_users": SERIES["locust_users"],
    "bridge_limit": "max(bridge_flows_in_flight_limit)",
    "load_started_per_second": f"sum({SERIES['generator_started_per_second']})",
    "load_dropped_per_second": f"sum(rate(locust_arrivals_dropped_total[{RATE_WINDOW}]))",
    "load_achieved_per_second": f'sum({SERIES["generator_ended_per_second"]}{{outcome=~"ok|expected"}})',
    "load_errors_per_second": f'sum({SERIES["generator_ended_per_second"]}{{outcome=~"failed|unknown"}})',
    "load_lag_p99_seconds": "histogram_quantile(0.99, sum by (le)"
    f" (rate(locust_schedule_lag_seconds_bucket[{RATE_WINDOW}])))",
    "load_info": "locust_run_info",
}
"""What Prometheus is asked about the bridge and the load generator, in addition to ``NODE_SERIES``."""

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
    by_series: dict[str, dict[str, float]] = {}
    for labels, value in samples:
        if math.isfinite(value):
            by_node = by_series.setdefault(labels.get(SERIES_LABEL, ""), {})
            node = labels.get("node", "")
            by_node[node] = by_node.get(node, 0.0) + value
    return by_series


QUERY = one_query({**NODE_SERIES, **LOAD_SERIES})
HISTORY_QUERY = NODE_SERIES["node_flows_ended_per_second"]


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


def node_states(nodes: Mapping[str, Node] | None, series: Series) -> list[NodeState]:
    """Return the state of every node from what the bridge says of it, and from the values of ``NODE_SERIES``.

    ``nodes`` is None if the bridge did not answer: then the nodes are those that Prometheus scrapes.
    """
    names = sorted(series.get("node_up", {})) if nodes is None else nodes
    return [_state(name, (nodes or {}).get(name), series) for name in names]


def _state(name: str, node: Node | None, series: Series) -> NodeState:
    values = {field: series.get(of, {}).get(name) for field, of in NODE_VALUES.items()}
    queues = [series[of][name] for of in QUEUES if name in series.get(of, {})]
    up = series.get(UP, {}).get(name)
    return NodeState(
        name=name,
        is_ready=node.is_ready if node else None,
        is_scraped=None if up is None else up > 0,
        outstanding_flows=node.outstanding_flows if node else None,
        queue_messages=sum(queues) if queues else None,
        last_failure=node.last_failure if node else None,
        **values,
    )


@dataclass(frozen=True)
class BridgeState:
    """What the bridge does now, for all nodes together. A value is None if it is not known."""

    outstanding_flows: int | None
    outstanding_flows_max_per_node: float | None
    completed_per_second: float | None
    failed_per_second: float | None
    rejected_per_second: float | None


@dataclass(frozen=True)
class LoadState:
    """What the load generator does now. A value is None if it is not known, or if the load has none."""

    runs: tuple[str, ...]
    """The runs in progress: ``iou on PartyA (closed, 8 users)``."""
    users: float | None
    offered_per_second: float | None
    """Arrivals in open load, dropped ones included; starts in closed load."""
    achieved_per_second: float | None
    errors_per_second: float | None
    lag_p99_seconds: float | None
    """Schedule lag. Closed load has none."""


@dataclass(frozen=True)
class LabView:
    """What the lab does now. A problem is empty if the part has answered."""

    at: float
    """Unix seconds."""
    nodes: tuple[NodeState, ...]
    history: Mapping[str, Sequence[float | None]]
    """Flows that ended per second, by node: one value per scrape over ``HISTORY_SECONDS``, the last one now. None where
    nothing is known."""
    bridge: BridgeState
    load: LoadState | None
    """None if no load runs, or if that is not known."""
    alerts: tuple[Alert, ...]
    bridge_problem: str
    prometheus_problem: str

    @property
    def is_down(self) -> bool:
        """Whether neither the bridge nor Prometheus answers, so that nothing is known."""
        return bool(self.bridge_problem and self.prometheus_problem)


class Watch:
    """Looks at a lab. It keeps its connections, so that a look costs little."""

    def __init__(self, bridge: Bridge, prometheus: Prometheus) -> None:
        self._bridge = bridge
        self._prometheus = prometheus

    @classmethod
    def at(cls, bridge_url: str, token: str, prometheus_url: str) -> "Watch":
        """Watch the lab with these URLs, and the bridge's token; empty if it needs none."""
        return cls(
            Bridge(bridge_url, token, seconds_max=ANSWER_SECONDS_MAX),
            Prometheus(prometheus_url, seconds_max=ANSWER_SECONDS_MAX),
        )

    def close(self) -> None:
        self._bridge.close()
        self._prometheus.close()

    def look(self) -> LabView:
        """Return what the lab does now. Raises nothing: what does not answer is a problem in the answer."""
        at = time.time()
        nodes: dict[str, Node] | None = None
        now: list[Value] = []
        history: Mapping[str, Sequence[float | None]] = {}
        alerts: list[Alert] = []
        bridge_problem = prometheus_problem = ""
        try:
            nodes = self._bridge.nodes()
        except LabError as error:
            bridge_problem = error.message
        try:
            history = self._history(at - HISTORY_SECONDS, at)
            now = self._prometheus.instant(QUERY)
            # Last, so that the values are there without the rules.
            alerts = self._prometheus.alerts()
        except LabError as error:
            prometheus_problem = error.message
        series = values_by_node((value.labels, value.value) for value in now)
        return LabView(
            at=at,
            nodes=tuple(node_states(nodes, series)),
            history=history,
            bridge=_bridge_state(series, nodes),
            load=_load_state(series, [value.labels for value in now if value.labels.get(SERIES_LABEL) == "load_info"]),
            alerts=tuple(alerts),
            bridge_problem=bridge_problem,
            prometheus_problem=prometheus_problem,
        )

    def _history(self, began: float, at: float) -> dict[str, list[float | None]]:
        """Flows that ended per second, by node, with a place for every scrape of a time. Raises LabError."""
        history: dict[str, list[float | None]] = {}
        series = self._prometheus.range(HISTORY_QUERY, started_at=began, ended_at=at, step_seconds=SCRAPE_SECONDS)
        for of_node in series:
            values: list[float | None] = [None] * (round(HISTORY_SECONDS / SCRAPE_SECONDS) + 1)
            for moment, value in of_node.points:
                place = round((moment - began) / SCRAPE_SECONDS)
                if 0 <= place < len(values) and math.isfinite(value):
                    values[place] = value
            if "node" in of_node.labels:
                history[of_node.labels["node"]] = values
        return history


def _total(series: Series, name: str) -> float | None:
    return sum(series[name].values()) if name in series else None


def _bridge_state(series: Series, nodes: Mapping[str, Node] | None) -> BridgeState:
    return BridgeState(
        outstanding_flows=None if nodes is None else sum(node.outstanding_flows for node in nodes.values()),
        outstanding_flows_max_per_node=_total(series, "bridge_limit"),
        **{rate: _total(series, f"bridge_{rate}") for rate in BRIDGE_RATES},
    )


def _load_state(series: Series, runs: Sequence[Mapping[str, str]]) -> LoadState | None:
    """``runs`` are what every worker of a run tells of it."""
    if not runs:
        return None
    started = _total(series, "load_started_per_second")
    dropped = _total(series, "load_dropped_per_second") or 0.0
    words = {f"{run.get('workload', '')} on {run.get('node', '')} ({run.get('load', '')})" for run in runs}
    return LoadState(
        runs=tuple(sorted(words)),
        users=_total(series, "locust_users"),
        offered_per_second=None if started is None else started + dropped,
        achieved_per_second=_total(series, "load_achieved_per_second"),
        errors_per_second=_total(series, "load_errors_per_second"),
        lag_p99_seconds=_total(series, "load_lag_p99_seconds"),
    )
