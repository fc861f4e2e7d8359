"""The charts of the report of a run, from its stored rows and metrics. Times are seconds since the load began."""

import math
from collections.abc import Sequence

import polars as pl

from corda_lab.faults import effects
from corda_lab.report.chart import Chart, Line, Look, Span
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

LAB_PARTS = tuple(part for part in PARTS if part != DATABASE)
"""What is watched, but not under test."""

STARTS = {
    "open": (
        "In open load, flows start at the times of a schedule. Where fewer flows are completed than started, or fewer "
        "started than offered, the system does not keep up. A flat line after the warm-up is a steady load."
    ),
    "closed": (
        "In closed load, a user starts its next flow when the last one has ended, so starts follow completions. A flat "
        "line after the warm-up is a steady load."
    ),
    "burst": (
        "The flows of a burst start within a short time. The next burst begins when all of them have ended and a rest "
        "has passed. Bursts of equal height and width are a steady load. The mean is that within the bursts."
    ),
}


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
        faults=effects.bands(step, origin),
    )


def bin_seconds(total_seconds: float, *, at_least: int = 1, count_max: int = BIN_COUNT_MAX) -> int:
    """The smallest width in ``BIN_SECONDS`` that gives at most ``count_max`` bins; the largest if none does."""
    fitting = [width for width in BIN_SECONDS if width >= at_least and total_seconds / width <= count_max]
    return fitting[0] if fitting else BIN_SECONDS[-1]


def rates(times: pl.Series, series: str, step: StepEntry, width: int) -> pl.DataFrame:
    """The middle of each bin of a load, and the events per second in it. ``times`` are in unix seconds.

    The last bin may be shorter.
    """
    total_seconds = step.window.load_ended_at - step.window.load_started_at
    places = ((times - step.window.load_started_at) / width).floor().cast(pl.Int64)
    counts = dict(places.value_counts().iter_rows())
    points = []
    for place in range(math.ceil(total_seconds / width)):
        length = min(width, total_seconds - place * width)
        # A very short bin at the end would show an extreme rate.
        if length >= width / 2:
            points.append((series, place * width + length / 2, counts.get(place, 0) / length))
    return pl.DataFrame(points, {"series": pl.String, "x": pl.Float64, "y": pl.Float64}, orient="row")


def mean_line(step: StepEntry) -> list[Line]:
    return [Line("mean", step.throughput_per_second, f"mean {step.throughput_per_second:.2f}")]


