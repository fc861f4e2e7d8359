"""The curves of a figure and their charts: as published, as measured here, and both divided at the anchor."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from corda_lab.analysis.metrics import metric
from corda_lab.figures.file import Figure, is_named
from corda_lab.figures.judge import Judged
from corda_lab.figures.published import PublishedRow, read_published
from corda_lab.figures.repeat import Repeat, RepeatPoint
from corda_lab.figures.schema import BEST, BY_PEAK, FIRST, LAST, PublishedFields
from corda_lab.figures.statistic import kind_of
from corda_lab.figures.verdict import interval_of
from corda_lab.report.chart import Axis, Chart, bounded, look_of
from corda_lab.report.charts_sweep import points_frame
from corda_lab.steps.entry import ParameterValue
from corda_lab.steps.parameters import AT, STEP, value_words
from corda_lab.text.words import parameter_name, plural

LOADS = ("load.users", "load.rate")
"""What is divided by the own peak in the normalised chart: two systems are compared at the same share of it."""
THROUGHPUTS = ("burst_node_throughput", "burst_throughput", "throughput", "goodput")
"""The metrics whose highest value is the peak, the first that the points have."""
RATE_UNIT = "flows/s"
LOG_FROM = 100
"""An axis of x is logarithmic if the largest x is at least this many times the smallest."""

X = float | str


@dataclass(frozen=True)
class Dot:
    """One point of a curve, over ``n`` repeats (1 for a published value). The ends are None without an interval."""

    x: X
    y: float
    low: float | None = None
    high: float | None = None
    n: int = 1


@dataclass(frozen=True)
class Curve:
    """One curve, in the order of its x. ``peak`` is its highest throughput, in flows per second."""

    name: str
    origin: Literal["published", "here"]
    dots: tuple[Dot, ...]
    unit: str
    peak: float | None = None

    @property
    def has_numbers(self) -> bool:
        """Whether its x are numbers."""
        return all(not isinstance(dot.x, str) for dot in self.dots)

    def divided_by(self, value: float | None) -> "Curve":
        """Return the curve with its values divided; without dots if there is nothing to divide by."""
        return replace(self, dots=tuple(replace(dot, y=dot.y / value) for dot in self.dots) if value else (), unit="")

    def by_peak(self, peak: float | None) -> "Curve":
        """Return the curve with its x divided by a peak, if there is one."""
        return replace(self, dots=tuple(replace(dot, x=float(dot.x) / peak) for dot in self.dots)) if peak else self


def _in_order(dots: Iterable[Dot]) -> tuple[Dot, ...]:
    """Return dots by their x if all are numbers, otherwise as they are."""
    given = tuple(dots)
    return given if any(isinstance(dot.x, str) for dot in given) else tuple(sorted(given, key=lambda dot: float(dot.x)))


# The published curves.


@dataclass(frozen=True)
class PublishedChart:
    """The published curves on one pair of axes, with the hardware that they name."""

    x: str
    y: str
    unit: str
    curves: tuple[Curve, ...]
    hardware: tuple[str, ...]


class PlacedRow(NamedTuple):
    """A published value with its curve and its place in a chart."""

    row: PublishedRow
    curve: str
    edition: str
    """Rows of several editions are on several curves. Empty if the editions are what is on the x axis."""
    x: X


def published_charts(figure: Figure) -> list[PublishedChart]:
    """Return the published curves, a chart for each pair of axes, in the order in which the figure names them."""
    groups: dict[tuple[str, str, str], list[PlacedRow]] = {}
    for entry, row in _named_rows(figure):
        placed = PlacedRow(row, _curve_of(row, entry), row.edition, row.x)
        if row.x == "":
            # Nothing is on the x axis: the rows of a curve differ in their edition or in their workload.
            placed = placed._replace(edition="", x=row.edition if entry.by == "workload" else row.workload)
        groups.setdefault((entry.x or "", entry.y, row.unit), []).append(placed)
    return [
        PublishedChart(
            *axes,
            tuple(_published_curves(placed)),
            tuple(dict.fromkeys(each.row.hardware for each in placed if each.row.hardware)),
        )
        for axes, placed in groups.items()
    ]


def published_beside(figure: Figure) -> list[Curve]:
    """Return the published curves that stand beside ours: over our x, of the kind of quantity that our y is."""
    kind = kind_of(metric(figure.fields.chart.y).unit)
    ranked = [place for entry, row in _named_rows(figure) if kind_of(row.unit) == kind for place in _beside(row, entry)]
    ranked.sort(key=lambda place: place[0])
    curves = _published_curves([placed for _, placed in ranked])
    if any(entry.beside == BY_PEAK for entry in figure.fields.published):
        return [curve.by_peak(max(dot.y for dot in curve.dots)) for curve in curves]
    return curves


def _named_rows(figure: Figure) -> list[tuple[PublishedFields, PublishedRow]]:
    return [
        (entry, row)
        for entry in figure.fields.published
        for row in figure.rows
        if row.value is not None and is_named(row, entry)
    ]


def _curve_of(row: PublishedRow, entry: PublishedFields) -> str:
    return str(row.columns[entry.by]) if entry.by else row.edition


def _beside(row: PublishedRow, entry: PublishedFields) -> list[tuple[int, PlacedRow]]:
    """Return the place of a row beside ours, after its rank among the places that the figure lists, if it has one."""
    if entry.beside is None:
        return []
    if not isinstance(entry.beside, dict):
        return [(0, PlacedRow(row, _curve_of(row, entry), row.edition, row.x))]
    ((column, places),) = entry.beside.items()
    x = places.get(str(row.columns[column]))
    if x is None:
        return []
    # What tells the places apart does not tell the curves apart.
    curve = row.edition if entry.by == column else _curve_of(row, entry)
    return [([*places.values()].index(x), PlacedRow(row, curve, "" if column == "edition" else row.edition, x))]


def _published_curves(placed: Sequence[PlacedRow]) -> list[Curve]:
    """Return the curves. If two have the same name, the edition is part of it."""
    groups: dict[tuple[str, str], list[PlacedRow]] = {}
    for each in placed:
        groups.setdefault((each.curve, each.edition), []).append(each)
    names = [name for name, _ in groups]
    return [
        Curve(
            f"{name}, {edition}" if names.count(name) > 1 else name,
            "published",
            _in_order(Dot(each.x, each.row.value) for each in group if each.row.value is not None),
            group[0].row.unit,
            _published_peak(group[0].row),
        )
        for (name, edition), group in groups.items()
    ]


def _published_peak(row: PublishedRow) -> float | None:
    """Return the highest published throughput of the same system under the same kind of load."""
    system = (row.edition, row.workload, row.x_name, "throughput", RATE_UNIT)
    known = [
        other.value
        for other in read_published()
        if (other.edition, other.workload, other.x_name, other.metric, other.unit) == system
        and other.x_name
        and other.value is not None
    ]
    return max(known, default=None)


# The measured curves.

Divisor = Callable[[Sequence[RepeatPoint], Repeat], float | None]
"""What the values of a curve are divided by, from its points in a repeat."""


def measured(figure: Figure, repeats: Sequence[Repeat], divisor: Divisor = lambda points, repeat: 1.0) -> list[Curve]:
    """Return the measured curves: a value for each x, with its interval over the repeats."""
    chart = figure.fields.chart
    samples: dict[str, dict[X, list[float]]] = {}
    peaks: dict[str, list[float]] = {}
    for repeat in repeats:
        for name, points in by_curve(figure, repeat).items():
            by = divisor(points, repeat)
            for point in points:
                values = samples.setdefault(name, {}).setdefault(_x_of(point, chart.x), [])
                value = point.metrics.get(chart.y)
                if value is not None and by:
                    values.append(value / by)
            peaks.setdefault(name, []).extend(_peak_of(points))
    curves = []
    for name, places in samples.items():
        dots = _in_order(_dot(x, values) for x, values in places.items() if values)
        peak = sum(peaks[name]) / len(peaks[name]) if peaks[name] else None
        if dots:
            curves.append(Curve(name, "here", dots, metric(chart.y).unit, peak))
    return curves


def by_curve(figure: Figure, repeat: Repeat) -> dict[str, list[RepeatPoint]]:
    """Return the points of a repeat by the name of their curve: what varies besides x, ``by`` first.

    Points without an x are on no curve. Of two points with the same x, the second has a curve of its own.
    """
    chart = figure.fields.chart
    curves: dict[str, list[RepeatPoint]] = {}
    for point in repeat.points:
        if point.values.get(chart.x) is None:
            continue
        name = _curve_name(point, chart.x, chart.by)
        if any(_x_of(other, chart.x) == _x_of(point, chart.x) for other in curves.get(name, ())):
            name = ", ".join(filter(None, (name, str(point.values.get(STEP, "again")))))
        curves.setdefault(name, []).append(point)
    return curves


def _curve_name(point: RepeatPoint, x: str, by: str | None) -> str:
    # A named step and its number are the same thing, unless the figure has a curve for each step.
    taken = {x, AT} if by == STEP else {x, AT, STEP} if x in (AT, STEP) else {x, AT}
    others = [name for name in point.values if name not in taken]
    words = {name: value_words(name, point.values[name]) for name in sorted(others, key=lambda name: name != by)}
    place = point.values.get(AT)
    if x == AT and by == STEP and isinstance(place, int | float):
        # ``issue 16`` and ``issue 64``, which are at 16 and 64, are on one curve.
        words[STEP] = " ".join(word for word in words[STEP].split() if word != f"{place:g}")
    return ", ".join(filter(None, words.values()))


def _x_of(point: RepeatPoint, x: str) -> X:
    value: ParameterValue = point.values.get(x)
    return value_words(x, value) if isinstance(value, bool | list) or value is None else value


def _peak_of(points: Sequence[RepeatPoint]) -> list[float]:
    """Return the highest throughput of a curve in one repeat, in a list that is empty if it is not known."""
    for name in THROUGHPUTS:
        if known := [value for point in points if (value := point.metrics.get(name)) is not None]:
            return [max(known)]
    return []


def _dot(x: X, values: Sequence[float]) -> Dot:
    interval = interval_of(values)
    return Dot(x, values[0]) if interval is None else Dot(x, interval.estimate, interval.low, interval.high, interval.n)


# Both, each curve 1 at its anchor.


def normalised(figure: Figure, repeats: Sequence[Repeat]) -> tuple[list[Curve], bool]:
    """Return all curves divided by their value at the anchor, ours within each repeat, and whether x is by peak.

    A curve without a value at the anchor is divided by the anchor itself, which is on another curve, or else by its own
    first value. A published curve of a single value would only be 1, and is left out. Where x is a load, it is divided
    by the peak of the curve, if every curve has one and a published one is among them.
    """
    chart = figure.fields.chart

    def anchor(points: Sequence[RepeatPoint], repeat: Repeat) -> float | None:
        known = [
            (_x_of(point, chart.x), value) for point in points if (value := point.metrics.get(chart.y)) is not None
        ]
        anchors = [
            point
            for point in repeat.points
            if all(point.values.get(name) == value for name, value in chart.anchor.items())
        ]
        x: object = next((point.values.get(chart.x) for point in anchors), chart.anchor.get(chart.x))
        elsewhere = next((value for point in anchors if (value := point.metrics.get(chart.y)) is not None), None)
        return _value_at(known, x, elsewhere)

    theirs = [
        curve.divided_by(_value_at([(dot.x, dot.y) for dot in curve.dots], chart.anchor.get(chart.x)))
        for curve in published_beside(figure)
        if len(curve.dots) > 1
    ]
    curves = [*theirs, *measured(figure, repeats, anchor)]
    is_by_peak = bool(theirs) and chart.x in LOADS and all(curve.peak and curve.has_numbers for curve in curves)
    return [curve.by_peak(curve.peak) for curve in curves] if is_by_peak else curves, is_by_peak


def has_published(judged: Judged) -> bool:
    """Return whether published values stand beside ours."""
    curves, _ = normalised(judged.figure, judged.repeats)
    return any(curve.origin == "published" for curve in curves)


def _value_at(known: Sequence[tuple[X, float]], x: object, elsewhere: float | None = None) -> float | None:
    """Return the value at the anchor; if the curve has none there, that of the anchor ``elsewhere``, or its first."""
    if not known:
        return None
    if x == BEST:
        return max(value for _, value in known)
    if x in (FIRST, LAST):
        return known[0 if x == FIRST else -1][1]
    return next((value for place, value in known if place == x), elsewhere or known[0][1])


# The charts.


def published(judged: Judged) -> list[Chart]:
    """Return the published curves in their own units, a chart for each pair of axes."""
    return [
        _chart(
            f"published-{place}",
            f"Published: {each.y}",
            f"On {'; '.join(each.hardware)}." if each.hardware else "On hardware that the source does not name.",
            each.unit,
            each.x,
            each.curves,
        )
        for place, each in enumerate(published_charts(judged.figure))
    ]


def here(judged: Judged) -> Chart:
    """Return the curves that were measured here."""
    chart = judged.figure.fields.chart
    curves = measured(judged.figure, judged.repeats)
    caption = f"Means of {plural(len(judged.repeats), 'repeat')} with their 95 % intervals."
    y = metric(chart.y)
    title = chart.x_title or parameter_name(chart.x)
    return bounded(
        _chart("here", f"Here: {y.title}", caption if curves else "Not measured yet.", y.unit, title, curves)
    )


def both(judged: Judged) -> Chart:
    """Return all curves in one chart, each divided by its value at the anchor."""
    chart = judged.figure.fields.chart
    curves, is_by_peak = normalised(judged.figure, judged.repeats)
    at = ", ".join(filter(None, (value_words(name, value) for name, value in chart.anchor.items())))
    x = chart.x_title or parameter_name(chart.x)
    missing = "" if has_published(judged) else " The published values are of another kind, or have other x."
    by_peak = f" {x.capitalize()} are divided by the highest throughput of the same curve." if is_by_peak else ""
    drawn = _chart(
        "both",
        f"Both, each divided by its value at {at}",
        f"Every curve is 1 at {at}, ours within each repeat; without a value there, it is divided by that of "
        f"another curve or by its own first value.{by_peak}{missing}",
        f"× the value at {at}",
        f"{x} ÷ own peak in flows/s" if is_by_peak else x,
        [replace(curve, name=": ".join(filter(None, (curve.origin, curve.name)))) for curve in curves],
    )
    return bounded(replace(drawn, width="wide"))


def _chart(name: str, title: str, caption: str, unit: str, x_title: str, curves: Sequence[Curve]) -> Chart:
    axis = _axis(curves)
    rows = [
        {
            "series": curve.name,
            "x": str(dot.x) if axis == "category" else float(dot.x),
            "y": _rounded(dot.y),
            "low": _rounded(dot.low),
            "high": _rounded(dot.high),
            # A published value has no interval, which is not a fault of the measurement here.
            "is_hollow": curve.origin == "here" and dot.low is None,
        }
        for curve in curves
        for dot in curve.dots
    ]
    looks = {
        curve.name: replace(
            # Between categories, there is nothing for a line to pass.
            look_of(place, "points" if curve.has_numbers else "single"),
            dash="dash" if curve.origin == "published" else "solid",
        )
        for place, curve in enumerate(curves)
    }
    frame = points_frame(rows, is_category=axis == "category")
    return Chart(name, title, caption, unit, frame, looks, x_title=x_title, axis=axis)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _axis(curves: Sequence[Curve]) -> Axis:
    if not all(curve.has_numbers for curve in curves):
        return "category"
    numbers = [float(dot.x) for curve in curves for dot in curve.dots]
    is_wide = bool(numbers) and min(numbers) > 0 and max(numbers) >= LOG_FROM * min(numbers)
    return "log" if is_wide else "zero"
