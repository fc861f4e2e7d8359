"""The content of the book, as tables of words: the document and the page only lay it out."""

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from corda_lab.figures import charts, commands, summary
from corda_lab.figures.forms import FULL, QUICK, in_form, shared_words, whole_takes
from corda_lab.figures.judge import needs_words
from corda_lab.figures.judged import Judged, total
from corda_lab.figures.page import ClaimRow, claim_row, conditions, images_words
from corda_lab.figures.repeat import Form
from corda_lab.figures.schema import DeviationFields
from corda_lab.figures.verdict import CANNOT_TELL, DID_NOT_HOLD, HELD, NOT_TESTABLE, Verdict
from corda_lab.figures.words import asked_words, published_words
from corda_lab.lab.settings import Settings
from corda_lab.text.words import listed, plural

DIGEST_LENGTH = 12

Kind = Literal["absolute", "nothing"]
KINDS: dict[Kind, str] = {
    "absolute": "They change absolute values only",
    "nothing": "They change nothing that is judged",
}
"""The kinds of deviations that touch no claim, with their titles."""

NOT_CARRIED: dict[Verdict, str] = {
    DID_NOT_HOLD: "These do not hold on the published values",
    CANNOT_TELL: "These cannot be told from the published values",
}
"""The verdicts of claims that the published values do not carry, with the titles of their tables."""


@dataclass(frozen=True)
class BarPart:
    """Claims of a figure with the same verdict."""

    label: str
    state: str
    """The class of the verdict on a page."""
    count: int
    has_note: bool
    """Whether their section says what a person found."""


@dataclass(frozen=True)
class FigureRow:
    """A figure in the table of results."""

    name: str
    title: str
    document: str
    bar: tuple[BarPart, ...]
    """The claims by verdict, those with a note last."""
    form: str
    repeats: str
    when: str
    where: str


@dataclass(frozen=True)
class DocumentRow:
    """The claims about sentences of a document, by verdict. Our own expectations count to that of the figure."""

    document: str
    reference: str
    figures: int
    claims: int
    counts: tuple[int, ...]
    """In the order of ``Book.labels``."""


@dataclass(frozen=True)
class NotTestable:
    """A claim that cannot be tested here."""

    figure: str
    claim: str
    why: str
    command: str


@dataclass(frozen=True)
class NotCarried:
    """A published claim that the published values do not carry."""

    figure: str
    claim: str
    sentence: str
    values: str
    asked: str
    because: str
    """The reason for the region."""


@dataclass(frozen=True)
class Deviation:
    """A deviation that touches no claim, with the figures that have it."""

    published: str
    here: str
    because: str
    figures: str


@dataclass(frozen=True)
class CheckRow:
    """How a figure is checked: command, minutes, and digest of its file."""

    figure: str
    command: str
    quick: str
    full: str
    digest: str


@dataclass(frozen=True)
class FigurePart:
    """The part of the book that is about one figure."""

    name: str
    title: str
    source: str
    words: tuple[tuple[str, str], ...]
    """The sentences of the source, each with a remark."""
    published: str
    """The conditions of the publication."""
    here: str
    """Those of the lab."""
    claims: tuple[ClaimRow, ...]
    deviations: tuple[DeviationFields, ...]
    """Those that touch its claims."""
    measured: str
    picture: str
    """What its picture shows; empty if it has none."""
    command: str
    """How it is measured again."""


