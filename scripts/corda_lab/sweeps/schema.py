"""Sweep files: ``configs/sweeps/<name>.yaml``, read with every mistake told at once, each with its line.

``docs/sweeps.md`` describes the fields.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, PlainValidator, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from corda_lab.errors import LabError
from corda_lab.lab import shape
from corda_lab.steps.load import RATE_MAX, USERS_MAX, WORKERS_MAX
from corda_lab.text.durations import parse_duration
from lab_workload.names import did_you_mean
from lab_workload.schema import Fields, Text
from lab_workload.yaml_source import Location, Source, WorkloadError, line_of, read_fields

QUICK_WARM_UP_SECONDS = 30.0
QUICK_MEASURE_SECONDS = 20.0
QUICK_CONFIRM_SECONDS = 30.0
QUICK_PRECISION = 0.2
"""How long and how precise a sweep is that is only to be looked at."""

STEPS_MAX = 1000
RETRIES_MAX = 10
REPEATS_MAX = 100
VALUES_MAX = 100
SEARCH_STEPS_MAX = 40

QUICK_SUFFIX = "-quick"

Scalar = str | int | float | bool


def _duration(value: Any) -> float:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        try:
            return parse_duration(str(value), option="")
        except LabError:
            pass
    raise PydanticCustomError("duration", "a length of time such as 30s or 2m")


def _percent(value: Any) -> float:
    if isinstance(value, str) and value.endswith("%"):
        try:
            share = float(value[:-1]) / 100
        except ValueError:
            share = -1.0
        if 0 <= share <= 1:
            return share
    raise PydanticCustomError("percent", "a percentage such as 5%")


def _scalar(value: Any) -> Scalar:
    if isinstance(value, (str, int, float, bool)):
        return value
    raise PydanticCustomError("scalar", "one value")


Duration = Annotated[float, PlainValidator(_duration)]
"""Seconds, written like ``30s`` or ``2m``."""
Percent = Annotated[float, PlainValidator(_percent)]
"""A share from 0 to 1, written like ``5%``."""
Value = Annotated[Scalar, PlainValidator(_scalar)]


class LoadFields(Fields):
    """The load of a step; what is left out has the value of ``lab run``."""

    arrivals: Literal["closed", "constant", "poisson"] | None = None
    users: Annotated[int, Field(ge=1, le=USERS_MAX)] | None = None
    rate: Annotated[float, Field(gt=0, le=RATE_MAX)] | None = None
    late_max: Duration | None = None
    pacing: Duration | None = None
    workers: Annotated[int, Field(ge=1, le=WORKERS_MAX)] | None = None
    node: Text | None = None
    counterparty: Text | None = None


class ShapeFields(Fields):
    """The shape of the lab of a step, by the names of the options of ``lab up``; what is left out comes from ``.env``."""

    parties: int | None = None
    corda: Text | None = None
    database: Text | None = None
    notary: Text | None = None
    preset: Text | None = None
    dev_mode: bool | None = None
    size: Text | None = None
    heap: Text | None = None
    cores: Annotated[float, Field(ge=0)] | None = None
    cpuset: str | None = None
    link: list[Text] | Text | None = None


class SpanFields(Fields):
    """From the least to the most time."""

    min: Duration
    max: Duration


class MeasureFields(SpanFields):
    """How long to measure: from ``min`` to ``max``, no longer than until the throughput is known to ``precision``."""

    precision: Percent | None = None


class SubjectFields(Fields):
    """What is measured, on what: of a whole sweep, or of one entry of ``steps``."""

    workload: Text | None = None
    set: dict[str, Value] = Field(default_factory=dict)
    load: LoadFields = Field(default_factory=LoadFields)
    shape: ShapeFields = Field(default_factory=ShapeFields)


class StepFields(SubjectFields):
    """One entry of ``steps``: what it sets lies over what the whole sweep sets."""

    name: Text
    warm_up: SpanFields | None = None
    measure: MeasureFields | None = None


_Span = TypeVar("_Span", bound=SpanFields)


Fresh = Literal["repeat", "shape", "step"]
"""When a sweep starts a new lab: for every shape in every repeat, for a shape only, or for every step."""


class ThresholdFields(Fields):
    """What every valid step has to keep; a step that does not fails the sweep."""

    throughput_min: Annotated[float, Field(gt=0)] | None = None
    p50_max: Duration | None = None
    p95_max: Duration | None = None
    p99_max: Duration | None = None


class FindMaxFields(Fields):
    """A search for the highest rate that is sustained."""

    rate_min: Annotated[float, Field(gt=0, le=RATE_MAX)]
    rate_max: Annotated[float, Field(gt=0, le=RATE_MAX)]
    precision: Percent = 0.05
    steps_max: Annotated[int, Field(ge=2, le=SEARCH_STEPS_MAX)] = 24
    p50_max: Duration | None = None
    p95_max: Duration | None = None
    p99_max: Duration | None = None
    errors_max: Percent = 0.0
    confirm: Duration


class SweepFields(SubjectFields):
    """A whole sweep file."""

    description: Text
    vary: dict[str, Annotated[list[Any], Field(min_length=1, max_length=VALUES_MAX)]] = Field(default_factory=dict)
    steps: Annotated[list[StepFields], Field(min_length=1, max_length=STEPS_MAX)] | None = None
    x: Text | None = None
    repeats: Annotated[int, Field(ge=1, le=REPEATS_MAX)] = 1
    order: Literal["interleaved", "randomised", "listed"] = "interleaved"
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    fresh: Fresh = "repeat"
    retries: Annotated[int, Field(ge=0, le=RETRIES_MAX)] = 2
    """How often a step that the machine itself spoilt, by swapping or for other guests, is measured anew on a fresh lab."""
    warm_up: SpanFields
    measure: MeasureFields
    confidence: Percent = 0.95
    thresholds: ThresholdFields = Field(default_factory=ThresholdFields)
    find_max: FindMaxFields | None = None


@dataclass(frozen=True)
class SweepFile:
    """A sweep file without mistakes."""

    name: str
    """The file's name without its suffix."""
    fields: SweepFields
    source: Source
    text: str
    is_quick: bool = False

    @property
    def run_name(self) -> str:
        """What its run is called."""
        return f"{self.name}{QUICK_SUFFIX}" if self.is_quick else self.name


