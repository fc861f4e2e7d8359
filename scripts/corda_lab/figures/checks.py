"""Checks the values of a figure file, and words the problems so that they name the field."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from corda_lab.analysis.metrics import METRICS, metric
from corda_lab.errors import LabError
from corda_lab.figures.published import PublishedRow, read_published
from corda_lab.figures.schema import BEST, EXPECTED, FIRST, LAST, OUTCOME, ClaimFields, FigureFields
from corda_lab.figures.statistic import (
    NoStatistic,
    any_of,
    fits,
    on_curve,
    parse,
    published_statistic,
    resolved,
    same,
    unresolved,
    words,
)
from corda_lab.figures.store import SweepNames
from lab_workload.field_problems import field_problem, known_fields
from lab_workload.names import did_you_mean
from lab_workload.problems import Location, Problem, in_file_order
from lab_workload.yaml_source import Source

Found = Iterator[tuple[Location, str]]
"""Problems: the place, and the text."""


def field_problems(error: ValidationError, source: Source) -> list[Problem]:
    """Reword the errors of pydantic as problems of a figure file, one for each field that is wrong."""
    return in_file_order(_field_problem(detail, source) for detail in error.errors(include_url=False))


def _field_problem(detail: Any, source: Source) -> Problem:
    location: Location = tuple(part for part in detail["loc"] if part != "[key]")
    if detail["type"] not in ("missing", "extra_forbidden"):
        for place, part in enumerate(location):
            # The list of published rows is at the top, and no field of a deviation.
            if place > 0 and part in EXPECTED:
                # Pydantic may add the type that it tried.
                return source.problem(location[: place + 1], f"must be {EXPECTED[str(part)]}")
    if detail["type"] == "too_short":
        return source.problem(location, "must not be empty")
    return field_problem({**detail, "loc": location}, source, known_fields(FigureFields, location[:-1]))


def figure_problems(
    fields: FigureFields, names: SweepNames, rows: Sequence[PublishedRow], source: Source
) -> list[Problem]:
    """Return everything that is wrong with a figure whose fields are valid each on its own."""
    found = [*_published(fields, names), *_chart(fields, names)]
    claims = [claim.name for claim in fields.claims]
    for index, claim in enumerate(fields.claims):
        place: Location = ("claims", index)
        if claim.name in claims[:index]:
            found.append(((*place, "name"), f"{claim.name!r} is used twice"))
        if isinstance(claim.says, int) and claim.says > len(fields.words):
            text = f"there is no sentence {claim.says} in words, which has {len(fields.words)}"
            found.append(((*place, "says"), text))
        # What a claim with a problem of its own would mean is not known.
        problems = list(_claim(claim)) or [
            *_in_sweep(claim, fields, names),
            *_on_published(claim, fields, names, rows),
        ]
        found += _within(problems, *place)
    for index, deviation in enumerate(fields.deviations):
        touches = deviation.touches if isinstance(deviation.touches, list) else []
        for number, name in enumerate(touches):
            if name not in claims:
                text = f"there is no claim {name!r}{did_you_mean(name, claims)}"
                found.append((("deviations", index, "touches", number), text))
    return [source.problem(location, text) for location, text in found]


def _within(problems: Iterable[tuple[Location, str]], *place: str | int) -> Found:
    return (((*place, *location), text) for location, text in problems)


# One claim on its own.

_FIELDS = {
    "ratio": ("of", "to", "broken"),
    "exponent": ("over", "from", "where", "above"),
    "level": ("at", "broken"),
}
"""The fields that belong to each statistic."""
_NOT_CHECKED_BY = {"ratio": ("at",), "exponent": ("of", "to", "at"), "level": ("of", "to")}
"""The fields of ``on_published`` that do not belong to a statistic."""


def _claim(claim: ClaimFields) -> Found:
    if claim.only_published and (claim.needs is not None or claim.on_published is None):
        yield ("only_published",), "is only for a claim with on_published and without needs"
    if claim.needs is not None and not claim.needs.model_fields_set:
        yield ("needs",), "needs one of enterprise, cores, platform, software and users"
    given = [name for name in _FIELDS if getattr(claim, name) is not None]
    every = list(dict.fromkeys(field for fields in _FIELDS.values() for field in fields))
    if len(given) > 1:
        yield (given[1],), f"a claim has one statistic, and this one has {given[0]} already"
    elif not given and claim.needs is None:
        yield (), "needs one of ratio, exponent and level"
    elif not given:
        for field in _set_fields(claim, [*every, "within", "on_published"]):
            yield (field,), "is only for a claim with a statistic"
    else:
        (statistic,) = given
        belongs = f"does not belong to {'an' if statistic == 'exponent' else 'a'} {statistic}"
        for field in _set_fields(claim, sorted({*every} - {*_FIELDS[statistic]})):
            yield (field,), belongs
        if claim.on_published is not None:
            for field in _NOT_CHECKED_BY[statistic]:
                if getattr(claim.on_published, field) is not None:
                    yield ("on_published", field), belongs
        yield from _statistic(claim, statistic)
        yield from _region(claim)


def _set_fields(claim: ClaimFields, names: Sequence[str]) -> list[str]:
    return [name for name in names if getattr(claim, "from_" if name == "from" else name) not in (None, {})]


def _statistic(claim: ClaimFields, statistic: str) -> Found:
    """Return what the statistic lacks, and what is wrong with its metrics and its expression."""
    if statistic == "ratio" and claim.of is None:
        yield ("ratio",), "needs of, the point"
    elif statistic == "ratio" and claim.to is None and isinstance(claim.ratio, str):
        yield ("ratio",), "needs to, the other point; or name two metrics of one point"
    if statistic == "exponent" and claim.over is None:
        yield ("exponent",), "needs over, the x"
    if statistic == "level" and claim.at is None:
        yield ("level",), "needs at, the point"
    for name in claim.metrics:
        yield from _metric(name, statistic)
    if claim.over is not None:
        try:
            parse(claim.over)
        except NoStatistic as error:
            yield ("over",), str(error)


def _metric(name: str, *place: str) -> Found:
    try:
        metric(name)
    except LabError as error:
        hint = did_you_mean(name, METRICS) or f"; choose from {', '.join(METRICS)}"
        is_known = name.partition(".")[0] in METRICS
        yield place, error.message.removeprefix(f"{name}: ") if is_known else f"there is no metric {name!r}{hint}"


def _region(claim: ClaimFields) -> Found:
    low, high = claim.within or (None, None)
    if claim.level == OUTCOME:
        if claim.broken is None:
            yield ("level",), "needs broken: true or false"
        if claim.within is not None:
            yield ("within",), "does not belong to an outcome; broken says what is asked for"
        if claim.on_published is not None:
            yield ("on_published",), "does not belong to an outcome: published.csv has none"
    elif claim.broken is False:
        yield ("broken",), "false is only for level: outcome"
    elif claim.within is None:
        if claim.needs is None or claim.on_published is not None:
            yield (), "within: is missing"
    elif low is None and high is None:
        yield ("within",), "has no end, so every value is inside"
    elif low is not None and high is not None and low > high:
        yield ("within",), "the first end must not be above the second"


# What a claim and the chart name: points of the sweep, and published rows.


def _in_sweep(claim: ClaimFields, fields: FigureFields, names: SweepNames) -> Found:
    """Return what the points of the sweep do not have. A claim that cannot be tested here may name others."""
    if claim.statistic is None or claim.needs is not None:
        return
    found: list[tuple[Location, str]] = []
    for name in ("of", "to", "at", "above", "where"):
        found += _within(_selection(getattr(claim, name) or {}, names), name)
    known = {*names.axes, *(key for values in names.constants.values() for key in values)}
    for name in parse(claim.over).names if claim.over else ():
        if resolved(name, known) is None:
            found.append((("over",), f"{name} is neither in vary nor set by the sweep{did_you_mean(name, known)}"))
    if not found and (text := unresolved(on_curve(claim, fields.chart, names), names)):
        found.append(((claim.statistic,), text))
    yield from found


def _axis(name: str, names: SweepNames) -> str:
    """Return that a name does not vary in the sweep, with what does; empty if it does."""
    axes = names.axes
    hint = did_you_mean(name, axes) or f"; choose from {', '.join(axes) or 'nothing'}"
    return "" if name in axes else f"does not vary in the sweep{hint}"


def _selection(wanted: Mapping[str, object], names: SweepNames) -> Found:
    """Return which names and values of a point the sweep does not have."""
    for key, value in wanted.items():
        if text := _axis(key, names):
            yield (key,), text
            continue
        axis = names.axes[key]
        for each in any_of(value):
            # 4.10 without quotes is the number 4.1.
            alike = [known for known in axis if isinstance(known, str) == isinstance(each, str)]
            if each in (FIRST, LAST, BEST) or any(same(known, each) for known in alike):
                continue
            written = next((known for known in axis if str(known) == str(each)), None)
            hint = (
                f", which has {', '.join(map(str, axis))}"
                if written is None
                else f"; write it as in the sweep, {written!r}"
            )
            yield (key,), f"{each!r} is not in the sweep's {key}{hint}"


def _on_published(claim: ClaimFields, fields: FigureFields, names: SweepNames, rows: Sequence[PublishedRow]) -> Found:
    """Return why the check on the published values cannot be made."""
    check = claim.on_published
    if check is None:
        return
    of, to = claim.of or {}, claim.second or {}
    differing = sorted(key for key in {*of, *to} - {fields.chart.x} if of.get(key) != to.get(key))
    differing = ["the metrics"] if isinstance(claim.ratio, list) else differing
    if not fields.published:
        yield ("on_published",), "the figure has no published rows; name them in published"
    elif (check.of is None) != (check.to is None):
        yield ("on_published",), "needs both of and to, or neither"
    elif check.of is None and differing:
        text = f"needs of and to, which rows they are: the points differ in {' and '.join(differing)}"
        yield ("on_published",), text
    else:
        try:
            published_statistic(claim, fields, rows, names)
        except NoStatistic as error:
            yield ("on_published",), str(error)


def _published(fields: FigureFields, names: SweepNames) -> Found:
    """Return which of the published rows do not exist, by the first column that does not fit, or have no place."""
    for index, named in enumerate(fields.published):
        place: Location = ("published", index)
        fitting: Sequence[PublishedRow] = read_published()
        for field, column, wanted in (("id", "id", named.id), ("x", "x_name", named.x or ""), ("y", "metric", named.y)):
            known = sorted({getattr(row, column) for row in fitting})
            fitting = [row for row in fitting if getattr(row, column) == wanted]
            if not fitting:
                hint = did_you_mean(wanted, known) or f"; choose from {', '.join(each or 'null' for each in known)}"
                text = f"{wanted or None!r} is not in published.csv{'' if field == 'id' else f' for {named.id}'}{hint}"
                yield (*place, field), text
                break
        else:
            if not any(fits(row.columns, named.where) for row in fitting):
                yield (*place, "where"), f"no row of {named.id} has {words(named.where)}"
        if isinstance(named.beside, dict):
            ((column, places),) = named.beside.items()
            values = {str(row.columns[column]) for row in read_published() if row.id == named.id}
            for given, x in places.items():
                if given not in values:
                    yield (*place, "beside", column), f"no row of {named.id} has {column} {given!r}"
                for _, text in _selection({fields.chart.x: x}, names):
                    yield (*place, "beside", column, given), text
        elif named.beside is not None and named.x is None:
            yield (*place, "beside"), "the rows have no x; name our x for the values of a column"


def _chart(fields: FigureFields, names: SweepNames) -> Found:
    chart = fields.chart
    yield from _within(_metric(chart.y), "chart", "y")
    for field, name in (("x", chart.x), ("by", chart.by)):
        if name is not None and (text := _axis(name, names)):
            yield ("chart", field), f"{name!r} {text}"
    yield from _within(_selection(chart.anchor, names), "chart", "anchor")
