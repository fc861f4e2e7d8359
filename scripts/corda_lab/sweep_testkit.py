"""Sweeps that were never measured: folders as ``lab sweep`` leaves them, with rows and series of a system whose answers
are known beforehand. The rows are made in polars, so that a million of them take seconds.

The simulated system completes ``capacity × users ÷ (users + half)`` flows per second: it saturates as real ones do.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

from corda_lab import costs, report, results, rows, simulation, step
from corda_lab.counts import Counts, FlowCount, VaultCount
from corda_lab.generator import Timeline
from corda_lab.load import LoadOptions
from corda_lab.prometheus import METRICS_SCHEMA
from corda_lab.testkit import ENVIRONMENT, IOU, plan_of

IDENTITY = "20260102T030405Z-users-and-databases"
GAP_SECONDS = 12.0
"""Set-up and counting between two steps."""

REQUEST_SCHEMA = {"step": pl.Int32, **rows.ROW_SCHEMA}
SERIES_SCHEMA = {"step": pl.Int32, **METRICS_SCHEMA}

STAGE_SHARES = {"wait": 0.3, "build": 0.03, "verify": 0.05, "sign": 0.05, "collect_signatures": 0.3, "notarise": 0.1}


@dataclass(frozen=True)
class Simulated:
    """What to simulate. ``vary`` is the plan's; ``invalid`` are indices of steps that break, with the reason."""

    vary: Mapping[str, Sequence[Any]] = field(
        default_factory=lambda: {"load.users": [1, 4, 16], "shape.database": ["h2", "postgres"]}
    )
    x: str | None = "load.users"
    repeats: int = 3
    seconds: float = 60.0
    warm_up_seconds: float = 15.0
    rows_per_step: int | None = None
    noise: float = 0.02
    factors: Mapping[Any, float] = field(default_factory=lambda: {"postgres": 0.8})
    invalid: Mapping[int, str] = field(default_factory=dict)
    errors_every: int = 0
    with_stages: bool = True
    order: str = "interleaved"
    busy_percent: float = 97.0
    speed: float = 1.0
    identity: str = IDENTITY
    environment: Mapping[str, Any] = field(default_factory=dict)


def uniform(count: int, seed: int) -> pl.Series:
    """Numbers in (0, 1) that look random and are the same every time."""
    hashed = pl.int_range(count, eager=True).hash(seed=seed)
    return (hashed.cast(pl.Float64) / 2.0**64).clip(1e-9, 1 - 1e-9)


def normal(count: int, seed: int) -> pl.Series:
    """Standard normal numbers (Box and Muller 1958)."""
    radius = (-2 * uniform(count, seed).log()).sqrt()
    return radius * (2 * math.pi * uniform(count, seed + 7919)).cos()


def noise(seed: int) -> float:
    """One standard normal number."""
    return float(normal(8, seed)[3])


