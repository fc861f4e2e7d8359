"""Figures of open load: what was offered, what came late, and whether generator or system was the reason.

An arrival has an intended time from a schedule. It starts then when one of the pool's places is free; when none is, it
waits for one. The lag is how much later than intended it started. Lag of an arrival that found a free place can only be
the generator's own; lag behind a full pool is the system's.
"""

import math

import polars as pl

from corda_lab.steps.entry import OpenLoadEntry, StepEntry
from corda_lab.steps.reasons import Reason, reason
from corda_lab.steps.rows import QUANTILES, Window, distribution, ended_within, nearest_rank
from lab_workload.run_end import RunEnd

LATE_MS = 10.0
"""An arrival that starts more than this after its intended time is late."""

GENERATOR_LAG_SHARE_MAX = 0.05
"""Share of the median latency, from the intended start, that the generator's own lag may have, if that is more than
``LATE_MS``: the lag is part of that latency, and within this it changes no figure of it by more."""

GENERATOR_LATE_SHARE_MAX = 0.01
"""Share of a window's requests that may have more than that, and one may in any case; else the generator was the limit."""


def with_lag(rows: pl.DataFrame, pool: int) -> pl.DataFrame:
    """Rows of open load with ``lag_ms`` and ``pool_was_free``: of those that were meant to start before, fewer than
    ``pool`` had not ended when this one was meant to start.

    Places are taken in the order of the intended times, so whoever waits for one is ahead of those who come later. Every
    worker has a pool of its own, an even share of all places.
    """
    # Without a row there is one empty part, which gives the columns all the same.
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


def open_load_values(rows: pl.DataFrame, window: Window, end: RunEnd, pool: int) -> OpenLoadEntry:
    """The entry ``open_load`` of a step. Offered, late and dropped are the generator's own words, over the whole run.
    ``due_in_window`` counts the arrivals of the window itself, dropped ones left out.

    ``pool_was_full`` tells whether all places of a worker were taken at some moment. ``generator_lag_ms_p99`` is over all
    requests of the window, with 0 for those that found no free place; None when there is no request. ``generator_late`` of them
    have more than ``generator_lag_ms_max``.
    """
    timed = with_lag(rows.filter(pl.col("intended_at").is_not_null()), pool)
    within = ended_within(timed, window)
    own = within.select(pl.when("pool_was_free").then("lag_ms").otherwise(0.0)).to_series()
    median = 0.0 if own.is_empty() else nearest_rank(within["latency_intended_ms"], QUANTILES["p50"])
    allowed = max(LATE_MS, GENERATOR_LAG_SHARE_MAX * median)
    offered = end.offered or 0
    # The schedule begins when the whole pool runs.
    seconds = end.stop_at - (end.spawned_at or end.started_at)
    return OpenLoadEntry(
        rate_per_second=end.rate or 0.0,
        offered=offered,
        due_in_window=rows.filter(pl.col("intended_at").is_between(window.started_at, window.ended_at)).height,
        offered_per_second=offered / seconds if seconds > 0 else None,
        late=end.late or 0,
        dropped=end.dropped or 0,
        lag_ms=distribution(within["lag_ms"]),
        lag_ms_p99_all=end.lag_p99_ms,
        generator_lag_ms_p99=None if own.is_empty() else nearest_rank(own, QUANTILES["p99"]),
        generator_lag_ms_max=allowed,
        generator_late=int((own > allowed).sum()),
        requests_in_window=own.len(),
        pool=pool,
        pool_was_full=bool(timed["pool_was_full_once"].any()),
    )


def max_in_flight(rows: pl.DataFrame) -> int:
    """Most requests under way at one moment; one that ends at the moment in which another starts has left."""
    if rows.is_empty():
        return 0
    changes = pl.concat(
        [
            pl.DataFrame({"at": rows["started_at"], "change": 1}, schema={"at": pl.Float64, "change": pl.Int32}),
            pl.DataFrame({"at": rows["ended_at"], "change": -1}, schema={"at": pl.Float64, "change": pl.Int32}),
        ]
    ).sort("at", "change")
    return int(changes["change"].cum_sum().max() or 0)  # type: ignore[arg-type]


def generator_was_limit(values: OpenLoadEntry) -> Reason | None:
    """Why the generator, and not the system, limited an open load; None when it did not."""
    late, total = values.generator_late, values.requests_in_window
    if late > max(1, GENERATOR_LATE_SHARE_MAX * total):
        return reason("generator_late", late=late, requests=total, allowed_ms=values.generator_lag_ms_max)
    # What was due in the last moment before the load was told to stop was not late yet.
    at_end = math.ceil(values.rate_per_second * LATE_MS / 1000)
    if values.dropped > at_end and not values.pool_was_full:
        return reason("generator_dropped", dropped=values.dropped)
    return None


def system_could_not_keep_up(values: OpenLoadEntry) -> Reason | None:
    """What arrivals met when they found the pool full; None when none did."""
    if not values.pool_was_full or not (values.dropped or values.late):
        return None
    return reason("pool_full", pool=values.pool, late=values.late, offered=values.offered, dropped=values.dropped)


ACHIEVED_SHARE_MIN = 0.95
"""Least share of the arrivals of a window that has to end well within it. Not of the rate: a tenth more or fewer arrive by chance
in a minute."""


UNFINISHED_MAX = 3
"""So many may be under way at the window's end whatever their share."""


DROPPED_SHARE_MAX = 0.001


def arrival_problems(step: StepEntry) -> list[Reason]:
    """Why the arrivals of an open load were not all done in time. Empty for a closed load."""
    arrivals = step.open_load
    if arrivals is None:
        return []
    problems = []
    due, seconds = arrivals.due_in_window, step.window.seconds
    missing = due - step.throughput_per_second * seconds
    if missing > max(UNFINISHED_MAX, (1 - ACHIEVED_SHARE_MIN) * due):
        problems.append(reason("rate_not_achieved", achieved=step.throughput_per_second, due=due / seconds))
    if arrivals.dropped > DROPPED_SHARE_MAX * arrivals.offered:
        problems.append(reason("arrivals_dropped", dropped=arrivals.dropped, offered=arrivals.offered))
    return problems
