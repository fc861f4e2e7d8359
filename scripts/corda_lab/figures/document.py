"""``docs/reproduction.md``: the book as a document. No number in it is typed."""

import re
from collections.abc import Callable

from corda_lab.figures import summary
from corda_lab.figures.contents import Book, FigureRow
from corda_lab.figures.forms import ESTIMATES
from corda_lab.figures.page import ClaimRow
from corda_lab.figures.verdict import REPEATS_MIN
from corda_lab.report import rendering
from corda_lab.stats.intervals import CONFIDENCE
from corda_lab.text.words import LINE_LENGTH, percent, plural, wrapped

NOTE = "†"
"""The mark of a claim that has a note: what a person found who looked at the evidence."""

NOTE_LEGEND = f"{NOTE} a note in the figure's section says what else stands behind the verdict."

_OTHER = percent(100 * (1 - (1 - CONFIDENCE) ** (1 / REPEATS_MIN)))
OUTCOME_LEGEND = (
    f"If an outcome, such as whether a node ends, was the same in {REPEATS_MIN} of {REPEATS_MIN} repeats, the other "
    f"one may still have a chance of up to {_OTHER} (one-sided, {percent(100 * CONFIDENCE)})."
)

PICTURE_LEGEND = (
    "In a picture with published curves, which are dashed, every curve is divided by its own value at one point, so "
    "that systems of different speed can be compared. Where a number of users is divided by a curve's own peak, that "
    "peak is its highest throughput in flows/s. A picture without published curves has the measured values."
)

ERRORS = (
    "It is one standard deviation where one is published (R3 does not say of what), else the error of reading the "
    "value off a picture, or of rounding it. It is not a 95 % interval."
)
"""What the error of a published value is."""


def at_95_percent(claims: int, without_value: int) -> str:
    """Return what judging many claims at 95 % means, and adding repeats until one is decided.

    ``without_value`` is the number of claims that were measured too, but of which no repeat has a value that counts.
    """
    more = f"{without_value} more have repeats, but no value that counts. " if without_value else ""
    return (
        f"{plural(claims, 'claim')} {'is' if claims == 1 else 'are'} measured here, each judged at "
        f"{percent(100 * CONFIDENCE)}: of so many verdicts, one in {1 / (1 - CONFIDENCE):.0f} may be wrong. {more}"
        "Adding repeats until an interval clears the end of its region raises the chance of a wrong verdict above "
        f"{100 * (1 - CONFIDENCE):.0f} %."
    )


_COMMAND = re.compile(r"\./scripts/lab reproduce [\w-]+( --quick)?( --add \d+)?")
"""A command in a sentence."""

_BEGINS_ITEM = re.compile(r"^( +\d*)([-+*.)])(?= )")
"""The beginning of a line that Markdown takes for an item of a list, up to its sign and the sign."""

SIGNS = dict(zip(summary.LABELS, "●○?–·", strict=True))
"""The sign of a claim in a bar, by its verdict."""


def text(book: Book, pictures: str) -> str:
    """Return the document. ``pictures`` is the folder of the pictures, seen from it."""
    filters: dict[str, Callable[..., str]] = {
        "cell": cell,
        "claim": claim,
        "item": item,
        "paragraph": paragraph,
        "plain": plain,
        "quoted": quoted,
    }
    template = rendering.template("reproduction.jinja", filters)
    found = template.render(
        book=book,
        pictures=pictures,
        bar=bar,
        signs=", ".join(f"{sign} {name}" for name, sign in SIGNS.items()),
        at_95_percent=at_95_percent,
        errors=ERRORS,
        estimates=ESTIMATES,
        note_legend=NOTE_LEGEND,
        outcome_legend=OUTCOME_LEGEND,
        picture_legend=PICTURE_LEGEND,
    )
    return re.sub(r"\n{3,}", "\n\n", found).strip() + "\n"


def cell(text: str) -> str:
    """Return text as it stands in a cell: on one line, without what would end the cell or be read as HTML."""
    found = " ".join(text.split()).replace("|", "\\|")
    # Nothing in a code span is read as HTML.
    return found if found.startswith("`") else plain(found)


def plain(text: str) -> str:
    """Return text without what would be read as HTML."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def paragraph(text: str) -> str:
    """Return a paragraph in lines, with the empty line after it."""
    return wrapped(" ".join(text.split())) + "\n\n"


def quoted(text: str, number: int) -> str:
    """Return a numbered sentence of the source."""
    return wrapped(plain(text), f"> {number}. ", ">    ")


def bar(row: FigureRow) -> str:
    """Return the claims of a figure as a bar of signs, with the mark of those that have a note."""
    return "".join((SIGNS[part.label] + NOTE * part.has_note) * part.count for part in row.bar)


def claim(row: ClaimRow) -> str:
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
