"""The page of a figure, and the book of all: ``docs/reproduction.md`` with its pictures, from the committed repeats."""

from collections.abc import Sequence
from pathlib import Path

from corda_lab import atomic
from corda_lab.analysis.metrics import metric
from corda_lab.figures import curves, repeats, words
from corda_lab.figures.figure import TITLES, Figure, Places
from corda_lab.figures.judge import Judged, judge, measure_command
from corda_lab.figures.repeats import REPEATS_MIN, Repeat, kept
from corda_lab.report import drawing, page, rendering
from corda_lab.stats.intervals import CONFIDENCE


def judged_figures(figures: Sequence[Figure], stored: Sequence[Repeat]) -> list[Judged]:
    """Return all figures, each judged from the stored repeats that count."""
    of_figures = [(figure, kept(figure, stored)) for figure in figures]
    return [judge(figure, own.chosen, own.outdated) for figure, own in of_figures]


def text(figures: Sequence[Judged], places: Places) -> str:
    """Return ``docs/reproduction.md``."""
    rendered = rendering.template("reproduction.jinja", {"cell": cell, "plain": plain}).render(
        figures=figures,
        pictures=places.pictures.relative_to(places.document.parent).as_posix(),
        words=words,
        repeats=repeats,
        titles=TITLES,
        has_picture=has_picture,
        measure_command=measure_command,
        confidence=CONFIDENCE,
        repeats_min=REPEATS_MIN,
    )
    return rendered.rstrip() + "\n"


def plain(text: str) -> str:
    """Return text on one line, without what would be read as HTML."""
    return " ".join(text.split()).replace("<", "&lt;").replace(">", "&gt;")


def cell(content: object) -> str:
    """Return text as it stands in a cell: a dash if there is none, without what would end the cell."""
    return plain(str(content)).replace("|", "\\|") or "–"


def write(places: Places) -> list[Path]:
    """Write the document, its pictures, and the pages of all figures. Returns the document and the folder of pages."""
    figures = judged_figures(places.read_figures(), repeats.read(places.repeats))
    drawn = [curves.chart_of(judged) for judged in figures if has_picture(judged)]
    paths = drawing.write(drawn, places.pictures, suffixes=("svg",))
    for path in places.pictures.glob("*.svg"):
        if path not in paths:
            path.unlink()
    atomic.write_text(places.document, text(figures, places))
    for judged in figures:
        write_page(judged, places.results / "reproduction")
    return [places.document, places.results / "reproduction"]


def has_picture(judged: Judged) -> bool:
    return not curves.measured(judged).is_empty()


def write_page(judged: Judged, folder: Path, *, report: str | None = None) -> Path:
    """Write the page of a figure into a folder and return its path. ``report`` is the link to the run's own report."""
    content = {
        "judged": judged,
        "fields": judged.figure.fields,
        "words": words,
        "repeats": repeats,
        "titles": TITLES,
        "chart": curves.chart_of(judged),
        "measured": curves.measured(judged).to_dicts(),
        "unit": metric(judged.figure.fields.chart.y).unit,
        "command": measure_command(judged.name, judged.form),
        "report": report,
    }
    path = folder / f"{judged.name}.html"
    atomic.write_text(path, page.html("figure.html", content))
    return path
