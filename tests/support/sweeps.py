"""Simulated sweeps: folders as ``lab sweep`` writes them, with rows and samples of a system of known values.

Only the load is simulated. Planning, searching, judging and storing use the real code. The rows are made with polars,
so that a million of them take seconds. The simulated system completes ``capacity × users ÷ (users + 3)`` flows per
second: it saturates as real systems do.
"""

import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from corda_lab.clients.prometheus import METRICS_SCHEMA
from corda_lab.paths import WORKLOADS
from corda_lab.results import folders, store
from corda_lab.results.manifest import Environment
from corda_lab.results.store import Measured
from corda_lab.results.sweep import QUICK_REPEATS_MIN, SearchOutcome, SweepFields
from corda_lab.steps import build as step_build
from corda_lab.steps import costs, resolutions, rows
from corda_lab.steps.counts import judged
from corda_lab.steps.entry import (
    ConditioningEntry,
    CountsEntry,
    FlowCount,
    FlowStages,
    StageLine,
    StagesEntry,
    StepEntry,
    ValidityEntry,
    Values,
    VaultCount,
    of_whole,
)
from corda_lab.steps.reasons import reason
from corda_lab.sweeps.file import SweepFile, read_sweep
from corda_lab.sweeps.plan import PlannedStep, points_of, steps_of
from corda_lab.sweeps.run import placed
from corda_lab.sweeps.search import failings, find_max
from lab_workload.load import ALL_FAILED, SAME_FAILURE_SECONDS_MIN, Load
from lab_workload.run_end import RunEnd
from support import simulation
from support.runs import ENVIRONMENT, IOU, copy_of, part, plan_of, write_run

IDENTITY = "20260102T030405Z-users-and-databases"
GAP_SECONDS = 12.0
"""The time between two steps, for set-up and counting."""
ENDED_SECONDS = SAME_FAILURE_SECONDS_MIN + 1
"""How long the load of a step lasts of which every request fails."""
INVALID = str(reason("generator_failed"))
"""Why the steps that a test declares invalid are, as text."""

STAGE_SHARES = {"wait": 0.3, "build": 0.03, "verify": 0.05, "sign": 0.05, "collect_signatures": 0.3, "notarise": 0.1}


@dataclass(frozen=True)
class SimulatedSweep:
    """A sweep to simulate. ``vary`` is that of the plan; ``invalid`` has the indices of invalid steps."""

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
    invalid: Collection[int] = ()
    conditioned: Mapping[int, bool] = field(default_factory=dict)
    """Whether the nodes were steady after their conditioning, by the index of the step that follows it."""
    quick: bool = False
    """Whether it is the short form of a sweep."""
    measured_again: Sequence[int] = ()
    """Indices of steps that were rerun because of the host."""
    collapsed: Sequence[int] = ()
    """Indices of steps in which every request fails."""
    ended: Sequence[int] = ()
    """Indices of steps that were ended because every request failed."""
    load: Mapping[str, Any] = field(default_factory=dict)
    thresholds: Mapping[str, Any] = field(default_factory=dict)
    states_by: str | None = None
    """The varied parameter that is the number of states per flow."""
    errors_every: int = 0
    with_stages: bool = True
    busy_percent: float = 97.0
    stolen_percent: float = 0.0
    speed: float = 1.0
    identity: str = IDENTITY
    environment: Mapping[str, Any] = field(default_factory=dict)


LARGEST = SimulatedSweep(
    vary={"load.users": [1, 2, 4, 8, 16], "shape.database": ["h2", "postgres"]},
    repeats=5,
    seconds=300,
    rows_per_step=20_000,
)
"""Fifty steps with a million rows: the largest report for which time, memory and size are guaranteed."""


def uniform(count: int, seed: int) -> pl.Series:
    """``count`` pseudo-random numbers in (0, 1), the same for the same seed."""
    hashed = pl.int_range(count, eager=True).hash(seed=seed)
    return (hashed.cast(pl.Float64) / 2.0**64).clip(1e-9, 1 - 1e-9)


