"""A figure with the repeats of one form and the verdicts on its claims."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corda_lab.figures import store
from corda_lab.figures.file import Figure
from corda_lab.figures.forms import FULL, QUICK
from corda_lab.figures.judge import ClaimVerdict, judge
from corda_lab.figures.repeat import Form, Repeat


@dataclass(frozen=True)
class Judged:
    """A figure and what its repeats say. Without repeats, ``form`` is None."""

    figure: Figure
    form: Form | None
    repeats: tuple[Repeat, ...]
    verdicts: tuple[ClaimVerdict, ...]

    @property
    def name(self) -> str:
        """The name of the figure."""
        return self.figure.name


def judged(figure: Figure, repeats: Iterable[Repeat]) -> Judged:
    """Judge a figure from repeats of one form of its sweep."""
    given = tuple(sorted(repeats, key=lambda one: (one.at, one.repeat)))
    return Judged(figure, given[0].form if given else None, given, tuple(judge(figure, given)))


def in_form(figure: Figure, form: Form, stored: Sequence[Repeat]) -> Judged:
    """Judge a figure from its stored repeats of a form. Those of an earlier sweep file do not count."""
    return judged(figure, store.kept(figure.sweep, stored).of(form))


def latest(figure: Figure, stored: Sequence[Repeat]) -> Judged:
    """Judge a figure from its stored repeats of the whole sweep; if there are none, from those of its short form."""
    kept = store.kept(figure.sweep, stored)
    return judged(figure, kept.of(FULL) or kept.of(QUICK))
