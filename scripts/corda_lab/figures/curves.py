"""The curves of a figure and their charts: as published, as measured here, and both divided at the anchor.

Curves are a frame with a row for each point: the ``curve``, its ``origin`` (published, here), ``x`` as text and as a
``number`` (null where it is none), ``y``, the ends ``low`` and ``high`` of its interval over ``n`` repeats (null if it
has none), and ``peak``, the highest throughput of the curve in flows/s.
"""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from corda_lab.analysis.metrics import metric
from corda_lab.figures.figure import BY_PEAK, ChartFields, Figure, PublishedFields
from corda_lab.figures.judge import Judged, interval_of
from corda_lab.figures.points import Point, fits, kind_of, label_of, number_of, text_of
from corda_lab.figures.published import read_published
from corda_lab.report.chart import Axis, Chart, bounded, look_of
from corda_lab.report.charts_sweep import points_frame
from corda_lab.steps.entry import ParameterValue
from corda_lab.steps.parameters import AT, STEP, value_words
from corda_lab.text.words import parameter_name, plural

LOADS = ("load.users", "load.rate")
"""What is divided by the own peak in the normalised chart: two systems are compared at the same share of it."""
THROUGHPUTS = ("burst_node_throughput", "burst_throughput", "throughput", "goodput")
"""The metrics whose highest value is the peak, the first that the points have."""
LOG_FROM = 100
"""An axis of x is logarithmic if the largest x is at least this many times the smallest."""

Row = dict[str, Any]
SCHEMA: Mapping[str, type[pl.DataType]] = {
    **dict.fromkeys(("curve", "origin", "x"), pl.String),
    **dict.fromkeys(("number", "y", "low", "high", "peak"), pl.Float64),
    "n": pl.Int64,
}


def _frame(rows: Iterable[Row]) -> pl.DataFrame:
    """Return curves in the order of their first points, the points of each by x if all x of it are numbers."""
    curves = pl.DataFrame(list(rows), schema=SCHEMA).with_row_index("place")
    has_order = pl.col("number").is_not_null().all().over("curve")
    order = pl.when(has_order).then("number").otherwise(pl.col("place"))
    return curves.sort(pl.col("place").min().over("curve"), order).drop("place")


# The published curves.


def published(judged: Judged) -> list[Chart]:
    """Return the published curves in their own units, a chart for each pair of axes."""
    charts: dict[tuple[str, str, str], list[Row]] = {}
    for entry, row in _named_rows(judged.figure):
        charts.setdefault((entry.x or "", entry.y, row["unit"]), []).append(_as_published(entry, row))
    drawn = []
    for place, ((x, y, unit), rows) in enumerate(charts.items()):
        hardware = "; ".join(dict.fromkeys(row["hardware"] for row in rows if row["hardware"]))
        caption = f"On {hardware}." if hardware else "On hardware that the source does not name."
        drawn.append(_chart(f"published-{place}", f"Published: {y}", caption, unit, x, _published_curves(rows)))
    return drawn


def published_beside(figure: Figure) -> pl.DataFrame:
    """Return the published curves that stand beside ours: over our x, of the kind of quantity that our y is."""
    kind = kind_of(metric(figure.fields.chart.y).unit)
    rows = [
        placed
        for entry, row in _named_rows(figure)
        if kind_of(row["unit"]) == kind and (placed := _beside(entry, row)) is not None
    ]
    curves = _published_curves(sorted(rows, key=lambda row: row["rank"]))
    is_by_peak = any(entry.beside == BY_PEAK for entry in figure.fields.published)
    return _divided_by_peak(curves, pl.col("y").max().over("curve")) if is_by_peak else curves


def _named_rows(figure: Figure) -> Iterator[tuple[PublishedFields, Row]]:
    for entry in figure.fields.published:
        for row in figure.fields.rows:
            if row["value"] is not None and fits(row, entry.wanted):
                yield entry, {**row, "number": number_of(row["x"]), "curve": row[entry.by or "edition"], "rank": 0}


def _as_published(entry: PublishedFields, row: Row) -> Row:
    if row["x"]:
        return row
    # Nothing is on the x axis: the rows of a curve differ in their edition or in their workload.
    x = row["edition" if entry.by == "workload" else "workload"]
    return {**row, "x": x, "number": None, "edition": ""}


def _beside(entry: PublishedFields, row: Row) -> Row | None:
    """Return a row at its place beside ours, with its rank among the places that the figure lists; None without one."""
    if not isinstance(entry.beside, dict):
        return None if entry.beside is None else row
    ((column, places),) = entry.beside.items()
    if row[column] not in places:
        return None
    # What tells the places apart does not tell the curves apart.
    curve = row["edition"] if entry.by == column else row["curve"]
    edition = "" if column == "edition" else row["edition"]
    x, rank = places[row[column]], list(places).index(row[column])
    number = None if isinstance(x, str) else number_of(x)
    return {**row, "x": text_of(x), "number": number, "rank": rank, "curve": curve, "edition": edition}


