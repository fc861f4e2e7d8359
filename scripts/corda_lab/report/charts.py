"""Charts over time, and of latencies, from stored rows and samples. Times are seconds since the load began."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import polars as pl

from corda_lab.analysis.conclusions import Analysis
from corda_lab.faults.model import FaultEntry
from corda_lab.report.chart import LOAD_SECONDS, Chart, Line, Look, Shade
from corda_lab.steps import stages
from corda_lab.steps.costs import DATABASE
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.open_load import in_flight_levels, with_lag
from corda_lab.steps.rows import QUANTILES, Window, counted, is_done, nearest_rank, timed_within
from corda_lab.steps.usage import PARTS, cpu_rates

BIN_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600)
BIN_COUNT_MAX = 40
HISTOGRAM_BIN_COUNT = 40
LATENCY_BIN_SECONDS_MIN = 5
DOT_COUNT_MAX = 4000
POINT_COUNT_MAX = 400
"""The most points of a line of samples or levels. In a longer load, each covers several seconds."""
MIB = 1024**2
PERCENTILES = {"p50": Look("main"), "p95": Look("second", dash="dash"), "p99": Look("third", dash="dot")}
NODE = pl.col("node")
LAB_PARTS = tuple(part for part in PARTS if part != DATABASE)
"""What is watched, but not under test."""

STEADY = {
    "open": "Fewer completed than started, or fewer started than offered: the system does not keep up.",
    "closed": "A user starts its next flow when its last one has ended. A flat line after the warm-up is steady.",
    "burst": "A burst begins when the last one has ended and a rest has passed. The mean is that within bursts.",
}
"""How to read throughput over time, by the model of the load."""


def label(name: str) -> pl.Expr:
    return pl.col("labels").str.json_path_match(f"$.{name}")


def window_of(step: StepEntry) -> Window:
    return Window(step.window.started_at, step.window.ended_at)


def load_seconds(step: StepEntry) -> float:
    return step.window.load_ended_at - step.window.load_started_at


# What is behind a chart over time.


def with_phases(chart: Chart, step: StepEntry) -> Chart:
    """The chart of a step over time, with its warm-up, the time after its measuring window, and its faults behind."""
    window, end = step.window, load_seconds(step)
    origin = window.load_started_at
    parts = (("warm-up", 0.0, window.started_at - origin), ("stopping", window.ended_at - origin, end))
    phases = [
        # A phase that hardly lasted has no room.
        Shade(round(low, 1), round(high, 1), "shade", name if high - low > end / 12 else "")
        for name, low, high in parts
        if high - low > end / 100
    ]
    faults = fault_shades(step, origin, end / POINT_COUNT_MAX, is_brief=chart.width != "wide")
    return replace(chart, shades=[*phases, *faults], x_max=round(end, 1))


def fault_shades(step: StepEntry, origin: float, seconds_min: float, *, is_brief: bool = False) -> Iterator[Shade]:
    """The faults of a step: dark while a fault lasts, light until throughput is back."""
    ended_at = step.window.load_ended_at - origin
    for fault in step.faults:
        if fault.began_at is None:
            continue
        start = fault.began_at - origin
        end = max(min((fault.healed_at or math.inf) - origin, ended_at), start + seconds_min)
        text = fault.name if is_brief else _fault_words(fault)
        yield Shade(round(start, 1), round(end, 1), "fault", text, "bad", is_upright=True)
        back = start + (fault.recovery_seconds or 0.0)
        if back > end:
            yield Shade(round(end, 1), round(back, 1), "fault-after")


def _fault_words(fault: FaultEntry) -> str:
    if fault.recovery_seconds:
        return f"{fault.name}: back after {fault.recovery_seconds:.0f} s, {fault.lost_flows or 0:.0f} flows late"
    if fault.before_per_second is None:
        return fault.name
    return f"{fault.name}: {'not back before the load ended' if fault.recovery_seconds is None else 'no effect'}"


def mean_line(step: StepEntry) -> list[Line]:
    mean, window = step.throughput_per_second, step.window
    start, end = window.started_at - window.load_started_at, window.ended_at - window.load_started_at
    return [Line("y", mean, f"mean {mean:.2f}", start, end)]


# Series over time.


def bin_seconds(total_seconds: float, *, at_least: int = 1, count_max: int = BIN_COUNT_MAX) -> int:
    """The smallest width in ``BIN_SECONDS`` that gives at most ``count_max`` bins; the largest if none does."""
    fitting = [width for width in BIN_SECONDS if width >= at_least and total_seconds / width <= count_max]
    return fitting[0] if fitting else BIN_SECONDS[-1]


def rates(rows: pl.DataFrame, time: str, series: str, step: StepEntry, width: int) -> pl.DataFrame:
    """Events per second in bins of ``width`` seconds: ``series``, ``x`` (the middle of the bin) and ``y``.

    ``time`` is a column in unix seconds. The last bin may be shorter.
    """
    total = load_seconds(step)
    place = ((pl.col(time) - step.window.load_started_at) / width).floor().cast(pl.Int64)
    length = pl.min_horizontal(pl.lit(float(width)), total - pl.col("bin") * width)
    return (
        pl.int_range(math.ceil(total / width), dtype=pl.Int64, eager=True)
        .to_frame("bin")
        .join(rows.group_by(place.alias("bin")).len(), on="bin", how="left", maintain_order="left")
        # A very short bin at the end would show an extreme rate.
        .filter(length >= width / 2)
        .select(
            pl.lit(series).alias("series"),
            (pl.col("bin") * width + length / 2).alias("x"),
            (pl.col("len").fill_null(0) / length).alias("y"),
        )
    )


def by_node(
    samples: pl.DataFrame,
    name: str,
    origin: float,
    *,
    scale: float = 1.0,
    width: float | None = None,
    node: pl.Expr = NODE,
) -> pl.DataFrame:
    """A series per node of a metric, multiplied by ``scale``: ``step``, ``series``, ``x`` and ``y``.

    Samples that differ in other labels are summed; with ``width``, points are means over so many seconds.
    """
    time = pl.col("time") - origin
    place = time if width is None else ((time / width).floor() + 0.5) * width
    return (
        samples.filter(pl.col("name") == name)
        .with_columns(node.alias("series"))
        .drop_nulls("series")
        .group_by("step", "series", "time", maintain_order=True)
        .agg(pl.col("value").sum())
        .group_by("step", "series", place.alias("x"), maintain_order=True)
        .agg((pl.col("value").mean() * scale).alias("y"))
        .sort("series", "x")
    )


def each_second(samples: pl.DataFrame, value: pl.Expr, step: StepEntry) -> pl.DataFrame:
    """A series per node, and of PostgreSQL: ``series``, ``x`` and ``y``; of long loads, means over bins."""
    origin = step.window.load_started_at
    width = max(1, math.ceil(load_seconds(step) / POINT_COUNT_MAX))
    place = ((pl.col("time") - origin) / width).floor() * width
    return (
        samples.filter(~pl.col("container").is_in(LAB_PARTS) & (pl.col("time") >= origin))
        .group_by(pl.col("container").cast(pl.String).alias("series"), place.alias("x"), maintain_order=True)
        .agg(value.mean().alias("y"))
        .drop_nulls()
        .sort("series", "x")
    )


def node_looks(frame: pl.DataFrame, dash: str = "solid") -> dict[str, Look]:
    """The looks of the series of nodes; what goes out of one is dotted."""
    names = frame["series"].unique(maintain_order=True)
    return {
        name: Look(f"node-{name.split(' ')[0].lower()}", dash="dot" if name.endswith(" out") else dash)
        for name in names
    }


# A single run.


def run_charts(analysis: Analysis) -> list[Chart]:
    """All charts of a run of one step."""
    (step,), rows, metrics = analysis.run.steps, analysis.requests, analysis.metrics
    samples = analysis.run.samples()
    timed = timed_within(counted(rows, step.load.flows_after), window_of(step)).filter(is_done())
    charts = [
        throughput(rows, step),
        latency_over_time(rows, step),
        *([lag(rows, step)] if step.has_intended_starts else []),
        histogram(
            timed[step.judged_latency_column].drop_nulls().sort(),
            "latency-histogram",
            "Latency distribution",
            "Requests in the measuring window. Several peaks mean that requests wait for different things.",
            "requests",
        ),
        latency_ecdf(timed, step),
        *consensus_chart(analysis),
        in_flight(rows, metrics, step),
        *(resource_chart(resource, metrics, samples, step) for resource in RESOURCES),
    ]
    return [with_phases(chart, step) if chart.x_title == LOAD_SECONDS else chart for chart in charts]


def throughput(rows: pl.DataFrame, step: StepEntry) -> Chart:
    width = bin_seconds(load_seconds(step))
    ended = {
        "completed (achieved)": rows.filter(is_done()),
        "expected failures": rows.filter(pl.col("outcome") == "expected"),
        "failed or unknown": rows.filter(~is_done()),
    }
    frames = [rates(part, "ended_at", name, step, width) for name, part in ended.items() if part.height]
    return Chart(
        "throughput",
        "Throughput",
        f"Flows per second in bins of {width} s. {STEADY[step.load.model]}",
        "flows/s",
        pl.concat([rates(rows, "started_at", "started", step, width), *frames]),
        {
            "started": Look("second", dash="dot"),
            "completed (achieved)": Look("main", "area"),
            "expected failures": Look("third"),
            "failed or unknown": Look("bad"),
        },
        width="wide",
        lines=mean_line(step),
    )


def dots(rows: pl.DataFrame, series: str, at: str, value: str, origin: float) -> pl.DataFrame:
    """At most ``DOT_COUNT_MAX`` of the rows, drawn at random and always the same, as points."""
    shown = rows if rows.height <= DOT_COUNT_MAX else rows.sample(DOT_COUNT_MAX, seed=1).sort(at)
    return shown.select(
        pl.lit(series).alias("series"), (pl.col(at) - origin).alias("x"), pl.col(value).cast(pl.Float64).alias("y")
    )


def latency_over_time(rows: pl.DataFrame, step: StepEntry) -> Chart:
    origin, column = step.window.load_started_at, step.judged_latency_column
    since = "intended start" if step.has_intended_starts else "start"
    done = rows.filter(is_done())
    requests = "each request" + ("" if done.height <= DOT_COUNT_MAX else f" (random sample of {DOT_COUNT_MAX:,})")
    width = bin_seconds(load_seconds(step), at_least=LATENCY_BIN_SECONDS_MIN)
    bins = done.group_by((((pl.col("ended_at") - origin) / width).floor() + 0.5) * width).agg(column).sort("ended_at")
    percentiles = [
        (name, middle, nearest_rank(latencies, QUANTILES[name]))
        for name in PERCENTILES
        for middle, latencies in zip(bins["ended_at"], bins[column], strict=True)
    ]
    each = dots(done, requests, "ended_at", column, origin)
    return Chart(
        "latency-time",
        "Latency over time",
        f"Time from the {since} of a request until its answer, with percentiles over bins of {width} s. In a bin with "
        "fewer than 100 requests, p99 is the slowest one.",
        "ms",
        pl.concat([each, pl.DataFrame(percentiles, each.schema, orient="row")]),
        {requests: Look("faint", "dots"), **PERCENTILES},
        width="wide",
    )


def lag(rows: pl.DataFrame, step: StepEntry) -> Chart:
    timed = with_lag(rows.filter(pl.col("intended_at").is_not_null()), step.load.places)
    parts = {
        "free place in the pool: lag of the generator": timed.filter(pl.col("pool_was_free")),
        "pool full: waited for the system": timed.filter(~pl.col("pool_was_free")),
    }
    return Chart(
        "lag",
        "Schedule lag",
        "How much later than intended each request started. Rising values show a queue for the pool.",
        "ms",
        pl.concat(
            dots(part, name, "intended_at", "lag_ms", step.window.load_started_at) for name, part in parts.items()
        ),
        dict(zip(parts, (Look("main", "dots"), Look("second", "dots")), strict=True)),
        width="wide",
    )


def histogram(latency: pl.Series, name: str, title: str, caption: str, unit: str) -> Chart:
    """The histogram of ``latency``, in milliseconds and sorted, with marks at p50, p95 and p99."""
    low, high = (0.0, 0.0) if latency.is_empty() else (float(latency[0]), float(latency[-1]))
    width = max((high - low) / HISTOGRAM_BIN_COUNT, 0.001)
    place = ((pl.col("ms") - low) / width).floor().clip(0, HISTOGRAM_BIN_COUNT - 1)
    frame = (
        pl.DataFrame({"ms": latency.cast(pl.Float64)})
        .group_by((place * width + low).alias("x_low"))
        .agg(pl.len().alias("y"))
        .sort("x_low")
        .with_columns(
            pl.lit(unit).alias("series"),
            (pl.col("x_low") + width / 2).alias("x"),
            (pl.col("x_low") + width).alias("x_high"),
        )
        .with_columns(pl.format("about {} ms: {} {}", pl.col("x").round(1), "y", "series").alias("label"))
    )
    lines = [
        Line("x", round(nearest_rank(latency, QUANTILES[quantile]), 1), quantile)
        for quantile in PERCENTILES
        if not latency.is_empty()
    ]
    return Chart(name, title, caption, unit, frame, {unit: Look("main", "bins")}, x_title="ms", lines=lines)


def latency_ecdf(timed: pl.DataFrame, step: StepEntry) -> Chart:
    """The cumulative distribution of the latency of the requests of the window that were done.

    From the intended start too, where requests have one. Those that were not answered took longer than any x.
    """
    kinds = {"latency_ms": "share"}
    if step.has_intended_starts:
        kinds = {"latency_intended_ms": "from the intended start", "latency_ms": "from the real start"}
    looks = (Look("main", "steps"), Look("second", "steps", "dash"))
    return Chart(
        "latency-ecdf",
        "Cumulative latency distribution",
        "The share of requests that took at most the time on the x axis.",
        "% of requests",
        pl.concat(_shares(timed[column], getattr(step, column).unanswered, name) for column, name in kinds.items()),
        dict(zip(kinds.values(), looks, strict=False)),
        x_title="ms",
    )


def _shares(latency: pl.Series, unanswered: int, series: str) -> pl.DataFrame:
    """The share of requests that took at most x, at about ``POINT_COUNT_MAX`` places and the last."""
    ordered = latency.cast(pl.Float64).drop_nulls().sort().alias("x").to_frame()
    share = 100 * pl.int_range(1, pl.len() + 1) / (pl.len() + unanswered)
    points = ordered.select(pl.lit(series).alias("series"), "x", share.alias("y"))
    every = max(1, points.height // POINT_COUNT_MAX)
    return pl.concat([points.gather_every(every), points.tail(1)])


def consensus_chart(analysis: Analysis) -> list[Chart]:
    """The consensus latencies of the transactions in the window; no chart if no transaction has one."""
    (step,), stage_rows = analysis.run.steps, analysis.run.stage_rows()
    if stage_rows is None or not step.stages.consensus_latency_ms.count:
        return []
    meant = stages.as_meant_within(counted(analysis.requests, step.load.flows_after), window_of(step))
    latencies = stages.complete_only(stages.consensus_latency(stage_rows, meant["trace_id"].drop_nulls()))
    chart = histogram(
        latencies["latency_ms"].sort(),
        "consensus-latency",
        "Consensus latency",
        "Time from the arrival of the notary's signature at the initiator until the last party committed the "
        "transaction.",
        "transactions",
    )
    return [chart]


def in_flight(rows: pl.DataFrame, metrics: pl.DataFrame, step: StepEntry) -> Chart:
    origin, requests = step.window.load_started_at, "generator, from the rows"
    times = pl.int_range(POINT_COUNT_MAX + 1, eager=True) * (load_seconds(step) / POINT_COUNT_MAX)
    levels = (
        times.alias("x")
        .to_frame()
        .join_asof(in_flight_levels(rows).with_columns(pl.col("at") - origin), left_on="x", right_on="at")
        .select(pl.lit(requests).alias("series"), "x", pl.col("level").fill_null(0).cast(pl.Float64).alias("y"))
    )
    nodes = by_node(metrics, "node_flows_in_flight", origin).drop("step")
    return Chart(
        "in-flight",
        "In flight",
        "Requests that wait for an answer at the generator, and flows in flight at each node, responders included.",
        "flows",
        pl.concat([levels, nodes]),
        {requests: Look("ink", "steps"), **node_looks(nodes, dash="dash")},
    )


@dataclass(frozen=True)
class Resource:
    """A chart of a series of ``metrics.parquet`` by node, multiplied by ``scale``."""

    id: str
    title: str
    caption: str
    unit: str
    series: str
    scale: float = 1.0
    node: pl.Expr = NODE


RESOURCES = (
    Resource(
        "cpu", "CPU", "If the nodes need all cores of the machine, the CPU is the limit.", "cores", "node_cpu_cores"
    ),
    Resource("memory", "Memory", "The heap, and what each JVM needs besides.", "MiB", "node_resident_bytes", 1 / MIB),
    Resource("heap", "Heap", "One that rises shows a leak, or is too small.", "MiB", "node_heap_used_bytes", 1 / MIB),
    Resource("gc", "Garbage collection", "Above 20 %, the heap is too small.", "% of time", "node_gc_share", 100.0),
    Resource(
        "queues",
        "Artemis queue depth",
        "Messages in the broker of each node, for the node (in) or its peers (out). Rising: a node does not keep up.",
        "messages",
        "artemis_queue_messages",
        node=NODE + label("queue").replace_strict({"inbound": " in", "peer": " out"}, default=None),
    ),
    Resource(
        "lab-cost", "The lab's own cost", "Cores that nodes cannot use.", "cores", "lab_cpu_cores", node=label("job")
    ),
)
"""The charts of what nodes and the lab itself used, in the order of the page."""


def resource_chart(resource: Resource, metrics: pl.DataFrame, samples: pl.DataFrame, step: StepEntry) -> Chart:
    """A chart of a resource over time: of CPU and memory each second if that was sampled, otherwise as scraped."""
    origin = step.window.load_started_at
    frame = pl.DataFrame()
    if resource.id == "cpu":
        frame = each_second(cpu_rates(samples, Window(origin - 1, math.inf)), pl.col("percent") / 100, step)
    elif resource.id == "memory":
        frame = each_second(samples, pl.col("memory_bytes") / MIB, step)
    if frame.is_empty():
        frame = by_node(metrics, resource.series, origin, scale=resource.scale, node=resource.node).drop("step")
    return Chart(resource.id, resource.title, resource.caption, resource.unit, frame, node_looks(frame))
