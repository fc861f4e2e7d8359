"""Reads figure files, together with the sweep that each of them judges."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from corda_lab.errors import LabError
from corda_lab.figures.checks import field_problems, figure_problems
from corda_lab.figures.published import FIGURES, PublishedRow, read_published
from corda_lab.figures.schema import FigureFields, PublishedFields
from corda_lab.figures.statistic import fits
from corda_lab.figures.store import SweepNames, names_of
from corda_lab.paths import CONFIGS, REPRODUCTION, RESULTS
from corda_lab.sweeps.file import SweepFile, read_sweep
from lab_workload.names import did_you_mean
from lab_workload.problems import Problem, WorkloadError, in_file_order
from lab_workload.yaml_source import Source, read_fields

SWEEPS = CONFIGS / "sweeps"


@dataclass(frozen=True)
class Figure:
    """A valid figure file, and the sweep that it names."""

    name: str
    """The file's name without its suffix."""
    fields: FigureFields
    sweep: SweepFile
    source: Source
    text: str

    @property
    def rows(self) -> tuple[PublishedRow, ...]:
        """The published values that the figure names."""
        return rows_of(self.fields, read_published())


def rows_of(fields: FigureFields, rows: Iterable[PublishedRow]) -> tuple[PublishedRow, ...]:
    """Return the rows that a figure names, in the order of the file."""
    return tuple(row for row in rows if any(is_named(row, named) for named in fields.published))


def is_named(row: PublishedRow, named: PublishedFields) -> bool:
    """Return whether a row is one of those that an entry of ``published`` names: its id, its axes, and what else."""
    axes = (row.id, row.x_name, row.metric) == (named.id, named.x or "", named.y)
    return axes and fits(row.columns, named.where)


def read_figure(path: Path, sweeps: Path = SWEEPS) -> Figure:
    """Read a figure file and its sweep. Raises LabError with all its problems."""
    try:
        return _read(path, sweeps)
    except WorkloadError as error:
        raise LabError(
            problems=error.problems, remedy="docs/methodology.md, Claims of published figures, describes the fields."
        ) from None


def by_sweep(figures: Iterable[Figure]) -> Mapping[str, Sequence[Figure]]:
    """Return the figures that each sweep serves, by the name of the sweep."""
    found: dict[str, list[Figure]] = {}
    for figure in figures:
        found.setdefault(figure.fields.sweep, []).append(figure)
    return found


def metrics_of(figures: Iterable[Figure]) -> list[str]:
    """Return the names of all metrics that figures use, in their charts and claims, sorted."""
    fields = [figure.fields for figure in figures]
    claims = [claim for each in fields for claim in each.claims]
    return sorted({*(each.chart.y for each in fields), *(name for claim in claims for name in claim.metrics)})


def _read(path: Path, sweeps: Path) -> Figure:
    data, source = read_fields(path)
    try:
        fields = FigureFields.model_validate(data)
    except ValidationError as error:
        raise WorkloadError(field_problems(error, source)) from None
    sweep, names = _sweep(fields, sweeps, source)
    problems = figure_problems(fields, names, rows_of(fields, read_published()), source)
    if problems:
        raise WorkloadError(in_file_order(problems))
    return Figure(path.stem, fields, sweep, source, path.read_text(encoding="utf-8"))


def _sweep(fields: FigureFields, sweeps: Path, source: Source) -> tuple[SweepFile, SweepNames]:
    path = sweeps / f"{fields.sweep}.yaml"
    known = sorted(one.stem for one in sweeps.glob("*.yaml"))
    if fields.sweep not in known:
        text = f"there is no sweep {fields.sweep!r}{did_you_mean(fields.sweep, known)}"
        raise WorkloadError(source.problem(("sweep",), text))
    sweep = read_sweep(path)
    return sweep, names_of(sweep)


@dataclass(frozen=True)
class Places:
    """The folders of ``lab reproduce``. Tests have their own."""

    figures: Path = FIGURES
    sweeps: Path = SWEEPS
    repeats: Path = REPRODUCTION
    results: Path = RESULTS

    @property
    def document(self) -> Path:
        """``docs/reproduction.md``."""
        return self.repeats.with_suffix(".md")

    @property
    def pictures(self) -> Path:
        """The folder of the pictures of the document."""
        return self.repeats / "img"

    @property
    def pages(self) -> Path:
        """The folder of the pages of all figures."""
        return self.results / "reproduction"

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

    def find_figure(self, name: str) -> Figure:
        """Read the figure of a name. Raises LabError if there is none, or if its file is not valid."""
        known = sorted(path.stem for path in self.figures.glob("*.yaml"))
        if name not in known:
            raise LabError(
                f"There is no figure {name!r}{did_you_mean(name, known)}",
                "`./scripts/lab reproduce list` lists all figures.",
            )
        return read_figure(self.figures / f"{name}.yaml", self.sweeps)

    @classmethod
    def of_figure(cls, name: str) -> "tuple[Places, str]":
        """Return the folders and the name of a figure. A path of a file of one's own has its sweeps beside it."""
        path = Path(name)
        if path.suffix != ".yaml" or not path.is_file():
            return cls(), name
        sweeps = path.resolve().parent / "sweeps"
        return cls(figures=path.resolve().parent, sweeps=sweeps if sweeps.is_dir() else SWEEPS), path.stem
