"""``docs/reproduction.md`` is generated, and says of every claim what was found and how to find it again."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import pytest

from corda_lab.figures import book, store, words
from corda_lab.figures.book import REFERENCES, Book, cell, command_of, item
from corda_lab.figures.file import Places
from corda_lab.figures.measure import collect
from corda_lab.figures.published import FIGURES
from corda_lab.figures.repeat import Repeat, RepeatCalibration, SpoiltRepeat
from corda_lab.figures.schema import Document
from corda_lab.figures.store import QUICK, digest_of, in_form
from corda_lab.paths import ROOT
from corda_lab.results.stored import StoredRun
from support.figures import FIGURE, SWEEP, with_latency_only, write_figures

WRITE = "write it again: scripts/lab reproduce book"
PUBLISHED = Places(repeats=ROOT / "docs" / "reproduction")


def test_the_published_document_is_that_of_the_committed_repeats() -> None:
    found = book.of(PUBLISHED.read_figures(), store.read(PUBLISHED.repeats))
    assert book.text(found, PUBLISHED) == PUBLISHED.document.read_text(encoding="utf-8"), WRITE


def test_the_published_pictures_are_those_of_the_committed_repeats() -> None:
    found = book.of(PUBLISHED.read_figures(), store.read(PUBLISHED.repeats))
    expected = {one.name: book.picture(one).digest for one in found.figures if book.shown(one)}
    drawn = {path.stem: path.read_text(encoding="utf-8") for path in PUBLISHED.pictures.glob("*.svg")}
    assert drawn.keys() == expected.keys(), WRITE
    assert [name for name, digest in expected.items() if digest not in drawn[name]] == [], WRITE


OTHER = (
    FIGURE.replace("document: iitb-2019", "document: r3-results")
    .replace("on_published: {at: {x: 60}, verdict: held}", "on_published: {at: {x: 60}, verdict: did not hold}")
    .replace("within: [null, 10]", "within: [null, 5]")
    .replace("{enterprise: true}", "{software: Braid}")
)
"""Its second claim does not hold on the published values."""


@pytest.fixture
def two(places: Places) -> Places:
    write_figures(places.figures, {"one": FIGURE, "two": OTHER})
    return places


@pytest.fixture
def repeats(bursts: StoredRun) -> Sequence[Repeat]:
    return collect(bursts, ["p50", "throughput"]).repeats


@pytest.fixture
def found(two: Places, repeats: Sequence[Repeat]) -> Book:
    return book.of(two.read_figures(), repeats)


def section(text: str, title: str) -> str:
    """The section with a title, in one string."""
    match = re.search(rf"^(#+) {re.escape(title)}\n(.*?)(?=^#|\Z)", text, re.DOTALL | re.MULTILINE)
    assert match is not None, title
    return match[2]


def rows(text: str) -> list[list[str]]:
    """The cells of the tables in a text, without their titles."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [line for line in lines if line[0] not in ("figure", "document", "claim", "published")]


def test_every_figure_is_a_row_with_its_claims_as_a_bar(found: Book, two: Places) -> None:
    text = section(book.text(found, two), "Results")
    assert "2 figures, 6 claims: 2 held, 2 did not hold, 2 not testable here." in text
    first, second = rows(text)
    assert first[:5] == ["[one](#one)", "IIT Bombay 2019", "●○–", "full", "3"]
    assert first[6] == "A processor of some kind, 2 cores, 26 GB"
    assert second[1] == "R3, results"


NOTED = FIGURE.replace(
    "    on_published: {of: {x: 70}",
    "    found: {date: 2026-11-28, text: It was asleep.}\n    on_published: {of: {x: 70}",
)
"""The first claim has a note."""


def test_a_claim_with_a_note_is_marked(places: Places, repeats: Sequence[Repeat]) -> None:
    write_figures(places.figures, {"one": NOTED})
    found = book.of(places.read_figures(), repeats)
    text = section(book.text(found, places), "Results")
    assert rows(text)[0][2] == "●†○–"
    assert "† a note in the figure's section says what else stands behind the verdict." in " ".join(text.split())
    later = [one.model_copy(update={"at": "2026-11-29T00:00:00Z"}) for one in repeats]
    text = book.text(book.of(places.read_figures(), later), places)
    assert "It was asleep." not in text
    assert rows(section(text, "Results"))[0][2] == "●○–"


