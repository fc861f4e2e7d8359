"""Draws the waterfall of a request as SVG, in the terminal and on a page, and chooses those of a report."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl
from rich.bar import Bar
from rich.table import Column, Table
from rich.text import Text

from corda_lab.analysis.conclusions import Analysis
from corda_lab.report import palette, rendering
from corda_lab.results.files import iso
from corda_lab.results.stored import StoredRun
from corda_lab.steps import otlp
from corda_lab.steps.chosen_requests import Chosen, chosen, find
from corda_lab.steps.rows import Window
from corda_lab.steps.spans import BRIDGE, CLIENT, Row, number
from corda_lab.steps.waterfall import Waterfall, of_request
from corda_lab.text.words import plural, short

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
    found = [(name, length) for name, length in waterfall.largest if length > 0][:LARGEST_SHOWN]
    if not found or not total:
        return ""
    parts = ", ".join(f"{name} {ms(length)} ({100 * length / total:.0f} %)" for name, length in found)
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
    step = 0.1
    while (high - low) / step > TICKS_MAX:
        # 0.1, 0.2, 0.5, 1, 2, 5, …
        step *= 2.5 if f"{step:e}".startswith("2") else 2
    first = -(-low // step)
    # Rounding guards against 0.7 / 0.1 = 6.999999999999999.
    count = int(round((high - first * step) / step, 9)) + 1
    return [round((first + place) * step, 6) for place in range(max(0, count))]


def labels(waterfall: Waterfall) -> list[str]:
    """What each row is called. A span whose actor is not that of the span around it begins with it."""
    found, around = [], list[str]()
    for span in waterfall.spans:
        del around[span.depth :]
        is_other = span.kind == "whole" or not around or around[-1] != span.actor
        found.append(f"{span.actor}: {span.name}" if is_other else span.name)
        around.append(span.actor)
    return found


def svg(waterfall: Waterfall, title: str, *, is_alone: bool = False) -> str:
    """The picture. ``is_alone`` is for a file of its own, which brings its size and colours."""
    low, high = waterfall.start_ms, waterfall.end_ms
    return rendering.template("waterfall.svg", {"ms": ms, "role": role_of}).render(
        title=title,
        style=palette.css_of_system() if is_alone else "",
        rows=list(zip(waterfall.spans, labels(waterfall), strict=True)),
        ticks=ticks(low, high),
        end=waterfall.latency_ms,
        place=lambda at: PLOT_BEGIN + PLOT_WIDTH * (at - low) / max(high - low, 0.001),
    )


def table(waterfall: Waterfall) -> Table:
    """The rows in the terminal. The bars of whole requests and flows are dim."""
    low, whole = waterfall.start_ms, max(waterfall.end_ms - waterfall.start_ms, 0.001)
    times = (Column(name, justify="right", no_wrap=True) for name in ("start, ms", "length, ms"))
    found = Table(Column(no_wrap=True, max_width=LABEL_LENGTH_MAX), *times, "", box=None, pad_edge=False)
    for span, label in zip(waterfall.spans, labels(waterfall), strict=True):
        begin, end = span.start_ms - low, max(span.end_ms, span.start_ms + whole / BAR_WIDTH) - low
        bar = Bar(whole, begin, end, width=BAR_WIDTH, color="bright_black" if span.kind == "whole" else "default")
        found.add_row(Text("  " * span.depth + label), f"{span.start_ms:,.1f}", f"{span.length_ms:,.1f}", bar)
    return found


SEVERAL_CLOCKS = "The actors ran on several hosts: compare only spans of one host, because the clocks may differ."


def of_requests(run: StoredRun, spans: pl.DataFrame, rows: Sequence[Row], step: int) -> list[Waterfall]:
    """The waterfalls of requests of one step. ``spans`` are those of the run."""
    own = spans.filter(pl.col("step") == step) if spans.height else spans
    found = [of_request(row, own) for row in rows]
    is_placed = any(run.environment(one).placement for one in run.steps if one.index == step)
    return [replace(one, path=(), notes=(*one.notes, SEVERAL_CLOCKS)) for one in found] if is_placed else found


def by_identity(run: StoredRun, identity: str) -> Waterfall:
    """The waterfall of the request with a flow id, client id, transaction id or trace id. Raises LabError."""
    spans = run.spans()
    row = find(identity, run.table("requests"), spans)
    return of_requests(run, spans, [row], int(number(row, "step") or 1))[0]


def as_otlp(run: StoredRun, requests: Iterable[Row] | None = None) -> str:
    """The traces of some requests of a run, or of all, as OTLP in JSON."""
    rows = run.table("requests").iter_rows(named=True) if requests is None else requests
    return json.dumps(otlp.document(rows, run.spans())) + "\n"


def view(found: Waterfall, title: str) -> dict[str, object]:
    headline = headline_of(found)
    return {
        "title": title,
        "headline": headline,
        "largest": largest_words(found),
        "identity": identity_of(found),
        "svg": svg(found, f"{title}: {headline}"),
        "spans": found.spans,
        "notes": found.notes,
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


def page(found: Waterfall, title: str, run: str) -> str:
    return rendering.template("flow.html").render(
        run=run,
        view=view(found, title),
        error=found.text("error"),
        clock=CLOCK,
        style=palette.css_of_system() + rendering.text_of("report.css"),
    )
