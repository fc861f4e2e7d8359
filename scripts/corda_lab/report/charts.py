"""Charts over time, and of latencies, from stored rows and samples. Times are seconds since the load began."""

import math
from dataclasses import dataclass

import polars as pl

from corda_lab.analysis.conclusions import Analysis
from corda_lab.faults.model import FaultEntry
from corda_lab.report.chart import Band, Chart, Line, Look, Span
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
LONGEST_SECONDS = 86_400.0
"""More than any load lasts."""
PERCENTILES = {"p50": Look("main"), "p95": Look("second", dash="dash"), "p99": Look("third", dash="dot")}
NODE = pl.col("node")
LAB_PARTS = tuple(part for part in PARTS if part != DATABASE)
"""What is watched, but not under test."""

LATENCIES = (
    "latency-histogram",
    "Latency distribution",
    "Requests in the measuring window. Several peaks mean that requests wait for different things.",
    "requests",
)
CONSENSUS = (
    "consensus-latency",
    "Consensus latency",
    "Time from the arrival of the notary's signature at the initiator until the last party committed the transaction.",
    "transactions",
)
"""Id, title, caption and unit of the two histograms."""
STEADY = {
    "open": "Fewer completed than started, or fewer started than offered: the system does not keep up.",
    "closed": "A user starts its next flow when its last one has ended. A flat line after the warm-up is steady.",
    "burst": "A burst begins when the last one has ended and a rest has passed. The mean is that within bursts.",
}
"""How to read throughput over time, by the model of the load."""


def label(name: str) -> pl.Expr:
    return pl.col("labels").str.json_path_match(f"$.{name}")


def span_of(step: StepEntry, origin: float) -> Span:
    """The phases and faults of a step on a time axis, in seconds from its ``origin`` (unix seconds)."""
    window = step.window
    return Span(
        str(step.index),
        step.validity.valid,
        start=round(window.load_started_at - origin, 1),
        warm_up_end=round(window.started_at - origin, 1),
        stop=round(window.ended_at - origin, 1),
        end=round(window.load_ended_at - origin, 1),
        faults=[_band(fault, step, origin) for fault in step.faults if fault.began_at is not None],
    )


def _band(fault: FaultEntry, step: StepEntry, origin: float) -> Band:
    start, recovery, ended_at = (fault.began_at or 0.0) - origin, fault.recovery_seconds, step.window.load_ended_at
    end = min(fault.healed_at or ended_at, ended_at) - origin
    text = fault.name
    if recovery:
        text += f": back after {recovery:.0f} s, {fault.lost_flows or 0:.0f} flows late"
    elif fault.before_per_second is not None:
        text += ": not back before the load ended" if recovery is None else ": no effect"
    back = None if recovery is None else round(start + recovery, 1)
    return Band(fault.name, text, round(start, 1), round(max(start, end), 1), back)


def bin_seconds(total_seconds: float, *, at_least: int = 1, count_max: int = BIN_COUNT_MAX) -> int:
    """The smallest width in ``BIN_SECONDS`` that gives at most ``count_max`` bins; the largest if none does."""
    fitting = [width for width in BIN_SECONDS if width >= at_least and total_seconds / width <= count_max]
    return fitting[0] if fitting else BIN_SECONDS[-1]


def load_seconds(step: StepEntry) -> float:
    return step.window.load_ended_at - step.window.load_started_at


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


def run_charts(analysis: Analysis, consensus: pl.Series | None) -> list[Chart]:
    """All charts of a run of one step. ``consensus`` has sorted consensus latencies in ms, if there are some."""
    (step,), rows, metrics = analysis.run.steps, analysis.requests, analysis.metrics
    samples = analysis.run.samples()
    window = Window(step.window.started_at, step.window.ended_at)
    timed = timed_within(counted(rows, step.load.flows_after), window).filter(is_done())
    return [
        throughput(rows, step),
        latency_over_time(rows, step),
        *([lag(rows, step)] if step.has_intended_starts else []),
        histogram(timed[step.judged_latency_column].drop_nulls().sort(), *LATENCIES),
        latency_ecdf(timed, step),
        *([] if consensus is None else [histogram(consensus, *CONSENSUS)]),
        in_flight(rows, metrics, step),
        *(resource_chart(resource, metrics, samples, step) for resource in RESOURCES),
    ]


def mean_line(step: StepEntry) -> list[Line]:
    return [Line("mean", step.throughput_per_second, f"mean {step.throughput_per_second:.2f}")]


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
        spans=[span_of(step, step.window.load_started_at)],
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
        spans=[span_of(step, origin)],
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
        Line("quantile", round(nearest_rank(latency, QUANTILES[quantile]), 1), quantile)
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