def _published_curves(rows: list[Row]) -> pl.DataFrame:
    """Return published values as curves. If two have the same name, the edition is part of it."""
    curves = dict.fromkeys((row["curve"], row["edition"]) for row in rows)
    names = [name for name, _ in curves]
    peaks: dict[str, float | None] = {}
    content = []
    for row in rows:
        name = f"{row['curve']}, {row['edition']}" if names.count(row["curve"]) > 1 else row["curve"]
        peak = peaks.setdefault(name, _published_peak(row))
        place = {"x": row["x"], "number": row["number"], "y": row["value"]}
        content.append({**place, "curve": name, "origin": "published", "peak": peak, "n": 1})
    return _frame(content)


def _published_peak(row: Row) -> float | None:
    """Return the highest published throughput of the same system under the same kind of load."""
    system = {name: row[name] for name in ("edition", "workload", "x_name")}
    wanted = {**system, "metric": "throughput", "unit": "flows/s"}
    known = [other["value"] for other in read_published() if fits(other, wanted) and other["value"] is not None]
    return max(known, default=None) if row["x_name"] else None


# The measured curves.


def measured(judged: Judged, *, is_divided: bool = False) -> pl.DataFrame:
    """Return the measured curves: a value for each x, with its interval over the repeats.

    If ``is_divided``, each is divided by its value at the anchor within each repeat. A curve without one is divided by
    that of the anchor itself, which is on another curve, or else by its own first value.
    """
    chart, places = judged.figure.fields.chart, curve_places(judged)
    values: dict[str, list[float]] = {label: [] for label in places}
    peaks: dict[str, list[float]] = {}
    for repeat in judged.repeats:
        points = {point.label: point for point in repeat.points}
        curves: dict[str, list[Point]] = {}
        for label in [label for label in places if label in points]:
            curves.setdefault(places[label]["curve"], []).append(points[label])
        anchor = next((point for point in repeat.points if fits(point.values, chart.anchor)), None)
        for curve, own in curves.items():
            by = _divisor(own, anchor, chart) if is_divided else 1.0
            for point in own:
                if (y := point.metrics.get(chart.y)) is not None and by:
                    values[point.label].append(y / by)
            peaks.setdefault(curve, []).extend(_peak(own))
    rows = []
    for label, known in values.items():
        interval, place = interval_of(known), places[label]
        peak = statistics.fmean(peaks[place["curve"]]) if peaks.get(place["curve"]) else None
        row = {**place, "origin": "here", "n": len(known), "peak": peak}
        if interval is not None:
            rows.append({**row, "y": interval.estimate, "low": interval.low, "high": interval.high})
        elif known:
            rows.append({**row, "y": known[0]})
    return _frame(rows)


def _peak(points: Sequence[Point]) -> list[float]:
    """Return the highest throughput of a curve in one repeat, in a list that is empty if it is not known."""
    for name in THROUGHPUTS:
        if known := [value for point in points if (value := point.metrics.get(name)) is not None]:
            return [max(known)]
    return []


def _divisor(points: Sequence[Point], anchor: Point | None, chart: ChartFields) -> float | None:
    x = chart.anchor.get(chart.x) if anchor is None else anchor.values.get(chart.x)
    at_anchor = [point for point in points if text_of(point.values[chart.x]) == text_of(x)]
    candidates = (*at_anchor, *([anchor] if anchor else []), *points)
    return next((value for point in candidates if (value := point.metrics.get(chart.y)) is not None), None)


def curve_places(judged: Judged) -> dict[str, Row]:
    """Return the ``curve``, the ``x`` and its ``number`` of each point that has an x, by its label.

    They are in the order of the sweep file. A curve is named after what varies besides x, ``by`` first. Of two points
    with the same x, the second has a curve of its own.
    """
    chart = judged.figure.fields.chart
    places: dict[str, Row] = {}
    for point in judged.plan.points:
        if (value := point.get(chart.x)) is None:
            continue
        is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
        x, curve = text_of(value) if is_plain else value_words(chart.x, value), _curve_name(point, chart)
        if any((place["curve"], place["x"]) == (curve, x) for place in places.values()):
            curve = ", ".join(filter(None, (curve, str(point.get(STEP, "again")))))
        number = None if isinstance(value, str) else number_of(value)
        places[label_of(point)] = {"curve": curve, "x": x, "number": number}
    return places


