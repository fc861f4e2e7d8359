"""Which requests of a step are looked at one by one: the slowest, the median, a failed one, or any by its id."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from corda_lab.errors import LabError
from corda_lab.steps.rows import Window, counted, is_done, timed_within
from corda_lab.steps.waterfall import Row
from lab_workload.error_text import without_values

Choice = Literal["slowest", "median", "failed"]
Match = Callable[[pl.Expr, str], pl.Expr]

IDS = ("flow_id", "client_id", "tx_id", "resolved_tx_id")
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
    done = timed_within(counted(rows, flows_after), window).filter(is_done()).drop_nulls(latency)
    done = (rows.filter(is_done()).drop_nulls(latency) if done.is_empty() else done).sort(latency, "started_at")
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


def find(identity: str, rows: pl.DataFrame, stages: pl.DataFrame | None) -> Row:
    """The request with this flow id, client id or transaction id, or the only one whose id begins so.

    The id may also be that of a flow of another party, which belongs to a request by its transaction. Raises LabError
    if no request or more than one has it.
    """
    wanted = identity.strip().lower()
    if not wanted:
        raise LabError("ID: is empty", "Give a flow id, a client id or a transaction id, or how one of them begins.")
    for is_match in (pl.Expr.eq, _begins):
        found = _matching(rows, IDS, wanted, is_match)
        if found.is_empty() and stages is not None:
            found = _by_stage_rows(wanted, rows, stages, is_match)
        if found.height == 1:
            return found.row(0, named=True)
        if found.height > 1:
            raise _several(identity, found)
    raise LabError(
        f"ID: no request of this run has {identity!r} as its flow id, client id or transaction id",
        "requests.parquet in its folder has the ids of all requests; choose another run with --run.",
    )


def _begins(column: pl.Expr, wanted: str) -> pl.Expr:
    return column.str.starts_with(wanted)


def _matching(table: pl.DataFrame, names: Sequence[str], wanted: str, is_match: Match) -> pl.DataFrame:
    """The rows of a table of which one of these columns fits the id, whatever its case."""
    present = [name for name in names if name in table.columns]
    fits = [is_match(pl.col(name).str.to_lowercase(), wanted).fill_null(value=False) for name in present]
    return table.filter(pl.any_horizontal(fits))


def _by_stage_rows(wanted: str, rows: pl.DataFrame, stages: pl.DataFrame, is_match: Match) -> pl.DataFrame:
    """The requests to whose transaction a flow or a transaction of the stage rows belongs.

    A request that failed has no transaction in its row, but in the stage row of its flow.
    """
    transactions = _matching(stages, ("flow_id", "tx_id"), wanted, is_match)["tx_id"].drop_nulls().unique().to_list()
    if not transactions:
        return rows.clear()
    started = stages.filter((pl.col("role") == "initiator") & pl.col("tx_id").is_in(transactions))
    return rows.filter(pl.col("flow_id").is_in(started["flow_id"].unique().to_list()))


def _several(identity: str, found: pl.DataFrame) -> LabError:
    name = "client_id" if "client_id" in found.columns else "flow_id"
    shown = ", ".join(str(one) for one in found[name].head(SHOWN_MAX))
    rest = f" and {found.height - SHOWN_MAX} more" if found.height > SHOWN_MAX else ""
    return LabError(f"ID: {identity!r} fits {found.height} requests: {shown}{rest}", CANNOT_TELL)
