"""What nodes and other parts of the lab used in the measuring window: CPU, memory, heap, collections, RPC.

CPU and memory come from samples of the containers, one each second: a scrape every five seconds misses the peaks of
short loads. ``docs/methodology.md`` defines every value.
"""

from collections.abc import Sequence

import polars as pl

from corda_lab.steps.costs import DATABASE, counter_rise
from corda_lab.steps.entry import WHOLE, Number, Values
from corda_lab.steps.rows import Window

SAMPLES_SCHEMA = pl.Schema(
    {
        "container": pl.String,
        "time": pl.Float64,
        "cpu_seconds": pl.Float64,
        "memory_bytes": pl.Int64,
    }
)
"""The columns of ``samples.parquet``: the part of the lab (``PartyA``, ``PostgreSQL``, ``bridge``), unix seconds,
CPU-seconds since the start of its container, and the bytes that its processes have allocated."""

PARTS = (DATABASE, "bridge", "locust", "prometheus")

NO_SAMPLES = pl.DataFrame(schema=SAMPLES_SCHEMA)

AFTER_SECONDS = 60.0
"""When memory is read again after the load."""
AFTER_MEAN_SECONDS = 5.0
"""The memory after the load is the mean over so long a time, which ends ``AFTER_SECONDS`` after the load."""

SMOOTH_SAMPLES = 3
PEAK_SHARE, VALLEY_SHARE = 0.5, 0.25
"""A peak rises above the first share of the highest CPU. The next one counts after a fall below the second."""


def usage_values(samples: pl.DataFrame, metrics: pl.DataFrame, window: Window, load_ended_at: float) -> Values:
    """What each part of the lab used. ``samples`` has the columns of ``SAMPLES_SCHEMA``; times are unix seconds.

    If the containers could not be watched, CPU and memory of the nodes are those of the scrapes, without the highest
    CPU and the peaks of one second.
    """
    rates = cpu_rates(samples, window)
    memory = _within(samples, window).rename({"memory_bytes": "value"})
    later = Window(window.started_at + window.seconds / 2, window.ended_at)
    resident = _scraped(metrics, "node_resident_bytes", window)
    node_cores = counter_rise(metrics, "node_cpu_seconds_total", window)
    in_nodes = rates.filter(~pl.col("container").is_in(PARTS))
    together = in_nodes.group_by("time").agg(pl.col("percent").sum()).sort("time")["percent"]
    found: Values = {
        "cpu_percent": {name: 100 * cores for name, cores in node_cores.items()} | _mean_cpu(samples, window),
        "cpu_percent_max": _of(rates, pl.col("percent").max()),
        "cpu_peaks": {
            **{
                str(part["container"][0]): peaks(part["percent"].to_list())
                for part in rates.partition_by("container", maintain_order=True)
            },
            **({WHOLE: peaks(together.to_list())} if len(together) else {}),
        },
        "resident_bytes": _of(resident, pl.col("value").mean()) | _of(memory, pl.col("value").mean()),
        "resident_max_bytes": _of(resident, pl.col("value").max()) | _of(memory, pl.col("value").max()),
        "resident_after_bytes": memory_after(samples, load_ended_at),
        "heap_floor_bytes": _of(_scraped(metrics, "node_heap_kept_bytes", later), pl.col("value").min()),
        "heap_used_max_bytes": _of(_scraped(metrics, "node_heap_used_bytes", window), pl.col("value").max()),
        "gc_percent": {
            name: 100 * share for name, share in counter_rise(metrics, "node_gc_seconds_total", window).items()
        },
        "rpc_connections": _of(_scraped(metrics, "node_rpc_connections", window), pl.col("value").max()),
        "rpc_queue_depth": _of(_scraped(metrics, "node_rpc_queue_messages", window), pl.col("value").max()),
        # Rates of Prometheus would reach back before the window.
        "node_cpu_cores": {**node_cores},
        "lab_cpu_cores": counter_rise(metrics, "lab_cpu_seconds_total", window, label="job"),
        "node_heap_used_bytes": mean_in_window(metrics, "node_heap_used_bytes", window),
        "node_gc_share": mean_in_window(metrics, "node_gc_share", window),
    }
    return found


