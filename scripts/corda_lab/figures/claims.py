"""The kinds of claims in figure files: a ratio, an exponent, a level or an outcome of points, and the number of each.

``docs/methodology.md`` says what they mean. What decides about numbers is in ``judge``.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    PlainValidator,
    StringConstraints,
    Tag,
    ValidationError,
    model_validator,
)
from pydantic.functional_validators import WrapValidator
from pydantic_core import PydanticCustomError

from corda_lab.analysis.metrics import METRICS, metric
from corda_lab.errors import LabError
from corda_lab.figures.points import (
    NoValue,
    Plan,
    Point,
    Selection,
    choose,
    evaluate,
    fits,
    label_of,
    names_in,
    number_of,
    parse,
    resolved,
    unit_scale,
)
from corda_lab.text.words import plural
from lab_workload.names import did_you_mean
from lab_workload.schema import Fields, Scalar, Text

Verdict = Literal["held", "did not hold", "cannot tell", "not testable here"]
HELD: Verdict = "held"
DID_NOT_HOLD: Verdict = "did not hold"
CANNOT_TELL: Verdict = "cannot tell"
NOT_TESTABLE: Verdict = "not testable here"
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

Column = Literal["id", "source", "edition", "workload", "x", "metric", "unit", "hardware"]
"""The columns of ``published.csv`` by which rows are chosen."""
COLUMNS: tuple[Column, ...] = get_args(Column)

Region = tuple[float, float]
"""Where a claim wants its number: the lowest and the highest value, infinite for no end."""


def wrong(text: str) -> PydanticCustomError:
    """Return an error with this text."""
    return PydanticCustomError("conflict", "{text}", {"text": text})


def expected(what: str) -> WrapValidator:
    """Return what rewords the errors of a field. Pydantic would report every type that it tried."""

    def check(value: Any, handler: Any) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise wrong(f"must be {what}") from None

    return WrapValidator(check)


def _metric(name: str) -> str:
    try:
        return metric(name).name
    except LabError as error:
        is_known = name.partition(".")[0] in METRICS
        hint = did_you_mean(name, METRICS) or f"; choose from {', '.join(METRICS)}"
        why = error.message.removeprefix(f"{name}: ")
        raise wrong(why if is_known else f"there is no metric {name!r}{hint}") from None


def _region(value: Any) -> Region:
    ends = value if isinstance(value, list) and len(value) == 2 else ["not a pair"]
    if any(end is not None and number_of(end) != end for end in ends):
        raise wrong("must be two ends, each a number or null for no end, such as [0.7, 1.3] or [2, null]")
    low, high = (math.inf * sign if end is None else float(end) for end, sign in zip(ends, (-1, 1), strict=True))
    if math.isinf(low) and math.isinf(high):
        raise wrong("has no end, so every value is inside")
    if low > high:
        raise wrong("the first end must not be above the second")
    return low, high


def _over(text: str) -> str:
    try:
        names_in(text)
    except ValueError as error:
        raise wrong(str(error)) from None
    return text


def _columns(rows: dict[str, Any]) -> dict[str, Any]:
    if unknown := rows.keys() - {*COLUMNS}:
        raise wrong(f"{min(unknown)!r} is no column of published.csv; choose from {', '.join(COLUMNS)}")
    return rows


Finite = Annotated[float, Field(allow_inf_nan=False)]
Day = Annotated[
    str, AfterValidator(lambda day: date.fromisoformat(day).isoformat()), expected("a day such as 2026-11-24")
]
Metric = Annotated[Text, AfterValidator(_metric)]
Within = Annotated[Region, PlainValidator(_region)]
Values = Annotated[dict[Text, Scalar], Field(min_length=1)]
"""One point, by what varies: ``{load.users: 70}``. ``first``, ``last`` and ``best`` are values too."""
AnyOf = Annotated[
    Scalar | Annotated[list[Scalar], Field(min_length=1), AfterValidator(tuple)],
    expected("a value, or a list of values"),
]
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

    @model_validator(mode="after")
    def _both(self) -> Self:
        if (self.of is None) != (self.to is None):
            raise wrong("needs both of and to, or neither")
        return self


class Needs(Fields):
    """What a claim needs that this machine or open-source Corda may not have."""

    enterprise: Literal[True] | None = None
    cores: Annotated[int, Field(ge=1)] | None = None
    software: Text | None = None
    users: Annotated[int, Field(ge=1)] | None = None
    """The fewest users of the sweep that load such a machine. They are set in the sweep file, by whoever has it."""

    @model_validator(mode="after")
    def _any(self) -> Self:
        if not self.model_fields_set:
            raise wrong(f"needs one of {', '.join(type(self).model_fields)}")
        return self


class Finding(Fields):
    """A sentence that a person wrote after looking at the evidence for a verdict, and when."""

    date: Day
    """It is not called ``on``, which YAML reads as true."""
    text: Text


class Claim(Fields):
    """What all kinds of claims have."""

    POINTS: ClassVar[tuple[str, ...]] = ()
    """The fields that name points."""

    name: Text
    says: Annotated[
        Annotated[int, Field(ge=1)] | Literal["ours"], expected("the number of a sentence in words, or ours")
    ]
    because: Text | None = None
    """The reason for its region; of a claim without a number, why it has none."""
    needs: Needs | None = None
    found: Finding | None = None
    added: Day | None = None

    @property
    def kind(self) -> str:
        """``ratio``, ``exponent``, ``level``, ``outcome``, or ``untested``."""
        return type(self).__name__.lower()

    @property
    def metrics(self) -> tuple[str, ...]:
        return ()

    def points(self, name: str) -> Selection:
        """Return the points that a field of ``POINTS`` names; none if it is not set."""
        return getattr(self, name) or {}

    def on_curve(self, names: set[str], curve: Selection) -> Self:
        """Return the claim with its points on a curve, where they do not name one: none of ``names``."""
        given = {name: points for name in self.POINTS if (points := getattr(self, name)) is not None}
        return self.model_copy(
            update={name: points if names & points.keys() else {**curve, **points} for name, points in given.items()}
        )

    def number(self, points: Sequence[Point], plan: Plan) -> float:
        """Return the number of one repeat. Raises NoValue."""
        raise NoValue(f"{self.name} is a claim without a number")

    def parts(self, points: Sequence[Point], plan: Plan) -> list[tuple[float, Point, float]]:
        """Return the values of which the number of a repeat is made, each with its place and its point.

        The place is the x on the line of an exponent, or 0 and 1 for the two points of a ratio. Raises NoValue.
        """
        return []

    def is_broken(self, points: Sequence[Point]) -> bool:
        """Return whether a repeat has no number because the point broke, so that the claim held."""
        return False


class Untested(Claim):
    """A claim without a number, because the lab cannot test it."""

    needs: Needs


class Number(Claim):
    """A claim whose number has to lie in a region."""

    within: Within
    on_published: OnPublished | None = None
    only_published: Literal[True] | None = None

    @model_validator(mode="after")
    def _check_published(self) -> Self:
        if self.only_published and (self.needs is not None or self.on_published is None):
            raise wrong("only_published: is only for a claim with on_published and without needs")
        for name in ("of", "to", "at"):
            if name not in self.POINTS and getattr(self.on_published, name, None) is not None:
                raise wrong(f"on_published.{name}: does not belong to this kind of claim")
        return self


class Ratio(Number):
    """The value of a point ÷ that of another, or of two metrics."""

    POINTS = ("of", "to")

    ratio: Annotated[
        Text | Annotated[list[Text], Field(min_length=2, max_length=2)],
        expected("the name of a metric, or a list of two"),
        AfterValidator(lambda names: [_metric(name) for name in names] if isinstance(names, list) else _metric(names)),
    ]
    of: Values
    to: Values | None = None
    broken: Literal[True] | None = None

    @model_validator(mode="after")
    def _has_two_values(self) -> Self:
        if self.to is None and isinstance(self.ratio, str):
            raise wrong("to: is missing, the other point; or name two metrics of one point")
        return self

    @property
    def metrics(self) -> tuple[str, ...]:
        return (self.ratio, self.ratio) if isinstance(self.ratio, str) else tuple(self.ratio)

    def points(self, name: str) -> Selection:
        return (self.to or self.of) if name == "to" else super().points(name)

    def number(self, points: Sequence[Point], plan: Plan) -> float:
        (_, _, above), (_, place, below) = self.parts(points, plan)
        if below == 0:
            raise NoValue(f"{self.metrics[1]} is 0 at {place.label}, and nothing can be divided by it")
        return above / below * unit_scale(*(metric(name).unit for name in self.metrics))

    def parts(self, points: Sequence[Point], plan: Plan) -> list[tuple[float, Point, float]]:
        chosen = [choose(points, self.points(name), of) for name, of in zip(self.POINTS, self.metrics, strict=True)]
        return [(place, point, point.value(self.metrics[place])) for place, point in enumerate(chosen)]

    def is_broken(self, points: Sequence[Point]) -> bool:
        try:
            return bool(self.broken) and choose(points, self.of, self.metrics[0]).outcome == "broke"
        except NoValue:
            return False


class Exponent(Number):
    """The slope of a line through the logarithms of points."""

    POINTS = ("where", "above")

    exponent: Metric
    over: Annotated[Text, AfterValidator(_over)]
    from_: Annotated[
        Finite | Annotated[str, StringConstraints(pattern=r"^(\d+|\d*\.\d+) x peak$")] | None,
        expected("a number, or a number of peaks such as 3 x peak"),
    ] = Field(default=None, alias="from")
    where: dict[Text, AnyOf] = Field(default_factory=dict)
    above: Values | None = None

    @property
    def metrics(self) -> tuple[str, ...]:
        return (self.exponent,)

    def number(self, points: Sequence[Point], plan: Plan) -> float:
        return slope([(x, y) for x, _, y in self.parts(points, plan)])

    def parts(self, points: Sequence[Point], plan: Plan) -> list[tuple[float, Point, float]]:
        """Return the points of the line.

        Every point of ``where`` has to have its value: a line through fewer would be another number.
        """
        base = None if self.above is None else choose(points, self.above, self.exponent)
        taken_off = 0.0 if base is None else base.value(self.exponent)
        fitting = [point for point in points if fits(point.values, self.where)]
        least = self._least(fitting)
        placed = [(x, point) for point in fitting if point is not base and (x := self._x(point, plan)) >= least]
        line = [(x, point, point.value(self.exponent) - taken_off) for x, point in placed]
        for x, point, y in line:
            if x <= 0 or y <= 0:
                name, value = (self.over, x) if x <= 0 else (self.exponent, y)
                raise NoValue(f"{name} is {value:g} at {point.label}, and has no logarithm; set from")
        if len({x for x, _ in placed}) < len(placed):
            raise NoValue(f"several points have the same {self.over}; name one of them in where")
        if len(line) < 2:
            raise NoValue(f"an exponent needs two points, and {len(line)} has {label_of(self.where)}")
        return line

    def _least(self, points: Sequence[Point]) -> float:
        if not isinstance(self.from_, str):
            return -math.inf if self.from_ is None else self.from_
        peak = max((value for point in points if (value := point.metrics.get(self.exponent)) is not None), default=0.0)
        return float(self.from_.partition(" x ")[0]) * peak

    def _x(self, point: Point, plan: Plan) -> float:
        known = plan.whole(point.values)
        numbers: dict[str, float] = {}
        for name in names_in(self.over):
            value = known.get(resolved(name, known) or name)
            if (number := number_of(value)) is None:
                raise NoValue(f"{name} is {value!r} at {point.label}, which is no number")
            numbers[name] = number
        return evaluate(parse(self.over), numbers)


def slope(line: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the least-squares line through the logarithms of (x, y), all of them positive."""
    xs, ys = zip(*((math.log(x), math.log(y)) for x, y in line), strict=True)
    return statistics.linear_regression(xs, ys).slope


