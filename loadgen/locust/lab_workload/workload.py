"""Reads workload files: the flows that requests start, and the set-up before them. Reports all problems at once.

Each workload is a file ``<name>.yaml``. ``docs/workloads.md`` describes the fields, ``schema`` declares them.
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lab_workload import overrides as settings
from lab_workload import parameters
from lab_workload.field_problems import field_problem, known_fields
from lab_workload.names import canonical, did_you_mean
from lab_workload.problems import Location, Problem, WorkloadError, in_file_order
from lab_workload.schema import NODE_WORDS, Part, SetupStep, Workload
from lab_workload.templates import LOAD_NAMES, SETUP_NAMES, Arguments, TemplatesError
from lab_workload.yaml_source import Source, read_fields

STEP_NODE_WORDS = (*NODE_WORDS, "item")
"""Words that may be used in place of the name of the node on which a step of the set-up runs."""

ONE_FLOW = [name for name in Part.model_fields if name not in ("name", "weight", "counterparty")]
"""The fields of a flow that a file of one flow has at its top."""


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
    return read_workload(directory / f"{name}.yaml", None, node_names, overrides)


def read_workload(
    path: Path,
    text: str | None = None,
    node_names: Collection[str] = (),
    overrides: Mapping[str, str] | None = None,
) -> Workload:
    """Read a workload from its file, or from the ``text`` of it. Raises ``WorkloadError`` as ``load_workload``."""
    data, source = read_fields(path, None if text is None else text.encode())
    problems = settings.apply(data, overrides or {})
    if "node" in data and "nodes" in data:
        problems.append(source.problem(("nodes",), "names the nodes in place of node; use only one of them"))
    data, source = _in_long_form(data, source)
    constants, found = parameters.evaluate(data, source)
    problems += found
    reader = _Reader(data, source, node_names, problems, constants)
    try:
        workload = Workload.model_validate(data)
    except ValidationError as error:
        details = [one for one in error.errors(include_url=False) if one["type"] != "default_factory_not_called"]
        problems += [_schema_problem(detail, source) for detail in details]
        reader.only_templates()
    else:
        reader.finish(workload)
    if problems:
        raise WorkloadError(in_file_order(problems))
    workload.place(path.stem, path.read_text(encoding="utf-8") if text is None else text, source)
    return workload


def _in_long_form(data: dict[str, Any], source: Source) -> tuple[dict[str, Any], Source]:
    """Return the content of a file with lists of nodes and flows in place of a single one."""
    short_forms: dict[Location, Location] = {}
    whole = dict(data)
    node = whole.pop("node", None)
    if "nodes" not in data:
        short_forms["nodes", 0] = short_forms["nodes",] = ("node",)
        whole |= {"nodes": [node]} if "node" in data else {}
    if "flows" not in data:
        short_forms["flows", 0] = ()
        whole["flows"] = [{name: whole.pop(name) for name in ONE_FLOW if name in whole}]
    return whole, Source(source.path, source.lines, short_forms)


class _Reader:
    """Completes a workload of valid fields, and records what does not fit together in it."""

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
        self._problems = problems
        self._constants = constants
        requires = data.get("requires")
        parties = requires.get("parties") if isinstance(requires, dict) else None
        # The check of "requires" reports a network that is too small, so do not report each missing name as well.
        self._node_names = () if isinstance(parties, int) and parties > len(node_names) else node_names

    def finish(self, workload: Workload) -> None:
        """Compile the templates. The workload is valid only if no problem was recorded."""
        names = [step.name for step in workload.setup]
        for index, step in enumerate(workload.setup):
            self._finish_step(step, ("setup", index), names[:index], workload.counterparty is not None)
        for index, part in enumerate(workload.flows):
            self._finish_part(part, ("flows", index), names, workload.groups)
        self._twice("setup", names)
        self._twice("flows", [part.name for part in workload.flows])
        for index, node in enumerate(workload.nodes):
            self._node(node, ("nodes", index))
        self._node(workload.counterparty, ("counterparty",))
        for name in workload.prepared:
            if name not in names:
                self._note(("prepared", name), f"setup has no such step{did_you_mean(name, names)}")

    def only_templates(self) -> None:
        """Record only the problems of templates, for a file whose fields are invalid."""
        steps = list(_mappings(self._data.get("setup")))
        names = [str(step.get("name")) for _, step in steps]
        for index, step in steps:
            self._arguments(step.get("args"), ("setup", index, "args"), SETUP_NAMES, names[:index])
        for index, entry in _mappings(self._data.get("flows")):
            self._arguments(entry.get("args"), ("flows", index, "args"), LOAD_NAMES, names)

    def _finish_part(self, part: Part, location: Location, steps: list[str], groups: Mapping[str, list[str]]) -> None:
        if part.state and part.states:
            self._note((*location, "state"), "is the short form of states; use only one of them")
        for state, nodes in part.states.items():
            for node in nodes:
                for one in groups.get(node, (node,)):
                    self._node(one, (*location, "states", state, node), NODE_WORDS)
        self._node(part.counterparty, (*location, "counterparty"))
        if part.unit == "state" and part.states_per_flow is None:
            self._note((*location, "unit"), "is state, so states_per_flow must be set")
        part.place(location, self._arguments(part.args, (*location, "args"), LOAD_NAMES, steps), groups)

    def _finish_step(self, step: SetupStep, location: Location, earlier: list[str], has_counterparty: bool) -> None:
        if (step.flow is None) == (step.attachments is None):
            self._note(location, f"{step.name}: must have either flow or attachments")
        if step.attachments is not None:
            for field in ("args", "count"):
                if field in step.model_fields_set:
                    self._note((*location, field), "is only for a flow, not for attachments")
        self._node(step.node, (*location, "node"), STEP_NODE_WORDS if step.each is not None else NODE_WORDS)
        if step.node == "counterparty" and not has_counterparty:
            self._note((*location, "node"), "is counterparty, but the workload has none")
        names = SETUP_NAMES if step.each is not None else tuple(name for name in SETUP_NAMES if name != "item")
        files = step.attachments
        count, where = (files.count, (*location, "attachments")) if files else (step.count, location)
        step.place(
            location,
            self._arguments(step.args, (*location, "args"), names, earlier),
            self._arguments({"count": count}, where, names, earlier),
            self._arguments({"each": step.each}, location, SETUP_NAMES, earlier),
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


def _mappings(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    return (
        (index, item) for index, item in enumerate(value if isinstance(value, list) else []) if isinstance(item, dict)
    )


def _schema_problem(detail: Any, source: Source) -> Problem:
    """Reword an error of pydantic as a problem of a workload file."""
    location: Location = tuple(detail["loc"])
    name = str(location[-1])
    match detail["type"]:
        case "extra_forbidden" if location == (name,) and name in ONE_FLOW:
            return source.problem(location, "is a field of a single flow; move it into an entry of flows")
        case "string_pattern_mismatch":
            kind = "name (letters and digits)" if name == "name" else "class name"
            return source.problem(location, f"{detail['input']!r} is not a valid {kind}")
    known = known_fields(Workload, location[:-1])
    if len(location) == 1:
        known = ["node", *(ONE_FLOW if ("flows", 0) in source.short_forms else ()), *known]
    return field_problem(detail, source, known)
