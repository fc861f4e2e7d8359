"""The groups of fields of a sweep file: load, shape, times, the load that conditions the nodes, limits, a search."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    SerializerFunctionWrapHandler,
    Strict,
    TypeAdapter,
    ValidationError,
    WrapValidator,
    create_model,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from corda_lab.faults.model import FAULTS_MAX
from corda_lab.knobs.shape import SHAPE_OPTIONS, Kind, Knob
from corda_lab.steps.load import SECONDS_LEAST, SECONDS_MAX, SECONDS_MIN
from lab_workload.faults import Fault, FaultKind
from lab_workload.load import BURSTS_MAX, FLOWS_MAX, OPTIONS, RATE_MAX, read_seconds
from lab_workload.problems import Location
from lab_workload.schema import Fields, Scalar, Text

STEPS_MAX = 1000
REPEATS_MAX = 100
VALUES_MAX = 100
SEARCH_STEPS_MAX = 40
NOT_SWEPT = ("duration", "warm_up", "bursts", "flows", "flows_after", "name", "seed")
"""Options of a load for which a sweep has other fields, such as ``measure``."""


def _whole(seconds: float) -> float:
    if seconds != int(seconds):
        raise PydanticCustomError("whole", "must be a whole number of seconds")
    return seconds


_PERCENT = re.compile(r"(100|\d?\d(?:\.\d+)?)%")


def _percent(value: Any) -> float:
    match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise PydanticCustomError("percent", "must be a percentage such as 5%")
    return float(match[1]) / 100


_PEAK = re.compile(r"(\d+(?:\.\d+)?) x peak")


def peak_factor(rate: object) -> float | None:
    """Return the factor of a rate such as ``4 x peak``; None if the rate is a number, or is not given."""
    match = _PEAK.fullmatch(rate) if isinstance(rate, str) else None
    return float(match[1]) if match else None


_RATE: TypeAdapter[float] = TypeAdapter(Annotated[float, Strict(), Field(gt=0, le=RATE_MAX)])


def _rate(value: Any, _: object) -> float | str:
    if peak_factor(value):
        return str(value)
    if isinstance(value, str):
        raise PydanticCustomError("rate", "must be a number, or a multiple of the peak such as 4 x peak")
    return _RATE.validate_python(value)


def _number(value: Any) -> int | float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    raise PydanticCustomError("number", "must be a number")


Duration = Annotated[float, PlainValidator(read_seconds)]
"""Seconds, written as ``30s`` or ``2m``."""
WholeSeconds = Annotated[float, PlainValidator(read_seconds), AfterValidator(_whole)]
Percent = Annotated[
    float, PlainValidator(_percent), PlainSerializer(lambda share: f"{100 * share:g}%", when_used="json")
]
"""A share from 0 to 1, written as ``5%``."""
Number = Annotated[int | float, PlainValidator(_number)]
Rate = Annotated[float | str, WrapValidator(_rate)]
"""Arrivals per second: a number, or a multiple of the throughput of a named step with ``peak``, as ``4 x peak``."""

_FIELD_TYPES: Mapping[Kind, Any] = {
    Kind.COUNT: int,
    Kind.CORES: Annotated[float, Field(ge=0)],
    Kind.CPUSET: str,
    Kind.BYTES: int | Text,
    Kind.FLAG: bool,
    Kind.WORDS: list[Text] | Text,
}
"""The type of a field by the kind of its option. Kinds that are not listed are text."""


def _load_fields() -> dict[str, Any]:
    """Return a model field for each option of a load that a sweep file has. Its default is None."""
    types: dict[str, Any] = {
        key: Annotated[field.annotation, Field(), *field.metadata]
        for key, field in OPTIONS.items()
        if key not in NOT_SWEPT
    }
    # A rate may depend on another step. A point is named by its nodes as the file writes them.
    types |= {"rate": Rate, "nodes": list[Text] | Text}
    return {key: (held | None, None) for key, held in types.items()}


def _field_type(knob: Knob) -> Any:
    held = _FIELD_TYPES.get(knob.kind, Text)
    if knob.kind is Kind.COUNT:
        return Annotated[held, Field(ge=knob.at_least, le=knob.at_most)]
    return held


Conflict = tuple[Location, str]
"""Where fields do not fit together, and what is wrong there."""


class CheckedFields(Fields):
    """Fields that may not fit together. All conflicts are reported at once, each at its place in the file."""

    def conflicts(self) -> Iterator[Conflict]:
        yield from ()

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        details = [
            InitErrorDetails(type=PydanticCustomError("conflict", text), loc=location, input=None)
            for location, text in self.conflicts()
        ]
        if details:
            raise ValidationError.from_exception_data(type(self).__name__, details)
        return self


class _OptionFields(Fields):
    """Fields that are options. Only those that are given are stored."""

    @model_serializer(mode="wrap")
    def _given(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in serialize(self).items() if value is not None}


if TYPE_CHECKING:
    _LoadFields = _OptionFields
    _ShapeFields = _OptionFields
else:
    _LoadFields = create_model(
        "_LoadFields",
        __base__=_OptionFields,
        **_load_fields(),
    )
    _ShapeFields = create_model(
        "_ShapeFields",
        __base__=_OptionFields,
        **{option.name: (_field_type(option) | None, None) for option in SHAPE_OPTIONS},
    )


class FaultFields(Fields):
    """One fault during the load of a step. Times are in seconds from the begin of the load."""

    kind: FaultKind
    target: Text
    at: Duration
    duration: Duration = Field(alias="for")
    parameters: dict[str, Number] = Field(default_factory=dict)

    @property
    def fault(self) -> Fault:
        parameters = {name: float(value) for name, value in self.parameters.items()}
        times = {"at_seconds": self.at, "for_seconds": self.duration}
        return Fault(kind=self.kind, target=self.target, parameters=parameters, **times)


class LoadFields(_LoadFields):
    """The load of a step: the options of ``lab run``, with a larger default for the pool of open load, and faults."""

    faults: Annotated[list[FaultFields], Field(max_length=FAULTS_MAX)] | None = None

    def given(self, name: str) -> Any:
        """Return the value of an option; None if it is left out."""
        return getattr(self, name)


class ShapeFields(_ShapeFields):
    """The shape of the lab of a step. Fields have the names of ``lab up``'s options; defaults come from ``.env``."""


