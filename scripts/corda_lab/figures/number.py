"""What the number of a claim is, in words, and the values of the points that it is made of."""

from collections.abc import Mapping, Sequence

from corda_lab.figures.claims import line_of, on_series, samples_of, series_of, sides
from corda_lab.figures.judge import ClaimVerdict
from corda_lab.figures.metrics import metric_of, unit_of
from corda_lab.figures.schema import BEST, FIRST, LAST, OUTCOME, ChartFields, ClaimFields, FigureFields
from corda_lab.figures.statistics import Place, Sample, chosen
from corda_lab.figures.summary import in_unit
from corda_lab.figures.sweep import AT, SweepNames
from corda_lab.figures.verdict import interval_of
from corda_lab.steps.parameters import value_words
from corda_lab.text.words import listed, parameter_name

ENDS = {FIRST: "lowest", LAST: "highest", BEST: "best of all"}
"""How a value is called that is found among those measured."""


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
    repeats = [samples_of(one.repeat) for one in found.values if one.value is not None]
    if claim.statistic == "ratio":
        means = [
            _mean([chosen(points, side).value(side.metric) for points in repeats], side.metric)
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


def _ends(places: Sequence[Place], points: Sequence[Sample]) -> list[str]:
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
