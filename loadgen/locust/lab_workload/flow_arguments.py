"""Whether a node can start a flow with the arguments of a workload: their names, and the types of constants."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lab_workload.flows import Flow, Parameters, signature
from lab_workload.names import did_you_mean
from lab_workload.problems import Problem
from lab_workload.templates import is_template

WHOLE = {"byte", "short", "int", "integer", "long", "biginteger"}
NUMBERS = WHOLE | {"float", "double", "bigdecimal"}
TEXTS = {"string", "party", "abstractparty", "cordax500name", "currency", "securehash", "amount<currency>"}

_RANGES = {"byte": 8, "short": 16, "int": 32, "integer": 32, "long": 64}
_DECIMAL = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_AMOUNT = re.compile(r"[-+]?[\d,.]+\s*[A-Za-z]{3}|[$£€]\s*[\d,.]+")
_HASH = re.compile(r"(?:[A-Z0-9-]+:)?[0-9A-Fa-f]{64,}")
_LIST = re.compile(r"(?:list|collection|set|iterable)<(.+)>")


def flow_problems(node: str, flow: str, args: Mapping[str, Any], flows: Sequence[Flow]) -> list[Problem]:
    """What keeps ``node``, which can start ``flows``, from starting ``flow`` with these arguments.

    Locations are relative to what has ``flow`` and ``args``: a part of a workload or a step of its set-up.
    """
    found = named(flow, flows)
    if not found:
        known = [one.name if "." in flow else one.short_name for one in flows]
        text = f"{node} has no flow {flow!r}{did_you_mean(flow, known)}"
        return [Problem.of("flow", text, f"`scripts/lab flows {node}` lists its flows.")]
    constructors = [parameters for one in found for parameters in one.constructors]
    return [
        replace(problem, location=("args", *problem.location))
        for problem in argument_problems(found[0].short_name, args, constructors)
    ]


def named(flow: str, flows: Sequence[Flow]) -> list[Flow]:
    """The flows of this full or short name."""
    return [one for one in flows if flow in (one.name, one.short_name)]


def argument_problems(flow: str, args: Mapping[str, Any], constructors: Sequence[Parameters]) -> list[Problem]:
    """What is wrong with arguments of ``flow``, located within them; nothing when some constructor takes them.

    As for the bridge, there has to be an argument for every parameter, also for one that may be null. Where no
    constructor takes these names, the closest one shows what is missing and what is unknown. Where no constructor is
    known, nothing can be wrong.
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
    """Arguments that this constructor has no parameter for, and parameters without an argument."""
    names = [one.name for one in parameters]
    unknown = [name for name in args if name not in names]
    missing = [one.name for one in parameters if one.name not in args]
    return [
        *(Problem.of(name, f"unknown argument{did_you_mean(name, names)}") for name in unknown),
        *(Problem.of(name, "is missing") for name in missing),
    ]


def _type_problems(args: Mapping[str, Any], parameters: Parameters) -> list[Problem]:
    """Constants that cannot be a value of their parameter's type; what a template will give is not known yet."""
    types = {one.name: one.type for one in parameters}
    return [
        Problem.of(name, f"{value!r} is not a value of type {types[name]}")
        for name, value in args.items()
        if not is_template(value) and not fits(value, types[name])
    ]


def fits(value: Any, type_name: str) -> bool:
    """Whether the bridge takes a constant for a value of a type; of types that are not known here: yes."""
    if value is None:
        return type_name.endswith("?")
    kind = type_name.removesuffix("?").lower()
    collection = _LIST.fullmatch(kind)
    if collection:
        return isinstance(value, list) and all(fits(item, collection[1]) for item in value)
    if kind == "boolean":
        return isinstance(value, bool)
    if kind in NUMBERS:
        return fits_number(value, kind)
    if kind in TEXTS:
        return isinstance(value, str) and fits_text(value, kind)
    return True


def fits_number(value: Any, kind: str) -> bool:
    """Whether a constant is a number, whole and in range where the type asks for it. Only a decimal may be text."""
    if isinstance(value, str):
        return kind == "bigdecimal" and _DECIMAL.fullmatch(value) is not None
    if isinstance(value, bool) or not isinstance(value, int if kind in WHOLE else (int, float)):
        return False
    bits = _RANGES.get(kind)
    return bits is None or -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


def fits_text(value: str, kind: str) -> bool:
    """Whether a text has the form that its type asks for."""
    if kind == "amount<currency>":
        return _AMOUNT.fullmatch(value.strip()) is not None
    if kind == "securehash":
        return _HASH.fullmatch(value.strip()) is not None
    return kind == "string" or bool(value.strip())