class SpanFields(CheckedFields):
    """Minimum and maximum duration, in seconds."""

    min: Duration
    max: Duration

    def conflicts(self) -> Iterator[Conflict]:
        if self.min > self.max:
            yield ("min",), f"must not be above max ({self.max:g}s)"


class BurstCount(Fields):
    bursts: Annotated[int, Field(ge=1, le=BURSTS_MAX)]


class FlowCount(Fields):
    """The number of flows that end a step, without the first ``after``, which count for nothing."""

    flows: Annotated[int, Field(ge=1, le=FLOWS_MAX)]
    after: Annotated[int, Field(ge=0, le=FLOWS_MAX)] = 0


MEASURE_FORMS = "must be a duration such as 60s, or {bursts: 10}, or {flows: 400, after: 2}"


def _measure(value: Any, _: object) -> float | BurstCount | FlowCount:
    if isinstance(value, (BurstCount, FlowCount)):
        return value
    if isinstance(value, dict):
        if value.keys() == {"bursts"}:
            return BurstCount.model_validate(value)
        if {"flows"} <= value.keys() <= {"flows", "after"}:
            return FlowCount.model_validate(value)
        raise PydanticCustomError("measure", MEASURE_FORMS)
    try:
        seconds = read_seconds(value)
    except PydanticCustomError:
        raise PydanticCustomError("measure", MEASURE_FORMS) from None
    if seconds < 1:
        raise PydanticCustomError("measure", "must be at least 1s")
    return seconds


Measure = Annotated[float | BurstCount | FlowCount, WrapValidator(_measure)]
"""What ends a step: the length of the measuring window in seconds, a number of bursts, or a number of flows."""