def _curve_name(point: Mapping[str, ParameterValue], chart: ChartFields) -> str:
    # A named step and its number are the same thing, unless the figure has a curve for each step.
    on_x = {chart.x, AT} if chart.by == STEP or chart.x not in (AT, STEP) else {AT, STEP}
    others = sorted(point.keys() - on_x, key=lambda name: (name != chart.by, list(point).index(name)))
    words = {name: value_words(name, point[name]) for name in others}
    place = point.get(AT)
    if chart.x == AT and chart.by == STEP and isinstance(place, int | float):
        # ``issue 16`` and ``issue 64``, which are at 16 and 64, are on one curve.
        words[STEP] = " ".join(word for word in words[STEP].split() if word != f"{place:g}")
    return ", ".join(filter(None, words.values()))


# Both, each curve 1 at its anchor.


def normalised(judged: Judged) -> tuple[pl.DataFrame, bool]:
    """Return all curves divided by their value at the anchor, and whether x is divided by the peak.

    A published curve of a single value would only be 1, and is left out. Where x is a load, it is divided by the peak
    of the curve, if every curve has one and a published one is among them.
    """
    chart = judged.figure.fields.chart
    at_anchor = pl.col("y").filter(pl.col("x") == text_of(chart.anchor.get(chart.x))).first()
    theirs = published_beside(judged.figure).filter(pl.len().over("curve") > 1)
    theirs = theirs.with_columns(y=pl.col("y") / pl.coalesce(at_anchor, pl.col("y").first()).over("curve"))
    curves = pl.concat([theirs, measured(judged, is_divided=True)])
    has_all = not (curves["peak"].has_nulls() or curves["number"].has_nulls())
    is_by_peak = not theirs.is_empty() and chart.x in LOADS and has_all
    return _divided_by_peak(curves, pl.col("peak")) if is_by_peak else curves, is_by_peak


def _divided_by_peak(curves: pl.DataFrame, peak: pl.Expr) -> pl.DataFrame:
    number = pl.col("number") / peak
    return curves.with_columns(number=number, x=number.cast(pl.String))


def has_published(judged: Judged) -> bool:
    """Return whether published values stand beside ours."""
    return "published" in normalised(judged)[0]["origin"]


# The charts.


def here(judged: Judged) -> Chart:
    """Return the curves that were measured here."""
    y, curves = metric(judged.figure.fields.chart.y), measured(judged)
    caption = f"Means of {plural(len(judged.repeats), 'repeat')} with their 95 % intervals."
    caption = "Not measured yet." if curves.is_empty() else caption
    return bounded(_chart("here", f"Here: {y.title}", caption, y.unit, _x_title(judged), curves))


def both(judged: Judged) -> Chart:
    """Return all curves in one chart, each divided by its value at the anchor."""
    curves, is_by_peak = normalised(judged)
    chart, x = judged.figure.fields.chart, _x_title(judged)
    at = ", ".join(filter(None, (value_words(name, value) for name, value in chart.anchor.items())))
    missing = "" if has_published(judged) else " The published values are of another kind, or have other x."
    by_peak = f" {x.capitalize()} are divided by the highest throughput of the same curve." if is_by_peak else ""
    caption = (
        f"Every curve is 1 at {at}, ours within each repeat; without a value there, it is divided by that of "
        f"another curve or by its own first value.{by_peak}{missing}"
    )
    x_title = f"{x} ÷ own peak in flows/s" if is_by_peak else x
    named = curves.with_columns(
        curve=pl.concat_str("origin", pl.col("curve").replace("", None), separator=": ", ignore_nulls=True)
    )
    drawn = _chart("both", f"Both, each divided by its value at {at}", caption, f"× the value at {at}", x_title, named)
    return bounded(replace(drawn, width="wide"))


def _x_title(judged: Judged) -> str:
    chart = judged.figure.fields.chart
    return chart.x_title or parameter_name(chart.x)


def _chart(name: str, title: str, caption: str, unit: str, x_title: str, curves: pl.DataFrame) -> Chart:
    axis = _axis(curves["number"])
    rows = curves.with_columns(pl.col("y", "low", "high").round_sig_figs(6)).select(
        "y",
        "low",
        "high",
        series="curve",
        x="x" if axis == "category" else "number",
        # A published value has no interval, which is not a fault of the measurement here.
        is_hollow=(pl.col("origin") == "here") & pl.col("low").is_null(),
    )
    groups = curves.group_by("curve", maintain_order=True).agg(pl.first("origin"), pl.col("number").is_not_null().all())
    looks = {
        # Between categories, there is nothing for a line to pass.
        curve: replace(
            look_of(place, "points" if has_numbers else "single"), dash="dash" if origin == "published" else "solid"
        )
        for place, (curve, origin, has_numbers) in enumerate(groups.iter_rows())
    }
    frame = points_frame(rows.to_dicts(), is_category=axis == "category")
    return Chart(name, title, caption, unit, frame, looks, x_title=x_title, axis=axis)


def _axis(numbers: pl.Series) -> Axis:
    if numbers.has_nulls():
        return "category"
    low, high = numbers.min(), numbers.max()
    return "log" if isinstance(low, float) and isinstance(high, float) and 0 < LOG_FROM * low <= high else "zero"
