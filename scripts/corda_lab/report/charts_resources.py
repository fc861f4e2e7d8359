"""The charts of what a run used: CPU, memory, queues, and what the lab itself cost."""

import math

import polars as pl

from corda_lab.report.chart import MIB, Chart, Trace, rounded
from corda_lab.steps.costs import DATABASE
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.rows import Window
from corda_lab.steps.usage import PARTS, cpu_rates

SECONDS_DRAWN_MAX = 400
"""The most points of a trace of samples. In a longer load, each covers several seconds."""
LONGEST = 86_400.0
"""Seconds; more than any load lasts."""

LAB_PARTS = tuple(part for part in PARTS if part != DATABASE)
"""What is watched, but not under test."""


def by_node(
    metrics: pl.DataFrame, name: str, origin: float, *, scale: float = 1.0, dash: str = "solid", suffix: str = ""
) -> list[Trace]:
    """One trace per node of a metric, multiplied by ``scale``. Series that differ in other labels are summed."""
    samples = (
        metrics.filter((pl.col("name") == name) & pl.col("node").is_not_null())
        .group_by("node", "time")
        .agg(pl.col("value").sum())
        .sort("node", "time")
    )
    return [
        Trace(
            f"{part['node'][0]}{suffix}",
            f"node-{part['node'][0].lower()}",
            [round(at, 2) for at in part["time"] - origin],
            rounded(part["value"] * scale, 4),
            dash=dash,
        )
        for part in samples.partition_by("node", maintain_order=True)
    ]


def queues(metrics: pl.DataFrame, origin: float) -> Chart:
    name = "artemis_queue_messages"
    kinds = {"inbound": ("solid", " in"), "peer": ("dot", " out")}
    labels = metrics.filter(pl.col("name") == name).with_columns(
        pl.col("labels").str.json_path_match("$.queue").alias("queue")
    )
    traces = [
        trace
        for kind, (dash, suffix) in kinds.items()
        for trace in by_node(labels.filter(pl.col("queue") == kind), name, origin, dash=dash, suffix=suffix)
    ]
    return Chart(
        "queues",
        "Artemis queue depth",
        "Messages that wait in the broker of each node (in: for the node itself, out: for its peers). Values near zero "
        "are good. Rising values show a node that does not keep up.",
        "messages",
        traces,
    )


def each_second(samples: pl.DataFrame, column: str, step: StepEntry, *, scale: float) -> list[Trace]:
    """One trace per node, and of PostgreSQL, of a column with ``container`` and ``time``.

    Of long loads, it has means over bins.
    """
    origin = step.window.load_started_at
    width = max(1, math.ceil((step.window.load_ended_at - origin) / SECONDS_DRAWN_MAX))
    tested = samples.filter(~pl.col("container").is_in(LAB_PARTS) & pl.col("time").is_between(origin, origin + LONGEST))
    bins = (
        tested.with_columns((((pl.col("time") - origin) / width).floor() * width).alias("bin"))
        .group_by("container", "bin")
        .agg(pl.col(column).mean().alias("value"))
        .drop_nulls()
        .sort("container", "bin")
    )
    return [
        Trace(
            str(part["container"][0]),
            f"node-{part['container'][0].lower()}",
            part["bin"].to_list(),
            rounded(part["value"] * scale, 4),
        )
        for part in bins.partition_by("container", maintain_order=True)
    ]


def cpu(metrics: pl.DataFrame, samples: pl.DataFrame, step: StepEntry) -> Chart:
    """The CPU of every node: each second, or without samples as rates over 20 s."""
    origin = step.window.load_started_at
    rates = cpu_rates(samples, Window(origin - 1, origin + LONGEST))
    traces = each_second(rates, "percent", step, scale=1 / 100) or by_node(metrics, "node_cpu_cores", origin)
    return Chart(
        "cpu",
        "CPU",
        "Cores that each node uses. If they add up to all cores of the machine, the CPU is the limit.",
        "cores",
        traces,
    )


def memory(metrics: pl.DataFrame, samples: pl.DataFrame, step: StepEntry) -> list[Chart]:
    """The memory of every node: each second, or without samples every 5 s. Empty if neither was stored."""
    origin = step.window.load_started_at
    traces = each_second(samples, "memory_bytes", step, scale=1 / MIB)
    traces = traces or by_node(metrics, "node_resident_bytes", origin, scale=1 / MIB)
    caption = (
        "Memory that the processes of each node have allocated: the heap, and what the JVM needs besides. It rises "
        "until the heap has its largest size, and a JVM hardly ever gives it back."
    )
    return [Chart("memory", "Memory", caption, "MiB", traces)] if traces else []


def lab_cost(metrics: pl.DataFrame, origin: float) -> Chart:
    by_job = metrics.with_columns(pl.col("labels").str.json_path_match("$.job").alias("node"))
    traces = by_node(by_job, "lab_cpu_cores", origin)
    return Chart(
        "lab-cost",
        "The lab's own cost",
        "CPU cores that bridge, generator and monitoring use. If they share a machine with the nodes, the nodes cannot "
        "use these cores.",
        "cores",
        traces,
    )
