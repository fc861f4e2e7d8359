"""A workload: the fields of its file as pydantic models, which the whole lab uses. ``workload`` reads the file.

The models check everything that the file itself shows, compile its templates, and evaluate what depends on its
parameters, so that one file describes a family of workloads: a settlement between two, four or ten parties.

Two fields have a short form in the file, which the reader replaces: ``node`` for a list of one node, and the fields of
a flow at the top for a list of one flow.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    PrivateAttr,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from lab_workload.load import PARTIES_MAX, RATE_MAX
from lab_workload.names import canonical, did_you_mean
from lab_workload.problems import Location, Problem, TemplateError
from lab_workload.templates import LOAD_NAMES, SETUP_NAMES, Arguments, TemplatesError, expression, is_template
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

STEP_NODE_WORDS = (*NODE_WORDS, "item")
"""Words that may be used in place of the name of the node on which a step of the set-up runs."""

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


def _items(value: Any) -> list[Any] | str:
    if (isinstance(value, list) and value) or is_expression(value):
        return value  # type: ignore[no-any-return]
    raise PydanticCustomError("items", "must be a list, or one expression in {{ }} that evaluates to one")


def _scalar(value: Any) -> int | float | bool | str:
    if isinstance(value, (int, float, bool, str)):
        return value
    raise PydanticCustomError("scalar", "must be a single value")


@dataclass
class Reading:
    """What is known of a file while its fields are checked: the context of their validation."""

    node_names: Collection[str]
    """The nodes that the file may name; none if it may name any."""
    has_counterparty: bool
    constants: dict[str, Any] = field(default_factory=dict)
    """The values of its parameters and groups: constants of a run, which templates use by name."""
    groups: dict[str, list[str]] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    """Names of the steps of the set-up so far, the present one last."""

    def unknown_node(self, name: str, location: Location, words: Collection[str] = ()) -> Iterator[Problem]:
        """Yield a problem if ``name`` is no node, and none of the ``words`` that may stand in its place."""
        if self.node_names and name not in words and canonical(name, self.node_names) is None:
            yield Problem(f"unknown node {name!r}; choose from {', '.join(self.node_names)}", location)

    def compiled(self, args: Any, names: Collection[str], steps: Collection[str], location: Location = ()) -> Arguments:
        """Compile templates, which stand at ``location``. Raises pydantic's ValidationError."""
        if not isinstance(args, dict):
            raise PydanticCustomError("conflict", "must consist of 'name: value' lines")
        try:
            return Arguments(args, names, steps, self.constants)
        except TemplatesError as error:
            refuse(Problem(problem.text, (*location, *problem.location)) for problem in error.problems)
            raise


def refuse(problems: Iterable[Problem]) -> None:
    """Raise the problems of a part of the file, each with its place in it, as pydantic's ValidationError."""
    errors = [InitErrorDetails(type=_conflict(problem.text), loc=problem.location, input=None) for problem in problems]
    if errors:
        raise ValidationError.from_exception_data("workload", errors)


def _reading(info: ValidationInfo) -> Reading:
    assert isinstance(info.context, Reading)
    return info.context


def _evaluated(value: Any, info: ValidationInfo) -> Any:
    """Evaluate an expression over the parameters and, in a flow, its arguments that are no templates."""
    if not is_expression(value):
        return value
    args = {name: given for name, given in info.data.get("args", {}).items() if not is_template(given)}
    try:
        return expression(value, {**_reading(info).constants, "args": args})
    except TemplateError as error:
        raise _conflict(f"template: {error}") from error


def _conflict(text: str) -> PydanticCustomError:
    return PydanticCustomError("conflict", "{text}", {"text": text})


