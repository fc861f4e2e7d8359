"""The series behind each chart of the report, computed from a run's stored rows and metrics.

A chart is plain data: traces with x and y, told by names what they are. Colours and shapes are given in the page, so
that it can follow the reader's light or dark mode. Time is in seconds since the load began.
"""

from typing import Any

import polars as pl

from corda_lab.report.chart import MIB, Chart, Trace, bin_seconds, histogram, rounded
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.open_load import with_lag
from corda_lab.steps.rows import QUANTILES, Window, ended_within, is_done, nearest_rank

LATENCY_BIN_SECONDS_MIN = 5
DOT_COUNT_MAX = 4000
STEP_COUNT_MAX = 400


def rate_trace(
    times: pl.Series, name: str, colour: str, *, total_seconds: float, kind: str, dash: str = "solid"
) -> Trace:
    """Events per second, in bins; a point stands in the middle of its bin. The last, shorter bin counts as what it is."""
    width = bin_seconds(total_seconds)
    edges = [float(edge) for edge in range(0, int(total_seconds) + 1, width)]
    x, y = [], []
    for start in edges:
        length = min(width, total_seconds - start)
        # A sliver at the end would show a wild rate.
        if length < width / 2:
            continue
        count = int(((times >= start) & (times < start + length)).sum())
        x.append(start + length / 2)
        y.append(count / length)
    return Trace(name, colour, x, rounded(y), kind=kind, dash=dash)


def throughput(rows: pl.DataFrame, step: StepEntry) -> Chart:
    """Started and completed flows per second."""
    origin, total = (
        step.window.load_started_at,
        step.window.load_ended_at - step.window.load_started_at,
    )
    done, failed = rows.filter(is_done()), rows.filter(~is_done())
    traces = [
        rate_trace(rows["started_at"] - origin, "started", "second", total_seconds=total, kind="line", dash="dot"),
        rate_trace(done["ended_at"] - origin, "completed (achieved)", "main", total_seconds=total, kind="area"),
    ]
    expected = rows.filter(pl.col("outcome") == "expected")
    if expected.height:
        traces.append(
            rate_trace(
                expected["ended_at"] - origin, "of them expected failures", "third", total_seconds=total, kind="line"
            )
        )
    if failed.height:
        traces.append(rate_trace(failed["ended_at"] - origin, "errors", "bad", total_seconds=total, kind="line"))
    mean = step.throughput_per_second
    about = (
        "Requests are meant to start at the times of a schedule, whatever the system does: where completed stays below "
        "started, or started below the rate, it does not keep up."
        if step.open_load
        else "With closed load a user starts its next flow when the last has ended, so what is started follows what is achieved."
    )
    return Chart(
        "throughput",
        "Throughput",
        f"Flows per second in bins of {bin_seconds(total)} s. {about} A flat line after the warm-up is a steady system.",
        "flows/s",
        traces,
        width="wide",
        marks=[{"kind": "mean", "value": round(mean, 3), "text": f"{mean:.2f} in the window"}],
    )


def latency_column(step: StepEntry) -> tuple[str, str]:
    """The latency that a model of load is judged by, and what it runs from."""
    if step.open_load:
        return "latency_intended_ms", "the intended start of a request"
    return "latency_ms", "sending a request"


def latency_over_time(rows: pl.DataFrame, step: StepEntry) -> Chart:
    """Every request as a dot, with percentiles in bins over it."""
    origin = step.window.load_started_at
    total = step.window.load_ended_at - origin
    column, since = latency_column(step)
    done = rows.filter(is_done())
    dots = done if done.height <= DOT_COUNT_MAX else done.sample(DOT_COUNT_MAX, seed=1).sort("ended_at")
    sampled = "" if dots.height == done.height else f" ({DOT_COUNT_MAX} drawn at random)"
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
        f"Time from {since} to the answer; percentiles in bins of {width} s. In a bin of fewer than 100 requests "
        "p99 is its slowest.",
        "ms",
        traces,
        width="wide",
    )


