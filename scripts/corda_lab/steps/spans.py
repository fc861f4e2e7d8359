"""The spans that Corda itself makes of flows: the stages of any flow, on all nodes, and what a client waited for.

Corda 4.10 has a span for every flow, sub-flow, message of a session and record. The flow of a request is
the parent of all that it causes on other nodes. ``configs/stages.yaml`` says which spans are stages. Every instant of
a flow belongs to the innermost span that is one; what is in none is ``other``.
"""

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from heapq import heappop, heappush
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

import polars as pl
import yaml

from corda_lab.paths import CONFIGS
from corda_lab.steps.stages import OTHER, STAGES, column_of

SPAN_SCHEMA = pl.Schema(
    {
        "trace_id": pl.String(),
        "span_id": pl.String(),
        "parent_id": pl.String(),
        "node": pl.String(),
        "name": pl.String(),
        "start_ns": pl.Int64(),
        "end_ns": pl.Int64(),
        "flow_id": pl.String(),
        "created_ns": pl.Int64(),
        "error": pl.String(),
    }
)
"""``flow_id`` is that of the flow that a span is, or is within. ``created_ns`` is when the node created that flow, in
whole milliseconds; null in spans within it. ``error`` is the message of the exception with which a span ended."""
NO_SPANS = pl.DataFrame(schema=SPAN_SCHEMA)

Row = Mapping[str, object]
CLIENT, BRIDGE = "client", "bridge"
"""Where the spans of a request are that are on no node."""
REQUEST, RPC = "request", "start by RPC"
"""The spans there: the request at both, and at the bridge the RPC call that starts the flow."""

FILE = CONFIGS / "stages.yaml"
WAIT, RECORD = "wait", "record"
NOTARY_CLIENT = "net.corda.core.flows.NotaryFlow$Client"
"""The sub-flow at whose end the signature of the notary is there."""
PEER = "peer"
"""Waiting for a message of another party. Within another stage, it is a part of that."""


@dataclass
class FlowSpan:
    """A flow, or a span within it on the same node. Times are in Unix nanoseconds."""

    id: str
    parent: str | None
    node: str
    name: str
    start: int
    end: int
    flow_id: str | None
    created: int | None
    """When the node created the flow; None in spans within it."""
    error: str | None
    children: "list[FlowSpan]" = field(default_factory=list)
    """By start."""

    @property
    def begin(self) -> int:
        """When the flow was created, or the span began."""
        return self.start if self.created is None else min(self.created, self.start)

    def within(self) -> "Iterator[FlowSpan]":
        for child in self.children:
            yield child
            yield from child.within()


@dataclass(frozen=True)
class Segment:
    """A time in which a flow was in one stage."""

    node: str
    stage: str
    begin: int
    end: int
    is_waiting: bool
    """Whether it waited for a message of another node."""