def throughput(rows: pl.DataFrame, step: StepEntry) -> Chart:
    width = bin_seconds(step.window.load_ended_at - step.window.load_started_at)
    expected, failed = rows.filter(pl.col("outcome") == "expected"), rows.filter(~is_done())
    ended = {
        "completed (achieved)": rows.filter(is_done()),
        **({"expected failures": expected} if expected.height else {}),
        **({"failed or unknown": failed} if failed.height else {}),
    }
    started = rates(rows["started_at"], "started", step, width)
    return Chart(
        "throughput",
        "Throughput",
        f"Flows per second in bins of {width} s. {STARTS[step.load.model]}",
        "flows/s",
        pl.concat([started, *(rates(part["ended_at"], name, step, width) for name, part in ended.items())]),
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


def sampled(rows: pl.DataFrame, order: str) -> pl.DataFrame:
    """At most ``DOT_COUNT_MAX`` of the rows, drawn at random, and always the same."""
    return rows if rows.height <= DOT_COUNT_MAX else rows.sample(DOT_COUNT_MAX, seed=1).sort(order)


def dots(rows: pl.DataFrame, series: str, x: pl.Expr, y: str) -> pl.DataFrame:
    return rows.select(pl.lit(series).alias("series"), x.alias("x"), pl.col(y).cast(pl.Float64).alias("y"))


def latency_over_time(rows: pl.DataFrame, step: StepEntry) -> Chart:
    origin, column = step.window.load_started_at, step.judged_latency_column
    since = "intended start" if step.has_intended_starts else "start"
    done = rows.filter(is_done())
    shown = sampled(done, "ended_at")
    requests = "each request" + ("" if shown.height == done.height else f" (random sample of {DOT_COUNT_MAX:,})")
    width = bin_seconds(step.window.load_ended_at - origin, at_least=LATENCY_BIN_SECONDS_MIN)
    bins = (
        done.with_columns((((pl.col("ended_at") - origin) / width).floor() * width).alias("bin"))
        .sort("bin")
        .partition_by("bin", maintain_order=True)
    )
    percentiles = {"p50": Look("main"), "p95": Look("second", dash="dash"), "p99": Look("third", dash="dot")}
    points = [
        {"series": name, "x": part["bin"][0] + width / 2, "y": nearest_rank(part[column], QUANTILES[name])}
        for name in percentiles
        for part in bins
    ]
    each = dots(shown, requests, pl.col("ended_at") - origin, column)
    return Chart(
        "latency-time",
        "Latency over time",
        f"Time from the {since} of a request until its answer, with percentiles over bins of {width} s. In a bin with "
        "fewer than 100 requests, p99 is the slowest one.",
        "ms",
        pl.concat([each, pl.DataFrame(points, each.schema)]),
        {requests: Look("faint", "dots"), **percentiles},
        width="wide",
        spans=[span_of(step, origin)],
    )


def window_latency(rows: pl.DataFrame, step: StepEntry, column: str) -> pl.Series:
    """Latencies in ms of the requests of the measuring window that succeeded or failed as expected, sorted."""
    window = Window(step.window.started_at, step.window.ended_at)
    return timed_within(counted(rows, step.load.flows_after), window).filter(is_done())[column].drop_nulls().sort()


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
        .with_columns(pl.lit(unit).alias("series"), (pl.col("x_low") + width).alias("x_high"))
        .with_columns(((pl.col("x_low") + pl.col("x_high")) / 2).alias("x"))
        .with_columns(pl.format("about {} ms: {} {}", pl.col("x").round(1), "y", pl.lit(unit)).alias("label"))
    )
    lines = [
        Line("quantile", round(nearest_rank(latency, QUANTILES[quantile]), 1), quantile)
        for quantile in ("p50", "p95", "p99")
        if not latency.is_empty()
    ]
    return Chart(name, title, caption, unit, frame, {unit: Look("main", "bins")}, x_title="ms", lines=lines)


def latency_histogram(latency: pl.Series) -> Chart:
    caption = "Requests in the measuring window by latency. Several peaks mean that requests wait for different things."
    return histogram(latency, "latency-histogram", "Latency distribution", caption, "requests")


def consensus_histogram(latency: pl.Series) -> Chart:
    caption = (
        "Transactions in the measuring window by the time from the arrival of the notary's signature at the initiator "
        "until the last party committed the transaction."
    )
    return histogram(latency, "consensus-latency", "Consensus latency", caption, "transactions")


def shares(latency: pl.Series, unanswered: int, series: str) -> pl.DataFrame:
    """The share of requests that took at most x (sorted, in ms); ``unanswered`` more took longer than any x."""
    count = len(latency)
    last = max(count - 1, 0)
    places = sorted(
        {round(number * last / (POINT_COUNT_MAX - 1)) for number in range(POINT_COUNT_MAX)} if count else ()
    )
    points = [(series, float(latency[place]), 100 * (place + 1) / (count + unanswered)) for place in places]
    return pl.DataFrame(points, {"series": pl.String, "x": pl.Float64, "y": pl.Float64}, orient="row")


def latency_ecdf(rows: pl.DataFrame, step: StepEntry) -> Chart:
    """The cumulative distribution of the latency; from the intended start too, where requests have one."""
    name = "from the real start" if step.has_intended_starts else "share"
    frames = [shares(window_latency(rows, step, "latency_ms"), step.latency_ms.unanswered, name)]
    looks = {name: Look("main", "steps")}
    if step.has_intended_starts:
        intended = window_latency(rows, step, "latency_intended_ms")
        frames.insert(0, shares(intended, step.latency_intended_ms.unanswered, "from the intended start"))
        looks = {"from the intended start": Look("main", "steps"), name: Look("second", "steps", "dash")}
    return Chart(
        "latency-ecdf",
        "Cumulative latency distribution",
        "The share of requests that took at most the time on the x axis.",
        "% of requests",
        pl.concat(frames),
        looks,
        x_title="ms",
    )


