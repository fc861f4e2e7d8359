"""The book and the page of a figure say of every claim what was found and how to find it again."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from corda_lab.figures import book, curves, repeats
from corda_lab.figures.book import cell
from corda_lab.figures.figure import Places
from corda_lab.figures.judge import Judged, judge
from corda_lab.figures.measure import collect
from corda_lab.figures.repeats import Repeat, digest_of
from corda_lab.paths import ROOT
from corda_lab.results.stored import StoredRun
from support import figures
from support.figures import FIGURE, SWEEP, write_figures
from support.pages import places as chart_places
from support.pages import without_scripts

WRITE = "write it again: scripts/lab reproduce book"
PUBLISHED = Places(repeats=ROOT / "docs" / "reproduction")


@pytest.fixture(scope="module")
def published() -> list[Judged]:
    return book.judged_figures(PUBLISHED.read_figures(), repeats.read(PUBLISHED.repeats))


def test_the_published_document_is_that_of_the_committed_repeats(published: list[Judged]) -> None:
    assert book.text(published, PUBLISHED) == PUBLISHED.document.read_text(encoding="utf-8"), WRITE


def test_the_published_pictures_are_those_of_the_committed_repeats(published: list[Judged]) -> None:
    expected = {one.name: curves.chart_of(one).digest for one in published if book.has_picture(one)}
    drawn = {path.stem: path.read_text(encoding="utf-8") for path in PUBLISHED.pictures.glob("*.svg")}
    assert drawn.keys() == expected.keys(), WRITE
    assert [name for name, digest in expected.items() if digest not in drawn[name]] == [], WRITE


def test_no_note_of_a_measured_figure_is_older_than_its_repeats(published: list[Judged]) -> None:
    """A hidden one has to be read again, beside the repeats of now, and dated anew or taken out."""
    verdicts = [verdict for judged in published for verdict in judged.verdicts]
    assert [verdict.claim.name for verdict in verdicts if verdict.claim.found and not verdict.found] == []


OTHER = FIGURE.replace("document: iitb-2019", "document: r3-results").replace("{enterprise: true}", "{other: Braid}")
CLOSE = FIGURE.replace("within: [null, 10]", "within: [null, 8.6199]")
"""A region of which the published value is at the end."""


@pytest.fixture
def stored(bursts: StoredRun) -> Sequence[Repeat]:
    return collect(bursts, ["p50", "throughput"]).repeats


Written = Callable[..., str]


@pytest.fixture
def written(places: Places) -> Written:
    """Writes the book of figures and repeats, and returns a section of it."""

    def write(title: str, files: dict[str, str], stored: Sequence[Repeat] = (), sweep: str = SWEEP) -> str:
        write_figures(places.figures, files, sweep)
        text = book.text(book.judged_figures(places.read_figures(), stored), places)
        match = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", text, re.DOTALL | re.MULTILINE)
        assert match is not None, title
        return match[1]

    return write


def rows(text: str) -> list[list[str]]:
    """The cells of the tables in a text, without their titles."""
    tables = re.findall(r"(?m)^\|.*\n\|[-|]+\n((?:\|.*\n)*)", text)
    return [line.strip("| ").split(" | ") for table in tables for line in table.splitlines()]


def test_every_figure_is_a_row_with_its_claims_by_verdict(written: Written, stored: Sequence[Repeat]) -> None:
    text = written("Results", {"one": FIGURE, "two": OTHER}, stored)
    assert "2 figures, 6 claims: 2 held, 2 did not hold, 2 not testable here." in text
    first, second = rows(text)
    assert first[:8] == ["[one](#one)", "IIT Bombay 2019", "1", "1", "–", "1", "–", "3 full"]
    assert second[1] == "R3, results"


def test_what_cannot_be_tested_and_what_the_published_values_do_not_carry(written: Written) -> None:
    assert [row[:3] for row in rows(written("Not testable here", {"one": FIGURE, "two": OTHER}))] == [
        ["one", "firewall", "needs Corda Enterprise"],
        ["two", "firewall", "needs Braid"],
    ]
    (row,) = rows(written("What the published values do not carry", {"one": CLOSE, "two": OTHER}))
    assert row[:2] == ["one", "below ten"]
    assert row[3].endswith("cannot tell")


def test_every_claim_and_repeat_is_told(written: Written, stored: Sequence[Repeat]) -> None:
    timed = [one.model_copy(update={"calibration": [4.0, 4.2]}) for one in stored]
    timed[0] = timed[0].model_copy(update={"spoilt": {4: "the machine's speed moved"}})
    added = FIGURE.replace("- name: rises", "- name: rises\n    added: 2026-11-28")
    text = written("one", {"one": added}, timed)
    assert "> 1. The throughput rises with the &lt;b&gt;load&lt;/b&gt; and then it is flat." in text
    assert f"- not counted: repeat 4 of {stored[0].run}: the machine's speed moved" in text
    assert "- *rises* (added on 2026-11-28, after the first run): ratio of throughput: of shape.database h2" in text
    assert "- command: `./scripts/lab reproduce one`" in text
    cells = rows(text)
    machine, images, commit = (
        "A processor of some kind, 2 cores, 26 GB",
        "corda-lab/node:4.10 (abababababab)",
        "0.2.0 at 0123456789ab with uncommitted changes",
    )
    assert [row[1:5] for row in cells[:3]] == [[machine, images, "4.0 to 4.2", commit]] * 3
    held, did_not, untested = cells[3:6]
    assert (*held[:2], *held[4:6]) == ("rises", "1", "2 or more", "held")
    assert did_not[5] == "did not hold"
    assert (untested[1], untested[5]) == ("ours", "not testable here")
    assert [row[3] for row in cells[6:]] == ["absolute", "rises"]


def test_repeats_that_share_a_start_are_marked(written: Written, places: Places, stored: Sequence[Repeat]) -> None:
    shared = SWEEP.replace("repeats: 3", "repeats: 3\nfresh: shape")
    written("one", {"one": FIGURE}, sweep=shared)
    (figure,) = places.read_figures()

    def told(form: str, runs: Sequence[str]) -> str:
        digest = digest_of(figure.in_form("quick" if form == "quick" else "full"))
        own = {"sweep_digest": digest, "form": form}
        given = [one.model_copy(update={**own, "run": run}) for one, run in zip(stored, runs, strict=True)]
        return written("one", {"one": FIGURE}, given, sweep=shared)

    assert "n = 3, one start)" in told("quick", ["a"] * 3)
    assert "n = 3)" in told("quick", ["a", "a", "b"])
    # The labs of the whole sweep have two shapes.
    assert "n = 3)" in told("full", ["a"] * 3)


def test_a_cell_ends_where_it_should() -> None:
    assert (cell("a | b"), cell(""), cell("<b>")) == ("a \\| b", "–", "&lt;b&gt;")


# The page.


def page_of(judged: Judged, folder: Path, report: str | None = None) -> str:
    return book.write_page(judged, folder, report=report).read_text(encoding="utf-8")


def test_the_page_has_words_charts_claims_and_the_command(bursts: StoredRun, tmp_path: Path) -> None:
    (figure,) = figures.read(bursts.folder.parent.parent / "figures")
    judged = judge(figure, collect(bursts, ["p50", "throughput"]).repeats)
    html = page_of(judged, tmp_path, report="report.html")
    text = " ".join(re.sub(r"<[^>]+>", " ", without_scripts(html)).split())
    assert "<h1>1 held, 1 did not hold, 1 not testable here</h1>" in html
    assert "<q>The throughput rises with the &lt;b&gt;load&lt;/b&gt; and then it is flat.</q>" in html
    assert chart_places(html) == ["one"]
    assert 'href="report.html"' in html
    for shown in (
        "2 vCPU E5-2699C",
        "PartyC accepts PartyB accepts two parties are enough rises",
        "our own expectation",
        "./scripts/lab reproduce one copy",
        "20260102T030405Z-bursts, repeat 2",
    ):
        assert shown in text
    # It opens offline.
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"(?!data:)", html)


def test_a_figure_without_repeats_and_published_values_has_a_page_too(tmp_path: Path) -> None:
    text = FIGURE.replace("published:\n  - {id: IIT-3.4, x: requests in 1s, y: throughput, by: edition}\n", "")
    (figure,) = figures.read(write_figures(tmp_path, {"one": re.sub(r"    on_published: .*\n", "", text)}))
    html = page_of(judge(figure, []), tmp_path)
    assert "<h1>1 not testable here, 2 not measured yet</h1>" in html
    assert "The source gives words only." in html
    assert "Report of the run" not in html
