"""The metrics of simulated runs: scrapes of Prometheus, and samples of the containers."""

import json
import math
import random
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import polars as pl

from corda_lab.clients.prometheus import METRICS_SCHEMA
from corda_lab.steps.usage import SAMPLES_SCHEMA
from lab_workload.run_end import RunEnd
from support.simulation import NODES, ORIGIN


def metric_rows(rows: list[dict[str, Any]], end: RunEnd) -> Iterator[dict[str, Any]]:
    """Samples every five seconds of all metrics that the report draws, with values like those of a real lab."""
    source = random.Random(7)
    scale = {"Notary": 0.25, "PartyA": 1.0, "PartyB": 0.6, "PartyC": 0.02}
    cpu_seconds: defaultdict[str, float] = defaultdict(float)
    at = ORIGIN - 15
    while at <= end.ended_at + 10:
        loaded = ORIGIN <= at <= end.ended_at
        flying = sum(row["started_at"] <= at < row["ended_at"] for row in rows)

        def sample(name: str, node: str | None, value: float, at: float = at, **labels: str) -> dict[str, Any]:
            return {
                "name": name,
                "node": node,
                "labels": json.dumps(labels, sort_keys=True),
                "time": at,
                "value": value,
            }

        yield sample("bridge_flows_in_flight", "PartyA", float(flying))
        for node in NODES:
            share = scale[node] if loaded else 0.01
            cores = share * source.uniform(0.8, 1.0)
            cpu_seconds[node] += 5 * cores
            yield sample("node_cpu_cores", node, cores)
            yield sample("node_cpu_seconds_total", node, cpu_seconds[node])
            yield sample("node_heap_used_bytes", node, (250 + 300 * share + 120 * math.sin(at / 6 + share)) * 1024**2)
            yield sample("node_heap_kept_bytes", node, (120 + 20 * share) * 1024**2)
            yield sample("node_gc_share", node, 0.06 * share * source.uniform(0.5, 1.5))
            yield sample("node_gc_seconds_total", node, 0.06 * cpu_seconds[node])
            yield sample("node_checkpoints_total", node, 40 * cpu_seconds[node])
            yield sample("node_rpc_connections", node, 2.0)
            yield sample("node_rpc_queue_messages", node, 0.0)
            yield sample("node_flows_in_flight", node, round(flying * scale[node]))
            yield sample(
                "artemis_queue_messages", node, float(round(3 * share * source.random())), broker="P2P", queue="inbound"
            )
            yield sample(
                "artemis_queue_messages", node, float(round(source.random() * share)), broker="P2P", queue="peer"
            )
        for job, loaded_cores in (("bridge", 0.11), ("locust", 0.05), ("prometheus", 0.02)):
            cores = loaded_cores * source.uniform(0.8, 1.2) * (1 if loaded else 0.3)
            cpu_seconds[job] += 5 * cores
            yield sample("lab_cpu_cores", None, cores, job=job)
            yield sample("lab_cpu_seconds_total", None, cpu_seconds[job], job=job)
        at += 5


def metrics_frame(rows: list[dict[str, Any]], end: RunEnd) -> pl.DataFrame:
    """The content of ``metrics.parquet`` of a simulated run."""
    return pl.DataFrame(list(metric_rows(rows, end)), schema=METRICS_SCHEMA)


def sample_rows(end: RunEnd) -> Iterator[tuple[str, float, float, int]]:
    """Samples of the containers each second, from before the load to after it, with values like those of a real lab."""
    source = random.Random(11)
    scale = {"Notary": 0.25, "PartyA": 1.0, "PartyB": 0.6, "PartyC": 0.02, "bridge": 0.11, "locust": 0.05}
    cpu_seconds: defaultdict[str, float] = defaultdict(float)
    for second in range(int(end.ended_at - ORIGIN) + 6):
        at = ORIGIN - 2 + second
        for name, share in scale.items():
            cpu_seconds[name] += (share if ORIGIN < at <= end.ended_at else 0.01) * source.uniform(0.6, 1.0)
            memory = int((700 + 200 * share + 2 * second) * 1024**2)
            yield name, at, cpu_seconds[name], memory


def samples_frame(end: RunEnd) -> pl.DataFrame:
    """The content of ``samples.parquet`` of a simulated run."""
    return pl.DataFrame(list(sample_rows(end)), schema=SAMPLES_SCHEMA, orient="row")
