"""The values of open load: offered, late and dropped arrivals, and whether the generator or the system is the reason.

A schedule gives each arrival an intended time. It starts at this time if the pool has a free place; otherwise it waits
for one. Its lag is the time from the intended start to the real start. If an arrival found a free place, its lag is due
to the generator; if the pool was full, it is due to the system.
"""

import math

import polars as pl

from corda_lab.steps.entry import WHOLE, StepEntry, Values, of_whole
from corda_lab.steps.reasons import Reason, reason
from corda_lab.steps.rows import QUANTILES, Window, dropped_within, is_done, nearest_rank, timed_within
from lab_workload.load import LATE_SECONDS
from lab_workload.run_end import RunEnd

OPEN_ARRIVALS = frozenset({"constant", "poisson"})

LATE_MS = 1000 * LATE_SECONDS

GENERATOR_LAG_SHARE_MAX = 0.05
"""The lag of the generator may be this share of the median latency (from the intended start), or ``LATE_MS`` if that is
more. The lag is part of this latency, and changes it by no more than this share."""

GENERATOR_LATE_SHARE_MAX = 0.01
"""Share of the requests in the window that may have a larger lag; one request always may. If more have it, the
generator was the limit."""


def with_lag(rows: pl.DataFrame, pool: int) -> pl.DataFrame:
    """The rows of open load with the columns ``lag_ms``, ``pool_was_free`` and ``pool_was_full_once`` (by worker).

    The pool was free for a request if, at its intended start, fewer than ``pool`` of the requests with an earlier
    intended start were unfinished. Places are taken in order of the intended start, so waiting requests come before
    later ones. Every worker has its own pool, an even share of all places.
    """
    # Without rows there is one empty part, which has the columns too.
    workers = rows.partition_by("worker", maintain_order=True) if rows.height else [rows]
    share = max(1, pool // max(1, len(workers)))
    timed = []
    for own in workers:
        intended, ends = own["intended_at"].sort(), own["ended_at"].sort()
        due = intended.search_sorted(own["intended_at"], side="left").cast(pl.Int64)
        ended = ends.search_sorted(own["intended_at"], side="right").cast(pl.Int64)
        timed.append(
            own.with_columns(
                ((pl.col("started_at") - pl.col("intended_at")) * 1000).clip(lower_bound=0.0).alias("lag_ms"),
                (due - ended < share).alias("pool_was_free"),
                pl.lit(max_in_flight(own) >= share).alias("pool_was_full_once"),
            )
        )
    return pl.concat(timed).sort("started_at", "request_id")


def lag_values(timed: pl.DataFrame) -> Values:
    """The lag of the generator itself, of requests that ``with_lag`` has timed: of those that found a free place.

    In ``generator_lag_ms_p99``, it is 0 for the others. ``generator_late`` is the number of those above
    ``generator_lag_ms_max``. A lag up to that changes no value by more than ``GENERATOR_LAG_SHARE_MAX``.
    """
    answered = timed.filter(is_done())["latency_intended_ms"]
    median = 0.0 if answered.is_empty() else nearest_rank(answered, QUANTILES["p50"])
    allowed_ms = max(LATE_MS, GENERATOR_LAG_SHARE_MAX * median)
    lags = timed.select(pl.when("pool_was_free").then("lag_ms").otherwise(0.0)).to_series()
    return of_whole(
        generator_lag_ms_p99=None if lags.is_empty() else nearest_rank(lags, QUANTILES["p99"]),
        generator_lag_ms_max=allowed_ms,
        generator_late=int((lags > allowed_ms).sum()),
    )


def arrival_values(timed: pl.DataFrame, drops: pl.Series, window: Window, end: RunEnd) -> Values:
    """The arrivals of an open load. ``timed`` has all of its rows, as ``with_lag`` has timed them.

    ``offered``, ``late`` and ``dropped`` are the counts of the generator over the whole run. ``due_in_window`` is the
    number of arrivals that were meant for the measuring window, and ``dropped_in_window`` that of the dropped ones
    among them. ``pool_was_full`` is 1 if all places of a worker were taken at some moment, else 0.
    """
    dropped = dropped_within(drops, window)
    offered = end.offered or 0
    # The schedule begins when all users of the pool are running.
    seconds = end.stop_at - (end.spawned_at or end.started_at)
    return of_whole(
        offered=offered,
        offered_per_second=offered / seconds if seconds > 0 else None,
        late=end.late or 0,
        dropped=end.dropped or 0,
        due_in_window=timed_within(timed, window).height + dropped,
        dropped_in_window=dropped,
        pool_was_full=int(bool(timed["pool_was_full_once"].any())),
    )


def in_flight_levels(rows: pl.DataFrame) -> pl.DataFrame:
    """The number of requests in flight (``level``) from each start or end on (``at``, unix seconds).

    A request that ends when another one starts is no longer in flight.
    """
    starts = rows.select(pl.col("started_at").alias("at"), pl.lit(1, pl.Int32).alias("change"))
    ends = rows.select(pl.col("ended_at").alias("at"), pl.lit(-1, pl.Int32).alias("change"))
    return pl.concat([starts, ends]).sort("at", "change").select("at", pl.col("change").cum_sum().alias("level"))


def max_in_flight(rows: pl.DataFrame) -> int:
    """The most requests in flight at one moment."""
    return int(in_flight_levels(rows)["level"].max() or 0)  # type: ignore[arg-type]


def generator_was_limit(step: StepEntry) -> Reason | None:
    """Why the generator limited an open load or bursts, and not the system; None if it did not."""
    late, total = step.value("generator_late") or 0, step.lag_ms.count
    if late > max(1, GENERATOR_LATE_SHARE_MAX * total):
        allowed_ms = step.by_part("generator_lag_ms_max")[WHOLE]
        return reason("generator_late", late=late, requests=total, allowed_ms=allowed_ms)
    # Arrivals that were due just before the load was told to stop were not late yet.
    dropped, at_end = step.value("dropped") or 0, math.ceil((step.load.rate or 0.0) * LATE_MS / 1000)
    if dropped > at_end and not step.value("pool_was_full"):
        return reason("generator_dropped", dropped=dropped)
    return None


def system_could_not_keep_up(step: StepEntry) -> Reason | None:
    """The warning that the pool was full and arrivals were late or dropped; None if this did not happen."""
    late, dropped = step.value("late") or 0, step.value("dropped") or 0
    if not step.value("pool_was_full") or not (dropped or late):
        return None
    offered = step.by_part("offered")[WHOLE]
    return reason("pool_full", pool=step.load.users, late=late, offered=offered, dropped=dropped)


ACHIEVED_SHARE_MIN = 0.95
"""The smallest share of the arrivals in the window that must be completed in it. It is not a share of the rate, because
by chance a tenth more or fewer may arrive in a minute."""

UNFINISHED_MAX = 3
"""This many arrivals may be in flight at the end of the window, whatever their share."""

DROPPED_SHARE_MAX = 0.001


def arrival_problems(step: StepEntry) -> list[Reason]:
    """Why an open load did not achieve its offered rate. Empty if it did, and for closed load."""
    due, offered, dropped = (step.value(name) for name in ("due_in_window", "offered", "dropped"))
    if due is None or offered is None or dropped is None:
        return []
    problems, seconds = [], step.window.seconds
    missing = due - step.throughput_per_second * seconds
    if missing > max(UNFINISHED_MAX, (1 - ACHIEVED_SHARE_MIN) * due):
        problems.append(reason("rate_not_achieved", achieved=step.throughput_per_second, due=due / seconds))
    if dropped > DROPPED_SHARE_MAX * offered:
        problems.append(reason("arrivals_dropped", dropped=dropped, offered=offered))
    return problems