def _within(samples: pl.DataFrame, window: Window) -> pl.DataFrame:
    return samples.filter(pl.col("time").is_between(window.started_at, window.ended_at)).sort("container", "time")


def _scraped(metrics: pl.DataFrame, name: str, window: Window) -> pl.DataFrame:
    """The scrapes of a metric in the window, with the columns ``container``, ``time`` and ``value``."""
    found = metrics.filter((pl.col("name") == name) & pl.col("node").is_not_null())
    return _within(found.select(pl.col("node").alias("container"), "time", "value"), window)


def mean_in_window(metrics: pl.DataFrame, name: str, window: Window) -> dict[str, Number]:
    """The mean of the scrapes of a metric in the window, by node."""
    return _of(_scraped(metrics, name, window), pl.col("value").mean())


def _of(values: pl.DataFrame, value: pl.Expr) -> dict[str, Number]:
    """A value by container, without those that have none."""
    found = values.group_by("container").agg(value.alias("of")).drop_nulls().sort("container")
    return {str(name): float(each) for name, each in found.iter_rows()}


def _mean_cpu(samples: pl.DataFrame, window: Window) -> dict[str, float]:
    """The mean CPU by container, in % of one core: the rise from the first to the last sample in the window."""
    counted = (
        _within(samples, window)
        .drop_nulls("cpu_seconds")
        .select(
            pl.lit("cpu").alias("name"), pl.col("container").alias("node"), "time", pl.col("cpu_seconds").alias("value")
        )
    )
    return {name: 100 * cores for name, cores in counter_rise(counted, "cpu", window).items()}


def cpu_rates(samples: pl.DataFrame, window: Window) -> pl.DataFrame:
    """The CPU of every container between two samples of the window, in % of one core.

    Columns: ``container``, ``time`` (unix seconds, of the later sample) and ``percent``. A container that has started
    again counts from 0, so the time in between is left out.
    """
    rises = (
        _within(samples, window)
        .drop_nulls("cpu_seconds")
        .with_columns(
            pl.col("cpu_seconds").diff().over("container").alias("rise"),
            pl.col("time").diff().over("container").alias("seconds"),
        )
        .filter((pl.col("rise") >= 0) & (pl.col("seconds") > 0))
    )
    return rises.select("container", "time", (100 * pl.col("rise") / pl.col("seconds")).alias("percent"))


def peaks(percent: Sequence[float]) -> int:
    """The number of separate peaks in values taken each second.

    The values are averaged over three seconds. A peak begins where they rise above half of their maximum, and ends
    where they fall below a quarter of it. So a load without a pause is one peak, however much it varies.
    """
    smooth = [_mean(percent[max(0, place - 1) : place + SMOOTH_SAMPLES - 1]) for place in range(len(percent))]
    highest = max(smooth, default=0.0)
    if highest <= 0:
        return 0
    count, is_high = 0, False
    for value in smooth:
        if not is_high and value > PEAK_SHARE * highest:
            count, is_high = count + 1, True
        elif is_high and value < VALLEY_SHARE * highest:
            is_high = False
    return count


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def memory_after(samples: pl.DataFrame, load_ended_at: float) -> dict[str, float]:
    """The memory of every container ``AFTER_SECONDS`` after the load; empty if the samples do not reach so far."""
    ends = load_ended_at + AFTER_SECONDS
    last = samples["time"].max()
    if not isinstance(last, float) or last < ends - 2:
        return {}
    late = samples.filter(pl.col("time").is_between(ends - AFTER_MEAN_SECONDS, ends))
    return _of(late, pl.col("memory_bytes").mean())