class CommonFields(CheckedFields):
    """Workload, load and shape of a whole sweep, or of one entry of ``steps``."""

    workload: Text | None = None
    set: dict[str, Scalar] = Field(default_factory=dict)
    load: LoadFields = Field(default_factory=LoadFields)
    shape: ShapeFields = Field(default_factory=ShapeFields)

    def sets(self, key: str) -> bool:
        """Return whether it sets ``load.users``, or another key of ``vary``."""
        given = self.model_dump(exclude_none=True)
        group, _, name = key.partition(".")
        return name in given.get(group, {}) if name else group in given


class StepFields(CommonFields):
    """One entry of ``steps``. Its values override those of the whole sweep."""

    name: Text
    at: Number | None = None
    """Its place on the x axis, if that is ``at``."""
    peak: bool = False
    """Whether its throughput is the peak of which rates are multiples. It is measured first on its shape."""
    may_break: bool | None = None
    warm_up: SpanFields | None = None
    measure: Measure | None = None
    beside: Duration | None = None
    """How long it takes beside its load: see ``SweepFields``."""


class ForFields(SpanFields):
    """Minimum and maximum duration of the load that conditions the nodes, in whole seconds."""

    min: WholeSeconds = SECONDS_MIN
    max: WholeSeconds = SECONDS_MAX

    @model_validator(mode="before")
    @classmethod
    def _of_one_duration(cls, value: Any) -> Any:
        """Let ``for: 2m`` mean exactly that long."""
        return value if isinstance(value, (dict, ForFields)) else {"min": value, "max": value}

    def conflicts(self) -> Iterator[Conflict]:
        yield from super().conflicts()
        if self.max < SECONDS_LEAST:
            yield ("max",), f"must be at least {SECONDS_LEAST:g}s"


class ConditionFields(CheckedFields):
    """The load that conditions the nodes after every start, before the first step: that of the step, with changes."""

    workload: Text | None = None
    """Another workload than that of the step, whose arguments then do not apply."""
    set: dict[str, Scalar] = Field(default_factory=dict)
    load: LoadFields = Field(default_factory=LoadFields)
    duration: ForFields = Field(default_factory=ForFields, alias="for")

    def conflicts(self) -> Iterator[Conflict]:
        if self.load.faults:
            yield ("load", "faults"), "are not for the load that conditions the nodes; leave them out"
        if peak_factor(self.load.given("rate")) is not None:
            yield ("load", "rate"), "must be a number: nothing was measured before the nodes are conditioned"


NO_CONDITION: Literal["none"] = "none"


def _condition(value: Any, _: object) -> ConditionFields | Literal["none"]:
    if isinstance(value, ConditionFields):
        return value
    if isinstance(value, dict):
        return ConditionFields.model_validate(value)
    if value == NO_CONDITION:
        return NO_CONDITION
    raise PydanticCustomError("condition", "must be none or have the fields workload, load, set and for")


Condition = Annotated[ConditionFields | Literal["none"], WrapValidator(_condition)]
"""The load that conditions the nodes; ``none`` if nothing does."""


class LatencyFields(CheckedFields):
    """Limits of latency percentiles, in seconds."""

    p50_max: Duration | None = None
    p95_max: Duration | None = None
    p99_max: Duration | None = None


class ThresholdFields(LatencyFields):
    """Limits for every valid step. The sweep fails if a step misses one."""

    throughput_min: Annotated[float, Field(gt=0)] | None = None


class FindMaxFields(LatencyFields):
    """A search for the highest sustained rate. Rates are in arrivals per second, latencies in seconds."""

    rate_min: Annotated[float, Field(gt=0, le=RATE_MAX)]
    rate_max: Annotated[float, Field(gt=0, le=RATE_MAX)]
    precision: Percent = 0.05
    steps_max: Annotated[int, Field(ge=2, le=SEARCH_STEPS_MAX)] = 24
    errors_max: Percent = 0.0
    confirm: WholeSeconds

    def conflicts(self) -> Iterator[Conflict]:
        if self.rate_min >= self.rate_max:
            yield ("rate_min",), "must be below find_max.rate_max"
        if self.precision < 0.01:
            yield ("precision",), "must be at least 1%"
        if self.confirm < 1:
            yield ("confirm",), "must be at least 1s"
        if self.p50_max is None and self.p95_max is None and self.p99_max is None:
            yield (), "needs a limit; set p50_max, p95_max or p99_max"
