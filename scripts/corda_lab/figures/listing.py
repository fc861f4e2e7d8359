"""``lab reproduce list``: every figure with its claims, how long it takes, and its last verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass

from corda_lab.figures import summary, testable
from corda_lab.figures.file import Figure
from corda_lab.figures.forms import ESTIMATES, FULL, QUICK, in_form, takes
from corda_lab.figures.judged import Judged, latest, total
from corda_lab.figures.repeat import Form, Repeat
from corda_lab.lab.settings import Settings
from corda_lab.text import tables, ui


@dataclass(frozen=True)
class Line:
    """One figure in the list, in words."""

    name: str
    document: str
    claims: str
    quick: str
    full: str
    verdicts: str


def show(figures: Sequence[Figure], stored: Sequence[Repeat], settings: Settings) -> None:
    """Print every figure in one line, and the total."""
    found = [latest(figure, stored) for figure in figures]
    table = tables.table("figure", "document", "claims", "quick", "full", "last verdicts", numbers=["claims"])
    first: dict[str, str] = {}
    for one in found:
        line = line_of(one, first.setdefault(one.figure.fields.sweep, one.name), settings)
        table.add_row(line.name, line.document, line.claims, line.quick, line.full, line.verdicts)
    tables.show(table)
    ui.console.print(f"\n{total(found)}\n{ESTIMATES}", markup=False)


def line_of(one: Judged, first: str, settings: Settings) -> Line:
    """Return the line of a figure. ``first`` is the first figure that its sweep serves, whose line has the time."""
    fields = one.figure.fields
    lacking = testable.lacking(one.figure, settings)
    begin = (one.name, summary.TITLES[fields.source.document], str(len(fields.claims)))
    if len(lacking) == len(fields.claims):
        return Line(*begin, "–", "–", f"{lacking[0].why}: {lacking[0].command}".removesuffix(": "))
    if first != one.name:
        return Line(*begin, f"with {first}", "", verdicts(one))
    return Line(*begin, minutes(one, QUICK, settings), minutes(one, FULL, settings), verdicts(one))


def minutes(one: Judged, form: Form, settings: Settings) -> str:
    """Return how long the sweep of a figure takes in a form; a dash if it has no such form, or cannot run here."""
    if form == QUICK and one.figure.sweep.fields.quick is None:
        return "–"
    found = takes(in_form(one.figure.sweep, form), settings, one.repeats_of(form))
    return "–" if found is None else summary.duration(found.seconds)


def verdicts(one: Judged) -> str:
    """Return the claims of a figure by verdict, with form and day."""
    if one.form is None:
        return "–"
    return f"{summary.counts(one.verdicts)} ({one.form}, {summary.days(one.repeats[-1:])})"
