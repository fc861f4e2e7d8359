"""What the bridge and Prometheus of a simulated lab answer about now."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from corda_lab.clients.watch import HISTORY_QUERY, QUERY, SERIES_LABEL

NOTARY, PARTY = "Notary", "PartyA"
FAILED_AT = "2026-11-20T12:00:00.250Z"
Sample = tuple[Mapping[str, str], float]
"""The labels of a series but its name, and its value."""

BY_NODE: Mapping[str, tuple[float, float]] = {
    "node_up": (1, 1),
    "node_flows_in_flight": (2, 12),
    "node_flows_ended_per_second": (4, 3.5),
    "node_cpu_cores": (0.25, 1.5),
    "node_heap_used_bytes": (400 * 1024**2, 900 * 1024**2),
    "node_heap_max_bytes": (1000 * 1024**2, 1000 * 1024**2),
    "artemis_queue_messages": (5, 8),
    "node_rpc_queue_messages": (0, 3),
}
"""The value of each series on the notary and on the party."""
OF_LAB: Mapping[str, float] = {
    "bridge_limit": 800,
    "bridge_completed_per_second": 3.5,
    "bridge_failed_per_second": 0.5,
    "bridge_rejected_per_second": 0.25,
}
OF_LOAD: Mapping[str, float] = {
    "locust_users": 20,
    "load_started_per_second": 4,
    "load_dropped_per_second": 1,
    "load_achieved_per_second": 3.5,
    "load_errors_per_second": 0.5,
    "load_lag_p99_seconds": 0.002,
}
RUN = {"workload": "iou", "node": PARTY, "load": "poisson, 5/s"}


@dataclass
class Lab:
    """Answers as the bridge and as Prometheus. A test changes what they say."""

    has_load: bool = True
    has_rules: bool = True
    alerts: list[dict[str, object]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """The paths of all requests, without queries."""

    def answer(self, path: str) -> object:
        """Return the answer to a GET."""
        address = urlsplit(path)
        self.asked.append(address.path)
        answers: dict[str, Callable[[dict[str, list[str]]], object]] = {
            "/v1/nodes": lambda _: {"nodes": self._nodes()},
            "/api/v1/query": self._now,
            "/api/v1/query_range": _history,
            "/api/v1/rules": lambda _: {"status": "success", "data": {"groups": self._rules()}},
        }
        return answers[address.path](parse_qs(address.query)) if address.path in answers else None

    def _nodes(self) -> list[dict[str, object]]:
        failure = {"flow": "Iou", "reason": "flow_exception", "detail": "FlowException: below 100", "at": FAILED_AT}
        return [
            {"name": NOTARY, "ready": True, "outstandingFlows": 0},
            {"name": PARTY, "ready": False, "outstandingFlows": 12, "lastFailure": failure},
        ]

    def _rules(self) -> list[dict[str, object]]:
        return [{"name": "alerts", "rules": [{"alerts": self.alerts}]}] if self.has_rules else []

    def _now(self, query: dict[str, list[str]]) -> object:
        assert query["query"] == [QUERY]
        samples: list[Sample] = [
            ({SERIES_LABEL: name, "node": node}, value)
            for name, values in BY_NODE.items()
            for node, value in zip((NOTARY, PARTY), values, strict=True)
        ]
        samples += [({SERIES_LABEL: name}, value) for name, value in OF_LAB.items()]
        if self.has_load:
            samples += [({SERIES_LABEL: name}, value) for name, value in OF_LOAD.items()]
            samples.append(({SERIES_LABEL: "load_info", **RUN}, 1))
        result = [{"metric": labels, "value": [time.time(), str(value)]} for labels, value in samples]
        return {"status": "success", "data": {"resultType": "vector", "result": result}}


def _history(query: dict[str, list[str]]) -> object:
    """The party's flows per second: 1 at the begin, nothing for most of the time, 2 and 4 at the end."""
    assert query["query"] == [HISTORY_QUERY]
    start, end, step = (float(query[name][0]) for name in ("start", "end", "step"))
    points = [(start, 1.0), (end - step, 2.0), (end, 4.0)]
    series = {"metric": {"node": PARTY}, "values": [[at, str(value)] for at, value in points]}
    return {"status": "success", "data": {"resultType": "matrix", "result": [series]}}
