"""Client for Prometheus, and the named queries whose series are stored with a run."""

import json
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import httpx
import polars as pl

from corda_lab.errors import LabError

ANSWER_SECONDS_MAX = 30.0
POINTS_MAX = 10_000
"""Most points of a series in one query. Prometheus refuses more than 11,000."""
SCRAPE_SECONDS = 5.0
"""Prometheus's scrape interval, as set in ``monitoring/prometheus/prometheus.yml``."""

SERIES: dict[str, str] = {
    # Recorded by Prometheus (monitoring/prometheus/rules/recording.yml), so they are what the dashboards show.
    "bridge_started_per_second": "node:bridge_flows_started:rate20s",
    "bridge_completed_per_second": "node:bridge_flows_completed:rate20s",
    "bridge_failed_per_second": "node_reason:bridge_flows_failed:rate20s",
    "bridge_rejected_per_second": "node_reason:bridge_flows_rejected:rate20s",
    "generator_started_per_second": "node:locust_requests_started:rate20s",
    "generator_ended_per_second": "node_outcome:locust_requests:rate20s",
    "generator_latency_seconds": "quantile:locust_request_latency_seconds:rate20s",
    "node_flows_in_flight": "node:corda_flows_in_flight:sum",
    "node_flows_ended_per_second": "node:corda_flows_finished:rate20s",
    "node_cpu_cores": "node:process_cpu_seconds:rate20s",
    "node_heap_kept_bytes": "node:heap_kept_bytes:sum",
    "node_gc_share": "node:jvm_gc_collection_seconds:rate20s",
    "node_rpc_queue_messages": "node:artemis_rpc_queue_waiting:sum",
    "artemis_queue_messages": "node_queue:artemis_queue_messages:sum",
    "lab_cpu_cores": "job:process_cpu_seconds:rate20s",
    "container_cpu_cores": "container:cpu_seconds:rate20s",
    "container_memory_bytes": "container:memory_bytes:sum",
    "host_stolen_share": "host:cpu_stolen:ratio20s",
    # As they are scraped. From counters, steps compute values over exactly their window.
    "bridge_flows_in_flight": "sum by (node) (bridge_flows_in_flight)",
    "bridge_client_ids": "sum by (node) (bridge_client_ids_to_remove)",
    "bridge_connections": "sum(bridge_connections)",
    "node_flows_success_total": 'sum by (node, flow) (corda_flow_duration_seconds_count{outcome="success"})',
    "node_cpu_seconds_total": 'sum by (node) (process_cpu_seconds_total{job="corda"})',
    "node_allocated_bytes_total": 'sum by (node) (jvm_memory_pool_allocated_bytes_total{job="corda"})',
    "node_resident_bytes": 'sum by (node) (process_resident_memory_bytes{job="corda"})',
    "node_heap_used_bytes": 'sum by (node) (jvm_memory_used_bytes{job="corda",area="heap"})',
    "node_heap_max_bytes": 'sum by (node) (jvm_memory_max_bytes{job="corda",area="heap"})',
    "node_gc_seconds_total": 'sum by (node) (jvm_gc_collection_seconds_sum{job="corda"})',
    "node_checkpoints_total": "sum by (node) (corda_checkpoints_total)",
    "node_rpc_connections": "sum by (node) (artemis_rpc_connections)",
    "hikari_connections_active": "sum by (node) (hikari_connections_active)",
    "hikari_connections_pending": "sum by (node) (hikari_connections_pending)",
    "hikari_connections_open": "sum by (node) (hikari_connections_active + hikari_connections_idle)",
    "lab_cpu_seconds_total": 'sum by (job) (process_cpu_seconds_total{job=~"bridge|locust|prometheus"})',
    "lab_resident_bytes": 'sum by (job) (process_resident_memory_bytes{job=~"bridge|locust|prometheus"})',
    "locust_users": "sum(locust_users)",
}
"""The series that are stored with a run: name in ``metrics.parquet`` → query."""

METRICS_SCHEMA = pl.Schema(
    {
        "name": pl.String,
        "node": pl.String,
        "labels": pl.String,
        "time": pl.Float64,
        "value": pl.Float64,
    }
)


@dataclass(frozen=True)
class Value:
    """The value of one series at one time (Unix seconds)."""

    labels: dict[str, str]
    value: float
    time: float


@dataclass(frozen=True)
class Series:
    """One series over a time range. ``points`` are (Unix seconds, value) in order of time."""

    labels: dict[str, str]
    points: list[tuple[float, float]]


@dataclass(frozen=True)
class Alert:
    """An alert that fires. ``since`` is the time since which its condition holds, in Unix seconds."""

    name: str
    node: str
    """The node that it is about; empty if it is about the lab."""
    severity: str
    summary: str
    """What to do, in one line; empty if the rule says nothing."""
    since: float