def request_rows(
    index: int, origin: float, seconds: float, rate: float, latency_ms: float, *, errors_every: int, is_open: bool
) -> pl.DataFrame:
    """Rows of one step: evenly spread ends, lognormal latencies, a warm-up at the begin of which half the rate is done."""
    count = max(1, round(rate * seconds))
    share = (pl.int_range(count, eager=True).cast(pl.Float64) + uniform(count, index)) / count
    # The integral of a rate that rises from a half to one over the first tenth or so.
    ended = (seconds * (share + 0.06 * (1 - share) * (-share * 12).exp())).sort()
    latency = latency_ms / 1000 * (0.35 * normal(count, index + 101) - 0.06).exp()
    number = pl.int_range(1, count + 1, eager=True)
    failed = number % errors_every == 0 if errors_every else pl.repeat(False, count, eager=True)
    tags = number.cast(pl.String)
    return pl.DataFrame(
        {
            "request_id": number,
            "ended_at": origin + 0.3 + ended,
            "started_at": (origin + 0.3 + ended - latency).clip(origin),
            "failed": failed,
            "tag": tags,
        }
    ).select(
        pl.lit(index, pl.Int32).alias("step"),
        "request_id",
        (pl.col("request_id") % 8).alias("user_id"),
        pl.lit("iou").alias("workload"),
        pl.lit("Iou").alias("part"),
        pl.lit("PartyA").alias("node"),
        pl.lit(IOU).alias("flow"),
        pl.lit(0, pl.Int64).alias("worker"),
        (pl.col("started_at") - 0.001 if is_open else pl.lit(None, pl.Float64)).alias("intended_at"),
        "started_at",
        "ended_at",
        ((pl.col("ended_at") - pl.col("started_at")) * 1000).alias("latency_ms"),
        ((pl.col("ended_at") - pl.col("started_at")) * 1000 + 1 if is_open else pl.lit(None, pl.Float64)).alias(
            "latency_intended_ms"
        ),
        pl.when("failed").then(pl.lit("error")).otherwise(pl.lit("ok")).alias("outcome"),
        pl.when("failed").then(502).otherwise(200).cast(pl.Int64).alias("status"),
        pl.when("failed").then(pl.lit("flow-failed: the responder refused to sign")).alias("error"),
        pl.format("flow-{}-{}", pl.lit(index), "tag").alias("flow_id"),
        pl.format("tx-{}-{}", pl.lit(index), "tag").alias("tx_id"),
        pl.format("client-{}-{}", pl.lit(index), "tag").alias("client_id"),
        pl.lit(3.0).alias("bridge_rpc_ms"),
        ((pl.col("ended_at") - pl.col("started_at")) * 1000 - 2).alias("bridge_flow_ms"),
    )


def series(index: int, origin: float, seconds: float, load: float, *, queue_growth: float) -> Iterator[dict[str, Any]]:
    """Samples every five seconds around one step; ``load`` is how much of its capacity the system gives."""
    scale = {"Notary": 0.25, "PartyA": 1.0, "PartyB": 0.6, "PartyC": 0.02}
    at, number = origin - 10, index * 1000
    while at <= origin + seconds + 5:
        number += 1
        is_loaded = origin <= at <= origin + seconds
        wobble = 1 + 0.08 * noise(number)

        def sample(name: str, node: str | None, value: float, at: float = at, **labels: str) -> dict[str, Any]:
            text = json.dumps(labels, sort_keys=True)
            return {"step": index, "name": name, "node": node, "labels": text, "time": at, "value": value}

        for node, share in scale.items():
            used = share * load if is_loaded else 0.01
            yield sample("node_cpu_cores", node, used * wobble)
            yield sample("node_heap_used_bytes", node, (250 + 300 * used + 120 * math.sin(at / 6 + share)) * 1024**2)
            yield sample("node_gc_share", node, 0.06 * used * wobble)
            yield sample("hikari_connections_pending", node, 0.0)
            grown = queue_growth * (at - origin) / seconds if is_loaded and node == "PartyB" else 0.0
            yield sample("artemis_queue_messages", node, max(0.0, grown + 3 * used), broker="P2P", queue="inbound")
        for job, cores in (("bridge", 0.11), ("locust", 0.05), ("prometheus", 0.02)):
            yield sample("lab_cpu_cores", None, cores * (load if is_loaded else 0.3), job=job)
        at += 5


