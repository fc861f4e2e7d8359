"""What the lab does now, from one round of questions to the bridge and Prometheus, for ``lab status --watch``."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corda_lab.clients.bridge import Bridge
from corda_lab.clients.prometheus import SCRAPE_SECONDS, SERIES, Alert, Prometheus, Value
from corda_lab.errors import LabError
from lab_workload.node_state import (
    NODE_SERIES,
    SERIES_LABEL,
    NodeReport,
    NodeState,
    Series,
    node_states,
    one_query,
    values_by_node,
)

ANSWER_SECONDS_MAX = 2.0
"""A part that needs longer for an answer is shown as one that does not answer."""
HISTORY_SECONDS = 120.0
RATE_WINDOW = "20s"
"""That of the recorded series."""

LOAD_SERIES: Mapping[str, str] = {
    **{
        name: SERIES[name]
        for name in (
            "bridge_completed_per_second",
            "bridge_failed_per_second",
            "bridge_rejected_per_second",
            "locust_users",
        )
    },
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

QUERY = one_query({**NODE_SERIES, **LOAD_SERIES})
HISTORY_QUERY = NODE_SERIES["node_flows_ended_per_second"]


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
        reports: list[NodeReport] | None = None
        now: list[Value] = []
        history: Mapping[str, Sequence[float | None]] = {}
        alerts: list[Alert] = []
        bridge_problem = prometheus_problem = ""
        try:
            reports = self._bridge.reports()
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
            nodes=tuple(node_states(reports, series)),
            history=history,
            bridge=_bridge_state(series, reports),
            load=_load_state(series, [one.labels for one in now if one.labels.get(SERIES_LABEL) == "load_info"]),
            alerts=tuple(alerts),
            bridge_problem=bridge_problem,
            prometheus_problem=prometheus_problem,
        )

    def _history(self, began: float, at: float) -> dict[str, list[float | None]]:
        """Flows that ended per second, by node, with a place for every scrape of a time. Raises LabError."""
        found: dict[str, list[float | None]] = {}
        for one in self._prometheus.range(HISTORY_QUERY, started_at=began, ended_at=at, step_seconds=SCRAPE_SECONDS):
            values: list[float | None] = [None] * (round(HISTORY_SECONDS / SCRAPE_SECONDS) + 1)
            for moment, value in one.points:
                place = round((moment - began) / SCRAPE_SECONDS)
                if 0 <= place < len(values) and math.isfinite(value):
                    values[place] = value
            if "node" in one.labels:
                found[one.labels["node"]] = values
        return found


def _total(series: Series, name: str) -> float | None:
    return sum(series[name].values()) if name in series else None


def _bridge_state(series: Series, reports: Sequence[NodeReport] | None) -> BridgeState:
    return BridgeState(
        outstanding_flows=None if reports is None else sum(report.outstanding_flows for report in reports),
        outstanding_flows_max_per_node=_total(series, "bridge_limit"),
        completed_per_second=_total(series, "bridge_completed_per_second"),
        failed_per_second=_total(series, "bridge_failed_per_second"),
        rejected_per_second=_total(series, "bridge_rejected_per_second"),
    )


def _load_state(series: Series, runs: Sequence[Mapping[str, str]]) -> LoadState | None:
    """``runs`` are what every worker of a run tells of it."""
    if not runs:
        return None
    started = _total(series, "load_started_per_second")
    dropped = _total(series, "load_dropped_per_second") or 0.0
    words = {f"{one.get('workload', '')} on {one.get('node', '')} ({one.get('load', '')})" for one in runs}
    return LoadState(
        runs=tuple(sorted(words)),
        users=_total(series, "locust_users"),
        offered_per_second=None if started is None else started + dropped,
        achieved_per_second=_total(series, "load_achieved_per_second"),
        errors_per_second=_total(series, "load_errors_per_second"),
        lag_p99_seconds=_total(series, "load_lag_p99_seconds"),
    )
