"""The page of a figure says everything from the words of the source to the command that repeats it."""

import re
from pathlib import Path

import pytest

from corda_lab.figures import book, curves
from corda_lab.figures.judge import Judged, judged
from corda_lab.figures.measure import collect
from corda_lab.results.stored import StoredRun
from support import figures
from support.pages import places, without_scripts


@pytest.fixture(scope="module")
def found(bursts: StoredRun) -> Judged:
    (figure,) = figures.read(bursts.folder.parent.parent / "figures")
    return judged(figure, collect(bursts, ["p50", "throughput"]).repeats)


@pytest.fixture(scope="module")
def html(found: Judged, tmp_path_factory: pytest.TempPathFactory) -> str:
    return book.write_page(found, tmp_path_factory.mktemp("page"), report="report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def text(html: str) -> str:
    """The text of the page, in one line."""
    return " ".join(re.sub(r"<[^>]+>", " ", without_scripts(html)).split())


def test_the_first_line_is_the_verdict(html: str) -> None:
    assert "<h1>1 held, 1 did not hold, 1 not testable here</h1>" in html


def test_the_words_of_the_source_are_quoted_as_they_are(html: str) -> None:
    assert "<q>The throughput rises with the &lt;b&gt;load&lt;/b&gt; and then it is flat.</q>" in html


def test_published_and_measured_curves_stand_side_by_side_and_in_one_chart(found: Judged, html: str) -> None:
    (theirs,), ours = curves.published(found), curves.here(found)
    assert places(html) == [theirs.id, ours.id, curves.both(found).id]
    assert theirs.y_title == "flows/s"
    assert list(ours.shown_looks) == ["H2", "PostgreSQL"]


def test_both_sides_have_their_hardware_and_conditions(text: str) -> None:
    assert "2 vCPU E5-2699C" in text
    assert "Corda 3.3, H2, heap 4 GB" in text
    assert "A processor of some kind, 2 cores, 26 GB" in text
    assert "Bursts of flows, from one user to sixteen." in text


def claim_rows(html: str) -> dict[str, list[str]]:
    """The cells of the table of claims, by the first one."""
    return {
        cells[0]: cells[1:]
        for row in re.findall(r"<tr>(<th scope=\"row\">.*?)</tr>", html, re.DOTALL)
        if len(
            cells := [re.sub(r"<[^>]+>", " ", cell).strip() for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        )
        == 7
    }


def test_each_claim_has_its_sentence_values_region_verdict_and_repeats(html: str) -> None:
    rows = claim_rows(re.sub(r"<small>.*?</small>", "", html))
    assert rows.keys() == {"rises", "below ten", "firewall"}
    sentence, published, here, asked, verdict, repeats = rows["rises"]
    assert sentence.startswith("The throughput rises")
    assert published == "4.15 ×, held"
    assert re.fullmatch(r"3\.\d+ × \(3\.\d+ to 3\.\d+, n = 3\)", here)
    assert (asked, verdict, repeats) == ("2 or more", "held", "3")
    assert rows["below ten"][-3:-1] == ["at most 10 flows/s", "did not hold"]
    assert rows["firewall"][0] == "our own expectation"
    assert rows["firewall"][-2] == "not testable here"
    small = claim_rows(re.sub(r"<small>(.*?)</small>", r"(\1)", html))
    name, (_, _, here, asked, *_) = next((name, cells) for name, cells in small.items() if name.startswith("rises"))
    assert name == "rises(throughput, H2: 16 users ÷ 1 user)"
    assert re.search(r"n = 3\)\([\d.]+ flows/s ÷ [\d.]+ flows/s\)$", here)
    assert asked == "2 or more(Twice is more than any scatter.)"
    assert "did not hold" in {cells[-2] for cells in small.values()}
    assert "not testable here(needs Corda Enterprise)" in {cells[-2] for cells in small.values()}


def test_each_deviation_names_the_claims_that_it_touches(text: str) -> None:
    assert "three machines one machine one workstation absolute values only" in text
    assert "PartyC accepts PartyB accepts two parties are enough rises" in text


def test_what_cannot_be_tested_has_its_command(text: str) -> None:
    assert "firewall needs Corda Enterprise: CORDA_IMAGE=&lt;your image&gt; ./scripts/lab reproduce one" in text


def test_it_links_the_report_and_says_how_to_repeat_it(html: str, text: str) -> None:
    assert 'href="report.html"' in html
    assert "./scripts/lab reproduce one copy" in text
    assert "20260102T030405Z-bursts, repeat 2" in text


def test_it_opens_offline(html: str) -> None:
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"(?!data:)", html)


def test_a_figure_without_repeats_and_published_values_has_a_page_too(found: Judged, tmp_path: Path) -> None:
    text = figures.FIGURE.replace("  - {id: IIT-3.4, x: requests in 1s, y: throughput, by: edition}\n", "")
    text = re.sub(r"published:\n(?=sweep)", "", text)
    text = re.sub(r"    on_published: .*\n", "", text)
    (figure,) = figures.read(figures.write_figures(tmp_path, {"one": text}))
    html = book.write_page(judged(figure, []), tmp_path).read_text(encoding="utf-8")
    assert "<h1>1 not testable here, 2 not measured yet</h1>" in html
    assert "none: the source gives words only" in html
    assert "Report of the run" not in html


def test_a_metric_that_the_run_does_not_have_is_a_dash(found: Judged, tmp_path: Path) -> None:
    bare = [
        one.model_copy(update={"points": [point.model_copy(update={"metrics": {}}) for point in one.points]})
        for one in found.repeats
    ]
    html = book.write_page(judged(found.figure, bare), tmp_path).read_text(encoding="utf-8")
    assert "has no throughput" in html
