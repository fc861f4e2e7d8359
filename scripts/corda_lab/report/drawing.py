"""Pictures of charts: SVG inside pages, SVG and PNG for papers.

vl-convert draws a Vega-Lite specification without a browser. Colours stay custom properties of the page, so one picture
follows the light and the dark theme; on paper, they become those of the light theme.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from corda_lab.errors import LabError
from corda_lab.report import palette
from corda_lab.report.chart import Chart

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

LINES = ("line", "area", "steps")
SAID_TWICE = re.compile(r' (?:aria-[a-z]+|role|pointer-events)="[^"]*"| opacity="1"')
"""Attributes of the parts of a picture that change nothing on a page: the picture as a whole has a name."""
PLACES = re.compile(r' (?:d|transform|x|y|x2|y2|width|height)="[^"]*"')


def svg(chart: Chart) -> str:
    """The picture inside a page, whose custom properties have its colours."""
    name = escape(f"{chart.title}, {chart.y_title}" if chart.y_title else chart.title)
    drawn = _hatched(_draw(chart, PAGE_WIDTHS[chart.width]))
    # A hundredth of a pixel is not seen.
    drawn = PLACES.sub(lambda place: re.sub(r"\.(\d\d)\d+", r".\1", place[0]), SAID_TWICE.sub("", drawn))
    return re.sub(r'class="marks" width="[\d.]+" height="[\d.]+"', f'role="img" aria-label="{name}"', drawn, count=1)


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
    found = _hatched(_draw(chart, PRINT_WIDTHS[chart.width], background="var(--card)"))
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
DASHED = {"color": COLOUR, "strokeDash": _as_is("dash"), "detail": SERIES}
SYMBOL = {"shape": _as_is("shape"), "size": _as_is("size"), "fill": FILL, "stroke": COLOUR}
ABOVE = {"y": -8}
"""The place of a text above a chart."""


def _looks(chart: Chart) -> pl.DataFrame:
    """How the marks of each series look, by its name."""
    return pl.DataFrame(
        {
            "series": name,
            "place": place,
            "mark": look.mark,
            "colour": _variable(look.colour),
            "fill": f"url(#hatch-{look.pattern}-{look.colour})" if look.pattern else _variable(look.colour),
            "dash": DASHES[look.dash],
            "shape": SHAPES[look.shape],
            "size": look.size,
        }
        for place, (name, look) in enumerate(chart.shown_looks.items())
    )


def _panel(chart: Chart, number: int, title: str, width: int) -> Layer:
    rows = chart.frame.filter(pl.col("panel") == number) if chart.panels else chart.frame
    if chart.x_max is not None:
        rows = rows.filter(pl.col("x").is_between(0, chart.x_max))
    rows = rows.join(_looks(chart), on="series", maintain_order="left").with_row_index("order")
    if "label" in rows.columns:
        value = pl.format("{}: {} {}", "series", pl.col("y").round_sig_figs(4), pl.lit(title))
        rows = rows.with_columns(pl.coalesce("label", value))
    x, y = _x(chart, width, is_last=number >= len(chart.panels) - 1), _y(chart, title)
    height = PANEL_HEIGHT if chart.panels else HEIGHT
    layers = [
        *_shades(chart, height, has_texts=number == 0),
        *_marks(rows, chart, x, y),
        *_hover(rows, chart, x, title),
        *_lines(chart),
    ]
    return {"width": width, "height": height, "layer": [layer for layer in layers if layer["data"]["values"]]}


def _x(chart: Chart, width: int, *, is_last: bool) -> Layer:
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
    if chart.x_max is not None:
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
    of = {str(part["mark"][0]): part for part in rows.partition_by("mark", maintain_order=True)}
    nothing, at = rows.clear(), {"x": x, "y": y}
    label = {"description": LABEL} if "label" in rows.columns else {}
    bins = {"x": {**x, "field": "x_low"}, "x2": {"field": "x_high"}, "y": y, "y2": {"datum": 0}}
    yield _layer(of.get("bins", nothing), "bar", {"binSpacing": 1}, **bins, fill=FILL, **label)
    bars = {"fill": FILL, "order": _number("place"), **label}
    yield _layer(of.get("bars", nothing), "bar", {"width": {"band": 0.7}}, **at, **bars)
    yield _layer(of.get("area", nothing), "area", {"opacity": 0.13}, **at, fill=COLOUR)
    dots = {"color": COLOUR, "size": _as_is("size"), **label}
    yield _layer(of.get("dots", nothing), "point", {"filled": True, "opacity": 0.5}, **at, **dots)
    lines: Layer = {"strokeWidth": 1.5 if chart.panels else 2, "invalid": "break-paths-filter-domains"}
    for mark in (*LINES, "points"):
        shape = {"interpolate": "step-after"} if mark == "steps" else {}
        yield _layer(of.get(mark, nothing), "line", {**lines, **shape}, **at, **DASHED, order=_number("order"))
    for mark in ("points", "single"):
        if mark in of:
            hollow = pl.when("is_hollow").then(pl.lit(_variable("card"))).otherwise("fill").alias("fill")
            points = of[mark].with_columns(hollow)
            yield from _intervals(points, chart, x, y)
            yield _layer(points, "point", {"strokeWidth": 2, "opacity": 1}, **at, **SYMBOL, **label)
            named = points.filter(pl.col("text").is_not_null())
            yield _layer(named, "text", {"align": "right", "dx": -7, "dy": -8}, **at, text=TEXT)


def _intervals(points: pl.DataFrame, chart: Chart, x: Layer, y: Layer) -> Iterator[Layer]:
    """The intervals of points, with a cap at each end that the chart reaches."""
    for axis, low, high, limit in (("y", "low", "high", chart.y_max), ("x", "x_low", "x_high", chart.x_max)):
        channel = y if axis == "y" else x
        known = points.filter(pl.col(low).is_not_null())
        cut = known.with_columns(pl.min_horizontal(high, pl.lit(limit)))
        ends = {"x": x, "y": y, axis: {**channel, "field": low}, f"{axis}2": {"field": high}}
        yield _layer(cut, "rule", {"strokeWidth": 1.6}, **ends, color=COLOUR)
        cap = {"orient": "horizontal" if axis == "y" else "vertical", "size": 9, "thickness": 1.6, "opacity": 1}
        for column in (low, high):
            reached = known if limit is None else known.filter(pl.col(column) <= limit)
            yield _layer(reached, "tick", cap, **{"x": x, "y": y, axis: {**channel, "field": column}}, color=COLOUR)


def _hover(rows: pl.DataFrame, chart: Chart, x: Layer, unit: str) -> Iterator[Layer]:
    """Areas that nobody sees, with the values of all lines at a place of x."""
    lines = rows.filter(pl.col("mark").is_in(LINES) & pl.col("y").is_not_null())
    if lines.is_empty() or "label" in rows.columns:
        return
    low, high = (float(end) for end in (lines["x"].min(), lines["x"].max()))  # type: ignore[arg-type]
    width, axis = max((high - low) / HOVER_COUNT, 1e-9), "ms" if chart.x_title == "ms" else "s"
    areas: dict[int, dict[str, tuple[float, float]]] = {}
    for series, at, value in lines.select("series", "x", "y").iter_rows():
        areas.setdefault(int((at - low) / width), {})[series] = at, value
    values = [
        {
            "x": low + place * width,
            "to": low + (place + 1) * width,
            "label": f"{next(iter(area.values()))[0]:,g} {axis}: "
            + "; ".join(f"{name} {value:,.4g}" for name, (_, value) in area.items())
            + f" ({unit})",
        }
        for place, area in sorted(areas.items())
    ]
    yield _layer(values, "rect", {"color": "transparent"}, x=x, x2={"field": "to"}, description=LABEL)


def _shades(chart: Chart, height: int, *, has_texts: bool) -> Iterator[Layer]:
    rows = [
        {"x": shade.start, "to": shade.end, "middle": (shade.start + shade.end) / 2, "is_upright": shade.is_upright}
        | {"fill": _variable(shade.colour), "text": shade.text, "colour": _variable(shade.text_colour)}
        for shade in chart.shades
    ]
    yield _layer(rows, "rect", {}, x=_number("x"), x2={"field": "to"}, fill=FILL)
    named = [row for row in rows if row["text"] and has_texts]
    above = [row for row in named if not row["is_upright"]]
    yield _layer(above, "text", ABOVE, x=_number("middle"), text=TEXT, color=COLOUR)
    upright = {"angle": 90, "align": "left", "baseline": "bottom", "limit": height, "y": 4}
    yield _layer([row for row in named if row["is_upright"]], "text", upright, x=_number("x"), text=TEXT, color=COLOUR)


def _lines(chart: Chart) -> Iterator[Layer]:
    rule = {"strokeDash": [6, 4], "strokeWidth": 1.5, "color": _variable("ink")}
    for line in chart.lines:
        text, at = {"text": {"value": line.text}}, {line.axis: _number("value")}
        rows = [{"value": line.value, "start": line.start, "end": line.end}]
        if line.axis == "x":
            yield _layer(rows, "rule", rule, **at)
            yield _layer(rows, "text", ABOVE, **at, **text)
        elif line.start is None:
            yield _layer(rows, "rule", rule, **at)
            yield _layer(rows, "text", {"align": "right", "dy": -8}, x={"value": "width"}, **at, **text)
        else:
            yield _layer(rows, "rule", rule, x=_number("start"), x2={"field": "end"}, **at)
            middle = [{**rows[0], "middle": (line.start + (line.end or 0.0)) / 2}]
            yield _layer(middle, "text", {**ABOVE, "color": _variable("ink")}, x=_number("middle"), **text)


def _legend(chart: Chart, width: int) -> Layer:
    """A picture above the panels: the symbol of each series with its name, in as many lines as they need."""
    rows, left, top = [], 0.0, LEGEND_LINE / 2
    for row in _looks(chart).iter_rows(named=True):
        room = LEGEND_SYMBOL + LETTER_WIDTH * len(row["series"]) + 12
        if left and left + room > width:
            left, top = 0.0, top + LEGEND_LINE
        shape = "square" if row["mark"] in ("bars", "bins") else row["shape"]
        places = {"left": left, "middle": left + 12, "right": left + 24, "name": left + 30, "y": top}
        rows.append({**row, **places, "size": 60, "shape": shape, "text": row["series"]})
        left += room
    height = top + LEGEND_LINE / 2
    y = {**_number("y"), "scale": {"domain": [height, 0], "nice": False}, "axis": None}

    def x(column: str) -> Layer:
        return {**_number(column), "scale": {"domain": [0, width], "nice": False}, "axis": None}

    lined = [row for row in rows if row["mark"] in (*LINES, "points")]
    marked = [row for row in rows if row["mark"] not in LINES]
    text = {"align": "left", "baseline": "middle"}
    layers = [
        _layer(lined, "rule", {"strokeWidth": 2}, x=x("left"), x2={"field": "right"}, y=y, **DASHED),
        _layer(marked, "point", {"strokeWidth": 1.5, "opacity": 1}, x=x("middle"), y=y, **SYMBOL),
        _layer(rows, "text", text, x=x("name"), y=y, text=TEXT),
    ]
    return {"width": width, "height": height, "layer": layers}
