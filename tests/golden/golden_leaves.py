"""Takes models of any form apart into single values, each with the name of a metric and of a part.

The fields of a model are parts of the metric's name; the keys of a mapping, and what tells the members of a list apart,
are the part. Texts are left out, because their words may change: only codes, and what names a part, are kept.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel

from golden.golden_table import Scalar

Leaf = tuple[str, str, Scalar]

NAMES = (("name",), ("part",), ("stage",), ("state", "node"), ("flow", "node"), ("flow", "started_by"), ("node",))
"""The fields that tell the members of a list apart: the first of these that they have. Others have numbers."""
CODES = frozenset({"outcome", "exit_reason", "database_read", "error", "unit", "phase", "kind"})
"""Fields with texts that are codes, or messages of the system under test."""
OF_REASONS = frozenset({"node", "state", "flow", "observer", "name", "host", "part"})
"""Values of reasons that are names, and not words."""


def leaves(metric: str, value: Any, part: str = "") -> Iterator[Leaf]:
    """Take a value apart: a number, a model, a mapping by part, or a list of these."""
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from leaves(f"{metric}.{name}", getattr(value, name), part)
    elif is_dataclass(value):
        for own in fields(value):
            yield from leaves(f"{metric}.{own.name}", getattr(value, own.name), part)
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from leaves(metric, one, _joined(part, str(key)))
    elif isinstance(value, list | tuple):
        yield from _members(metric, list(value), part)
    elif isinstance(value, str):
        if metric.rpartition(".")[2] in CODES:
            yield metric, part, value
    else:
        yield metric, part, value


def _members(metric: str, members: list[Any], part: str) -> Iterator[Leaf]:
    if members and all(_is_reason(one) for one in members):
        yield from _reasons(metric, members)
        return
    yield f"{metric}.count", part, len(members)
    names = [_name(one) for one in members]
    for place, (one, name) in enumerate(zip(members, names, strict=True), start=1):
        if not isinstance(one, str):
            yield from leaves(metric, one, _joined(part, name if names.count(name) == 1 and name else f"{place}"))


def _reasons(metric: str, reasons: Iterable[Any]) -> Iterator[Leaf]:
    """Each code with its number, and the values of each reason. Their order does not count."""
    by_code: dict[str, list[Any]] = {}
    for one in reasons:
        by_code.setdefault(one.code, []).append(one)
    for code, members in by_code.items():
        yield metric, code, len(members)
        for place, one in enumerate(members, start=1):
            part = code if len(members) == 1 else f"{code} {place}"
            for name, value in one.values.items():
                if not isinstance(value, str) or name in OF_REASONS:
                    yield f"{metric}.{name}", part, value


def _is_reason(value: Any) -> bool:
    return hasattr(value, "code") and isinstance(getattr(value, "values", None), Mapping)


def _name(value: Any) -> str:
    fields = next((names for names in NAMES if all(hasattr(value, name) for name in names)), ())
    return " ".join(str(word) for word in (getattr(value, name) for name in fields) if word is not None)


def _joined(part: str, name: str) -> str:
    return f"{part}, {name}" if part else name