def lag(rows: pl.DataFrame, step: StepEntry) -> Chart:
    origin = step.window.load_started_at
    pool = step.load.places
    timed = with_lag(rows.filter(pl.col("intended_at").is_not_null()), pool)
    parts = {
        "free place in the pool: lag of the generator": timed.filter(pl.col("pool_was_free")),
        "pool full: waited for the system": timed.filter(~pl.col("pool_was_free")),
    }
    looks = dict(zip(parts, (Look("main", "dots"), Look("second", "dots")), strict=True))
    return Chart(
        "lag",
        "Schedule lag",
        "How much later than intended each request started. Rising values show a queue for the pool.",
        "ms",
        pl.concat(dots(part, name, "intended_at", "lag_ms", origin) for name, part in parts.items()),
        looks,
        width="wide",
        spans=[span_of(step, origin)],
    )


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
    looks = {name: Look(f"node-{name.lower()}", dash="dash") for name in nodes["series"].unique(maintain_order=True)}
    return Chart(
        "in-flight",
        "In flight",
        "Requests that wait for an answer at the generator, and flows in flight at each node, responders included.",
        "flows",
        pl.concat([levels, nodes]),
        {requests: Look("ink", "steps"), **looks},
        spans=[span_of(step, origin)],
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
        "cpu",
        "CPU",
        "Cores that each node uses. If they add up to all cores of the machine, the CPU is the limit.",
        "cores",
        "node_cpu_cores",
    ),
    Resource(
        "memory",
        "Memory",
        "The heap of each node, and what its JVM needs besides.",
        "MiB",
        "node_resident_bytes",
        1 / MIB,
    ),
    Resource(
        "heap",
        "Heap",
        "A sawtooth at a constant level is normal. A rising one shows a leak, or a heap that is too small.",
        "MiB",
        "node_heap_used_bytes",
        1 / MIB,
    ),
    Resource(
        "gc",
        "Garbage collection",
        "Below 5 % of the time is good. Above 20 %, the heap is too small for this load.",
        "% of time",
        "node_gc_share",
        100.0,
    ),
    Resource(
        "queues",
        "Artemis queue depth",
        "Messages that wait in the broker of each node (in: for the node, out: for its peers). Rising values show a "
        "node that does not keep up.",
        "messages",
        "artemis_queue_messages",
        node=NODE + label("queue").replace_strict({"inbound": " in", "peer": " out"}, default=None),
    ),
    Resource(
        "lab-cost",
        "The lab's own cost",
        "Cores that bridge, generator and monitoring use, and that nodes on the same machine cannot.",
        "cores",
        "lab_cpu_cores",
        node=label("job"),
    ),
)
"""The charts of what nodes and the lab itself used, in the order of the page."""


def resource_chart(resource: Resource, metrics: pl.DataFrame, samples: pl.DataFrame, step: StepEntry) -> Chart:
    """A chart of a resource over time: of CPU and memory each second if that was sampled, otherwise as scraped."""
    origin = step.window.load_started_at
    frame = pl.DataFrame()
    if resource.id == "cpu":
        rises = cpu_rates(samples, Window(origin - 1, origin + LONGEST_SECONDS))
        frame = each_second(rises, pl.col("percent") / 100, step)
    elif resource.id == "memory":
        frame = each_second(samples, pl.col("memory_bytes") / MIB, step)
    if frame.is_empty():
        frame = by_node(metrics, resource.series, origin, scale=resource.scale, node=resource.node).drop("step")
    looks = {
        name: Look(f"node-{name.split(' ')[0].lower()}", dash="dot" if name.endswith(" out") else "solid")
        for name in frame["series"].unique(maintain_order=True)
    }
    spans = [span_of(step, origin)]
    return Chart(resource.id, resource.title, resource.caption, resource.unit, frame, looks, spans=spans)


def each_second(samples: pl.DataFrame, value: pl.Expr, step: StepEntry) -> pl.DataFrame:
    """A series per node, and of PostgreSQL: ``series``, ``x`` and ``y``; of long loads, means over bins."""
    origin = step.window.load_started_at
    width = max(1, math.ceil(load_seconds(step) / POINT_COUNT_MAX))
    place = ((pl.col("time") - origin) / width).floor() * width
    in_load = pl.col("time").is_between(origin, origin + LONGEST_SECONDS)
    return (
        samples.filter(~pl.col("container").is_in(LAB_PARTS) & in_load)
        .group_by(pl.col("container").cast(pl.String).alias("series"), place.alias("x"), maintain_order=True)
        .agg(value.mean().alias("y"))
        .drop_nulls()
        .sort("series", "x")
    )
