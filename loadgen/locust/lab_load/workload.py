"""Workload files: what every request of a run starts, and every mistake in one told at once.

One workload is one file ``<name>.yaml``; ``docs/workloads.md`` describes the fields.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, StringConstraints, ValidationError

from lab_load.errors import LoadError
from lab_load.names import canonical, did_you_mean
from lab_load.templates import Arguments, Location, TemplatesError

FILE_BYTES_MAX = 256 * 1024
NODES_MAX = 10_000
"""Most values in one file, counted after aliases are followed, so that a few lines cannot fill the memory."""
DEPTH_MAX = 20

_JAVA_NAME = r"^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*$"

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
JavaName = Annotated[str, StringConstraints(pattern=_JAVA_NAME)]


class WorkloadError(LoadError):
    """What is wrong with a workload."""


@dataclass(frozen=True)
class Source:
    """The file that a workload came from, and the line of each of its fields."""

    path: Path
    lines: Mapping[Location, int] = field(default_factory=dict)

    def problem(self, location: Location, text: str) -> str:
        """One line that names file, line, field and what is wrong. A missing field is on its parent's line."""
        line = next(self.lines[location[:end]] for end in range(len(location), -1, -1) if location[:end] in self.lines)
        return f"{self.path}:{line}: {_dotted(location)}{': ' if location else ''}{text}"


class Workload(BaseModel):
    """Which flow is started on which node with which arguments, and what counts as a unit of work."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    description: Text
    """One sentence for people."""
    node: Text
    """Name of the node that starts the flow when a run does not say another."""
    counterparty: Text | None = None
    """Name of the other party when a run does not say another; None where the flow has none."""
    flow: JavaName
    """Class of the flow, full or short."""
    args: dict[str, Any] = Field(default_factory=dict)
    """Arguments of the flow by name; strings are templates."""
    unit: Literal["flow"] = "flow"
    """What one unit of work is."""
    state: JavaName | None = None
    """Class of the contract state that each flow adds one of, counted in the vaults; None where it adds none."""

    _name: str = PrivateAttr()
    _source: Source = PrivateAttr()
    _arguments: Arguments = PrivateAttr()

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return self._name

    @property
    def source(self) -> Source:
        """Where the workload was written."""
        return self._source

    @property
    def arguments(self) -> Arguments:
        """``args`` with their templates compiled."""
        return self._arguments

    @property
    def flow_short_name(self) -> str:
        """The flow's class without its package."""
        return self.flow.rpartition(".")[2]


def workload_names(directory: Path) -> list[str]:
    """Names of the workloads in ``directory``, sorted; an absent directory has none."""
    return sorted(path.stem for path in directory.glob("*.yaml") if not path.name.startswith("."))


def load_workload(directory: Path, name: str, node_names: Collection[str] = ()) -> Workload:
    """Read workload ``name``; ``node_names`` are the names its node and counterparty may have (empty: any).

    Raises ``WorkloadError`` with everything that is wrong with the file.
    """
    names = workload_names(directory)
    if not names:
        raise WorkloadError([f"there is no workload file in {directory}"])
    if name not in names:
        hint = did_you_mean(name, names) or f"; there are {', '.join(names)}"
        raise WorkloadError([f"unknown workload {name!r}{hint}"])
    path = directory / f"{name}.yaml"
    data, source = _read(path)
    problems, arguments = _argument_problems(data, source)
    try:
        workload = Workload.model_validate(data)
    except ValidationError as error:
        problems += [_schema_problem(detail["loc"], detail, source) for detail in error.errors(include_url=False)]
        raise WorkloadError(sorted(problems, key=_line_of)) from None
    problems += _party_problems(workload, source, node_names)
    if problems or arguments is None:
        raise WorkloadError(sorted(problems, key=_line_of))
    workload._name, workload._source, workload._arguments = name, source, arguments
    return workload


def _read(path: Path) -> tuple[dict[str, Any], Source]:
    """The mapping in ``path`` as plain data, with the line of every field."""
    content = _content(path)
    try:
        loader = _Loader(content)
        try:
            return _fields(path, loader)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise WorkloadError([_syntax_problem(path, error)]) from error
    except yaml.YAMLError as error:
        raise WorkloadError([f"{path}: is not YAML text: {' '.join(str(error).split())}"]) from error
    except RecursionError as error:
        raise WorkloadError([f"{path}: is nested more than {DEPTH_MAX} deep"]) from error


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise WorkloadError([f"{path}: cannot be read: {error.strerror}"]) from error
    if len(content) > FILE_BYTES_MAX:
        raise WorkloadError([f"{path}: is larger than {FILE_BYTES_MAX} bytes"])
    return content


