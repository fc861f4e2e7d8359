"""The number of a claim: a ratio, an exponent or a level of the points of one repeat, or of the published values.

What is missing says why, by raising ``NoStatistic``.
"""

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import polars as pl

from corda_lab.analysis.metrics import metric
from corda_lab.figures.published import PublishedRow, number_of
from corda_lab.figures.repeat import RepeatPoint
from corda_lab.figures.schema import BEST, FIRST, LAST, OUTCOME, ChartFields, ClaimFields, FigureFields
from corda_lab.figures.store import SweepNames
from corda_lab.steps.parameters import AT, STEP

SCALES: Mapping[str, float] = {
    "ms": 1e-3, "s": 1.0, "min": 60.0,
    "bytes": 1.0, "B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9,
}  # fmt: skip
"""Units of time in seconds, and of size in bytes. Values in two of the same kind are compared in one."""

Wanted = Mapping[str, object]
"""What a point must have: a value, a tuple of values of which it has one, or ``first``, ``last`` or ``best``."""


class NoStatistic(Exception):  # noqa: N818 - it is an answer, not an error
    """A repeat has no such value. The message says why."""


class NoPoint(NoStatistic):
    """A repeat does not have the point."""


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


# The x of an exponent: an expression of numbers, names, + - * / and parentheses.

EXPRESSION_CHARACTERS_MAX = 200
_ALLOWED = re.compile(r"[\w.\s+*/()-]*")
_NAME = re.compile(r"(?<![\w.])[A-Za-z_][\w.]*")


@dataclass(frozen=True)
class Expression:
    """An expression, and its names in their order: fields of a sweep (``set.depth``), or their last parts."""

    text: str
    names: tuple[str, ...]
    computed: pl.Expr

    def value(self, names: Mapping[str, float]) -> float:
        """Return the value, given that of every name. Raises NoStatistic if it has none."""
        row = pl.DataFrame({name: [float(names[name])] for name in self.names})
        value = float(row.select(self.computed.cast(pl.Float64)).item())
        if not math.isfinite(value):
            raise NoStatistic(f"{self.text} divides by 0, or is too large")
        return value


@cache
def parse(text: str) -> Expression:
    """Read an expression. Raises NoStatistic if the text is none."""
    if len(text) > EXPRESSION_CHARACTERS_MAX:
        raise NoStatistic(f"is longer than {EXPRESSION_CHARACTERS_MAX} characters")
    if not _ALLOWED.fullmatch(text):
        raise NoStatistic("may have only numbers, names, + - * / and parentheses")
    try:
        # A name is quoted, because it may have a dot. In parentheses, a second name is no alias of the first.
        computed = pl.sql_expr("(" + _NAME.sub(r'"\g<0>"', text) + ")")
    except pl.exceptions.PolarsError:
        raise NoStatistic("is no expression") from None
    return Expression(text, tuple(dict.fromkeys(_NAME.findall(text))), computed)


def resolved(name: str, known: Iterable[str]) -> str | None:
    """Return the field that a name of an expression means: the field itself, or the only one that ends in it."""
    fields = list(known)
    if name in fields:
        return name
    ends = [field for field in fields if field.rpartition(".")[2] == name]
    return ends[0] if len(ends) == 1 else None


# The points that a claim names.


def fits(values: Mapping[str, object], wanted: Wanted) -> bool:
    """Return whether a point, or a published row, has all the wanted values."""
    return all(
        key in values and any(same(values[key], each) for each in any_of(value)) for key, value in wanted.items()
    )


def same(measured: object, wanted: object) -> bool:
    """Return whether two values are the same: as numbers, or as they are written."""
    if isinstance(measured, bool) or isinstance(wanted, bool):
        return measured is wanted
    if isinstance(measured, (int, float)) and isinstance(wanted, (int, float)):
        return measured == wanted
    return str(measured) == str(wanted)


def any_of(value: object) -> tuple[object, ...]:
    """Return the values of which a point has one."""
    return value if isinstance(value, tuple) else (value,)


def words(wanted: Wanted) -> str:
    """Return a point in words: ``load.users 70, step 4.3``."""
    return ", ".join(f"{key} {' or '.join(map(str, any_of(value)))}" for key, value in wanted.items()) or "any value"


