"""Converts stored runs of older schemas to the present models, without changing what was stored as a value.

- Schema 5 stored reasons as sentences (``steps.reasons`` reads them), and did not store the version of the lab.
- Schemas 5 and 6 had one outcome ``error`` for failed requests and for those with an unknown outcome. It is read as
  ``failed``. Their percentiles are those of the requests that were done in the measuring window, in open load too.
"""

from typing import Any

import polars as pl

ERROR = "error"
"""The outcome of a request in schemas 5 and 6 that did not end as its workload wanted."""


def read_step(stored: Any) -> Any:
    """Convert the entry of a step from schema 5 or 6. Content that is not an entry is returned unchanged."""
    if not isinstance(stored, dict):
        return stored
    entry = {**stored, "failures": stored.get("errors", []), "unknown_outcomes": []}
    entry.pop("errors", None)
    entry["requests"] = _read_requests(stored.get("requests"))
    if isinstance(stored.get("parts"), list):
        entry["parts"] = [
            {**part, "requests": _read_requests(part.get("requests"))} if isinstance(part, dict) else part
            for part in stored["parts"]
        ]
    return entry


def _read_requests(stored: Any) -> Any:
    if not isinstance(stored, dict):
        return stored
    counts = dict(stored)
    for old, new, unknown in (("errors", "failed", "unknown"), ("window_errors", "window_failed", "window_unknown")):
        if old in counts:
            counts |= {new: counts.pop(old), unknown: 0}
    return counts


def read_requests(rows: pl.DataFrame) -> pl.DataFrame:
    """Convert the rows of ``requests.parquet`` from schema 5 or 6. Rows of the present schema do not change."""
    if "outcome" not in rows.columns:
        return rows
    return rows.with_columns(pl.col("outcome").replace(ERROR, "failed"))
