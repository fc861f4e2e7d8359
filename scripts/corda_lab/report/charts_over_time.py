"""Charts over time: of a whole sweep, and of one of its steps."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from corda_lab.report.chart import DASHES, Chart, Look, Span
from corda_lab.report.charts_run import MIB, bin_seconds, histogram, mean_line, rates, span_of
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.rows import Window, ended_within, is_done

TIME_BIN_COUNT_MAX = 1500
"""Most bins of a chart of the whole run. More bins than a screen has pixels would not be visible."""

ROW_COLUMNS = ("step", "started_at", "ended_at", "latency_ms", "latency_intended_ms", "outcome")
COMPLETED = "flows completed"


@dataclass(frozen=True)
class Panel:
    """One panel of the chart of the whole run: a series of ``metrics.parquet`` by node, multiplied by ``scale``."""

    series: str
    title: str
    scale: float = 1.0
    queue: str | None = None
    """The only kind of queue that is drawn; None for series without queues."""


PANELS = (
    Panel("node_cpu_cores", "cores"),
    Panel("node_heap_used_bytes", "heap, MiB", scale=1 / MIB),
    Panel("node_gc_share", "GC, % of time", scale=100.0),
    Panel("artemis_queue_messages", "queue, messages", queue="inbound"),
)
"""The panels of the chart of the whole run below its throughput, from top to bottom."""


def origin_of(run: StoredRun) -> float:
    """The start of the time axis in unix seconds: when the load of the first step began."""
    return min(float(step.window.load_started_at) for step in run.steps)


def in_time(run: StoredRun) -> list[StepEntry]:
    return sorted(run.steps, key=lambda step: step.window.load_started_at)


def spans(run: StoredRun) -> list[Span]:
    origin = origin_of(run)
    return [span_of(step, origin) for step in in_time(run)]


def with_gaps(frame: pl.DataFrame) -> pl.DataFrame:
    """Points of lines, sorted by x, with a break after the last one of each step."""
    ends = frame.group_by("series", "step", maintain_order=True).agg(
        pl.col("x").last(), pl.lit(None, pl.Float64).alias("y")
    )
    # The sort is stable, so a break stays behind the point whose x it has.
    return pl.concat([frame, ends.select(frame.columns)]).sort("series", "x", maintain_order=True).drop("step")


def completed_over_run(rows: pl.DataFrame, run: StoredRun, width: int) -> pl.DataFrame:
    """Flows completed per second over all steps, in bins of ``width`` seconds."""
    origin = origin_of(run)
    ends = {part["step"][0]: part["ended_at"] for part in rows.filter(is_done()).partition_by("step")}
    none = pl.Series(dtype=pl.Float64)
    return pl.concat(
        rates(ends.get(step.index, none), COMPLETED, step, width).select(
            "series",
            pl.lit(step.index, pl.Int64).alias("step"),
            pl.col("x") + (step.window.load_started_at - origin),
            "y",
        )
        for step in in_time(run)
    )


def nodes_over_run(samples: pl.DataFrame, panel: Panel, run: StoredRun, width: float) -> pl.DataFrame:
    """One series per node of a metric over all steps: means of bins. Series that differ in other labels are summed."""
    marked = spans(run)
    at = pl.col("time") - origin_of(run)
    of_queue = pl.col("labels").str.contains(f'"{panel.queue}"', literal=True) if panel.queue else pl.lit(True)
    is_wanted = (pl.col("name") == panel.series) & pl.col("node").is_not_null() & of_queue
    return (
        samples.filter(is_wanted & at.is_between(marked[0].start, marked[-1].end + 5))
        .group_by("step", "node", "time", maintain_order=True)
        .agg(pl.col("value").sum())
        .group_by("step", "node", (at / width).floor().alias("bin"), maintain_order=True)
        .agg(pl.col("value").mean() * panel.scale)
        .select(
            pl.col("node").alias("series"),
            pl.col("step").cast(pl.Int64),
            ((pl.col("bin") + 0.5) * width).alias("x"),
            pl.col("value").alias("y"),
        )
        .sort("series", "x")
    )


def over_the_run(run: StoredRun, rows: pl.DataFrame, samples: pl.DataFrame) -> Chart:
    marked = spans(run)
    width, sampled = (bin_seconds(marked[-1].end, at_least=seconds, count_max=TIME_BIN_COUNT_MAX) for seconds in (2, 5))
    frames = [completed_over_run(rows, run, width)]
    frames += [nodes_over_run(samples, panel, run, sampled) for panel in PANELS]
    frame = pl.concat(with_gaps(part).with_columns(pl.lit(place).alias("panel")) for place, part in enumerate(frames))
    nodes = sorted(set(frame["series"]) - {COMPLETED})
    looks = {node: Look(f"node-{node.lower()}", dash=DASHES[place % len(DASHES)]) for place, node in enumerate(nodes)}
    return Chart(
        "over-time",
        "The whole run",
        "Throughput, and for each node CPU, heap in use, garbage collection and messages that wait in the broker. "
        "Grey: warm-up. Tinted: measuring window. Red with ✗: invalid step. Red with a name: a fault, followed by the "
        "time until throughput was back. The numbers at the top are the steps.",
        "",
        frame,
        {COMPLETED: Look("main"), **looks},
        x_title="seconds since the load of the first step began",
        width="wide",
        spans=marked,
        panels=("flows/s", *(panel.title for panel in PANELS)),
    )


def step_charts(step: StepEntry, rows: pl.DataFrame) -> Sequence[Chart]:
    width = bin_seconds(step.window.load_ended_at - step.window.load_started_at)
    done = rows.filter(is_done())
    flows = rates(done["ended_at"], "completed", step, width)
    measured = ended_within(done, Window(step.window.started_at, step.window.ended_at))
    latency = measured[step.judged_latency_column].drop_nulls().sort()
    over_time = Chart(
        f"step-{step.index}-throughput",
        f"Throughput over time of step {step.index}",
        "",
        "flows/s",
        flows,
        {"completed": Look("main", "area")},
        lines=mean_line(step),
        spans=[span_of(step, step.window.load_started_at)],
    )
    title = f"Latency distribution of step {step.index}"
    return [over_time, histogram(latency, f"step-{step.index}-latency", title, "", "requests")]
