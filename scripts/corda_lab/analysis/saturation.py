"""What limited the system at a point: the resources that were saturated there, each with its evidence.

Fixed limits decide whether a resource is saturated. They apply to means over the measuring windows of the valid steps
of the point. If no resource is saturated, flows waited for something that the lab does not monitor, such as one
another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import polars as pl

from corda_lab.analysis.points import Point, mean_by_name
from corda_lab.results.manifest import Environment
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.rows import GENERATOR_CPU_PERCENT_MAX
from corda_lab.steps.validity import STOLEN_PERCENT_MAX
from corda_lab.text.words import amount, percent

BUSY_PERCENT_MIN = 90.0
"""Utilisation from which a CPU is saturated. The rest is idle time in which, by chance, no thread was ready to run."""

GC_PERCENT_MIN = 20.0
QUEUE_GROWTH_MIN = 10.0
PENDING_MIN = 1.0
PROCESSES_SHOWN = 3

QUEUE_SERIES, PENDING_SERIES = SERIES = ("artemis_queue_messages", "hikari_connections_pending")


class Resource(StrEnum):
    """A resource that can be saturated. Its value is its name in reports."""

    GENERATOR = "generator"
    HOST_CPU = "host CPU"
    NODE_CPU = "node CPU"
    GC = "GC"
    CONNECTIONS = "database connections"
    QUEUE = "queue"


@dataclass(frozen=True)
class Utilisation:
    """The utilisation of one resource, and its evidence: ``PartyA 1.80 of 2 cores``. ``value`` is None if not known."""

    resource: Resource
    value: float | None = None
    text: str = "–"
    is_saturated: bool = False


def mean(values: Sequence[float | None]) -> float | None:
    """Mean of the values that are known; None if there are none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def uses(run: StoredRun, point: Point, samples: pl.DataFrame) -> list[Utilisation]:
    """The utilisation of each resource in the valid steps of a point, or in all its steps if none is valid.

    ``samples`` has rows of ``metrics.parquet``, those of ``SERIES`` among them.
    """
    steps = point.valid or list(point.steps)
    environment = run.environment(steps[0])
    return [
        generator(steps),
        host_cpu(steps, environment),
        node_cpu(steps, environment),
        collections(steps),
        connections(_within_windows(samples, PENDING_SERIES, steps)),
        queue(_within_windows(samples, QUEUE_SERIES, steps)),
    ]


def generator(steps: Sequence[StepEntry]) -> Utilisation:
    """The CPU of the busiest process of the generator, in % of one core."""
    share = mean([step.generator.cpu_percent_max for step in steps])
    if share is None:
        return Utilisation(Resource.GENERATOR)
    text = f"{percent(share)} of its core"
    return Utilisation(Resource.GENERATOR, share, text, share > GENERATOR_CPU_PERCENT_MAX)


def host_cpu(steps: Sequence[StepEntry], environment: Environment) -> Utilisation:
    """The CPU of the machine in %, with the processes that used most of it, in cores."""
    busy = mean([step.value("host_busy_percent") for step in steps])
    if busy is None:
        return Utilisation(Resource.HOST_CPU)
    cores = mean_by_name([{**step.by_part("node_cpu_cores"), **step.by_part("lab_cpu_cores")} for step in steps])
    largest = sorted(cores, key=lambda name: -cores[name])[:PROCESSES_SHOWN]
    count, stolen = environment.host.cpu_count, mean([step.value("host_stolen_percent") for step in steps])
    parts = [
        percent(busy) + (f" of {count} cores" if count else ""),
        *(f"{name} {cores[name]:.2f}" for name in largest),
    ]
    if stolen is not None and stolen > STOLEN_PERCENT_MAX:
        parts.append(f"{percent(stolen)} CPU steal")
    return Utilisation(Resource.HOST_CPU, busy, ", ".join(parts), busy >= BUSY_PERCENT_MIN)


