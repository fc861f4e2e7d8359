"""Checks whether a node can start a flow with a workload's arguments: their names, and the types of constants."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lab_workload import type_names
from lab_workload.flows import Flow, Parameter, Parameters, named, signature
from lab_workload.names import did_you_mean
from lab_workload.problems import Location, Problem
from lab_workload.templates import is_template

WHOLE = {"byte", "short", "int", "integer", "long", "biginteger"}
NUMBERS = WHOLE | {"float", "double", "bigdecimal"}
TEXTS = {"string", "party", "abstractparty", "cordax500name", "currency", "securehash", "amount<currency>"}

_RANGES = {"byte": 8, "short": 16, "int": 32, "integer": 32, "long": 64}
_DECIMAL = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_AMOUNT = re.compile(r"[-+]?[\d,.]+\s*[A-Za-z]{3}|[$£€]\s*[\d,.]+")
_HASH = re.compile(r"(?:[A-Z0-9-]+:)?[0-9A-Fa-f]{64,}")

CLASS_FIELD = "@class"
"""The field with the class of a value whose type is an interface or an abstract class."""


def flow_problems(node: str, flow: str, args: Mapping[str, Any], flows: Sequence[Flow]) -> list[Problem]:
    """Return why ``node`` cannot start ``flow`` with these arguments. ``flows`` are the flows that it can start.

    Locations are relative to the mapping with ``flow`` and ``args``: a part of a workload, or a step of its set-up.
    """
    found = named(flow, flows)
    if not found:
        known = [one.name if "." in flow else one.short_name for one in flows]
        text = f"{node} has no flow {flow!r}{did_you_mean(flow, known)}"
        return [Problem.of("flow", text, f"`scripts/lab workload flows {node}` lists its flows.")]
    if len(found) > 1:
        return [Problem.of("flow", *ambiguous(flow, found))]
    return [
        replace(problem, location=("args", *problem.location))
        for problem in argument_problems(found[0].short_name, args, found[0].constructors)
    ]


def ambiguous(name: str, found: Sequence[Flow]) -> tuple[str, str]:
    """Return what to say of a name that may mean several flows, and the remedy."""
    return f"{name!r} may mean several flows", f"Choose from {', '.join(one.name for one in found)}."


def argument_problems(flow: str, args: Mapping[str, Any], constructors: Sequence[Parameters]) -> list[Problem]:
    """Return the problems of the arguments of ``flow``; none if some constructor accepts them.

    The rules are those of the bridge: every parameter needs an argument, even if it may be null. If no constructor has
    exactly these names, the closest one shows what is missing and what is unknown. If no constructor is known, the
    arguments are not checked. Locations are relative to the arguments.
    """
    if not constructors:
        return []
    fitting = [parameters for parameters in constructors if not _name_problems(args, parameters)]
    if fitting:
        return min((_type_problems(args, parameters) for parameters in fitting), key=len)
    closest = min(constructors, key=lambda parameters: len(_name_problems(args, parameters)))
    remedy = f"{flow} takes {' or '.join(f'({signature(parameters)})' for parameters in constructors)}."
    return [replace(problem, remedy=remedy) for problem in _name_problems(args, closest)]


def _name_problems(args: Mapping[str, Any], parameters: Parameters) -> list[Problem]:
    """Return the arguments that this constructor does not have, and its parameters without an argument."""
    names = [one.name for one in parameters]
    unknown = [name for name in args if name not in names]
    missing = [one.name for one in parameters if one.name not in args]
    return [
        *(Problem.of(name, f"unknown argument{did_you_mean(name, names)}") for name in unknown),
        *(Problem.of(name, "is missing") for name in missing),
    ]


def _type_problems(args: Mapping[str, Any], parameters: Parameters) -> list[Problem]:
    """Return the constants that do not fit their parameter's type. Values of templates are not known yet."""
    return [
        problem
        for one in parameters
        if one.name in args
        for problem in _value_problems(args[one.name], one, (one.name,))
    ]


def _value_problems(value: Any, parameter: Parameter, where: Location) -> Iterator[Problem]:
    """Yield the problems of the constants in a value. Only the fields that the bridge describes are known."""
    kind = parameter.type
    inner = type_names.wrapped(kind)
    if isinstance(value, str) and is_template(value):
        return
    if value is None:
        # Java does not say whether a field accepts null, so the bridge passes it on.
        if len(where) == 1 and inner is None and not fits(value, kind):
            yield Problem(f"{value!r} is not a value of type {kind}", where)
        return
    if inner is not None:
        yield from _value_problems(value, parameter.of_type(inner), where)
        return
    element = type_names.element(kind)
    if isinstance(value, list) and element is not None:
        for index, item in enumerate(value):
            yield from _value_problems(item, parameter.of_type(element), (*where, index))
        return
    content = type_names.content(kind)
    if isinstance(value, dict) and content is not None:
        for key, item in value.items():
            yield from _value_problems(item, parameter.of_type(content), (*where, str(key)))
        return
    if isinstance(value, dict) and parameter.is_abstract:
        if CLASS_FIELD not in value:
            yield Problem(f"is missing; it is the full name of a class that is a {kind}", (*where, CLASS_FIELD))
        return
    if isinstance(value, dict) and parameter.fields and element is None:
        yield from _field_problems(value, parameter, where)
    elif isinstance(value, str) and parameter.values and element is None and value not in parameter.values:
        yield Problem(f"{value!r} is none of {', '.join(parameter.values)}", where)
    elif not is_template(value) and not fits(value, kind):
        yield Problem(f"{value!r} is not a value of type {kind}", where)


def _field_problems(value: Mapping[str, Any], parameter: Parameter, where: Location) -> Iterator[Problem]:
    names = [field.name for field in parameter.fields]
    remedy = f"{parameter.type.removesuffix('?')} has the fields {signature(parameter.fields)}."
    for name in value:
        if name not in names:
            yield Problem(f"unknown field{did_you_mean(str(name), names)}", (*where, str(name)), remedy)
    for field in parameter.fields:
        if field.name in value:
            yield from _value_problems(value[field.name], field, (*where, field.name))
        elif not field.is_optional:
            yield Problem("is missing", (*where, field.name), remedy)


def fits(value: Any, type_name: str) -> bool:
    """Return whether the bridge accepts a constant for a type. True for types that are not known here."""
    if value is None:
        return type_name.endswith("?")
    kind = type_name.removesuffix("?").lower()
    element = type_names.element(type_name)
    if element is not None:
        return isinstance(value, list) and all(fits(item, element) for item in value)
    if kind == "boolean":
        return isinstance(value, bool)
    if kind in NUMBERS:
        return fits_number(value, kind)
    if kind == "securehash" and isinstance(value, dict):
        return "txId" in value  # what the bridge returns for a transaction
    if kind in TEXTS:
        return isinstance(value, str) and fits_text(value, kind)
    return True


def fits_number(value: Any, kind: str) -> bool:
    """Return whether a constant is a number of the type, and in its range. Only a BigDecimal may be given as text."""
    if isinstance(value, str):
        return kind == "bigdecimal" and _DECIMAL.fullmatch(value) is not None
    if isinstance(value, bool) or not isinstance(value, int if kind in WHOLE else (int, float)):
        return False
    bits = _RANGES.get(kind)
    return bits is None or -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


def fits_text(value: str, kind: str) -> bool:
    """Return whether a text has the form that its type requires."""
    if kind == "amount<currency>":
        return _AMOUNT.fullmatch(value.strip()) is not None
    if kind == "securehash":
        return _HASH.fullmatch(value.strip()) is not None
    return kind == "string" or bool(value.strip())