def test_no_note_of_a_measured_figure_is_older_than_its_repeats() -> None:
    """A hidden one has to be read again, beside the repeats of now, and dated anew or taken out."""
    found = book.of(PUBLISHED.read_figures(), store.read(PUBLISHED.repeats))
    hidden = [
        f"{one.name}: {verdict.claim.name}"
        for one in found.figures
        for verdict in one.verdicts
        if verdict.claim.found is not None and verdict.found is None
    ]
    assert hidden == []


def test_the_introduction_says_what_judging_many_claims_means(found: Book, two: Places) -> None:
    said = " ".join(book.text(found, two).split())
    assert found.measured == 4
    assert "4 claims are measured here, each judged at 95 %: of so many verdicts, one in 20 may be wrong." in said
    assert "raises the chance of a wrong verdict above 5 %." in said
    assert "the same in 3 of 3 repeats, the other one may still have a chance of up to 63 % (one-sided, 95 %)" in said
    assert "no value that counts" not in said.partition("## Results")[0].partition("4 claims are")[2]


def test_a_claim_that_was_added_after_the_first_run_is_marked(places: Places, repeats: Sequence[Repeat]) -> None:
    write_figures(places.figures, {"one": FIGURE.replace("- name: rises", "- name: rises\n    added: 2026-11-28")})
    said = " ".join(book.text(book.of(places.read_figures(), repeats), places).split())
    assert "Regions are those of before the first run of their figure; claims that came later are marked." in said
    assert "- *rises* (added on 28 Nov 2026, after the first run): throughput, H2: 16 users" in said


def test_machines_have_the_mean_calibration_of_their_repeats(two: Places, repeats: Sequence[Repeat]) -> None:
    times = [{"before": 4.0, "after": 4.2}, {"before": 4.1, "after": None}, {}]
    timed = [
        one.model_copy(update={"calibration": RepeatCalibration.model_validate(each)})
        for one, each in zip(repeats, times, strict=True)
    ]
    text = section(book.text(book.of(two.read_figures(), timed), two), "one")
    assert "on A processor of some kind, 2 cores, 26 GB (calibration 4.10 ms), by the lab" in " ".join(text.split())


def test_repeats_that_were_not_counted_are_told(two: Places, repeats: Sequence[Repeat]) -> None:
    spoilt = [SpoiltRepeat(repeat=2, why="the machine's speed moved")]
    kept = [one.model_copy(update={"spoilt": spoilt}) for one in repeats[::2]]
    text = section(book.text(book.of(two.read_figures(), [*kept, kept[0]]), two), "one")
    said = f"Repeat 2 of {repeats[0].run} was not counted: the machine's speed moved."
    assert said in " ".join(text.split())


def test_every_document_has_its_totals(found: Book, two: Places) -> None:
    results = "R3: *Performance benchmarking results*. Documentation of Corda Enterprise"
    report = "Nihhaar Chandra R: *Performance Benchmark of Corda Blockchain*. Report, IIT Bombay, May 2019"
    assert rows(section(book.text(found, two), "Documents")) == [
        ["IIT Bombay 2019", "1", "3", "1", "1", "–", "1", "–", report],
        ["R3, results", "1", "3", "1", "1", "–", "1", "–", results],
    ]


def test_a_claim_counts_to_the_document_that_has_its_sentence(places: Places) -> None:
    sentence = "Open-source Corda struggles to cross 10 TPS."
    other = FIGURE.replace(f"- {sentence}", f"- {{document: r3-blog-2020, text: {sentence}}}\n  - It is not tested.")
    write_figures(places.figures, {"one": other})
    found = book.of(places.read_figures(), [])
    text = book.text(found, places)
    assert [line[:3] for line in rows(section(text, "Documents"))] == [
        ["IIT Bombay 2019", "1", "2"],
        ["R3, blog 2020", "1", "1"],
    ]
    said = "The figures add up to 2 for 1, because one has claims about more than one document."
    assert said in section(text, "Documents")
    assert f"> 2. {sentence} *(in R3, blog 2020)*\n> 3. It is not tested. *(no claim)*\n" in text