def normal(count: int, seed: int) -> pl.Series:
    """``count`` standard normal numbers (Box and Muller 1958)."""
    radius = (-2 * uniform(count, seed).log()).sqrt()
    return radius * (2 * math.pi * uniform(count, seed + 7919)).cos()


@cache
def noise(seed: int) -> float:
    """One standard normal number."""
    return float(normal(8, seed)[3])


def request_rows(
    index: int, origin: float, seconds: float, rate: float, latency_ms: float, *, errors_every: int, is_open: bool
) -> pl.DataFrame:
    """The rows of one step: evenly spread ends, lognormal latencies, and a warm-up that begins at half the rate."""
    count = max(1, round(rate * seconds))
    share = (pl.int_range(count, eager=True).cast(pl.Float64) + uniform(count, index)) / count
    # The integral of a rate that rises from a half to one over about the first tenth.
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
        pl.when("failed").then(pl.lit("failed")).otherwise(pl.lit("ok")).alias("outcome"),
        pl.when("failed").then(502).otherwise(200).cast(pl.Int64).alias("status"),
        pl.when("failed").then(pl.lit("flow-failed: the responder refused to sign")).alias("error"),
        pl.format("flow-{}-{}", pl.lit(index), "tag").alias("flow_id"),
        pl.format("tx-{}-{}", pl.lit(index), "tag").alias("tx_id"),
        pl.format("client-{}-{}", pl.lit(index), "tag").alias("client_id"),
        pl.lit(3.0).alias("bridge_rpc_ms"),
        ((pl.col("ended_at") - pl.col("started_at")) * 1000 - 2).alias("bridge_flow_ms"),
        *(pl.lit(None, kind).alias(name) for name, kind in resolutions.COLUMNS.items()),
    )


def series(index: int, origin: float, seconds: float, load: float, *, queue_growth: float) -> Iterator[dict[str, Any]]:
    """Samples every five seconds during one step. ``load`` is the utilisation of the system, from 0 to 1."""
    scale = {"Notary": 0.25, "PartyA": 1.0, "PartyB": 0.6, "PartyC": 0.02}
    at, number = origin - 10, index * 1000
    cpu_seconds: defaultdict[str, float] = defaultdict(float)
    while at <= origin + seconds + 5:
        number += 1
        is_loaded = origin <= at <= origin + seconds
        wobble = 1 + 0.08 * noise(number)

        def sample(name: str, node: str | None, value: float, at: float = at, **labels: str) -> dict[str, Any]:
            text = json.dumps(labels, sort_keys=True)
            return {"name": name, "node": node, "labels": text, "time": at, "value": value}

        for node, share in scale.items():
            used = share * load if is_loaded else 0.01
            cpu_seconds[node] += 5 * used * wobble
            yield sample("node_cpu_cores", node, used * wobble)
            yield sample("node_cpu_seconds_total", node, cpu_seconds[node])
            yield sample("node_heap_used_bytes", node, (250 + 300 * used + 120 * math.sin(at / 6 + share)) * 1024**2)
            yield sample("node_gc_share", node, 0.06 * used * wobble)
            yield sample("hikari_connections_pending", node, 0.0)
            grown = queue_growth * (at - origin) / seconds if is_loaded and node == "PartyB" else 0.0
            yield sample("artemis_queue_messages", node, max(0.0, grown + 3 * used), broker="P2P", queue="inbound")
        for job, cores in (("bridge", 0.11), ("locust", 0.05), ("prometheus", 0.02)):
            used = cores * (load if is_loaded else 0.3)
            cpu_seconds[job] += 5 * used
            yield sample("lab_cpu_cores", None, used, job=job)
            yield sample("lab_cpu_seconds_total", None, cpu_seconds[job], job=job)
        at += 5


