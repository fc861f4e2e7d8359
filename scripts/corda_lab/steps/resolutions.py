"""What became of the requests with an unknown outcome, as columns of the rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

Resolved = Literal["ok", "failed", "not_started", "unknown"]
"""ok: the flow succeeded. failed: it ended with an exception. not_started: the node never got it."""

COLUMNS = pl.Schema({"resolved": pl.String, "resolved_at": pl.Float64, "resolved_tx_id": pl.String})
"""The columns that a resolution adds to a row. They are null if the outcome was known."""


@dataclass(frozen=True)
class Resolution:
    """What became of one request. ``at`` is when that was known, in unix seconds."""

    resolved: Resolved
    at: float
    transaction: str | None = None


def with_columns(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the columns of ``COLUMNS``, empty where nothing was asked."""
    absent = {name: kind for name, kind in COLUMNS.items() if name not in rows.columns}
    return rows.with_columns(pl.lit(None, kind).alias(name) for name, kind in absent.items())


def with_resolutions(rows: pl.DataFrame, found: Mapping[str, Resolution]) -> pl.DataFrame:
    """The rows with the columns of ``COLUMNS``. ``found`` has the resolutions by client id."""
    table = pl.DataFrame(
        {
            "client_id": list(found),
            "resolved": [one.resolved for one in found.values()],
            "resolved_at": [one.at for one in found.values()],
            "resolved_tx_id": [one.transaction for one in found.values()],
        },
        schema={"client_id": pl.String, **COLUMNS},
    )
    return rows.drop(COLUMNS, strict=False).join(table, on="client_id", how="left", maintain_order="left")


def has_succeeded() -> pl.Expr:
    """Selects the rows whose flow succeeded, whether the generator was told so or the node said so later."""
    return (pl.col("outcome") == "ok") | (pl.col("resolved") == "ok").fill_null(value=False)
