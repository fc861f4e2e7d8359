"""Points of a sweep, measured, planned or published: which of them a claim names, and what they give."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from corda_lab.analysis.metrics import metric
from corda_lab.steps.entry import ParameterValue
from corda_lab.steps.parameters import AT, STEP
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.plan import points_of

FIRST, LAST, BEST = "first", "last", "best"
"""Values of a point that are found among those measured: the lowest, the highest, and that with the best metric."""

Selection = Mapping[str, object]
"""What a point must have: a value, a tuple of values of which it has one, or ``first``, ``last`` or ``best``."""

TIMES = {"ms": 1e-3, "s": 1.0, "min": 60.0}
SIZES = {"bytes": 1.0, "B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9}
"""Units, in seconds and in bytes. Only values of one kind are brought to one unit."""

_SIZES = {"k": 1024, "m": 1024**2, "g": 1024**3}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kmg])b?", re.IGNORECASE)
_NAME = re.compile(r"(?<![\w.])[A-Za-z_][\w.]*")


class NoValue(Exception):  # noqa: N818 - it is an answer, not an error
    """Points do not give a value. The message says why."""


def unit_scale(unit: str, other: str) -> float:
    """Return what a value in one unit is multiplied by to be in the other; 1 if they are not of one kind."""
    return next((kind[unit] / kind[other] for kind in (TIMES, SIZES) if unit in kind and other in kind), 1.0)


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


def any_of(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def fits(values: Selection, wanted: Selection) -> bool:
    """Return whether a point, or a published row, has all the wanted values."""
    return all(
        name in values and text_of(values[name]) in map(text_of, any_of(value)) for name, value in wanted.items()
    )


def label_of(values: Selection) -> str:
    """Return a point in words: ``load.users 70, step 4.3``. The number of a named step says nothing more."""
    known = {name: value for name, value in values.items() if name != AT or STEP not in values}
    return ", ".join(f"{name} {' or '.join(map(str, any_of(value)))}" for name, value in known.items()) or "any value"


class Stored(BaseModel):
    """Base of all parts of a stored repeat: immutable, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Point(Stored):
    """One point of a sweep in a repeat."""

    values: dict[str, ParameterValue]
    """What varies, by the names of the sweep file (``load.users``), and ``step`` and ``at`` of named steps."""
    outcome: Literal["passed", "broke", "invalid"] = "passed"
    """``broke``: the point ended a node, or left the lab with more flows than it completed. ``invalid``: the machine
    or the generator spoilt it in every attempt."""
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
    plain = {key: value for key, value in wanted.items() if value not in (FIRST, LAST, BEST)}
    fitting = [point for point in points if fits(point.values, plain)]
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
    if len(fitting) != 1:
        labels = ": " + "; ".join(point.label for point in fitting) if fitting else ""
        raise NoValue(f"{len(fitting) or 'no'} point{'s have' if fitting else ' has'} {label_of(wanted)}{labels}")
    return fitting[0]


Plan = Sequence[Mapping[str, ParameterValue]]
"""The points of a sweep in one of its forms, in the order of the file, by what varies."""


def plan_of(sweep: SweepFile) -> Plan:
    """Return the points of a sweep. Raises LabError if it has too many."""
    return [step.point for step in points_of(sweep)]


# The x of an exponent: an expression of numbers, names, + - * / and parentheses.


def names_in(expression: str) -> list[str]:
    """Return the names in an expression, each once."""
    return list(dict.fromkeys(_NAME.findall(expression)))


def evaluate(expression: str, values: Selection) -> float:
    """Return the value of an expression at a point. Raises NoValue, or PolarsError if the text is no expression."""
    numbers = {name: number_of(values.get(name)) for name in names_in(expression)}
    for name, number in numbers.items():
        if number is None:
            raise NoValue(f"{name} is {values.get(name)!r} at {label_of(values)}, which is no number")
    return float(pl.DataFrame([numbers]).select(pl.sql_expr(_NAME.sub(r'"\g<0>"', expression))).item())
