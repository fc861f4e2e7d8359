"""The charts of the report of a run, computed from its stored rows and metrics.

A chart is plain data: traces with x and y, and names for their colours. The page maps the names to colours, so that it
can follow the light or dark mode of the reader. Times are seconds since the load began.
"""

import math

import polars as pl

from corda_lab.report.chart import MIB, Chart, Mark, Trace, bin_seconds, histogram, rates, rounded
from corda_lab.steps.costs import DATABASE
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.open_load import in_flight_levels, with_lag
from corda_lab.steps.rows import QUANTILES, Window, counted, is_done, nearest_rank, timed_within
from corda_lab.steps.usage import PARTS, cpu_rates

LATENCY_BIN_SECONDS_MIN = 5
DOT_COUNT_MAX = 4000
STEP_COUNT_MAX = 400

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


def throughput(rows: pl.DataFrame, step: StepEntry) -> Chart:
    origin, total = (
        step.window.load_started_at,
        step.window.load_ended_at - step.window.load_started_at,
    )
    width = bin_seconds(total)

    def rate(times: pl.Series, name: str, colour: str, kind: str = "line", dash: str = "solid") -> Trace:
        x, y = rates(times - origin, total, width)
        return Trace(name, colour, x, rounded(y), kind=kind, dash=dash)

    expected, failed = rows.filter(pl.col("outcome") == "expected"), rows.filter(~is_done())
    traces = [
        rate(rows["started_at"], "started", "second", dash="dot"),
        rate(rows.filter(is_done())["ended_at"], "completed (achieved)", "main", kind="area"),
        *([rate(expected["ended_at"], "expected failures", "third")] if expected.height else []),
        *([rate(failed["ended_at"], "failed or unknown", "bad")] if failed.height else []),
    ]
    mean = step.throughput_per_second
    return Chart(
        "throughput",
        "Throughput",
        f"Flows per second in bins of {width} s. {STARTS[step.load.model]}",
        "flows/s",
        traces,
        width="wide",
        marks=[Mark("mean", round(mean, 3), f"mean {mean:.2f}")],
    )


def latency_over_time(rows: pl.DataFrame, step: StepEntry) -> Chart:
    origin = step.window.load_started_at
    total = step.window.load_ended_at - origin
    column = step.judged_latency_column
    since = "intended start" if step.has_intended_starts else "start"
    done = rows.filter(is_done())
    dots = done if done.height <= DOT_COUNT_MAX else done.sample(DOT_COUNT_MAX, seed=1).sort("ended_at")
    sampled = "" if dots.height == done.height else f" (random sample of {DOT_COUNT_MAX:,})"
    width = bin_seconds(total, at_least=LATENCY_BIN_SECONDS_MIN)
    bins = (
        done.with_columns((((pl.col("ended_at") - origin) / width).floor() * width).alias("bin"))
        .sort("bin")
        .partition_by("bin", maintain_order=True)
    )
    traces = [
        Trace(
            f"each request{sampled}",
            "faint",
            [round(at, 2) for at in dots["ended_at"] - origin],
            rounded(dots[column], 1),
            kind="dots",
        )
    ]
    for name, colour, dash in (("p50", "main", "solid"), ("p95", "second", "dash"), ("p99", "third", "dot")):
        x = [float(part["bin"][0]) + width / 2 for part in bins]
        y = [nearest_rank(part[column], QUANTILES[name]) for part in bins]
        traces.append(Trace(name, colour, x, rounded(y, 1), dash=dash))
    return Chart(
        "latency-time",
        "Latency over time",
        f"Time from the {since} of a request until its answer, with percentiles over bins of {width} s. In a bin with "
        "fewer than 100 requests, p99 is the slowest one.",
        "ms",
        traces,
        width="wide",
    )


def window_latency(rows: pl.DataFrame, step: StepEntry, column: str) -> pl.Series:
    """Latencies in ms of the requests of the measuring window that succeeded or failed as expected, sorted."""
    window = Window(step.window.started_at, step.window.ended_at)
    return timed_within(counted(rows, step.load.flows_after), window).filter(is_done())[column].drop_nulls().sort()


def latency_histogram(latency: pl.Series) -> Chart:
    return histogram(
        latency,
        "latency-histogram",
        "Latency distribution",
        "Requests in the measuring window by latency. Several peaks mean that requests wait for different things.",
        "requests",
    )


def consensus_histogram(latency: pl.Series) -> Chart:
    return histogram(
        latency,
        "consensus-latency",
        "Consensus latency",
        "Transactions in the measuring window by the time from the arrival of the notary's signature at the initiator "
        "until the last party committed the transaction.",
        "transactions",
    )


