"""Figure files, ``configs/figures/<name>.yaml``: their fields, and how they fit to their sweep and to published values.

``docs/methodology.md`` describes the fields.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from corda_lab.errors import LabError
from corda_lab.figures.claims import KINDS, AnyClaim, Claim, Column, Metric, Number, Rows, Values, expected
from corda_lab.figures.points import (
    BEST,
    FIRST,
    LAST,
    NoValue,
    Plan,
    Point,
    any_of,
    fits,
    label_of,
    names_in,
    plan_of,
    resolved,
    text_of,
)
from corda_lab.figures.published import FIGURES, Row, published_number, read_published
from corda_lab.paths import CONFIGS, REPRODUCTION, RESULTS
from corda_lab.steps.parameters import AT, STEP
from corda_lab.sweeps.file import SweepFile, quick, read_sweep
from lab_workload.field_problems import field_problem, known_fields
from lab_workload.names import did_you_mean
from lab_workload.problems import Location, Problem, WorkloadError, in_file_order
from lab_workload.schema import Fields, Scalar, Text
from lab_workload.yaml_source import Source, read_fields

SWEEPS = CONFIGS / "sweeps"
REMEDY = "docs/methodology.md, Claims of published figures, describes the fields."

Form = Literal["quick", "full"]
"""Whether the short form of the sweep runs (``--quick``), or all of it."""

Document = Literal["iitb-2019", "r3-results", "r3-sizing", "r3-blog-2020", "r3-attachments-2020", "coconut"]
"""The documents of ``docs/reproduction.md``."""

SAME_X, BY_PEAK = "x", "x / peak"
Said = Annotated[Text | int | float, expected("text or a number")]


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
    beside: Annotated[
        Literal["x", "x / peak"] | Annotated[dict[Column, dict[str, Scalar]], Field(min_length=1, max_length=1)] | None,
        expected(f"{SAME_X} or {BY_PEAK}, or a column with our x for its values, as in {{workload: {{A: a}}}}"),
    ] = None
    """Where the rows stand in the chart that has ours too. None: they are not in it."""

    @property
    def wanted(self) -> dict[str, object]:
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

    published: Said
    here: Said
    because: Text
    touches: Annotated[list[Text] | Literal["absolute"], expected("a list of claims, or absolute")]

    @property
    def touched(self) -> str:
        if isinstance(self.touches, str):
            return "absolute values only"
        return ", ".join(self.touches) or "no claim"


class FigureFields(Fields):
    title: Text
    source: SourceFields
    words: Annotated[list[SentenceFields], Field(min_length=1)]
    conditions: Text
    published: list[PublishedFields] = Field(default_factory=list)
    sweep: Text
    chart: ChartFields
    claims: Annotated[list[AnyClaim], Field(min_length=1)]
    deviations: list[DeviationFields]

    def document_of(self, claim: Claim) -> Document:
        """Return the document of the sentence that a claim is about; that of the figure for one of ours."""
        own = self.words[claim.says - 1].document if isinstance(claim.says, int) else None
        return own or self.source.document

    @property
    def rows(self) -> list[Row]:
        """The published values that the figure names, in the order of ``published.csv``."""
        return [row for row in read_published() if any(fits(row, entry.wanted) for entry in self.published)]


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
    over = getattr(claim, "over", None)
    on_x = {resolved(name, plan.axes) for name in names_in(over)} if over else set()
    by = chart.by
    # A named step has one number on the axis, so whoever names the number names the step.
    names = {str(by), AT} if by == STEP else {str(by)}
    if by is None or by not in plan.axes or names & on_x:
        return claim
    return claim.on_curve(names, {by: plan.axes[by][0]})


def unresolved(claim: Claim, plan: Plan) -> str:
    """Return why the points of a sweep would not give the number of a claim; empty if they would."""
    above = claim.points("above") if "above" in claim.POINTS else {}
    points = [
        # What is taken off every y is less than it.
        Point(values=dict(values), metrics=dict.fromkeys(claim.metrics, 1.0 if above and fits(values, above) else 2.0))
        for values in plan.points
    ]
    try:
        claim.number(points, plan)
    except NoValue as error:
        return str(error)
    return ""


# Reading.


def read_figure(path: Path, sweeps: Path = SWEEPS) -> Figure:
    """Read a figure file and its sweep. Raises LabError with all its problems."""
    try:
        data, source = read_fields(path)
        fields = FigureFields.model_validate(data)
    except ValidationError as error:
        problems = [_field_problem(detail, source) for detail in error.errors(include_url=False)]
        raise LabError(problems=in_file_order(problems), remedy=REMEDY) from None
    except WorkloadError as error:
        raise LabError(problems=error.problems, remedy=REMEDY) from None
    known = sorted(file.stem for file in sweeps.glob("*.yaml"))
    if fields.sweep not in known:
        text = f"there is no sweep {fields.sweep!r}{did_you_mean(fields.sweep, known)}"
        raise LabError(problems=[source.problem(("sweep",), text)], remedy=REMEDY)
    sweep = read_sweep(sweeps / f"{fields.sweep}.yaml")
    if problems := [source.problem(*conflict) for conflict in _conflicts(fields, plan_of(sweep))]:
        raise LabError(problems=in_file_order(problems), remedy=REMEDY)
    return Figure(path.stem, fields, sweep)


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


def _field_problem(detail: Any, source: Source) -> Problem:
    kind = next((part for part in detail["loc"] if part in KINDS), None)
    location: Location = tuple(part for part in detail["loc"] if part != kind)
    known = known_fields(FigureFields, location[:-1]) if kind is None else known_fields(KINDS[kind], location[2:-1])
    if detail["type"] == "too_short":
        return source.problem(location, "must not be empty")
    of_other_kinds = {name for other in KINDS.values() for name in known_fields(other, ())}
    if detail["type"] == "extra_forbidden" and kind and len(location) == 3 and location[-1] in of_other_kinds:
        return source.problem(location, f"does not belong to {kind}")
    return field_problem({**detail, "loc": location}, source, known)


# What does not fit together: places in the file, each with what is wrong.

Conflicts = Iterator[tuple[Location, str]]


def _conflicts(fields: FigureFields, plan: Plan) -> Conflicts:
    chart = fields.chart
    for index, named in enumerate(fields.published):
        yield from _within(_of_published(named, chart, plan), "published", index)
    axes = dict.fromkeys(filter(None, (chart.x, chart.by)), FIRST)
    yield from _within(_of_point(axes, plan), "chart")
    yield from _within(_of_point(chart.anchor, plan), "chart", "anchor")
    names = [claim.name for claim in fields.claims]
    for index, claim in enumerate(fields.claims):
        if claim.name in names[:index]:
            yield ("claims", index, "name"), f"{claim.name!r} is used twice"
        if isinstance(claim.says, int) and claim.says > len(fields.words):
            text = f"there is no sentence {claim.says} in words, which has {len(fields.words)}"
            yield ("claims", index, "says"), text
        yield from _within(_of_claim(claim, chart, plan), "claims", index)
        yield from _within(_of_check(claim, fields, plan), "claims", index, "on_published")
    for index, deviation in enumerate(fields.deviations):
        for number, name in enumerate(deviation.touches if isinstance(deviation.touches, list) else []):
            if name not in names:
                yield ("deviations", index, "touches", number), f"there is no claim {name!r}{did_you_mean(name, names)}"


def _within(conflicts: Conflicts, *place: str | int) -> Conflicts:
    return (((*place, *location), text) for location, text in conflicts)


def _of_claim(claim: Claim, chart: ChartFields, plan: Plan) -> Conflicts:
    """Yield what the sweep does not have. A claim that cannot be tested here may name other points."""
    if claim.needs is not None:
        return
    found = [conflict for name in claim.POINTS for conflict in _within(_of_point(claim.points(name), plan), name)]
    known = {*plan.axes, *(name for values in plan.constants.values() for name in values)}
    for name in names_in(getattr(claim, "over", "0")):
        if resolved(name, known) is None:
            found.append((("over",), f"{name} is neither in vary nor set by the sweep{did_you_mean(name, known)}"))
    yield from found
    if not found and (why := unresolved(on_curve(claim, chart, plan), plan)):
        yield (), why


def _of_point(wanted: Mapping[str, object], plan: Plan) -> Conflicts:
    """Yield which names and values of a point the sweep does not have."""
    for key, value in wanted.items():
        known = [text_of(each) for each in plan.axes.get(key, [])]
        if not known:
            hint = did_you_mean(key, plan.axes) or f"; choose from {', '.join(plan.axes) or 'nothing'}"
            yield (key,), f"does not vary in the sweep{hint}"
            continue
        for each in any_of(value):
            if each not in (FIRST, LAST, BEST) and text_of(each) not in known:
                yield (key,), f"{each!r} is not in the sweep's {key}, which has {', '.join(known)}"


def _of_check(claim: Claim, fields: FigureFields, plan: Plan) -> Conflicts:
    """Yield why the check of a claim on the published values cannot be made."""
    if not isinstance(claim, Number) or claim.on_published is None:
        return
    of, to = (claim.points(name) if name in claim.POINTS else {} for name in ("of", "to"))
    differing = [key for key in {**of, **to} if key != fields.chart.x and of.get(key) != to.get(key)]
    differing += ["the metrics"] if len({*claim.metrics}) > 1 else []
    if not fields.published:
        yield (), "the figure has no published rows; name them in published"
    elif differing and claim.on_published.of is None:
        yield (), f"needs of and to, which rows they are: the points differ in {' and '.join(differing)}"
    else:
        try:
            published_number(claim, fields.chart.x, fields.rows, plan)
        except NoValue as error:
            yield (), str(error)


def _of_published(named: PublishedFields, chart: ChartFields, plan: Plan) -> Conflicts:
    """Yield which published rows do not exist, or have no place beside ours."""
    if not any(fits(row, named.wanted) for row in read_published()):
        ids = {row["id"] for row in read_published()}
        hint = "" if named.id in ids else did_you_mean(named.id, ids)
        yield (), f"no row of published.csv has {label_of(named.wanted)}{hint}"
    if isinstance(named.beside, dict):
        ((column, places),) = named.beside.items()
        values = {str(row[column]) for row in read_published() if row["id"] == named.id}
        for given, x in places.items():
            if given not in values:
                yield ("beside", column), f"no row of {named.id} has {column} {given!r}"
            yield from _within(_of_point({chart.x: x}, plan), "beside", column)
    elif named.beside is not None and named.x is None:
        yield ("beside",), "the rows have no x; name our x for the values of a column"


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
