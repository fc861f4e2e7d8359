"""What limited the system at a point: the resources that were saturated there, each with its evidence.

Fixed limits decide whether a resource is saturated. They apply to means over the measuring windows of the valid steps
of the point. If no resource is saturated, flows waited for something that the lab does not monitor, such as one
another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import polars as pl

from corda_lab.analysis.points import Point
from corda_lab.results.manifest import Environment
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.rows import GENERATOR_CPU_PERCENT_MAX
from corda_lab.steps.validity import STOLEN_PERCENT_MAX
from corda_lab.text.words import amount, listed, percent

BUSY_PERCENT_MIN = 90.0
"""Utilisation from which a CPU is saturated. The rest is idle time in which, by chance, no thread was ready to run."""

GC_PERCENT_MIN = 20.0
QUEUE_GROWTH_MIN = 10.0
PENDING_MIN = 1.0

SERIES = ("artemis_queue_messages", "hikari_connections_pending")


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
    """The utilisation of one resource. ``value`` is None if it is not known; ``text`` names the node, if any."""

    resource: Resource
    value: float | None
    text: str
    is_saturated: bool
    evidence: str


def mean(values: Sequence[float | None]) -> float | None:
    """Mean of the values that are known; None if there are none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def by_node(dictionaries: Sequence[dict[str, float]]) -> dict[str, float]:
    """Mean over steps for each node. Steps that do not have a node are left out of its mean."""
    names = dict.fromkeys(name for one in dictionaries for name in one)
    return {name: mean([one.get(name) for one in dictionaries]) or 0.0 for name in names}


def cores_in(cpuset: str) -> int:
    """The number of cores in a CPU set: ``0-3`` has 4, ``0,2`` has 2."""
    cores: set[int] = set()
    for part in cpuset.split(","):
        first, _, last = part.strip().partition("-")
        cores.update(range(int(first), int(last or first) + 1))
    return len(cores)


def cores_of_nodes(environment: Environment) -> float | None:
    """The number of cores that all nodes share: those that they are bound to, or all cores of the machine."""
    cpuset, count = environment.shape.get("NODE_CPUSET"), environment.host.cpu_count
    return float(cores_in(cpuset)) if cpuset else float(count) if count else None


def cores_of_node(environment: Environment) -> float | None:
    """The number of cores that one node may use: its own limit, but not more than all nodes share."""
    limit, shared = float(environment.shape.get("NODE_CORES") or 0), cores_of_nodes(environment)
    return min(limit, shared) if limit and shared else limit or shared


def node_cpu(point: Point, steps: Sequence[StepEntry], environment: Environment) -> Utilisation:
    """The CPU of the busiest node, in % of the cores that it may use.

    If the nodes are bound to a CPU set, and all of them together use a larger share of it, that share counts instead.
    """
    cores = by_node([step.resources.node_cpu_cores for step in steps])
    allowed = cores_of_node(environment)
    if not cores or not allowed:
        return Utilisation(Resource.NODE_CPU, None, "–", False, "")
    node = max(cores, key=lambda name: cores[name])
    share = 100 * cores[node] / allowed
    evidence = f"{node} used {cores[node]:.2f} of the {allowed:g} cores that a node may use"
    cpuset, shared = environment.shape.get("NODE_CPUSET"), cores_of_nodes(environment)
    total = sum(cores.values())
    if cpuset and shared and 100 * total / shared > share:
        share = 100 * total / shared
        evidence = f"all nodes together used {total:.2f} of the {shared:g} cores that they are bound to ({cpuset})"
        return Utilisation(
            Resource.NODE_CPU, share, f"all nodes {total:.2f} cores", share >= BUSY_PERCENT_MIN, evidence
        )
    return Utilisation(Resource.NODE_CPU, share, f"{node} {cores[node]:.2f} cores", share >= BUSY_PERCENT_MIN, evidence)


def machine(steps: Sequence[StepEntry], environment: Environment) -> Utilisation:
    """The CPU of the machine in %, with the three processes that used most of it."""
    busy = mean([step.resources.host_busy_percent for step in steps])
    if busy is None:
        return Utilisation(Resource.HOST_CPU, None, "–", False, "")
    cores = by_node([{**step.resources.node_cpu_cores, **step.resources.lab_cpu_cores} for step in steps])
    first = sorted(cores, key=lambda name: -cores[name])[:3]
    count = environment.host.cpu_count
    users = listed([f"{name} {cores[name]:.2f}" for name in first])
    of = f" of {count} cores" if count else " cores"
    evidence = f"the machine was {percent(busy)} busy" + (f" ({users}{of})" if first else "")
    stolen = mean([step.resources.host_stolen_percent for step in steps])
    if stolen is not None and stolen > STOLEN_PERCENT_MAX:
        evidence += f" with {percent(stolen)} CPU steal"
    return Utilisation(Resource.HOST_CPU, busy, percent(busy), busy >= BUSY_PERCENT_MIN, evidence)


