"""Stored traces are an OTLP request: of the form of OpenTelemetry's own model, and whole."""

import base64
from pathlib import Path
from typing import Any

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from corda_lab.steps import otlp
from support import simulation

IDS = ("traceId", "spanId", "parentSpanId")


def in_model(document: Any) -> ExportTraceServiceRequest:
    """Read a document. OTLP has ids in hexadecimal, where protobuf's own JSON has base64."""

    def translated(value: Any) -> Any:
        if isinstance(value, list):
            return [translated(one) for one in value]
        if isinstance(value, dict):
            return {
                name: base64.b64encode(bytes.fromhex(one)).decode() if name in IDS else translated(one)
                for name, one in value.items()
            }
        return value

    return json_format.ParseDict(translated(document), ExportTraceServiceRequest())


def test_the_traces_of_requests_are_whole_and_of_opentelemetry_s_model(tmp_path: Path) -> None:
    rows = [*simulation.closed_rows(2, 2, simulation.fixed(0.2)), simulation.row(99, 3, 3.5, outcome="failed")]
    untraced = {**simulation.row(100, 3, 3.5), "trace_id": None}
    document = otlp.document([*rows, untraced], simulation.spans(tmp_path, simulation.spans_of(rows)))
    found = in_model(document)
    by_service = {
        one.resource.attributes[0].value.string_value: one.scope_spans[0].spans for one in found.resource_spans
    }
    assert set(by_service) == {"client", "bridge", "PartyA", "PartyB"}
    assert len(by_service["client"]) == len(rows)
    spans = [span for service in by_service.values() for span in service]
    known = {(span.trace_id, span.span_id) for span in spans}
    assert len(known) == len(spans)
    assert all((span.trace_id, span.parent_span_id) in known for span in spans if span.parent_span_id)
    assert {span.trace_id for span in spans if not span.parent_span_id} == {span.trace_id for span in spans}
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)
    failed = by_service["client"][-1]
    assert (failed.status.code, failed.status.message) == (2, rows[-1]["error"])
