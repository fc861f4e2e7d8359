"""The curves of a figure as numbers: as published, as measured here, and both divided by their value at the anchor."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from corda_lab.figures.file import Figure, is_named
from corda_lab.figures.metrics import unit_of
from corda_lab.figures.published import PublishedRow, read_published
from corda_lab.figures.repeat import Repeat, RepeatPoint
from corda_lab.figures.schema import BEST, BY_PEAK, FIRST, LAST, PublishedFields
from corda_lab.figures.statistics import kind_of
from corda_lab.figures.verdict import interval_of
from corda_lab.steps.entry import ParameterValue
from corda_lab.steps.parameters import AT, STEP, value_words

LOADS = ("load.users", "load.rate")
"""What is divided by the own peak in the normalised chart: two systems are compared at the same share of it."""
THROUGHPUTS = ("burst_node_throughput", "burst_throughput", "throughput", "goodput")
"""The metrics whose highest value is the peak, the first that the points have."""
RATE_UNIT = "flows/s"

Origin = Literal["published", "here"]


@dataclass(frozen=True)
class Dot:
    """One point of a curve, over ``n`` repeats (1 for a published value). The ends are None without an interval."""

    x: float | str
    y: float
    low: float | None = None
    high: float | None = None
    n: int = 1


@dataclass(frozen=True)
class Curve:
    """One curve, in the order of its x. ``peak`` is its highest throughput, in flows per second."""

    name: str
    origin: Origin
    dots: tuple[Dot, ...]
    unit: str
    peak: float | None = None

    @property
    def has_numbers(self) -> bool:
        """Whether its x are numbers."""
        return all(not isinstance(dot.x, str) for dot in self.dots)


@dataclass(frozen=True)
class PublishedChart:
    """The published curves on one pair of axes, with the hardware that they name."""

    x: str
    y: str
    unit: str
    curves: tuple[Curve, ...]
    hardware: tuple[str, ...]


def published_charts(figure: Figure) -> list[PublishedChart]:
    """Return the published curves, a chart for each pair of axes, in the order in which the figure names them."""
    grouped: dict[tuple[str, str, str], list[PlacedRow]] = {}
    for entry, row in _named_rows(figure):
        if row.x != "":
            place = PlacedRow(row, _curve_of(row, entry), row.edition, row.x)
        else:
            # Nothing is on the x axis: the rows of a curve differ in their edition or in their workload.
            other = row.edition if entry.by == "workload" else row.workload
            place = PlacedRow(row, _curve_of(row, entry), "", other)
        grouped.setdefault((entry.x or "", entry.y, row.unit), []).append(place)
    return [
        PublishedChart(
            x,
            y,
            unit,
            tuple(_published_curves(placed)),
            tuple(dict.fromkeys(one.row.hardware for one in placed if one.row.hardware)),
        )
        for (x, y, unit), placed in grouped.items()
    ]


def published_beside(figure: Figure) -> list[Curve]:
    """Return the published curves that stand beside ours: over our x, of the kind of quantity that our y is."""
    found: list[PlacedRow] = []
    for entry, row in _named_rows(figure):
        place = _beside(row, entry)
        if place is not None and kind_of(row.unit) == kind_of(unit_of(figure.fields.chart.y)):
            found.append(place)
    found.sort(key=lambda one: one.rank)
    by_peak = any(entry.beside == BY_PEAK for entry in figure.fields.published)
    return [_over_own_peak(curve) if by_peak else curve for curve in _published_curves(found)]


@dataclass(frozen=True)
class PlacedRow:
    """A published value with its place in a chart."""

    row: PublishedRow
    curve: str
    edition: str
    """Rows of several editions are on several curves. Empty if the editions are what is on the x axis."""
    x: float | str
    rank: int = 0
    """The order of x, if it is one of the places that the figure lists."""


def _named_rows(figure: Figure) -> list[tuple[PublishedFields, PublishedRow]]:
    return [
        (entry, row)
        for entry in figure.fields.published
        for row in figure.rows
        if row.value is not None and is_named(row, entry)
    ]


def _curve_of(row: PublishedRow, entry: PublishedFields) -> str:
    return str(row.columns[entry.by]) if entry.by else row.edition


def _beside(row: PublishedRow, entry: PublishedFields) -> PlacedRow | None:
    """Return the place of a row beside ours; None if it has none."""
    if not isinstance(entry.beside, dict):
        return None if entry.beside is None else PlacedRow(row, _curve_of(row, entry), row.edition, row.x)
    ((column, places),) = entry.beside.items()
    x = places.get(str(row.columns[column]))
    if x is None:
        return None
    # What tells the places apart does not tell the curves apart.
    curve = row.edition if entry.by == column else _curve_of(row, entry)
    return PlacedRow(row, curve, "" if column == "edition" else row.edition, x, [*places.values()].index(x))


def _published_curves(placed: Sequence[PlacedRow]) -> list[Curve]:
    """Return the curves. If two have the same name, the edition is part of it."""
    found: dict[tuple[str, str], list[PlacedRow]] = {}
    for one in placed:
        found.setdefault((one.curve, one.edition), []).append(one)
    names = [name for name, _ in found]
    return [
        _published_curve(f"{name}, {edition}" if names.count(name) > 1 else name, rows)
        for (name, edition), rows in found.items()
    ]


def _published_curve(name: str, placed: Sequence[PlacedRow]) -> Curve:
    dots = [Dot(one.x, one.row.value) for one in placed if one.row.value is not None]
    first = placed[0].row
    return Curve(name, "published", _in_order(dots), first.unit, _published_peak(first))


def _over_own_peak(curve: Curve) -> Curve:
    return _by_peak(replace(curve, peak=max(dot.y for dot in curve.dots)))


def _published_peak(row: PublishedRow) -> float | None:
    """Return the highest published throughput of the same system under the same kind of load."""
    known = [
        other.value
        for other in read_published()
        if (other.edition, other.workload, other.x_name, other.metric, other.unit)
        == (row.edition, row.workload, row.x_name, "throughput", RATE_UNIT)
        and other.x_name
        and other.value is not None
    ]
    return max(known, default=None)


def _in_order(dots: Iterable[Dot]) -> tuple[Dot, ...]:
    """Return dots by their x if all are numbers, otherwise as they are."""
    given = list(dots)
    if all(isinstance(dot.x, float | int) for dot in given):
        return tuple(sorted(given, key=lambda dot: float(dot.x)))
    return tuple(given)


Divisor = Callable[[Sequence[RepeatPoint], Repeat], float | None]
"""What the values of a curve are divided by, from its points in a repeat."""


def measured(figure: Figure, repeats: Sequence[Repeat]) -> list[Curve]:
    """Return the measured curves: a value for each x, with its interval over the repeats."""
    return _measured(figure, repeats, lambda points, repeat: 1.0)


def _measured(figure: Figure, repeats: Sequence[Repeat], divisor: Divisor) -> list[Curve]:
    chart = figure.fields.chart
    samples: dict[str, dict[float | str, list[float]]] = {}
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
        dots = _in_order(_dot(x, found) for x, found in places.items() if found)
        if dots:
            peak = sum(peaks[name]) / len(peaks[name]) if peaks[name] else None
            curves.append(Curve(name, "here", dots, unit_of(chart.y), peak))
    return curves


def by_curve(figure: Figure, repeat: Repeat) -> dict[str, list[RepeatPoint]]:
    """Return the points of a repeat by the name of their curve: what varies besides x, ``by`` first.

    Points without an x are on no curve. Of two points with the same x, the second has a curve of its own.
    """
    chart = figure.fields.chart
    found: dict[str, list[RepeatPoint]] = {}
    for point in repeat.points:
        if point.values.get(chart.x) is None:
            continue
        name = _curve_name(point, chart.x, chart.by)
        if any(_x_of(other, chart.x) == _x_of(point, chart.x) for other in found.get(name, ())):
            name = ", ".join(filter(None, (name, str(point.values.get(STEP, "again")))))
        found.setdefault(name, []).append(point)
    return found


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


def _x_of(point: RepeatPoint, x: str) -> float | str:
    value: ParameterValue = point.values.get(x)
    return value_words(x, value) if isinstance(value, bool | list) or value is None else value


def _peak_of(points: Sequence[RepeatPoint]) -> list[float]:
    """Return the highest throughput of a curve in one repeat, in a list that is empty if it is not known."""
    for name in THROUGHPUTS:
        known = [value for point in points if (value := point.metrics.get(name)) is not None]
        if known:
            return [max(known)]
    return []


def _dot(x: float | str, values: Sequence[float]) -> Dot:
    interval = interval_of(values, "logarithms")
    if interval is None:
        return Dot(x, values[0])
    return Dot(x, interval.estimate, interval.low, interval.high, interval.n)


@dataclass(frozen=True)
class Normalised:
    """Published and measured curves, each 1 at its anchor."""

    curves: tuple[Curve, ...]
    is_by_peak: bool
    """Whether x is divided by the own peak of each curve."""

    @property
    def has_published(self) -> bool:
        """Whether published values stand beside ours."""
        return any(curve.origin == "published" for curve in self.curves)


def normalised(figure: Figure, repeats: Sequence[Repeat]) -> Normalised:
    """Return all curves divided by their value at the anchor, ours within each repeat.

    A curve without a value at the anchor is divided by the anchor itself, which is on another curve, or else by its own
    first value. A published curve of a single value would only be 1, and is left out. Where x is a load, it is divided
    by the peak of the curve, if every curve has one and a published one is among them.
    """
    chart = figure.fields.chart
    ours = _measured(figure, repeats, lambda points, repeat: _divisor(figure, points, repeat))
    theirs = [_divided(curve, chart.anchor.get(chart.x)) for curve in published_beside(figure) if len(curve.dots) > 1]
    curves = [*theirs, *ours]
    is_by_peak = bool(theirs) and chart.x in LOADS and all(curve.peak and curve.has_numbers for curve in curves)
    return Normalised(tuple(_by_peak(curve) if is_by_peak else curve for curve in curves), is_by_peak)


def _divisor(figure: Figure, points: Sequence[RepeatPoint], repeat: Repeat) -> float | None:
    """Return what a curve of ours is divided by in a repeat; None if it has no value."""
    chart = figure.fields.chart
    known = [(_x_of(point, chart.x), value) for point in points if (value := point.metrics.get(chart.y)) is not None]
    anchors = [
        point for point in repeat.points if all(point.values.get(name) == value for name, value in chart.anchor.items())
    ]
    wanted: object = next((point.values.get(chart.x) for point in anchors), chart.anchor.get(chart.x))
    elsewhere = next((value for point in anchors if (value := point.metrics.get(chart.y)) is not None), None)
    return _value_at(known, wanted, elsewhere)


def _divided(curve: Curve, wanted: object) -> Curve:
    by = _value_at([(dot.x, dot.y) for dot in curve.dots], wanted)
    return replace(curve, dots=tuple(replace(dot, y=dot.y / by) for dot in curve.dots) if by else (), unit="")


def _value_at(
    known: Sequence[tuple[float | str, float]], wanted: object, elsewhere: float | None = None
) -> float | None:
    """Return the value at the anchor; if the curve has none there, that of the anchor ``elsewhere``, or its first."""
    if not known:
        return None
    if wanted == BEST:
        return max(value for _, value in known)
    if wanted == LAST:
        return known[-1][1]
    if wanted == FIRST:
        return known[0][1]
    return next((value for x, value in known if x == wanted), elsewhere or known[0][1])


def _by_peak(curve: Curve) -> Curve:
    assert curve.peak is not None
    return replace(curve, dots=tuple(replace(dot, x=float(dot.x) / curve.peak) for dot in curve.dots))