def stage_entry(latency_ms: float, count: int) -> dict[str, Any]:
    """The entry ``stages`` of a step whose waiting grows with its latency."""
    inside = max(latency_ms - 3, 1.0)
    shares = {**STAGE_SHARES, "finalise": 0.15, "other": 0.02}
    spread = rows.distribution(pl.Series([1.5] * max(count, 1)))
    return {
        "reason": None,
        "rows_dropped": {},
        "flows": [
            {
                "part": "Iou",
                "flow": IOU,
                "requests": count,
                "rows": count,
                "stages": [
                    {
                        "stage": name,
                        "mean_ms": share * inside,
                        "p50_ms": share * inside,
                        "p95_ms": 2 * share * inside,
                        "share_percent": 100 * share,
                    }
                    for name, share in shares.items()
                ],
                "start_ms": spread,
                "end_ms": spread,
                "start_share_percent": 1.0,
                "end_share_percent": 1.0,
                "sum_ms_mean": latency_ms,
                "request_ms_mean": latency_ms,
                "bridge_flow_ms_mean": latency_ms - 2,
                "difference_percent": 0.0,
            }
        ],
        "responders": [],
        "consensus_latency_ms": rows.distribution(pl.Series([], dtype=pl.Float64)),
        "consensus_left_out": 0,
    }


NO_STAGES: dict[str, Any] = {
    "reason": "The nodes wrote no stage row during the run.",
    "rows_dropped": {},
    "flows": [],
    "responders": [],
    "consensus_latency_ms": rows.distribution(pl.Series([], dtype=pl.Float64)),
    "consensus_left_out": 0,
}


def key_of(point: Mapping[str, Any], repeat: int) -> str:
    """``users-8_database-h2_r1``."""
    words = [f"{name.rpartition('.')[2]}-{value}".lower() for name, value in point.items()]
    return re.sub(r"[^a-z0-9._-]", "-", "_".join([*words, f"r{repeat}"]))


def label_of(point: Mapping[str, Any]) -> str:
    """``8 users, h2``."""
    return ", ".join(
        f"{value} {name.rpartition('.')[2]}" if name.startswith("load.") else str(value)
        for name, value in point.items()
    )


def agreeing(succeeded: int) -> Counts:
    """Counts of a load that lost nothing."""
    vaults = tuple(VaultCount(simulation.IOU_STATE, node, succeeded, succeeded) for node in ("PartyA", "PartyB"))
    return Counts(
        flows=(FlowCount(IOU, succeeded, succeeded, succeeded),), vaults=vaults, node_flows={}, rest_seconds=4.2
    )


def build(
    sweep: Simulated,
    index: int,
    origin: float,
    point: Mapping[str, Any],
    repeat: int,
    *,
    rate: float | None,
    phase: str,
) -> tuple[dict[str, Any], pl.DataFrame, list[dict[str, Any]]]:
    """One step with its rows and its series."""
    users = int(point.get("load.users", 8)) if rate is None else 60
    factor = math.prod(sweep.factors.get(value, 1.0) for value in point.values() if isinstance(value, str))
    capacity = 24.0 * factor * sweep.speed
    achieved = capacity * users / (users + 3) if rate is None else min(rate, capacity)
    achieved *= math.exp(sweep.noise * noise(index * 31 + 5))
    total = sweep.warm_up_seconds + sweep.seconds
    latency_ms = 1000 * users / achieved if rate is None else 60 / max(0.04, 1 - achieved / capacity)
    if sweep.rows_per_step:
        achieved = sweep.rows_per_step / total
    frame = request_rows(
        index, origin, total, achieved, latency_ms, errors_every=sweep.errors_every, is_open=rate is not None
    )
    load = min(1.0, achieved / capacity)
    is_over = rate is not None and rate > capacity
    samples = list(series(index, origin, total, load, queue_growth=60.0 if is_over else 0.0))
    plain = frame.drop("step")
    options = LoadOptions(
        "iou",
        users,
        sweep.seconds,
        sweep.warm_up_seconds,
        arrivals="closed" if rate is None else "poisson",
        rate=rate,
    )
    last = float(frame["ended_at"].sort()[-1])
    end: dict[str, Any] = {
        "started_at": origin,
        "spawned_at": origin + min(2.0, sweep.warm_up_seconds / 2),
        "stop_at": origin + total,
        "ended_at": max(last + 0.1, origin + total),
        "rate": rate,
        "offered": None if rate is None else round(rate * total),
        "late": None if rate is None else 0,
        "dropped": None if rate is None else 0,
        "setup": [],
        "lag_p99_ms": 1.0,
        "pool_free_min": None,
        "workers": [],
        "cpu_percent_max": 12.0,
        "exit_reason": "completed",
    }
    metrics = pl.DataFrame(samples, schema=SERIES_SCHEMA).drop("step")
    succeeded = frame.filter(pl.col("outcome") == "ok").height
    stages = stage_entry(latency_ms, succeeded) if sweep.with_stages else NO_STAGES
    nothing = costs.Reading({}, {})
    entry = step.build_step(
        plan_of(options), plain, metrics, end, agreeing(succeeded), Timeline(), lambda _: stages, (nothing, nothing)
    )
    entry["resources"]["host_busy_percent"] = sweep.busy_percent * (0.4 + 0.6 * load)
    reasons = [sweep.invalid[index]] if index in sweep.invalid else []
    exceeded = [f"p99 {latency_ms * 2:.0f} ms, more than 1000 ms"] if is_over else []
    entry.update(
        index=index,
        key=f"{key_of(point, repeat)}" if rate is None else f"{index}-{key_of(point, repeat)}",
        point=dict(point),
        repeat=repeat,
        phase=phase,
        environment=0,
        label=label_of(point) if rate is None else ", ".join(filter(None, [f"{rate:g}/s", label_of(point)])),
        validity={"valid": not reasons, "reasons": reasons},
        thresholds={"passed": not exceeded, "reasons": exceeded},
    )
    entry["warm_up"] = {
        "method": "MSER-5 (White 1997)",
        "seconds_min": 10.0,
        "seconds_max": 60.0,
        "cut_seconds": sweep.warm_up_seconds,
        "found": True,
    }
    entry["precision"] = {"wanted": 0.05, "reached": 0.031, "ended_early": index % 4 == 0}
    entry["costs"] = cost_entry(index)
    return entry, frame, samples


