"""The book and the page of a figure say of every claim what was found and how to find it again."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from corda_lab.figures import book, curves, repeats
from corda_lab.figures.book import Book, cell, command_of
from corda_lab.figures.figure import Places
from corda_lab.figures.judge import Judged, judge
from corda_lab.figures.measure import collect
from corda_lab.figures.repeats import Calibration, Repeat, Spoilt, digest_of
from corda_lab.paths import ROOT
from corda_lab.results.stored import StoredRun
from support import figures
from support.figures import FIGURE, SWEEP, with_latency_only, write_figures
from support.pages import places as chart_places
from support.pages import without_scripts

WRITE = "write it again: scripts/lab reproduce book"
PUBLISHED = Places(repeats=ROOT / "docs" / "reproduction")


@pytest.fixture(scope="module")
def published() -> Book:
    return book.of(PUBLISHED.read_figures(), repeats.read(PUBLISHED.repeats))


def test_the_published_document_is_that_of_the_committed_repeats(published: Book) -> None:
    assert book.text(published, PUBLISHED) == PUBLISHED.document.read_text(encoding="utf-8"), WRITE


def test_the_published_pictures_are_those_of_the_committed_repeats(published: Book) -> None:
    expected = {one.name: book.picture(one).digest for one in published.figures if book.shown(one)}
    drawn = {path.stem: path.read_text(encoding="utf-8") for path in PUBLISHED.pictures.glob("*.svg")}
    assert drawn.keys() == expected.keys(), WRITE
    assert [name for name, digest in expected.items() if digest not in drawn[name]] == [], WRITE


def test_no_note_of_a_measured_figure_is_older_than_its_repeats(published: Book) -> None:
    """A hidden one has to be read again, beside the repeats of now, and dated anew or taken out."""
    hidden = [verdict.claim.name for _, verdict in published.claims if verdict.claim.found and not verdict.found]
    assert hidden == []


OTHER = (
    FIGURE.replace("document: iitb-2019", "document: r3-results")
    .replace("on_published: {at: {x: 60}, verdict: held}", "on_published: {at: {x: 60}, verdict: did not hold}")
    .replace("within: [null, 10]", "within: [null, 5]")
    .replace("{enterprise: true}", "{software: Braid}")
)
"""Its second claim does not hold on the published values."""


@pytest.fixture
def stored(bursts: StoredRun) -> Sequence[Repeat]:
    return collect(bursts, ["p50", "throughput"]).repeats


Written = Callable[..., str]


@pytest.fixture
def written(places: Places) -> Written:
    """Writes the book of figures and repeats, and returns a section of it."""

    def write(title: str, files: dict[str, str], stored: Sequence[Repeat] = (), sweep: str = SWEEP) -> str:
        write_figures(places.figures, files, sweep)
        text = book.text(book.of(places.read_figures(), stored), places)
        match = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", text, re.DOTALL | re.MULTILINE)
        assert match is not None, title
        return match[1]

    return write


def rows(text: str) -> list[list[str]]:
    """The cells of the tables in a text, without their titles."""
    tables = re.findall(r"(?m)^\|.*\n\|[-|]+\n((?:\|.*\n)*)", text)
    return [line.strip("| ").split(" | ") for table in tables for line in table.splitlines()]


def test_every_figure_is_a_row_with_its_claims_as_a_bar(written: Written, stored: Sequence[Repeat]) -> None:
    text = written("Results", {"one": FIGURE, "two": OTHER}, stored)
    assert "2 figures, 6 claims: 2 held, 2 did not hold, 2 not testable here." in text
    first, second = rows(text)
    assert first[:5] == ["[one](#one)", "IIT Bombay 2019", "●○–", "full", "3"]
    assert first[6] == "A processor of some kind, 2 cores, 26 GB"
    assert second[1] == "R3, results"


@pytest.mark.parametrize(("date", "signs"), [("2026-11-28", "●†○–"), ("2023-01-01", "●○–")])
def test_a_claim_with_a_note_is_marked_unless_a_repeat_is_newer(
    written: Written, stored: Sequence[Repeat], date: str, signs: str
) -> None:
    note = f"    found: {{date: {date}, text: It was asleep.}}\n    on_published: {{of: {{x: 70}}"
    noted = {"one": FIGURE.replace("    on_published: {of: {x: 70}", note)}
    assert rows(written("Results", noted, stored))[0][2] == signs
    assert ("It was asleep." in written("one", noted, stored)) == ("†" in signs)


def test_a_claim_counts_to_the_document_that_has_its_sentence(written: Written) -> None:
    sentence = "Open-source Corda struggles to cross 10 TPS."
    other = FIGURE.replace(f"- {sentence}", f"- {{document: r3-blog-2020, text: {sentence}}}\n  - It is not tested.")
    text = written("Documents", {"one": other})
    assert [line[:3] for line in rows(text)] == [["IIT Bombay 2019", "1", "2"], ["R3, blog 2020", "1", "1"]]
    assert "The figures add up to 2 for 1, because one has claims about more than one document." in text
    text = written("one", {"one": other})
    assert f"> 2. {sentence} *(in R3, blog 2020)*\n> 3. It is not tested. *(no claim)*\n" in text


def test_what_cannot_be_tested_is_sorted_by_reason(written: Written) -> None:
    assert rows(written("Not testable here", {"one": FIGURE, "two": OTHER})) == [
        ["two", "firewall", "needs Braid, which is not part of the lab", "none"],
        ["one", "firewall", "needs Corda Enterprise", "`CORDA_IMAGE=<your image> ./scripts/lab reproduce one`"],
    ]


def test_what_the_published_values_do_not_carry_is_said(written: Written) -> None:
    close = FIGURE.replace("within: [null, 10]", "within: [null, 8.6199]").replace(
        "{at: {x: 60}, verdict: held}", "{at: {x: 60}, verdict: cannot tell}"
    )
    text = written("What the published values do not carry", {"one": close, "two": OTHER})
    apart, _, close_ones = text.partition("These cannot be told from the published values:")
    assert [(row[0], row[1], *row[-3:-1]) for row in rows(apart)] == [
        ("two", "below ten", "8.62 flows/s, did not hold", "at most 5 flows/s")
    ]
    assert [row[0] for row in rows(close_ones)] == ["one"]


def test_a_deviation_that_two_figures_have_stands_once_or_with_its_claims(written: Written) -> None:
    files = {"one": FIGURE, "two": OTHER}
    assert rows(written("Deviations that touch no claim", files)) == [
        ["three machines", "one machine", "one workstation", "one, two"]
    ]
    assert written("two", files).rstrip().endswith("because two parties are enough. Touches: rises.")


def test_every_figure_can_be_checked_with_one_command(written: Written, stored: Sequence[Repeat]) -> None:
    text = written("How to check this book", {"one": FIGURE, "two": OTHER}, stored)
    first, second = rows(text)
    assert first[:2] == ["one", "`./scripts/lab reproduce one`"]
    # Both figures have the same sweep, which counts once.
    assert second[2:4] == ["with one", "with one"]
    assert f"take {first[2]} in the short form and {first[3]} in full." in " ".join(text.split())
    assert "corda-lab/node:4.10 (abababababab)" in text


def test_the_command_of_a_figure_is_that_of_its_form(published: Book) -> None:
    commands = {one.name: command_of(one) for one in published.figures}
    assert commands["iitb-cpu"] == "./scripts/lab reproduce iitb-cpu --quick"
    assert commands["r3-flow-threads"].startswith("CORDA_IMAGE=<your image> ")


def test_every_claim_and_repeat_is_told(written: Written, stored: Sequence[Repeat]) -> None:
    timed = [one.model_copy(update={"calibration": Calibration(before=4.0, after=4.2)}) for one in stored]
    timed[0] = timed[0].model_copy(update={"spoilt": [Spoilt(repeat=4, why="the machine's speed moved")]})
    added = FIGURE.replace("- name: rises", "- name: rises\n    added: 2026-11-28")
    text = written("one", {"one": added}, timed)
    assert "> 1. The throughput rises with the &lt;b&gt;load&lt;/b&gt; and then it is flat." in text
    assert f"- Repeat 4 of {stored[0].run} was not counted: the machine's speed moved." in text
    assert "- *rises* (added on 28 Nov 2026, after the first run): throughput: shape.database h2, load.users" in text
    *measured, held, did_not, untested = rows(text)
    commit = "0.2.0 at 0123456789ab with uncommitted changes"
    assert [row[1:4] for row in measured] == [["A processor of some kind, 2 cores, 26 GB", "4.00 to 4.20", commit]] * 3
    assert (*held[:3], *held[4:6]) == ("rises", "1", "4.15 ×, held", "2 or more", "held")
    assert did_not[5] == "did not hold"
    assert (untested[1], *untested[5:]) == ("ours", "not testable here")


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


def test_values_that_no_repeat_has_are_told(written: Written, stored: Sequence[Repeat]) -> None:
    text = written("one", {"one": FIGURE}, [with_latency_only(one) for one in stored])
    assert "0 of 3 repeats have a value for it; shape.database h2, load.users 16: has no throughput" in text


def test_a_cell_ends_where_it_should() -> None:
    assert (cell("a | b"), cell(""), cell("<b>"), cell("`<b>`")) == ("a \\| b", "–", "&lt;b&gt;", "`<b>`")


# The page.


@pytest.fixture(scope="module")
def judged(bursts: StoredRun) -> Judged:
    (figure,) = figures.read(bursts.folder.parent.parent / "figures")
    return judge(figure, collect(bursts, ["p50", "throughput"]).repeats)


def page_of(judged: Judged, folder: Path, report: str | None = None) -> str:
    return book.write_page(judged, folder, report=report).read_text(encoding="utf-8")


def test_the_page_has_words_charts_claims_and_the_command(judged: Judged, tmp_path: Path) -> None:
    html = page_of(judged, tmp_path, report="report.html")
    text = " ".join(re.sub(r"<[^>]+>", " ", without_scripts(html)).split())
    assert "<h1>1 held, 1 did not hold, 1 not testable here</h1>" in html
    assert "<q>The throughput rises with the &lt;b&gt;load&lt;/b&gt; and then it is flat.</q>" in html
    (theirs,) = curves.published(judged)
    assert chart_places(html) == [theirs.id, curves.here(judged).id, curves.both(judged).id]
    assert 'href="report.html"' in html
    for shown in (
        "2 vCPU E5-2699C",
        "Corda 3.3, H2, heap 4 GB",
        "PartyC accepts PartyB accepts two parties are enough rises",
        "firewall needs Corda Enterprise: CORDA_IMAGE=&lt;your image&gt; ./scripts/lab reproduce one",
        "./scripts/lab reproduce one copy",
        "20260102T030405Z-bursts, repeat 2",
    ):
        assert shown in text
    # It opens offline.
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"(?!data:)", html)


def test_each_claim_of_the_page_is_a_row(judged: Judged, tmp_path: Path) -> None:
    html = re.sub(r"<small>.*?</small>", "", page_of(judged, tmp_path))
    found = [
        [re.sub(r"<[^>]+>", " ", cell).strip() for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in re.findall(r"<tr>(<th scope=\"row\">.*?)</tr>", html, re.DOTALL)
    ]
    rises, below, firewall = (row for row in found if len(row) == 7)
    assert re.fullmatch(r"3\.\d+ × \(3\.\d+ to 3\.\d+, n = 3\)", rises[3])
    assert (rises[2], *rises[4:]) == ("4.15 ×, held", "2 or more", "held", "3")
    assert below[4:6] == ["at most 10 flows/s", "did not hold"]
    assert (firewall[1], firewall[5]) == ("our own expectation", "not testable here")


def test_a_figure_without_repeats_and_published_values_has_a_page_too(tmp_path: Path) -> None:
    text = FIGURE.replace("published:\n  - {id: IIT-3.4, x: requests in 1s, y: throughput, by: edition}\n", "")
    (figure,) = figures.read(write_figures(tmp_path, {"one": re.sub(r"    on_published: .*\n", "", text)}))
    html = page_of(judge(figure, []), tmp_path)
    assert "<h1>1 not testable here, 2 not measured yet</h1>" in html
    assert "none: the source gives words only" in html
    assert "Report of the run" not in html