def window_latency(rows: pl.DataFrame, step: StepEntry, column: str) -> pl.Series:
    """Latency of the requests in the measuring window that ended as they should, sorted."""
    window = Window(step.window.started_at, step.window.ended_at)
    return ended_within(rows, window).filter(is_done())[column].drop_nulls().sort()


def latency_histogram(latency: pl.Series) -> Chart:
    """How many requests took how long."""
    return histogram(
        latency,
        "latency-histogram",
        "Latency distribution",
        "Requests of the measuring window by how long they took. More than one hill means more than one kind of wait.",
        "requests",
    )


def consensus_histogram(latency: pl.Series) -> Chart:
    """How long the parties took to commit what the notary had signed."""
    return histogram(
        latency,
        "consensus-latency",
        "Consensus latency",
        "Transactions of the measuring window by the time from the arrival of the notary's signature at the node that "
        "started the flow until the last party had committed.",
        "transactions",
    )


def share_trace(latency: pl.Series, name: str, colour: str, dash: str) -> list[Trace]:
    """Share of requests that took no longer than x; nothing without requests. ``latency`` is sorted."""
    count = len(latency)
    if not count:
        return []
    places = sorted({round(number * (count - 1) / (STEP_COUNT_MAX - 1)) for number in range(STEP_COUNT_MAX)})
    x = [round(float(latency[place]), 2) for place in places]
    y: list[float | None] = [round(100 * (place + 1) / count, 3) for place in places]
    return [Trace(name, colour, x, y, kind="steps", dash=dash)]


def latency_ecdf(rows: pl.DataFrame, step: StepEntry) -> Chart:
    """Share of requests that took no longer than x, from the intended start too where there is one."""
    sent = window_latency(rows, step, "latency_ms")
    traces = share_trace(sent, "share", "main", "solid")
    if step.open_load:
        intended = window_latency(rows, step, "latency_intended_ms")
        traces = share_trace(intended, "from the intended start", "main", "solid")
        traces += share_trace(sent, "from the real start", "second", "dash")
    return Chart(
        "latency-ecdf",
        "Share answered within a time",
        "Read it from the bottom: so many percent of the requests took at most that long.",
        "% of requests",
        traces,
        x_title="ms",
        is_over_time=False,
    )


def lag(rows: pl.DataFrame, step: StepEntry) -> Chart:
    """How much later than intended requests started, and whether a place of the pool was free for them."""
    origin = step.window.load_started_at
    pool = step.open_load.pool if step.open_load else step.load.users
    timed = with_lag(rows.filter(pl.col("intended_at").is_not_null()), pool)
    traces = []
    for name, colour, part in (
        ("a place was free: the generator's own lag", "main", timed.filter(pl.col("pool_was_free"))),
        ("all places taken: waited for the system", "second", timed.filter(~pl.col("pool_was_free"))),
    ):
        dots = part if part.height <= DOT_COUNT_MAX else part.sample(DOT_COUNT_MAX, seed=1).sort("started_at")
        if dots.height:
            x = [round(at, 2) for at in dots["intended_at"] - origin]
            traces.append(Trace(name, colour, x, rounded(dots["lag_ms"], 2), kind="dots"))
    return Chart(
        "lag",
        "Schedule lag",
        "How much later than intended each request started. Near zero is good; a climbing cloud is a queue in front of the pool.",
        "ms",
        traces,
        width="wide",
    )


