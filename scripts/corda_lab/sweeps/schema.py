"""Sweep files: ``configs/sweeps/<name>.yaml``, read with every mistake told at once, each with its line.

``docs/sweeps.md`` describes the fields.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import Field, PlainValidator, create_model
from pydantic_core import PydanticCustomError

from corda_lab.errors import LabError
from corda_lab.knobs.options import Kind, Option
from corda_lab.knobs.shape import SHAPE_OPTIONS
from corda_lab.steps.load import LOAD_OPTIONS
from corda_lab.text.durations import parse_duration
from lab_workload.load import RATE_MAX
from lab_workload.schema import Fields, Text

STEPS_MAX = 1000
RETRIES_MAX = 10
REPEATS_MAX = 100
VALUES_MAX = 100
SEARCH_STEPS_MAX = 40


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


_FIELD_TYPES: Mapping[Kind, Any] = {
    Kind.COUNT: int,
    Kind.NUMBER: float,
    Kind.CORES: Annotated[float, Field(ge=0)],
    Kind.CPUSET: str,
    Kind.DURATION: Duration,
    Kind.FLAG: bool,
    Kind.WORDS: list[Text] | Text,
}
"""What a sweep file holds, where it is not text."""


def _optional_fields(options: Iterable[Option]) -> dict[str, Any]:
    """A field of a model for each option, None where it is left out."""
    return {option.name: (_field_type(option) | None, None) for option in options}


def _field_type(option: Option) -> Any:
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


class LoadFields(_LoadFields):
    """The load of a step, by the names of the options of ``lab run``; what is left out has the value of those.

    Only the pool of open load is larger.
    """

    def given(self, name: str) -> Any:
        """The value of an option; None where it is left out."""
        return getattr(self, name)


class ShapeFields(_ShapeFields):
    """The shape of the lab of a step, by the names of the options of ``lab up``; what is left out comes from ``.env``."""


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
