"""Reads workload files: the flows that requests start, and the set-up before them. Reports all problems at once.

Each workload is a file ``<name>.yaml``. ``docs/workloads.md`` describes the fields.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from lab_workload import overrides as settings
from lab_workload import parameters
from lab_workload.field_problems import field_problem
from lab_workload.names import canonical, did_you_mean
from lab_workload.problems import Location, Problem, TemplateError, WorkloadError, in_file_order
from lab_workload.schema import (
    AttachmentFields,
    EntryFields,
    Expect,
    FlowFields,
    OneFlow,
    ParameterFields,
    Requires,
    SetupStepFields,
    SeveralFlows,
    Unit,
)
from lab_workload.states import NODE_WORDS, Changes, by_node, changes_of, whole_number
from lab_workload.templates import LOAD_NAMES, SETUP_NAMES, Arguments, TemplatesError
from lab_workload.yaml_source import Source, read_fields

STEP_NODE_WORDS = (*NODE_WORDS, "item")
"""Words that may be used in place of the name of the node on which a step of the set-up runs."""


@dataclass(frozen=True)
class WorkloadPart:
    """One kind of request: a flow with its arguments, and what a success counts as."""

    name: str
    """Its name in the rows: as given in the file, or the short name of the flow's class."""
    weight: int
    """Relative frequency of its starts among all parts."""
    flow: str
    """Class of the flow, full or short name."""
    args: Mapping[str, Any]
    """The arguments as in the file. Strings are templates."""
    arguments: Arguments
    """``args`` with compiled templates."""
    own_counterparty: str | None
    """The other party of this part; None if it is that of the run."""
    unit: Unit
    states_per_flow: int | None
    """States that each success creates, for throughput in states per second; None if the file does not say."""
    changes: Changes
    """The changes of the vaults by each success, with the words ``node`` and ``counterparty``."""
    expect: Expect | None
    """The expected failure, which counts as work done; None if every failure is an error."""
    location: Location
    """Its place in the file: ``()`` for a workload with one flow."""

    def vault_changes(self, node: str, counterparty: str | None) -> dict[str, dict[str, int]]:
        """Return how much each success changes the number of unconsumed states: state class → node → change."""
        return by_node(self.changes, node, counterparty)


@dataclass(frozen=True)
class SetupStep:
    """One step of the set-up: starts a flow or uploads attachments ``count`` times, once or for each item of a list."""

    name: str
    node: str
    """Name of the node on which it runs, or one of STEP_NODE_WORDS."""
    each: Arguments | None
    """Renders to ``{"each": [item, …]}``; None if the step has no list of items."""
    flow: str | None
    """Class of the flow; None if the step uploads attachments."""
    args: Mapping[str, Any]
    arguments: Arguments
    megabytes: int | None
    """Size of every attachment; None if the step starts a flow."""
    count: Arguments
    """Renders to ``{"count": number}``: number of flows or attachments, for each item."""
    concurrency: int
    timeout_seconds: int
    """Time limit of the whole step."""
    location: Location

    @property
    def all_arguments(self) -> tuple[Arguments, ...]:
        """All templates of the step."""
        return tuple(filter(None, (self.arguments, self.count, self.each)))


@dataclass(frozen=True)
class Workload:
    """A valid workload file."""

    name: str
    """The file's name without its suffix."""
    description: str
    """One sentence, shown to the user."""
    nodes: tuple[str, ...]
    """Names of the nodes that start the flows in turn, unless the run chooses others. Most workloads have one."""
    counterparty: str | None
    """Name of the other party, unless a part or the run chooses another; None if the flows have none."""
    requires: Requires | None
    parts: tuple[WorkloadPart, ...]
    """The kinds of requests; more than one only if the file has a list of flows."""
    setup: tuple[SetupStep, ...]
    """The steps before the load, in order."""
    prepared: Mapping[str, int]
    """Maximum number of items of each step that one request takes: given in the file, or counted in the templates."""
    rate_max: float | None
    """In closed load, the requests per second for which items are prepared; None if the file does not say."""
    source: Source
    """The file, with the line of every field."""

    @property
    def node(self) -> str:
        """Name of the first node that starts the flows."""
        return self.nodes[0]

    def node_location(self, index: int) -> Location:
        """Return the place in the file of the node with this index."""
        return ("nodes", index) if ("nodes",) in self.source.lines else ("node",)

    @property
    def takes(self) -> bool:
        """Whether requests consume prepared items."""
        return bool(self.prepared)

    @property
    def own_steps(self) -> set[str]:
        """Names of the steps of which every user has its own item."""
        return {step for part in self.parts for step in part.arguments.mine_steps}


def workload_names(directory: Path) -> list[str]:
    """Return the names of the workloads in ``directory``, sorted; none if there is no such directory."""
    return sorted(path.stem for path in directory.glob("*.yaml") if not path.name.startswith("."))


