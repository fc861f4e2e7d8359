"""``docs/reproduction.md``: the book as a document. No number in it is typed."""

import re
from collections.abc import Callable, Sequence

from corda_lab.figures import summary, words
from corda_lab.figures.judge import ClaimVerdict, Judged
from corda_lab.figures.verdict import REPEATS_MIN
from corda_lab.report import rendering
from corda_lab.stats.intervals import CONFIDENCE

NOTE = "†"
"""The mark of a claim that has a note: what a person found who looked at the evidence."""

_COMMAND = re.compile(r"\./scripts/lab reproduce [\w-]+( --quick)?( --add \d+)?")
"""A command in a sentence."""

SIGNS = dict(zip(summary.LABELS, "●○?–·", strict=True))
"""The sign of a claim in a bar, by its verdict."""


Rows = list[tuple[str, ...]]
"""The cells of a table in Markdown, row by row."""


def text(**variables: object) -> str:
    """Return the document. ``variables`` are those of the template that are not functions of words."""
    filters: dict[str, Callable[..., str]] = {
        "cell": cell,
        "claim": claim,
        "item": item,
        "paragraph": paragraph,
        "plain": plain,
        "quoted": quoted,
        "table": table,
    }
    rendered = rendering.template("reproduction.jinja", filters).render(
        **variables,
        summary=summary,
        words=words,
        signs=", ".join(f"{sign} {name}" for name, sign in SIGNS.items()),
        note=NOTE,
        confidence=CONFIDENCE,
        repeats_min=REPEATS_MIN,
    )
    return re.sub(r"\n{3,}", "\n\n", rendered).strip() + "\n"


def table(rows: Rows, *titles: str) -> str:
    """Return a table."""
    lines: Sequence[Sequence[str]] = [titles, *(tuple(map(cell, row)) for row in rows)]
    first, *others = (f"| {' | '.join(cells)} |" for cells in lines)
    return "\n".join([first, "|" + "---|" * len(titles), *others])


def cell(text: str) -> str:
    """Return text as it stands in a cell: on one line, without what would end the cell or be read as HTML."""
    found = " ".join(text.split()).replace("|", "\\|")
    # Nothing in a code span is read as HTML.
    return found if found.startswith("`") else plain(found)


def plain(text: str) -> str:
    """Return text on one line, without what would be read as HTML."""
    return " ".join(text.split()).replace("<", "&lt;").replace(">", "&gt;")


def paragraph(text: str) -> str:
    """Return a paragraph on one line, with the empty line after it."""
    return " ".join(text.split()) + "\n\n"


def quoted(text: str, number: int) -> str:
    """Return a numbered sentence of the source."""
    return f"> {number}. {plain(text)}"


def item(text: str) -> str:
    """Return an item of a list."""
    return f"- {plain(text)}"


def bar(one: Judged) -> str:
    """Return the claims of a figure as signs, by verdict, with the mark of those that have a note."""
    labels = sorted(
        (summary.LABELS.index(summary.label(verdict)), verdict.found is not None) for verdict in one.verdicts
    )
    return "".join(SIGNS[summary.LABELS[place]] + NOTE * has_note for place, has_note in labels)


def claim(verdict: ClaimVerdict, one: Judged) -> str:
    """Return everything about a claim of a figure that has no room in a table."""
    fields, asked = one.figure.fields, words.asked_words(verdict.claim)
    number = words.number_words(verdict.claim, fields, one.names)
    if points := words.points_words(verdict, fields, one.names):
        number += f" ({points})"
    about = "; ".join(filter(None, (number, asked and f"asked for: {asked}")))
    added = summary.added_words(verdict.claim)
    name = f"*{verdict.claim.name}* ({added}):" if added else f"*{verdict.claim.name}*:"
    reasons = (verdict.claim.because or "", words.why_words(verdict), summary.found_words(verdict))
    return _COMMAND.sub(r"`\g<0>`", " ".join(filter(None, (name, about and f"{about}.", *map(sentence, reasons)))))


def sentence(text: str) -> str:
    """Return a text as a sentence; empty if it is empty."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if not text or text.endswith((".", "?", "!")) else ".")