@dataclass(frozen=True)
class Book:
    """All figures, judged. ``settings`` are those of ``.env``, for the estimates of time."""

    figures: tuple[Judged, ...]
    settings: Settings

    @property
    def labels(self) -> tuple[str, ...]:
        """The verdicts, in the order of their columns."""
        return summary.LABELS

    @property
    def total(self) -> str:
        """The number of figures and claims, and the claims by verdict."""
        return total(self.figures)

    @property
    def measured(self) -> int:
        """The number of claims of which a repeat has a value."""
        return sum(verdict.n > 0 for one in self.figures for verdict in one.verdicts)

    @property
    def without_value(self) -> int:
        """The number of claims that were measured, but of which no repeat has a value that counts."""
        told = [summary.label(verdict) for one in self.figures for verdict in one.verdicts]
        return sum(label in (HELD, DID_NOT_HOLD, CANNOT_TELL) for label in told) - self.measured

    @cached_property
    def rows(self) -> tuple[FigureRow, ...]:
        """Part 1: a row for every figure."""
        return tuple(_figure_row(one) for one in self.figures)

    @cached_property
    def documents(self) -> tuple[DocumentRow, ...]:
        """Part 2: the totals of every document."""
        by_document: dict[str, list[tuple[str, str]]] = {}
        for one in self.figures:
            for verdict in one.verdicts:
                document = one.figure.fields.document_of(verdict.claim)
                by_document.setdefault(document, []).append((one.name, summary.label(verdict)))
        return tuple(
            DocumentRow(
                summary.TITLES[name],
                summary.REFERENCES[name],
                len({figure for figure, _ in found}),
                len(found),
                tuple([label for _, label in found].count(label) for label in self.labels),
            )
            for name in summary.TITLES
            if (found := by_document.get(name))
        )

    @property
    def counted_twice(self) -> str:
        """Why the figures of the documents add up to more than there are; empty if they do not."""
        documents = {
            one.name: {one.figure.fields.document_of(verdict.claim) for verdict in one.verdicts} for one in self.figures
        }
        names = [name for name, found in documents.items() if len(found) > 1]
        if not names:
            return ""
        count = sum(row.figures for row in self.documents)
        return (
            f"The figures add up to {count} for {len(self.figures)}, because {listed(names)} "
            f"{'has' if len(names) == 1 else 'have'} claims about more than one document."
        )

    @cached_property
    def not_testable(self) -> dict[str, tuple[NotTestable, ...]]:
        """Part 3: the claims that cannot be tested here, by what they need."""
        found: dict[str, list[NotTestable]] = {}
        for one in self.figures:
            for verdict in one.verdicts:
                if verdict.verdict == NOT_TESTABLE:
                    claim = verdict.claim
                    reason = (
                        listed(needs_words(claim.needs, one.figure))
                        if claim.needs
                        else "a region too narrow for repeats"
                    )
                    has_reason = claim.because and (claim.statistic is None or claim.only_published)
                    why = f"{verdict.why}. {claim.because}" if has_reason else verdict.why
                    found.setdefault(reason, []).append(NotTestable(one.name, claim.name, why, verdict.command))
        return {reason: tuple(found[reason]) for reason in sorted(found)}

    @cached_property
    def not_carried(self) -> dict[str, tuple[NotCarried, ...]]:
        """Part 4: the claims whose check on the published values does not say that they held, by the table's title."""
        found: dict[Verdict, list[NotCarried]] = {verdict: [] for verdict in NOT_CARRIED}
        for one in self.figures:
            for verdict in one.verdicts:
                if verdict.published is not None and verdict.published.verdict in found:
                    row = NotCarried(
                        one.name,
                        verdict.claim.name,
                        summary.sentence(verdict.claim, one.figure.fields),
                        published_words(verdict),
                        asked_words(verdict.claim),
                        verdict.claim.because or "–",
                    )
                    found[verdict.published.verdict].append(row)
        return {NOT_CARRIED[verdict]: tuple(rows) for verdict, rows in found.items() if rows}

    @cached_property
    def deviations(self) -> dict[str, tuple[Deviation, ...]]:
        """Part 5: every deviation that touches no claim, once, by the title of its kind. The others are in part 7."""
        found: dict[Kind, dict[tuple[str, str, str], list[str]]] = {kind: {} for kind in KINDS}
        for figure in self.figures:
            for one in figure.figure.fields.deviations:
                if (kind := _kind(one)) is not None:
                    found[kind].setdefault((one.published, one.here, one.because), []).append(figure.name)
        return {
            KINDS[kind]: tuple(Deviation(*key, ", ".join(dict.fromkeys(names))) for key, names in entries.items())
            for kind, entries in found.items()
            if entries
        }

    @cached_property
    def checks(self) -> tuple[CheckRow, ...]:
        """Part 6: how every figure is checked."""
        first: dict[str, str] = {}
        return tuple(self._check(one, first.setdefault(one.figure.fields.sweep, one.name)) for one in self.figures)

    def _check(self, one: Judged, first: str) -> CheckRow:
        digest = hashlib.sha256(one.figure.text.encode()).hexdigest()[:DIGEST_LENGTH]
        quick, full = (self._time(one, form, first) for form in (QUICK, FULL))
        return CheckRow(one.name, _command(one), quick, full, digest)

    def _time(self, one: Judged, form: Form, first: str) -> str:
        if first != one.name:
            return f"with {first}"
        seconds = self._seconds(one, form)
        return summary.duration(seconds) if seconds else "–"

    def _seconds(self, one: Judged, form: Form) -> float:
        """How long the sweep of a figure takes in a form; 0 if it has no such form."""
        if form == QUICK and one.figure.sweep.fields.quick is None:
            return 0.0
        sweep = in_form(one.figure.sweep, form)
        return whole_takes(sweep, self.settings, one.repeats_of(form)).seconds

    @property
    def total_time(self) -> str:
        """How long all figures take, each sweep once."""
        sweeps = {one.figure.fields.sweep: one for one in reversed(self.figures)}.values()
        quick, full = (summary.duration(sum(self._seconds(one, form) for one in sweeps)) for form in (QUICK, FULL))
        return f"All of them, each sweep once, take {quick} in the short form and {full} in full."

    @property
    def circumstances(self) -> list[tuple[str, str]]:
        """Part 6: machines and images of all repeats that are judged."""
        repeats = [repeat for one in self.figures for repeat in one.repeats]
        if not repeats:
            return []
        return [
            ("Machines", summary.machines(repeats)),
            ("Images of the nodes", images_words([one.images for one in repeats])),
        ]

    @cached_property
    def parts(self) -> tuple[FigurePart, ...]:
        """Part 7: every figure with its claims."""
        return tuple(_part(one) for one in self.figures)