def stage_entry(latency_ms: float, count: int) -> StagesEntry:
    """The entry ``stages`` of a step. The time of each stage grows with the latency."""
    inside = max(latency_ms - 3, 1.0)
    shares = {**STAGE_SHARES, "finalise": 0.15, "other": 0.02}
    spread = rows.distribution(pl.Series([1.5] * max(count, 1)))
    lines = [
        StageLine(
            stage=name,
            mean_ms=share * inside,
            p50_ms=share * inside,
            p95_ms=2 * share * inside,
            share_percent=100 * share,
        )
        for name, share in shares.items()
    ]
    table = FlowStages(
        part="Iou",
        flow=IOU,
        requests=count,
        rows=count,
        stages=lines,
        start_ms=spread,
        end_ms=spread,
        start_share_percent=1.0,
        end_share_percent=1.0,
        sum_ms_mean=latency_ms,
        request_ms_mean=latency_ms,
        bridge_flow_ms_mean=latency_ms - 2,
        difference_percent=0.0,
    )
    return NO_STAGES.model_copy(update={"reason": None, "flows": [table]})


NO_STAGES = StagesEntry(
    reason="The nodes keep no spans.",
    spans_dropped={},
    flows=[],
    responders=[],
    consensus_latency_ms=rows.distribution(pl.Series([], dtype=pl.Float64)),
    consensus_left_out=0,
)


def agreeing(succeeded: int) -> CountsEntry:
    """The four counts of a load without lost flows."""
    vaults = [
        VaultCount(state=simulation.IOU_STATE, node=node, counted=succeeded, expected=succeeded)
        for node in ("PartyA", "PartyB")
    ]
    flow = FlowCount(flow=IOU, generator=succeeded, bridge=succeeded, node=succeeded)
    return judged(CountsEntry(flows=[flow], vault_states=vaults, rest_seconds=4.2))


def states_of(sweep: SimulatedSweep, planned: PlannedStep) -> int | None:
    """The number of states per flow; None if the sweep does not define it."""
    name = sweep.states_by
    return int(str(planned.point[name])) if name else None


def build(sweep: SimulatedSweep, fields: SweepFields, planned: PlannedStep, origin: float) -> Measured:
    """One measured step, built and judged by the code of ``lab sweep`` from simulated rows and samples."""
    index, options = planned.index, planned.load
    rate, users = options.rate, options.users
    factor = math.prod(sweep.factors.get(value, 1.0) for value in planned.point.values() if not isinstance(value, list))
    capacity = 24.0 * factor * sweep.speed
    achieved = capacity * users / (users + 3) if rate is None else min(rate, capacity)
    achieved *= math.exp(sweep.noise * noise(index * 31 + 5)) if rate is None else 1.0
    total = ENDED_SECONDS if index in sweep.ended else options.warm_up_seconds + options.duration_seconds
    is_over = rate is not None and rate > capacity
    latency_ms = 60 / max(0.04, 1 - achieved / capacity)
    if rate is None or is_over:
        # The pool is full, and more arrivals are waiting.
        latency_ms = (1.3 if is_over else 1.0) * 1000 * users / achieved
    if sweep.rows_per_step:
        achieved = sweep.rows_per_step / total
    errors_every = 1 if index in (*sweep.collapsed, *sweep.ended) else sweep.errors_every
    frame = request_rows(
        index, origin, total, achieved, latency_ms, errors_every=errors_every, is_open=rate is not None
    )
    load = min(1.0, achieved / capacity)
    samples = series(index, origin, total, load, queue_growth=60.0 if is_over else 0.0)
    metrics = pl.DataFrame(list(samples), schema=METRICS_SCHEMA)
    end = end_file(options, frame, origin, is_over=is_over)
    if index in sweep.ended:
        end = replace(end, stop_at=origin + total, ended_at=origin + total + 0.1, exit_reason=ALL_FAILED)
    succeeded = frame.filter(pl.col("outcome") == "ok").height
    stages = stage_entry(latency_ms, succeeded) if sweep.with_stages else NO_STAGES
    nothing = costs.Reading({}, {})
    seen = step_build.Observed(
        requests=frame,
        drops=drops_of(end, origin, total),
        metrics=metrics,
        end=end,
        counted=agreeing(succeeded),
        warm_up=None,
        machine_use=lambda _: {},
        calibration=None,
        readings=(nothing, nothing),
    )
    entry = step_build.build_step(plan_of(options, part("Iou", states_per_flow=states_of(sweep, planned))), seen)
    use = of_whole(host_busy_percent=sweep.busy_percent * (0.4 + 0.6 * load), host_stolen_percent=sweep.stolen_percent)
    entry = entry.updated(
        values=entry.values | cost_entry(index) | use,
        stages=stages,
        measured_again=[reason("cpu_steal", percent=40.0)] if index in sweep.measured_again else [],
        workload=planned.workload,
    )
    if index in sweep.invalid:
        entry = entry.updated(validity=NOT_VALID)
    entry = placed(entry, planned, failings(entry, fields))
    shape = {**ENVIRONMENT.shape, **sweep.environment.get("shape", {}), **planned.variables}
    environment = Environment.model_validate({**ENVIRONMENT.model_dump(), **sweep.environment, "shape": shape})
    return Measured(entry, frame, metrics, None, environment, planned.workload, text_of(planned.workload), seen.drops)