def lag(rows: pl.DataFrame, step: StepEntry) -> Chart:
    origin = step.window.load_started_at
    pool = step.bursts.pool if step.bursts else step.load.users
    timed = with_lag(rows.filter(pl.col("intended_at").is_not_null()), pool)
    parts = {
        "free place in the pool: lag of the generator": timed.filter(pl.col("pool_was_free")),
        "pool full: waited for the system": timed.filter(~pl.col("pool_was_free")),
    }
    since = pl.col("intended_at") - origin
    looks = dict(zip(parts, (Look("main", "dots"), Look("second", "dots")), strict=True))
    return Chart(
        "lag",
        "Schedule lag",
        "How much later than intended each request started. Values near zero are good. Rising values show a queue for "
        "the pool.",
        "ms",
        pl.concat([dots(sampled(part, "started_at"), name, since, "lag_ms") for name, part in parts.items()]),
        looks,
        width="wide",
        spans=[span_of(step, origin)],
    )


def by_node(metrics: pl.DataFrame, name: str, step: StepEntry, *, scale: float = 1.0, suffix: str = "") -> pl.DataFrame:
    """One series per node of a metric, multiplied by ``scale``. Series that differ in other labels are summed."""
    return (
        metrics.filter((pl.col("name") == name) & pl.col("node").is_not_null())
        .group_by("node", "time")
        .agg(pl.col("value").sum())
        .sort("node", "time")
        .select(
            (pl.col("node") + suffix).alias("series"),
            (pl.col("time") - step.window.load_started_at).alias("x"),
            (pl.col("value") * scale).alias("y"),
        )
    )


def each_second(samples: pl.DataFrame, column: str, step: StepEntry, *, scale: float) -> pl.DataFrame:
    """One series per node, and of PostgreSQL, with ``container`` and ``time``; of long loads, means over bins."""
    origin = step.window.load_started_at
    width = max(1, math.ceil((step.window.load_ended_at - origin) / POINT_COUNT_MAX))
    is_in_load = pl.col("time").is_between(origin, origin + LONGEST_SECONDS)
    return (
        samples.filter(~pl.col("container").is_in(LAB_PARTS) & is_in_load)
        .group_by(
            pl.col("container").cast(pl.String).alias("series"),
            (((pl.col("time") - origin) / width).floor() * width).alias("x"),
        )
        .agg((pl.col(column).mean() * scale).alias("y"))
        .drop_nulls()
        .sort("series", "x")
    )


def node_chart(name: str, title: str, caption: str, unit: str, frame: pl.DataFrame, step: StepEntry) -> Chart:
    """A chart over time of which every series is that of a node: ``PartyA``, or ``PartyA in``, ``PartyA out``."""
    names = frame["series"].unique(maintain_order=True)
    looks = {
        one: Look(f"node-{one.split(' ')[0].lower()}", dash="dot" if one.endswith(" out") else "solid") for one in names
    }
    return Chart(name, title, caption, unit, frame, looks, spans=[span_of(step, step.window.load_started_at)])


def in_flight(rows: pl.DataFrame, metrics: pl.DataFrame, step: StepEntry) -> Chart:
    origin = step.window.load_started_at
    total = step.window.load_ended_at - origin
    places = [round(total * number / POINT_COUNT_MAX, 2) for number in range(POINT_COUNT_MAX + 1)]
    levels = in_flight_levels(rows).with_columns(pl.col("at") - origin)
    own = "generator, from the rows"
    generator = (
        pl.DataFrame({"at": places})
        .join_asof(levels, on="at", strategy="backward")
        .select(
            pl.lit(own).alias("series"),
            pl.col("at").alias("x"),
            pl.col("level").fill_null(0).cast(pl.Float64).alias("y"),
        )
    )
    nodes = by_node(metrics, "node_flows_in_flight", step)
    names = nodes["series"].unique(maintain_order=True)
    return Chart(
        "in-flight",
        "In flight",
        "Requests that wait for an answer at the generator, and flows in flight at each node. The flows of responders "
        "count too.",
        "flows",
        pl.concat([generator, nodes]),
        {own: Look("ink", "steps"), **{name: Look(f"node-{name.lower()}", dash="dash") for name in names}},
        spans=[span_of(step, origin)],
    )


