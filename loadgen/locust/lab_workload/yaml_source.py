"""YAML files as plain data that remembers the line of every field, with bounds on size, depth and number of values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lab_workload.problems import Location, Problem, WorkloadError

FILE_BYTES_MAX = 256 * 1024
NODES_MAX = 10_000
"""Most values in one file, counted after aliases are followed, so that a few lines cannot fill the memory."""
DEPTH_MAX = 20


@dataclass(frozen=True)
class Source:
    """The file that a workload came from, and the line of each of its fields."""

    path: Path
    lines: Mapping[Location, int] = field(default_factory=dict)

    def problem(self, location: Location, text: str, remedy: str = "") -> Problem:
        """What is wrong with a field of the file. A missing field is on its parent's line."""
        line = next(self.lines[location[:end]] for end in range(len(location), -1, -1) if location[:end] in self.lines)
        return Problem(text, location, remedy, self.path, line)

    def locate(self, problem: Problem, base: Location) -> Problem:
        """The same problem in the file; until now its location was relative to ``base``."""
        return self.problem((*base, *problem.location), problem.text, problem.remedy)


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
        raise WorkloadError(_syntax_problem(path, error)) from error
    except yaml.YAMLError as error:
        raise WorkloadError(Problem(f"is not YAML text: {' '.join(str(error).split())}", path=path)) from error
    except RecursionError as error:
        raise WorkloadError(Problem(f"is nested more than {DEPTH_MAX} deep", path=path)) from error


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise WorkloadError(Problem(f"cannot be read: {error.strerror}", path=path)) from error
    if len(content) > FILE_BYTES_MAX:
        raise WorkloadError(Problem(f"is larger than {FILE_BYTES_MAX} bytes", path=path))
    return content


def _fields(path: Path, loader: "_Loader") -> tuple[dict[str, Any], Source]:
    root = loader.get_single_node()
    if root is None:
        raise WorkloadError(Problem("is empty", path=path, line=1))
    if not isinstance(root, yaml.MappingNode):
        raise WorkloadError(Problem("must be a list of 'field: value' lines", path=path, line=_line(root)))
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
    problems: list[Problem]
    nodes: int = 0

    def problem(self, node: yaml.Node, text: str) -> Problem:
        """What is wrong on the line of ``node``."""
        return Problem(text, path=self.path, line=_line(node))


def _plain(node: yaml.Node, loader: _Loader, walk: _Walk, where: Location) -> Any:
    """``node`` as dict, list or scalar; notes lines, duplicate keys and keys that are not text on the way."""
    walk.nodes += 1
    if walk.nodes > NODES_MAX:
        raise WorkloadError(walk.problem(node, f"has more than {NODES_MAX} values"))
    if len(where) > DEPTH_MAX:
        raise WorkloadError(walk.problem(node, f"is nested more than {DEPTH_MAX} deep"))
    if isinstance(node, yaml.SequenceNode):
        return [_plain_item(item, loader, walk, (*where, index)) for index, item in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        return _scalar(node, loader, walk)
    mapping: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = _scalar(key_node, loader, walk) if isinstance(key_node, yaml.ScalarNode) else None
        if not isinstance(key, str):
            walk.problems.append(walk.problem(key_node, "a field's name must be text"))
            continue
        location = (*where, key)
        if key in mapping:
            text = f"is given twice, first on line {walk.lines[location]}"
            walk.problems.append(Problem(text, location, path=walk.path, line=_line(key_node)))
            continue
        walk.lines[location] = _line(key_node)
        mapping[key] = _plain(value_node, loader, walk, location)
    return mapping


def _scalar(node: yaml.Node, loader: _Loader, walk: _Walk) -> Any:
    try:
        return loader.construct_object(node)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:  # such as of a tag that does not fit
        raise WorkloadError(walk.problem(node, f"{str(node.value)[:40]!r} cannot be read: {error}")) from error


def _plain_item(node: yaml.Node, loader: _Loader, walk: _Walk, where: Location) -> Any:
    walk.lines[where] = _line(node)
    return _plain(node, loader, walk, where)


def _syntax_problem(path: Path, error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    context = f" ({error.context})" if error.context else ""
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    return Problem(f"YAML syntax, column {column}: {error.problem}{context}", path=path, line=line)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