def cost_entry(seed: int) -> dict[str, dict[str, float]]:
    """Plausible costs; the state count of a node that keeps none is left out."""
    wobble = 1 + 0.03 * noise(seed + 77)
    return {
        "cpu_seconds_per_flow": {
            "Notary": 0.004 * wobble,
            "PartyA": 0.041 * wobble,
            "PartyB": 0.03 * wobble,
            "bridge": 0.003,
            "generator": 0.002,
        },
        "allocated_bytes_per_flow": {"PartyA": 9.1e6 * wobble, "PartyB": 6.4e6 * wobble},
        "sent_bytes_per_flow": {"PartyA": 21_000 * wobble, "PartyB": 12_000 * wobble},
        "database_bytes_per_flow": {"PartyA": 7_300 * wobble, "PartyB": 7_100 * wobble},
        "database_bytes_per_state": {},
    }


def planned(sweep: Simulated) -> list[tuple[dict[str, Any], int, float | None, str]]:
    """Points, repeats, rates and phases in the order of execution: every point once, then again."""
    combinations = [dict(zip(sweep.vary, values, strict=True)) for values in product(*sweep.vary.values())]
    return [(point, repeat, None, "measure") for repeat in range(1, sweep.repeats + 1) for point in combinations]


def searched(sweep: Simulated) -> list[tuple[dict[str, Any], int, float | None, str]]:
    """A search for the highest rate, for every combination that is varied: doubled, halved, confirmed."""
    found: list[tuple[dict[str, Any], int, float | None, str]] = []
    for values in product(*sweep.vary.values()):
        point = dict(zip(sweep.vary, values, strict=True))
        capacity = 24.0 * math.prod(sweep.factors.get(value, 1.0) for value in values if isinstance(value, str))
        low, high = 4.0, 8.0
        probes = [low]
        while high <= capacity:
            probes.append(high)
            low, high = high, high * 2
        probes.append(high)
        while high / low > 1.1:
            middle = math.sqrt(low * high)
            probes.append(middle)
            low, high = (middle, high) if middle <= capacity else (low, middle)
        found += [(point, 1, round(rate, 2), "probe") for rate in probes]
        found.append((point, 1, round(low, 2), "confirm"))
    return found


