"""Points of a sweep, measured, planned or published: which of them a claim names, and what they give."""

import ast
import math
import operator
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from corda_lab.analysis.metrics import metric
from corda_lab.results.sweep_parts import CommonFields
from corda_lab.steps.entry import ParameterValue
from corda_lab.steps.parameters import AT, STEP
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.plan import points_of

FIRST, LAST, BEST = "first", "last", "best"
"""Values of a point that are found among those measured: the lowest, the highest, and that with the best metric."""

Selection = Mapping[str, object]
"""What a point must have: a value, a tuple of values of which it has one, or ``first``, ``last`` or ``best``."""

Outcome = Literal["passed", "broke", "invalid"]
"""``broke``: the point ended a node, or left the lab with more flows than it completed. ``invalid``: the machine or the
generator spoilt it in every attempt."""


class NoValue(Exception):  # noqa: N818 - it is an answer, not an error
    """Points do not give a value. The message says why."""


SCALES: Mapping[str, float] = {
    "ms": 1e-3, "s": 1.0, "min": 60.0,
    "bytes": 1.0, "B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9,
}  # fmt: skip
"""Units of time in seconds, and of size in bytes."""

_SIZES = {"k": 1024, "m": 1024**2, "g": 1024**3}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kmg])b?", re.IGNORECASE)


def kind_of(unit: str) -> str:
    """Return what a unit measures: a time, a size, a rate or a share. Only values of one kind are compared."""
    if unit in SCALES:
        return "time" if unit in ("ms", "s", "min") else "size"
    if unit.endswith("/s"):
        return "rate"
    return "share" if unit.startswith("%") else unit


def unit_scale(unit: str, other: str) -> float:
    """Return what a value in one unit is multiplied by to be in the other; 1 if they are not of one kind."""
    is_known = unit in SCALES and other in SCALES and kind_of(unit) == kind_of(other)
    return SCALES[unit] / SCALES[other] if is_known else 1.0


def text_of(value: object) -> str:
    """Return a value as points are compared by it: 8 and 8.0 are the same, 4.1 and the version ``"4.10"`` are not."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def number_of(value: object) -> float | None:
    """Return a value as a number: ``8``, ``"0.5"``, or a size such as ``512m`` in bytes; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str) and (size := _SIZE.fullmatch(value.strip())):
        return float(size[1]) * _SIZES[size[2].lower()]
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def fits(values: Selection, wanted: Selection) -> bool:
    """Return whether a point, or a published row, has all the wanted values."""
    return all(
        name in values and text_of(values[name]) in map(text_of, any_of(value)) for name, value in wanted.items()
    )


