"""``docs/reproduction.md``: the book as a document. No number in it is typed."""

import re
from collections.abc import Iterable, Iterator, Sequence

from corda_lab.figures import summary
from corda_lab.figures.contents import Book, Deviation, FigurePart, FigureRow
from corda_lab.figures.forms import ESTIMATES
from corda_lab.figures.legend import ERRORS, NOTE, NOTE_LEGEND, OUTCOME_LEGEND, PICTURE_LEGEND, at_95_percent
from corda_lab.figures.page import ClaimRow
from corda_lab.text.words import LINE_LENGTH, wrapped

INTRODUCTION = """\
# Reproduction of published figures

`scripts/lab reproduce book` writes this document from the repeats in `docs/reproduction/`. Do not edit it.

A *figure* is a published experiment that the lab repeats: a file in [configs/figures](../configs/figures/README.md),
with sentences of the document that published it. A *claim* is what a *sentence* says, made into a number of measured
values and the region in which that number has to lie. Regions are those of before the first run of their figure; claims
that came later are marked. A claim of *ours* is an expectation that nobody published.

A *repeat* measures all points of the figure once and gives one number to each claim; *n* is how many repeats gave one.
The 95 % interval around the mean of these numbers is Student's *t* interval: it is wide if they scatter or are few.
Where *one start* stands beside it, all repeats ran on the same start of the nodes. The interval decides
([methodology.md](methodology.md#claims-of-published-figures)):

| verdict | meaning |
|---|---|
| held | The interval is inside the region. |
| did not hold | It is wholly outside. |
| cannot tell | Neither, or fewer than three repeats have a value that counts. |
| not testable here | It needs what this machine or open-source Corda does not have, or its region is too narrow. |
| not measured yet | No stored repeat includes its points. |

Repeats have one of two *forms*: *full*, the whole sweep of the figure, or *quick*, its short form with fewer points or
seconds. The forms are never mixed. If a figure has three full repeats, these are judged.

*Calibration* is the time that a fixed piece of work takes on one core, so that machines and days can be compared: the
less, the faster.

*With uncommitted changes* says that the checkout differed from the commit that is named. Until 26 November 2026,
repeats that had just been stored were such a difference, too.

Sizes are decimal, as in the documents: 1 KB is 1000 bytes.
"""

_COMMAND = re.compile(r"\./scripts/lab reproduce [\w-]+( --quick)?( --add \d+)?")
"""A command in a sentence."""

_BEGINS_ITEM = re.compile(r"^( +\d*)([-+*.)])(?= )")
"""The beginning of a line that Markdown takes for an item of a list, up to its sign and the sign."""

OWN_IMAGE = """\
Each command tests its claims where their need is met. An image counts as Corda Enterprise if the lab did not build it
and its name contains *enterprise*. `CORDA_IMAGE` may contain `${CORDA_VERSION}`, for which every step puts its own
version, so that a sweep of several versions takes another image for each
([an image of your own](operations.md#an-image-of-your-own))."""

SIGNS = dict(zip(summary.LABELS, "●○?–·", strict=True))
"""The sign of a claim in a bar, by its verdict."""


def text(book: Book, pictures: str) -> str:
    """Return the document. ``pictures`` is the folder of the pictures, seen from it."""
    return "\n".join(_sections(book, pictures))


def _sections(book: Book, pictures: str) -> Iterator[str]:
    yield INTRODUCTION
    if book.measured:
        yield f"{wrapped(at_95_percent(book.measured, book.without_value))}\n"
    yield _section("Results", _results(book))
    yield _section("Documents", _documents(book))
    yield _section("Not testable here", _not_testable(book))
    yield _section("What the published values do not carry", _not_carried(book))
    yield _section("Deviations that touch no claim", _deviations(book))
    yield _section("How to check this book", _checks(book))
    yield _section("Figures", (wrapped(f"What was found for every claim, and why. {PICTURE_LEGEND}"),))
    yield from (_section(part.name, _figure(part, pictures), level=3) for part in book.parts)


def _section(title: str, paragraphs: Iterable[str], *, level: int = 2) -> str:
    return f"{'#' * level} {title}\n\n" + "\n\n".join(paragraphs) + "\n"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. What would end a cell in its text is escaped."""
    lines = [f"| {' | '.join(map(cell, line))} |" for line in (titles, *rows)]
    return "\n".join([lines[0], "|---" * len(titles) + "|", *lines[1:]])


def cell(text: str) -> str:
    """Return text as it stands in a cell: on one line, without what would end the cell or be read as HTML."""
    found = " ".join(text.split()).replace("|", "\\|")
    # Nothing in a code span is read as HTML.
    return found if found.startswith("`") else plain(found)


def plain(text: str) -> str:
    """Return text without what would be read as HTML."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _results(book: Book) -> Iterator[str]:
    yield wrapped(f"{book.total}.")
    signs = ", ".join(f"{sign} {name}" for name, sign in SIGNS.items())
    yield wrapped(
        f"Each sign is a claim: {signs}. They are in the order of verdicts, unlike those in the figure's section. "
        f"{NOTE_LEGEND} {OUTCOME_LEGEND}"
    )
    yield table(
        ("figure", "document", "claims", "form", "repeats", "when", "on"),
        (
            (f"[{row.name}](#{row.name})", row.document, bar(row), row.form, row.repeats, row.when, row.where)
            for row in book.rows
        ),
    )


def bar(row: FigureRow) -> str:
    """Return the claims of a figure as a bar of signs, with the mark of those that have a note."""
    return "".join((SIGNS[part.label] + NOTE * part.has_note) * part.count for part in row.bar)


