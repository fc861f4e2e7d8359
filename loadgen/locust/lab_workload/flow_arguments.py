"""Whether the arguments of a workload fit a flow: their names, and the types of those whose value is known beforehand."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lab_workload.flows import Parameter, signature
from lab_workload.names import did_you_mean
from lab_workload.problems import Problem

WHOLE = {"byte", "short", "int", "integer", "long", "biginteger"}
NUMBERS = WHOLE | {"float", "double", "bigdecimal"}
TEXTS = {"string", "party", "abstractparty", "cordax500name", "currency", "securehash", "amount<currency>"}

_RANGES = {"byte": 8, "short": 16, "int": 32, "integer": 32, "long": 64}
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_WHOLE_NUMBER = re.compile(r"[-+]?\d+")
_AMOUNT = re.compile(r"[-+]?[\d,.]+\s*[A-Za-z]{3}|[$£€]\s*[\d,.]+")
_HASH = re.compile(r"(?:[A-Z0-9-]+:)?[0-9A-Fa-f]{64,}")
_LIST = re.compile(r"(?:list|collection|set|iterable)<(.+)>")


def argument_problems(arguments: Mapping[str, Any], constructors: Sequence[Sequence[Parameter]]) -> list[Problem]:
    """What is wrong with the arguments, located within them; nothing when some constructor takes them.

    A parameter that may be null may be left out. Where no constructor takes these names, the closest one says what is
    missing and what is too many.
    """
    if not constructors:
        return []
    fitting = [way for way in constructors if not name_problems(arguments, way)]
    if fitting:
        tries = [type_problems(arguments, way) for way in fitting]
        return min(tries, key=len)
    closest = min(constructors, key=lambda way: len(name_problems(arguments, way)))
    ways = " or ".join(f"({signature(way)})" for way in constructors)
    return [
        replace(problem, text=f"{problem.text}; the flow takes {ways}") for problem in name_problems(arguments, closest)
    ]


def name_problems(arguments: Mapping[str, Any], way: Sequence[Parameter]) -> list[Problem]:
    """Arguments that this constructor has no parameter for, and parameters without an argument."""
    names = [one.name for one in way]
    unknown = [name for name in arguments if name not in names]
    missing = [one.name for one in way if one.name not in arguments and not one.type.endswith("?")]
    return [
        *(Problem.of(name, f"is no parameter{did_you_mean(name, names)}") for name in unknown),
        *(Problem.of(name, "is missing") for name in missing),
    ]


def type_problems(arguments: Mapping[str, Any], way: Sequence[Parameter]) -> list[Problem]:
    """Constants that cannot be a value of their parameter's type; what a template will give is not known yet."""
    types = {one.name: one.type for one in way}
    return [
        Problem.of(name, f"{value!r} is no {types[name]}")
        for name, value in arguments.items()
        if not is_template(value) and not fits(value, types[name])
    ]


def is_template(value: Any) -> bool:
    """Whether a value is decided only when a request is sent."""
    if isinstance(value, dict):
        return any(map(is_template, value.values()))
    if isinstance(value, list):
        return any(map(is_template, value))
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def fits(value: Any, type_name: str) -> bool:
    """Whether a constant can be a value of a type, as Corda's shell reads it; of types that are not known: yes."""
    if value is None:
        return type_name.endswith("?")
    kind = type_name.removesuffix("?").lower()
    collection = _LIST.fullmatch(kind)
    if collection:
        return isinstance(value, list) and all(fits(item, collection[1]) for item in value)
    if kind == "boolean":
        return isinstance(value, bool) or str(value).lower() in {"true", "false"}
    if kind in NUMBERS:
        return fits_number(value, kind)
    if kind in TEXTS:
        return isinstance(value, str) and fits_text(value, kind)
    return True


def fits_number(value: Any, kind: str) -> bool:
    """Whether a constant is a number, whole and within range where the type asks for it."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    pattern = _WHOLE_NUMBER if kind in WHOLE else _NUMBER
    text = str(value).strip()
    if not pattern.fullmatch(text):
        return False
    bits = _RANGES.get(kind)
    return bits is None or -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1)


def fits_text(value: str, kind: str) -> bool:
    """Whether a text has the form that its type asks for."""
    if kind == "amount<currency>":
        return _AMOUNT.fullmatch(value.strip()) is not None
    if kind == "securehash":
        return _HASH.fullmatch(value.strip()) is not None
    return kind == "string" or bool(value.strip())
