"""Pictures of charts: SVG inside pages, SVG and PNG for papers.

vl-convert draws a Vega-Lite specification without a browser. Colours stay custom properties of the page, so one picture
follows the light and the dark theme; on paper, they become those of the light theme.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from corda_lab.errors import LabError
from corda_lab.report import palette
from corda_lab.report.chart import Chart, Look, Span

Layer = dict[str, Any]
"""A part of a Vega-Lite specification: https://vega.github.io/vega-lite/docs/."""

DASHES = {"solid": [1, 0], "dash": [7, 4], "dot": [2, 3], "dashdot": [7, 3, 2, 3], "longdash": [12, 4]}
SHAPES = {
    "circle": "circle",
    "square": "square",
    "diamond": "diamond",
    "triangle-up": "triangle-up",
    "star": "M0,-1L.22,-.31L.95,-.31L.36,.12L.59,.81L0,.38L-.59,.81L-.36,.12L-.95,-.31L-.22,-.31Z",
    "triangle-down": "triangle-down",
    "pentagon": "M0,-1L.95,-.31L.59,.81L-.59,.81L-.95,-.31Z",
    "cross": "cross",
    "x": "M-.8,-.8L.8,.8M-.8,.8L.8,-.8",
}
"""Names of Vega's symbols, and paths of others in a square from -1 to 1."""
PATTERNS = ("", "M0,8L8,0", "M4,4h.1", "M0,0L8,8M0,8L8,0", "M0,0L8,8", "M0,4H8", "M4,0V8", "M0,4H8M4,0V8")
"""Paths that tell bars apart beside their colour, in a tile of 8 by 8 pixels."""

PAGE_WIDTHS = {"wide": 1120, "": 520, "third": 320}
PRINT_WIDTHS = {"wide": 640, "": 450, "third": 450}
HEIGHT, PANEL_HEIGHT, AXIS_WIDTH = 250, 130, 44
LEGEND_WIDTH_MIN, LEGEND_LINE, LEGEND_SYMBOL, LETTER_WIDTH = 400, 19, 36, 6.7
"""Pixels. Below a width, a chart has no legend: its symbols are those of the chart beside it."""
HOVER_COUNT = 80
"""The most places along x that show the values of all lines on hover."""
PNG_PIXELS_PER_INCH = 300

LINES = ("line", "area", "steps", "points")


def svg(chart: Chart) -> str:
    """The picture inside a page, whose custom properties have its colours."""
    found = _hatched(_draw(chart, PAGE_WIDTHS[chart.width]))
    name = escape(f"{chart.title}, {chart.y_title}" if chart.y_title else chart.title)
    return re.sub(r'class="marks" width="[\d.]+" height="[\d.]+"', f'role="img" aria-label="{name}"', found, count=1)