def choose(points: Sequence[RepeatPoint], wanted: Wanted, name: str) -> RepeatPoint:
    """Return the only point that fits. ``name`` is the metric by which one is the best.

    Raises NoStatistic if none or several fit.
    """
    fixed = {key: value for key, value in wanted.items() if value not in (FIRST, LAST, BEST)}
    fitting = [point for point in points if fits(point.values, fixed)]
    for key, word in wanted.items():
        if fitting and word in (FIRST, LAST):
            fitting = _at_end(fitting, key, str(word))
    if fitting and BEST in wanted.values():
        known = [(value, point) for point in fitting if (value := point.metrics.get(name)) is not None]
        if not known:
            raise NoStatistic(f"{words(wanted)}: no point has {name}")
        best = max if metric(name).higher_is_better else min
        fitting = [best(known, key=lambda pair: pair[0])[1]]
    if not fitting:
        raise NoPoint(f"no point has {words(wanted)}")
    if len(fitting) > 1:
        keys = sorted({key for point in fitting for key in point.values if key not in wanted})
        differ = [key for key in keys if len({str(point.values.get(key)) for point in fitting}) > 1]
        raise NoStatistic(f"{len(fitting)} points have {words(wanted)}; they differ in {', '.join(differ)}")
    return fitting[0]


def _at_end(points: Sequence[RepeatPoint], key: str, word: str) -> list[RepeatPoint]:
    """Return the points with the lowest or the highest value of a field."""
    numbers = [(number_of(point.values.get(key)), point) for point in points if key in point.values]
    if not numbers or any(number is None for number, _ in numbers):
        raise NoStatistic(f"{key} has no {word} value, because not all its values are numbers")
    end = (min if word == FIRST else max)(number for number, _ in numbers if number is not None)
    return [point for number, point in numbers if number == end]


def value_at(points: Sequence[RepeatPoint], wanted: Wanted, name: str) -> float:
    """Return the value of a metric at the point that fits. Raises NoStatistic."""
    return _value_of(choose(points, wanted, name), name)


def _value_of(point: RepeatPoint, name: str) -> float:
    value = point.metrics.get(name)
    if value is None or not math.isfinite(value):
        raise NoStatistic(f"{words(point.values)}: {point.why or f'has no {name}'}")
    return value


# The statistic of a claim.


def on_curve(claim: ClaimFields, chart: ChartFields, names: SweepNames) -> ClaimFields:
    """Return a claim with its points on the first curve of the sweep file, where they name no curve.

    An exponent over what the curves differ in has all of them on one line.
    """
    axes = names.axes
    on_x = {resolved(name, axes) for name in parse(claim.over).names} if claim.over else set()
    by = chart.by
    if by is None or by not in axes or by in on_x or (by == STEP and AT in on_x):
        return claim

    def place(wanted: Wanted | None) -> Wanted | None:
        # A named step has one number on the axis, so whoever names the number names the step.
        if wanted is None or by in wanted or (by == STEP and AT in wanted):
            return wanted
        return {by: axes[by][0], **wanted}

    points = {"of": claim.of, "to": claim.to, "at": claim.at, "above": claim.above, "where": claim.where}
    return claim.model_copy(update={name: place(wanted) for name, wanted in points.items()})


def statistic(claim: ClaimFields, points: Sequence[RepeatPoint], names: SweepNames) -> float:
    """Return the number of a claim that is ``on_curve``. Raises NoStatistic."""
    first, last = claim.metrics[0], claim.metrics[-1]
    match claim.statistic:
        case "ratio":
            above, below = value_at(points, claim.of or {}, first), value_at(points, claim.second or {}, last)
            if below == 0:
                raise NoStatistic(f"{last} is 0 at {words(claim.second or {})}, and nothing can be divided by it")
            return above / below * unit_scale(metric(first).unit, metric(last).unit)
        case "level":
            return value_at(points, claim.at or {}, first)
    return slope(line(claim, points, names))


def line(claim: ClaimFields, points: Sequence[RepeatPoint], names: SweepNames) -> list[tuple[float, float]]:
    """Return the (x, y) of an exponent, all of them positive: x is an expression, and y a metric.

    Every point of ``where`` has to have its value: a line through fewer would be another statistic. Raises NoStatistic.
    """
    name, over = claim.metrics[0], parse(claim.over or "")
    fitting = [point for point in points if fits(point.values, claim.where)]
    if not fitting:
        raise NoPoint(f"no point has {words(claim.where)}")
    base = None if claim.above is None else choose(points, claim.above, name)
    taken_off = 0.0 if base is None else _value_of(base, name)
    least = _least(claim.from_, fitting, name)
    placed = [(_x(point, over, names), point) for point in fitting if point is not base]
    placed = [(x, point) for x, point in placed if x >= least]
    xs = [x for x, _ in placed]
    if twice := sorted({x for x in xs if xs.count(x) > 1}):
        raise NoStatistic(f"several points have the same {over.text}: {twice[0]:g}; name one of them in where")
    pairs = [(x, _value_of(point, name) - taken_off) for x, point in placed]
    for x, y in pairs:
        if x <= 0:
            raise NoStatistic(f"{over.text} is {x:g} at a point, and has no logarithm; set from")
        if y <= 0:
            raise NoStatistic(f"{name} is {y:g} where {over.text} is {x:g}, and has no logarithm")
    if len(pairs) < 2:
        start = "" if claim.from_ is None else f" and {over.text} from {claim.from_words}"
        raise NoStatistic(f"an exponent needs two points, and {len(pairs)} has {words(claim.where)}{start}")
    return pairs