def collecting(steps: Sequence[StepEntry]) -> Utilisation:
    """The garbage collection of the node that spent the most time in it, in %."""
    shares = by_node([step.resources.node_gc_share for step in steps])
    if not shares:
        return Utilisation(Resource.GC, None, "–", False, "")
    node = max(shares, key=lambda name: shares[name])
    share = 100 * shares[node]
    evidence = f"{node} spent {percent(share)} of the time in garbage collection"
    return Utilisation(Resource.GC, share, f"{node} {percent(share)}", share >= GC_PERCENT_MIN, evidence)


def generator(steps: Sequence[StepEntry]) -> Utilisation:
    """The CPU of the busiest process of the generator, in % of one core."""
    share = mean([step.generator.cpu_percent_max for step in steps])
    if share is None:
        return Utilisation(Resource.GENERATOR, None, "–", False, "")
    evidence = f"the generator used {percent(share)} of its core"
    return Utilisation(Resource.GENERATOR, share, percent(share), share > GENERATOR_CPU_PERCENT_MAX, evidence)


def queue(steps: Sequence[StepEntry], samples: pl.DataFrame) -> Utilisation:
    """The inbound queue that grew most from the first to the last third of the measuring windows, in messages."""
    depths: dict[str, list[tuple[float, float]]] = {}
    inbound = samples.filter((pl.col("name") == SERIES[0]) & (pl.col("labels").str.contains('"inbound"', literal=True)))
    for step in steps:
        window = step.window
        third = (window.ended_at - window.started_at) / 3
        own = (
            inbound.filter(
                (pl.col("step") == step.index) & pl.col("time").is_between(window.started_at, window.ended_at)
            )
            .group_by("node", maintain_order=True)
            .agg(
                pl.col("value").filter(pl.col("time") <= window.started_at + third).mean().alias("first"),
                pl.col("value").filter(pl.col("time") >= window.ended_at - third).mean().alias("last"),
            )
            .drop_nulls()
        )
        for node, first, last in own.iter_rows():
            depths.setdefault(node, []).append((first, last))
    grown = {
        node: (sum(a for a, _ in pairs) / len(pairs), sum(b for _, b in pairs) / len(pairs))
        for node, pairs in depths.items()
    }
    if not grown:
        return Utilisation(Resource.QUEUE, None, "–", False, "")
    node = max(grown, key=lambda name: grown[name][1] - grown[name][0])
    first, last = grown[node]
    is_growing = last - first >= max(QUEUE_GROWTH_MIN, first)
    evidence = f"the inbound queue of {node} grew from {amount(first)} to {amount(last)} messages"
    text = f"{node} {last - first:+.0f}" if last - first >= 0.5 else "no growth"
    return Utilisation(Resource.QUEUE, last - first, text, is_growing, evidence)


def connections(steps: Sequence[StepEntry], samples: pl.DataFrame) -> Utilisation:
    """The node with the most threads that waited for a database connection, as a mean number of threads."""
    means: dict[str, list[float]] = {}
    pending = samples.filter(pl.col("name") == SERIES[1])
    for step in steps:
        window = step.window
        own = pending.filter(
            (pl.col("step") == step.index) & pl.col("time").is_between(window.started_at, window.ended_at)
        )
        for node, value in own.group_by("node", maintain_order=True).agg(pl.col("value").mean()).iter_rows():
            means.setdefault(node, []).append(value)
    waiting = {node: sum(values) / len(values) for node, values in means.items()}
    if not waiting:
        return Utilisation(Resource.CONNECTIONS, None, "–", False, "")
    node = max(waiting, key=lambda name: waiting[name])
    evidence = f"on average {waiting[node]:.1f} threads of {node} waited for a database connection"
    text = f"{node} {waiting[node]:.1f} waiting" if waiting[node] >= 0.05 else "none waiting"
    return Utilisation(Resource.CONNECTIONS, waiting[node], text, waiting[node] >= PENDING_MIN, evidence)


def uses(run: StoredRun, point: Point, samples: pl.DataFrame) -> list[Utilisation]:
    """The utilisation of each resource in the valid steps of a point, or in all its steps if none is valid."""
    steps = point.valid or list(point.steps)
    environment = run.environment(steps[0])
    return [
        generator(steps),
        machine(steps, environment),
        node_cpu(point, steps, environment),
        collecting(steps),
        connections(steps, samples),
        queue(steps, samples),
    ]