def queues(metrics: pl.DataFrame, step: StepEntry) -> Chart:
    name = "artemis_queue_messages"
    queue = pl.col("labels").str.json_path_match("$.queue")
    kinds = {"inbound": " in", "peer": " out"}
    depths = metrics.filter(pl.col("name") == name)
    frames = [by_node(depths.filter(queue == kind), name, step, suffix=suffix) for kind, suffix in kinds.items()]
    caption = (
        "Messages that wait in the broker of each node (in: for the node itself, out: for its peers). Values near zero "
        "are good. Rising values show a node that does not keep up."
    )
    return node_chart("queues", "Artemis queue depth", caption, "messages", pl.concat(frames), step)


def cpu(metrics: pl.DataFrame, samples: pl.DataFrame, step: StepEntry) -> Chart:
    """The CPU of every node: each second, or without samples as rates over 20 s."""
    origin = step.window.load_started_at
    used = each_second(cpu_rates(samples, Window(origin - 1, origin + LONGEST_SECONDS)), "percent", step, scale=1 / 100)
    frame = by_node(metrics, "node_cpu_cores", step) if used.is_empty() else used
    caption = "Cores that each node uses. If they add up to all cores of the machine, the CPU is the limit."
    return node_chart("cpu", "CPU", caption, "cores", frame, step)


def memory(metrics: pl.DataFrame, samples: pl.DataFrame, step: StepEntry) -> list[Chart]:
    """The memory of every node: each second, or without samples every 5 s. Empty if neither was stored."""
    used = each_second(samples, "memory_bytes", step, scale=1 / MIB)
    frame = by_node(metrics, "node_resident_bytes", step, scale=1 / MIB) if used.is_empty() else used
    caption = (
        "Memory that the processes of each node have allocated: the heap, and what the JVM needs besides. It rises "
        "until the heap has its largest size, and a JVM hardly ever gives it back."
    )
    return [] if frame.is_empty() else [node_chart("memory", "Memory", caption, "MiB", frame, step)]


def resources(metrics: pl.DataFrame, samples: pl.DataFrame, step: StepEntry) -> Sequence[Chart]:
    by_job = metrics.with_columns(pl.col("labels").str.json_path_match("$.job").alias("node"))
    heap = (
        "Heap in use at each node. A sawtooth at a constant level is normal. A rising one shows a leak, or a heap that "
        "is too small."
    )
    collection = (
        "Share of time that each node spends in garbage collection. Below 5 % is good. Above 20 %, the heap is too "
        "small for this load."
    )
    cost = (
        "CPU cores that bridge, generator and monitoring use. If they share a machine with the nodes, the nodes cannot "
        "use these cores."
    )
    used = by_node(metrics, "node_heap_used_bytes", step, scale=1 / MIB)
    collected = by_node(metrics, "node_gc_share", step, scale=100)
    return [
        cpu(metrics, samples, step),
        *memory(metrics, samples, step),
        node_chart("heap", "Heap", heap, "MiB", used, step),
        node_chart("gc", "Garbage collection", collection, "% of time", collected, step),
        queues(metrics, step),
        node_chart("lab-cost", "The lab's own cost", cost, "cores", by_node(by_job, "lab_cpu_cores", step), step),
    ]


def all_charts(
    rows: pl.DataFrame, metrics: pl.DataFrame, samples: pl.DataFrame, step: StepEntry, consensus: pl.Series | None
) -> list[Chart]:
    return [
        throughput(rows, step),
        latency_over_time(rows, step),
        *([lag(rows, step)] if step.has_intended_starts else []),
        latency_histogram(window_latency(rows, step, step.judged_latency_column)),
        latency_ecdf(rows, step),
        *([consensus_histogram(consensus)] if consensus is not None else []),
        in_flight(rows, metrics, step),
        *resources(metrics, samples, step),
    ]