def _documents(book: Book) -> Iterator[str]:
    yield wrapped(
        "Claims count to the document that has their sentence, and our own expectations to the document of their "
        "figure. [configs/figures/README.md](../configs/figures/README.md#documents) says more about the documents."
    )
    yield table(
        ("document", "figures", "claims", *book.labels, "reference"),
        (
            (
                row.document,
                str(row.figures),
                str(row.claims),
                *(str(count or "–") for count in row.counts),
                row.reference,
            )
            for row in book.documents
        ),
    )
    if book.counted_twice:
        yield wrapped(book.counted_twice)


def _not_testable(book: Book) -> Iterator[str]:
    if not book.not_testable:
        yield "Every claim can be tested here."
    else:
        yield wrapped(OWN_IMAGE)
    for reason, claims in book.not_testable.items():
        yield wrapped(f"{len(claims)} × {plain(reason)}:")
        yield table(
            ("figure", "claim", "why", "command"),
            ((one.figure, one.claim, one.why, f"`{one.command}`" if one.command else "none") for one in claims),
        )


def _not_carried(book: Book) -> Iterator[str]:
    if not book.not_carried:
        yield "The published values carry every claim that can be checked on them."
        return
    yield wrapped(
        f"The same checks run on the published values, with the error that these have. {ERRORS} A claim does not hold "
        "if the range that it allows is wholly outside of the region, and cannot be told if the region ends within it."
    )
    for title, claims in book.not_carried.items():
        yield f"{title}:"
        yield table(
            ("figure", "claim", "sentence", "published values", "asked for", "why this region"),
            ((one.figure, one.claim, one.sentence, one.values, one.asked, one.because) for one in claims),
        )


def _deviations(book: Book) -> Iterator[str]:
    if not book.deviations:
        yield "None."
    for title, deviations in book.deviations.items():
        yield f"{title}:"
        yield _deviation_table(deviations)


def _deviation_table(deviations: Sequence[Deviation]) -> str:
    return table(
        ("published", "here", "because", "figures"),
        ((one.published, one.here, one.because, one.figures) for one in deviations),
    )


def _checks(book: Book) -> Iterator[str]:
    yield wrapped(
        "Each command measures a figure and judges it again, together with the repeats in `docs/reproduction/`; "
        "`--from RUN` judges the repeats of one run alone. `--quick` runs the short form. "
        "`scripts/lab reproduce all --quick` measures what was not measured yet on a machine like the one it runs "
        f"on. {book.total_time} "
        f"{ESTIMATES} "
        "The digest of a figure's file changes with its words, claims and regions: it is the beginning of what "
        "`sha256sum configs/figures/NAME.yaml` prints. `git diff` shows what a new book says differently."
    )
    if book.circumstances:
        yield "\n".join(wrapped(f"{name.lower()}: {plain(text)}", "- ", "  ") for name, text in book.circumstances)
    yield table(
        ("figure", "command", "quick", "full", "digest of its file"),
        ((one.figure, f"`{one.command}`", one.quick, one.full, f"`{one.digest}`") for one in book.checks),
    )


def _figure(part: FigurePart, pictures: str) -> Iterator[str]:
    yield wrapped(plain(f"{part.title} ({part.source})."))
    yield "\n".join(
        wrapped(plain(f"{words} *({remark})*" if remark else words), f"> {number}. ", ">    ")
        for number, (words, remark) in enumerate(part.words, start=1)
    )
    if part.picture:
        yield f"![{part.picture} of {part.name}]({pictures}/{part.name}.svg)"
    yield items([f"published: {part.published}", f"here: {part.here}", f"measured: {part.measured}"])
    yield f"Run it again: `{part.command}`"
    yield table(
        ("claim", "sentence", "on the published values", "here", "asked for", "verdict"),
        ((one.name, one.says, one.published, one.here, one.asked, one.verdict) for one in part.claims),
    )
    yield items([_claim(one) for one in part.claims])
    if part.deviations:
        yield "Deviations that touch these claims:"
        yield items(
            [
                f"published: {one.published}; here: {one.here}; because {one.because}. Touches: {one.touches}."
                for one in part.deviations
            ]
        )


def _claim(row: ClaimRow) -> str:
    """Return everything about a claim that has no room in a table."""
    points = f" ({row.points})" if row.points else ""
    number = "" if row.number == "–" else f"{row.number}{points}"
    asked = "" if row.asked == "–" else f"asked for: {row.asked}"
    about = "; ".join(filter(None, (number, asked)))
    name = f"*{row.name}* ({row.added}):" if row.added else f"*{row.name}*:"
    said = (name, about and f"{about}.", *map(sentence, (row.because, row.why, row.found)))
    return _COMMAND.sub(r"`\g<0>`", " ".join(filter(None, said)))


def sentence(text: str) -> str:
    """Return a text as a sentence; empty if it is empty."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if not text or text.endswith((".", "?", "!")) else ".")


def items(texts: Iterable[str]) -> str:
    """Return a list of one item for each text."""
    return "\n".join(item(text) for text in texts)


def item(text: str) -> str:
    """Return an item of a list. No line of it begins with what would begin another item."""
    lines = _item_lines(text, LINE_LENGTH)
    if max(map(len, lines)) > LINE_LENGTH:
        # The sign that is put before such a beginning needs a place of its own.
        lines = _item_lines(text, LINE_LENGTH - 1)
    return "\n".join(lines)


def _item_lines(text: str, width: int) -> list[str]:
    first, *others = wrapped(plain(text), "- ", "  ", width).splitlines()
    return [first, *(_BEGINS_ITEM.sub(r"\1\\\2", line) for line in others)]
