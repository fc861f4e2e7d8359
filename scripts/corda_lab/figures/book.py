"""The book of all figures, made from the committed repeats: ``docs/reproduction.md``, its pictures, and a page."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corda_lab import atomic
from corda_lab.figures import charts, document, page, summary
from corda_lab.figures.contents import Book
from corda_lab.figures.file import Figure
from corda_lab.figures.judged import Judged, latest
from corda_lab.figures.repeat import Repeat
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE, REPRODUCTION, RESULTS
from corda_lab.report import chart as report_chart
from corda_lab.report import page as report_page
from corda_lab.report import print_charts
from corda_lab.report.chart import Chart

PICTURES = "img"
"""Folder of the pictures, in that of the repeats."""
PAGES = "reproduction"
"""Folder of the pages of all figures, in that of the results."""
HTML = "reproduction.html"
DIGEST_LENGTH = 16


@dataclass(frozen=True)
class Places:
    """Where the parts of the book are."""

    repeats: Path = REPRODUCTION
    results: Path = RESULTS

    @property
    def document(self) -> Path:
        """``docs/reproduction.md``."""
        return self.repeats.with_suffix(".md")

    @property
    def pictures(self) -> Path:
        """``docs/reproduction/img``."""
        return self.repeats / PICTURES

    def picture(self, name: str) -> Path:
        """The picture of a figure."""
        return self.pictures / f"{name}.svg"


def of(figures: Sequence[Figure], repeats: Sequence[Repeat]) -> Book:
    """Return the content of the book. It depends on the files of the checkout only, not on this machine."""
    settings: Settings = load_settings(ENV_FILE, {})
    return Book(tuple(latest(figure, repeats) for figure in figures), settings)


def text(figures: Sequence[Figure], repeats: Sequence[Repeat]) -> str:
    """Return ``docs/reproduction.md``."""
    return document.text(of(figures, repeats), f"{PAGES}/{PICTURES}")


def write(figures: Sequence[Figure], repeats: Sequence[Repeat], places: Places | None = None) -> list[Path]:
    """Write the document, its pictures, and the pages. Returns the paths of document and page."""
    places = places or Places()
    book = of(figures, repeats)
    draw(book.figures, places)
    atomic.write_text(places.document, text(figures, repeats))
    pages = places.results / PAGES
    for one in book.figures:
        page.write(one, pages)
    html = places.results / HTML
    atomic.write_text(html, report_page.html("reproduction.html", content(book)))
    return [places.document, html]


def draw(found: Sequence[Judged], places: Places) -> list[Path]:
    """Draw the pictures of all figures that were measured, and delete those of others. Raises LabError."""
    drawn = []
    for one in found:
        if one.repeats:
            chart = picture_of(one)
            drawn += print_charts.write_charts(
                [chart], places.pictures, suffixes=("svg",), description=picture_digest(chart)
            )
    for path in places.pictures.glob("*.svg"):
        if path not in drawn:
            path.unlink()
    return drawn


def picture_of(one: Judged) -> Chart:
    """Return the chart that is the picture of a figure: both curves in one, or ours if none is published."""
    has_published = any(charts.published(one))
    chart = charts.both(one) if has_published else charts.here(one)
    return replace(chart, id=one.name, width="")


def picture_digest(chart: Chart) -> str:
    """Return the digest of what a picture shows. It is in the description of the file."""
    shown = report_chart.to_script(chart.as_dict())
    return f"digest {hashlib.sha256(shown.encode()).hexdigest()[:DIGEST_LENGTH]}"


def content(book: Book) -> dict[str, object]:
    """Return what the template of the page shows."""
    drawn = [replace(picture_of(one), title=one.name) for one in book.figures if one.repeats]
    return {
        "book": book,
        "total": book.total,
        "titles": summary.TITLES,
        "charts": drawn,
        "pages": PAGES,
        "data": {"charts": [chart.as_dict() for chart in drawn], "spans": []},
    }
