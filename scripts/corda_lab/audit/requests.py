"""The rows of a run, as an audit sees them."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import polars as pl

from corda_lab.audit.tables import Request, RequestStatus, Window
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.resolutions import COLUMNS, has_succeeded

SETTLING_SECONDS = 1.0
"""How long after it was at rest a lab may still have recorded transactions of a load."""


def requests_of(rows: pl.DataFrame, stateful: Collection[str] = (), load: int = 1) -> tuple[Request, ...]:
    """The requests of the rows of a load, with their resolutions if there are any.

    ``stateful`` are the parts of the workload that name states. A row without a part may be of any of them.
    """
    optional = {**COLUMNS, "part": pl.String()}
    columns = [pl.lit(None, kind).alias(name) for name, kind in optional.items() if name not in rows.columns]
    table = rows.with_columns(columns).select(
        "client_id",
        "node",
        "flow_id",
        pl.coalesce("tx_id", "resolved_tx_id").str.to_uppercase().alias("transaction"),
        has_succeeded().alias("succeeded"),
        (pl.col("outcome") == "unknown").alias("unknown"),
        "resolved",
        "part",
    )
    return tuple(
        Request(
            client_id=str(client),
            node=node or "",
            status=_status(succeeded, unknown, resolved),
            flow_id=flow,
            transaction=transaction,
            part=part or "",
            load=load,
            names_states=bool(stateful) if part is None else part in stateful,
        )
        for client, node, flow, transaction, succeeded, unknown, resolved, part in table.iter_rows()
    )


def stateful_parts(step: StepEntry) -> frozenset[str]:
    return frozenset(part.name for part in step.parts if part.names_states)


def _status(succeeded: bool, unknown: bool, resolved: str | None) -> RequestStatus:
    if succeeded:
        return "acknowledged"
    if unknown:
        return "failed" if resolved == "failed" else "other" if resolved == "not_started" else "unknown"
    return "other"


def window_of(rows: pl.DataFrame, *, at_rest: float | None = None, slack_seconds: float = 0.0) -> Window | None:
    """The time in which the flows of a load recorded transactions; None without rows.

    ``slack_seconds`` is by how much the clock of a node may be behind that of the rows.

    ``at_rest`` is when the lab was at rest after it, in unix seconds. Without it, the load has just ended: everything
    since its begin is its own.
    """
    if rows.is_empty():
        return None
    first, last = rows["started_at"].min(), rows["ended_at"].max()
    assert isinstance(first, float)
    assert isinstance(last, float)
    first -= slack_seconds
    if at_rest is None:
        return Window(first)
    # After a fault, nodes may go on with flows for minutes. A flow has ended when the node says what became of it.
    resolved = rows["resolved_at"].max() if "resolved_at" in rows.columns else None
    return Window(first, max(at_rest, last, resolved if isinstance(resolved, float) else last) + SETTLING_SECONDS)


@dataclass(frozen=True)
class Load:
    """One load: when its flows recorded transactions, and its requests."""

    window: Window
    requests: tuple[Request, ...]


def load_of(
    rows: pl.DataFrame,
    *,
    at_rest: float | None = None,
    stateful: Collection[str] = (),
    number: int = 1,
    slack_seconds: float = 0.0,
) -> Load | None:
    """The load of these rows; None without rows. ``at_rest`` and ``slack_seconds`` are those of ``window_of``.

    ``stateful`` is that of ``requests_of``. ``number`` tells loads apart that are audited together.
    """
    window = window_of(rows, at_rest=at_rest, slack_seconds=slack_seconds)
    return None if window is None else Load(window, requests_of(rows, stateful, number))


def loads_of(steps: Iterable[StepEntry], rows: pl.DataFrame, *, slack_seconds: float = 0.0) -> tuple[Load, ...]:
    """The loads of the steps of a stored run. ``rows`` has those of all of them."""
    loads = (
        load_of(
            rows.filter(pl.col("step") == step.index),
            at_rest=step.window.load_ended_at + step.counts.rest_seconds,
            stateful=stateful_parts(step),
            number=step.index,
            slack_seconds=slack_seconds,
        )
        for step in steps
    )
    return tuple(load for load in loads if load is not None)