class Prometheus:
    """A client of Prometheus's query API. Its methods raise LabError if a query fails."""

    def __init__(self, url: str, *, seconds_max: float = ANSWER_SECONDS_MAX) -> None:
        """Talk to Prometheus at ``url``, which has at most ``seconds_max`` seconds for an answer."""
        self.url = url
        self._client = httpx.Client(base_url=url, timeout=seconds_max, trust_env=False)

    def close(self) -> None:
        self._client.close()

    def _get(self, path: str, parameters: Mapping[str, str]) -> Any:
        try:
            content = self._client.get(path, params=parameters).json()
            if not isinstance(content, dict):
                raise ValueError("the answer is not a JSON object")
        except (httpx.HTTPError, ValueError) as error:
            raise LabError(
                f"Prometheus at {self.url} does not answer ({error})", "Check its state with `scripts/lab status`."
            ) from None
        if content.get("status") != "success":
            raise LabError(
                f"Prometheus rejected a query: {content.get('error')}", f"The query: {parameters.get('query', path)}"
            )
        return content.get("data")

    def _result(self, path: str, parameters: Mapping[str, str]) -> Any:
        return self._get(path, parameters)["result"]

    def latest(self, selector: str) -> list[Value]:
        """Return the latest sample of every series that a selector matches, with the time of its scrape."""
        # Only a range selector returns the times of the samples. An instant one returns the evaluation time.
        result = self._result("/api/v1/query", {"query": f"{selector}[1m]", "time": f"{time.time():.3f}"})
        return [_value(series["metric"], series["values"][-1]) for series in result]

    def instant(self, query: str, *, at: float | None = None) -> list[Value]:
        """Evaluate a query now, or at a time (Unix seconds). ``time`` of each value is the time of evaluation."""
        when = {} if at is None else {"time": f"{at:.3f}"}
        result = self._result("/api/v1/query", {"query": query, **when})
        return [_value(series["metric"], series["value"]) for series in result]

    def range(self, query: str, *, started_at: float, ended_at: float, step_seconds: float) -> list[Series]:
        """Evaluate a query at every step of a time range (Unix seconds)."""
        times = {"start": f"{started_at:.3f}", "end": f"{ended_at:.3f}", "step": f"{step_seconds:g}"}
        return [
            Series(dict(series["metric"]), [(float(at), float(text)) for at, text in series["values"]])
            for series in self._result("/api/v1/query_range", {"query": query, **times})
        ]

    def addresses(self, job: str) -> dict[str, str]:
        """Return the addresses that a job scrapes, by the label ``node`` of the target."""
        targets = self._get("/api/v1/targets", {"state": "active", "scrapePool": job})["activeTargets"]
        return {str(target["labels"]["node"]): str(target["scrapeUrl"]) for target in targets}

    def alerts(self) -> list[Alert]:
        """Return the alerts that fire, those that fire longest first. Raises LabError if Prometheus has no rules."""
        content = self._get("/api/v1/rules", {"type": "alert"})
        try:
            groups = content["groups"]
            entries = [entry for group in groups for rule in group["rules"] for entry in rule["alerts"]]
            firing = [_alert(entry) for entry in entries if entry["state"] == "firing"]
        except (KeyError, TypeError, ValueError) as error:
            raise LabError(f"The alerts of Prometheus at {self.url} cannot be parsed: {error!r}") from None
        if not groups:
            raise LabError(
                f"Prometheus at {self.url} has no alerts", "Start it again with its new settings: `scripts/lab up`."
            )
        return sorted(firing, key=lambda alert: (alert.since, alert.name, alert.node))

    def rows(self, name: str, query: str, *, started_at: float, ended_at: float) -> Iterable[dict[str, Any]]:
        """Yield the rows of ``metrics.parquet`` for one query over a time range, without infinite and NaN values."""
        part_seconds = POINTS_MAX * SCRAPE_SECONDS
        for part in range(math.ceil((ended_at - started_at) / part_seconds)):
            begin = started_at + part * part_seconds
            end = min(ended_at, begin + part_seconds - SCRAPE_SECONDS)
            for series in self.range(query, started_at=begin, ended_at=end, step_seconds=SCRAPE_SECONDS):
                labels = {label: text for label, text in series.labels.items() if label != "__name__"}
                node = labels.pop("node", None)
                text = json.dumps(labels, sort_keys=True)
                for at, value in series.points:
                    if math.isfinite(value):
                        yield {"name": name, "node": node, "labels": text, "time": at, "value": value}

    def run_metrics(self, *, started_at: float, ended_at: float) -> pl.DataFrame:
        """Return all named series over a time range (Unix seconds), in long format (``METRICS_SCHEMA``)."""
        rows = [
            row
            for name, query in SERIES.items()
            for row in self.rows(name, query, started_at=started_at, ended_at=ended_at)
        ]
        return pl.DataFrame(rows, schema=METRICS_SCHEMA)


def _value(labels: dict[str, str], sample: tuple[float, str]) -> Value:
    at, text = sample
    return Value(dict(labels), float(text), float(at))


def _alert(entry: Mapping[str, Any]) -> Alert:
    """Parse an alert of the rules API. Raises KeyError, TypeError or ValueError."""
    labels, notes = entry["labels"], entry.get("annotations") or {}
    return Alert(
        name=str(labels["alertname"]),
        node=str(labels.get("node", "")),
        severity=str(labels.get("severity", "")),
        summary=" ".join(str(notes.get("summary") or notes.get("description") or "").split()),
        since=datetime.fromisoformat(str(entry["activeAt"])).timestamp(),
    )
