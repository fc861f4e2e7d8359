"""The same check of a claim on the published values, with the error that they have."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from corda_lab.figures import statistics
from corda_lab.figures.expression import parse
from corda_lab.figures.forms import SweepNames, Values
from corda_lab.figures.metrics import better_of, unit_of
from corda_lab.figures.published import PublishedRow
from corda_lab.figures.repeat import RepeatPoint
from corda_lab.figures.schema import ClaimFields, FigureFields
from corda_lab.figures.statistics import NoStatistic, Place, unit_scale
from corda_lab.figures.verdict import Region, Verdict, verdict_of
from corda_lab.steps.parameters import STEP

VALUE = "value"
"""The only metric of a published value."""

DIGITS_MIN, DIGITS_MAX = 2, 3
"""How many digits a value is told with."""
EXPONENT_DECIMALS = 2
DECIMALS_MAX = 6
"""Ends of regions have no more decimals than these."""


@dataclass(frozen=True)
class PublishedVerdict:
    """The statistic of a claim on the published values, the range that their errors allow, and the verdict."""

    value: float
    low: float
    high: float
    verdict: Verdict
    region: Region
    decimals_max: int | None = None
    """The most digits after the point that its error allows; None for no limit. An exponent is never told to more than
    two."""

    def text(self, scale: float = 1.0) -> str:
        """The value × ``scale``, with as many digits as its error allows: ``2.31``.

        It has at least the decimals of the ends of its region, from which it could not be told apart otherwise.
        """
        error = (self.high - self.low) / 2 * scale
        least = max(decimals_of(end * scale) for end in self.region)
        return honest(self.value * scale, error, self.decimals_max, least)


def judge_published(
    claim: ClaimFields, figure: FigureFields, rows: Sequence[PublishedRow], names: SweepNames
) -> PublishedVerdict | None:
    """Judge a claim on the published values; None if the claim has no such check. Raises NoStatistic.

    ``rows`` are those that the figure names. The errors of the values are taken as independent: each value is moved by
    its error both ways, and the changes of the statistic are added as squares.
    """
    if claim.on_published is None or claim.statistic is None:
        return None
    value = published_statistic(claim, figure, rows, names)
    on_logarithms = claim.statistic != "exponent" and value > 0
    scale: Callable[[float], float] = math.log if on_logarithms else float
    spread = 0.0
    for index, row in enumerate(rows):
        if row.value is None or row.error == 0:
            continue
        ends = []
        for sign in (-1, 1):
            moved = [*rows[:index], replace(row, value=row.value + sign * row.error), *rows[index + 1 :]]
            try:
                found = published_statistic(claim, figure, moved, names)
                ends.append(scale(found))
            except (NoStatistic, ValueError):
                # The error is larger than the value: only the other end has a logarithm.
                ends.append(scale(value))
        spread += ((ends[1] - ends[0]) / 2) ** 2
    half = math.sqrt(spread)
    low, high = (value * math.exp(-half), value * math.exp(half)) if on_logarithms else (value - half, value + half)
    decimals_max = EXPONENT_DECIMALS if claim.statistic == "exponent" else None
    return PublishedVerdict(value, low, high, verdict_of(low, high, claim.region), claim.region, decimals_max)


def published_statistic(
    claim: ClaimFields, figure: FigureFields, rows: Sequence[PublishedRow], names: SweepNames
) -> float:
    """Return the statistic of a claim from the published rows that it names. Raises NoStatistic."""
    check = claim.on_published
    if check is None or not claim.metrics:
        raise NoStatistic("the claim has no check on the published values")
    unit = unit_of(claim.metrics[0]) if claim.statistic == "level" else ""
    points = [_point(row, figure.chart.x, unit) for row in rows if statistics.fits(row.columns, check.where)]
    if not points:
        raise NoStatistic(f"no published row of the figure has {statistics.words(check.where)}")
    better = better_of(claim.metrics[0])

    def place(ours: Mapping[str, object] | None, theirs: Mapping[str, object] | None) -> Place:
        own = theirs or {}
        is_one = len([point for point in points if statistics.fits(point.values, own)]) == 1
        # One row needs no x, as that of a number in a sentence. For a ratio, it has to be one for each side.
        needs_x = not is_one or (claim.statistic == "ratio" and not own)
        return Place({**(_x_of(ours, figure) if needs_x and "x" not in own else {}), **own}, VALUE, better)

    match claim.statistic:
        case "ratio":
            return statistics.ratio(points, place(claim.of, check.of), place(claim.to or claim.of, check.to))
        case "level":
            return statistics.level(points, place(claim.at, check.at))
    step = claim.where.get(STEP, "")
    constants: Values = names.constants_at({STEP: step if isinstance(step, str) else ""})
    line = statistics.line(
        points,
        VALUE,
        parse(claim.over or ""),
        where=_x_of(claim.where, figure),
        least=claim.from_,
        above=None if claim.above is None else place(claim.above, None),
        constants=lambda _: constants,
    )
    return statistics.slope(line)


def decimals_of(end: float) -> int:
    """Return how many decimals the end of a region has: 3 for ``0.985``, 0 for ``10`` and for no end."""
    return len(f"{end:.{DECIMALS_MAX}f}".rstrip("0").partition(".")[2]) if math.isfinite(end) else 0


def honest(value: float, error: float, decimals_max: int | None = None, decimals_min: int = 0) -> str:
    """Return a value up to the first digit in which its error is seen, but with two or three digits.

    It has no more decimals than ``decimals_max``, but at least ``decimals_min``.
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    place = math.floor(math.log10(abs(value)))
    seen = DIGITS_MAX - 1 - place if error <= 0 else -math.floor(math.log10(error))
    decimals = max(DIGITS_MIN - 1 - place, min(DIGITS_MAX - 1 - place, seen))
    if decimals_max is not None:
        decimals = min(decimals, decimals_max)
    if decimals_min > 0:
        decimals = max(decimals, decimals_min)
    return f"{round(value, decimals):.{max(0, decimals)}f}"


def _point(row: PublishedRow, x: str, unit: str) -> RepeatPoint:
    """Return a published value as a point, in a unit or in the base unit. Its x has the name of our axis, too."""
    scale = unit_scale(row.unit, unit) if unit else statistics.SCALES.get(row.unit, 1.0)
    value = None if row.value is None else row.value * scale
    reason = None if row.value is not None else "nothing finished"
    return RepeatPoint(values={**row.columns, x: row.x}, metrics={VALUE: value}, reason=reason)


def _x_of(wanted: Mapping[str, object] | None, figure: FigureFields) -> dict[str, object]:
    """Return the x of a point. What else varies here is another edition or workload there, which ``where`` names."""
    return {key: value for key, value in (wanted or {}).items() if key == figure.chart.x}
