"""Statistics, regions and verdicts in words, for the terminal, the page and the book."""

import math
from collections.abc import Mapping, Sequence

from corda_lab.figures.forms import SweepNames
from corda_lab.figures.judge import FURTHER_MAX, ClaimVerdict
from corda_lab.figures.metrics import metric_of, unit_of
from corda_lab.figures.on_published import EXPONENT_DECIMALS
from corda_lab.figures.repeat import RepeatPoint
from corda_lab.figures.schema import BEST, FIRST, LAST, OUTCOME, ChartFields, ClaimFields, FigureFields
from corda_lab.figures.statistics import Place, chosen, line_of, on_series, series_of, sides, value_of
from corda_lab.figures.verdict import CANNOT_TELL, NOT_MEASURED, REPEATS_MAX, REPEATS_MIN, Region, interval_of
from corda_lab.steps.parameters import AT, value_words
from corda_lab.text.words import amount, decimal_size, listed, milliseconds, parameter_name, plural

DIGITS = 3
BYTES_PER_KB, MS_PER_SECOND = 1000, 1000
MS_BELOW = 1.0
"""A time is told in ms if it is less than this many seconds."""
ENDS = {FIRST: "lowest", LAST: "highest", BEST: "best of all"}
"""How a value is called that is found among those measured."""


def in_unit(value: float | None, unit: str) -> str:
    """Return a value with its unit: a time in ms or s, bytes with a decimal unit, others as they are."""
    if value is None:
        return "–"
    if unit == "ms":
        return milliseconds(value)
    if unit in ("bytes", "B"):
        return decimal_size(value)
    if unit == "s" and 0 < abs(value) < MS_BELOW:
        return f"{amount(MS_PER_SECOND * value)} ms"
    return f"{amount(value)} {unit}".rstrip()


def number(claim: ClaimFields, value: float) -> str:
    """A value of a claim's statistic without its unit: an exponent to two decimals, others to three digits."""
    if claim.statistic == "exponent":
        return f"{value:.{EXPONENT_DECIMALS}f}"
    value *= scale_of(claim)
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    # Rounded first, because 9.996 becomes 10.0.
    rounded = float(f"{value:.{DIGITS - 1}e}")
    return f"{rounded:,.{max(0, DIGITS - 1 - math.floor(math.log10(abs(rounded))))}f}"


def statistic_words(claim: ClaimFields, text: str) -> str:
    """A value of a claim's statistic with its unit: ``exponent 0.94``, ``11.9 ×``, ``8.62 flows/s``."""
    match claim.statistic:
        case "exponent":
            return f"exponent {text}"
        case "ratio":
            return f"{text} ×"
    return f"{text} {_unit_of(claim)}".strip()


def scale_of(claim: ClaimFields) -> float:
    """What a value of a claim's statistic is multiplied with where it is told."""
    return _scale_and_unit(claim)[0]


def _unit_of(claim: ClaimFields) -> str:
    return _scale_and_unit(claim)[1]


def _scale_and_unit(claim: ClaimFields) -> tuple[float, str]:
    """Return how a level is told: a size in KB, a time in ms if its region is short. Others have no unit of their own.

    The number, its interval and its region are told in the same unit.
    """
    unit = unit_of(claim.metrics[0]) if claim.statistic == "level" and claim.metrics else ""
    if unit == "bytes":
        return 1 / BYTES_PER_KB, "KB"
    ends = [abs(end) for end in claim.region if math.isfinite(end)]
    if unit == "s" and ends and max(ends) < MS_BELOW:
        return MS_PER_SECOND, "ms"
    return 1.0, unit


def here_words(found: ClaimVerdict) -> str:
    """What was measured: ``11.9 × (9.8 to 14.5, n = 3)``, or how often a point broke. Empty without a value.

    Where all repeats ran on one start of the nodes, it says so: ``n = 3, one start``.
    """
    if found.claim.level == OUTCOME:
        broke = sum(one.value == 1 for one in found.values)
        return f"broke in {broke} of {plural(found.n, 'repeat')}" if found.n else ""
    broke = sum(one.broke for one in found.values)
    also = f"; broke in {broke} of {plural(found.n, 'repeat')}" if broke else ""
    if found.estimate is None:
        return also.removeprefix("; ")
    if found.interval is None:
        between = f"n = {found.n - broke}"
    else:
        low, high = (number(found.claim, end) for end in (found.interval.low, found.interval.high))
        between = f"{low} to {high}, n = {found.interval.n}{', one start' if found.is_of_one_start else ''}"
    return f"{statistic_words(found.claim, number(found.claim, found.estimate))} ({between}){also}"


