"""Prometheus, and the named queries whose series a run keeps."""

import json
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import httpx
import polars as pl

from corda_lab.errors import LabError

ANSWER_SECONDS_MAX = 30.0
SCRAPE_SECONDS = 5.0
"""How often Prometheus scrapes; ``monitoring/prometheus/prometheus.yml`` sets it."""

RATE_WINDOW = "20s"
"""Four scrapes: short enough to follow a run of a minute, long enough to survive a lost scrape."""

SERIES: dict[str, str] = {
    "bridge_started_per_second": f"sum by (node) (rate(bridge_flows_started_total[{RATE_WINDOW}]))",
    "bridge_completed_per_second": f"sum by (node) (rate(bridge_flows_completed_total[{RATE_WINDOW}]))",
    "bridge_failed_per_second": f"sum by (node, reason) (rate(bridge_flows_failed_total[{RATE_WINDOW}]))",
    "bridge_rejected_per_second": f"sum by (node, reason) (rate(bridge_flows_rejected_total[{RATE_WINDOW}]))",
    "bridge_flows_in_flight": "sum by (node) (bridge_flows_in_flight)",
    "node_flows_in_flight": "sum by (node) (corda_flows_in_flight)",
    "node_flows_success_total": 'sum by (node, flow) (corda_flow_duration_seconds_count{outcome="success"})',
    "node_cpu_cores": f'sum by (node) (rate(process_cpu_seconds_total{{job="corda"}}[{RATE_WINDOW}]))',
    "node_cpu_seconds_total": 'sum by (node) (process_cpu_seconds_total{job="corda"})',
    "node_allocated_bytes_total": 'sum by (node) (jvm_memory_pool_allocated_bytes_total{job="corda"})',
    "node_resident_bytes": 'sum by (node) (process_resident_memory_bytes{job="corda"})',
    "node_heap_used_bytes": 'sum by (node) (jvm_memory_used_bytes{job="corda",area="heap"})',
    "node_heap_max_bytes": 'sum by (node) (jvm_memory_max_bytes{job="corda",area="heap"})',
    "node_gc_share": f'sum by (node) (rate(jvm_gc_collection_seconds_sum{{job="corda"}}[{RATE_WINDOW}]))',
    "artemis_queue_messages": "sum by (node, broker, queue) (artemis_queue_messages)",
    "hikari_connections_active": "sum by (node) (hikari_connections_active)",
    "hikari_connections_pending": "sum by (node) (hikari_connections_pending)",
    "lab_cpu_cores": 'sum by (job) (rate(process_cpu_seconds_total{job=~"bridge|locust|prometheus"}'
    f"[{RATE_WINDOW}]))",
    "lab_cpu_seconds_total": 'sum by (job) (process_cpu_seconds_total{job=~"bridge|locust|prometheus"})',
    "lab_resident_bytes": 'sum by (job) (process_resident_memory_bytes{job=~"bridge|locust|prometheus"})',
    "locust_users": "sum(locust_users)",
}
"""Every series kept with a run: its name in ``metrics.parquet`` and the query it is the answer of."""

METRICS_SCHEMA: dict[str, Any] = {
    "name": pl.String,
    "node": pl.String,
    "labels": pl.String,
    "time": pl.Float64,
    "value": pl.Float64,
}


@dataclass(frozen=True)
class Value:
    """One series' value at one time (unix seconds)."""

    labels: dict[str, str]
    value: float
    time: float


@dataclass(frozen=True)
class Series:
    """One series over a span of time: pairs of unix seconds and value, in order of time."""

    labels: dict[str, str]
    points: list[tuple[float, float]]


class Prometheus:
    """A client of Prometheus's query API. Every failure is a LabError in words."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = httpx.Client(base_url=url, timeout=ANSWER_SECONDS_MAX, trust_env=False)

    def close(self) -> None:
        """End its connections."""
        self._client.close()

    def _get(self, path: str, parameters: dict[str, str]) -> Any:
        try:
            answer = self._client.get(path, params=parameters)
            content = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise LabError(
                f"Prometheus at {self.url} does not answer ({error})", "`scripts/lab status` shows how it fares."
            ) from None
        if content.get("status") != "success":
            raise LabError(f"Prometheus refused a query: {content.get('error')}", f"The query: {parameters['query']}")
        return content["data"]["result"]

    def latest(self, selector: str) -> list[Value]:
        """The newest sample of every series of a plain selector, with the time it was scraped at."""
        # A range selector, unlike an instant one, gives the samples' own times.
        result = self._get("/api/v1/query", {"query": f"{selector}[1m]", "time": f"{time.time():.3f}"})
        return [_value(series["metric"], series["values"][-1]) for series in result]

    def instant(self, query: str) -> list[Value]:
        """What a query comes to now, with the time at which it was evaluated."""
        return [_value(series["metric"], series["value"]) for series in self._get("/api/v1/query", {"query": query})]

    def range(self, query: str, *, started_at: float, ended_at: float, step_seconds: float) -> list[Series]:
        """What a query comes to at every step of a span of time (unix seconds)."""
        times = {"start": f"{started_at:.3f}", "end": f"{ended_at:.3f}", "step": f"{step_seconds:g}"}
        return [
            Series(dict(series["metric"]), [(float(at), float(text)) for at, text in series["values"]])
            for series in self._get("/api/v1/query_range", {"query": query, **times})
        ]

    def rows(self, name: str, query: str, *, started_at: float, ended_at: float) -> Iterable[dict[str, Any]]:
        """Rows of ``metrics.parquet`` for one query over a span of time; values that are not numbers are left out."""
        for series in self.range(query, started_at=started_at, ended_at=ended_at, step_seconds=SCRAPE_SECONDS):
            labels = {label: text for label, text in series.labels.items() if label != "__name__"}
            node = labels.pop("node", None)
            text = json.dumps(labels, sort_keys=True)
            for at, value in series.points:
                if math.isfinite(value):
                    yield {"name": name, "node": node, "labels": text, "time": at, "value": value}

    def run_metrics(self, *, started_at: float, ended_at: float) -> pl.DataFrame:
        """All named series over a span of time, in long format."""
        rows = [
            row
            for name, query in SERIES.items()
            for row in self.rows(name, query, started_at=started_at, ended_at=ended_at)
        ]
        return pl.DataFrame(rows, schema=METRICS_SCHEMA)


def _value(labels: dict[str, str], sample: tuple[float, str]) -> Value:
    """A sample as the query API writes it: ``[unix seconds, "value"]``."""
    at, text = sample
    return Value(dict(labels), float(text), float(at))
