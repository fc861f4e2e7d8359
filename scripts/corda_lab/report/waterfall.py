"""Draws the waterfall of a request as SVG, in lines for the terminal and on a page, and chooses those of a report."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape

import polars as pl

from corda_lab.report import palette, rendering
from corda_lab.results.files import iso
from corda_lab.results.stored import StoredRun
from corda_lab.steps.chosen_requests import Chosen, chosen, find
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.rows import Window
from corda_lab.steps.waterfall import BRIDGE, CLIENT, Row, Span, Waterfall, number, of_request
from corda_lab.text.words import plural, short

CLOCK = (
    "All processes run on one machine and share its clock. Each has aligned itself with it once, so the spans of two "
    "processes may be off by up to a millisecond against each other."
)

LABEL_WIDTH, PLOT_WIDTH, VALUE_WIDTH = 330, 730, 100
WIDTH = LABEL_WIDTH + PLOT_WIDTH + VALUE_WIDTH
HEAD_HEIGHT, ROW_HEIGHT, BAR_HEIGHT = 26, 20, 12
THIN_HEIGHT = 6
"""Height of the bar of a whole request or flow, above those of its parts."""
BAR_WIDTH_MIN = 1.5
INDENT = 14
LABEL_LENGTH_MAX = 46
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
    return f"{short(waterfall.flow)} on {waterfall.node}: {waterfall.outcome} after {ms(waterfall.latency_ms)}"


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
        ("started", iso(waterfall.started_at)),
        ("flow id", waterfall.flow_id),
        ("client id", waterfall.client_id),
        ("transaction", waterfall.tx_id),
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
    """The picture. ``is_alone`` is for a file of its own, which brings its colours."""
    height = HEAD_HEIGHT + ROW_HEIGHT * len(waterfall.spans) + 8
    style = f"<style>{palette.css_of_system()}svg {{ background: var(--card); }}</style>" if is_alone else ""
    # A page that embeds it sets the size; the text must stay readable.
    size = f' width="{WIDTH}" height="{height}"' if is_alone else ""
    return "".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="waterfall" viewBox="0 0 {WIDTH} {height}"{size}',
            f' role="img" aria-label="{escape(title)}" font-family="system-ui, sans-serif" font-size="13">',
            f"<title>{escape(title)}</title>{style}",
            *_axis(waterfall, height),
            *_bars(waterfall),
            "</svg>",
        )
    )


def _place(waterfall: Waterfall, at: float) -> float:
    low, high = waterfall.start_ms, waterfall.end_ms
    return LABEL_WIDTH + PLOT_WIDTH * (at - low) / max(high - low, 0.001)


def _axis(waterfall: Waterfall, height: int) -> Iterator[str]:
    for at in ticks(waterfall.start_ms, waterfall.end_ms):
        x = _place(waterfall, at)
        yield f'<path d="M{x:.1f} {HEAD_HEIGHT}V{height}" style="stroke:var(--grid)"/>'
        yield _text(x, 17, f"{at:,g} ms", "middle", "quiet")
    end = _place(waterfall, waterfall.latency_ms)
    yield f'<path d="M{end:.1f} {HEAD_HEIGHT}V{height}" stroke-dasharray="4 3" style="stroke:var(--ink)"/>'


def _bars(waterfall: Waterfall) -> Iterator[str]:
    for place, (span, label) in enumerate(zip(waterfall.spans, labels(waterfall), strict=True)):
        top = HEAD_HEIGHT + place * ROW_HEIGHT
        middle = top + ROW_HEIGHT / 2
        indent = INDENT * span.depth
        room = LABEL_LENGTH_MAX - 2 * span.depth
        shown = label if len(label) <= room else f"{label[: room - 1]}…"
        weight = "600" if span.kind == "whole" else "400"
        yield "<g>"
        yield f"<title>{escape(_hint(span, label))}</title>"
        yield _text(6 + indent, middle + 4, shown, "start", "quiet" if span.kind == "gap" else "ink", weight)
        yield _shape(waterfall, span, middle)
        words = f"at {ms(span.start_ms)}" if span.kind == "mark" else ms(span.length_ms)
        yield _text(WIDTH - 6, middle + 4, words, "end", "quiet")
        yield "</g>"


def _hint(span: Span, label: str) -> str:
    length = "" if span.kind == "mark" else f", {ms(span.length_ms)} long"
    return f"{label}, at {ms(span.start_ms)}{length}" + (f": {span.note}" if span.note else "")


def _shape(waterfall: Waterfall, span: Span, middle: float) -> str:
    x, colour = _place(waterfall, span.start_ms), f"var(--{role_of(span.actor)})"
    if span.kind == "mark":
        return f'<path d="M{x - 5:.1f} {middle:.1f}l5 -5 5 5 -5 5z" style="fill:{colour}"/>'
    height = THIN_HEIGHT if span.kind == "whole" else BAR_HEIGHT
    width = max(BAR_WIDTH_MIN, _place(waterfall, span.end_ms) - x)
    look = f"fill:{colour}"
    if span.kind == "gap":
        look = "fill:none;stroke:var(--faint);stroke-dasharray:3 2"
    at = f'x="{x:.1f}" y="{middle - height / 2:.1f}" width="{width:.1f}" height="{height}"'
    return f'<rect {at} rx="2" style="{look}"/>'


def _text(x: float, y: float, text: str, anchor: str, role: str, weight: str = "400") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" style="fill:var(--{role})">'
        f"{escape(text)}</text>"
    )


TEXT_BAR_MIN, TEXT_BAR_MAX = 20, 80
"""Characters of a bar in the terminal."""
NUMBER_WIDTH = 11
CHARACTERS = {"whole": "─", "part": "█", "gap": "░", "mark": "◆"}
LEGEND = "─ a request or a flow  █ a part of it  ░ not timed  ◆ a moment; times in ms from the start of the request"


def lines(waterfall: Waterfall, width: int) -> Iterator[str]:
    """The lines of a waterfall, at most ``width`` characters long if that is possible."""
    names = [f"{'  ' * span.depth}{label}" for span, label in zip(waterfall.spans, labels(waterfall), strict=True)]
    label_width = min(LABEL_LENGTH_MAX, max((len(name) for name in names), default=0))
    room = width - label_width - 2 * NUMBER_WIDTH - 4
    bar_width = max(TEXT_BAR_MIN, min(TEXT_BAR_MAX, room))
    yield f"{'':<{label_width}}  {'start':>{NUMBER_WIDTH}}{'length':>{NUMBER_WIDTH}}"
    for span, name in zip(waterfall.spans, names, strict=True):
        shown = name if len(name) <= label_width else f"{name[: label_width - 1]}…"
        length = "" if span.kind == "mark" else f"{span.length_ms:,.1f}"
        bar = _text_bar(waterfall, span, bar_width)
        yield f"{shown:<{label_width}}  {span.start_ms:>{NUMBER_WIDTH},.1f}{length:>{NUMBER_WIDTH}}  {bar}".rstrip()


def _text_bar(waterfall: Waterfall, span: Span, width: int) -> str:
    """The bar of a span, at least one character long."""
    low, whole = waterfall.start_ms, max(waterfall.end_ms - waterfall.start_ms, 0.001)
    first = min(width - 1, int((span.start_ms - low) / whole * width))
    last = min(width, max(first + 1, round((span.end_ms - low) / whole * width)))
    count = 1 if span.kind == "mark" else last - first
    return " " * first + CHARACTERS[span.kind] * count


SEVERAL_CLOCKS = "The actors ran on several hosts: compare only spans of one host, because the clocks may differ."


def of_requests(run: StoredRun, stages: pl.DataFrame | None, rows: Sequence[Row], step: int) -> list[Waterfall]:
    """The waterfalls of requests of one step. ``stages`` are the stage rows of the run."""
    own = None if stages is None else stages.filter(pl.col("step") == step)
    requested_at = run.notary_requests(step)
    found = [of_request(row, own, requested_at) for row in rows]
    is_placed = any(run.environment(one).placement for one in run.steps if one.index == step)
    return [replace(one, notes=(*one.notes, SEVERAL_CLOCKS)) for one in found] if is_placed else found


def by_identity(run: StoredRun, identity: str) -> Waterfall:
    """The waterfall of the request with a flow id, client id or transaction id. Raises LabError."""
    stages = run.stage_rows()
    row = find(identity, run.table("requests"), stages)
    return of_requests(run, stages, [row], int(number(row, "step") or 1))[0]


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


def of_run(run: StoredRun, step: StepEntry) -> list[dict[str, object]]:
    window = Window(step.window.started_at, step.window.ended_at)
    rows = run.table("requests")
    found = chosen(rows, window, step.judged_latency_column, step.load.flows_after)
    waterfalls = of_requests(run, run.stage_rows(), [one.row for one in found], step.index)
    return [view(each, title_of(one)) for each, one in zip(waterfalls, found, strict=True)]


def page(found: Waterfall, title: str, run: str) -> str:
    return rendering.template("flow.html").render(
        run=run,
        view=view(found, title),
        error=found.error or "",
        clock=CLOCK,
        style=palette.css_of_system() + rendering.text_of("report.css"),
    )