def test_what_cannot_be_tested_is_sorted_by_reason(found: Book, two: Places) -> None:
    text = section(book.text(found, two), "Not testable here")
    assert "1 × Corda Enterprise:" in text
    assert rows(text) == [
        ["two", "firewall", "needs Braid, which is not part of the lab", "none"],
        [
            "one",
            "firewall",
            "needs Corda Enterprise",
            "`CORDA_IMAGE=<your image> ./scripts/lab reproduce one`",
        ],
    ]


def test_what_the_published_values_do_not_carry_is_said(found: Book, two: Places) -> None:
    text = section(book.text(found, two), "What the published values do not carry")
    (row,) = rows(text)
    assert row[:2] == ["two", "below ten"]
    assert row[-3:-1] == ["8.62 flows/s, did not hold", "at most 5 flows/s"]
    assert row[-1] == (found.figures[1].verdicts[1].claim.because or "–")
    said = " ".join(text.split())
    assert "one standard deviation where one is published (R3 does not say of what)" in said
    assert "It is not a 95 % interval." in said
    assert "These do not hold on the published values:" in said
    assert "cannot be told from the published values" not in said


def test_what_cannot_be_told_from_the_published_values_has_a_table_of_its_own(places: Places) -> None:
    close = FIGURE.replace("within: [null, 10]", "within: [null, 8.6199]").replace(
        "{at: {x: 60}, verdict: held}", "{at: {x: 60}, verdict: cannot tell}"
    )
    write_figures(places.figures, {"one": close, "two": OTHER})
    text = section(book.text(book.of(places.read_figures(), []), places), "What the published values do not carry")
    apart, _, close_ones = text.partition("These cannot be told from the published values:")
    assert [row[0] for row in rows(apart)] == ["two"]
    assert [row[0] for row in rows(close_ones)] == ["one"]


def test_a_deviation_that_two_figures_have_stands_once(found: Book, two: Places) -> None:
    text = section(book.text(found, two), "Deviations that touch no claim")
    assert rows(text) == [["three machines", "one machine", "one workstation", "one, two"]]


def test_a_deviation_that_touches_claims_stands_with_them(found: Book, two: Places) -> None:
    text = " ".join(section(book.text(found, two), "two").split())
    assert text.endswith(
        "Deviations that touch these claims: - published: PartyC accepts; here: PartyB accepts; because two parties "
        "are enough. Touches: rises."
    )


def test_every_figure_can_be_checked_with_one_command(found: Book, two: Places) -> None:
    text = section(book.text(found, two), "How to check this book")
    first, second = rows(text)
    assert first[:2] == ["one", "`./scripts/lab reproduce one`"]
    short = [one.model_copy(update={"form": "quick"}) for one in found.figures[0].repeats]
    quick = replace(found.figures[0], form="quick", repeats=tuple(short))
    assert command_of(quick) == "./scripts/lab reproduce one --quick"
    assert first[2].endswith("min")
    assert second[2:4] == ["with one", "with one"]
    # Both figures have the same sweep, which counts once.
    assert f"take {first[2]} in the short form and {first[3]} in full." in " ".join(text.split())
    assert first[4] != second[4]
    assert "machines: A processor of some kind, 2 cores, 26 GB" in text
    assert "corda-lab/node:4.10 (abababababab)" in text


def test_every_claim_has_its_verdict_and_why(found: Book, two: Places) -> None:
    text = section(book.text(found, two), "one")
    assert "> 1. The throughput rises with the &lt;b&gt;load&lt;/b&gt; and then it is flat." in text
    assert "3 repeats of the whole sweep of bursts" in text
    assert "by the lab 0.2.0 at 0123456789ab with uncommitted changes." in " ".join(text.split())
    assert "Run it again: `./scripts/lab reproduce one`" in text
    held, did_not, untested = rows(text)
    assert (*held[:3], *held[4:6]) == ("rises", "1", "4.15 ×, held", "2 or more", "held")
    assert did_not[5] == "did not hold"
    assert (untested[1], *untested[5:]) == ("ours", "not testable here")
    flat = " ".join(text.split())
    assert re.search(
        r"- \*rises\*: throughput, H2: 16 users ÷ 1 user \([\d.]+ flows/s ÷ [\d.]+ flows/s\); asked for: 2 or more\. "
        r"Twice is more than any scatter\. - \*below ten\*: throughput, H2, best of all users; asked for: at most 10 "
        r"flows/s\.",
        flat,
    )
    assert "asked for: 0.5 or more. Needs Corda Enterprise." in flat
    assert "asked for: at most 10 flows/s." in flat
    assert "- published: Corda 3.3, H2, heap 4 GB - here: " in flat