def in_flight(rows: pl.DataFrame, metrics: pl.DataFrame, step: StepEntry) -> Chart:
    """Requests under way by the rows, and flows under way by bridge and nodes."""
    origin = step.window.load_started_at
    changes = pl.concat(
        [
            pl.DataFrame(
                {"at": rows["started_at"] - origin, "change": 1}, schema={"at": pl.Float64, "change": pl.Int32}
            ),
            pl.DataFrame(
                {"at": rows["ended_at"] - origin, "change": -1}, schema={"at": pl.Float64, "change": pl.Int32}
            ),
        ]
    ).sort("at", "change")
    levels = changes.with_columns(pl.col("change").cum_sum().alias("level"))
    total = step.window.load_ended_at - origin
    x = [round(total * number / STEP_COUNT_MAX, 2) for number in range(STEP_COUNT_MAX + 1)]
    grid = pl.DataFrame({"at": x}).join_asof(levels, on="at", strategy="backward")
    traces = [Trace("generator, from the rows", "ink", x, rounded(grid["level"].fill_null(0).to_list()), kind="steps")]
    traces += by_node(metrics, "node_flows_in_flight", origin, dash="dash")
    return Chart(
        "in-flight",
        "In flight",
        "Requests the generator waits for, and flows that each node has started and not ended. A party that only answers "
        "has flows too.",
        "flows",
        traces,
    )


def by_node(
    metrics: pl.DataFrame, name: str, origin: float, *, scale: float = 1.0, dash: str = "solid", suffix: str = ""
) -> list[Trace]:
    """One trace per node of a series; what the series has per node besides is summed."""
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
    """Depth of the message queues of each node's broker."""
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
        "Messages waiting in each node's broker: in = for the node itself, out = to its peers. Near zero is good; growth is "
        "a node that cannot keep up.",
        "messages",
        traces,
    )


def lab_cost(metrics: pl.DataFrame, origin: float) -> Chart:
    """Processor time of what is not the system under test."""
    samples = (
        metrics.filter(pl.col("name") == "lab_cpu_cores")
        .with_columns(pl.col("labels").str.json_path_match("$.job").alias("job"))
        .drop_nulls("job")
        .sort("job", "time")
    )
    colours = {"bridge": "main", "locust": "second", "prometheus": "third"}
    traces = [
        Trace(
            part["job"][0],
            colours.get(part["job"][0], "faint"),
            [round(at, 2) for at in part["time"] - origin],
            rounded(part["value"], 4),
        )
        for part in samples.partition_by("job", maintain_order=True)
    ]
    return Chart(
        "lab-cost",
        "The lab's own cost",
        "Processor cores used by bridge, generator and monitoring: taken from the nodes when all share one machine.",
        "cores",
        traces,
    )


def all_charts(
    rows: pl.DataFrame, metrics: pl.DataFrame, step: StepEntry, consensus: pl.Series | None
) -> list[dict[str, Any]]:
    """Every chart of the report, in order. ``consensus`` are the sorted consensus latencies, None where there are none."""
    origin = step.window.load_started_at
    charts = [
        throughput(rows, step),
        latency_over_time(rows, step),
        *([lag(rows, step)] if step.open_load else []),
        latency_histogram(window_latency(rows, step, latency_column(step)[0])),
        latency_ecdf(rows, step),
        *([consensus_histogram(consensus)] if consensus is not None else []),
        in_flight(rows, metrics, step),
        Chart(
            "cpu",
            "Processor",
            "Cores used by each node's process. Where they sum to all cores of the machine, the processor is the limit.",
            "cores",
            by_node(metrics, "node_cpu_cores", origin),
        ),
        Chart(
            "heap",
            "Heap",
            "Heap in use by each node. A saw that keeps its level is good; one that climbs is a leak or too small a heap.",
            "MiB",
            by_node(metrics, "node_heap_used_bytes", origin, scale=1 / MIB),
        ),
        Chart(
            "gc",
            "Garbage collection",
            "Share of time each node spent collecting. Below 5 % is good; above 20 % the heap is too small for this load.",
            "% of time",
            by_node(metrics, "node_gc_share", origin, scale=100),
        ),
        queues(metrics, origin),
        lab_cost(metrics, origin),
    ]
    return [chart.as_dict() for chart in charts]