def _begin_parameters(parameters: Any, info: ValidationInfo) -> Any:
    """Note the values of parameters, of an invalid one the first choice, so that no template has unknown names."""
    for name, given in parameters.items() if isinstance(parameters, dict) else ():
        if isinstance(given, dict) and "default" in given:
            value, choices = given["default"], given.get("choices")
            if isinstance(choices, list) and choices and value not in choices:
                value = choices[0]
            _reading(info).constants[name] = value
    return parameters


def _check_parameters(parameters: dict[str, "ParameterFields"], info: ValidationInfo) -> dict[str, "ParameterFields"]:
    problems = [problem for name in parameters for problem in _reserved(name)]
    for name, parameter in parameters.items():
        if parameter.choices and parameter.default not in parameter.choices:
            *others, last = map(str, parameter.choices)
            known = f"{', '.join(others)} or {last}" if others else last
            problems.append(Problem(f"must be {known}, but is {parameter.default!r}", (name,)))
    refuse(problems)
    return parameters


def _groups(groups: Any, info: ValidationInfo) -> Any:
    """Evaluate the members of each group, and note them. Of an invalid group, there are none."""
    reading = _reading(info)
    problems: list[Problem] = []
    for name, given in groups.items() if isinstance(groups, dict) else ():
        problems += _reserved(name)
        if name in reading.constants:
            problems.append(Problem(f"{name!r} is also a parameter; use a different name", (name,)))
        members: Any = []
        try:
            members = expression(given, reading.constants) if isinstance(given, str) else given
            if not isinstance(members, list) or not members or not all(isinstance(one, str) for one in members):
                problems.append(Problem(f"must be a list of parties, but is {members!r}", (name,)))
                members = []
        except TemplateError as error:
            problems.append(Problem(f"template: {error}", (name,)))
        reading.constants[name] = reading.groups[name] = members
    refuse(problems)
    return reading.groups if isinstance(groups, dict) else groups


def _reserved(name: str) -> Iterator[Problem]:
    if name in {*LOAD_NAMES, *SETUP_NAMES, "args"}:
        yield Problem(f"{name!r} has a meaning of its own in templates; use a different name", (name,))


def _required(requires: "Requires", info: ValidationInfo) -> "Requires":
    # A network that is too small is one problem, and not one for each name that is missing in it.
    if requires.parties is not None and requires.parties > len(_reading(info).node_names):
        _reading(info).node_names = ()
    return requires


def _node(name: str, info: ValidationInfo) -> str:
    refuse(_reading(info).unknown_node(name, ()))
    return name


def _begun(name: Any, info: ValidationInfo) -> Any:
    """Note that the fields of another step follow."""
    _reading(info).steps.append(str(name))
    return name


def _once(entries: list[Any]) -> list[Any]:
    names = [entry.name for entry in entries]
    refuse(
        Problem(f"another entry is also named {name!r}; use a different name for each", (index,))
        for index, name in enumerate(names)
        if name in names[:index]
    )
    return entries


def _steps(prepared: dict[str, int], info: ValidationInfo) -> dict[str, int]:
    steps = _reading(info).steps
    refuse(
        Problem(f"setup has no such step{did_you_mean(name, steps)}", (name,)) for name in prepared if name not in steps
    )
    return prepared


def _part_args(args: Any, info: ValidationInfo) -> Arguments:
    reading = _reading(info)
    return reading.compiled(args, LOAD_NAMES, reading.steps)


def _step_args(args: Any, info: ValidationInfo) -> Arguments:
    reading = _reading(info)
    return reading.compiled(args, _step_names(info.data.get("each", ())), reading.steps[:-1])


def _step_names(each: Any) -> Collection[str]:
    return tuple(name for name in SETUP_NAMES if name != "item") if each is None else SETUP_NAMES


