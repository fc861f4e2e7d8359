"""YAML files as plain data that remembers the line of every field, with bounds on size, depth and number of values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lab_workload.problems import LoadError

FILE_BYTES_MAX = 256 * 1024
NODES_MAX = 10_000
"""Most values in one file, counted after aliases are followed, so that a few lines cannot fill the memory."""
DEPTH_MAX = 20

Location = tuple[str | int, ...]
"""Where a value is within a file: keys and list indexes."""


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
        return f"{self.path}:{line}: {dotted(location)}{': ' if location else ''}{text}"


def read_fields(path: Path) -> tuple[dict[str, Any], Source]:
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


def read_scalar(text: str) -> Any:
    """``text`` as YAML reads a single value: ``5`` is a number, ``true`` a boolean, whatever it cannot read is text."""
    try:
        value = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError):
        return text
    return text if isinstance(value, (dict, list)) else value


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
            walk.problems.append(f"{walk.path}:{_line(key_node)}: {dotted(location)}: {again}")
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


def _syntax_problem(path: Path, error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    context = f" ({error.context})" if error.context else ""
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    return f"{path}:{line}: YAML syntax, column {column}: {error.problem}{context}"


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def line_of(problem: str) -> int:
    """The line number in ``path:line: …``, to list problems in the order of the file; 0 where there is none."""
    _, _, rest = problem.partition(".yaml:")
    line = rest.partition(":")[0]
    return int(line) if line.isdecimal() else 0


def dotted(location: Location) -> str:
    """``("args", "to", 0)`` as ``args.to[0]``."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
