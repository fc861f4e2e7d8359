"""The fields of figure files, ``configs/figures/<name>.yaml``. ``docs/methodology.md`` says how claims are judged."""

import math
from datetime import date
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, PlainValidator, model_validator
from pydantic_core import PydanticCustomError

from corda_lab.figures.verdict import Verdict
from lab_workload.schema import Fields, Scalar, Text

CLAIMS_MAX = 50
WORDS_MAX = 50
VALUES_MAX = 100

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
COLUMNS: tuple[Column, ...] = get_args(Column)


def _column(value: Any) -> str:
    if value in COLUMNS:
        return str(value)
    raise PydanticCustomError("column", f"must be a column of published.csv: {', '.join(COLUMNS)}")


def _finite(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise PydanticCustomError("bound", "must be a number, or null for no end")


def _values(value: Any) -> Scalar | tuple[Scalar, ...]:
    if isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, list) and value and all(isinstance(one, (str, int, float, bool)) for one in value):
        return tuple(value)
    raise PydanticCustomError("values", "must be a single value or a list of them")


def _said(value: Any) -> str:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool) and str(value).strip():
        return str(value).strip()
    raise PydanticCustomError("said", "must be text or a number")


def _beside(value: Any) -> "Beside":
    if value in BESIDE:
        return value  # type: ignore[no-any-return]
    if isinstance(value, dict) and len(value) == 1:
        ((column, places),) = value.items()
        if column in COLUMNS and isinstance(places, dict) and places:
            return {column: {str(one): place for one, place in places.items()}}
    raise PydanticCustomError(
        "beside", f"must be {' or '.join(BESIDE)}, or a column with our x for its values, as in {{workload: {{A: a}}}}"
    )


def _date(value: Any) -> str:
    try:
        return date.fromisoformat(value).isoformat()
    except (TypeError, ValueError):
        raise PydanticCustomError("date", "must be a day such as 2026-11-24") from None


def _metrics(value: Any) -> str | tuple[str, str]:
    if isinstance(value, str) and value.strip():
        return value.strip()
    if isinstance(value, list) and len(value) == 2 and all(isinstance(one, str) and one.strip() for one in value):
        return value[0].strip(), value[1].strip()
    raise PydanticCustomError("metrics", "must be the name of a metric, or a list of two")


def _from(value: Any) -> float | str:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    if isinstance(value, str):
        number, _, rest = value.partition(" x ")
        try:
            if rest == "peak" and 0 < float(number) < math.inf:
                return value
        except ValueError:
            pass
    raise PydanticCustomError("from", "must be a number, or a number of peaks such as 3 x peak")


SAME_X, BY_PEAK = "x", "x / peak"
BESIDE = (SAME_X, BY_PEAK)
Beside = Literal["x", "x / peak"] | dict[Column, dict[str, Scalar]]
Day = Annotated[str, PlainValidator(_date)]
"""A day, ISO 8601."""
Said = Annotated[str, PlainValidator(_said)]
"""Text, or a number that stands for itself."""
Bound = Annotated[float | None, PlainValidator(_finite)]
Selection = Annotated[dict[Text, Scalar], Field(min_length=1)]
"""One point, by what varies: ``{load.users: 70}``. ``first``, ``last`` and ``best`` are values too."""
Filter = dict[Text, Annotated[Scalar | tuple[Scalar, ...], PlainValidator(_values)]]
"""Several points, by what varies. A list stands for any of its values."""
Rows = dict[Annotated[str, PlainValidator(_column)], Annotated[Scalar | tuple[Scalar, ...], PlainValidator(_values)]]
"""Rows of ``published.csv``, by its columns. A list stands for any of its values."""


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
    beside: Annotated[Beside | None, PlainValidator(_beside)] = None
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

    @property
    def sides(self) -> dict[str, Rows | None]:
        """What stands in place of the points that the claim names."""
        return {"of": self.of, "to": self.to, "at": self.at}


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
    ratio: Annotated[str | tuple[str, str], PlainValidator(_metrics)] | None = None
    of: Selection | None = None
    to: Selection | None = None
    exponent: Text | None = None
    over: Text | None = None
    from_: Annotated[float | str, PlainValidator(_from)] | None = Field(default=None, alias="from")
    where: Filter = Field(default_factory=dict)
    above: Selection | None = None
    """The point whose value is taken off each of the others."""
    level: Text | None = None
    at: Selection | None = None
    broken: bool | None = None
    within: Annotated[list[Bound], Field(min_length=2, max_length=2)] | None = None
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
        given = () if named is None else (named,) if isinstance(named, str) else named
        return tuple(name for name in given if name != OUTCOME)

    @property
    def region(self) -> tuple[float, float]:
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
    words: Annotated[list[SentenceFields], Field(min_length=1, max_length=WORDS_MAX)]
    conditions: Text
    published: Annotated[list[PublishedFields], Field(max_length=VALUES_MAX)] = Field(default_factory=list)
    sweep: Text
    chart: ChartFields
    claims: Annotated[list[ClaimFields], Field(min_length=1, max_length=CLAIMS_MAX)]
    deviations: list[DeviationFields]

    def document_of(self, claim: ClaimFields) -> Document:
        """Return the document of the sentence that a claim is about; that of the figure for one of ours."""
        own = None if claim.says == OURS else self.words[int(claim.says) - 1].document
        return own or self.source.document
