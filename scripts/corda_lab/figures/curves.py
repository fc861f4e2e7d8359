"""The curves of a figure and their chart: as measured here, and beside the published ones, divided at the anchor.

Curves are a frame with a row for each point: the ``curve``, its ``origin`` (published, here), ``x`` as text and as a
``number`` (null where it is none), ``y``, the ends ``low`` and ``high`` of its interval over ``n`` repeats (null if it
has none), and ``peak``, the highest throughput of the curve in flows/s.
"""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from corda_lab.analysis.metrics import metric
from corda_lab.figures.figure import BY_PEAK, ChartFields, Figure, Row, read_published
from corda_lab.figures.judge import Judged, interval_of, mean_of
from corda_lab.figures.points import fits, label_of, number_of, text_of
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

SCHEMA: Mapping[str, type[pl.DataType]] = {
    **dict.fromkeys(("curve", "origin", "x"), pl.String),
    **dict.fromkeys(("number", "y", "low", "high", "peak"), pl.Float64),
    "n": pl.Int64,
}


def _frame(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Return curves in the order of their first points, the points of each by x if all x of it are numbers."""
    curves = pl.DataFrame(list(rows), schema=SCHEMA).with_row_index("place")
    has_order = pl.col("number").is_not_null().all().over("curve")
    order = pl.when(has_order).then("number").otherwise(pl.col("place"))
    return curves.sort(pl.col("place").min().over("curve"), order).drop("place")


def published_beside(figure: Figure) -> pl.DataFrame:
    """Return the published curves that stand beside ours, over our x."""
    rows = []
    for entry in figure.fields.published:
        # Our x is that of the row, or stands in the file for a value of a column.
        column, places = next(iter(entry.beside.items())) if isinstance(entry.beside, dict) else ("x", None)
        for row in figure.fields.rows if entry.beside is not None else ():
            is_placed = places is None or row[column] in places
            if not is_placed or row["value"] is None or not fits(row, entry.wanted):
                continue
            x = row["x"] if places is None else places[row[column]]
            rows.append(
                {
                    "rank": 0 if places is None else list(places).index(row[column]),
                    # What tells the places apart does not tell the curves apart.
                    "curve": row["edition" if entry.by in (None, column) else entry.by],
                    "edition": "" if column == "edition" else row["edition"],
                    "x": text_of(x),
                    "number": number_of(x) if places is None or not isinstance(x, str) else None,
                    "y": row["value"],
                    "peak": _published_peak(row),
                }
            )
    editions = {(row["curve"], row["edition"]) for row in rows}
    names = [name for name, _ in editions]
    curves = _frame(
        {**row, "curve": f"{row['curve']}, {row['edition']}" if names.count(row["curve"]) > 1 else row["curve"]}
        | {"origin": "published", "n": 1}
        for row in sorted(rows, key=lambda row: row["rank"])
    ).with_columns(pl.col("peak").first().over("curve"))
    is_by_peak = any(entry.beside == BY_PEAK for entry in figure.fields.published)
    return _divided_by_peak(curves, pl.col("y").max().over("curve")) if is_by_peak else curves


def _published_peak(row: Row) -> float | None:
    """Return the highest published throughput of the same system under the same kind of load."""
    system = {name: row[name] for name in ("edition", "workload", "x_name")}
    wanted = {**system, "metric": "throughput", "unit": "flows/s"}
    known = [other["value"] for other in read_published() if fits(other, wanted) and other["value"] is not None]
    return max(known, default=None) if row["x_name"] else None


def measured(judged: Judged, *, is_divided: bool = False) -> pl.DataFrame:
    """Return the measured curves: a value for each x, with its interval over the repeats.

    If ``is_divided``, each is divided by its value at the anchor within each repeat. A curve without one is divided by
    that of the anchor itself, which is on another curve, or else by its own first value.
    """
    places = curve_places(judged)
    table = _table(judged, places)
    if is_divided:
        table = table.with_columns(y=pl.col("y") / _divisor(judged.figure.fields.chart))
    values = dict(table.filter(pl.col("y").is_finite()).group_by("label", maintain_order=True).agg("y").iter_rows())
    peaks = table.group_by("curve", "repeat").agg(pl.max("peak")).drop_nulls().group_by("curve").agg("peak")
    peak_of = {curve: statistics.fmean(known) for curve, known in peaks.iter_rows()}
    rows = []
    for label in [label for label in places if label in values]:
        interval, place = interval_of(values[label]), places[label]
        ends = {} if interval is None else {"low": interval.low, "high": interval.high}
        y = mean_of(values[label])
        n, peak = len(values[label]), peak_of.get(place["curve"])
        rows.append({**place, **ends, "y": y, "origin": "here", "n": n, "peak": peak})
    return _frame(rows)


def _table(judged: Judged, places: Mapping[str, Row]) -> pl.DataFrame:
    """Return a row for each point of each repeat that has a place, in the order of the places."""
    chart = judged.figure.fields.chart
    names = {name for repeat in judged.repeats for point in repeat.points for name in point.metrics}
    throughput = next((name for name in THROUGHPUTS if name in names), "")
    rows = []
    for number, repeat in enumerate(judged.repeats):
        points = {point.label: point for point in repeat.points}
        for label in [label for label in places if label in points]:
            y, peak = (points[label].metrics.get(name) for name in (chart.y, throughput))
            is_anchor = fits(points[label].values, chart.anchor)
            rows.append(
                {**places[label], "repeat": number, "label": label, "y": y, "peak": peak, "is_anchor": is_anchor}
            )
    return pl.DataFrame(rows, {**SCHEMA, "repeat": pl.Int64, "label": pl.String, "is_anchor": pl.Boolean})


def _divisor(chart: ChartFields) -> pl.Expr:
    """Return by what each y of ``_table`` is divided."""
    y, is_anchor, own = pl.col("y"), pl.col("is_anchor"), ("repeat", "curve")
    # The anchor has one x. Without its point, the figure says which.
    anchor_x = pl.coalesce(pl.col("x").filter(is_anchor).first(), pl.lit(text_of(chart.anchor.get(chart.x))))
    candidates = (
        y.filter(pl.col("x") == anchor_x).drop_nulls().first().over(own),
        y.filter(is_anchor).drop_nulls().first().over("repeat"),
        y.drop_nulls().first().over(own),
    )
    return pl.coalesce(candidates)


def curve_places(judged: Judged) -> dict[str, Row]:
    """Return the ``curve``, the ``x`` and its ``number`` of each point that has an x, by its label.

    They are in the order of the sweep file. A curve is named after what varies besides x, ``by`` first. Of two points
    with the same x, the second has a curve of its own.
    """
    chart = judged.figure.fields.chart
    places: dict[str, Row] = {}
    for point in judged.plan:
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


# The chart.


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


def chart_of(judged: Judged) -> Chart:
    """Return the chart of a figure: published and measured curves, each divided by its value at the anchor.

    Without published ones beside them, it has the measured values.
    """
    fields = judged.figure.fields.chart
    x_title = fields.x_title or parameter_name(fields.x)
    curves, is_by_peak = normalised(judged)
    if "published" not in curves["origin"]:
        y = metric(fields.y)
        count = plural(len(judged.repeats), "repeat")
        caption = f"Means of {count} with their 95 % intervals." if judged.repeats else "Not measured yet."
        return _chart(judged.name, f"Here: {y.title}", caption, y.unit, x_title, measured(judged))
    at = ", ".join(filter(None, (value_words(name, value) for name, value in fields.anchor.items())))
    caption = (
        f"Every curve is 1 at {at}, ours within each repeat; without a value there, it is divided by that of another "
        "curve or by its own first value."
    )
    x_title = f"{x_title} ÷ own peak in flows/s" if is_by_peak else x_title
    name = pl.concat_str("origin", pl.col("curve").replace("", None), separator=": ", ignore_nulls=True)
    title = f"Both, each divided by its value at {at}"
    return _chart(judged.name, title, caption, f"× the value at {at}", x_title, curves.with_columns(curve=name))


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
    return bounded(Chart(name, title, caption, unit, frame, looks, x_title=x_title, axis=axis))


def _axis(numbers: pl.Series) -> Axis:
    if numbers.has_nulls():
        return "category"
    low, high = numbers.min(), numbers.max()
    return "log" if isinstance(low, float) and isinstance(high, float) and 0 < LOG_FROM * low <= high else "zero"