def node_cpu(steps: Sequence[StepEntry], environment: Environment) -> Utilisation:
    """The CPU of the busiest node, in % of the cores that it may use.

    If the nodes are bound to a CPU set, and all of them together use a larger share of it, that share counts instead.
    """
    cores = mean_by_name([step.by_part("node_cpu_cores") for step in steps])
    cpuset, count = environment.shape.get("NODE_CPUSET"), environment.host.cpu_count
    shared = float(cores_in(cpuset)) if cpuset else float(count or 0)
    limit = float(environment.shape.get("NODE_CORES") or 0)
    # A node may use its own limit, but not more than all nodes share.
    allowed = min(limit, shared) if limit and shared else limit or shared
    if not cores or not allowed:
        return Utilisation(Resource.NODE_CPU)
    node = max(cores, key=lambda name: cores[name])
    share, text = 100 * cores[node] / allowed, f"{node} {cores[node]:.2f} of {allowed:g} cores"
    total = sum(cores.values())
    if cpuset and 100 * total / shared > share:
        share, text = 100 * total / shared, f"all nodes {total:.2f} of {shared:g} cores ({cpuset})"
    return Utilisation(Resource.NODE_CPU, share, text, share >= BUSY_PERCENT_MIN)


def cores_in(cpuset: str) -> int:
    """The number of cores in a CPU set: ``0-3`` has 4, ``0,2`` has 2."""
    cores: set[int] = set()
    for part in cpuset.split(","):
        first, _, last = part.strip().partition("-")
        cores.update(range(int(first), int(last or first) + 1))
    return len(cores)


def collections(steps: Sequence[StepEntry]) -> Utilisation:
    """The garbage collection of the node that spent the most time in it, in %."""
    shares = mean_by_name([step.by_part("node_gc_share") for step in steps])
    if not shares:
        return Utilisation(Resource.GC)
    node = max(shares, key=lambda name: shares[name])
    share = 100 * shares[node]
    return Utilisation(Resource.GC, share, f"{node} {percent(share)} of the time", share >= GC_PERCENT_MIN)


def _within_windows(samples: pl.DataFrame, series: str, steps: Sequence[StepEntry]) -> pl.DataFrame:
    """The samples of a series in the measuring windows, with the times when their window ``began`` and ``ended``."""
    windows = pl.DataFrame(
        [(step.index, step.window.started_at, step.window.ended_at) for step in steps],
        {"step": pl.Int64, "began": pl.Float64, "ended": pl.Float64},
        orient="row",
    )
    return (
        samples.filter(pl.col("name") == series)
        .with_columns(pl.col("step").cast(pl.Int64))
        .join(windows, on="step")
        .filter(pl.col("time").is_between(pl.col("began"), pl.col("ended")))
    )


def connections(samples: pl.DataFrame) -> Utilisation:
    """The node with the most threads that waited for a database connection, as a mean number of threads."""
    waiting = (
        samples.group_by("step", "node", maintain_order=True)
        .agg(pl.col("value").mean())
        .group_by("node", maintain_order=True)
        .agg(pl.col("value").mean())
        .sort("value", "node", descending=[True, False])
    )
    if waiting.is_empty():
        return Utilisation(Resource.CONNECTIONS)
    node, threads = waiting.row(0)
    text = f"{node} {threads:.1f} waiting" if threads >= 0.05 else "none waiting"
    return Utilisation(Resource.CONNECTIONS, threads, text, threads >= PENDING_MIN)


def queue(samples: pl.DataFrame) -> Utilisation:
    """The inbound queue that grew most from the first to the last third of the measuring windows, in messages."""
    value, time, began, ended = (pl.col(name) for name in ("value", "time", "began", "ended"))
    third = (ended - began) / 3
    depths = (
        samples.filter(pl.col("labels").str.contains('"inbound"', literal=True))
        .group_by("step", "node", maintain_order=True)
        .agg(first=value.filter(time <= began + third).mean(), last=value.filter(time >= ended - third).mean())
        .drop_nulls()
        .group_by("node", maintain_order=True)
        .agg(pl.col("first", "last").mean())
        .sort(pl.col("last") - pl.col("first"), "node", descending=[True, False])
    )
    if depths.is_empty():
        return Utilisation(Resource.QUEUE)
    node, first, last = depths.row(0)
    is_growing = last - first >= max(QUEUE_GROWTH_MIN, first)
    text = f"{node} {amount(first)} → {amount(last)} messages" if last - first >= 0.5 else "no growth"
    return Utilisation(Resource.QUEUE, last - first, text, is_growing)
