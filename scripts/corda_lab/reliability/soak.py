"""Judges a stored soak: from the run of the sweep ``soak``, and the live objects that were counted meanwhile."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import polars as pl

from corda_lab import __version__
from corda_lab.errors import LabError
from corda_lab.lab.settings import Settings
from corda_lab.reliability.growth import Growth, Statistic, Unit, windows
from corda_lab.reliability.soak_file import KIND, SoakFile
from corda_lab.results import folders
from corda_lab.results.audits import Audit
from corda_lab.results.manifest import Environment
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.rows import nearest_rank
from corda_lab.text.words import plural

SWEEP = "soak"
PEAK_STEP = "peak"
SOAK_STEP = "soak"
WINDOW_MINUTES = 5.0
"""Long enough for a queue to be empty at one of its sixty scrapes."""
MEDIAN_MINUTES = 1.0
QUANTILES = {"p50": (0.50, MEDIAN_MINUTES), "p95": (0.95, WINDOW_MINUTES)}
"""Latencies: the quantile, and the length of the windows of which each is taken. Two hours have too few requests beyond
p99 to tell its slope to 2 %: the interval would be some ±3 % an hour. Whether two hours can tell even these depends on
their scatter, so a soak does not fail if they cannot."""
HEAP_SECONDS = 120.0
"""Time between two counts of the live objects. During one, a JVM stands still for up to a second."""
CLIENTS = "bridge_connections"
"""The series with the number of connections that clients have to the bridge."""
OWN_CONNECTIONS = 1
"""The connections of the lab itself, which reads the ledgers after the load."""
BRIDGE = "bridge"
"""The place of the bridge's JVM."""


@dataclass(frozen=True)
class HeapReading:
    """The bytes of the live objects of one JVM at a time in unix seconds."""

    place: str
    at: float
    live_bytes: int


@dataclass(frozen=True)
class HeapProblem:
    """Why the objects of one JVM could not be counted at a time in unix seconds."""

    place: str
    at: float
    text: str


@dataclass(frozen=True)
class Heaps:
    """What was counted of the live objects of all JVMs, and what could not be."""

    readings: Sequence[HeapReading] = ()
    problems: Sequence[HeapProblem] = ()

    def within(self, began: float, ended: float) -> "Heaps":
        """What belongs to a part of the time."""
        return Heaps(
            [one for one in self.readings if began <= one.at < ended],
            [one for one in self.problems if began <= one.at < ended],
        )

    def warnings(self) -> Iterator[str]:
        """The places that could not be counted now and then, each with the last reason."""
        for place in dict.fromkeys(one.place for one in self.problems):
            own = [one for one in self.problems if one.place == place]
            times = plural(len(own), "time")
            yield f"the heap of {place} was not counted {times}, the last time because: {own[-1].text}"


@dataclass(frozen=True)
class Watched:
    """A series of ``metrics.parquet`` that is judged. All series of a node, or of the lab, are added up."""

    series: str
    name: str
    statistic: Statistic
    by_node: bool = True
    """Whether every node has it. Otherwise it is one value of the whole lab."""
    must_be_told: bool = True
    """Whether the soak fails if the scatter hides the slope."""


WATCHED = (
    Watched("node_rpc_connections", "RPC connections", "lowest"),
    Watched("hikari_connections_open", "database connections", "lowest"),
    Watched(CLIENTS, "connections of clients", "lowest", by_node=False, must_be_told=False),
    Watched("bridge_client_ids", "client ids on nodes", "mean"),
    Watched("artemis_queue_messages", "messages in queues", "lowest"),
    Watched("node_rpc_queue_messages", "RPC requests in queues", "lowest"),
    Watched("hikari_connections_pending", "threads that wait for a database connection", "lowest"),
)
"""What is counted. A queue that keeps what it gets is not empty even at its best moment, so of connections and queues
the lowest of each window counts: the load makes all other values scatter. The ids on a node are never few, and with
constant arrivals they hardly scatter. The connections of clients are as many as the most flows that were in flight at
once in the last minute, for so long a client may keep one that it does not use. So their slope may be hidden, and
what counts is how many are left after the load."""