@cache
def declared() -> tuple[tuple[str, str], ...]:
    """The patterns of names of spans with their stages, in the order of the file."""
    stages: Mapping[str, list[str]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return tuple((pattern, stage) for stage, patterns in stages.items() for pattern in patterns)


@cache
def stage_of(name: str) -> str | None:
    """The stage that a span of this name is; None if it is none. A CorDapp may name a span of its own as a stage."""
    if name in STAGES:
        return name
    return next((stage for pattern, stage in declared() if fnmatchcase(name, pattern)), None)


def number(row: Row, name: str) -> float | None:
    """A number in a row; None if it has none of this name."""
    value = row.get(name)
    return float(value) if isinstance(value, int | float) else None


def text(row: Row, name: str) -> str | None:
    """A text in a row; None if it has none of this name."""
    value = row.get(name)
    return value if isinstance(value, str) and value else None


def outside(request: Row) -> pl.DataFrame:
    """The spans of a request at the generator and at the bridge, as far as its row has their times."""
    trace = text(request, "trace_id") or ""
    root, bridge = trace[16:] or CLIENT, _identity(trace, BRIDGE)

    def row(identity: str, parent: str | None, node: str, name: str, start: float, length_ms: float) -> tuple[Any, ...]:
        begin = round(start * 1e6) * 1000
        error = text(request, "error") if parent is None else None
        return (trace, identity, parent, node, name, begin, begin + round(length_ms * 1e6), None, None, error)

    started, latency_ms = number(request, "started_at"), number(request, "latency_ms")
    found = [row(root, None, CLIENT, REQUEST, started or 0.0, latency_ms or 0.0)]
    received, began = number(request, "bridge_received_at"), number(request, "bridge_started_at")
    flow_ms, rpc_ms = number(request, "bridge_flow_ms"), number(request, "bridge_rpc_ms")
    if received is not None and began is not None and flow_ms is not None:
        found.append(row(bridge, root, BRIDGE, REQUEST, received, 1000 * (began - received) + flow_ms))
        if rpc_ms is not None:
            found.append(row(_identity(trace, RPC), bridge, BRIDGE, RPC, began, rpc_ms))
    return pl.DataFrame(found, schema=SPAN_SCHEMA, orient="row")


def _identity(trace: str, name: str) -> str:
    return hashlib.sha256(f"{trace} {name}".encode()).hexdigest()[:16]


def with_traces(requests: pl.DataFrame, kept: pl.Series) -> pl.DataFrame:
    """The requests, of which only those in ``kept`` have a trace id."""
    return requests.with_columns(pl.when(pl.col("trace_id").is_in(kept.implode())).then("trace_id").alias("trace_id"))


def flows_of(spans: pl.DataFrame) -> Iterator[tuple[str, list[FlowSpan]]]:
    """The id of each trace in a table of spans with its flows, each with the spans within it, by start.

    So are the requests at the client and the bridge, if the table has them, and spans whose flow has not ended.
    """
    rows = spans.select(SPAN_SCHEMA.names()).sort("trace_id", "start_ns").iter_rows()
    for trace, own in groupby(rows, key=itemgetter(0)):
        found = {values[0]: FlowSpan(*values) for _, *values in own}
        flows = []
        for span in found.values():
            around = found.get(span.parent)
            if around is not None and around.node == span.node and span.flow_id in (None, around.flow_id):
                around.children.append(span)
            else:
                flows.append(span)
        yield trace, flows


def segments(flow: FlowSpan) -> Iterator[Segment]:
    """What a flow did from its creation to its end, in order and without gaps."""
    if flow.begin < flow.start:
        yield Segment(flow.node, WAIT, flow.begin, flow.start, is_waiting=False)
    yield from _segments(flow, OTHER, flow.start, flow.end, is_waiting=False)


def _segments(span: FlowSpan, stage: str, begin: int, end: int, *, is_waiting: bool) -> Iterator[Segment]:
    """What a span did between two times. Spans within it may overlap, and may be longer than it."""
    until = begin
    for child in span.children:
        own = stage_of(child.name)
        inner = own if own is not None and (own != PEER or stage == OTHER) else stage
        start, stop = max(child.start, until), min(child.end, end)
        if start < stop:
            if until < start:
                yield Segment(span.node, stage, until, start, is_waiting)
            yield from _segments(child, inner, start, stop, is_waiting=own == PEER)
            until = stop
    if until < end:
        yield Segment(span.node, stage, until, end, is_waiting)


def stage_rows(spans: pl.DataFrame, requests: pl.DataFrame) -> pl.DataFrame | None:
    """The stage rows of the flows of ``requests``, as ``stages`` has them; None if there are none.

    A flow that a request started is an initiator, any other flow of its trace a responder. Of a flow that a node has
    begun again, the last time counts. Times are in Unix seconds.
    """
    asked = dict(requests.select("flow_id", "trace_id").drop_nulls("flow_id").iter_rows())
    traces = {*asked.values()}
    records = [
        _record(flow, "initiator" if flow.flow_id in asked else "responder", asked.get(flow.flow_id, trace))
        for trace, flows in flows_of(spans)
        for flow in flows
        if flow.created is not None and (flow.flow_id in asked or trace in traces)
    ]
    if not records:
        return None
    found = pl.DataFrame(records, infer_schema_length=None).sort("ended_at")
    return found.unique(["flow_id", "trace_id"], keep="last").sort("created_at")


def _record(flow: FlowSpan, role: str, trace: str | None) -> Row:
    stages: dict[str, float] = {}
    for segment in segments(flow):
        column = column_of(segment.stage)
        stages[column] = stages.get(column, 0.0) + (segment.end - segment.begin) / 1e6
    notarised = [span.end / 1e9 for span in flow.within() if span.name == NOTARY_CLIENT]
    recorded = [span.end / 1e9 for span in flow.within() if stage_of(span.name) == RECORD]
    return {
        "flow_id": flow.flow_id,
        "flow": flow.name,
        "role": role,
        "node": flow.node,
        "trace_id": trace,
        "outcome": "ok" if flow.error is None else "failed",
        "created_at": flow.begin / 1e9,
        "started_at": flow.start / 1e9,
        "ended_at": flow.end / 1e9,
        "notarised_at": max(notarised, default=None),
        "recorded_at": max(recorded, default=None),
        **stages,
    }


def path_of(main: FlowSpan, flows: Iterable[FlowSpan]) -> list[Segment]:
    """What a flow did from its creation to its end, and while it waited for a message, what others of its trace did.

    Without gaps. While several others were busy, the one that was created last counts: the others
    wait for it. While none was, the message was on its way, or waited for a thread: the segment is then a waiting one.
    """
    others = sorted((flow for flow in flows if flow is not main), key=lambda flow: -flow.begin)
    busy = [
        (one.begin, place, one) for place, flow in enumerate(others) for one in segments(flow) if not one.is_waiting
    ]
    busy.sort(key=itemgetter(0, 1))
    found: list[Segment] = []
    for segment in segments(main):
        for one in _filled(segment, busy) if segment.is_waiting else (segment,):
            last = found[-1] if found else None
            if last and (last.node, last.stage, last.is_waiting) == (one.node, one.stage, one.is_waiting):
                found[-1] = replace(last, end=one.end)
            else:
                found.append(one)
    return found


def _filled(segment: Segment, busy: Iterable[tuple[int, int, Segment]]) -> Iterator[Segment]:
    """A time of waiting, divided by what other flows did in it.

    ``busy`` has the begin of what each did, and the place of the flow, of which the lowest counts; sorted.
    """
    inside = deque(one for one in busy if one[0] < segment.end and one[2].end > segment.begin)
    times = {segment.begin, segment.end, *(at for begin, _, one in inside for at in (begin, one.end))}
    active: list[tuple[int, int, Segment]] = []
    for begin, end in pairwise(sorted(at for at in times if segment.begin <= at <= segment.end)):
        while inside and inside[0][0] <= begin:
            since, place, one = inside.popleft()
            heappush(active, (place, since, one))
        while active and active[0][2].end <= begin:
            heappop(active)
        doing = active[0][2] if active else segment
        yield replace(doing, begin=begin, end=end)