def text_of(name: str) -> str:
    """The text of a workload's file."""
    return (WORKLOADS / f"{name}.yaml").read_text(encoding="utf-8")


def conditioning_before(entry: StepEntry, *, steady: bool) -> ConditioningEntry:
    """A load that conditioned the nodes before a step."""
    return ConditioningEntry(
        workload=entry.workload,
        load=entry.load,
        seconds_min=45,
        seconds_max=150,
        seconds=40.0 + entry.index,
        flows=135,
        steady=steady,
    )


def drops_of(end: RunEnd, origin: float, seconds: float) -> pl.Series:
    """The intended starts of the dropped arrivals, evenly spaced over the load."""
    count = end.dropped or 0
    return pl.Series([origin + seconds * (number + 0.5) / count for number in range(count)], dtype=pl.Float64)


def end_file(options: Load, frame: pl.DataFrame, origin: float, *, is_over: bool) -> RunEnd:
    """The summary of the generator. With ``is_over``, more was offered than the lab could handle."""
    rate, total = options.rate, options.warm_up_seconds + options.duration_seconds
    last = float(frame["ended_at"].sort()[-1])
    return RunEnd(
        started_at=origin,
        spawned_at=origin + min(2.0, options.warm_up_seconds / 2),
        stop_at=origin + total,
        ended_at=max(last + 0.1, origin + total),
        rate=rate,
        offered=None if rate is None else round(rate * total),
        late=None if rate is None else 0,
        dropped=None if rate is None else max(0, round(rate * total) - frame.height) if is_over else 0,
        setup=[],
        lag_p99_ms=1.0,
        pool_free_min=None,
        workers=[],
        cpu_percent_max=12.0,
        exit_reason="completed",
        model="closed" if options.rate is None else "constant",
        users=options.users,
        requests=frame.height,
        outcomes={"ok": frame.height, "expected": 0, "failed": 0, "unknown": 0},
        rows={"0": frame.height},
    )


NOT_VALID = ValidityEntry(valid=False, reasons=[reason("generator_failed")], machine=[])
"""The validity of a step that a test declares invalid."""


def cost_entry(seed: int) -> Values:
    """Plausible costs of one flow, without those per state."""
    wobble = 1 + 0.03 * noise(seed + 77)
    return {
        "cpu_seconds_per_flow": {
            "Notary": 0.004 * wobble,
            "PartyA": 0.041 * wobble,
            "PartyB": 0.03 * wobble,
            "bridge": 0.003,
            "locust": 0.002,
        },
        "allocated_bytes_per_flow": {"PartyA": 9.1e6 * wobble, "PartyB": 6.4e6 * wobble},
        "sent_bytes_per_flow": {"PartyA": 21_000 * wobble, "PartyB": 12_000 * wobble},
        "database_bytes_per_flow": {"PartyA": 7_300 * wobble, "PartyB": 7_100 * wobble},
        "database_bytes_per_state": {},
    }


