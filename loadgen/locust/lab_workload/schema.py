"""A workload: the fields of its file as pydantic models, which the whole lab uses. ``workload`` reads the file.

Two fields have a short form in the file, which the reader replaces: ``node`` for a list of one node, and the fields of
a flow at the top for a list of one flow.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, PrivateAttr, StringConstraints
from pydantic_core import PydanticCustomError

from lab_workload.load import PARTIES_MAX, RATE_MAX
from lab_workload.problems import Location
from lab_workload.templates import Arguments
from lab_workload.yaml_source import Source

WEIGHT_MAX = 1_000_000
STEPS_MAX = 50
PARTS_MAX = 100
CONCURRENCY_MAX = 256
STEP_SECONDS_MAX = 24 * 3600
MEGABYTES_MAX = 200
"""Size of the largest attachment that the bridge and the network parameters accept."""

NODE_WORDS = ("node", "counterparty")
"""Words that may be used in place of a node's name, for the two parties of a run."""

Changes = Mapping[str, Mapping[str, int]]
"""State class → name of a node, or one of NODE_WORDS → change of the number of unconsumed states."""

_JAVA_NAME = r"^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*$"
_STEP_NAME = r"^[A-Za-z_]\w{0,59}$"
_PART_NAME = r"^[A-Za-z0-9][\w -]{0,59}$"
_EXPRESSION = re.compile(r"\{\{.*\}\}", re.DOTALL)


def is_expression(value: Any) -> bool:
    """Whether a value is one ``{{ … }}``."""
    return isinstance(value, str) and _EXPRESSION.fullmatch(value) is not None


def _number(value: Any) -> int | str:
    if (type(value) is int and value >= 0) or is_expression(value):
        return value  # type: ignore[no-any-return]
    raise PydanticCustomError("number", "must be a whole number from 0, or one expression in {{ }}")


def _whole(value: Any) -> int:
    if type(value) is int and value >= 0:
        return value
    raise PydanticCustomError("number", "must be a whole number from 0, or one expression in {{ }}")


def _change(value: Any) -> int:
    if type(value) is int:
        return value
    raise PydanticCustomError("number", "must be a whole number, or one expression in {{ }}")


def _items(value: Any) -> list[Any] | str:
    if (isinstance(value, list) and value) or is_expression(value):
        return value  # type: ignore[no-any-return]
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
Whole = Annotated[int, PlainValidator(_whole)]
"""A whole number from 0. The expression that a file may have in its place is evaluated before."""
Change = Annotated[int, PlainValidator(_change)]
"""Like ``Whole``, but may be negative."""
Items = Annotated[list[Any] | str, PlainValidator(_items)]

Unit = Literal["flow", "transaction", "state"]


class Fields(BaseModel):
    """Base of all mappings in a file. Unknown fields are rejected, and types are not converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class Expect(Fields):
    """The failure that a workload expects, which counts as work done."""

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


class Part(Fields):
    """One kind of request: a flow with its arguments, what a success counts as, and the failure that is expected."""

    flow: JavaName
    """Class of the flow, full or short name."""
    name: PartName = Field(default_factory=lambda data: data["flow"].rpartition(".")[2])
    """Its name in the rows; the short name of the flow's class if the file has none."""
    weight: Annotated[int, Field(ge=1, le=WEIGHT_MAX)] = 1
    """Relative frequency of its starts among all parts."""
    counterparty: Text | None = None
    """The other party of this part; None if it is that of the run."""
    args: dict[str, Any] = Field(default_factory=dict)
    """The arguments as in the file. Strings are templates."""
    unit: Unit = "flow"
    states_per_flow: Whole | None = None
    """States that each success creates, for throughput in states per second; None if the file does not say."""
    state: JavaName | None = None
    """Short form of ``states``: one more state of this class at the node and at the counterparty."""
    states: dict[JavaName, dict[Text, Change]] = Field(default_factory=dict)
    """How each success changes the number of unconsumed states: class → party, group or one of NODE_WORDS → change."""
    expect: Expect | None = None

    _arguments: Arguments = PrivateAttr()
    _changes: Changes = PrivateAttr(default_factory=dict)
    _location: Location = PrivateAttr(default=())

    @property
    def arguments(self) -> Arguments:
        """``args`` with compiled templates."""
        return self._arguments

    @property
    def changes(self) -> Changes:
        """``states`` and ``state``, with the parties of a group in its place. It has the words of NODE_WORDS."""
        return self._changes

    @property
    def location(self) -> Location:
        """Its place in the file."""
        return self._location

    def place(self, location: Location, arguments: Arguments, groups: Mapping[str, Sequence[str]]) -> None:
        """Set what follows from the rest of the file."""
        self._location, self._arguments = location, arguments
        changes: dict[str, dict[str, int]] = {self.state: dict.fromkeys(NODE_WORDS, 1)} if self.state else {}
        for state, nodes in self.states.items():
            at = changes.setdefault(state, {})
            for name, change in nodes.items():
                for party in groups.get(name, (name,)):
                    at[party] = at.get(party, 0) + change
        self._changes = changes

    def vault_changes(self, node: str, counterparty: str | None) -> dict[str, dict[str, int]]:
        """Return the changes by node name. Those of the counterparty are left out if there is none."""
        names = {"node": node, "counterparty": counterparty}
        resolved: dict[str, dict[str, int]] = {}
        for state, nodes in self.changes.items():
            at = resolved.setdefault(state, {})
            for word, change in nodes.items():
                name = names.get(word, word)
                if name is not None:
                    at[name] = at.get(name, 0) + change
        return resolved