def published_words(found: ClaimVerdict) -> str:
    """What the published values give: ``0.87, held``. Empty without such a check."""
    theirs = found.published
    if theirs is None:
        return ""
    return f"{statistic_words(found.claim, theirs.text(scale_of(found.claim)))}, {theirs.verdict}"


def asked_words(claim: ClaimFields) -> str:
    """The region: ``0.7 to 1.3``, ``4 or more``, ``at most 10 flows/s``; for an outcome, what has to happen."""
    if claim.level == OUTCOME:
        return "that it breaks" if claim.broken else "that it does not break"
    if claim.within is None:
        return ""
    scale = scale_of(claim)
    low, high = claim.region
    words = region_words((low * scale, high * scale), _unit_of(claim))
    return words + (", or it breaks" if claim.broken else "")


def region_words(region: Region, unit: str = "") -> str:
    """A region: ``0.7 to 1.3``, ``4 or more``, ``at most 10 flows/s``."""
    low, high = region
    after = f" {unit}" if unit else ""
    if math.isinf(high):
        return f"{low:,g}{after} or more"
    if math.isinf(low):
        return f"at most {high:,g}{after}"
    return f"{low:,g}{after}" if low == high else f"{low:,g} to {high:,g}{after}"


def why_words(found: ClaimVerdict) -> str:
    """What is known of why a claim did not hold, or cannot be told or tested, and what would tell. Empty if it held."""
    if found.verdict == CANNOT_TELL and not found.is_measured:
        return "" if found.why == NOT_MEASURED else f"{found.why}; {found.command} does"
    return "; ".join(filter(None, (found.why, values_words(found), next_words(found))))


def values_words(found: ClaimVerdict) -> str:
    """What each repeat of a claim that cannot be told gave, in their order. Empty for others, and for an outcome."""
    known = [number(found.claim, one.value) for one in found.values if one.value is not None]
    if found.verdict != CANNOT_TELL or found.claim.level == OUTCOME or len(known) < 2:
        return ""
    return f"one repeat after the other: {', '.join(known)}"


def next_words(found: ClaimVerdict) -> str:
    """How many more repeats would do, with the command; empty if it is decided.

    ``5 more repeats would decide if they scatter like these: ./scripts/lab reproduce iitb-latency --quick --add 5``
    """
    if found.verdict != CANNOT_TELL or not found.is_measured:
        return ""
    if not found.n and any(one.repeat.left_out for one in found.values):
        # A point that this machine cannot have does not come with more repeats.
        return ""
    if found.further is None:
        return f"not even {REPEATS_MAX} repeats would decide at this scatter" if found.interval is not None else ""
    count = plural(found.further, "more repeat")
    if found.further > FURTHER_MAX:
        return f"{count} would decide if they scatter like these, which are too many to be practical"
    if found.n < REPEATS_MIN:
        return f"at least {count}: {found.command}"
    they = "it scatters" if found.further == 1 else "they scatter"
    return f"{count} would decide if {they} like these: {found.command}"


def number_words(claim: ClaimFields, figure: FigureFields, names: SweepNames) -> str:
    """Return what the number of a claim is: ``mean latency in the node, Corda 3.3: 70 users ÷ 1 user``.

    Empty for a claim without a statistic.
    """
    if claim.statistic is None:
        return ""
    series = series_of(claim, figure, names)
    if claim.statistic == "ratio":
        return _ratio_words(*sides(claim, series))
    if claim.statistic == "exponent":
        return _exponent_words(claim, on_series(claim.where, series), figure.chart)
    at = _point_words(on_series(claim.at or {}, series))
    return f"whether a node ends, {at}" if claim.level == OUTCOME else f"{_title(str(claim.level))}, {at}"