def slope(pairs: Iterable[tuple[float, float]]) -> float:
    """Return the slope of the least-squares line through the logarithms of (x, y), all of them positive."""
    xs, ys = zip(*((math.log(x), math.log(y)) for x, y in pairs), strict=True)
    return statistics.linear_regression(xs, ys).slope


def _least(least: float | str | None, points: Sequence[RepeatPoint], name: str) -> float:
    """Return the lowest x: a number, or a multiple of the highest y."""
    if not isinstance(least, str):
        return -math.inf if least is None else least
    known = [value for point in points if (value := point.metrics.get(name)) is not None]
    if not known:
        raise NoStatistic(f"no point has {name}, so there is no peak")
    return float(least.partition(" x ")[0]) * max(known)


def _x(point: RepeatPoint, over: Expression, names: SweepNames) -> float:
    known = {**names.constants_at(point.values), **point.values}
    numbers: dict[str, float] = {}
    for name in over.names:
        field = resolved(name, known)
        if field is None:
            raise NoStatistic(f"{name} is not known at {words(point.values)}")
        number = number_of(known[field])
        if number is None:
            raise NoStatistic(f"{name} is {known[field]!r} at {words(point.values)}, which is no number")
        numbers[name] = number
    return over.value(numbers)


def unresolved(claim: ClaimFields, names: SweepNames) -> str:
    """Return why the points of a sweep, if all were measured, would not give the statistic; empty if they would.

    The claim is ``on_curve``.
    """
    points = [RepeatPoint(values=dict(values), metrics=dict.fromkeys(claim.metrics, 2.0)) for values in names.points]
    try:
        if claim.level == OUTCOME:
            choose(points, claim.at or {}, OUTCOME)
            return ""
        if claim.above is not None:
            choose(points, claim.above, claim.metrics[0]).metrics.update(dict.fromkeys(claim.metrics, 1.0))
        statistic(claim, points, names)
    except NoStatistic as error:
        return str(error)
    return ""


def published_statistic(
    claim: ClaimFields, figure: FigureFields, rows: Sequence[PublishedRow], names: SweepNames
) -> float:
    """Return the statistic of a claim from the published rows that its check names. Raises NoStatistic."""
    check = claim.on_published
    if check is None or not claim.metrics:
        raise NoStatistic("the claim has no check on the published values")
    points = [_published_point(row, claim, figure) for row in rows if fits(row.columns, check.where)]
    if not points:
        raise NoStatistic(f"no published row of the figure has {words(check.where)}")

    def place(ours: Wanted | None, theirs: Wanted | None) -> Wanted:
        columns = theirs or {}
        is_only = sum(fits(point.values, columns) for point in points) == 1
        # One row needs no x, as that of a number in a sentence. For a ratio, it has to be one for each side.
        needs_x = not is_only or (claim.statistic == "ratio" and not columns)
        return {**(_x_of(ours, figure) if needs_x and "x" not in columns else {}), **columns}

    theirs: dict[str, Wanted | None] = {"where": _x_of(claim.where, figure)}
    if claim.statistic == "ratio":
        theirs |= {"of": place(claim.of, check.of), "to": place(claim.second, check.to)}
    elif claim.statistic == "level":
        theirs["at"] = place(claim.at, check.at)
    elif claim.above is not None:
        theirs["above"] = place(claim.above, None)
    return statistic(claim.model_copy(update=theirs), points, names)


def _published_point(row: PublishedRow, claim: ClaimFields, figure: FigureFields) -> RepeatPoint:
    """Return a published value as the value of every metric of a claim, in their units.

    Its x has the name of our axis, too. Its step is that of the claim, for what the step sets.
    """
    metrics = {
        name: None if row.value is None else row.value * unit_scale(row.unit, metric(name).unit)
        for name in claim.metrics
    }
    step = claim.where.get(STEP)
    values = {**row.columns, **({STEP: step} if isinstance(step, str) else {}), figure.chart.x: row.x}
    return RepeatPoint(values=values, metrics=metrics, reason=None if row.value is not None else "nothing finished")


def _x_of(wanted: Wanted | None, figure: FigureFields) -> dict[str, object]:
    """Return the x of a point. What else varies here is another edition or workload there, which ``where`` names."""
    return {key: value for key, value in (wanted or {}).items() if key == figure.chart.x}