def read_sweep(path: Path) -> SweepFile:
    """Read a sweep file. Raises LabError with everything that is wrong with it."""
    try:
        return _read(path)
    except WorkloadError as error:
        raise LabError("\n       ".join(error.problems), "docs/sweeps.md describes sweep files.") from None


def quick(sweep: SweepFile) -> SweepFile:
    """The same points, each measured once and briefly: to see that a sweep works, and what its report will show."""
    fields = sweep.fields
    steps = None
    if fields.steps is not None:
        steps = [
            step.model_copy(
                update={
                    "warm_up": step.warm_up and _fixed(step.warm_up, QUICK_WARM_UP_SECONDS),
                    "measure": step.measure and _fixed(step.measure, QUICK_MEASURE_SECONDS),
                }
            )
            for step in fields.steps
        ]
    search = fields.find_max and fields.find_max.model_copy(
        update={
            "precision": max(QUICK_PRECISION, fields.find_max.precision),
            "confirm": min(QUICK_CONFIRM_SECONDS, fields.find_max.confirm),
        }
    )
    changes = {
        "repeats": 1,
        "steps": steps,
        "warm_up": _fixed(fields.warm_up, QUICK_WARM_UP_SECONDS),
        "measure": _fixed(fields.measure, QUICK_MEASURE_SECONDS),
        "find_max": search,
    }
    return replace(sweep, fields=fields.model_copy(update=changes), is_quick=True)


def _fixed(span: _Span, seconds_max: float) -> _Span:
    """As long as it may be: in so short a series no end of a warm-up is found."""
    seconds = min(span.max, seconds_max)
    return span.model_copy(update={"min": seconds, "max": seconds})


def _read(path: Path) -> SweepFile:
    data, source = read_fields(path)
    try:
        fields = SweepFields.model_validate(data)
    except ValidationError as error:
        problems = [_problem(detail, source) for detail in error.errors(include_url=False)]
        raise WorkloadError(sorted(dict.fromkeys(problems), key=line_of)) from None
    problems = [*_vary_problems(fields, source), *_whole_problems(fields, source)]
    if problems:
        raise WorkloadError(sorted(problems, key=line_of))
    return SweepFile(path.stem, fields, source, path.read_text(encoding="utf-8"))


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


def _problem(detail: Any, source: Source) -> str:
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


def _vary_problems(fields: SweepFields, source: Source) -> list[str]:
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
                problems.append(_problem({**error.errors(include_url=False)[0], "loc": location}, source))
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


def _whole_problems(fields: SweepFields, source: Source) -> list[str]:
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


def _span_problems(fields: SweepFields | StepFields, where: Location, source: Source) -> list[str]:
    problems = []
    for name, span in (("warm_up", fields.warm_up), ("measure", fields.measure)):
        if span is not None and span.min > span.max:
            problems.append(source.problem((*where, name, "min"), f"is more than {name}.max"))
    if fields.measure is not None and fields.measure.min < 1:
        problems.append(source.problem((*where, "measure", "min"), "must be at least 1s"))
    return problems


def _search_problems(fields: SweepFields, source: Source) -> list[str]:
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
    if fields.load.rate is not None or "load.rate" in fields.vary:
        problems.append(source.problem(("find_max",), "finds the rate: leave load.rate out"))
    problems += [
        source.problem(("steps", index, "load", "rate"), "a search finds the rate: leave it out")
        for index, step in enumerate(fields.steps or ())
        if step.load.rate is not None
    ]
    if fields.load.arrivals in (None, "closed"):
        problems.append(source.problem(("find_max",), "needs open load: set load.arrivals to poisson or constant"))
    if search.p50_max is None and search.p95_max is None and search.p99_max is None:
        problems.append(source.problem(("find_max",), "needs an objective: p50_max, p95_max or p99_max"))
    return problems


def shape_options(fields: Mapping[str, Any]) -> tuple[dict[str, str], str | None]:
    """Variables of ``.env`` by the fields of a shape that are given, and its size."""
    values = {}
    for name, variable in shape.OPTIONS.items():
        value = fields.get(name)
        if value is not None:
            values[variable] = _text(value)
    return values, fields.get("size")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return " ".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