def judged(run: StoredRun, heaps: Heaps, audit: Audit) -> SoakFile:
    """What a run of the sweep says about the soak, with the audit of its ledgers. Raises LabError if it has no soak."""
    peak, soak = step_of(run, PEAK_STEP), step_of(run, SOAK_STEP)
    rate = soak.load.rate_per_second
    if rate is None:
        raise LabError(f"{run.identity}: its step {SOAK_STEP!r} offers no rate", f"Run the sweep {SWEEP}.")
    requests = soak.requests
    counted = heaps.within(soak.window.started_at, soak.window.ended_at)
    left = connections_left(run, soak)
    return SoakFile(
        id=folders.run_id(KIND),
        lab_version=__version__,
        environment=run.environment(soak),
        workload=soak.workload,
        run=run.identity,
        peak_per_second=peak.throughput_per_second,
        rate_per_second=rate,
        throughput_per_second=soak.throughput_per_second,
        window_seconds=soak.window.seconds,
        warm_up_seconds=soak.window.warm_up_seconds,
        outcomes={name: getattr(requests, name) for name in ("ok", "expected", "failed", "unknown")},
        growths=tuple(growths_of(run, soak, counted)),
        ledger_bytes_per_flow=dict(soak.costs.database_bytes_per_flow),
        connections_left=left,
        warnings=(*(str(one) for one in (*soak.flags, *soak.unsteady)), *counted.warnings()),
        problems=tuple(problems_of(soak, audit, left)),
    )


def connections_left(run: StoredRun, soak: StepEntry) -> int | None:
    """How many connections of clients there are after the load, at the lowest; None if nobody knows."""
    is_after = (pl.col("name") == CLIENTS) & (pl.col("time") > soak.window.load_ended_at)
    after = run.table("metrics").filter(is_after)["value"].to_list()
    return int(min(after)) if after else None


def step_of(run: StoredRun, name: str) -> StepEntry:
    """The named step of the sweep. Raises LabError if the run has none."""
    for step in run.steps:
        if step.point.get("step") == name:
            return step
    raise LabError(f"{run.identity} has no step {name!r}", f"Run the sweep {SWEEP}.")


def problems_of(soak: StepEntry, audit: Audit, left: int | None) -> Iterator[str]:
    """Why the soak does not count. ``left`` is the number of connections of clients after the load."""
    yield from dict.fromkeys(str(one) for one in (*soak.validity.reasons, *soak.verdict.reasons))
    if audit.verdict != "passed":
        yield f"the audit of the ledgers: {audit.summary}"
    if left is None:
        yield f"the run has no samples of {CLIENTS} after the load"
    elif left > OWN_CONNECTIONS:
        yield f"clients had {plural(left, 'connection')} after the load, at the lowest, and the lab itself has one"


def growths_of(run: StoredRun, soak: StepEntry, heaps: Heaps) -> Iterator[Growth]:
    """Every value that is judged at every place, with its points over the measuring window of the soak.

    One that was not measured is there too, without a point.
    """
    began, ended = soak.window.started_at, soak.window.ended_at
    nodes = nodes_of(run.environment(soak))
    yield from heap_growths(heaps, (*nodes, BRIDGE), began, ended)
    metrics = run.table("metrics").filter(pl.col("time").is_between(began, ended))
    for watched in WATCHED:
        yield from series_growths(metrics, watched, nodes, began, ended)
    yield from latency_growths(run, soak)


def nodes_of(environment: Environment) -> tuple[str, ...]:
    """The nodes of the lab in which a soak was made."""
    return Settings({**environment.settings, **environment.shape}, "soak").nodes


