"""Traces as one OTLP request in JSON, which Jaeger, Tempo and collectors open: from the generator to all nodes."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from corda_lab.steps.spans import BRIDGE, CLIENT, REQUEST, RPC, Row, outside, text

INTERNAL = 1
KINDS = {(CLIENT, REQUEST): 3, (BRIDGE, REQUEST): 2, (BRIDGE, RPC): 3}
"""The kinds of spans that are not internal, in OTLP: 2 is a server's, 3 a client's."""
ERROR = 2
"""The status of a span that failed."""
OF_REQUEST = ("part", "flow", "node", "outcome", "client_id", "flow_id", "tx_id")
"""What the span of a request at the client says of it."""


def document(requests: Iterable[Row], spans: pl.DataFrame) -> dict[str, Any]:
    """Return the traces of requests: their own spans and the bridge's, from their rows, and those of the nodes."""
    by_service: dict[str, list[dict[str, Any]]] = {}
    parents: dict[str, str] = {}
    for request in requests:
        if text(request, "trace_id") is None:
            continue
        about = {f"lab.{name}": text(request, name) for name in OF_REQUEST}
        for row in outside(request).iter_rows(named=True):
            told = about if row["node"] == CLIENT else {}
            by_service.setdefault(row["node"], []).append(_span(row, row["parent_id"], told))
            if row["name"] == REQUEST:
                # A node knows the client's span as the parent of the flow. It was started by the bridge.
                parents[row["trace_id"]] = row["span_id"]
    for row in spans.filter(pl.col("trace_id").is_in([*parents])).iter_rows(named=True):
        trace, parent = row["trace_id"], row["parent_id"]
        around = parents[trace] if parent == trace[16:] else parent
        by_service.setdefault(row["node"], []).append(_span(row, around, {"flow.id": row["flow_id"]}))
    return {
        "resourceSpans": [
            {"resource": {"attributes": [_attribute("service.name", service)]}, "scopeSpans": [{"spans": found}]}
            for service, found in by_service.items()
        ]
    }


def _span(row: dict[str, Any], parent: str | None, attributes: Mapping[str, str | None]) -> dict[str, Any]:
    return {
        "traceId": row["trace_id"],
        "spanId": row["span_id"],
        **({"parentSpanId": parent} if parent else {}),
        "name": row["name"],
        "kind": KINDS.get((row["node"], row["name"]), INTERNAL),
        "startTimeUnixNano": str(row["start_ns"]),
        "endTimeUnixNano": str(row["end_ns"]),
        "attributes": [_attribute(key, value) for key, value in attributes.items() if value],
        **({"status": {"code": ERROR, "message": row["error"]}} if row["error"] else {}),
    }


def _attribute(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}