def test_repeats_that_share_a_start_say_what_their_intervals_lack(places: Places, bursts: StoredRun) -> None:
    write_figures(places.figures, {"one": FIGURE}, SWEEP.replace("repeats: 3", "repeats: 3\nfresh: shape"))
    digest = digest_of(places.read_figures()[0].sweep)
    same = [one.model_copy(update={"sweep_digest": digest}) for one in collect(bursts, ["throughput"]).repeats]
    text = book.text(book.of(places.read_figures(), same), places)
    said = " ".join(text.split())
    assert "an interval leaves out how much two starts differ" in said
    assert "n = 3, one start" not in said, "the labs have two shapes"
    digest = digest_of(in_form(places.read_figures()[0].sweep, QUICK))
    short = [one.model_copy(update={"sweep_digest": digest, "form": QUICK}) for one in same]
    said = " ".join(book.text(book.of(places.read_figures(), short), places).split())
    assert "n = 3, one start)" in said
    other = [*short[:2], short[2].model_copy(update={"run": "another"})]
    assert "one start)" not in book.text(book.of(places.read_figures(), other), places)


def test_every_verdict_is_explained_before_it_is_used(found: Book, two: Places) -> None:
    introduction, _, rest = book.text(found, two).partition("## Results")
    for label in words.LABELS:
        assert f"| {label} | " in introduction
    for one in found.figures:
        digest = hashlib.sha256((two.figures / f"{one.name}.yaml").read_bytes()).hexdigest()
        assert f"`{digest[:12]}`" in rest


def test_a_book_without_repeats_says_that_nothing_was_measured(two: Places) -> None:
    text = book.text(book.of(two.read_figures(), []), two)
    assert "2 figures, 6 claims: 2 not testable here, 4 not measured yet." in text
    assert "![" not in text


def test_the_book_is_written_with_pictures_and_pages(two: Places, repeats: Sequence[Repeat]) -> None:
    store.write(repeats, two.repeats)
    two.pictures.mkdir(parents=True)
    (two.pictures / "gone.svg").write_text("an old picture", encoding="utf-8")
    assert book.write(two) == [two.document, two.pages]
    assert sorted(path.name for path in two.pictures.iterdir()) == ["one.svg", "two.svg"]
    for name in re.findall(r"!\[.*?\]\((.*?)\)", two.document.read_text(encoding="utf-8")):
        picture = two.document.parent / name
        assert picture.read_text(encoding="utf-8").count("<svg") == 1
        assert picture.stat().st_size < 100_000
    assert sorted(path.name for path in two.pages.iterdir()) == ["one.html", "two.html"]


def test_a_figure_without_a_value_has_no_picture(two: Places, repeats: Sequence[Repeat]) -> None:
    found = book.of(two.read_figures(), [with_latency_only(one) for one in repeats])
    assert book.draw(found.figures, two) == []
    assert "![" not in book.text(found, two)
    assert (found.measured, found.without_value) == (0, 4)


def test_a_picture_tells_from_which_values_it_was_drawn(found: Book, two: Places) -> None:
    (path, _) = book.draw(found.figures, two)
    drawn = book.picture(found.figures[0]).digest
    assert drawn in path.read_text(encoding="utf-8")


def test_text_stays_within_its_cell() -> None:
    assert cell("a | b\nc <d>") == "a \\| b c &lt;d&gt;"
    assert cell("`a | <b>`") == "`a \\| <b>`"


def test_an_item_is_one_line() -> None:
    assert item("a\n- b  <c>") == "- a - b &lt;c&gt;"


def test_every_document_has_a_title_and_a_reference_which_the_readme_has_in_full() -> None:
    assert words.TITLES.keys() == REFERENCES.keys() == set(get_args(Document))
    readme = (FIGURES / "README.md").read_text(encoding="utf-8")
    in_full = dict(re.findall(r"^\| `([\w-]+)` \| (.+) \|$", readme, re.MULTILINE))
    assert in_full.keys() == REFERENCES.keys()
    # What is left out is at the end.
    assert all(in_full[name][:20] == reference[:20] for name, reference in REFERENCES.items())
