"""Deliberately broken copies of the pipeline. Checks that do not catch each of them prove nothing."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import polars as pl

from corda_lab.steps import rows
from corda_lab.steps.build import Observed
from corda_lab.steps.counts import judged

Breakage = Callable[[Observed], Observed]

LOST_EVERY = 50
RETRIED = 3
JUMP_SECONDS = 2.0


def percentiles_by_end(seen: Observed) -> Observed:
    """Requests belong to the window in which they end, and those that fail to none."""
    when = pl.when(rows.is_done()).then("ended_at").otherwise(None)
    return replace(seen, requests=seen.requests.with_columns(intended_at=when))


def lost_rows(seen: Observed) -> Observed:
    """Every fiftieth row is missing, and nobody compares the number with that of the generator."""
    return replace(seen, requests=seen.requests.filter(pl.col("request_id") % LOST_EVERY != 0))


def doubled_retry(seen: Observed) -> Observed:
    """Some requests without an answer were repeated under another client id, so their flows ran twice."""
    counted = seen.counted
    flows = [one.model_copy(update={"bridge": (one.bridge or 0) + RETRIED}) for one in counted.flows]
    vaults = [one.model_copy(update={"counted": (one.counted or 0) + RETRIED}) for one in counted.vault_states]
    return replace(seen, counted=judged(counted.model_copy(update={"flows": flows, "vault_states": vaults})))


def jumping_clock(seen: Observed) -> Observed:
    """The clock of the generator jumps ahead in the middle of the load, under the requests that are in flight."""
    middle = (seen.end.started_at + seen.end.stop_at) / 2
    in_flight = (pl.col("started_at") < middle) & (pl.col("ended_at") >= middle)
    later = pl.when(in_flight).then(JUMP_SECONDS).otherwise(0.0)
    jumped = seen.requests.with_columns(
        ended_at=pl.col("ended_at") + later,
        latency_ms=pl.col("latency_ms") + 1000 * later,
        latency_intended_ms=pl.col("latency_intended_ms") + 1000 * later,
    )
    return replace(seen, requests=jumped)


def drops_left_out(seen: Observed) -> Observed:
    """Arrivals that were never sent do not exist."""
    return replace(seen, drops=rows.NO_DROPS)


BREAKAGES: Mapping[str, Breakage] = {
    "percentiles by end time": percentiles_by_end,
    "lost rows": lost_rows,
    "doubled retry": doubled_retry,
    "clock that jumps": jumping_clock,
    "drops left out": drops_left_out,
}
