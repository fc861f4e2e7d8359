"""A waterfall in the terminal: one line for each span, with its bar."""

from collections.abc import Iterator

from corda_lab.report.waterfall import labels
from corda_lab.steps.spans import Span, Waterfall

BAR_WIDTH_MIN, BAR_WIDTH_MAX = 20, 80
NUMBER_WIDTH = 11
LABEL_WIDTH_MAX = 46
CHARACTERS = {"whole": "─", "part": "█", "gap": "░", "mark": "◆"}
LEGEND = "─ a request or a flow  █ a part of it  ░ not timed  ◆ a moment; times in ms from the start of the request"


def lines(waterfall: Waterfall, width: int) -> Iterator[str]:
    """The lines of a waterfall, at most ``width`` characters long if that is possible."""
    names = [f"{'  ' * span.depth}{label}" for span, label in zip(waterfall.spans, labels(waterfall), strict=True)]
    label_width = min(LABEL_WIDTH_MAX, max((len(name) for name in names), default=0))
    room = width - label_width - 2 * NUMBER_WIDTH - 4
    bar_width = max(BAR_WIDTH_MIN, min(BAR_WIDTH_MAX, room))
    yield f"{'':<{label_width}}  {'start':>{NUMBER_WIDTH}}{'length':>{NUMBER_WIDTH}}"
    for span, name in zip(waterfall.spans, names, strict=True):
        shown = name if len(name) <= label_width else f"{name[: label_width - 1]}…"
        length = "" if span.kind == "mark" else f"{span.length_ms:,.1f}"
        bar = _bar(waterfall, span, bar_width)
        yield f"{shown:<{label_width}}  {span.start_ms:>{NUMBER_WIDTH},.1f}{length:>{NUMBER_WIDTH}}  {bar}".rstrip()


def _bar(waterfall: Waterfall, span: Span, width: int) -> str:
    """The bar of a span, at least one character long."""
    low, whole = waterfall.start_ms, max(waterfall.end_ms - waterfall.start_ms, 0.001)
    first = min(width - 1, int((span.start_ms - low) / whole * width))
    last = min(width, max(first + 1, round((span.end_ms - low) / whole * width)))
    count = 1 if span.kind == "mark" else last - first
    return " " * first + CHARACTERS[span.kind] * count
