"""Checks the values of a figure file, and words the problems so that they name the field."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from corda_lab.figures.expression import ExpressionError, parse
from corda_lab.figures.forms import SweepNames
from corda_lab.figures.metrics import metric_problem
from corda_lab.figures.on_published import published_statistic
from corda_lab.figures.published import PublishedRow, read_published
from corda_lab.figures.schema import (
    OURS,
    OUTCOME,
    ChartFields,
    ClaimFields,
    FigureFields,
)
from corda_lab.figures.statistics import NoStatistic, fits, resolved, same, unresolved, words
from corda_lab.sweeps.file import known_fields
from lab_workload.field_problems import field_problem
from lab_workload.names import did_you_mean
from lab_workload.problems import Location, Problem
from lab_workload.yaml_source import Source

_ALTERNATIVES = ("constrained-int", "constrained-str", "list[constrained-str]", "int", "str", "[key]")
"""What pydantic adds to a location to name one of several types that a field may have."""


def problem(detail: Any, source: Source) -> Problem:
    """Reword an error of pydantic as a problem of a figure file."""
    location: Location = tuple(
        part for part in detail["loc"] if part not in _ALTERNATIVES and not str(part).startswith(("literal[", "list["))
    )
    if location and location[-1] == "says":
        return source.problem(
            location, f"must be the number of a sentence in words, or {OURS}, but is {_given(detail)}"
        )
    if location and location[-1] == "touches":
        return source.problem(location, f"must be a list of claims, or absolute, but is {_given(detail)}")
    if detail["type"] in ("too_short", "too_long") and location and location[-1] == "within":
        return source.problem(location, "must have two ends, such as [0.7, 1.3] or [2, null]")
    if detail["type"] == "too_short":
        return source.problem(location, "must not be empty")
    return field_problem({**detail, "loc": location}, source, known_fields(FigureFields, location[:-1]))


def _given(detail: Any) -> str:
    return repr(detail["input"])


def figure_problems(
    fields: FigureFields, names: SweepNames, rows: Sequence[PublishedRow], source: Source
) -> list[Problem]:
    """Return everything that is wrong with a figure whose fields are valid each on its own."""
    problems = [*_published_problems(fields, source), *_chart_problems(fields.chart, names, source)]
    problems += _beside_problems(fields, names, source)
    claims = [claim.name for claim in fields.claims]
    for index, claim in enumerate(fields.claims):
        where: Location = ("claims", index)
        if claim.name in claims[:index]:
            problems.append(source.problem((*where, "name"), f"{claim.name!r} is used twice"))
        if isinstance(claim.says, int) and claim.says > len(fields.words):
            text = f"there is no sentence {claim.says} in words, which has {len(fields.words)}"
            problems.append(source.problem((*where, "says"), text))
        own = [source.problem((*where, *place), text) for place, text in _claim_problems(claim)]
        # What a claim with such a problem would mean is not known.
        problems += own or [
            source.problem((*where, *place), text)
            for check in (_sweep_problems, _check_problems)
            for place, text in check(claim, fields, names, rows)
        ]
    for index, deviation in enumerate(fields.deviations):
        if isinstance(deviation.touches, list):
            problems += [
                source.problem(
                    ("deviations", index, "touches", place), f"there is no claim {name!r}{did_you_mean(name, claims)}"
                )
                for place, name in enumerate(deviation.touches)
                if name not in claims
            ]
    return problems


_Found = list[tuple[Location, str]]
"""Problems of one claim: the place within it, and the text."""

_FIELDS_OF = {
    "ratio": ("of", "to", "broken"),
    "exponent": ("over", "from", "where", "above"),
    "level": ("at", "broken"),
}
_STATISTICS = tuple(_FIELDS_OF)


def _claim_problems(claim: ClaimFields) -> _Found:
    """Return the problems that a claim shows on its own."""
    found: _Found = []
    if claim.only_published and (claim.needs is not None or claim.on_published is None):
        found.append((("only_published",), "is only for a claim with on_published and without needs"))
    if claim.needs is not None and not claim.needs.model_fields_set:
        found.append((("needs",), "needs one of enterprise, cores, platform, software and users"))
    given = [name for name in _STATISTICS if getattr(claim, name) is not None]
    if len(given) > 1:
        return [*found, ((given[1],), f"a claim has one statistic, and this one has {given[0]} already")]
    if not given and claim.needs is None:
        return [((), "needs one of ratio, exponent and level")]
    if not given:
        own = (*dict.fromkeys(field for fields in _FIELDS_OF.values() for field in fields), "within", "on_published")
        return [*found, *(((name,), "is only for a claim with a statistic") for name in _set_fields(claim, own))]
    statistic = given[0]
    others = {field for name in _STATISTICS for field in _FIELDS_OF[name]} - {*_FIELDS_OF[statistic]}
    found += [
        ((field,), f"does not belong to {'an' if statistic == 'exponent' else 'a'} {statistic}")
        for field in _set_fields(claim, sorted(others))
    ]
    found += _missing(claim, statistic)
    found += _within_problems(claim)
    found += [((statistic,), text) for name in claim.metrics if (text := metric_problem(name))]
    if claim.over is not None:
        try:
            parse(claim.over)
        except ExpressionError as error:
            found.append((("over",), str(error)))
    if claim.on_published is not None:
        wrong = {"ratio": ("at",), "exponent": ("of", "to", "at"), "level": ("of", "to")}[statistic]
        found += [
            (("on_published", name), f"does not belong to {'an' if statistic == 'exponent' else 'a'} {statistic}")
            for name in wrong
            if claim.on_published.sides[name] is not None
        ]
    return found


def _set_fields(claim: ClaimFields, names: Sequence[str]) -> list[str]:
    attributes = {"from": "from_"}
    return [name for name in names if getattr(claim, attributes.get(name, name)) not in (None, {})]


def _missing(claim: ClaimFields, statistic: str) -> _Found:
    found: _Found = []
    if statistic == "ratio":
        if claim.of is None:
            found.append((("ratio",), "needs of, the point"))
        elif claim.to is None and isinstance(claim.ratio, str):
            found.append((("ratio",), "needs to, the other point; or name two metrics of one point"))
    if statistic == "exponent" and claim.over is None:
        found.append((("exponent",), "needs over, the x"))
    if statistic == "level" and claim.at is None:
        found.append((("level",), "needs at, the point"))
    return found


def _within_problems(claim: ClaimFields) -> _Found:
    if claim.level == OUTCOME:
        found: _Found = [] if claim.broken is not None else [(("level",), "needs broken: true or false")]
        if claim.within is not None:
            found.append((("within",), "does not belong to an outcome; broken says what is asked for"))
        if claim.on_published is not None:
            found.append((("on_published",), "does not belong to an outcome: published.csv has none"))
        return found
    if claim.broken is False:
        return [(("broken",), "false is only for level: outcome")]
    if claim.within is None:
        return [] if claim.needs is not None and claim.on_published is None else [((), "within: is missing")]
    low, high = claim.within
    if low is None and high is None:
        return [(("within",), "has no end, so every value is inside")]
    if low is not None and high is not None and low > high:
        return [(("within",), "the first end must not be above the second")]
    return []


def _sweep_problems(
    claim: ClaimFields, fields: FigureFields, names: SweepNames, rows: Sequence[PublishedRow]
) -> _Found:
    """Return what the points of the sweep do not have. A claim that cannot be tested here may name others."""
    if claim.statistic is None or claim.needs is not None:
        return []
    selections: list[tuple[str, Mapping[str, object]]] = [
        (name, getattr(claim, name)) for name in ("of", "to", "at", "above", "where") if getattr(claim, name)
    ]
    found: _Found = []
    for name, wanted in selections:
        found += [((name, *place), text) for place, text in _selection_problems(wanted, names)]
    if claim.over:
        known = {*names.axes, *(key for values in names.constants.values() for key in values)}
        found += [
            (("over",), f"{name} is neither in vary nor set by the sweep{did_you_mean(name, known)}")
            for name in parse(claim.over).names
            if resolved(name, known) is None
        ]
    if found:
        return found
    text = unresolved(claim, fields, names)
    return [((claim.statistic,), text)] if text else []


def _selection_problems(wanted: Mapping[str, object], names: SweepNames) -> _Found:
    """Return which names and values of a point the sweep does not have."""
    axes = names.axes
    found: _Found = []
    for key, value in wanted.items():
        if key not in axes:
            hint = did_you_mean(key, axes) or f"; choose from {', '.join(axes) or 'nothing'}"
            found.append(((key,), f"does not vary in the sweep{hint}"))
            continue
        for one in value if isinstance(value, tuple) else (value,):
            if one in ("first", "last", "best") or any(same(known, one) and _alike(known, one) for known in axes[key]):
                continue
            written = [known for known in axes[key] if str(known) == str(one)]
            hint = f"; write it as in the sweep, {written[0]!r}" if written else ""
            has = "" if written else f", which has {', '.join(map(str, axes[key]))}"
            found.append(((key,), f"{one!r} is not in the sweep's {key}{has}{hint}"))
    return found


def _alike(known: object, given: object) -> bool:
    """Return whether both are text or both are not: 4.10 without quotes is the number 4.1."""
    return isinstance(known, str) == isinstance(given, str)


def _check_problems(
    claim: ClaimFields, fields: FigureFields, names: SweepNames, rows: Sequence[PublishedRow]
) -> _Found:
    """Return why the check on the published values cannot be made."""
    check = claim.on_published
    if check is None:
        return []
    if not fields.published:
        return [(("on_published",), "the figure has no published rows; name them in published")]
    if claim.statistic == "ratio" and (check.of is None) != (check.to is None):
        return [(("on_published",), "needs both of and to, or neither")]
    x = fields.chart.x
    here = {**(claim.of or {})}, {**(claim.to or claim.of or {})}
    differing = [key for key in {*here[0], *here[1]} - {x} if here[0].get(key) != here[1].get(key)]
    is_pair = isinstance(claim.ratio, tuple)
    if claim.statistic == "ratio" and check.of is None and (differing or is_pair):
        what = "the metrics" if is_pair else " and ".join(sorted(differing))
        return [(("on_published",), f"needs of and to, which rows they are: the points differ in {what}")]
    try:
        published_statistic(claim, fields, rows, names)
    except NoStatistic as error:
        return [(("on_published",), str(error))]
    return []


def _published_problems(fields: FigureFields, source: Source) -> list[Problem]:
    """Return which of the published rows do not exist, each by the first column that does not fit."""
    problems = []
    rows = read_published()
    for index, named in enumerate(fields.published):
        fitting = list(rows)
        columns: tuple[tuple[str, str, Callable[[PublishedRow], str]], ...] = (
            ("id", named.id, lambda row: row.id),
            ("x", named.x or "", lambda row: row.x_name),
            ("y", named.y, lambda row: row.metric),
        )
        for field, wanted, of in columns:
            known = sorted({of(row) for row in fitting})
            fitting = [row for row in fitting if of(row) == wanted]
            if not fitting:
                hint = did_you_mean(wanted, known) or f"; choose from {', '.join(one or 'null' for one in known)}"
                text = f"{wanted or None!r} is not in published.csv{'' if field == 'id' else f' for {named.id}'}{hint}"
                problems.append(source.problem(("published", index, field), text))
                break
        else:
            if not any(fits(row.columns, named.where) for row in fitting):
                text = f"no row of {named.id} has {words(named.where)}"
                problems.append(source.problem(("published", index, "where"), text))
    return problems


def _beside_problems(fields: FigureFields, names: SweepNames, source: Source) -> list[Problem]:
    """Return which published rows have no place beside ours, although they are to stand there."""
    problems = []
    for index, named in enumerate(fields.published):
        place = ("published", index, "beside")
        if isinstance(named.beside, dict):
            ((column, places),) = named.beside.items()
            known = {str(row.columns[column]) for row in read_published() if row.id == named.id}
            for given, x in places.items():
                if given not in known:
                    problems.append(source.problem((*place, column), f"no row of {named.id} has {column} {given!r}"))
                for _, text in _selection_problems({fields.chart.x: x}, names):
                    problems.append(source.problem((*place, column, given), text))
        elif named.beside is not None and named.x is None:
            problems.append(source.problem(place, "the rows have no x; name our x for the values of a column"))
    return problems


def _chart_problems(chart: ChartFields, names: SweepNames, source: Source) -> list[Problem]:
    problems = []
    if text := metric_problem(chart.y):
        problems.append(source.problem(("chart", "y"), text))
    axes = names.axes
    for field, name in (("x", chart.x), ("by", chart.by)):
        if name is not None and name not in axes:
            hint = did_you_mean(name, axes) or f"; choose from {', '.join(axes) or 'nothing'}"
            problems.append(source.problem(("chart", field), f"{name!r} does not vary in the sweep{hint}"))
    problems += [
        source.problem(("chart", "anchor", *place), text) for place, text in _selection_problems(chart.anchor, names)
    ]
    return problems
