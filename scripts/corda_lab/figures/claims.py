"""The statistic of a claim from the points of one repeat."""

from collections.abc import Sequence

from corda_lab.figures import statistics
from corda_lab.figures.expression import parse
from corda_lab.figures.metrics import better_of, unit_of
from corda_lab.figures.repeat import Outcome, Repeat
from corda_lab.figures.schema import OUTCOME, ClaimFields, FigureFields
from corda_lab.figures.statistics import NoStatistic, Place, Sample, Wanted, chosen, resolved, slope, unit_scale
from corda_lab.figures.sweep import AT, STEP, SweepNames


def samples_of(repeat: Repeat) -> list[Sample]:
    """Return the points of a repeat. A point that broke or is invalid has no values, and says why."""
    return [
        Sample(
            point.values,
            point.metrics if point.outcome == "passed" else {},
            point.outcome == "broke",
            _why(point.outcome, point.reason),
            point.failed or 0,
        )
        for point in repeat.points
    ]


def _why(outcome: Outcome, reason: str | None) -> str:
    said = {"passed": "", "broke": "the point broke", "invalid": "the step is invalid"}[outcome]
    return f"{said}: {reason}" if said and reason else said


def statistic_of(claim: ClaimFields, figure: FigureFields, points: Sequence[Sample], names: SweepNames) -> float:
    """Return the statistic of a claim. Raises NoStatistic."""
    series = series_of(claim, figure, names)
    match claim.statistic:
        case "ratio":
            of, to = sides(claim, series)
            return statistics.ratio(points, of, to, unit_scale(unit_of(of.metric), unit_of(to.metric)))
        case "level":
            return statistics.level(points, place(claim.at or {}, str(claim.level), series))
        case "exponent":
            return slope(line_of(claim, figure, points, names))
    raise NoStatistic("the claim has no statistic")


def line_of(
    claim: ClaimFields, figure: FigureFields, points: Sequence[Sample], names: SweepNames
) -> list[tuple[float, float]]:
    """Return the (x, y) whose exponent a claim is about. Raises NoStatistic."""
    series = series_of(claim, figure, names)
    metric = str(claim.exponent)
    return statistics.line(
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
    metrics = dict.fromkeys(claim.metrics, 2.0)
    points = [Sample(values, metrics) for values in names.points]
    series = series_of(claim, figure, names)
    try:
        if claim.level == OUTCOME:
            chosen(points, place(claim.at or {}, OUTCOME, series))
            return ""
        if claim.above is not None:
            base = chosen(points, place(claim.above, claim.metrics[0], series))
            points[points.index(base)] = Sample(base.values, dict.fromkeys(claim.metrics, 1.0))
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