Scalar = Annotated[int | float | bool | str, PlainValidator(_scalar)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
JavaName = Annotated[str, StringConstraints(pattern=_JAVA_NAME)]
StepName = Annotated[str, StringConstraints(pattern=_STEP_NAME)]
PartName = Annotated[str, StringConstraints(pattern=_PART_NAME)]
Number = Annotated[int | str, PlainValidator(_number)]
"""A whole number from 0, or one expression that evaluates to it, such as ``"{{ needed }}"``."""
Evaluated = BeforeValidator(_evaluated)
"""Of a field that may be one expression over the parameters."""
Items = Annotated[list[Any] | str, PlainValidator(_items)]
NodeName = Annotated[Text, AfterValidator(_node)]

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

    parties: Annotated[int, Field(ge=1, le=PARTIES_MAX), Evaluated] | None = None
    """Minimum number of parties, without the notary."""
    platform: Annotated[int, Field(ge=1), Evaluated] | None = None
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
    counterparty: NodeName | None = None
    """The other party of this part; None if it is that of the run."""
    args: Annotated[Arguments, PlainValidator(_part_args)] = Field(default_factory=Arguments)
    """The arguments as in the file. Strings are templates, which are compiled."""
    unit: Unit = "flow"
    states_per_flow: Annotated[int, Field(ge=0), Evaluated] | None = None
    """States that each success creates, for throughput in states per second; None if the file does not say."""
    state: JavaName | None = None
    """Short form of ``states``: one more state of this class at the node and at the counterparty."""
    states: dict[JavaName, dict[Text, Annotated[int, Evaluated]]] = Field(default_factory=dict)
    """How each success changes the number of unconsumed states: class → party, group or one of NODE_WORDS → change."""
    expect: Expect | None = None

    _changes: Changes = PrivateAttr(default_factory=dict)
    _location: Location = PrivateAttr(default=())

    @property
    def changes(self) -> Changes:
        """``states`` and ``state``, with the parties of a group in its place. It has the words of NODE_WORDS."""
        return self._changes

    @property
    def location(self) -> Location:
        return self._location

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        reading = _reading(info)
        refuse(self._problems(reading))
        changes: dict[str, dict[str, int]] = {self.state: dict.fromkeys(NODE_WORDS, 1)} if self.state else {}
        for state, nodes in self.states.items():
            at = changes.setdefault(state, {})
            for name, change in nodes.items():
                for party in reading.groups.get(name, (name,)):
                    at[party] = at.get(party, 0) + change
        self._changes = changes
        return self

    def _problems(self, reading: Reading) -> Iterator[Problem]:
        if self.state and self.states:
            yield Problem("is the short form of states; use only one of them", ("state",))
        for state, nodes in self.states.items():
            for node in nodes:
                for party in reading.groups.get(node, (node,)):
                    yield from reading.unknown_node(party, ("states", state, node), NODE_WORDS)
        if self.unit == "state" and self.states_per_flow is None:
            yield Problem("is state, so states_per_flow must be set", ("unit",))

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

    name: Annotated[StepName, BeforeValidator(_begun)]
    node: Text = "node"
    """Name of the node on which it runs, or one of NODE_WORDS, or ``item``."""
    each: Items | None = None
    flow: JavaName | None = None
    args: Annotated[Arguments, PlainValidator(_step_args)] = Field(default_factory=Arguments)
    count: Number = 1
    attachments: Attachments | None = None
    concurrency: Annotated[int, Field(ge=1, le=CONCURRENCY_MAX)] = 1
    timeout_seconds: Annotated[int, Field(ge=1, le=STEP_SECONDS_MAX)] = 300
    """Time limit of the whole step."""

    _counts: Arguments = PrivateAttr()
    _items: Arguments = PrivateAttr()
    _location: Location = PrivateAttr(default=())

    @property
    def counts(self) -> Arguments:
        """Renders to ``{"count": number}``: number of flows or attachments, for each item."""
        return self._counts

    @property
    def items(self) -> Arguments:
        """Renders to ``{"each": [item, …]}``; to None in its place if the step has no list of items."""
        return self._items

    @property
    def all_arguments(self) -> tuple[Arguments, ...]:
        return (self.args, self._counts, self._items)

    @property
    def location(self) -> Location:
        return self._location

    @property
    def megabytes(self) -> int | None:
        """Size of every attachment; None if the step starts a flow."""
        return self.attachments.megabytes if self.attachments else None

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        reading = _reading(info)
        refuse(self._problems(reading))
        files, earlier = self.attachments, reading.steps[:-1]
        count, where = (files.count, ("attachments",)) if files else (self.count, ())
        self._counts = reading.compiled({"count": count}, _step_names(self.each), earlier, where)
        self._items = reading.compiled({"each": self.each}, SETUP_NAMES, earlier)
        return self

    def _problems(self, reading: Reading) -> Iterator[Problem]:
        if (self.flow is None) == (self.attachments is None):
            yield Problem(f"{self.name}: must have either flow or attachments")
        for name in ("args", "count") if self.attachments is not None else ():
            if name in self.model_fields_set:
                yield Problem("is only for a flow, not for attachments", (name,))
        yield from reading.unknown_node(self.node, ("node",), STEP_NODE_WORDS if self.each is not None else NODE_WORDS)
        if self.node == "counterparty" and not reading.has_counterparty:
            yield Problem("is counterparty, but the workload has none", ("node",))


class Workload(Fields):
    """A workload file."""

    description: Text
    """One sentence, shown to the user."""
    parameters: Annotated[
        dict[StepName, ParameterFields], BeforeValidator(_begin_parameters), AfterValidator(_check_parameters)
    ] = Field(default_factory=dict)
    groups: Annotated[dict[StepName, list[Text]], BeforeValidator(_groups)] = Field(default_factory=dict)
    """Names of parties by the name of their group, or an expression in their place."""
    requires: Annotated[Requires, AfterValidator(_required)] = Field(default_factory=Requires)
    nodes: Annotated[list[NodeName], Field(min_length=1, max_length=PARTIES_MAX)]
    """Names of the nodes that start the flows in turn, unless the run chooses others. Most workloads have one."""
    counterparty: NodeName | None = None
    """Name of the other party, unless a part or the run chooses another; None if the flows have none."""
    setup: Annotated[list[SetupStep], Field(max_length=STEPS_MAX), AfterValidator(_once)] = Field(default_factory=list)
    """The steps before the load, in order."""
    prepared: Annotated[dict[StepName, Annotated[int, Field(ge=1)]], AfterValidator(_steps)] = Field(
        default_factory=dict
    )
    """Maximum number of items of a step that one request takes, where that cannot be counted in the templates."""
    rate_max: Annotated[float, Field(gt=0, le=RATE_MAX), Evaluated] | None = None
    """In closed load, the requests per second for which items are prepared; None if the file does not say."""
    flows: Annotated[list[Part], Field(min_length=1, max_length=PARTS_MAX), AfterValidator(_once)]
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
        return self._text

    @property
    def source(self) -> Source:
        return self._source

    def place(self, name: str, text: str, source: Source) -> None:
        """Set from which file it was read, and where in it each step and flow stands."""
        self._name, self._text, self._source = name, text, source
        for index, step in enumerate(self.setup):
            step._location = ("setup", index)
        for index, part in enumerate(self.flows):
            part._location = ("flows", index)

    @property
    def node(self) -> str:
        """Name of the first node that starts the flows."""
        return self.nodes[0]

    @cached_property
    def taken(self) -> Mapping[str, int]:
        """The most items of each step that one request takes from any of its lists: given, or counted in templates."""
        most: dict[str, int] = {}
        for part in self.flows:
            for (step, _), count in part.args.takes.items():
                most[step] = max(count, most.get(step, 0))
        return {**most, **self.prepared}

    @property
    def own_steps(self) -> set[str]:
        """Names of the steps of which every user has its own item."""
        return {step for part in self.flows for step in part.args.mine_steps}
