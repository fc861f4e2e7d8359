"""Where the time of requests went: at the client, the bridge, the nodes and the notary, of one and of many.

``docs/methodology.md`` defines the spans. Those of the client and the bridge come from the row of the request, those of
the nodes are Corda's own. All times are milliseconds from the real start of the request. Drawn as SVG, in the terminal
and on a page.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl
from rich.bar import Bar
from rich.table import Column, Table
from rich.text import Text

from corda_lab.analysis.conclusions import Analysis
from corda_lab.report import palette, rendering
from corda_lab.results.audits import Audit
from corda_lab.results.stored import StoredRun, iso
from corda_lab.steps import otlp
from corda_lab.steps.chosen_requests import Chosen, chosen, find, slowest_of, usual_of
from corda_lab.steps.rows import Window, is_done
from corda_lab.steps.spans import (
    BRIDGE,
    CLIENT,
    WAIT,
    FlowSpan,
    Row,
    flows_of,
    number,
    outside,
    path_of,
    stage_of,
    text,
)
from corda_lab.text.words import STAGE_MEANINGS, plural, short

Kind = Literal["whole", "part"]
"""whole: a request or a flow. part: a part of one."""
SHOWN_PERCENT_MIN = 0.2
"""A span that is a smaller part of the latency, and no flow, is not drawn."""
REQUESTS_MAX = 50
"""Requests of a band that are looked at, those nearest to its middle."""
SPANS_SHOWN = 10

NOT_TRACED = "No trace of this request was kept, so of the nodes only the time is known that the bridge saw."
NO_FLOW = "No span of the flow of this request is stored: it has not ended, or its node was killed before it wrote it."
NO_BRIDGE = "The row has no times of the bridge."
SEVERAL_CLOCKS = "The actors ran on several hosts: compare only spans of one host, because the clocks may differ."
CLOCK = (
    "All processes run on one machine and share its clock. Each has aligned itself with it once, so the spans of two "
    "processes may be off by up to a millisecond against each other."
)

PLOT_BEGIN, PLOT_WIDTH = 330, 730
LABEL_LENGTH_MAX = 46
BAR_WIDTH = 60
"""In the terminal, in characters."""
TICKS_MAX = 8
LARGEST_SHOWN = 3
ROLES = {CLIENT: "node-locust", BRIDGE: "node-bridge"}


@dataclass(frozen=True)
class Span:
    """A bar of a waterfall. Times are in ms from the start of the request.

    ``depth`` is the number of spans around it. ``note`` says what is in it, or how it is known.
    """

    actor: str
    name: str
    kind: Kind
    depth: int
    start_ms: float
    end_ms: float
    note: str = ""

    @property
    def length_ms(self) -> float:
        return round(self.end_ms - self.start_ms, 3)


@dataclass(frozen=True)
class Waterfall:
    """The spans of one request in the order in which they are drawn, and its row.

    ``path`` is what the client waited for, without gaps. ``notes`` say what could not be shown, and why.
    """

    request: Row
    spans: tuple[Span, ...]
    path: tuple[Span, ...]
    notes: tuple[str, ...] = ()

    def text(self, name: str) -> str:
        return text(self.request, name) or ""

    @property
    def latency_ms(self) -> float:
        return number(self.request, "latency_ms") or 0.0

    @property
    def tx_id(self) -> str:
        return (self.text("tx_id") or self.text("resolved_tx_id")).upper()

    @property
    def start_ms(self) -> float:
        """The earliest start of a span: 0, or earlier if the request was to start earlier."""
        return min((span.start_ms for span in self.spans), default=0.0)

    @property
    def end_ms(self) -> float:
        """The latest end of a span. A party may record the transaction after the client has its answer."""
        return max((span.end_ms for span in self.spans), default=self.latency_ms)

    @property
    def largest(self) -> list[tuple[str, float]]:
        """What the client waited for, by name and in ms, the longest first. Together it is the latency."""
        by_name: dict[str, float] = {}
        for piece in self.path:
            name = f"{piece.actor}: {piece.name}"
            by_name[name] = by_name.get(name, 0.0) + piece.end_ms - piece.start_ms
        return sorted(by_name.items(), key=lambda named: -named[1])


def of_request(request: Row, spans: pl.DataFrame) -> Waterfall:
    """The waterfall of a request. ``spans`` are those of its step, or of its trace."""
    scene = _Scene(request, spans)
    return Waterfall(request, tuple(scene.spans()), tuple(scene.path()), tuple(scene.notes()))


def label(span: str) -> str:
    """The name of a span within a flow: of a method ``sign``, of a sub-flow ``FinalityFlow``."""
    return re.split("[#:]", short(span))[-1]


class _Scene:
    """Everything that is known of one request: its spans, and those of the flow that it started and of others."""

    def __init__(self, request: Row, spans: pl.DataFrame) -> None:
        trace, flow_id = text(request, "trace_id") or "", text(request, "flow_id") or ""
        own = spans.filter((pl.col("trace_id") == trace) | (pl.col("flow_id") == flow_id))
        at = {span.node: span for _, spans_there in flows_of(outside(request)) for span in spans_there}
        client, self.bridge = at[CLIENT], at.get(BRIDGE)
        self.request, self.client = request, client
        self.flows = [flow for _, flows in flows_of(own) for flow in flows]
        self.main = next((one for one in self.flows if one.created and one.flow_id == flow_id), None)
        self.wholes = {one.id for one in (*at.values(), *self.flows)}
        self.caused: dict[str | None, list[FlowSpan]] = {client.id: [self.bridge] if self.bridge else []}
        known = {span.id for flow in self.flows for span in (flow, *flow.within())}
        started_by = (self.bridge or client).id
        for flow in self.flows:
            # To a node, the client's span is the parent of the flow. The bridge has started it.
            self.caused.setdefault(flow.parent if flow.parent in known else started_by, []).append(flow)
        if self.bridge is not None and self.main is None:
            self._add_unknown_flow(self.bridge)

    def _add_unknown_flow(self, bridge: FlowSpan) -> None:
        """Show the time that the bridge has waited for a flow of which there are no spans."""
        start = max((rpc.end for rpc in bridge.children), default=bridge.start)
        node, name = text(self.request, "node") or "node", text(self.request, "flow") or "flow"
        flow = FlowSpan(name, bridge.id, node, name, start, bridge.end, None, None, None)
        self.wholes.add(flow.id)
        self.caused.setdefault(bridge.id, []).append(flow)

    def ms(self, nanoseconds: int) -> float:
        """A time in ms from the start of the request."""
        return (nanoseconds - self.client.start) / 1e6

    @property
    def latency_ms(self) -> float:
        return number(self.request, "latency_ms") or 0.0

    def notes(self) -> Iterator[str]:
        if self.main is None:
            yield NOT_TRACED if text(self.request, "trace_id") is None else NO_FLOW
        if self.bridge is None:
            yield NO_BRIDGE

    def spans(self) -> Iterator[Span]:
        intended, started = number(self.request, "intended_at"), number(self.request, "started_at") or 0.0
        if intended is not None and intended < started:
            note = "from the intended start until a place was free and the generator started it"
            yield Span(CLIENT, "late start", "part", 0, 1000 * (intended - started), 0.0, note)
        yield from self._drawn(self.client, 0)

    def _drawn(self, span: FlowSpan, depth: int) -> Iterator[Span]:
        """A span, the spans within it, and those that it has caused elsewhere, by their starts."""
        meaning = "answers" if span.created and span is not self.main else STAGE_MEANINGS.get(stage_of(span.name) or "")
        note = ", ".join(filter(None, (meaning, span.error)))
        begin, end = self.ms(span.begin), self.ms(span.end)
        yield Span(span.node, label(span.name), "whole" if span.id in self.wholes else "part", depth, begin, end, note)
        if span.begin < span.start:
            yield Span(span.node, WAIT, "part", depth + 1, begin, self.ms(span.start), STAGE_MEANINGS[WAIT])
        for child in sorted(self._children(span), key=lambda one: one.begin):
            yield from self._drawn(child, depth + 1)

    def _children(self, span: FlowSpan) -> Iterator[FlowSpan]:
        """What is drawn within a span. In place of a part that is too short, there is what it contains."""
        for child in (*span.children, *self.caused.get(span.id, ())):
            if child.id in self.wholes or child.end - child.start >= SHOWN_PERCENT_MIN / 100 * self.latency_ms * 1e6:
                yield child
            else:
                yield from self._children(child)

    def path(self) -> Iterator[Span]:
        """What the client waited for, from the start of the request to its end."""
        until = 0.0
        for actor, name, end in self._ends():
            # Clocks of processes agree to within a millisecond; what one says must not overlap what another said.
            end = min(max(end, until), self.latency_ms)
            if end > until:
                yield Span(actor, name, "part", 0, until, end)
            until = end

    def _ends(self) -> Iterator[tuple[str, str, float]]:
        """The actors of the path in order, each with what it did and until when, in ms."""
        node, bridge = text(self.request, "node") or "node", self.bridge
        if bridge is not None:
            yield BRIDGE, "HTTP, on the way to it", self.ms(bridge.start)
            yield from ((BRIDGE, "reads and converts the request", self.ms(rpc.start)) for rpc in bridge.children)
        if self.main is not None:
            yield node, "RPC, until it has the flow", self.ms(self.main.begin)
            for piece in path_of(self.main, self.flows):
                name = f"{piece.stage.replace('_', ' ')}" + (", messages and queues" if piece.is_waiting else "")
                yield piece.node, name, self.ms(piece.end)
        if bridge is not None:
            yield node, "RPC, the result on its way" if self.main else "the flow, with its RPC", self.ms(bridge.end)
        yield CLIENT, "HTTP, the answer on its way" if bridge else "not known", self.latency_ms


def waits(requests: pl.DataFrame, spans: pl.DataFrame, latency: str) -> list[tuple[str, float, float]]:
    """What requests waited for, in ms per request: the middle tenth by latency, and the slowest tenth; most first.

    ``latency`` is the column of the latency that counts.
    """
    done = requests.filter(is_done()).drop_nulls(latency).sort(latency)
    usual, slow = (_means(band.drop_nulls("trace_id"), spans) for band in (usual_of(done), slowest_of(done)))
    names = sorted({*usual, *slow}, key=lambda name: -slow.get(name, 0.0))
    return [(name, usual.get(name, 0.0), slow.get(name, 0.0)) for name in names]


def _means(band: pl.DataFrame, spans: pl.DataFrame) -> dict[str, float]:
    chosen = band.slice(max(0, (band.height - REQUESTS_MAX) // 2), REQUESTS_MAX)
    means: dict[str, float] = defaultdict(float)
    own = spans.filter(pl.col("trace_id").is_in(chosen["trace_id"].implode()))
    for request in chosen.iter_rows(named=True):
        for name, length in of_request(request, own).largest:
            means[name] += length / chosen.height
    return means


def self_times(requests: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """The spans in the traces of ``requests`` that took most time of their own, without that of the spans within them.

    Columns ``node``, ``name``, ``count``, ``total_ms`` and ``share_percent``, which is of all spans of the node; sorted
    by node, most first.
    """
    traces = requests["trace_id"].drop_nulls()
    length = (pl.col("end_ns") - pl.col("start_ns")) / 1e6
    own = spans.filter(pl.col("trace_id").is_in(traces.implode())).with_columns(length.alias("length"))
    within = own.group_by("trace_id", "node", span_id="parent_id").agg(pl.col("length").sum().alias("within"))
    alone = (pl.col("length") - pl.col("within").fill_null(0.0)).clip(0.0)
    return (
        own.join(within, on=["trace_id", "node", "span_id"], how="left")
        .group_by("node", "name")
        .agg(pl.len().alias("count"), alone.sum().alias("total_ms"))
        .with_columns((100 * pl.col("total_ms") / pl.col("total_ms").sum().over("node")).alias("share_percent"))
        .sort("node", "total_ms", "name", descending=[False, True, False])
        .group_by("node", maintain_order=True)
        .head(SPANS_SHOWN)
    )


def role_of(actor: str) -> str:
    if actor in ROLES:
        return ROLES[actor]
    role = f"node-{actor.lower()}"
    return role if role in palette.ROLES else "node-notary" if actor.startswith("Notary") else "faint"


def ms(value: float) -> str:
    """Milliseconds with their unit: ``1,234.5 ms``."""
    return f"{value:,.1f} ms"


def headline_of(waterfall: Waterfall) -> str:
    """``Iou on PartyA: ok after 512.3 ms``."""
    flow, node, outcome = (waterfall.text(name) for name in ("flow", "node", "outcome"))
    return f"{short(flow)} on {node}: {outcome} after {ms(waterfall.latency_ms)}"


def largest_words(waterfall: Waterfall) -> str:
    """What the client waited for most, with its share of the latency, as a sentence; empty if nothing is known."""
    total = waterfall.latency_ms
    longest = [(name, length) for name, length in waterfall.largest if length > 0][:LARGEST_SHOWN]
    if not longest or not total:
        return ""
    parts = ", ".join(f"{name} {ms(length)} ({100 * length / total:.0f} %)" for name, length in longest)
    return f"Most of it: {parts}."


def identity_of(waterfall: Waterfall) -> list[tuple[str, str]]:
    known = (
        ("started", iso(number(waterfall.request, "started_at") or 0.0)),
        ("flow id", waterfall.text("flow_id")),
        ("client id", waterfall.text("client_id")),
        ("transaction", waterfall.tx_id),
        ("trace", waterfall.text("trace_id")),
    )
    return [(name, value) for name, value in known if value]


def ticks(low: float, high: float) -> list[float]:
    """Round times between two, at most ``TICKS_MAX``."""
    steps = (factor * 10.0**power for power in range(-1, 12) for factor in (1, 2, 5))
    step = next(step for step in steps if (high - low) / step <= TICKS_MAX)
    # Rounding guards against 0.7 / 0.1 = 6.999999999999999.
    return [round(place * step, 6) for place in range(math.ceil(low / step), math.floor(round(high / step, 9)) + 1)]


def labels(waterfall: Waterfall) -> list[str]:
    """What each row is called. A span whose actor is not that of the span around it begins with it."""
    names, around = [], list[str]()
    for span in waterfall.spans:
        del around[span.depth :]
        is_other = span.kind == "whole" or not around or around[-1] != span.actor
        names.append(f"{span.actor}: {span.name}" if is_other else span.name)
        around.append(span.actor)
    return names


def svg(waterfall: Waterfall, title: str, *, is_alone: bool = False) -> str:
    """The picture. ``is_alone`` is for a file of its own, which brings its size and colours."""
    low, high = waterfall.start_ms, waterfall.end_ms
    return rendering.template("waterfall.svg", {"ms": ms, "role": role_of}).render(
        title=title,
        style=palette.css(has_switch=False) if is_alone else "",
        rows=list(zip(waterfall.spans, labels(waterfall), strict=True)),
        ticks=ticks(low, high),
        end=waterfall.latency_ms,
        place=lambda at: PLOT_BEGIN + PLOT_WIDTH * (at - low) / max(high - low, 0.001),
    )


def table(waterfall: Waterfall) -> Table:
    """The rows in the terminal. The bars of whole requests and flows are dim."""
    low, whole = waterfall.start_ms, max(waterfall.end_ms - waterfall.start_ms, 0.001)
    times = (Column(name, justify="right", no_wrap=True) for name in ("start, ms", "length, ms"))
    table = Table(Column(no_wrap=True, max_width=LABEL_LENGTH_MAX), *times, "", box=None, pad_edge=False)
    for span, label in zip(waterfall.spans, labels(waterfall), strict=True):
        begin, end = span.start_ms - low, max(span.end_ms, span.start_ms + whole / BAR_WIDTH) - low
        bar = Bar(whole, begin, end, width=BAR_WIDTH, color="bright_black" if span.kind == "whole" else "default")
        table.add_row(Text("  " * span.depth + label), f"{span.start_ms:,.1f}", f"{span.length_ms:,.1f}", bar)
    return table


def of_requests(run: StoredRun, spans: pl.DataFrame, rows: Sequence[Row], step: int) -> list[Waterfall]:
    """The waterfalls of requests of one step. ``spans`` are those of the run."""
    own = spans.filter(pl.col("step") == step) if spans.height else spans
    waterfalls = [of_request(row, own) for row in rows]
    is_placed = any(run.environment(one).placement for one in run.steps if one.index == step)
    return (
        [replace(one, path=(), notes=(*one.notes, SEVERAL_CLOCKS)) for one in waterfalls] if is_placed else waterfalls
    )


def by_identity(run: StoredRun, identity: str) -> Waterfall:
    """The waterfall of the request with a flow id, client id, transaction id or trace id. Raises LabError."""
    spans = run.spans()
    row = find(identity, run.table("requests"), spans)
    step = int(number(row, "step") or 1)
    (waterfall,) = of_requests(run, spans, [row], step)
    return replace(waterfall, notes=(*waterfall.notes, *ledger_notes(waterfall, spans, run.audits().get(step))))


def ledger_notes(waterfall: Waterfall, spans: pl.DataFrame, audit: Audit | None) -> list[str]:
    """What the audit found wrong with the flows of a request: left suspended, in the hospital of a node."""
    own = spans.filter(pl.col("trace_id") == waterfall.text("trace_id"))["flow_id"].drop_nulls()
    ids = {*own, waterfall.text("flow_id"), waterfall.text("client_id"), waterfall.tx_id} - {""}
    violations = audit.violations if audit is not None else ()
    return [f"Audit of the ledgers: {violation.text}." for violation in violations if ids.intersection(violation.ids)]


def as_otlp(run: StoredRun, requests: Iterable[Row] | None = None) -> str:
    """The traces of some requests of a run, or of all, as OTLP in JSON."""
    rows = run.table("requests").iter_rows(named=True) if requests is None else requests
    return json.dumps(otlp.document(rows, run.spans())) + "\n"


def view(waterfall: Waterfall, title: str) -> dict[str, object]:
    headline = headline_of(waterfall)
    return {
        "title": title,
        "headline": headline,
        "largest": largest_words(waterfall),
        "identity": identity_of(waterfall),
        "svg": svg(waterfall, f"{title}: {headline}"),
        "spans": waterfall.spans,
        "notes": waterfall.notes,
    }


def title_of(one: Chosen) -> str:
    if one.choice == "failed":
        return "A failed request" if one.of == 1 else f"A failed request, of {one.of:,}"
    return f"The {one.choice} of {plural(one.of, 'request')}"


def of_run(analysis: Analysis) -> list[dict[str, object]]:
    """The waterfalls of the report of a run of one step: of the slowest, the median and a failed request."""
    (step,) = analysis.run.steps
    window = Window(step.window.started_at, step.window.ended_at)
    requests = chosen(analysis.requests, window, step.judged_latency_column, step.load.flows_after)
    waterfalls = of_requests(analysis.run, analysis.spans, [one.row for one in requests], step.index)
    return [view(waterfall, title_of(one)) for waterfall, one in zip(waterfalls, requests, strict=True)]
