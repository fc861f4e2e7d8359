"""Reads YAML files as plain data with the line of every field."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lab_workload.problems import Location, Problem, WorkloadError


@dataclass(frozen=True)
class Source:
    """The file of a workload, and the line of each of its fields."""

    path: Path
    lines: Mapping[Location, int] = field(default_factory=dict)
    short_forms: Mapping[Location, Location] = field(default_factory=dict)
    """Where fields stand that the file has in a short form: their place in the long form → their place in the file."""

    def problem(self, location: Location, text: str, remedy: str = "") -> Problem:
        """Return a problem of a field of the file. A missing field has its parent's line."""
        for place, written in self.short_forms.items():
            if location[: len(place)] == place:
                location = (*written, *location[len(place) :])
        line = next(self.lines[location[:end]] for end in range(len(location), -1, -1) if location[:end] in self.lines)
        return Problem(text, location, remedy, self.path, line)

    def locate(self, problem: Problem, base: Location) -> Problem:
        """Return the problem with its line in the file. Its location was relative to ``base``."""
        return self.problem((*base, *problem.location), problem.text, problem.remedy)


def read_fields(path: Path, content: bytes | None = None) -> tuple[dict[str, Any], Source]:
    """Read the mapping in a file as plain data, with the line of every field. Raises ``WorkloadError``.

    ``content`` is what is known to be in the file, which need not exist then.
    """
    content = _content(path) if content is None else content
    try:
        loader = _Loader(content)
        try:
            return _fields(path, loader)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise WorkloadError(_syntax_problem(path, error)) from error
    except yaml.YAMLError as error:
        raise WorkloadError(Problem(f"is not valid YAML: {' '.join(str(error).split())}", path=path)) from error
    except RecursionError as error:
        raise WorkloadError(Problem("is nested too deep", path=path)) from error


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise WorkloadError(Problem(f"cannot be read: {error.strerror}", path=path)) from error


def _fields(path: Path, loader: "_Loader") -> tuple[dict[str, Any], Source]:
    root = loader.get_single_node()
    if root is None:
        raise WorkloadError(Problem("is empty", path=path, line=1))
    if not isinstance(root, yaml.MappingNode):
        raise WorkloadError(Problem("must consist of 'field: value' lines", path=path, line=_line(root)))
    walk = _Walk(path, {(): _line(root)}, [])
    data = _plain(root, loader, walk, ())
    if walk.problems:
        raise WorkloadError(walk.problems)
    return data, Source(path, walk.lines)


class _Loader(yaml.SafeLoader):
    """The safe loader without timestamps: ``2026-01-31`` is text, as in JSON."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_scalar(text: str) -> Any:
    """Parse a single YAML value: ``5`` is a number, ``true`` a boolean. Anything that is not a scalar is text."""
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

    def problem(self, node: yaml.Node, text: str) -> Problem:
        """Return a problem on the line of ``node``."""
        return Problem(text, path=self.path, line=_line(node))


def _plain(node: yaml.Node, loader: _Loader, walk: _Walk, where: Location) -> Any:
    """Return ``node`` as dict, list or scalar. Record lines, duplicate keys and keys that are not text in ``walk``."""
    if isinstance(node, yaml.SequenceNode):
        return [_plain_item(item, loader, walk, (*where, index)) for index, item in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        return _scalar(node, loader, walk)
    mapping: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = _scalar(key_node, loader, walk) if isinstance(key_node, yaml.ScalarNode) else None
        if not isinstance(key, str):
            walk.problems.append(walk.problem(key_node, "the name of a field must be text"))
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
    except (ValueError, TypeError, AttributeError, OverflowError) as error:  # for example, a tag that does not fit
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
