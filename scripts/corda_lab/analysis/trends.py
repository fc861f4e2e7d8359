"""What a long load did to the lab over its measuring window: heaps, connections, queues, latency. What leaks, grows.

Each value is a series of points, one for each part of the window, and has a slope per hour with its interval
(``stats.slope``, which allows for autocorrelation). ``docs/methodology.md`` defines them.
"""

import math
from dataclasses import dataclass
from typing import Literal

import polars as pl

from corda_lab.results.stored import StoredRun
from corda_lab.stats.slope import Slope, slope_of
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.rows import is_done, nearest_rank

LONG_SECONDS = 600.0
"""Shorter windows have no trends: what grows in them is warming, and too few points are left."""
PARTS = 24
"""Points of a value, if its parts are not shorter than ``PART_SECONDS_MIN``."""
PART_SECONDS_MIN = 60.0
QUANTILES = {"p50": 0.50, "p95": 0.95}

Unit = Literal["bytes", "ms", "count"]
Direction = Literal["grows", "falls", "none seen"]


@dataclass(frozen=True)
class Watched:
    """A series of ``metrics.parquet`` whose trend is shown. What belongs to the same place is added up.

    Of connections and queues, the lowest sample of each part counts: what keeps something is not empty even at its best
    moment, and nothing else of it is free of the load's own scatter.
    """

    series: str
    name: str
    unit: Unit = "count"
    is_lowest: bool = True


WATCHED = (
    Watched("node_heap_kept_bytes", "heap after collection", "bytes"),
    Watched("lab_resident_bytes", "memory", "bytes"),
    Watched("node_rpc_connections", "RPC connections"),
    Watched("hikari_connections_open", "database connections"),
    Watched("bridge_connections", "connections of clients"),
    Watched("bridge_client_ids", "client ids on nodes", is_lowest=False),
    Watched("artemis_queue_messages", "messages in queues"),
    Watched("node_rpc_queue_messages", "RPC requests in queues"),
    Watched("hikari_connections_pending", "threads that wait for a database connection"),
)


@dataclass(frozen=True)
class Trend:
    """The points of one value over a measuring window, and the slope through them per hour."""

    name: str
    place: str
    """The node or the part of the lab; empty for a value of the whole."""
    unit: Unit
    hours: tuple[float, ...]
    """The middles of the parts, from the begin of the window."""
    values: tuple[float, ...]
    slope: Slope
    """In the unit of the value, per hour."""

    @property
    def mean(self) -> float:
        """The mean of the points."""
        return math.fsum(self.values) / len(self.values)

    @property
    def direction(self) -> Direction:
        """Whether the whole interval of the slope is on one side of zero."""
        return "grows" if self.slope.low > 0 else "falls" if self.slope.high < 0 else "none seen"


def of_step(run: StoredRun, step: StepEntry) -> list[Trend]:
    """The trends of a step of a run, those of which enough was measured. Empty if its window is not long."""
    if step.window.seconds < LONG_SECONDS:
        return []
    seconds = _part_seconds(step)
    found = []
    for points in (_sampled(run, step), _latencies(run, step)):
        known = points.filter(pl.col("value").is_finite())
        for (name, place, unit), part in known.group_by("name", "place", "unit", maintain_order=True):
            hours = tuple((number + 0.5) * seconds / 3600 for number in part["span"])
            values = tuple(part["value"])
            slope = slope_of(hours, values)
            if slope is not None:
                found.append(Trend(str(name), str(place), unit, hours, values, slope))
    return found


def _part_seconds(step: StepEntry) -> float:
    return max(PART_SECONDS_MIN, (step.window.ended_at - step.window.started_at) / PARTS)


def _in_parts(table: pl.DataFrame, time: str, step: StepEntry) -> pl.DataFrame:
    """The rows of a step within its window, with ``span``, the number of the part that a time (unix seconds) is in.

    The parts have the same length. A last part that is shorter is left out.
    """
    seconds = _part_seconds(step)
    whole = int((step.window.ended_at - step.window.started_at) / seconds + 1e-6)
    span = ((pl.col(time) - step.window.started_at) / seconds).floor().cast(pl.Int64)
    return (
        table.filter(pl.col("step") == step.index)
        .with_columns(span=span)
        .filter(pl.col("span").is_between(0, whole - 1))
    )


def _sampled(run: StoredRun, step: StepEntry) -> pl.DataFrame:
    """A point for each watched series, place and part: ``name``, ``place``, ``unit``, ``span`` and ``value``."""
    watched = pl.DataFrame(WATCHED).with_row_index("order").rename({"name": "title"})
    place = pl.coalesce("node", pl.col("labels").str.json_path_match("$.job"), pl.lit("")).alias("place")
    return (
        _in_parts(run.table("metrics"), "time", step)
        .group_by("name", place, "time", "span", maintain_order=True)
        .agg(pl.col("value").sum())
        .group_by("name", "place", "span", maintain_order=True)
        .agg(lowest=pl.col("value").min(), mean=pl.col("value").mean())
        .join(watched, left_on="name", right_on="series")
        .sort("order", "place", "span")
        .select(
            pl.col("title").alias("name"),
            "place",
            "unit",
            "span",
            pl.when("is_lowest").then("lowest").otherwise("mean").alias("value"),
        )
    )


def _latencies(run: StoredRun, step: StepEntry) -> pl.DataFrame:
    """Percentiles of the latency that counts, of the requests of each part. One without an answer is the slowest."""
    began = "intended_at" if step.has_intended_starts else "started_at"
    answered = pl.when(is_done()).then(step.judged_latency_column).otherwise(math.inf).alias("judged")
    parts = _in_parts(run.table("requests"), began, step).group_by("span").agg(answered).sort("span")
    rows = [
        (f"latency, {name}", "", "ms", span, nearest_rank(judged, quantile))
        for name, quantile in QUANTILES.items()
        for span, judged in zip(parts["span"], parts["judged"], strict=True)
    ]
    return pl.DataFrame(rows, ["name", "place", "unit", "span", "value"], orient="row")