def sweep_file(sweep: SimulatedSweep, folder: Path, find_max: Mapping[str, Any] | None) -> SweepFile:
    """The sweep file from which ``lab sweep`` would have made this sweep."""
    fields: dict[str, Any] = {
        "description": "How throughput grows with the users, on both databases.",
        "load": {"arrivals": "poisson", "users": 60, **sweep.load} if find_max else dict(sweep.load),
        "vary": {name: list(values) for name, values in sweep.vary.items()},
        "repeats": 1 if find_max else sweep.repeats,
        "warm_up": {"min": f"{sweep.warm_up_seconds:g}s", "max": f"{sweep.warm_up_seconds:g}s"},
        "measure": f"{sweep.seconds:g}s",
        "thresholds": dict(sweep.thresholds),
    }
    if "workload" not in sweep.vary:
        fields["workload"] = "iou"
    if sweep.quick:
        fields["quick"] = {"repeats": max(sweep.repeats, QUICK_REPEATS_MIN)}
    if find_max:
        fields["find_max"] = dict(find_max)
    elif sweep.x:
        fields["x"] = sweep.x
    path = folder / f"{folders.name_of(sweep.identity)}.yaml"
    path.write_text(yaml.safe_dump(fields, sort_keys=False), encoding="utf-8")
    return read_sweep(path)


@dataclass
class Simulator:
    """Replaces the runner of a sweep: it simulates its steps, one after the other."""

    sweep: SimulatedSweep
    file: SweepFile
    origin: float = simulation.ORIGIN
    measured: list[Measured] = field(default_factory=list)

    def step(self, planned: PlannedStep, _heading: str = "") -> Measured:
        """Simulate a step that starts after the last one."""
        found = build(self.sweep, self.file.fields, planned, self.origin)
        if planned.index in self.sweep.conditioned:
            steady = self.sweep.conditioned[planned.index]
            found = found.after(conditioning_before(found.step, steady=steady))
        self.measured.append(found)
        self.origin = found.step.window.load_ended_at + GAP_SECONDS
        return found

    def answer(self, planned: PlannedStep) -> bool:
        """Simulate a step, and return whether its rate was sustained."""
        return self.step(planned).step.thresholds.passed


FIND_MAX: dict[str, Any] = {
    "rate_min": 4,
    "rate_max": 200,
    "precision": "10%",
    "p99_max": "2s",
    "confirm": "60s",
}


def run_all(simulator: Simulator) -> dict[str, SearchOutcome]:
    """Run all steps of a sweep. The outcomes of a search, by label, come from the real search of ``lab sweep``."""
    file = simulator.file
    for step in steps_of(file):
        simulator.step(step)
    points = enumerate(points_of(file) if file.fields.find_max else ())
    return {point.label: find_max(file, point, number, simulator.answer) for number, point in points}


def store_sweep(
    results_folder: Path, sweep: SimulatedSweep | None = None, *, find_max: bool | Mapping[str, Any] = False
) -> Path:
    """Store a simulated sweep as ``lab sweep`` does, and return its folder.

    ``find_max`` makes it a search; it may have fields of the search that differ from ``FIND_MAX``.
    """
    sweep = sweep or SimulatedSweep()
    search = {**FIND_MAX, **(find_max if isinstance(find_max, Mapping) else {})} if find_max else None

    def make(folder: Path) -> Path:
        file = sweep_file(sweep, folder, search)
        return store_file(folder / "results", sweep, replace(file, is_quick=sweep.quick))

    return copy_of(repr((sweep, search)), sweep.identity, make, results=results_folder)


def store_file(
    results_folder: Path, sweep: SimulatedSweep, file: SweepFile, *, origin: float = simulation.ORIGIN
) -> Path:
    """Store a simulated run of a sweep file, and return its folder. Of ``sweep``, identity and system count.

    ``origin`` is the start of its first step, in unix seconds.
    """
    simulator = Simulator(sweep, file, origin)
    outcomes = run_all(simulator)
    command = f"scripts/lab sweep configs/sweeps/{file.name}.yaml"
    manifest = store.manifest(sweep.identity, sweep=file.entry(outcomes), command=command)
    manifest = manifest.model_copy(update={"phases_seconds": {"Checking the sweep": 1.0}})
    return write_run(manifest, simulator.measured, {"sweep.yaml": file.text}, results=results_folder)