def _fields(path: Path, loader: "_Loader") -> tuple[dict[str, Any], Source]:
    root = loader.get_single_node()
    if root is None:
        raise WorkloadError([f"{path}:1: is empty"])
    if not isinstance(root, yaml.MappingNode):
        raise WorkloadError([f"{path}:{_line(root)}: must be a list of 'field: value' lines"])
    walk = _Walk(path, {(): _line(root)}, [])
    data = _plain(root, loader, walk, ())
    if walk.problems:
        raise WorkloadError(walk.problems)
    return data, Source(path, walk.lines)


class _Loader(yaml.SafeLoader):
    """Safe YAML without timestamps: ``2026-01-31`` is text, as it is in JSON."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass
class _Walk:
    path: Path
    lines: dict[Location, int]
    problems: list[str]
    nodes: int = 0


def _plain(node: yaml.Node, loader: _Loader, walk: _Walk, where: Location) -> Any:
    """``node`` as dict, list or scalar; notes lines, duplicate keys and keys that are not text on the way."""
    walk.nodes += 1
    if walk.nodes > NODES_MAX:
        raise WorkloadError([f"{walk.path}:{_line(node)}: has more than {NODES_MAX} values"])
    if len(where) > DEPTH_MAX:
        raise WorkloadError([f"{walk.path}:{_line(node)}: is nested more than {DEPTH_MAX} deep"])
    if isinstance(node, yaml.SequenceNode):
        return [_plain_item(item, loader, walk, (*where, index)) for index, item in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        return _scalar(node, loader, walk)
    mapping: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = _scalar(key_node, loader, walk) if isinstance(key_node, yaml.ScalarNode) else None
        if not isinstance(key, str):
            walk.problems.append(f"{walk.path}:{_line(key_node)}: a field's name must be text")
            continue
        location = (*where, key)
        if key in mapping:
            again = f"is given twice, first on line {walk.lines[location]}"
            walk.problems.append(f"{walk.path}:{_line(key_node)}: {_dotted(location)}: {again}")
            continue
        walk.lines[location] = _line(key_node)
        mapping[key] = _plain(value_node, loader, walk, location)
    return mapping


def _scalar(node: yaml.Node, loader: _Loader, walk: _Walk) -> Any:
    try:
        return loader.construct_object(node)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:  # such as of a tag that does not fit
        raise WorkloadError([f"{walk.path}:{_line(node)}: {str(node.value)[:40]!r} cannot be read: {error}"]) from error


def _plain_item(node: yaml.Node, loader: _Loader, walk: _Walk, where: Location) -> Any:
    walk.lines[where] = _line(node)
    return _plain(node, loader, walk, where)


def _argument_problems(data: dict[str, Any], source: Source) -> tuple[list[str], Arguments | None]:
    args = data.get("args", {})
    if not isinstance(args, dict):
        return [], None
    try:
        return [], Arguments(args)
    except TemplatesError as error:
        return [source.problem(("args", *where), text) for where, text in error.problems], None


def _party_problems(workload: Workload, source: Source, node_names: Collection[str]) -> Iterator[str]:
    if not node_names:
        return
    for name in ("node", "counterparty"):
        value = getattr(workload, name)
        if value is not None and canonical(value, node_names) is None:
            yield source.problem((name,), f"unknown node {value!r}; there are {', '.join(node_names)}")


def _schema_problem(location: Location, detail: Any, source: Source) -> str:
    name = str(location[-1])
    match detail["type"]:
        case "missing":
            return source.problem(location[:-1], f"{_dotted(location)}: is missing")
        case "extra_forbidden":
            hint = did_you_mean(name, Workload.model_fields) or f", known are {', '.join(Workload.model_fields)}"
            return source.problem(location, f"unknown field{hint}")
        case "string_pattern_mismatch":
            return source.problem(location, f"{detail['input']!r} is not the name of a class")
        case "string_too_short":
            return source.problem(location, "must not be empty")
    expected = detail["msg"].removeprefix("Input should be ")
    return source.problem(location, f"should be {expected}, is {detail['input']!r}")


def _syntax_problem(path: Path, error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    context = f" ({error.context})" if error.context else ""
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    return f"{path}:{line}: YAML syntax, column {column}: {error.problem}{context}"


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _line_of(problem: str) -> int:
    """The line number in ``path:line: …``, to list problems in the order of the file."""
    _, _, rest = problem.partition(".yaml:")
    return int(rest.partition(":")[0])


def _dotted(location: Location) -> str:
    """``("args", "to", 0)`` as ``args.to[0]``."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
