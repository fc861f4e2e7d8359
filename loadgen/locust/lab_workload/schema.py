"""The fields of a workload file as pydantic models. ``workload`` checks how they fit together."""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, StringConstraints
from pydantic_core import PydanticCustomError

from lab_workload.load import PARTIES_MAX, RATE_MAX

WEIGHT_MAX = 1_000_000
STEPS_MAX = 50
PARTS_MAX = 100
CONCURRENCY_MAX = 256
STEP_SECONDS_MAX = 24 * 3600
MEGABYTES_MAX = 200
"""Size of the largest attachment that the bridge and the network parameters accept."""

_JAVA_NAME = r"^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*$"
_STEP_NAME = r"^[A-Za-z_]\w{0,59}$"
_PART_NAME = r"^[A-Za-z0-9][\w -]{0,59}$"
_EXPRESSION = re.compile(r"\{\{.*\}\}", re.DOTALL)


def _number(value: Any) -> int | str:
    if (type(value) is int and value >= 0) or (isinstance(value, str) and _EXPRESSION.fullmatch(value)):
        return value
    raise PydanticCustomError("number", "must be a whole number from 0, or one expression in {{ }}")


def _change(value: Any) -> int | str:
    if type(value) is int or (isinstance(value, str) and _EXPRESSION.fullmatch(value)):
        return value
    raise PydanticCustomError("number", "must be a whole number, or one expression in {{ }}")


def _items(value: Any) -> list[Any] | str:
    if (isinstance(value, list) and value) or (isinstance(value, str) and _EXPRESSION.fullmatch(value)):
        return value
    raise PydanticCustomError("items", "must be a list, or one expression in {{ }} that evaluates to one")


def _scalar(value: Any) -> int | float | bool | str:
    if isinstance(value, (int, float, bool, str)):
        return value
    raise PydanticCustomError("scalar", "must be a single value")


Scalar = Annotated[int | float | bool | str, PlainValidator(_scalar)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
JavaName = Annotated[str, StringConstraints(pattern=_JAVA_NAME)]
StepName = Annotated[str, StringConstraints(pattern=_STEP_NAME)]
PartName = Annotated[str, StringConstraints(pattern=_PART_NAME)]
Number = Annotated[int | str, PlainValidator(_number)]
"""A whole number from 0, or one expression that evaluates to it, such as ``"{{ needed }}"``."""
Change = Annotated[int | str, PlainValidator(_change)]
"""Like ``Number``, but may be negative."""
Items = Annotated[list[Any] | str, PlainValidator(_items)]

Unit = Literal["flow", "transaction", "state"]


class Fields(BaseModel):
    """Base of all mappings in a workload file. Unknown fields are rejected, and types are not converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class Expect(Fields):
    """The failure that a workload expects."""

    error: Text
    """Text that the error message contains."""
    status: Annotated[int, Field(ge=400, le=599)] | None = None
    """HTTP status of the answer; None for any."""


class Requires(Fields):
    """What a workload requires of the network."""

    parties: Annotated[int, Field(ge=1, le=PARTIES_MAX)] | None = None
    """Minimum number of parties, without the notary."""
    platform: Annotated[int, Field(ge=1)] | None = None
    """Minimum platform version of the node."""
    cordapp: Text | None = None
    """The value of ``lab up --cordapp`` with which nodes have the flows."""


class ParameterFields(Fields):
    """A named value that templates use, and that ``--set`` changes."""

    default: Scalar
    choices: Annotated[list[Scalar], Field(min_length=1)] | None = None
    """All values that it may have; None for any."""


class FlowFields(Fields):
    """One flow: its class and arguments, what a success counts as, and the failure that is expected."""

    flow: JavaName
    args: dict[str, Any] = Field(default_factory=dict)
    unit: Unit = "flow"
    states_per_flow: Number | None = None
    state: JavaName | None = None
    states: dict[JavaName, dict[Text, Change]] = Field(default_factory=dict)
    expect: Expect | None = None


class EntryFields(FlowFields):
    """One of several flows of a workload."""

    name: PartName | None = None
    weight: Annotated[int, Field(ge=1, le=WEIGHT_MAX)] = 1
    counterparty: Text | None = None


class AttachmentFields(Fields):
    """Files that are generated and uploaded."""

    megabytes: Annotated[int, Field(ge=1, le=MEGABYTES_MAX)]
    count: Number = 1


class SetupStepFields(Fields):
    """One step of the set-up: a flow or attachments."""

    name: StepName
    node: Text | None = None
    each: Items | None = None
    flow: JavaName | None = None
    args: dict[str, Any] = Field(default_factory=dict)
    count: Number = 1
    attachments: AttachmentFields | None = None
    concurrency: Annotated[int, Field(ge=1, le=CONCURRENCY_MAX)] = 1
    timeout_seconds: Annotated[int, Field(ge=1, le=STEP_SECONDS_MAX)] = 300


class CommonFields(Fields):
    """The fields of a workload with either one flow or several."""

    description: Text
    node: Text | None = None
    nodes: Annotated[list[Text], Field(min_length=1, max_length=PARTIES_MAX)] | None = None
    counterparty: Text | None = None
    parameters: dict[StepName, ParameterFields] = Field(default_factory=dict)
    groups: dict[StepName, list[Text]] = Field(default_factory=dict)
    """Names of parties by the name of their group. Expressions are evaluated before the file is checked."""
    requires: Requires | None = None
    setup: Annotated[list[SetupStepFields], Field(max_length=STEPS_MAX)] = Field(default_factory=list)
    prepared: dict[StepName, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    rate_max: Annotated[float, Field(gt=0, le=RATE_MAX)] | None = None


class OneFlow(CommonFields, FlowFields):
    """A workload of one flow."""


class SeveralFlows(CommonFields):
    """A workload of several flows, chosen by weight."""

    flows: Annotated[list[EntryFields], Field(min_length=1, max_length=PARTS_MAX)]