def load_workload(
    directory: Path, name: str, node_names: Collection[str] = (), overrides: Mapping[str, str] | None = None
) -> Workload:
    """Read the workload ``name``. ``node_names`` are the node names that it may use (empty: any).

    ``overrides`` replace values of the file, by key. Raises ``WorkloadError`` with all problems of the file.
    """
    names = workload_names(directory)
    if not names:
        raise WorkloadError(f"there is no workload file in {directory}")
    if name not in names:
        hint = did_you_mean(name, names) or f"; choose from {', '.join(names)}"
        raise WorkloadError(f"unknown workload {name!r}{hint}")
    data, source = read_fields(directory / f"{name}.yaml")
    problems = settings.apply(data, overrides or {})
    constants, found = parameters.evaluate(data, source)
    problems += found
    model = SeveralFlows if "flows" in data else OneFlow
    try:
        fields: SeveralFlows | OneFlow | None = model.model_validate(data)
    except ValidationError as error:
        problems += [_schema_problem(detail, source, data) for detail in error.errors(include_url=False)]
        fields = None
    problems += _which_node_problems(data, source)
    reader = _Reader(data, source, node_names, problems, constants)
    if fields is None:
        reader.only_templates()
    else:
        workload = reader.workload(name, fields)
    if fields is None or problems:
        raise WorkloadError(in_file_order(problems))
    return workload


class _Reader:
    """Builds a ``Workload`` from fields of valid types, and records the conflicts between them."""

    def __init__(
        self,
        data: Mapping[str, Any],
        source: Source,
        node_names: Collection[str],
        problems: list[Problem],
        constants: Mapping[str, Any],
    ) -> None:
        self._data = data
        self._source = source
        self._node_names = node_names
        self._problems = problems
        self._constants = constants
        requires = data.get("requires")
        parties = requires.get("parties") if isinstance(requires, dict) else None
        if isinstance(parties, int) and parties > len(node_names):
            # The check of "requires" reports a network that is too small, so do not report each missing name as well.
            self._node_names = ()

    def workload(self, name: str, fields: OneFlow | SeveralFlows) -> Workload:
        """Return the workload. It is valid only if no problem was recorded."""
        steps = tuple(self._step(step, index, fields) for index, step in enumerate(fields.setup))
        self._twice("setup", [step.name for step in steps])
        step_names = [step.name for step in steps]
        flows: list[tuple[Location, FlowFields]] = [((), fields)] if isinstance(fields, OneFlow) else []
        if isinstance(fields, SeveralFlows):
            flows = [(("flows", index), entry) for index, entry in enumerate(fields.flows)]
        parts = tuple(self._part(flow, location, step_names, fields.groups) for location, flow in flows)
        self._twice("flows", [part.name for part in parts])
        nodes = tuple(fields.nodes or filter(None, [fields.node]))
        for index, node in enumerate(nodes):
            self._node(node, ("nodes", index) if fields.nodes else ("node",))
        self._node(fields.counterparty, ("counterparty",))
        for step in fields.prepared:
            if step not in step_names:
                hint = did_you_mean(step, step_names)
                self._note(("prepared", step), f"setup has no such step{hint}")
        prepared = {**_taken_by_requests(parts), **fields.prepared}
        return Workload(
            name=name,
            description=fields.description,
            nodes=nodes,
            counterparty=fields.counterparty,
            requires=fields.requires,
            parts=parts,
            setup=steps,
            prepared=prepared,
            rate_max=fields.rate_max,
            source=self._source,
        )

    def only_templates(self) -> None:
        """Record only the problems of templates, for a file whose fields are invalid."""
        steps = list(_mappings(self._data.get("setup")))
        names = [str(step.get("name")) for _, step in steps]
        for index, step in steps:
            self._arguments(step.get("args"), ("setup", index, "args"), SETUP_NAMES, names[:index])
        for index, entry in _mappings(self._data.get("flows")):
            self._arguments(entry.get("args"), ("flows", index, "args"), LOAD_NAMES, names)
        self._arguments(self._data.get("args"), ("args",), LOAD_NAMES, names)

    def _part(
        self, fields: FlowFields, location: Location, step_names: list[str], groups: Mapping[str, list[str]]
    ) -> WorkloadPart:
        entry = fields if isinstance(fields, EntryFields) else None
        own_counterparty = entry.counterparty if entry else None
        if fields.state and fields.states:
            self._note((*location, "state"), "is the short form of states; use only one of them")
        for state, nodes in fields.states.items():
            for node in nodes:
                for one in groups.get(node, (node,)):
                    self._node(one, (*location, "states", state, node), NODE_WORDS)
        self._node(own_counterparty, (*location, "counterparty"))
        changes: Changes = {}
        states_per_flow = None
        try:
            where: Location = (*location, "states")
            changes = changes_of(fields, groups, self._constants)
            where = (*location, "states_per_flow")
            states_per_flow = (
                None
                if fields.states_per_flow is None
                else whole_number(fields.states_per_flow, fields.args, self._constants)
            )
        except TemplateError as error:
            self._note(where, f"template: {error}")
        if fields.unit == "state" and fields.states_per_flow is None:
            self._note((*location, "unit"), "is state, so states_per_flow must be set")
        return WorkloadPart(
            name=(entry.name if entry else None) or fields.flow.rpartition(".")[2],
            weight=entry.weight if entry else 1,
            flow=fields.flow,
            args=fields.args,
            arguments=self._arguments(fields.args, (*location, "args"), LOAD_NAMES, step_names),
            own_counterparty=own_counterparty,
            unit=fields.unit,
            states_per_flow=states_per_flow,
            changes=changes,
            expect=fields.expect,
            location=location,
        )

    def _step(self, fields: SetupStepFields, index: int, workload: OneFlow | SeveralFlows) -> SetupStep:
        location: Location = ("setup", index)
        if (fields.flow is None) == (fields.attachments is None):
            self._note(location, f"{fields.name}: must have either flow or attachments")
        if fields.attachments is not None:
            for field in ("args", "count"):
                if field in fields.model_fields_set:
                    self._note((*location, field), "is only for a flow, not for attachments")
        words = STEP_NODE_WORDS if fields.each is not None else NODE_WORDS
        self._node(fields.node, (*location, "node"), words)
        if fields.node == "counterparty" and workload.counterparty is None:
            self._note((*location, "node"), "is counterparty, but the workload has none")
        earlier = [step.name for step in workload.setup[:index]]
        names = SETUP_NAMES if fields.each is not None else tuple(name for name in SETUP_NAMES if name != "item")
        attachments = fields.attachments
        count, where = (attachments.count, (*location, "attachments")) if attachments else (fields.count, location)
        return SetupStep(
            name=fields.name,
            node=fields.node or "node",
            each=None
            if fields.each is None
            else self._arguments({"each": fields.each}, location, SETUP_NAMES, earlier),
            flow=fields.flow,
            args=fields.args,
            arguments=self._arguments(fields.args, (*location, "args"), names, earlier),
            megabytes=attachments.megabytes if attachments else None,
            count=self._arguments({"count": count}, where, names, earlier),
            concurrency=fields.concurrency,
            timeout_seconds=fields.timeout_seconds,
            location=location,
        )

    def _arguments(self, args: Any, location: Location, names: Collection[str], steps: Collection[str]) -> Arguments:
        try:
            return Arguments(args if isinstance(args, dict) else {}, names, steps, self._constants)
        except TemplatesError as error:
            self._problems += [self._source.locate(problem, location) for problem in error.problems]
        return Arguments({})

    def _node(self, name: str | None, location: Location, words: Collection[str] = ()) -> None:
        if name is None or not self._node_names or name in words or canonical(name, self._node_names) is not None:
            return
        self._note(location, f"unknown node {name!r}; choose from {', '.join(self._node_names)}")

    def _twice(self, field: str, names: list[str]) -> None:
        for index, name in enumerate(names):
            if name in names[:index]:
                self._note((field, index), f"another entry is also named {name!r}; use a different name for each")

    def _note(self, location: Location, text: str) -> None:
        self._problems.append(self._source.problem(location, text))


