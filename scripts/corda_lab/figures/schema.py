"""The fields of figure files, ``configs/figures/<name>.yaml``. ``docs/methodology.md`` says how claims are judged."""

import math
from datetime import date
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field, PlainValidator, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from corda_lab.figures.verdict import Region, Verdict
from lab_workload.schema import Fields, Scalar, Text

Document = Literal["iitb-2019", "r3-results", "r3-sizing", "r3-blog-2020", "r3-attachments-2020", "coconut"]
"""The documents of ``docs/reproduction.md``."""

OURS: Literal["ours"] = "ours"
"""What a claim ``says`` that nobody published: an expectation of the lab."""

FIRST, LAST, BEST = "first", "last", "best"
"""Values of a point that are found among those measured: the lowest, the highest, and that with the best value."""

OUTCOME = "outcome"
"""The metric of a level that says whether the point broke."""

Column = Literal["id", "source", "edition", "workload", "x", "metric", "unit", "hardware"]
"""The columns of ``published.csv`` by which rows are chosen."""
SELECTING: tuple[Column, ...] = get_args(Column)


def _column(name: str) -> str:
    if name in SELECTING:
        return name
    raise PydanticCustomError("column", f"must be a column of published.csv: {', '.join(SELECTING)}")


def _any_of(value: Any) -> Scalar | tuple[Scalar, ...]:
    values = value if isinstance(value, list) else [value]
    if values and all(isinstance(each, (str, int, float, bool)) for each in values):
        return tuple(values) if isinstance(value, list) else value
    raise PydanticCustomError("values", "must be a single value or a list of them")


def _day(text: str) -> str:
    return date.fromisoformat(text).isoformat()


SAME_X, BY_PEAK = "x", "x / peak"
Finite = Annotated[float, Field(allow_inf_nan=False)]
Day = Annotated[str, AfterValidator(_day)]
"""A day, ISO 8601."""
Said = Text | int | Finite
"""Text, or a number that stands for itself."""
Selection = Annotated[dict[Text, Scalar], Field(min_length=1)]
"""One point, by what varies: ``{load.users: 70}``. ``first``, ``last`` and ``best`` are values too."""
AnyOf = Annotated[Scalar | tuple[Scalar, ...], PlainValidator(_any_of)]
"""A value, or a list of values that stands for any of them."""
Filter = dict[Text, AnyOf]
"""Several points, by what varies."""
Rows = dict[Annotated[str, AfterValidator(_column)], AnyOf]
"""Rows of ``published.csv``, by its columns."""
Beside = Literal["x", "x / peak"] | Annotated[dict[Column, dict[str, Scalar]], Field(min_length=1, max_length=1)]
Pair = Annotated[list[Text], Field(min_length=2, max_length=2)]
PeakMultiple = Annotated[str, StringConstraints(pattern=r"^(\d+|\d*\.\d+) x peak$")]

EXPECTED = {
    "says": f"the number of a sentence in words, or {OURS}",
    "ratio": "the name of a metric, or a list of two",
    "from": "a number, or a number of peaks such as 3 x peak",
    "within": "two ends, each a number or null for no end, such as [0.7, 1.3] or [2, null]",
    "beside": f"{SAME_X} or {BY_PEAK}, or a column with our x for its values, as in {{workload: {{A: a}}}}",
    "date": "a day such as 2026-11-24",
    "added": "a day such as 2026-11-24",
    "published": "text or a number",
    "here": "text or a number",
    "touches": "a list of claims, or absolute",
}
"""What fields have to be of which pydantic would report each of several types on its own, or a pattern."""


class SourceFields(Fields):
    """Where the figure is published."""

    document: Document
    place: Text


class SentenceFields(Fields):
    """A sentence of the source. In a file, text alone stands for one of the document of the figure."""

    text: Text
    document: Document | None = None
    """The document that has it, if it is not that of the figure."""

    @model_validator(mode="before")
    @classmethod
    def _of_text(cls, value: Any) -> Any:
        return value if isinstance(value, dict | SentenceFields) else {"text": value}


class PublishedFields(Fields):
    """Rows of ``published.csv``: those with this id, this quantity on the x axis, and this metric."""

    id: Text
    x: Text | None = None
    """The ``x_name`` of the rows; None if they have none."""
    y: Text
    """The ``metric`` of the rows."""
    by: Column | None = None
    """The column whose values are the curves of the chart; None for one curve."""
    where: Rows = Field(default_factory=dict)
    """What else the rows have, if the id has more than the figure is about."""
    beside: Beside | None = None
    """Where the rows stand in the chart that has ours too. ``x``: at their own x. ``x / peak``: at their x divided by
    the highest value of their curve. ``{workload: {Issue: issue}}``: where the column has this value, at this x of
    ours. None: they are not in that chart, because no x of theirs is one of ours."""


