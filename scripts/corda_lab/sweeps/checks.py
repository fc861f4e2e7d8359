"""Checks the values of a sweep file, and words the problems so that they name the field."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from corda_lab.results.manifest import BurstCount
from corda_lab.steps.load import SECONDS_LEAST
from corda_lab.steps.parameters import AT
from corda_lab.sweeps.schema import (
    CONDITION_TAGS,
    MEASURE_TAGS,
    ConditionFields,
    LoadFields,
    Measure,
    Scalar,
    ShapeFields,
    StepFields,
    SweepFields,
    ThresholdFields,
    Value,
    is_timed,
    peak_factor,
)
from lab_workload.field_problems import field_problem
from lab_workload.names import did_you_mean
from lab_workload.problems import Location, Problem
from lab_workload.schema import Text
from lab_workload.yaml_source import Source


def known_fields(model: type[BaseModel], location: Location) -> list[str]:
    """Return the names, as in a file, of the fields at a place in it; none if there are none."""
    for part in location:
        if isinstance(part, str):
            field = next((field for name, field in model.model_fields.items() if part in (name, field.alias)), None)
            nested = next(_models(field.annotation), None) if field else None
            if nested is None:
                return []
            model = nested
    return [field.alias or name for name, field in model.model_fields.items()]


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


_ALTERNATIVES = ("constrained-str", "str", *CONDITION_TAGS, *MEASURE_TAGS)
"""What pydantic adds to a location to name one of several types that a field may have."""


def problem(detail: Any, source: Source) -> Problem:
    """Reword an error of pydantic as a problem of a sweep file."""
    location: Location = tuple(part for part in detail["loc"] if part not in _ALTERNATIVES)
    if location and location[-1] == "condition":
        text = f"must be none or have the fields workload, load, set and for, but is {detail['input']!r}"
        return source.problem(location, text)
    if location and location[-1] == "measure" and detail["type"] != "missing":
        return source.problem(location, f"{MEASURE_FORMS}, but is {detail['input']!r}")
    if location[-2:-1] == ("measure",) and detail["type"] in ("extra_forbidden", "missing"):
        return source.problem(location[:-1], MEASURE_FORMS)
    return field_problem({**detail, "loc": location}, source, known_fields(SweepFields, location[:-1]))


MEASURE_FORMS = "must be a duration such as 60s, or {bursts: 10}, or {flows: 400, after: 2}"


_VARIED: Mapping[str, type[BaseModel]] = {"load": LoadFields, "shape": ShapeFields}


_TEXT: TypeAdapter[str] = TypeAdapter(Text)


_VALUE: TypeAdapter[Scalar] = TypeAdapter(Value)


def vary_problems(fields: SweepFields, source: Source) -> list[Problem]:
    """Return the problems of ``vary``: unknown names, and invalid values."""
    problems = []
    for key, values in fields.vary.items():
        unknown = _vary_name_problem(key)
        if unknown:
            problems.append(source.problem(("vary", key), unknown))
            continue
        for index, value in enumerate(values):
            location: Location = ("vary", key, index)
            if value is None:
                problems.append(source.problem(location, "is empty; enter a value"))
                continue
            try:
                _check_varied(key, value)
            except ValidationError as error:
                problems.append(problem({**error.errors(include_url=False)[0], "loc": location}, source))
            if value in values[:index]:
                problems.append(source.problem(location, f"{value!r} is listed twice"))
    return problems


def _vary_name_problem(key: str) -> str | None:
    """Return what is wrong with a key of ``vary``, or None."""
    group, _, name = key.partition(".")
    if key == "load.faults":
        return "cannot vary; give named steps a load with faults of their own"
    if group in _VARIED:
        known = list(_VARIED[group].model_fields)
        hint = did_you_mean(name, known) or f"; choose from {', '.join(known)}"
        return None if name in known else f"{group} has no {name!r}{hint}"
    if key == "workload" or (group == "set" and name):
        return None
    return "must be workload or begin with load., shape. or set., for example load.users"


def _check_varied(key: str, value: Any) -> None:
    """Raise ValidationError if the value is not valid for a key of ``vary``."""
    group, _, name = key.partition(".")
    if group in _VARIED:
        _VARIED[group].model_validate({name: value})
    elif group == "set":
        _VALUE.validate_python(value)
    else:
        _TEXT.validate_python(value)


def whole_problems(fields: SweepFields, source: Source) -> list[Problem]:
    """Return the conflicts between fields, and values that only the whole file shows to be wrong."""
    problems = []
    if fields.workload is None and "workload" not in fields.vary:
        problems += (
            [source.problem((), "workload: is missing")]
            if fields.steps is None
            else [
                source.problem(("steps", index), "workload: is missing, both here and for the whole sweep")
                for index, step in enumerate(fields.steps)
                if step.workload is None
            ]
        )
    problems += span_problems(fields, (), source)
    for index, step in enumerate(fields.steps or ()):
        problems += span_problems(step, ("steps", index), source)
    problems += _ending_problems(fields, source)
    if isinstance(fields.condition, ConditionFields) and fields.condition.load.faults:
        text = "are not for the load that conditions the nodes; leave them out"
        problems.append(source.problem(("condition", "load", "faults"), text))
    problems += _peak_problems(fields, source)
    names = [step.name for step in fields.steps or ()]
    for index, step in enumerate(fields.steps or ()):
        if step.name in names[:index]:
            problems.append(source.problem(("steps", index, "name"), f"{step.name!r} is used twice"))
        problems += [
            source.problem(("steps", index), f"{step.name!r} sets {key}, which is also in vary; remove one of them")
            for key in fields.vary
            if _is_set(step, key)
        ]
    if fields.x == AT:
        problems += [
            source.problem(("steps", index, "at"), "is missing; x is at, so every named step needs a number")
            for index, step in enumerate(fields.steps or ())
            if step.at is None
        ]
        if not fields.steps:
            problems.append(source.problem(("x",), "at is the number of named steps, and there are no steps"))
    elif fields.x is not None and fields.x not in fields.vary:
        problems.append(
            source.problem(("x",), f"{fields.x!r} is not in vary, which has {', '.join(fields.vary) or 'no fields'}")
        )
    elif fields.x is not None and any(isinstance(value, list) for value in fields.vary[fields.x]):
        problems.append(source.problem(("x",), f"{fields.x!r} has lists as values, which an axis cannot show"))
    return problems + _search_problems(fields, source)


def _is_set(step: StepFields, key: str) -> bool:
    """Return whether a named step sets a field that is also in ``vary``."""
    given = step.model_dump(exclude_none=True)
    group, _, name = key.partition(".")
    return name in given.get(group, {}) if name else group in given


def span_problems(fields: SweepFields | StepFields, where: Location, source: Source) -> list[Problem]:
    problems = []
    if fields.warm_up is not None and fields.warm_up.min > fields.warm_up.max:
        problems.append(source.problem((*where, "warm_up", "min"), "must not be above warm_up.max"))
    if isinstance(fields.measure, float) and fields.measure < 1:
        problems.append(source.problem((*where, "measure"), "must be at least 1s"))
    if not isinstance(fields, StepFields) and isinstance(fields.condition, ConditionFields):
        problems += _conditioning_problems(fields.condition, (*where, "condition", "for"), source)
    return problems


def _conditioning_problems(wanted: ConditionFields, where: Location, source: Source) -> list[Problem]:
    limits = wanted.duration
    problems = [
        source.problem((*where, name), "must be a whole number of seconds")
        for name, seconds in (("min", limits.min), ("max", limits.max))
        if seconds != int(seconds)
    ]
    if limits.max < SECONDS_LEAST:
        problems.append(source.problem((*where, "max"), f"must be at least {SECONDS_LEAST:g}s"))
    if limits.min > limits.max:
        problems.append(source.problem((*where, "min"), f"must not be above condition.for.max ({limits.max:g}s)"))
    return problems


def _entries(fields: SweepFields) -> Iterator[tuple[Location, StepFields | None]]:
    """Yield every named step with its place in the file; the whole sweep (None) if there are none."""
    yield from ((("steps", index), step) for index, step in enumerate(fields.steps or ()))
    if not fields.steps:
        yield (), None


NOT_TIMED = "must not be set: bursts, and steps that end by count, have no warm-up"
BURSTS_EXAMPLE = "condition: {load: {arrivals: closed, users: 8}}"


def _ending_problems(fields: SweepFields, source: Source) -> list[Problem]:
    """Return what does not fit between ``measure``, ``warm_up``, ``condition`` and the arrivals of the load."""
    problems = []
    any_timed = False
    for where, step in _entries(fields):
        own = step.measure if step is not None else None
        measure, place = (own, (*where, "measure")) if own is not None else (fields.measure, ("measure",))
        warm_up = step.warm_up if step is not None else None
        any_timed |= is_timed(measure)
        if is_timed(measure) and (warm_up or fields.warm_up) is None:
            text = "is missing, both here and for the whole sweep" if where else "is missing"
            problems.append(source.problem((*where, "warm_up"), text))
        if not is_timed(measure) and warm_up is not None:
            problems.append(source.problem((*where, "warm_up"), NOT_TIMED))
        if not is_timed(measure) and fields.find_max is not None:
            problems.append(source.problem(place, "must be a duration in a search"))
        arrivals = arrivals_of(fields, step)
        problems += burst_problems(measure, arrivals, place, source)
        problems += _burst_conditioning_problems(fields, arrivals, source)
    if fields.warm_up is not None and not any_timed:
        problems.append(source.problem(("warm_up",), NOT_TIMED))
    return problems


def arrivals_of(fields: SweepFields, step: StepFields | None) -> Sequence[str]:
    """Return the arrivals that a named step, or the whole sweep, has at its points."""
    if varied := fields.vary.get("load.arrivals"):
        return varied
    own = step.load.given("arrivals") if step is not None else None
    return (own or fields.load.given("arrivals") or "closed",)


def burst_problems(measure: Measure, arrivals: Sequence[str], place: Location, source: Source) -> Iterator[Problem]:
    if isinstance(measure, BurstCount) and any(one != "burst" for one in arrivals):
        yield source.problem((*place, "bursts"), "needs load.arrivals: burst")
    if not isinstance(measure, BurstCount) and "burst" in arrivals:
        yield source.problem(place, "must be {bursts: N}, because load.arrivals is burst")


def _burst_conditioning_problems(fields: SweepFields, arrivals: Sequence[str], source: Source) -> Iterator[Problem]:
    """Yield the problem that bursts, which have rests between them, would condition the nodes."""
    wanted = fields.condition
    if "burst" not in arrivals or wanted == "none" or wanted.load.given("arrivals") not in (None, "burst"):
        return
    text = f"bursts do not condition nodes; set another load, such as {BURSTS_EXAMPLE}, or none"
    yield source.problem(("condition",), text)


def _peak_problems(fields: SweepFields, source: Source) -> list[Problem]:
    problems = []
    if fields.condition != "none" and peak_factor(fields.condition.load.given("rate")) is not None:
        text = "must be a number: nothing was measured before the nodes are conditioned"
        problems.append(source.problem(("condition", "load", "rate"), text))
    varied = fields.vary.get("load.rate")
    for index, step in enumerate(fields.steps or ()):
        own = varied or [step.load.given("rate") or fields.load.given("rate")]
        if step.peak and any(peak_factor(rate) is not None for rate in own):
            problems.append(source.problem(("steps", index, "peak"), f"{step.name!r} has a rate that depends on it"))
    return problems


def _search_problems(fields: SweepFields, source: Source) -> list[Problem]:
    search = fields.find_max
    if search is None:
        return []
    problems = []
    if search.rate_min >= search.rate_max:
        problems.append(source.problem(("find_max", "rate_min"), "must be below find_max.rate_max"))
    if search.precision < 0.01:
        problems.append(source.problem(("find_max", "precision"), "must be at least 1%"))
    if search.confirm < 1 or search.confirm != int(search.confirm):
        problems.append(source.problem(("find_max", "confirm"), "must be a whole number of seconds, at least 1s"))
    if fields.repeats > 1:
        problems.append(source.problem(("repeats",), "must not be set for a search, which confirms its own result"))
    if fields.thresholds != ThresholdFields():
        problems.append(source.problem(("thresholds",), "must not be set for a search; set its limits in find_max"))
    if fields.load.given("rate") is not None or "load.rate" in fields.vary:
        problems.append(source.problem(("find_max",), "searches for the rate itself; remove load.rate"))
    flags: list[tuple[Location, bool | None]] = [((), fields.may_break)]
    flags += [(("steps", index), step.may_break) for index, step in enumerate(fields.steps or ())]
    problems += [
        source.problem((*where, "may_break"), "must not be set for a search: a rate that ends a node is not sustained")
        for where, may_break in flags
        if may_break
    ]
    problems += [
        source.problem(("steps", index, "load", "rate"), "must not be set for a search, which finds the rate itself")
        for index, step in enumerate(fields.steps or ())
        if step.load.given("rate") is not None
    ]
    if fields.load.given("arrivals") in (None, "closed", "burst"):
        problems.append(source.problem(("find_max",), "needs open load; set load.arrivals to poisson or constant"))
    if search.p50_max is None and search.p95_max is None and search.p99_max is None:
        problems.append(source.problem(("find_max",), "needs a limit; set p50_max, p95_max or p99_max"))
    return problems