def _ratio_words(of: Place, to: Place) -> str:
    shared = {key: value for key, value in of.wanted.items() if to.wanted.get(key) == value}
    own, other = (_point_words(_without(side.wanted, shared)) for side in (of, to))
    above, below = _title(of.metric), _title(to.metric)
    if above == below:
        return f"{', '.join(filter(None, (above, _point_words(shared))))}: {own} ÷ {other}"
    first, second = (", ".join(filter(None, pair)) for pair in ((above, own), (below, other)))
    return f"{first} ÷ {second}" + (f": {_point_words(shared)}" if shared else "")


def _exponent_words(claim: ClaimFields, where: Mapping[str, object], chart: ChartFields) -> str:
    # Without spaces, so that no line of a document begins with one of its signs.
    over = "".join((claim.over or "").split())
    title = chart.x_title if over == chart.x and chart.x_title else over
    parts = [f"exponent of {_title(str(claim.exponent))} over {title}"]
    if where:
        parts.append(_point_words(where))
    if claim.from_ is not None:
        least = claim.from_
        parts.append(f"from {least:g}" if isinstance(least, float) else f"from {least.partition(' ')[0]} × the peak")
    if claim.above is not None:
        parts.append(f"each less the value at {_point_words(claim.above).removeprefix('at ')}")
    return ", ".join(parts)


def _title(metric: str) -> str:
    found = metric_of(metric)
    return metric if found is None else found.title


def _without(wanted: Mapping[str, object], shared: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in wanted.items() if key not in shared}


def _point_words(wanted: Mapping[str, object]) -> str:
    """Return a point in words, as reports name it: ``70 users, Corda 3.3``."""
    return ", ".join(
        ("at " if key == AT else "")
        + listed([_value_words(key, one) for one in (value if isinstance(value, tuple) else (value,))])
        for key, value in wanted.items()
    )


def _value_words(key: str, value: object) -> str:
    if isinstance(value, str) and value in ENDS:
        name = "" if key == AT else parameter_name(key)
        return f"{ENDS[value]} {name}".rstrip() + ("s" if value == BEST and not name.endswith("s") else "")
    if key == AT:
        return str(value)
    return value_words(key, value if isinstance(value, str | int | float | bool) else str(value))


def points_words(found: ClaimVerdict, figure: FigureFields, names: SweepNames) -> str:
    """Return the values of the points of a claim, means over the repeats that have its number.

    ``4.56 s ÷ 113 ms`` for a ratio, ``10: 165 ms, 40: 2.51 s`` for an exponent. What the lowest or highest of a ratio
    was follows: ``; highest: 8 participants``. Empty for a level, whose number is the value itself, and without values.
    """
    claim = found.claim
    series = series_of(claim, figure, names)
    repeats = [one.repeat.points for one in found.values if one.value is not None]
    if claim.statistic == "ratio":
        means = [
            _mean([value_of(chosen(points, side), side.metric) for points in repeats], side.metric)
            for side in sides(claim, series)
        ]
        return "; ".join([" ÷ ".join(means), *_ends(sides(claim, series), repeats[-1])]) if repeats else ""
    if claim.statistic == "exponent":
        by_x: dict[float, list[float]] = {}
        for points in repeats:
            for x, y in line_of(claim, figure, points, names):
                by_x.setdefault(x, []).append(y)
        return ", ".join(f"{x:g}: {_mean(by_x[x], str(claim.exponent))}" for x in sorted(by_x))
    return ""


def _ends(places: Sequence[Place], points: Sequence[RepeatPoint]) -> list[str]:
    """Return which values the lowest and highest of some points were: ``highest: 8 participants``, each once."""
    found = [
        f"{ENDS[str(end)]}: {value_words(key, chosen(points, place).values[key])}"
        for place in places
        for key, end in place.wanted.items()
        if end in (FIRST, LAST) and key != AT
    ]
    return list(dict.fromkeys(found))


def _mean(values: Sequence[float], metric: str) -> str:
    if not values:
        return "–"
    interval = interval_of(values, "logarithms")
    return in_unit(values[0] if interval is None else interval.estimate, unit_of(metric))
