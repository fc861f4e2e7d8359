"""Figure files, ``configs/figures/<name>.yaml``: their fields, and how they fit to their sweep and to published values.

``docs/methodology.md`` describes the fields.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import polars as pl
from pydantic import BeforeValidator, Field, ValidationError, model_validator

from corda_lab.analysis.metrics import metric
from corda_lab.errors import LabError
from corda_lab.figures.claims import Claim, Column, Metric, Rows, Values
from corda_lab.figures.points import (
    NoValue,
    Plan,
    Point,
    Selection,
    fits,
    label_of,
    names_in,
    plan_of,
    unit_scale,
)
from corda_lab.paths import CONFIGS, REPRODUCTION, RESULTS
from corda_lab.steps.parameters import AT, STEP
from corda_lab.sweeps.file import SweepFile, quick, read_sweep
from lab_workload.field_problems import field_problem, known_fields
from lab_workload.names import did_you_mean
from lab_workload.problems import Location, Problem, WorkloadError, in_file_order
from lab_workload.schema import Fields, Scalar, Text
from lab_workload.yaml_source import Source, read_fields

FIGURES, SWEEPS = CONFIGS / "figures", CONFIGS / "sweeps"
REMEDY = "docs/methodology.md, Claims of published figures, describes the fields."

Form = Literal["quick", "full"]
"""Whether the short form of the sweep runs (``--quick``), or all of it."""

TITLES = {
    "iitb-2019": "IIT Bombay 2019",
    "r3-results": "R3, results",
    "r3-sizing": "R3, sizing",
    "r3-blog-2020": "R3, blog 2020",
    "r3-attachments-2020": "R3, attachments 2020",
    "coconut": "COCONUT",
}
"""The documents of ``docs/reproduction.md``, as users see them."""
Document = Literal["iitb-2019", "r3-results", "r3-sizing", "r3-blog-2020", "r3-attachments-2020", "coconut"]

BY_PEAK = "x / peak"
ABSOLUTE = "absolute"


Row = Mapping[str, Any]
"""A published value, by the columns of the file. ``value`` is None where nothing finished."""


@cache
def read_published() -> Sequence[Row]:
    numbers = {"value": pl.Float64, "error": pl.Float64}
    rows = pl.read_csv(FIGURES / "published.csv", infer_schema=False, schema_overrides=numbers)
    return rows.with_columns(pl.col(pl.String).fill_null("")).to_dicts()


class SourceFields(Fields):
    document: Document
    place: Text


class SentenceFields(Fields):
    """A sentence of the source. In a file, text alone stands for one of the document of the figure."""

    text: Text
    document: Document | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_text(cls, value: Any) -> Any:
        return value if isinstance(value, dict | SentenceFields) else {"text": value}


class PublishedFields(Fields):
    """Rows of ``published.csv``: those with this id, this quantity on the x axis, and this metric."""

    id: Text
    x: Text | None = None
    y: Text
    by: Column | None = None
    where: Rows = Field(default_factory=dict)
    beside: (
        Literal["x", "x / peak"] | Annotated[dict[Column, dict[str, Scalar]], Field(min_length=1, max_length=1)] | None
    ) = None
    """Where the rows stand in the chart that has ours too. None: they are not in it."""

    @property
    def wanted(self) -> Selection:
        """What the rows have, by column."""
        return {"id": self.id, "x_name": self.x or "", "metric": self.y, **self.where}


class ChartFields(Fields):
    """Our axes, and the point at which both curves are 1 in the normalised chart."""

    x: Text
    x_title: Text | None = None
    y: Metric
    by: Text | None = None
    anchor: Values


class DeviationFields(Fields):
    """Where the lab does not do what the publication did."""

    published: Scalar
    here: Scalar
    because: Text
    touches: Annotated[list[Text], BeforeValidator(lambda names: [names] if names == ABSOLUTE else names)]
    """Names of claims, or ``absolute`` in their place: only absolute values differ."""


class FigureFields(Fields):
    title: Text
    source: SourceFields
    words: Annotated[list[SentenceFields], Field(min_length=1)]
    conditions: Text
    published: list[PublishedFields] = Field(default_factory=list)
    sweep: Text
    chart: ChartFields
    claims: Annotated[list[Claim], Field(min_length=1)]
    deviations: list[DeviationFields]

    @property
    def rows(self) -> list[Row]:
        """The published values that the figure names, in the order of ``published.csv``."""
        return [row for row in read_published() if any(fits(row, entry.wanted) for entry in self.published)]

    @property
    def place(self) -> str:
        """Where the figure is published: ``R3, results, figure 2``."""
        return f"{TITLES[self.source.document]}, {self.source.place}"


@dataclass(frozen=True)
class Figure:
    """A valid figure file, and the sweep that it names."""

    name: str
    fields: FigureFields
    sweep: SweepFile

    def in_form(self, form: Form | None) -> SweepFile:
        """Return its sweep in a form. Raises LabError if it has no short form."""
        return quick(self.sweep) if form == "quick" else self.sweep


def on_curve(claim: Claim, chart: ChartFields, plan: Plan) -> Claim:
    """Return a claim with its points on the first curve, where they name no curve.

    An exponent over what the curves differ in has all of them on one line.
    """
    by = chart.by
    curves = [point[by] for point in plan if by in point] if by else []
    # A named step has one number on the axis, so whoever names the number names the step.
    names = {by, AT} if by == STEP else {by}
    if not by or not curves or names & {*names_in(claim.over or "")}:
        return claim
    points = {name: given if names & given.keys() else {by: curves[0], **given} for name, given in claim.points.items()}
    return claim.model_copy(update=points)


def unresolved(claim: Claim, plan: Plan) -> str:
    """Return why the points of a sweep would not give the number of a claim; empty if they would."""
    above = claim.above
    points = [
        # What is taken off every y is less than it.
        Point(values=dict(values), metrics=dict.fromkeys(claim.metrics, 1.0 if above and fits(values, above) else 2.0))
        for values in plan
    ]
    try:
        claim.number(points)
    except NoValue as error:
        return str(error)
    return ""


def published_number(claim: Claim, x: str, rows: Sequence[Row]) -> float:
    """Return the number of a claim from the published rows of its figure. ``x`` is the name of our axis.

    Raises NoValue.
    """
    assert claim.on_published is not None
    points = [
        Point(
            # The x of a row has the name of our axis, too.
            values={**{name: row[name] for name in get_args(Column)}, x: row["x"]},
            metrics={} if row["value"] is None else {name: _in_unit_of(name, row) for name in claim.metrics},
        )
        for row in rows
        if fits(row, claim.on_published.where)
    ]
    theirs = {name: _there(claim, name, own.get(x), x, points) for name, own in claim.points.items()}
    return claim.model_copy(update=theirs).number(points)


def _in_unit_of(name: str, row: Row) -> float:
    return float(row["value"]) * unit_scale(row["unit"], metric(name).unit)


def _there(claim: Claim, name: str, own_x: object, x: str, points: Sequence[Point]) -> Selection:
    """Return which row stands for a point of a claim: by the columns of its check, and by its x if they are several."""
    own: Selection = {} if own_x is None else {x: own_x}
    columns: Selection = getattr(claim.on_published, name, None) or {}
    # One row needs no x, as that of a number in a sentence. For a ratio, it has to be one for each side.
    is_only = sum(fits(point.values, columns) for point in points) == 1
    needs_x = name == "where" or not is_only or (claim.kind == "ratio" and not columns)
    return {**(own if needs_x and "x" not in columns else {}), **columns}


# Reading.


def read_figure(path: Path, sweeps: Path = SWEEPS) -> Figure:
    """Read a figure file and its sweep. Raises LabError with all its problems."""
    try:
        data, source = read_fields(path)
        fields = FigureFields.model_validate(data)
    except ValidationError as error:
        problems = [_field_problem(detail, source) for detail in error.errors(include_url=False)]
        # Of a field that may have several types, the first is told.
        first = {(problem.line, problem.location): problem for problem in reversed(problems)}
        raise LabError(problems=in_file_order(list(reversed(first.values()))), remedy=REMEDY) from None
    except WorkloadError as error:
        raise LabError(problems=error.problems, remedy=REMEDY) from None
    known = sorted(file.stem for file in sweeps.glob("*.yaml"))
    if fields.sweep not in known:
        text = f"there is no sweep {fields.sweep!r}{did_you_mean(fields.sweep, known)}"
        raise LabError(problems=[source.problem(("sweep",), text)], remedy=REMEDY)
    sweep = read_sweep(sweeps / f"{fields.sweep}.yaml")
    if problems := [source.problem(place, text) for place, text in _conflicts(fields, plan_of(sweep)) if text]:
        raise LabError(problems=in_file_order(problems), remedy=REMEDY)
    return Figure(path.stem, fields, sweep)


def _field_problem(detail: Any, source: Source) -> Problem:
    place = detail["loc"] if detail["type"] == "missing" else _in_file(detail["loc"], source)
    if detail["type"] == "too_short":
        return source.problem(place, "must not be empty")
    return field_problem({**detail, "loc": place}, source, known_fields(FigureFields, place[:-1]))


def _in_file(location: Location, source: Source) -> Location:
    """Return the place in the file of an error, to which pydantic adds which of several types it tried."""
    return next(location[:end] for end in range(len(location), -1, -1) if location[:end] in source.lines)


def _conflicts(fields: FigureFields, plan: Plan) -> Iterator[tuple[Location, str]]:
    """Yield the places of the file with what does not fit together there; with an empty text if it does."""
    for index, named in enumerate(fields.published):
        if not any(fits(row, named.wanted) for row in read_published()):
            yield ("published", index), f"no row of published.csv has {label_of(named.wanted)}"
    axes = {name for values in plan for name in values}
    for key in ("x", "by"):
        name = getattr(fields.chart, key)
        if name is not None and name not in axes:
            hint = did_you_mean(name, axes) or f"; choose from {', '.join(sorted(axes))}"
            yield ("chart", key), f"{name} does not vary in the sweep{hint}"
    if not any(fits(values, fields.chart.anchor) for values in plan):
        yield ("chart", "anchor"), f"no point has {label_of(fields.chart.anchor)}"
    names = [claim.name for claim in fields.claims]
    for index, claim in enumerate(fields.claims):
        if claim.name in names[:index]:
            yield ("claims", index, "name"), f"{claim.name!r} is used twice"
        if isinstance(claim.says, int) and claim.says > len(fields.words):
            text = f"there is no sentence {claim.says} in words, which has {len(fields.words)}"
            yield ("claims", index, "says"), text
        # A claim that cannot be tested here may name other points.
        yield ("claims", index), "" if claim.needs else unresolved(on_curve(claim, fields.chart, plan), plan)
        yield ("claims", index, "on_published"), _unchecked(claim, fields)
    for index, deviation in enumerate(fields.deviations):
        for name in {*deviation.touches} - {ABSOLUTE, *names}:
            yield ("deviations", index, "touches"), f"there is no claim {name!r}{did_you_mean(name, names)}"


def _unchecked(claim: Claim, fields: FigureFields) -> str:
    """Return why the check of a claim on the published values cannot be made; empty if it can, or if it has none."""
    if claim.on_published is None:
        return ""
    x = fields.chart.x
    apart = {label_of({key: value for key, value in points.items() if key != x}) for points in claim.points.values()}
    if claim.kind == "ratio" and claim.on_published.of is None and (len(apart) > 1 or len({*claim.metrics}) > 1):
        return "needs of and to, which rows they are: the points differ in more than x"
    try:
        published_number(claim, x, fields.rows)
    except NoValue as error:
        return str(error)
    return ""


@dataclass(frozen=True)
class Places:
    """The folders of ``lab reproduce``. Tests have their own."""

    figures: Path = FIGURES
    sweeps: Path = SWEEPS
    repeats: Path = REPRODUCTION
    results: Path = RESULTS

    @property
    def document(self) -> Path:
        return self.repeats.with_suffix(".md")

    @property
    def pictures(self) -> Path:
        return self.repeats / "img"

    def read_figures(self) -> list[Figure]:
        """Read all figures, in the order of their names. Raises LabError with the problems of all files."""
        figures: list[Figure] = []
        problems: list[Problem] = []
        for path in sorted(self.figures.glob("*.yaml")):
            try:
                figures.append(read_figure(path, self.sweeps))
            except LabError as error:
                problems += error.problems
        if problems:
            raise LabError(problems=problems)
        return figures

    @classmethod
    def of_figure(cls, name: str) -> "tuple[Places, str]":
        """Return the folders and the name of a figure. A path of a file of one's own has its sweeps beside it."""
        path = Path(name)
        if path.suffix != ".yaml" or not path.is_file():
            return cls(), name
        sweeps = path.resolve().parent / "sweeps"
        return cls(figures=path.resolve().parent, sweeps=sweeps if sweeps.is_dir() else SWEEPS), path.stem


def by_sweep(figures: Iterable[Figure]) -> Mapping[str, Sequence[Figure]]:
    """Return the figures that each sweep serves, by the name of the sweep."""
    served: dict[str, list[Figure]] = {}
    for figure in figures:
        served.setdefault(figure.fields.sweep, []).append(figure)
    return served


def metrics_of(figures: Iterable[Figure]) -> list[str]:
    """Return the names of all metrics that charts and claims of figures use, sorted."""
    fields = [figure.fields for figure in figures]
    claims = [claim for each in fields for claim in each.claims]
    return sorted({*(each.chart.y for each in fields), *(name for claim in claims for name in claim.metrics)})
