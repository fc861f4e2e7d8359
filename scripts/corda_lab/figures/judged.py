"""A figure with the repeats of one form and the verdicts on its claims."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corda_lab.figures import store, summary
from corda_lab.figures.file import Figure
from corda_lab.figures.forms import FULL, QUICK
from corda_lab.figures.judge import ClaimVerdict, judge
from corda_lab.figures.repeat import Form, Repeat
from corda_lab.figures.verdict import REPEATS_MIN
from corda_lab.text.words import plural


@dataclass(frozen=True)
class Judged:
    """A figure and what its repeats say. Without repeats, ``form`` is None."""

    figure: Figure
    form: Form | None
    repeats: tuple[Repeat, ...]
    verdicts: tuple[ClaimVerdict, ...]
    outdated: tuple[store.Outdated, ...] = ()
    """The stored repeats of its sweep that do not count, because they measured something else."""

    @property
    def name(self) -> str:
        """The name of the figure."""
        return self.figure.name

    def repeats_of(self, form: Form) -> tuple[Repeat, ...]:
        """Return its repeats if they are of this form."""
        return self.repeats if self.form == form else ()


def judged(figure: Figure, repeats: Iterable[Repeat], outdated: tuple[store.Outdated, ...] = ()) -> Judged:
    """Judge a figure from repeats of one form of its sweep. ``outdated`` are those that do not count."""
    given = tuple(sorted(repeats, key=lambda one: (one.at, one.repeat)))
    return Judged(figure, given[0].form if given else None, given, tuple(judge(figure, given)), outdated)


def in_form(figure: Figure, form: Form, stored: Sequence[Repeat]) -> Judged:
    """Judge a figure from its stored repeats of a form. Those of an earlier sweep file do not count."""
    kept = store.kept(figure.sweep, stored)
    return judged(figure, kept.of(form), kept.outdated)


def latest(figure: Figure, stored: Sequence[Repeat]) -> Judged:
    """Judge a figure from its stored repeats of the whole sweep; if they are too few, from those of its short form."""
    kept = store.kept(figure.sweep, stored)
    full, quick = kept.of(FULL), kept.of(QUICK)
    return judged(figure, full if len(full) >= REPEATS_MIN or not quick else quick, kept.outdated)


def total(found: Sequence[Judged]) -> str:
    """Return the number of figures and claims, and the claims by verdict."""
    verdicts = [verdict for one in found for verdict in one.verdicts]
    counted = f"{plural(len(found), 'figure')}, {plural(len(verdicts), 'claim')}"
    return f"{counted}: {summary.counts(verdicts)}" if verdicts else counted