class ChartFields(Fields):
    """Our axes, and the point at which both curves are 1 in the normalised chart."""

    x: Text
    x_title: Text | None = None
    """What ``x`` counts, with its unit: ``ms to the database``. Without it, the axis has the name of ``x``, which says
    nothing if it is ``at``."""
    y: Text
    by: Text | None = None
    anchor: Selection


class OnPublishedFields(Fields):
    """The same check on the published values, and the verdict that it has to give.

    A point is the only row with what ``where`` and ``of``, ``to`` or ``at`` say. If there are several, it is the one
    with the x of the claim's own point.
    """

    where: Rows = Field(default_factory=dict)
    of: Rows | None = None
    """What the row of ``of`` has besides ``where``; None if it differs from that of ``to`` in x only."""
    to: Rows | None = None
    at: Rows | None = None
    verdict: Verdict


class NeedsFields(Fields):
    """What a claim needs that this machine or open-source Corda may not have."""

    enterprise: Literal[True] | None = None
    cores: Annotated[int, Field(ge=1)] | None = None
    """The fewest cores of the machine."""
    platform: Annotated[int, Field(ge=1)] | None = None
    """The lowest platform version of the nodes."""
    software: Text | None = None
    """Software that the lab does not have, such as another database."""
    users: Annotated[int, Field(ge=1)] | None = None
    """The fewest users of the sweep that load such a machine. They are set in the sweep file, by whoever has it."""


class FoundFields(Fields):
    """A sentence that a person wrote after looking at the evidence for a verdict, and when."""

    date: Day
    """It is not called ``on``, which YAML reads as true."""
    text: Text


class ClaimFields(Fields):
    """One claim: a statistic of measured points, and the region in which it has to lie."""

    name: Text
    says: Annotated[int, Field(ge=1)] | Literal["ours"]
    """The number of the sentence in ``words``, from 1."""
    because: Text | None = None
    """The reason for its region; of a claim without a statistic, why it has none."""
    ratio: Text | Pair | None = None
    of: Selection | None = None
    to: Selection | None = None
    exponent: Text | None = None
    over: Text | None = None
    from_: Finite | PeakMultiple | None = Field(default=None, alias="from")
    where: Filter = Field(default_factory=dict)
    above: Selection | None = None
    """The point whose value is taken off each of the others."""
    level: Text | None = None
    at: Selection | None = None
    broken: bool | None = None
    within: Annotated[list[Finite | None], Field(min_length=2, max_length=2)] | None = None
    on_published: OnPublishedFields | None = None
    only_published: Literal[True] | None = None
    """Whether its region is too narrow for repeats, so that only the published values can be judged by it."""
    needs: NeedsFields | None = None
    found: FoundFields | None = None
    """What a person found who looked at the evidence for the verdict. Without measured numbers: see the test."""
    added: Day | None = None
    """The day on which the claim was added, if that was after the first run of its figure; None for all others."""

    @property
    def statistic(self) -> Literal["ratio", "exponent", "level"] | None:
        """Which statistic it is; None for a claim that has none, because the lab cannot test it."""
        for name in ("ratio", "exponent", "level"):
            if getattr(self, name) is not None:
                return name
        return None

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics that the statistic is made of."""
        named = self.ratio or self.exponent or self.level
        given = [] if named is None else [named] if isinstance(named, str) else named
        return tuple(name for name in given if name != OUTCOME)

    @property
    def second(self) -> Selection | None:
        """The other point of a ratio, which may be one of two metrics at the same point."""
        return self.to or self.of

    @property
    def from_words(self) -> str:
        """The lowest x of an exponent, as it is written: ``10``, ``3 x peak``."""
        return f"{self.from_:g}" if isinstance(self.from_, float) else str(self.from_)

    @property
    def region(self) -> Region:
        """``within`` with infinite ends in place of None."""
        low, high = self.within or (None, None)
        return -math.inf if low is None else low, math.inf if high is None else high


class DeviationFields(Fields):
    """Where the lab does not do what the publication did."""

    published: Said
    here: Said
    because: Text
    touches: list[Text] | Literal["absolute"]
    """The names of the claims that it may change; ``absolute`` if it changes absolute values only."""

    @property
    def touched(self) -> str:
        """Which claims it touches, in words."""
        if isinstance(self.touches, str):
            return "absolute values only"
        return ", ".join(self.touches) or "no claim"


class FigureFields(Fields):
    """A whole figure file."""

    title: Text
    source: SourceFields
    words: Annotated[list[SentenceFields], Field(min_length=1)]
    conditions: Text
    published: list[PublishedFields] = Field(default_factory=list)
    sweep: Text
    chart: ChartFields
    claims: Annotated[list[ClaimFields], Field(min_length=1)]
    deviations: list[DeviationFields]

    def document_of(self, claim: ClaimFields) -> Document:
        """Return the document of the sentence that a claim is about; that of the figure for one of ours."""
        own = None if claim.says == OURS else self.words[int(claim.says) - 1].document
        return own or self.source.document