def write(charts: Iterable[Chart], folder: Path, *, suffixes: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Draw charts in the light theme into a folder, in files named after their ids, and return their paths.

    Each SVG has the digest of its chart as its description. Raises LabError if the folder cannot be written.
    """
    import vl_convert

    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for chart in charts:
            drawn = _on_paper(chart)
            for suffix in suffixes:
                paths.append(folder / f"{chart.id}.{suffix}")
                is_svg = suffix == "svg"
                content = drawn.encode() if is_svg else vl_convert.svg_to_png(drawn, ppi=PNG_PIXELS_PER_INCH)
                paths[-1].write_bytes(content)
    except OSError as error:
        raise LabError(
            f"--charts: {folder} cannot be written ({error})", "Choose a folder that you can write."
        ) from None
    return paths


def _on_paper(chart: Chart) -> str:
    drawn = replace(chart, y_title=chart.print_title or chart.y_title)
    found = _hatched(_draw(drawn, PRINT_WIDTHS[chart.width], background="var(--card)"))
    # Hover texts are for pages.
    found = re.sub(r"<title>.*?</title>", "", found)
    found = re.sub(r"var\(--([\w-]+)\)", lambda name: palette.LIGHT[name[1]], found)
    return found.replace(">", f"><desc>digest {chart.digest}</desc>", 1)


def _draw(chart: Chart, width: int, background: str | None = None) -> str:
    import vl_convert

    found = str(vl_convert.vegalite_to_svg(_specification(chart, width, background)))
    # What is a label for a screen reader is also shown on hover. Every chart names its marks, or leaves them unnamed.
    return re.sub(r'<(path|rect) aria-label="([^"]*)" ([^>]*?)/>', r"<\1 \3><title>\2</title></\1>", found)


def _hatched(svg: str) -> str:
    """The SVG with the patterns that its bars refer to."""
    found = sorted(set(re.findall(r"url\(#hatch-(\d)-([\w-]+)\)", svg)))
    patterns = "".join(
        f'<pattern id="hatch-{number}-{role}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<rect width="8" height="8" fill="var(--{role})"/><path d="{PATTERNS[int(number)]}" fill="none" '
        f'stroke="var(--card)" stroke-width="1.3" stroke-linecap="round" stroke-opacity="0.7"/></pattern>'
        for number, role in found
    )
    return svg.replace(">", f"><defs>{patterns}</defs>", 1) if found else svg


def _specification(chart: Chart, width: int, background: str | None) -> Layer:
    titles = chart.panels or (chart.y_title,)
    panels = [_panel(chart, place, title, width) for place, title in enumerate(titles)]
    legend = [_legend(chart, width)] if len(chart.shown_looks) > 1 and width >= LEGEND_WIDTH_MIN else []
    quiet, rule = _variable("quiet"), _variable("line")
    text = {"labelColor": quiet, "titleColor": quiet, "labelFontSize": 12, "titleFontSize": 12.5}
    axis = {**text, "titleFontWeight": "normal", "domainColor": rule, "tickColor": rule, "gridColor": _variable("grid")}
    return {
        "vconcat": [*legend, *panels],
        "spacing": 18,
        "background": background,
        "padding": 8,
        "config": {
            "font": "system-ui, sans-serif",
            "view": {"stroke": None},
            "axis": {**axis, "labelLimit": 260, "titlePadding": 8},
            "axisY": {"minExtent": AXIS_WIDTH, "tickCount": 5 if chart.panels else 6},
            "text": {"fontSize": 12, "color": quiet},
        },
    }


def _panel(chart: Chart, number: int, title: str, width: int) -> Layer:
    own = chart.frame.filter(pl.col("panel") == number) if chart.panels else chart.frame
    if chart.spans:
        own = own.filter(pl.col("x").is_between(0, chart.spans[-1].end))
    looks = [
        {"series": name, **_look(look), "place": place, "mark": look.mark}
        for place, (name, look) in enumerate(chart.looks.items())
    ]
    rows = own.join(pl.DataFrame(looks), on="series", maintain_order="left")
    if "label" in own.columns:
        value = pl.format("{}: {} {}", "series", pl.col("y").round_sig_figs(4), pl.lit(title))
        rows = rows.with_columns(pl.coalesce("label", value))
    is_last = number == max(len(chart.panels) - 1, 0)
    x, y = _x(chart, width, is_last), _y(chart, title)
    height = PANEL_HEIGHT if chart.panels else HEIGHT
    marked = [*_bands(chart, number, height), *_marks(rows, chart, x, y), *_hover(rows, chart, x, title)]
    return {"width": width, "height": height, "layer": [*marked, *_lines(chart)]}


def _look(look: Look) -> dict[str, Any]:
    return {
        "colour": _variable(look.colour),
        "fill": f"url(#hatch-{look.pattern}-{look.colour})" if look.pattern else _variable(look.colour),
        "dash": DASHES[look.dash],
        "shape": SHAPES[look.shape],
        "size": look.size,
    }


def _variable(role: str) -> str:
    return f"var(--{role if role in palette.ROLES else 'faint'})"


def _layer(rows: pl.DataFrame | Sequence[Mapping[str, Any]], mark: str, looks: Layer, **encoding: Layer) -> Layer:
    """Rows drawn by a mark of Vega-Lite, such as ``line``, with its properties."""
    values = rows.to_dicts() if isinstance(rows, pl.DataFrame) else list(rows)
    looks = {"aria": "description" in encoding, **looks}
    return {"data": {"values": values}, "mark": {"type": mark, **looks}, "encoding": encoding}


def _as_is(column: str) -> Layer:
    """A column whose values are colours, symbols or dashes."""
    return {"field": column, "type": "nominal", "scale": None, "legend": None}


def _number(column: str) -> Layer:
    return {"field": column, "type": "quantitative"}


COLOUR, FILL, SERIES = _as_is("colour"), _as_is("fill"), {"field": "series", "type": "nominal"}
LABEL, TEXT = {"field": "label", "type": "nominal"}, {"field": "text", "type": "nominal"}
ABOVE = {"y": -8}
"""The place of a text above a chart."""
STEP_NAMES_MAX = 26


def _x(chart: Chart, width: int, is_last: bool) -> Layer:
    axis: Layer = {"grid": chart.axis not in ("category", "log"), "tickCount": width // 80}
    if chart.ticks:
        axis |= {"values": list(chart.ticks)}
    if not is_last:
        axis |= {"labels": False, "title": None}
    title = {"title": chart.x_title or None}
    if chart.axis == "category":
        names = chart.frame["x"].unique(maintain_order=True).to_list()
        is_tight = sum(map(len, map(str, names))) * LETTER_WIDTH > 0.8 * width
        turned = {"labelAngle": -30 if is_tight else 0, "labelOverlap": False}
        return {"field": "x", "type": "nominal", "sort": None, "axis": axis | turned, **title}
    scale: Layer = {"type": "log" if chart.axis == "log" else "linear", "zero": chart.axis == "zero"}
    if chart.spans:
        scale |= {"domain": [0, chart.spans[-1].end], "nice": False}
    elif chart.x_max is not None:
        scale |= {"domain": [0, chart.x_max], "nice": False}
    elif chart.axis != "zero":
        scale |= {"nice": False, "padding": 14}
    return {**_number("x"), "scale": scale, "axis": axis, **title}


def _y(chart: Chart, title: str) -> Layer:
    scale: Layer = {"zero": chart.is_y_from_zero}
    if chart.y_max is not None:
        scale |= {"domain": [0, chart.y_max], "nice": False}
    in_bytes = "replace(format(datum.value, '~s'), regexp('([a-zA-Z]?)$'), ' $1B')"
    words = {"labelExpr": in_bytes} if title == "bytes" else {}
    return {**_number("y"), "scale": scale, "axis": words, "title": title or None}


def _marks(rows: pl.DataFrame, chart: Chart, x: Layer, y: Layer) -> Iterator[Layer]:
    """The series, those last that others must not cover."""
    of = {str(part["mark"][0]): part for part in rows.with_row_index("order").partition_by("mark", maintain_order=True)}
    known = {"x": x, "y": y}
    label = {"description": LABEL} if "label" in chart.frame.columns else {}
    if (bins := of.get("bins")) is not None:
        ends = {"x": {**x, "field": "x_low"}, "x2": {"field": "x_high"}, "y": y, "y2": {"datum": 0}}
        yield _layer(bins, "bar", {"binSpacing": 1}, **ends, fill=FILL, **label)
    if (bars := of.get("bars")) is not None:
        yield _layer(bars, "bar", {"width": {"band": 0.7}}, **known, fill=FILL, order=_number("place"), **label)
    if (area := of.get("area")) is not None:
        yield _layer(area, "area", {"opacity": 0.13}, **known, fill=COLOUR)
    if (dots := of.get("dots")) is not None:
        looks = {"filled": True, "opacity": 0.5}
        yield _layer(dots, "point", looks, **known, color=COLOUR, size=_as_is("size"), **label)
    lines: Layer = {"strokeWidth": 1.5 if chart.panels else 2, "invalid": "break-paths-filter-domains"}
    look = {"color": COLOUR, "strokeDash": _as_is("dash"), "detail": SERIES, "order": _number("order")}
    for mark in ("line", "area", "points", "steps"):
        if mark in of:
            shape = {"interpolate": "step-after"} if mark == "steps" else {}
            yield _layer(of[mark], "line", {**lines, **shape}, **known, **look)
    symbol = {"shape": _as_is("shape"), "size": _as_is("size"), "stroke": COLOUR, "fill": FILL, **label}
    for mark in ("points", "single", "symbols"):
        if mark in of:
            hollow = pl.when("is_hollow").then(pl.lit(_variable("card"))).otherwise("fill").alias("fill")
            points = of[mark].with_columns(hollow)
            yield from _intervals(points, chart, x, y)
            yield _layer(points, "point", {"strokeWidth": 2, "opacity": 1}, **known, **symbol)
            named = points.filter(pl.col("text").is_not_null())
            yield _layer(named, "text", {"align": "right", "dx": -7, "dy": -8}, **known, text=TEXT)


def _intervals(points: pl.DataFrame, chart: Chart, x: Layer, y: Layer) -> Iterator[Layer]:
    """The intervals of points, with a cap at each end that the chart reaches."""
    for axis, low, high, limit in (("y", "low", "high", chart.y_max), ("x", "x_low", "x_high", chart.x_max)):
        channel = y if axis == "y" else x
        known = points.filter(pl.col(low).is_not_null())
        if known.is_empty():
            continue
        cut = known.with_columns(pl.min_horizontal(high, pl.lit(limit)))
        ends = {"x": x, "y": y, axis: {**channel, "field": low}, f"{axis}2": {"field": high}}
        yield _layer(cut, "rule", {"strokeWidth": 1.6}, **ends, color=COLOUR)
        cap = {"orient": "horizontal" if axis == "y" else "vertical", "size": 9, "thickness": 1.6, "opacity": 1}
        for column in (low, high):
            reached = known if limit is None else known.filter(pl.col(column) <= limit)
            yield _layer(reached, "tick", cap, **{"x": x, "y": y, axis: {**channel, "field": column}}, color=COLOUR)


def _hover(rows: pl.DataFrame, chart: Chart, x: Layer, unit: str) -> Iterator[Layer]:
    """Areas that nobody sees, with the values of all lines at a place of x."""
    lines = rows.filter(pl.col("mark").is_in(["line", "area", "steps"]) & pl.col("y").is_not_null())
    if lines.is_empty() or "label" in chart.frame.columns:
        return
    low, high = (float(end) for end in (lines["x"].min(), lines["x"].max()))  # type: ignore[arg-type]
    width = max((high - low) / HOVER_COUNT, 1e-9)
    place = ((pl.col("x") - low) / width).floor()
    texts = (
        lines.with_columns(place=place)
        .group_by("place", "series", maintain_order=True)
        .agg(pl.col("x").last(), pl.col("y").last())
        .sort("place", maintain_order=True)
        .group_by("place", maintain_order=True)
        .agg("series", "x", "y")
    )
    axis = "ms" if chart.x_title == "ms" else "s"
    found = [
        {
            "x": low + place * width,
            "to": low + (place + 1) * width,
            "label": f"{xs[0]:,g} {axis}: "
            + "; ".join(f"{name} {value:,.4g}" for name, value in zip(names, ys, strict=True))
            + f" ({unit})",
        }
        for place, names, xs, ys in texts.iter_rows()
    ]
    yield _layer(found, "rect", {"color": "transparent"}, x=x, x2={"field": "to"}, description=LABEL)


def _bands(chart: Chart, number: int, height: int) -> Iterator[Layer]:
    """Warm-up, measuring window and faults of each step, with their names above the first panel."""
    if not chart.spans:
        return
    shades, names = _phases(chart) if len(chart.spans) == 1 else _steps(chart.spans)
    bands = [fault for span in chart.spans for fault in span.faults]
    for fault in bands:
        # Dark while a fault lasts, light until throughput is back.
        shades.append((fault.start, max(fault.end, fault.start + chart.spans[-1].end / 400), "fault"))
        if fault.back is not None and fault.back > fault.end:
            shades.append((fault.end, fault.back, "fault-after"))
    rows = [{"from": low, "to": high, "colour": _variable(role)} for low, high, role in shades]
    yield _layer(rows, "rect", {}, x=_number("from"), x2={"field": "to"}, fill=COLOUR)
    if number == 0:
        above = [{"x": at, "text": text, "colour": _variable(role)} for at, text, role in names]
        yield _layer(above, "text", ABOVE, x=_number("x"), text=TEXT, color=COLOUR)
        down = [{"x": fault.start, "text": fault.text if chart.width == "wide" else fault.name} for fault in bands]
        place = {"angle": 90, "align": "left", "baseline": "bottom", "color": _variable("bad"), "limit": height, "y": 4}
        yield _layer(down, "text", place, x=_number("x"), text=TEXT)


Shades = list[tuple[float, float, str]]
"""Bands of x, each with the role of its colour."""
Names = list[tuple[float, str, str]]
"""Texts above a chart: x of the middle, text, and the role of its colour."""


def _phases(chart: Chart) -> tuple[Shades, Names]:
    (span,) = chart.spans
    phases = [(0.0, span.warm_up_end, "warm-up"), (span.stop, span.end, "stopping")]
    # A phase that hardly lasted has no room.
    known = [phase for phase in phases if phase[1] - phase[0] > span.end / 100]
    shades = [(low, high, "shade") for low, high, _ in known]
    names = [((low + high) / 2, name, "quiet") for low, high, name in known if high - low > span.end / 12]
    return shades, names


def _steps(spans: Sequence[Span]) -> tuple[Shades, Names]:
    every = math.ceil(len(spans) / STEP_NAMES_MAX)
    shades, names = Shades(), Names()
    for place, span in enumerate(spans):
        shades += [
            (span.start, span.warm_up_end, "shade"),
            (span.warm_up_end, span.stop, "measured" if span.is_valid else "bad-back"),
        ]
        middle = (span.start + span.stop) / 2
        if not span.is_valid:
            names.append((middle, f"✗{span.name}", "bad"))
        elif place % every == 0:
            names.append((middle, span.name, "quiet"))
    return shades, names


def _lines(chart: Chart) -> Iterator[Layer]:
    rule = {"strokeDash": [6, 4], "strokeWidth": 1.5, "color": _variable("ink")}
    for line in chart.lines:
        rows, text, at = [{"at": line.value}], {"value": line.text}, _number("at")
        if line.kind == "quantile":
            yield _layer(rows, "rule", rule, x=at)
            yield _layer(rows, "text", ABOVE, x=at, text=text)
        elif line.kind == "level":
            yield _layer(rows, "rule", rule, y=at)
            yield _layer(rows, "text", {"align": "right", "dy": -8}, x={"value": "width"}, y=at, text=text)
        else:
            (span,) = chart.spans
            low, high = span.warm_up_end, span.stop
            rows = [{"at": line.value, "from": low, "middle": (low + high) / 2, "to": high}]
            yield _layer(rows, "rule", rule, x=_number("from"), x2={"field": "to"}, y=at)
            yield _layer(rows, "text", {**ABOVE, "color": _variable("ink")}, x=_number("middle"), text=text)


def _legend(chart: Chart, width: int) -> Layer:
    """A picture above the panels: the symbol of each series with its name, in as many lines as they need."""
    rows, left, top = [], 0.0, LEGEND_LINE / 2
    for name, look in chart.shown_looks.items():
        room = LEGEND_SYMBOL + LETTER_WIDTH * len(name) + 12
        if left and left + room > width:
            left, top = 0.0, top + LEGEND_LINE
        places = {"left": left, "middle": left + 12, "right": left + 24, "name": left + 30, "y": top}
        rows.append({**places, **_look(look), "size": 60, "mark": look.mark, "series": name, "text": name})
        left += room
    height = top + LEGEND_LINE / 2
    y = {**_number("y"), "scale": {"domain": [height, 0], "nice": False}, "axis": None}

    def x(column: str) -> Layer:
        return {**_number(column), "scale": {"domain": [0, width], "nice": False}, "axis": None}

    lined = [row for row in rows if row["mark"] in LINES]
    marked = [row for row in rows if row["mark"] not in ("line", "area", "steps")]
    marked = [{**row, "shape": "square" if row["mark"] in ("bars", "bins") else row["shape"]} for row in marked]
    symbol = {"shape": _as_is("shape"), "size": _as_is("size"), "fill": FILL, "stroke": COLOUR}
    dashed = {"color": COLOUR, "strokeDash": _as_is("dash"), "detail": SERIES}
    text = {"align": "left", "baseline": "middle"}
    return {
        "width": width,
        "height": height,
        "layer": [
            _layer(lined, "rule", {"strokeWidth": 2}, x=x("left"), x2={"field": "right"}, y=y, **dashed),
            _layer(marked, "point", {"strokeWidth": 1.5, "opacity": 1}, x=x("middle"), y=y, **symbol),
            _layer(rows, "text", text, x=x("name"), y=y, text=TEXT),
        ],
    }
