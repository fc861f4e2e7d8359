"""A simulated run in the true formats, for tests: a closed queueing system whose figures are known beforehand.

``users`` send requests, one at a time each, to one server that works through them in order. With a fixed service time s
the system is exactly solvable: throughput 1 / s, and every latency users × s once the queue has filled.
"""

import heapq
import json
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from corda_lab.counts import Counts
from corda_lab.prometheus import METRICS_SCHEMA

ORIGIN = 1_700_000_000.0
NODES = ("Notary", "PartyA", "PartyB", "PartyC")


def fixed(seconds: float) -> Callable[[float], float]:
    """A service time that never changes."""
    return lambda _at: seconds


def warming(seconds: float, seed: int) -> Callable[[float], float]:
    """A service time that scatters, and that halves over the first 15 seconds as a cold JVM's does."""
    source = random.Random(seed)
    return lambda at: seconds * (1 + math.exp(-at / 8)) * source.lognormvariate(0, 0.5)


def closed_rows(
    users: int, total_seconds: float, service: Callable[[float], float], *, error_every: int = 0
) -> list[dict[str, Any]]:
    """Rows of a run of ``total_seconds``; flows under way at its end are finished. Every n-th request fails."""
    ready = [(user * 0.05, user) for user in range(users)]
    heapq.heapify(ready)
    server_free_at = 0.0
    rows: list[dict[str, Any]] = []
    while ready and ready[0][0] < total_seconds:
        started, user = heapq.heappop(ready)
        ended = max(started, server_free_at) + service(started)
        server_free_at = ended
        number = len(rows) + 1
        failed = bool(error_every) and number % error_every == 0
        rows.append(
            {
                "request_id": number,
                "user_id": user,
                "workload": "iou",
                "node": "PartyA",
                "flow": "org.cordalab.flows.Iou",
                "started_at": ORIGIN + started,
                "ended_at": ORIGIN + ended,
                "latency_ms": (ended - started) * 1000,
                "outcome": "error" if failed else "ok",
                "status": 502 if failed else 200,
                "error": "flow-failed: the responder refused to sign" if failed else None,
                "flow_id": f"00000000-0000-0000-0000-{number:012}",
                "tx_id": None if failed else f"{number:064X}",
                "client_id": f"client-{number}",
                "bridge_rpc_ms": 3.0,
                "bridge_flow_ms": (ended - started) * 1000 - 2,
            }
        )
        heapq.heappush(ready, (ended, user))
    return rows


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as the generator does: one JSON object per line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def end_words(rows: list[dict[str, Any]], users: int, total_seconds: float) -> dict[str, Any]:
    """The generator's closing words."""
    return {
        "started_at": ORIGIN,
        "spawned_at": ORIGIN + 0.05 * users,
        "stop_at": ORIGIN + total_seconds,
        "ended_at": max(row["ended_at"] for row in rows) + 0.1,
        "users": users,
        "requests": len(rows),
        "errors": sum(row["outcome"] != "ok" for row in rows),
        "cpu_percent_max": 6.0,
        "exit_reason": "run-time",
    }


def metric_rows(rows: list[dict[str, Any]], end: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Samples every five seconds of every series the report draws, shaped like a real lab's."""
    source = random.Random(7)
    scale = {"Notary": 0.25, "PartyA": 1.0, "PartyB": 0.6, "PartyC": 0.02}
    at = ORIGIN - 15
    while at <= end["ended_at"] + 10:
        loaded = ORIGIN <= at <= end["ended_at"]
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
            yield sample("node_cpu_cores", node, share * source.uniform(0.8, 1.0))
            yield sample("node_heap_used_bytes", node, (250 + 300 * share + 120 * math.sin(at / 6 + share)) * 1024**2)
            yield sample("node_gc_share", node, 0.06 * share * source.uniform(0.5, 1.5))
            yield sample("node_flows_in_flight", node, round(flying * scale[node]))
            yield sample(
                "artemis_queue_messages", node, float(round(3 * share * source.random())), broker="P2P", queue="inbound"
            )
            yield sample(
                "artemis_queue_messages", node, float(round(source.random() * share)), broker="P2P", queue="peer"
            )
        for job, cores in (("bridge", 0.11), ("locust", 0.05), ("prometheus", 0.02)):
            yield sample("lab_cpu_cores", None, cores * source.uniform(0.8, 1.2) * (1 if loaded else 0.3), job=job)
        at += 5


def metrics_frame(rows: list[dict[str, Any]], end: dict[str, Any]) -> pl.DataFrame:
    """``metrics.parquet`` of a simulated run."""
    return pl.DataFrame(list(metric_rows(rows, end)), schema=METRICS_SCHEMA)


def agreeing_counts(rows: list[dict[str, Any]]) -> Counts:
    """Counts of a run that lost nothing."""
    succeeded = sum(row["outcome"] == "ok" for row in rows)
    return Counts(
        generator=succeeded,
        bridge=succeeded,
        node=succeeded,
        vaults={"PartyA": succeeded, "PartyB": succeeded},
        node_flows={
            "PartyA": {"org.cordalab.flows.Iou": succeeded},
            "PartyB": {"org.cordalab.flows.IouResponder": succeeded},
            "Notary": {"net.corda.node.services.transactions.NonValidatingNotaryFlow": succeeded},
        },
        rest_seconds=4.2,
    )
