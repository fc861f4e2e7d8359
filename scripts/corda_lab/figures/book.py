"""The book of all figures, made from the committed repeats: ``docs/reproduction.md``, its pictures, and a page."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from corda_lab import atomic
from corda_lab.figures import charts, document, page, store
from corda_lab.figures.contents import Book
from corda_lab.figures.document import ERRORS, NOTE_LEGEND, OUTCOME_LEGEND, PICTURE_LEGEND
from corda_lab.figures.file import Figure, Places
from corda_lab.figures.forms import ESTIMATES
from corda_lab.figures.judged import Judged, latest
from corda_lab.figures.repeat import Repeat
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.report import chart as report_chart
from corda_lab.report import page as report_page
from corda_lab.report import print_charts
from corda_lab.report.chart import Chart

DIGEST_LENGTH = 16


def of(figures: Sequence[Figure], repeats: Sequence[Repeat]) -> Book:
    """Return the content of the book. It depends on the files of the checkout only, not on this machine."""
    return Book(tuple(latest(figure, repeats) for figure in figures), load_settings(ENV_FILE, {}))


def text(book: Book, places: Places) -> str:
    """Return ``docs/reproduction.md``."""
    return document.text(book, places.pictures.relative_to(places.document.parent).as_posix())


def write(places: Places) -> list[Path]:
    """Write the document, its pictures, and the pages. Returns the paths of document and page. Raises LabError."""
    book = of(places.read_figures(), store.read(places.repeats))
    draw(book.figures, places)
    atomic.write_text(places.document, text(book, places))
    for one in book.figures:
        page.write(one, places.pages)
    atomic.write_text(places.html, report_page.html("reproduction.html", content(book, places)))
    return [places.document, places.html]


def draw(found: Sequence[Judged], places: Places) -> list[Path]:
    """Draw the pictures of all figures that were measured, and delete those of others. Raises LabError."""
    drawn = []
    for one in found:
        if charts.is_drawn(one):
            chart = picture_of(one)
            drawn += print_charts.write_charts(
                [chart], places.pictures, suffixes=("svg",), description=picture_digest(chart)
            )
    for path in places.pictures.glob("*.svg"):
        if path not in drawn:
            path.unlink()
    return drawn


def picture_of(one: Judged) -> Chart:
    """Return the chart that is the picture of a figure: both curves in one, or ours if no published one is beside."""
    chart = charts.both(one) if charts.has_published(one) else charts.here(one)
    return replace(chart, id=one.name, width="")


def picture_digest(chart: Chart) -> str:
    """Return the digest of what a picture shows. It is in the description of the file."""
    shown = report_chart.to_script(chart.as_dict())
    return f"digest {hashlib.sha256(shown.encode()).hexdigest()[:DIGEST_LENGTH]}"


def content(book: Book, places: Places) -> Mapping[str, object]:
    """Return what the template of the page shows."""
    drawn = [replace(picture_of(one), title=one.name) for one in book.figures if charts.is_drawn(one)]
    return {
        "book": book,
        "total": book.total,
        "estimates": ESTIMATES,
        "note_legend": NOTE_LEGEND,
        "outcome_legend": OUTCOME_LEGEND,
        "picture_legend": PICTURE_LEGEND,
        "errors": f"The error of a published value: {ERRORS[:1].lower()}{ERRORS[1:]}",
        "charts": drawn,
        "pages": places.pages.name,
        "data": {"charts": [chart.as_dict() for chart in drawn], "spans": []},
    }
