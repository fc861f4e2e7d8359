"""The statistics of a claim, each a number from the points of one repeat: a ratio, an exponent, a level.

The same functions take the published values, as points too. What is missing says why, by raising ``NoStatistic``.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from corda_lab.figures.expression import Expression, ExpressionError, number_of, parse
from corda_lab.figures.forms import SweepNames
from corda_lab.figures.metrics import Better, better_of, unit_of
from corda_lab.figures.repeat import RepeatPoint
from corda_lab.figures.schema import BEST, FIRST, LAST, OUTCOME, ClaimFields, FigureFields
from corda_lab.steps.entry import ParameterValue
from corda_lab.steps.parameters import AT, STEP

SCALES: Mapping[str, float] = {
    "ms": 1e-3, "s": 1.0, "min": 60.0,
    "bytes": 1.0, "B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9,
}  # fmt: skip
"""Units of time in seconds, and of size in bytes. Values in two of the same kind are compared in one."""


class NoStatistic(Exception):  # noqa: N818 - it is an answer, not an error
    """A repeat has no such value. The message says why."""


class NoPoint(NoStatistic):
    """A repeat does not have the point."""


Wanted = Mapping[str, object]
"""What a point must have: a value, a tuple of values of which it has one, or ``first``, ``last`` or ``best``."""


@dataclass(frozen=True)
class Place:
    """One value of one point: which point, which metric, and whether more of it is better."""

    wanted: Wanted
    metric: str
    better: Better = "higher"


def value_of(point: RepeatPoint, metric: str) -> float:
    """Return a value of a point. Raises NoStatistic if it does not have it."""
    found = point.metrics.get(metric)
    if found is None or not math.isfinite(found):
        raise NoStatistic(f"{words(point.values)}: {point.why or f'has no {metric}'}")
    return found


def ratio(points: Sequence[RepeatPoint], of: Place, to: Place, scale: float = 1.0) -> float:
    """Return the value of one point ÷ that of another. ``scale`` brings both to the same unit. Raises NoStatistic."""
    above = value_of(chosen(points, of), of.metric)
    below = value_of(chosen(points, to), to.metric)
    if below == 0:
        raise NoStatistic(f"{to.metric} is 0 at {words(to.wanted)}, and nothing can be divided by it")
    return above / below * scale


def level(points: Sequence[RepeatPoint], at: Place) -> float:
    """Return the value of one point. Raises NoStatistic."""
    return value_of(chosen(points, at), at.metric)


def line(
    points: Sequence[RepeatPoint],
    metric: str,
    over: Expression,
    *,
    where: Wanted,
    least: float | str | None = None,
    above: Place | None = None,
    constants: Callable[[RepeatPoint], Mapping[str, ParameterValue]] = lambda _: {},
) -> list[tuple[float, float]]:
    """Return the (x, y) of an exponent, all of them positive: y is a metric, and x an expression.

    ``where`` says which points, and ``least`` the lowest x of them: a number, or ``3 x peak`` for a multiple of the
    highest y among them. ``above`` is a point whose value is taken off every y. ``constants`` gives the values of names
    that do not vary. Every chosen point has to have its value: a line through fewer would be another statistic. Raises
    NoStatistic.
    """
    picked = [point for point in points if fits(point.values, where)]
    if not picked:
        raise NoPoint(f"no point has {words(where)}")
    pairs = [(_x(point, over, constants(point)), point) for point in picked]
    if least is not None:
        start = _least(least, picked, metric)
        pairs = [(x, point) for x, point in pairs if x >= start]
    taken_off = level(points, above) if above is not None else 0.0
    if above is not None:
        base = chosen(points, above)
        pairs = [(x, point) for x, point in pairs if point is not base]
    _check_distinct([x for x, _ in pairs], over.text)
    found = [(x, value_of(point, metric) - taken_off) for x, point in pairs]
    for x, y in found:
        if x <= 0:
            raise NoStatistic(f"{over.text} is {x:g} at a point, and has no logarithm; set from")
        if y <= 0:
            raise NoStatistic(f"{metric} is {y:g} where {over.text} is {x:g}, and has no logarithm")
    if len(found) < 2:
        raise NoStatistic(f"an exponent needs two points, and {len(found)} has {_range_words(where, over, least)}")
    return found


def slope(pairs: Iterable[tuple[float, float]]) -> float:
    """Return the slope of the least-squares line through the logarithms of (x, y), all of them positive."""
    xs, ys = zip(*((math.log(x), math.log(y)) for x, y in pairs), strict=True)
    return statistics.linear_regression(xs, ys).slope


def chosen(points: Sequence[RepeatPoint], place: Place) -> RepeatPoint:
    """Return the point that a claim names. Raises NoStatistic if none or several fit."""
    fixed = {key: value for key, value in place.wanted.items() if value not in (FIRST, LAST, BEST)}
    found = [point for point in points if fits(point.values, fixed)]
    for key, word in place.wanted.items():
        if found and word in (FIRST, LAST):
            found = _at_end(found, key, str(word))
    if found and BEST in place.wanted.values():
        found = [_best(found, place)]
    if not found:
        raise NoPoint(f"no point has {words(place.wanted)}")
    if len(found) > 1:
        keys = sorted({key for point in found for key in point.values if key not in place.wanted})
        differ = [key for key in keys if len({str(point.values.get(key)) for point in found}) > 1]
        raise NoStatistic(f"{len(found)} points have {words(place.wanted)}; they differ in {', '.join(differ)}")
    return found[0]


def fits(values: Mapping[str, object], wanted: Wanted) -> bool:
    """Return whether a point, or a published row, has all the wanted values. A tuple stands for any of its values."""
    return all(key in values and any(same(values[key], one) for one in _any_of(value)) for key, value in wanted.items())


def same(measured: object, wanted: object) -> bool:
    """Return whether two values are the same: as numbers, or as they are written."""
    if isinstance(measured, bool) or isinstance(wanted, bool):
        return measured is wanted
    if isinstance(measured, (int, float)) and isinstance(wanted, (int, float)):
        return measured == wanted
    return str(measured) == str(wanted)


def kind_of(unit: str) -> str:
    """Return what a unit measures: a time, a size, a rate or a share. Only values of one kind are compared."""
    if unit in ("ms", "s", "min"):
        return "time"
    if unit in SCALES:
        return "size"
    if unit.endswith("/s"):
        return "rate"
    return "share" if unit.startswith("%") else unit


def unit_scale(unit: str, other: str) -> float:
    """Return what a value in one unit is multiplied by to be in the other; 1 if they are not of one kind."""
    if unit not in SCALES or other not in SCALES or kind_of(unit) != kind_of(other):
        return 1.0
    return SCALES[unit] / SCALES[other]


def words(wanted: Mapping[str, object]) -> str:
    """Return a point in words: ``load.users 70, step 4.3``."""
    return ", ".join(f"{key} {' or '.join(map(str, _any_of(value)))}" for key, value in wanted.items()) or "any value"


def _any_of(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def _at_end(points: Sequence[RepeatPoint], key: str, word: str) -> list[RepeatPoint]:
    """Return the points with the lowest or the highest value of a field."""
    numbers = [(number_of(point.values.get(key)), point) for point in points if key in point.values]
    if not numbers or any(number is None for number, _ in numbers):
        raise NoStatistic(f"{key} has no {word} value, because not all its values are numbers")
    end = (min if word == FIRST else max)(number for number, _ in numbers if number is not None)
    return [point for number, point in numbers if number == end]


def _best(points: Sequence[RepeatPoint], place: Place) -> RepeatPoint:
    """Return the point with the best value, among those that have it."""
    known = [(found, point) for point in points if (found := point.metrics.get(place.metric)) is not None]
    if not known:
        raise NoStatistic(f"{words(place.wanted)}: no point has {place.metric}")
    pick = max if place.better == "higher" else min
    return pick(known, key=lambda pair: pair[0])[1]


def _x(point: RepeatPoint, over: Expression, constants: Mapping[str, ParameterValue]) -> float:
    try:
        return over.value({name: _named(name, point, constants) for name in over.names})
    except ExpressionError as error:
        raise NoStatistic(f"{words(point.values)}: {error}") from None


def _named(name: str, point: RepeatPoint, constants: Mapping[str, ParameterValue]) -> float:
    known = {**constants, **point.values}
    value = resolved(name, known)
    if value is None:
        raise NoStatistic(f"{name} is not known at {words(point.values)}")
    number = number_of(known[value])
    if number is None:
        raise NoStatistic(f"{name} is {known[value]!r} at {words(point.values)}, which is no number")
    return number


def resolved(name: str, known: Iterable[str]) -> str | None:
    """Return the field that a name of an expression means: the field itself, or the only one that ends in it."""
    fields = list(known)
    if name in fields:
        return name
    ends = [field for field in fields if field.rpartition(".")[2] == name]
    return ends[0] if len(ends) == 1 else None


def _least(least: float | str, points: Sequence[RepeatPoint], metric: str) -> float:
    if not isinstance(least, str):
        return least
    known = [found for point in points if (found := point.metrics.get(metric)) is not None]
    if not known:
        raise NoStatistic(f"no point has {metric}, so there is no peak")
    return float(least.partition(" x ")[0]) * max(known)


def _check_distinct(xs: Sequence[float], text: str) -> None:
    twice = sorted({x for x in xs if xs.count(x) > 1})
    if twice:
        raise NoStatistic(f"several points have the same {text}: {twice[0]:g}; name one of them in where")


def _range_words(where: Wanted, over: Expression, least: float | str | None) -> str:
    start = "" if least is None else f" and {over.text} from {least if isinstance(least, str) else f'{least:g}'}"
    return f"{words(where)}{start}"


def statistic_of(claim: ClaimFields, figure: FigureFields, points: Sequence[RepeatPoint], names: SweepNames) -> float:
    """Return the statistic of a claim. Raises NoStatistic."""
    series = series_of(claim, figure, names)
    match claim.statistic:
        case "ratio":
            of, to = sides(claim, series)
            return ratio(points, of, to, unit_scale(unit_of(of.metric), unit_of(to.metric)))
        case "level":
            return level(points, place(claim.at or {}, str(claim.level), series))
        case "exponent":
            return slope(line_of(claim, figure, points, names))
    raise NoStatistic("the claim has no statistic")


def line_of(
    claim: ClaimFields, figure: FigureFields, points: Sequence[RepeatPoint], names: SweepNames
) -> list[tuple[float, float]]:
    """Return the (x, y) whose exponent a claim is about. Raises NoStatistic."""
    series = series_of(claim, figure, names)
    metric = str(claim.exponent)
    return line(
        points,
        metric,
        parse(claim.over or ""),
        where=on_series(claim.where, series),
        least=claim.from_,
        above=None if claim.above is None else place(claim.above, metric, series),
        constants=lambda sample: names.constants_at(sample.values),
    )


def series_of(claim: ClaimFields, figure: FigureFields, names: SweepNames) -> Wanted:
    """Return the curve that a claim is about if it names none: the first in the order of the sweep file.

    An exponent over what the curves differ in has all of them on one line.
    """
    by = figure.chart.by
    axes = names.axes
    if by is None or by not in axes:
        return {}
    on_x = {resolved(name, axes) for name in parse(claim.over).names} if claim.over else set()
    if by in on_x or (by == STEP and AT in on_x):
        return {}
    return {by: axes[by][0]}


def unresolved(claim: ClaimFields, figure: FigureFields, names: SweepNames) -> str:
    """Return why the points of a sweep, if all were measured, would not give the statistic; empty if they would."""
    metrics: dict[str, float | None] = dict.fromkeys(claim.metrics, 2.0)
    points = [RepeatPoint(values=dict(values), metrics=metrics) for values in names.points]
    series = series_of(claim, figure, names)
    try:
        if claim.level == OUTCOME:
            chosen(points, place(claim.at or {}, OUTCOME, series))
            return ""
        if claim.above is not None:
            base = chosen(points, place(claim.above, claim.metrics[0], series))
            points[points.index(base)] = RepeatPoint(values=base.values, metrics=dict.fromkeys(claim.metrics, 1.0))
        statistic_of(claim, figure, points, names)
    except NoStatistic as error:
        return str(error)
    return ""


def place(wanted: Wanted, metric: str, series: Wanted) -> Place:
    """Return one value of one point, on the curve ``series`` unless the point names another."""
    return Place(on_series(wanted, series), metric, better_of(metric))


def sides(claim: ClaimFields, series: Wanted) -> tuple[Place, Place]:
    """Return the two values of a ratio."""
    named = claim.ratio or ""
    first, second = (named, named) if isinstance(named, str) else named
    of = claim.of or {}
    return place(of, first, series), place(claim.to or of, second, series)


def on_series(wanted: Wanted, series: Wanted) -> Wanted:
    """Return a point on the curve ``series``, unless the point names its curve itself."""
    # A named step has one number on the axis, so whoever names the number names the step.
    is_named = any(key in wanted for key in series) or (STEP in series and AT in wanted)
    return wanted if is_named else {**series, **wanted}