def environments(sweep: Simulated) -> list[dict[str, Any]]:
    """One for every combination of the shape's varied values."""
    shapes = {name: values for name, values in sweep.vary.items() if name.startswith("shape.")}
    return [
        {
            **ENVIRONMENT,
            **sweep.environment,
            "shape": {
                **ENVIRONMENT["shape"],
                **sweep.environment.get("shape", {}),
                **{name.rpartition(".")[2].upper(): str(value) for name, value in zip(shapes, values, strict=True)},
            },
        }
        for values in product(*shapes.values())
    ]


def store_sweep(results_folder: Path, sweep: Simulated | None = None, *, find_max: bool = False) -> Path:
    """Store a simulated sweep as ``lab sweep`` does, and return its folder."""
    sweep = sweep or Simulated()
    plan = searched(sweep) if find_max else planned(sweep)
    shapes = environments(sweep)
    steps, frames, samples = [], [], []
    origin = simulation.ORIGIN
    for index, (point, repeat, rate, phase) in enumerate(plan, start=1):
        entry, frame, sampled = build(sweep, index, origin, point, repeat, rate=rate, phase=phase)
        wanted = {name.rpartition(".")[2].upper(): str(value) for name, value in point.items() if "shape" in name}
        entry["environment"] = next(place for place, one in enumerate(shapes) if wanted.items() <= one["shape"].items())
        steps.append(entry)
        frames.append(frame)
        samples += sampled
        origin = float(entry["window"]["load_ended_at"]) + GAP_SECONDS
    text = "name: users-and-databases\nworkload: iou\n"
    manifest = {
        "schema": results.SCHEMA,
        "kind": "sweep",
        "id": sweep.identity,
        "name": sweep.identity.partition("-")[2],
        "command": "scripts/lab sweep configs/sweeps/users-and-databases.yaml",
        "started_at": "2026-01-02T03:04:05.000+00:00",
        "ended_at": "2026-01-02T04:04:05.000+00:00",
        "phases_seconds": {"Checking the sweep": 1.0},
        "workload_files": {"iou": "flow: Iou\n"},
        "environments": shapes,
        "sweep": {
            "file": "configs/sweeps/users-and-databases.yaml",
            "text": text,
            "name": "users-and-databases",
            "description": "How throughput grows with the users, on both databases.",
            "confidence": 0.95,
            "x": None if find_max else sweep.x,
            "vary": {name: list(values) for name, values in sweep.vary.items()},
            "repeats": 1 if find_max else sweep.repeats,
            "order": "listed" if find_max else sweep.order,
            "seed": 1,
            "warm_up": {"seconds_min": 10.0, "seconds_max": 60.0},
            "measure": {"seconds_min": 30.0, "seconds_max": sweep.seconds, "precision": 0.05},
            "thresholds": {"p99_ms": 1000} if find_max else {},
            "find_max": {
                "rate_min": 4,
                "rate_max": 200,
                "precision": 0.1,
                "outcomes": {"iou": {"reason": "16 was confirmed."}},
            }
            if find_max
            else None,
        },
        "grafana": None,
    }
    with results.new_run(sweep.identity, results=results_folder) as folder:
        pl.concat(frames).cast({"step": pl.Int32}).select(list(REQUEST_SCHEMA)).write_parquet(
            folder / "requests.parquet"
        )
        pl.DataFrame(samples, schema=SERIES_SCHEMA).write_parquet(folder / "metrics.parquet")
        (folder / "sweep.yaml").write_text(text, encoding="utf-8")
        results.write_json(folder / "steps.json", {"schema": results.SCHEMA, "steps": steps})
        results.write_json(folder / "run.json", manifest)
        report.render(folder)
    return results_folder / sweep.identity