def _figure_row(one: Judged) -> FigureRow:
    fields = one.figure.fields
    counted = Counter((summary.label(each), summary.state(each), each.found is not None) for each in one.verdicts)
    bar = sorted(
        (BarPart(label, state, count, has_note) for (label, state, has_note), count in counted.items()),
        key=lambda part: (summary.LABELS.index(part.label), part.has_note),
    )
    return FigureRow(
        one.name,
        fields.title,
        summary.TITLES[fields.source.document],
        tuple(bar),
        one.form or "–",
        str(len(one.repeats) or "–"),
        summary.days(one.repeats) or "–",
        summary.machines(one.repeats) or "–",
    )


def _kind(one: DeviationFields) -> Kind | None:
    """Return the kind of a deviation; None if it touches claims."""
    if isinstance(one.touches, str):
        return "absolute"
    return None if one.touches else "nothing"


def _command(one: Judged) -> str:
    """Return the command that measures a figure; if none of its claims can be tested here, that for one's own image."""
    lacks = [verdict for verdict in one.verdicts if verdict.verdict == NOT_TESTABLE and verdict.command]
    can_be_tested = any(verdict.verdict != NOT_TESTABLE for verdict in one.verdicts)
    return commands.measure(one.name, one.form) if can_be_tested or not lacks else lacks[0].command


def _part(one: Judged) -> FigurePart:
    fields = one.figure.fields
    return FigurePart(
        one.name,
        fields.title,
        f"{summary.TITLES[fields.source.document]}, {fields.source.place}",
        tuple(summary.sentences(fields)),
        fields.conditions,
        conditions(one),
        tuple(claim_row(verdict, one) for verdict in one.verdicts),
        tuple(each for each in fields.deviations if _kind(each) is None),
        measured_words(one),
        picture=charts.shown(one),
        command=_command(one),
    )


def measured_words(one: Judged) -> str:
    """Return when, where and how its repeats were measured, what they lack, and which ones do not count."""
    return " ".join([*_repeats(one), *(f"Not counted: {line}." for line in summary.outdated_words(one.outdated))])


def _repeats(one: Judged) -> list[str]:
    if not one.repeats:
        return ["Not measured yet."]
    sweep, form = one.figure.sweep, one.repeats[0].form
    whole = "short form" if form == QUICK else "whole sweep"
    spoilt = [f"{line[:1].upper()}{line[1:]}." for line in summary.spoilt_words(one.repeats)]
    said = (
        f"{plural(len(one.repeats), 'repeat')} of the {whole} of {sweep.name}, {summary.days(one.repeats)}, on "
        f"{summary.machines_with_speed(one.repeats)}, by the lab {summary.versions(one.repeats)}."
    )
    return [text for text in (said, *spoilt, shared_words(sweep, form), *_conditioning(one)) if text]


def _conditioning(one: Judged) -> list[str]:
    """Return what is known of the conditioning of a figure's repeats; nothing if its sweep has none."""
    if in_form(one.figure.sweep, one.repeats[0].form).fields.condition == "none":
        return []
    return summary.conditioning_words(one.repeats)
