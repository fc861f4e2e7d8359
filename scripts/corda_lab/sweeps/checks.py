"""What does not fit together in a sweep file, in words that name the field."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from corda_lab.sweeps.schema import (
    FindMaxFields,
    LoadFields,
    MeasureFields,
    Scalar,
    ShapeFields,
    SpanFields,
    StepFields,
    SweepFields,
    ThresholdFields,
    Value,
)
from lab_workload.names import did_you_mean
from lab_workload.problems import Location, Problem
from lab_workload.schema import Text
from lab_workload.yaml_source import Source


def _known_fields(location: Location) -> list[str]:
    model: type[BaseModel] = SweepFields
    for part in location:
        if isinstance(part, str) and part in model.model_fields:
            nested = _MODELS.get(part)
            if nested is None:
                return []
            model = nested
    return list(model.model_fields)


_MODELS: Mapping[str, type[BaseModel]] = {
    "load": LoadFields,
    "shape": ShapeFields,
    "steps": StepFields,
    "warm_up": SpanFields,
    "measure": MeasureFields,
    "thresholds": ThresholdFields,
    "find_max": FindMaxFields,
}


def problem(detail: Any, source: Source) -> Problem:
    """One of pydantic's errors in the words of a sweep file."""
    location: Location = tuple(part for part in detail["loc"] if part not in ("constrained-str", "str"))
    name = str(location[-1])
    match detail["type"]:
        case "missing":
            return source.problem(location, "is missing")
        case "extra_forbidden":
            known = _known_fields(location[:-1])
            hint = did_you_mean(name, known) or f", known are {', '.join(known)}"
            return source.problem(location, f"unknown field{hint}")
        case "string_type":
            return source.problem(location, f"should be text, is {detail['input']!r}: put it in quotes")
    expected = detail["msg"].removeprefix("Input should be ")
    return source.problem(location, f"should be {expected}, is {detail['input']!r}")


_VARIED: Mapping[str, type[BaseModel]] = {"load": LoadFields, "shape": ShapeFields}


_TEXT: TypeAdapter[str] = TypeAdapter(Text)


_VALUE: TypeAdapter[Scalar] = TypeAdapter(Value)


def vary_problems(fields: SweepFields, source: Source) -> list[Problem]:
    """What is wrong with what varies: names that there are not, and values that do not fit."""
    problems = []
    for key, values in fields.vary.items():
        unknown = _vary_name_problem(key)
        if unknown:
            problems.append(source.problem(("vary", key), unknown))
            continue
        for index, value in enumerate(values):
            location: Location = ("vary", key, index)
            if value is None:
                problems.append(source.problem(location, "is empty: give a value"))
                continue
            try:
                _check_varied(key, value)
            except ValidationError as error:
                problems.append(problem({**error.errors(include_url=False)[0], "loc": location}, source))
            if value in values[:index]:
                problems.append(source.problem(location, f"{value!r} is there twice"))
    return problems


def _vary_name_problem(key: str) -> str | None:
    """What is wrong with the name of something that varies."""
    group, _, name = key.partition(".")
    if group in _VARIED:
        known = list(_VARIED[group].model_fields)
        hint = did_you_mean(name, known) or f"; there are {', '.join(known)}"
        return None if name in known else f"{group} has no {name!r}{hint}"
    if key == "workload" or (group == "set" and name):
        return None
    return "must be workload, or begin with load., shape. or set., such as load.users"


def _check_varied(key: str, value: Any) -> None:
    """Raises ValidationError when a value cannot be that of what varies."""
    group, _, name = key.partition(".")
    if group in _VARIED:
        _VARIED[group].model_validate({name: value})
    elif group == "set":
        _VALUE.validate_python(value)
    else:
        _TEXT.validate_python(value)


def whole_problems(fields: SweepFields, source: Source) -> list[Problem]:
    """What does not fit together."""
    problems = []
    if fields.workload is None and "workload" not in fields.vary:
        problems += (
            [source.problem((), "workload: is missing")]
            if fields.steps is None
            else [
                source.problem(("steps", index), "workload: is missing here and in the whole sweep")
                for index, step in enumerate(fields.steps)
                if step.workload is None
            ]
        )
    problems += _span_problems(fields, (), source)
    for index, step in enumerate(fields.steps or ()):
        problems += _span_problems(step, ("steps", index), source)
    if not 0.5 <= fields.confidence < 1:
        problems.append(source.problem(("confidence",), "must be from 50% to below 100%"))
    names = [step.name for step in fields.steps or ()]
    for index, step in enumerate(fields.steps or ()):
        if step.name in names[:index]:
            problems.append(source.problem(("steps", index, "name"), f"{step.name!r} is there twice"))
        problems += [
            source.problem(("steps", index), f"{step.name!r} sets {key}, which varies: leave one of the two out")
            for key in fields.vary
            if _is_set(step, key)
        ]
    if fields.x is not None and fields.x not in fields.vary:
        problems.append(
            source.problem(("x",), f"{fields.x!r} is not among what varies: {', '.join(fields.vary) or 'nothing does'}")
        )
    elif fields.x is not None and any(isinstance(value, list) for value in fields.vary[fields.x]):
        problems.append(source.problem(("x",), f"{fields.x!r} varies lists, which have no place on an axis"))
    return problems + _search_problems(fields, source)


def _is_set(step: StepFields, key: str) -> bool:
    """Whether a named step has a value of its own for something that varies."""
    given = step.model_dump(exclude_none=True)
    group, _, name = key.partition(".")
    return name in given.get(group, {}) if name else group in given


def _span_problems(fields: SweepFields | StepFields, where: Location, source: Source) -> list[Problem]:
    problems = []
    for name, span in (("warm_up", fields.warm_up), ("measure", fields.measure)):
        if span is not None and span.min > span.max:
            problems.append(source.problem((*where, name, "min"), f"is more than {name}.max"))
    if fields.measure is not None and fields.measure.min < 1:
        problems.append(source.problem((*where, "measure", "min"), "must be at least 1s"))
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
    if fields.repeats > 1:
        problems.append(source.problem(("repeats",), "a search has none: its confirmation is the repeat"))
    if search.confirm < 1 or search.confirm != int(search.confirm):
        problems.append(source.problem(("find_max", "confirm"), "must be whole seconds, at least 1s"))
    if fields.thresholds != ThresholdFields():
        problems.append(source.problem(("thresholds",), "a search has its objective in find_max: leave them out"))
    if fields.load.given("rate") is not None or "load.rate" in fields.vary:
        problems.append(source.problem(("find_max",), "finds the rate: leave load.rate out"))
    problems += [
        source.problem(("steps", index, "load", "rate"), "a search finds the rate: leave it out")
        for index, step in enumerate(fields.steps or ())
        if step.load.given("rate") is not None
    ]
    if fields.load.given("arrivals") in (None, "closed"):
        problems.append(source.problem(("find_max",), "needs open load: set load.arrivals to poisson or constant"))
    if search.p50_max is None and search.p95_max is None and search.p99_max is None:
        problems.append(source.problem(("find_max",), "needs an objective: p50_max, p95_max or p99_max"))
    return problems