def _which_node_problems(data: Mapping[str, Any], source: Source) -> list[Problem]:
    """Return a problem unless the file has exactly one of ``node`` and ``nodes``."""
    if "node" not in data and "nodes" not in data:
        return [source.problem(("node",), "is missing")]
    if "node" in data and "nodes" in data:
        return [source.problem(("nodes",), "names the nodes in place of node; use only one of them")]
    return []


def _mappings(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    return (
        (index, item) for index, item in enumerate(value if isinstance(value, list) else []) if isinstance(item, dict)
    )


def _taken_by_requests(parts: Iterable[WorkloadPart]) -> dict[str, int]:
    """Count in the templates how many items of a step one request takes at most from any of its lists."""
    most: dict[str, int] = {}
    for part in parts:
        for (step, _), count in part.arguments.takes.items():
            most[step] = max(count, most.get(step, 0))
    return most


def _known_fields(location: Location, data: Mapping[str, Any]) -> Collection[str]:
    """Return the names of the fields that the mapping at ``location`` may have."""
    model: type[BaseModel] = SeveralFlows if "flows" in data else OneFlow
    match location:
        case ("requires",):
            model = Requires
        case ("parameters", str()):
            model = ParameterFields
        case ("flows", int()):
            model = EntryFields
        case ("setup", int()):
            model = SetupStepFields
        case (*_, "expect"):
            model = Expect
        case (*_, "attachments"):
            model = AttachmentFields
    return model.model_fields


def _schema_problem(detail: Any, source: Source, data: Mapping[str, Any]) -> Problem:
    """Reword an error of pydantic as a problem of a workload file."""
    location: Location = tuple(detail["loc"])
    name = str(location[-1])
    match detail["type"]:
        case "extra_forbidden" if location == (name,) and name in FlowFields.model_fields:
            return source.problem(location, "is a field of a single flow; move it into an entry of flows")
        case "string_pattern_mismatch":
            kind = "name (letters and digits)" if name == "name" else "class name"
            return source.problem(location, f"{detail['input']!r} is not a valid {kind}")
    return field_problem(detail, source, _known_fields(location[:-1], data))
