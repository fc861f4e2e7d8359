"""Which requests of a step are looked at one by one: the slowest, the median, a failed one, or any by its id."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import polars as pl

from corda_lab.errors import LabError
from corda_lab.steps.rows import Window, counted, is_done, timed_within
from corda_lab.steps.spans import Row
from lab_workload.error_text import without_values

Choice = Literal["slowest", "median", "failed"]

IDS = ("flow_id", "client_id", "tx_id", "resolved_tx_id", "trace_id")
SHOWN_MAX = 5
CANNOT_TELL = "Write more characters of it."


@dataclass(frozen=True)
class Chosen:
    """A request, and why it was chosen. ``of`` is the number of requests among which it was."""

    choice: Choice
    row: Row
    of: int


def chosen(rows: pl.DataFrame, window: Window, latency: str, flows_after: int | None = None) -> list[Chosen]:
    """The slowest and the median request of the window that were done, and a failed one of the whole load.

    ``latency`` is the column of the latency that counts. If the window has no request, the whole load counts. The first
    ``flows_after`` requests are not measured.
    """
    found = []
    done = done_within(rows, window, latency, flows_after)
    if not done.is_empty():
        found.append(Chosen("slowest", done.row(-1, named=True), done.height))
        rank = max(1, -(-done.height // 2))
        # One request cannot be both.
        if done.height > 1:
            found.append(Chosen("median", done.row(rank - 1, named=True), done.height))
    failed = rows.filter(pl.col("outcome").is_in(["failed", "unknown"]))
    if not failed.is_empty():
        found.append(Chosen("failed", _failed(failed), failed.height))
    return found


def done_within(rows: pl.DataFrame, window: Window, latency: str, flows_after: int | None) -> pl.DataFrame:
    """The requests that were done, by latency: those of the window; those of the whole load if it has none."""
    done = timed_within(counted(rows, flows_after), window).filter(is_done()).drop_nulls(latency)
    return (rows.filter(is_done()).drop_nulls(latency) if done.is_empty() else done).sort(latency, "started_at")


def slowest_of(done: pl.DataFrame) -> pl.DataFrame:
    """The slowest tenth of requests that are sorted by latency."""
    return done.tail(-(-done.height // 10))


def usual_of(done: pl.DataFrame) -> pl.DataFrame:
    """The tenth around the median of requests that are sorted by latency."""
    return done.slice(done.height * 9 // 20, -(-done.height // 10))


def slow_and_failed(rows: pl.DataFrame, window: Window, latency: str, flows_after: int | None = None) -> pl.DataFrame:
    """The requests that were not done, the slowest, and the usual ones to compare them with."""
    done = done_within(rows, window, latency, flows_after)
    return pl.concat([rows.filter(~is_done()), slowest_of(done), usual_of(done)])


def _failed(failed: pl.DataFrame) -> Row:
    """The first failed request of the most frequent kind, one that reached a node if there is one."""
    kinds = [
        (status, None if error is None else without_values(error))
        for status, error in failed.select("status", "error").iter_rows()
    ]
    usual = Counter(kinds).most_common(1)[0][0]
    alike = failed.filter(pl.Series([kind == usual for kind in kinds], dtype=pl.Boolean))
    started = alike.filter(pl.col("flow_id").is_not_null())
    return (alike if started.is_empty() else started).sort("started_at").row(0, named=True)


def find(identity: str, rows: pl.DataFrame, spans: pl.DataFrame) -> Row:
    """The request with this flow id, client id, transaction id or trace id, or the only one whose id begins so.

    The id may also be that of a flow of another party in the trace of a request. Raises LabError if no request or more
    than one has it.
    """
    wanted = identity.strip().lower()
    if not wanted:
        raise LabError("ID: is empty", "Give a flow id, a client id or a transaction id, or how one of them begins.")
    numbered = rows.with_row_index()
    own = numbered.unpivot([name for name in IDS if name in rows.columns], index="index", value_name="id")
    others = numbered.join(spans.select("trace_id", pl.col("flow_id").alias("id")), on="trace_id")
    ids = pl.concat([own.select("index", "id"), others.select("index", "id")]).drop_nulls()
    lower = pl.col("id").str.to_lowercase()
    for fits in (lower == wanted, lower.str.starts_with(wanted)):
        found = rows[ids.filter(fits)["index"].unique().sort()]
        if found.height == 1:
            return found.row(0, named=True)
        if found.height > 1:
            shown = ", ".join(str(one) for one in found["client_id"].head(SHOWN_MAX))
            rest = f" and {found.height - SHOWN_MAX} more" if found.height > SHOWN_MAX else ""
            raise LabError(f"ID: {identity!r} fits {found.height} requests: {shown}{rest}", CANNOT_TELL)
    raise LabError(
        f"ID: no request of this run has {identity!r} as its flow id, client id or transaction id",
        "requests.parquet in its folder has the ids of all requests; choose another run with --run.",
    )
