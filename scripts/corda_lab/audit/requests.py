"""The rows of a run, as an audit sees them."""

from collections.abc import Iterable

import polars as pl

from corda_lab.audit.tables import Request, RequestStatus, Scope, Window
from corda_lab.steps.resolutions import COLUMNS, has_succeeded

SETTLING_SECONDS = 5.0
"""How long after the last row of a load its flows may still record transactions, if nothing says when it was at rest.
"""


def requests_of(rows: pl.DataFrame) -> tuple[Request, ...]:
    """The requests of the rows of a load, with their resolutions if there are any."""
    columns = [pl.lit(None, kind).alias(name) for name, kind in COLUMNS.items() if name not in rows.columns]
    table = rows.with_columns(columns).select(
        "client_id",
        "node",
        "flow_id",
        pl.coalesce("tx_id", "resolved_tx_id").str.to_uppercase().alias("transaction"),
        has_succeeded().alias("succeeded"),
        (pl.col("outcome") == "unknown").alias("unknown"),
        "resolved",
    )
    return tuple(
        Request(str(client), str(node), _status(succeeded, unknown, resolved), flow, transaction)
        for client, node, flow, transaction, succeeded, unknown, resolved in table.iter_rows()
    )


def _status(succeeded: bool, unknown: bool, resolved: str | None) -> RequestStatus:
    if succeeded:
        return "acknowledged"
    if unknown:
        return "failed" if resolved == "failed" else "other" if resolved == "not_started" else "unknown"
    return "other"


def window_of(rows: pl.DataFrame, *, is_over: bool) -> Window | None:
    """The time in which the flows of a load recorded transactions; None without rows.

    A load that was just measured has no end: everything since its begin is its own.
    """
    if rows.is_empty():
        return None
    ends = [rows["ended_at"].max()]
    if "resolved_at" in rows.columns:
        ends.append(rows["resolved_at"].max())
    last = max(float(end) for end in ends if isinstance(end, float))
    first = rows["started_at"].min()
    assert isinstance(first, float)
    return Window(first, last + SETTLING_SECONDS if is_over else None)


def scope_of(loads: Iterable[pl.DataFrame]) -> Scope:
    """The windows of the loads of a stored run, one for each step."""
    windows = (window_of(rows, is_over=True) for rows in loads)
    return Scope(tuple(window for window in windows if window is not None))