class Attachments(Fields):
    """Files that are generated and uploaded."""

    megabytes: Annotated[int, Field(ge=1, le=MEGABYTES_MAX)]
    count: Number = 1


class SetupStep(Fields):
    """One step of the set-up: starts a flow or uploads attachments ``count`` times, once or for each item of a list."""

    name: StepName
    node: Text = "node"
    """Name of the node on which it runs, or one of NODE_WORDS, or ``item``."""
    each: Items | None = None
    flow: JavaName | None = None
    args: dict[str, Any] = Field(default_factory=dict)
    count: Number = 1
    attachments: Attachments | None = None
    concurrency: Annotated[int, Field(ge=1, le=CONCURRENCY_MAX)] = 1
    timeout_seconds: Annotated[int, Field(ge=1, le=STEP_SECONDS_MAX)] = 300
    """Time limit of the whole step."""

    _templates: tuple[Arguments, Arguments, Arguments] = PrivateAttr()
    _location: Location = PrivateAttr(default=())

    @property
    def arguments(self) -> Arguments:
        """``args`` with compiled templates."""
        return self._templates[0]

    @property
    def counts(self) -> Arguments:
        """Renders to ``{"count": number}``: number of flows or attachments, for each item."""
        return self._templates[1]

    @property
    def items(self) -> Arguments:
        """Renders to ``{"each": [item, …]}``; to None in its place if the step has no list of items."""
        return self._templates[2]

    @property
    def all_arguments(self) -> tuple[Arguments, ...]:
        """All templates of the step."""
        return self._templates

    @property
    def location(self) -> Location:
        """Its place in the file."""
        return self._location

    @property
    def megabytes(self) -> int | None:
        """Size of every attachment; None if the step starts a flow."""
        return self.attachments.megabytes if self.attachments else None

    def place(self, location: Location, arguments: Arguments, counts: Arguments, items: Arguments) -> None:
        """Set what follows from the rest of the file."""
        self._location, self._templates = location, (arguments, counts, items)


class Workload(Fields):
    """A workload file."""

    description: Text
    """One sentence, shown to the user."""
    nodes: Annotated[list[Text], Field(min_length=1, max_length=PARTIES_MAX)]
    """Names of the nodes that start the flows in turn, unless the run chooses others. Most workloads have one."""
    counterparty: Text | None = None
    """Name of the other party, unless a part or the run chooses another; None if the flows have none."""
    parameters: dict[StepName, ParameterFields] = Field(default_factory=dict)
    groups: dict[StepName, list[Text]] = Field(default_factory=dict)
    """Names of parties by the name of their group. Expressions are evaluated before the file is checked."""
    requires: Requires = Field(default_factory=Requires)
    setup: Annotated[list[SetupStep], Field(max_length=STEPS_MAX)] = Field(default_factory=list)
    """The steps before the load, in order."""
    prepared: dict[StepName, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    """Maximum number of items of a step that one request takes, where that cannot be counted in the templates."""
    rate_max: Annotated[float, Field(gt=0, le=RATE_MAX)] | None = None
    """In closed load, the requests per second for which items are prepared; None if the file does not say."""
    flows: Annotated[list[Part], Field(min_length=1, max_length=PARTS_MAX)]
    """The kinds of requests."""

    _name: str = PrivateAttr(default="")
    _text: str = PrivateAttr(default="")
    _source: Source = PrivateAttr()

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return self._name

    @property
    def text(self) -> str:
        """The content of the file."""
        return self._text

    @property
    def source(self) -> Source:
        """The file, with the line of every field."""
        return self._source

    def place(self, name: str, text: str, source: Source) -> None:
        """Set from which file it was read."""
        self._name, self._text, self._source = name, text, source

    @property
    def node(self) -> str:
        """Name of the first node that starts the flows."""
        return self.nodes[0]

    @cached_property
    def taken(self) -> Mapping[str, int]:
        """The most items of each step that one request takes from any of its lists: given, or counted in templates."""
        most: dict[str, int] = {}
        for part in self.flows:
            for (step, _), count in part.arguments.takes.items():
                most[step] = max(count, most.get(step, 0))
        return {**most, **self.prepared}

    @property
    def own_steps(self) -> set[str]:
        """Names of the steps of which every user has its own item."""
        return {step for part in self.flows for step in part.arguments.mine_steps}