def heap_growths(heaps: Heaps, places: Sequence[str], began: float, ended: float) -> Iterator[Growth]:
    """The live objects of each JVM, at the moments at which they were counted."""
    expected = int((ended - began) / HEAP_SECONDS)
    for place in places:
        points = [((one.at - began) / 60, float(one.live_bytes)) for one in heaps.readings if one.place == place]
        problems = [one.text for one in heaps.problems if one.place == place]
        why = f"it was never counted: {problems[-1]}" if problems else "it was never counted"
        yield _growth("heap after collection", place, "bytes", "live objects", points, expected, missing=why)


def series_growths(
    metrics: pl.DataFrame, watched: Watched, nodes: Sequence[str], began: float, ended: float
) -> Iterator[Growth]:
    """The windows of one series, for every node or for the whole lab."""
    own = metrics.filter(pl.col("name") == watched.series).with_columns(pl.col("node").fill_null(""))
    expected = _whole_windows(began, ended, WINDOW_MINUTES)
    summed = own.group_by("node", "time").agg(pl.col("value").sum()).sort("node", "time")
    for node in nodes if watched.by_node else ("",):
        one = summed.filter(pl.col("node") == node)
        parts = windows(one["time"].to_list(), one["value"].to_list(), began=began, ended=ended, minutes=WINDOW_MINUTES)
        points = [(at, min(some) if watched.statistic == "lowest" else fmean(some)) for at, some in parts]
        missing = f"the run has no samples of {watched.series}"
        told = watched.must_be_told
        yield _growth(
            watched.name, node, "count", watched.statistic, points, expected, missing=missing, must_be_told=told
        )


def latency_growths(run: StoredRun, soak: StepEntry) -> Iterator[Growth]:
    """Percentiles of the latency from the intended start, of the requests that were meant for each window.

    A request that was not answered counts as slower than all others. A window of which the percentile is such a request
    has no value, and no soak with one passes: its step is invalid.
    """
    column = soak.judged_latency_column
    rows = run.table("requests").filter((pl.col("step") == soak.index) & pl.col("intended_at").is_not_null())
    answered = pl.when(pl.col("outcome").is_in(["ok", "expected"])).then(pl.col(column)).otherwise(math.inf)
    rows = rows.with_columns(answered.alias("judged")).sort("intended_at")
    times, values = rows["intended_at"].to_list(), rows["judged"].to_list()
    began, ended = soak.window.started_at, soak.window.ended_at
    statistics: dict[str, Statistic] = {"p50": "p50", "p95": "p95"}
    for name, (quantile, minutes) in QUANTILES.items():
        found = windows(times, values, began=began, ended=ended, minutes=minutes)
        points = [(at, nearest_rank(pl.Series(some), quantile)) for at, some in found]
        answered_ones = [one for one in points if math.isfinite(one[1])]
        missing = "no request was meant for the window"
        expected = _whole_windows(began, ended, minutes)
        yield _growth(
            f"latency, {name}",
            "",
            "ms",
            statistics[name],
            answered_ones,
            expected,
            missing=missing,
            must_be_told=False,
        )


def _whole_windows(began: float, ended: float, minutes: float) -> int:
    return int((ended - began) / 60 / minutes + 1e-6)


def _growth(
    name: str,
    place: str,
    unit: Unit,
    statistic: Statistic,
    points: Sequence[tuple[float, float]],
    expected: int,
    *,
    missing: str,
    must_be_told: bool = True,
) -> Growth:
    """The growth of a value. ``expected`` is how many points it should have, ``missing`` why it has none."""
    digits = 0 if unit == "bytes" else 3
    return Growth(
        name=name,
        place=place,
        unit=unit,
        statistic=statistic,
        minutes=tuple(round(at, 3) for at, _ in points),
        values=tuple(round(value, digits) for _, value in points),
        points=expected,
        must_be_told=must_be_told,
        missing=None if points else missing,
    )