class Level(Number):
    """The value of a point."""

    POINTS = ("at",)

    level: Metric
    at: Values

    @property
    def metrics(self) -> tuple[str, ...]:
        return (self.level,)

    def number(self, points: Sequence[Point], plan: Plan) -> float:
        return choose(points, self.at, self.level).value(self.level)


class Outcome(Claim):
    """Whether a point ends a node, or leaves the lab with more flows than it completes. The number is 1 if it does."""

    POINTS = ("at",)

    level: Literal["outcome"]
    at: Values
    broken: bool

    def number(self, points: Sequence[Point], plan: Plan) -> float:
        point = choose(points, self.at, "")
        if point.outcome == "invalid":
            raise NoValue(point.why)
        if point.outcome == "passed" and point.failed:
            # A point that lived, but did not do all of its work, has neither outcome.
            raise NoValue(f"no node ended, and {plural(point.failed, 'request')} failed")
        return float(point.outcome == "broke")


KINDS: Mapping[str, type[Claim]] = {
    "a ratio": Ratio,
    "an exponent": Exponent,
    "a level": Level,
    "an outcome": Outcome,
    "a claim without a number": Untested,
}
"""The kinds of claims by how problems name them."""


def _kind(claim: Any) -> str | None:
    given = claim if isinstance(claim, dict) else getattr(claim, "__dict__", {})
    if given.get("level") == "outcome":
        return "an outcome"
    for name, kind in (("ratio", "a ratio"), ("exponent", "an exponent"), ("level", "a level")):
        if name in given:
            return kind
    return "a claim without a number" if "needs" in given else None


AnyClaim = Annotated[
    Annotated[Ratio, Tag("a ratio")]
    | Annotated[Exponent, Tag("an exponent")]
    | Annotated[Level, Tag("a level")]
    | Annotated[Outcome, Tag("an outcome")]
    | Annotated[Untested, Tag("a claim without a number")],
    Discriminator(
        _kind,
        custom_error_type="conflict",
        custom_error_message="needs one of ratio, exponent and level",
    ),
]
