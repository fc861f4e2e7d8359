"""A claim of a figure file: its fields, and the number that it is about in one repeat.

The number is a ratio, an exponent or a level of points, or an outcome. ``docs/methodology.md`` says what they mean.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, get_args

from polars.exceptions import PolarsError
from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from corda_lab.analysis.metrics import METRICS, metric
from corda_lab.errors import LabError
from corda_lab.figures.points import (
    NoValue,
    Point,
    Selection,
    choose,
    evaluate,
    fits,
    label_of,
    names_in,
    number_of,
    unit_scale,
)
from corda_lab.text.words import listed, plural
from lab_workload.names import did_you_mean
from lab_workload.schema import Fields, Scalar, Text

Verdict = Literal["held", "did not hold", "cannot tell", "not testable here"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

Column = Literal["id", "source", "edition", "workload", "x", "metric", "unit", "hardware"]
"""The columns of ``published.csv`` by which rows are chosen."""

Region = tuple[float, float]
"""Where a claim wants its number: the lowest and the highest value, infinite for no end."""

Kind = Literal["ratio", "exponent", "level", "outcome", "untested"]
OUTCOME = "outcome"
"""In place of the metric of a level: whether the point broke."""
PEAKS = " x peak"
"""The unit of ``from`` in ``3 x peak``: the highest y of the points."""

FIELDS: Mapping[Kind, tuple[set[str], set[str]]] = {
    "ratio": ({"of", "within"}, {"to", "broken", "on_published"}),
    "exponent": ({"over", "within"}, {"from_", "where", "above", "on_published"}),
    "level": ({"at", "within"}, {"on_published"}),
    "outcome": ({"at", "broken"}, set()),
    "untested": (set(), set()),
}
"""The fields that each kind of claim must have, and those that it may have, beside those of all."""
OF_ALL = {"name", "says", "because", "needs", "found", "added", "ratio", "exponent", "level"}
POINTS: Mapping[Kind, tuple[str, ...]] = {
    "ratio": ("of", "to"), "exponent": ("where", "above"), "level": ("at",), "outcome": ("at",), "untested": (),
}  # fmt: skip
"""The fields that name points."""


def wrong(text: str) -> PydanticCustomError:
    return PydanticCustomError("conflict", "{text}", {"text": text})


def _metric(name: str) -> str:
    try:
        return metric(name).name
    except LabError as error:
        raise wrong(f"{error.message}{did_you_mean(name, METRICS)}") from None


def _expression(text: str) -> str:
    try:
        evaluate(text, dict.fromkeys(names_in(text), 1.0))
    except PolarsError:
        raise wrong("is no expression of numbers, names, + - * / and parentheses") from None
    return text


def _columns(rows: dict[str, Any]) -> dict[str, Any]:
    if unknown := rows.keys() - {*get_args(Column)}:
        raise wrong(f"{listed(sorted(unknown))}: no column of published.csv")
    return rows


Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\d$")]
Metric = Annotated[Text, AfterValidator(_metric)]
Values = Annotated[dict[Text, Scalar], Field(min_length=1)]
"""One point, by what varies: ``{load.users: 70}``. ``first``, ``last`` and ``best`` are values too."""
AnyOf = Annotated[list[Scalar], Field(min_length=1), AfterValidator(tuple)] | Scalar
Rows = Annotated[dict[str, AnyOf], AfterValidator(_columns)]
"""Rows of ``published.csv``, by its columns."""


class OnPublished(Fields):
    """The same check on the published values, and the verdict that it has to give.

    A point is the only row with what ``where`` and ``of``, ``to`` or ``at`` say. If there are several, it is the one
    with the x of the claim's own point.
    """

    where: Rows = Field(default_factory=dict)
    of: Rows | None = None
    to: Rows | None = None
    at: Rows | None = None
    verdict: Verdict


class Needs(Fields):
    """What a claim needs that this machine or open-source Corda may not have."""

    enterprise: Literal[True] | None = None
    cores: Annotated[int, Field(ge=1)] | None = None
    other: Text | None = None
    """What no lab of this kind has, such as software that is not part of it."""
    users: Annotated[int, Field(ge=1)] | None = None
    """The fewest users of the sweep that load such a machine. They are set in the sweep file, by whoever has it."""


class Finding(Fields):
    """A sentence that a person wrote after looking at the evidence for a verdict, and when."""

    date: Day
    """It is not called ``on``, which YAML reads as true."""
    text: Text


class Claim(Fields):
    name: Text
    says: Annotated[int, Field(ge=1)] | Literal["ours"]
    """The number of a sentence in ``words``."""
    because: Text | None = None
    """The reason for its region; of a claim without a number, why it has none."""
    needs: Needs | None = None
    found: Finding | None = None
    added: Day | None = None

    ratio: Annotated[
        Annotated[tuple[Metric, ...], Field(min_length=1, max_length=2)] | None,
        BeforeValidator(lambda names: tuple(names) if isinstance(names, list) else (names,)),
    ] = None
    """The metrics of the points ``of`` and ``to``; a single one for both."""
    of: Values | None = None
    to: Values | None = None
    exponent: Metric | None = None
    over: Annotated[Text, AfterValidator(_expression)] | None = None
    from_: float | Annotated[str, StringConstraints(pattern=r"^[\d.]+ x peak$")] | None = Field(None, alias="from")
    """The least x: a number, or so many times the highest y."""
    where: dict[Text, AnyOf] = Field(default_factory=dict)
    above: Values | None = None
    """The point whose value is taken off each y."""
    level: Annotated[Text, AfterValidator(lambda name: name if name == OUTCOME else _metric(name))] | None = None
    at: Values | None = None

    within: Annotated[list[float | None], Field(min_length=2, max_length=2)] | None = None
    """The ends of the region; None for no end."""
    broken: bool | None = None
    """Of an outcome, whether the point has to break; of a ratio, whether it holds if the point ``of`` broke."""
    on_published: OnPublished | None = None

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        given = self.model_fields_set
        kinds = given & {"ratio", "exponent", "level"}
        if len(kinds) > 1 or not (kinds or self.needs):
            raise wrong("needs one of ratio, exponent and level")
        required, optional = FIELDS[self.kind]
        if missing := required - given:
            raise wrong(f"{self.kind} needs {listed(sorted(missing))}")
        if others := given - required - optional - OF_ALL:
            raise wrong(f"{listed(sorted(name.strip('_') for name in others))}: not with {self.kind}")
        if self.ratio and len(self.ratio) == 1 and self.to is None:
            raise wrong("to: is missing, the other point; or name two metrics of one point")
        low, high = self.region
        if self.within and (low > high or self.within == [None, None]):
            raise wrong("within: needs an end, and the lower one first")
        return self

    @property
    def kind(self) -> Kind:
        if self.level is not None:
            return "outcome" if self.level == OUTCOME else "level"
        return "ratio" if self.ratio else "exponent" if self.exponent else "untested"

    @property
    def metrics(self) -> tuple[str, ...]:
        if self.ratio:
            return (self.ratio[0], self.ratio[-1])
        return tuple(name for name in (self.exponent, self.level) if name and name != OUTCOME)

    @property
    def region(self) -> Region:
        low, high = self.within or (None, None)
        return -math.inf if low is None else low, math.inf if high is None else high

    @property
    def points(self) -> dict[str, Selection]:
        """The points that it names, by field."""
        given = {name: getattr(self, name) for name in POINTS[self.kind]}
        if self.kind == "ratio":
            given["to"] = self.to or self.of
        return {name: points for name, points in given.items() if points is not None}

    def number(self, points: Sequence[Point]) -> float:
        """Return the number of one repeat; of an outcome, 1 if the point broke. Raises NoValue."""
        if self.kind == "outcome":
            return self._outcome(points)
        parts = self.parts(points)
        if self.kind == "exponent":
            return slope(parts)
        (_, value), *others = parts
        if not others:
            return value
        if others[0][1] == 0:
            raise NoValue(f"{self.metrics[1]} is 0 at {label_of(self.points['to'])}, and nothing can be divided by it")
        return value / others[0][1] * unit_scale(*(metric(name).unit for name in self.metrics))

    def parts(self, points: Sequence[Point]) -> list[tuple[float, float]]:
        """Return the values of which the number of a repeat is made, each with its place; none for an outcome.

        The place is the x on the line of an exponent, or 0 and 1 for the two points of a ratio. Raises NoValue.
        """
        if self.kind == "exponent":
            return self._line(points)
        chosen = zip(self.points.values(), self.metrics, strict=False)
        return [(place, choose(points, wanted, name).value(name)) for place, (wanted, name) in enumerate(chosen)]

    def _outcome(self, points: Sequence[Point]) -> float:
        point = choose(points, self.points["at"], "")
        if point.outcome == "invalid":
            raise NoValue(point.why)
        if point.outcome == "passed" and point.failed:
            # A point that lived, but did not do all of its work, has neither outcome.
            raise NoValue(f"no node ended, and {plural(point.failed, 'request')} failed")
        return float(point.outcome == "broke")

    def _line(self, points: Sequence[Point]) -> list[tuple[float, float]]:
        """Return the points of the line of an exponent.

        Every point of ``where`` has to have its value: a line through fewer would be another number.
        """
        assert self.over is not None
        (name,) = self.metrics
        base = None if self.above is None else choose(points, self.above, name)
        taken_off = 0.0 if base is None else base.value(name)
        fitting = [point for point in points if fits(point.values, self.where)]
        least = -math.inf if self.from_ is None else number_of(self.from_)
        if least is None:
            peak = max((value for point in fitting if (value := point.metrics.get(name)) is not None), default=0.0)
            least = float(str(self.from_).removesuffix(PEAKS)) * peak
        line: dict[float, float] = {}
        for point in fitting:
            x = evaluate(self.over, point.values)
            if point is base or x < least:
                continue
            y = point.value(name) - taken_off
            if not 0 < x < math.inf or y <= 0:
                raise NoValue(f"{self.over} {x:g} with {name} {y:g} has no logarithm at {point.label}; set from")
            if x in line:
                raise NoValue(f"several points have the same {self.over}; name one of them in where")
            line[x] = y
        if len(line) < 2:
            raise NoValue(f"an exponent needs two points, and {len(line)} has {label_of(self.where)}")
        return list(line.items())


def slope(line: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the least-squares line through the logarithms of (x, y), all of them positive."""
    xs, ys = zip(*((math.log(x), math.log(y)) for x, y in line), strict=True)
    return statistics.linear_regression(xs, ys).slope