def any_of(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def label_of(values: Selection) -> str:
    """Return a point in words: ``load.users 70, step 4.3``. The number of a named step says nothing more."""
    known = {name: value for name, value in values.items() if name != AT or STEP not in values}
    return ", ".join(f"{name} {' or '.join(map(str, any_of(value)))}" for name, value in known.items()) or "any value"


class Part(BaseModel):
    """Base of all parts of a repeat: immutable, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Point(Part):
    """One point of a sweep in a repeat."""

    values: dict[str, ParameterValue]
    """What varies, by the names of the sweep file (``load.users``), and ``step`` and ``at`` of named steps."""
    outcome: Outcome = "passed"
    reason: str | None = None
    """Why the point broke or is invalid."""
    failed: int | None = None
    """Requests that nobody knows to have succeeded; None if they were not counted."""
    conditioned: bool | None = None
    """Whether the load before it brought its nodes to where they stay. None if the point is not the first on its lab,
    or if that is not known."""
    metrics: dict[str, float | None] = Field(default_factory=dict)
    """The values that the figures of the sweep use, in the unit of the metric. None: this point has no such value."""

    @property
    def label(self) -> str:
        """The point in words: ``load.users 70, step 4.3``."""
        return label_of(self.values)

    @property
    def why(self) -> str:
        """Why it has no values; empty if it has."""
        what = {"broke": "the point broke", "invalid": "the step is invalid"}.get(self.outcome)
        return ": ".join(filter(None, (what, self.reason)))

    def value(self, name: str) -> float:
        """Return the value of a metric. Raises NoValue."""
        value = self.metrics.get(name)
        if value is None or not math.isfinite(value):
            raise NoValue(f"{self.label}: {self.why or f'has no {name}'}")
        return value


def choose(points: Sequence[Point], wanted: Selection, name: str) -> Point:
    """Return the only point that fits. ``name`` is the metric by which one is the best. Raises NoValue."""
    fitting = [
        point
        for point in points
        if fits(point.values, {key: value for key, value in wanted.items() if value not in (FIRST, LAST, BEST)})
    ]
    for key, word in wanted.items():
        if fitting and word in (FIRST, LAST):
            numbers = [number for point in fitting if (number := number_of(point.values.get(key))) is not None]
            if len(numbers) < len(fitting):
                raise NoValue(f"{key} has no {word} value, because not all its values are numbers")
            end = min(numbers) if word == FIRST else max(numbers)
            fitting = [point for point, number in zip(fitting, numbers, strict=True) if number == end]
    if BEST in wanted.values():
        known = [(value, point) for point in fitting if (value := point.metrics.get(name)) is not None]
        best = max if metric(name).higher_is_better else min
        fitting = [best(known, key=lambda pair: pair[0])[1]] if known else []
    if not fitting:
        raise NoValue(f"no point has {label_of(wanted)}")
    if len(fitting) > 1:
        keys = sorted({key for point in fitting for key in point.values if key not in wanted})
        differ = [key for key in keys if len({str(point.values.get(key)) for point in fitting}) > 1]
        raise NoValue(f"{len(fitting)} points have {label_of(wanted)}; they differ in {', '.join(differ)}")
    return fitting[0]


@dataclass(frozen=True)
class Plan:
    """The points of a sweep in one of its forms, in the order of the file, by what varies."""

    points: tuple[Mapping[str, ParameterValue], ...]
    constants: Mapping[str, Mapping[str, ParameterValue]]
    """What each named step sets that does not vary (``set.depth``), by its name; ``""`` for the whole sweep."""

    @cached_property
    def axes(self) -> dict[str, list[ParameterValue]]:
        """The values of what varies, by its name."""
        axes: dict[str, list[ParameterValue]] = {}
        for point in self.points:
            for name, value in point.items():
                if value not in (values := axes.setdefault(name, [])):
                    values.append(value)
        return axes

    def whole(self, point: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
        """Return what varies at a point, and what the sweep sets there."""
        return {**self.constants.get(str(point.get(STEP, "")), {}), **point}


def plan_of(sweep: SweepFile) -> Plan:
    """Return the points of a sweep. Raises LabError if it has too many."""
    fields = sweep.fields
    named = {step.name: {**_set_by(fields), **_set_by(step)} for step in fields.steps or ()}
    return Plan(tuple(step.point for step in points_of(sweep)), {"": _set_by(fields), **named})


def _set_by(fields: CommonFields) -> dict[str, ParameterValue]:
    given = fields.model_dump(exclude_none=True)
    groups = {
        f"{group}.{name}": value for group in ("load", "shape", "set") for name, value in given.get(group, {}).items()
    }
    return groups if fields.workload is None else {**groups, "workload": fields.workload}


# The x of an exponent: an expression of numbers, names, + - * / and parentheses.

CHARACTERS_MAX = 200
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
_NAME = re.compile(r"[A-Za-z_][\w.]*")


@cache
def parse(text: str) -> ast.expr:
    """Read an expression. Raises ValueError if the text is none."""
    if len(text) > CHARACTERS_MAX:
        raise ValueError(f"is longer than {CHARACTERS_MAX} characters")
    try:
        expression = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise ValueError("is no expression") from None
    list(_names(expression))
    return expression


def names_in(text: str) -> list[str]:
    """Return the names in an expression, each once. Raises ValueError if the text is none."""
    return list(dict.fromkeys(_names(parse(text))))


def _names(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            yield from _names(left)
            yield from _names(right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield from _names(operand)
        case ast.Constant(value=int() | float()):
            pass
        case _ if _NAME.fullmatch(ast.unparse(node)):
            yield ast.unparse(node)
        case _:
            raise ValueError("may have only numbers, names, + - * / and parentheses")


def evaluate(node: ast.expr, numbers: Mapping[str, float]) -> float:
    """Return the value of an expression from ``parse``, given that of every name. Raises NoValue."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            try:
                return float(_OPERATORS[type(op)](evaluate(left, numbers), evaluate(right, numbers)))
            except ZeroDivisionError:
                raise NoValue("divides by 0") from None
        case ast.UnaryOp(operand=operand):
            return -evaluate(operand, numbers)
        case ast.Constant(value=int() | float() as value):
            return float(value)
    return numbers[ast.unparse(node)]


def resolved(name: str, known: Collection[str]) -> str | None:
    """Return the name that a name in an expression means: itself, or the only one that ends in it."""
    if name in known:
        return name
    ends = [each for each in known if each.rpartition(".")[2] == name]
    return ends[0] if len(ends) == 1 else None
