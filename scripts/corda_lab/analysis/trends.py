"""What a long load did to the lab over its measuring window: heaps, connections, queues, latency. What leaks, grows.

Each value is a series of points, one for each part of the window, and has a slope per hour with its interval
(``stats.slope``, which allows for autocorrelation). ``docs/methodology.md`` defines them.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import polars as pl

from corda_lab.results.stored import StoredRun
from corda_lab.stats.slope import Slope, slope_of
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.rows import nearest_rank

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
    window = step.window
    if window.seconds < LONG_SECONDS:
        return []
    spans = _Spans(window.started_at, window.ended_at)
    metrics = run.table("metrics").filter(pl.col("name").is_in([one.series for one in WATCHED]))
    if "step" in metrics.columns:
        metrics = metrics.filter(pl.col("step") == step.index)
    requests = run.table("requests").filter(pl.col("step") == step.index)
    found = [*_series(spans, spans.of(metrics, "time")), *_latencies(step, spans, requests)]
    return [trend for trend in found if trend is not None]


@dataclass(frozen=True)
class _Spans:
    """A window (unix seconds), cut into parts of the same length. A last part that is shorter is left out."""

    began: float
    ended: float

    @property
    def seconds(self) -> float:
        return max(PART_SECONDS_MIN, (self.ended - self.began) / PARTS)

    def of(self, table: pl.DataFrame, column: str) -> pl.DataFrame:
        """The rows within the window, with the number of the part that the time in a column belongs to."""
        whole = int((self.ended - self.began) / self.seconds + 1e-6)
        part = ((pl.col(column) - self.began) / self.seconds).floor().cast(pl.Int64)
        return table.with_columns(part.alias("span")).filter(pl.col("span").is_between(0, whole - 1))

    def trend(self, name: str, place: str, unit: Unit, points: pl.DataFrame) -> Trend | None:
        """The trend through points (``span``, ``value``); None if too few of them have a value."""
        points = points.filter(pl.col("value").is_finite()).sort("span")
        hours = tuple((number + 0.5) * self.seconds / 3600 for number in points["span"])
        values = tuple(points["value"])
        slope = slope_of(hours, values)
        return None if slope is None else Trend(name, place, unit, hours, values, slope)


def _series(spans: _Spans, metrics: pl.DataFrame) -> Iterator[Trend | None]:
    job = pl.col("labels").str.json_path_match("$.job")
    placed = metrics.with_columns(pl.coalesce("node", job, pl.lit("")).alias("place"))
    summed = placed.group_by("name", "place", "time", "span").agg(pl.col("value").sum())
    for watched in WATCHED:
        own = summed.filter(pl.col("name") == watched.series)
        of_part = pl.col("value").min() if watched.is_lowest else pl.col("value").mean()
        for place in own["place"].unique().sort():
            points = own.filter(pl.col("place") == place).group_by("span").agg(of_part)
            yield spans.trend(watched.name, place, watched.unit, points)


def _latencies(step: StepEntry, spans: _Spans, requests: pl.DataFrame) -> Iterator[Trend | None]:
    """Percentiles of the latency that counts, of the requests of each part. One without an answer is the slowest."""
    column = step.judged_latency_column
    began = "intended_at" if step.has_intended_starts else "started_at"
    answered = pl.when(pl.col("outcome").is_in(["ok", "expected"])).then(pl.col(column)).otherwise(math.inf)
    parts = spans.of(requests.with_columns(answered.alias("judged")), began).group_by("span").agg("judged")
    for name, quantile in QUANTILES.items():
        values = [nearest_rank(judged, quantile) for judged in parts["judged"]]
        points = pl.DataFrame({"span": parts["span"], "value": values}, schema_overrides={"value": pl.Float64})
        yield spans.trend(f"latency, {name}", "", "ms", points)
