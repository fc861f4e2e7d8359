"""The fields of sweep files, ``configs/sweeps/<name>.yaml``. ``docs/sweeps.md`` describes them."""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import (
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    TypeAdapter,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from corda_lab.errors import LabError
from corda_lab.knobs.options import Kind, Option
from corda_lab.knobs.shape import SHAPE_OPTIONS
from corda_lab.results.manifest import BurstCount, FlowCount
from corda_lab.steps.faults import FAULTS_MAX, Fault, FaultKind, normalised
from corda_lab.steps.load import LOAD_OPTIONS, SECONDS_MAX, SECONDS_MIN
from corda_lab.text.durations import parse_duration
from lab_workload.load import RATE_MAX
from lab_workload.schema import Fields, Text

STEPS_MAX = 1000
RETRIES_MAX = 10
REPEATS_MAX = 100
VALUES_MAX = 100
SEARCH_STEPS_MAX = 40
QUICK_REPEATS_MIN = 3
"""The fewest repeats of a short form. With fewer, no comparison decides anything."""


Scalar = str | int | float | bool


def _duration(value: Any) -> float:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        try:
            return parse_duration(str(value), option="")
        except LabError:
            pass
    raise PydanticCustomError("duration", "must be a duration such as 30s or 2m")


def _percent(value: Any) -> float:
    if isinstance(value, str) and value.endswith("%"):
        try:
            share = float(value[:-1]) / 100
        except ValueError:
            share = -1.0
        if 0 <= share <= 1:
            return share
    raise PydanticCustomError("percent", "must be a percentage such as 5%")


_PEAK = re.compile(r"(\d+(?:\.\d+)?) x peak")


def peak_factor(rate: object) -> float | None:
    """Return the factor of a rate such as ``4 x peak``; None if the rate is a number, or is not given."""
    match = _PEAK.fullmatch(rate) if isinstance(rate, str) else None
    return float(match[1]) if match else None


_RATE: TypeAdapter[float] = TypeAdapter(Annotated[float, Field(gt=0, le=RATE_MAX)])


def _rate(value: Any) -> float | str:
    if peak_factor(value):
        return str(value)
    try:
        return _RATE.validate_python(value, strict=True)
    except ValidationError as error:
        if isinstance(value, str):
            raise PydanticCustomError("rate", "must be a number, or a multiple of the peak such as 4 x peak") from None
        raise PydanticCustomError("rate", error.errors()[0]["msg"]) from None


def _number(value: Any) -> int | float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    raise PydanticCustomError("number", "must be a number")


def _scalar(value: Any) -> Scalar:
    if isinstance(value, (str, int, float, bool)):
        return value
    raise PydanticCustomError("scalar", "must be a single value")


Duration = Annotated[float, PlainValidator(_duration)]
"""Seconds, written as ``30s`` or ``2m``."""
Percent = Annotated[float, PlainValidator(_percent)]
"""A share from 0 to 1, written as ``5%``."""
Value = Annotated[Scalar, PlainValidator(_scalar)]
Number = Annotated[int | float, PlainValidator(_number)]
Rate = Annotated[float | str, PlainValidator(_rate)]
"""Arrivals per second: a number, or a multiple of the throughput of a named step with ``peak``, as ``4 x peak``."""


_FIELD_TYPES: Mapping[Kind, Any] = {
    Kind.COUNT: int,
    Kind.NUMBER: float,
    Kind.CORES: Annotated[float, Field(ge=0)],
    Kind.CPUSET: str,
    Kind.BYTES: int | Text,
    Kind.DURATION: Duration,
    Kind.FLAG: bool,
    Kind.WORDS: list[Text] | Text,
}
"""The type of a field by the kind of its option. Kinds that are not listed are text."""


def _optional_fields(options: Iterable[Option]) -> dict[str, Any]:
    """Return a model field for each option. Its default is None."""
    return {option.name: (_field_type(option) | None, None) for option in options}


def _field_type(option: Option) -> Any:
    if option is LOAD_OPTIONS["rate"]:
        return Rate
    if option.kind is Kind.CHOICE:
        return cast(Any, Literal)[option.choices]
    held = _FIELD_TYPES.get(option.kind, Text)
    if option.kind in (Kind.COUNT, Kind.NUMBER):
        return Annotated[held, Field(ge=option.at_least, gt=option.above, le=option.at_most)]
    return held


if TYPE_CHECKING:
    _LoadFields = Fields
    _ShapeFields = Fields
else:
    _LoadFields = create_model(
        "_LoadFields", __base__=Fields, **_optional_fields(each for each in LOAD_OPTIONS.values() if each.is_swept)
    )
    _ShapeFields = create_model("_ShapeFields", __base__=Fields, **_optional_fields(SHAPE_OPTIONS))


class FaultFields(Fields):
    """One fault during the load of a step. Times are in seconds from the begin of the load."""

    kind: FaultKind
    target: Text
    at: Duration
    duration: Duration = Field(alias="for")
    parameters: dict[str, Number] = Field(default_factory=dict)

    @property
    def fault(self) -> Fault:
        """The fault."""
        own = {name: float(value) for name, value in self.parameters.items()}
        return normalised(
            Fault(kind=self.kind, target=self.target, at_seconds=self.at, for_seconds=self.duration, parameters=own)
        )


class LoadFields(_LoadFields):
    """The load of a step. Fields have the names and defaults of the options of ``lab run``.

    The only exceptions are the pool of open load, whose default is larger, and ``faults``.
    """

    faults: Annotated[list[FaultFields], Field(max_length=FAULTS_MAX)] | None = None

    def given(self, name: str) -> Any:
        """Return the value of an option; None if it is left out."""
        return getattr(self, name)


class ShapeFields(_ShapeFields):
    """The shape of the lab of a step. Fields have the names of ``lab up``'s options; defaults come from ``.env``."""


class SpanFields(Fields):
    """Minimum and maximum duration, in seconds."""

    min: Duration
    max: Duration


MEASURE_TAGS = ("measure: time", "measure: bursts", "measure: flows")
"""How pydantic names the forms of ``measure`` in the location of an error."""


def _measure_tag(value: Any) -> str:
    if not isinstance(value, (dict, BurstCount, FlowCount)):
        return MEASURE_TAGS[0]
    return MEASURE_TAGS[1 if isinstance(value, BurstCount) or "bursts" in value else 2]


Measure = Annotated[
    Annotated[Duration, Tag(MEASURE_TAGS[0])]
    | Annotated[BurstCount, Tag(MEASURE_TAGS[1])]
    | Annotated[FlowCount, Tag(MEASURE_TAGS[2])],
    Discriminator(_measure_tag),
]
"""What ends a step: the length of the measuring window in seconds, a number of bursts, or a number of flows."""


def is_timed(measure: Measure) -> bool:
    """Whether a step ends after a time."""
    return isinstance(measure, float)


class CommonFields(Fields):
    """Workload, load and shape of a whole sweep, or of one entry of ``steps``."""

    workload: Text | None = None
    set: dict[str, Value] = Field(default_factory=dict)
    load: LoadFields = Field(default_factory=LoadFields)
    shape: ShapeFields = Field(default_factory=ShapeFields)


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


class ForFields(Fields):
    """Minimum and maximum duration of the load that conditions the nodes, in seconds."""

    min: Duration = SECONDS_MIN
    max: Duration = SECONDS_MAX

    @model_validator(mode="before")
    @classmethod
    def _of_one_duration(cls, value: Any) -> Any:
        """Let ``for: 2m`` mean exactly that long."""
        if isinstance(value, (dict, ForFields)):
            return value
        seconds = _duration(value)
        return {"min": seconds, "max": seconds}


class ConditionFields(Fields):
    """The load that conditions the nodes after every start, before the first step: that of the step, with changes."""

    workload: Text | None = None
    """Another workload than that of the step, whose arguments then do not apply."""
    set: dict[str, Value] = Field(default_factory=dict)
    load: LoadFields = Field(default_factory=LoadFields)
    duration: ForFields = Field(default_factory=ForFields, alias="for")


CONDITION_TAGS = ("condition: fields", "condition: none")
"""How pydantic names the types of ``condition`` in the location of an error."""


def _condition_tag(value: Any) -> str:
    return CONDITION_TAGS[0 if isinstance(value, (dict, ConditionFields)) else 1]


Condition = Annotated[
    Annotated[ConditionFields, Tag(CONDITION_TAGS[0])] | Annotated[Literal["none"], Tag(CONDITION_TAGS[1])],
    Discriminator(_condition_tag),
]
"""The load that conditions the nodes; ``none`` if nothing does."""


Fresh = Literal["repeat", "shape", "step"]
"""When a sweep starts a new lab: for every shape in every repeat, once for every shape, or for every step."""


class QuickSearchFields(Fields):
    """What the short form of a search has in place of the fields of ``find_max``."""

    precision: Percent | None = None
    confirm: Duration | None = None


class QuickFields(Fields):
    """The short form of a sweep: the values and the named steps that it measures, how often, and for how long.

    What is left out is as in the whole sweep, apart from the repeats.
    """

    vary: dict[str, Annotated[list[Any], Field(min_length=1, max_length=VALUES_MAX)]] = Field(default_factory=dict)
    steps: Annotated[list[Text], Field(min_length=1, max_length=STEPS_MAX)] | None = None
    set: dict[str, Value] = Field(default_factory=dict)
    load: LoadFields = Field(default_factory=LoadFields)
    shape: ShapeFields = Field(default_factory=ShapeFields)
    repeats: Annotated[int, Field(ge=QUICK_REPEATS_MIN, le=REPEATS_MAX)] | None = None
    fresh: Fresh | None = None
    condition: Condition | None = None
    warm_up: SpanFields | None = None
    measure: Measure | None = None
    beside: Duration | None = None
    find_max: QuickSearchFields | None = None


class ThresholdFields(Fields):
    """Limits for every valid step. The sweep fails if a step misses one."""

    throughput_min: Annotated[float, Field(gt=0)] | None = None
    p50_max: Duration | None = None
    p95_max: Duration | None = None
    p99_max: Duration | None = None


class FindMaxFields(Fields):
    """A search for the highest sustained rate. Rates are in arrivals per second, latencies in seconds."""

    rate_min: Annotated[float, Field(gt=0, le=RATE_MAX)]
    rate_max: Annotated[float, Field(gt=0, le=RATE_MAX)]
    precision: Percent = 0.05
    steps_max: Annotated[int, Field(ge=2, le=SEARCH_STEPS_MAX)] = 24
    p50_max: Duration | None = None
    p95_max: Duration | None = None
    p99_max: Duration | None = None
    errors_max: Percent = 0.0
    confirm: Duration


class SweepFields(CommonFields):
    """A whole sweep file."""

    description: Text
    vary: dict[str, Annotated[list[Any], Field(min_length=1, max_length=VALUES_MAX)]] = Field(default_factory=dict)
    steps: Annotated[list[StepFields], Field(min_length=1, max_length=STEPS_MAX)] | None = None
    x: Text | None = None
    repeats: Annotated[int, Field(ge=1, le=REPEATS_MAX)] = 1
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    fresh: Fresh = "repeat"
    impossible: Literal["refuse", "skip"] = "refuse"
    """What becomes of a point that this machine cannot have: the sweep is refused, or the point is left out."""
    may_break: bool = False
    """Whether a step that ends a node, or leaves it overloaded, is a result, and not a failure."""
    retries: Annotated[int, Field(ge=0, le=RETRIES_MAX)] = 2
    """How often a step is rerun on a fresh lab if swapping or CPU steal of the machine made it invalid. A step that
    failed is rerun once, unless this is 0."""
    condition: Condition = Field(default_factory=ConditionFields)
    warm_up: SpanFields | None = None
    """None if no step is measured by time."""
    measure: Measure
    beside: Duration | None = None
    """How long a step takes beside its load as it is estimated, as its author has seen: its set-up, flows that take
    longer, a backlog that drains. It changes the estimate only. None if the author does not say."""
    thresholds: ThresholdFields = Field(default_factory=ThresholdFields)
    find_max: FindMaxFields | None = None
    quick: QuickFields | None = None