def share_trace(latency: pl.Series, unanswered: int, name: str, colour: str, dash: str) -> list[Trace]:
    """The share of requests that took at most x (sorted, in ms); ``unanswered`` more took longer than any x."""
    count = len(latency)
    if not count:
        return []
    places = sorted({round(number * (count - 1) / (STEP_COUNT_MAX - 1)) for number in range(STEP_COUNT_MAX)})
    x = [round(float(latency[place]), 2) for place in places]
    y: list[float | None] = [round(100 * (place + 1) / (count + unanswered), 3) for place in places]
    return [Trace(name, colour, x, y, kind="steps", dash=dash)]


def latency_ecdf(rows: pl.DataFrame, step: StepEntry) -> Chart:
    """The cumulative distribution of the latency; from the intended start too, where requests have one."""
    sent = window_latency(rows, step, "latency_ms")
    traces = share_trace(sent, step.latency_ms.unanswered, "share", "main", "solid")
    if step.has_intended_starts:
        intended = window_latency(rows, step, "latency_intended_ms")
        traces = share_trace(intended, step.latency_intended_ms.unanswered, "from the intended start", "main", "solid")
        traces += share_trace(sent, step.latency_ms.unanswered, "from the real start", "second", "dash")
    return Chart(
        "latency-ecdf",
        "Cumulative latency distribution",
        "The share of requests that took at most the time on the x axis.",
        "% of requests",
        traces,
        x_title="ms",
        is_over_time=False,
    )


def lag(rows: pl.DataFrame, step: StepEntry) -> Chart:
    origin = step.window.load_started_at
    pool = step.bursts.pool if step.bursts else step.load.users
    timed = with_lag(rows.filter(pl.col("intended_at").is_not_null()), pool)
    traces = []
    for name, colour, part in (
        ("free place in the pool: lag of the generator", "main", timed.filter(pl.col("pool_was_free"))),
        ("pool full: waited for the system", "second", timed.filter(~pl.col("pool_was_free"))),
    ):
        dots = part if part.height <= DOT_COUNT_MAX else part.sample(DOT_COUNT_MAX, seed=1).sort("started_at")
        if dots.height:
            x = [round(at, 2) for at in dots["intended_at"] - origin]
            traces.append(Trace(name, colour, x, rounded(dots["lag_ms"], 2), kind="dots"))
    return Chart(
        "lag",
        "Schedule lag",
        "How much later than intended each request started. Values near zero are good. Rising values show a queue for "
        "the pool.",
        "ms",
        traces,
        width="wide",
    )


def in_flight(rows: pl.DataFrame, metrics: pl.DataFrame, step: StepEntry) -> Chart:
    origin = step.window.load_started_at
    total = step.window.load_ended_at - origin
    x = [round(total * number / STEP_COUNT_MAX, 2) for number in range(STEP_COUNT_MAX + 1)]
    levels = in_flight_levels(rows).with_columns(pl.col("at") - origin)
    grid = pl.DataFrame({"at": x}).join_asof(levels, on="at", strategy="backward")
    traces = [Trace("generator, from the rows", "ink", x, rounded(grid["level"].fill_null(0).to_list()), kind="steps")]
    traces += by_node(metrics, "node_flows_in_flight", origin, dash="dash")
    return Chart(
        "in-flight",
        "In flight",
        "Requests that wait for an answer at the generator, and flows in flight at each node. The flows of responders "
        "count too.",
        "flows",
        traces,
    )


def all_charts(
    rows: pl.DataFrame, metrics: pl.DataFrame, samples: pl.DataFrame, step: StepEntry, consensus: pl.Series | None
) -> list[Chart]:
    origin = step.window.load_started_at
    return [
        throughput(rows, step),
        latency_over_time(rows, step),
        *([lag(rows, step)] if step.has_intended_starts else []),
        latency_histogram(window_latency(rows, step, step.judged_latency_column)),
        latency_ecdf(rows, step),
        *([consensus_histogram(consensus)] if consensus is not None else []),
        in_flight(rows, metrics, step),
        cpu(metrics, samples, step),
        *memory(metrics, samples, step),
        Chart(
            "heap",
            "Heap",
            "Heap in use at each node. A sawtooth at a constant level is normal. A rising one shows a leak, or a heap "
            "that is too small.",
            "MiB",
            by_node(metrics, "node_heap_used_bytes", origin, scale=1 / MIB),
        ),
        Chart(
            "gc",
            "Garbage collection",
            "Share of time that each node spends in garbage collection. Below 5 % is good. Above 20 %, the heap is too "
            "small for this load.",
            "% of time",
            by_node(metrics, "node_gc_share", origin, scale=100),
        ),
        queues(metrics, origin),
        lab_cost(metrics, origin),
    ]


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
    """One trace per node, and of PostgreSQL, with ``container`` and ``time``; of long loads, means over bins."""
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
