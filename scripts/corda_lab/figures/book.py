"""The book of all figures, made from the committed repeats: ``docs/reproduction.md`` and its pictures."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corda_lab import atomic
from corda_lab.figures import charts, document, page, store, summary
from corda_lab.figures.document import Rows
from corda_lab.figures.file import Figure, Places
from corda_lab.figures.forms import ESTIMATES, FULL, QUICK, in_form, seconds_of
from corda_lab.figures.judge import ClaimVerdict, Judged, judged_latest, lacks, measure_command
from corda_lab.figures.repeat import Form, Repeat
from corda_lab.figures.verdict import CANNOT_TELL, DID_NOT_HOLD, HELD, NOT_TESTABLE
from corda_lab.figures.words import asked_words, published_words
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.report import drawing
from corda_lab.report.chart import Chart
from corda_lab.text.words import listed, plural

FILE_DIGEST_LENGTH = 12


@dataclass(frozen=True)
class Book:
    """All figures, judged. ``settings`` are those of ``.env``, for the estimates of time."""

    figures: tuple[Judged, ...]
    settings: Settings

    @property
    def _claims(self) -> Iterator[tuple[Judged, ClaimVerdict]]:
        return ((one, verdict) for one in self.figures for verdict in one.verdicts)

    @property
    def measured(self) -> int:
        """The number of claims of which a repeat has a value."""
        return sum(verdict.n > 0 for _, verdict in self._claims)

    @property
    def without_value(self) -> int:
        """The number of claims that were measured, but of which no repeat has a value that counts."""
        labels = [summary.label(verdict) for _, verdict in self._claims]
        return sum(label in (HELD, DID_NOT_HOLD, CANNOT_TELL) for label in labels) - self.measured

    @property
    def results(self) -> Rows:
        """Every figure with its claims as a bar."""
        return [
            (
                f"[{one.name}](#{one.name})",
                summary.TITLES[one.figure.fields.source.document],
                document.bar(one),
                one.form or "–",
                str(len(one.repeats) or "–"),
                summary.days(one.repeats) or "–",
                summary.machines(one.repeats) or "–",
            )
            for one in self.figures
        ]

    @property
    def documents(self) -> Rows:
        """The claims about sentences of each document, by verdict. Our own expectations count to that of the figure."""
        rows: Rows = []
        for name, title in summary.TITLES.items():
            claims = [pair for pair in self._claims if pair[0].figure.fields.document_of(pair[1].claim) == name]
            labels = [summary.label(verdict) for _, verdict in claims]
            counts = (str(labels.count(label) or "–") for label in summary.LABELS)
            figures = len({one.name for one, _ in claims})
            if claims:
                rows.append((title, str(figures), str(len(claims)), *counts, summary.REFERENCES[name]))
        return rows

    @property
    def counted_twice(self) -> str:
        """Why the figures of the documents add up to more than there are; empty if they do not."""
        documents: dict[str, set[str]] = {}
        for one, verdict in self._claims:
            documents.setdefault(one.name, set()).add(one.figure.fields.document_of(verdict.claim))
        names = [name for name, known in documents.items() if len(known) > 1]
        if not names:
            return ""
        return (
            f"The figures add up to {sum(map(len, documents.values()))} for {len(self.figures)}, because "
            f"{listed(names)} {'has' if len(names) == 1 else 'have'} claims about more than one document."
        )

    @property
    def not_testable(self) -> dict[str, Rows]:
        """The claims that cannot be tested here, by what they need."""
        tables: dict[str, Rows] = {}
        for one, verdict in self._claims:
            claim = verdict.claim
            if verdict.verdict == NOT_TESTABLE:
                needs = listed(lacks(claim.needs, None, one.figure)) or "a region too narrow for repeats"
                has_reason = claim.because and (claim.statistic is None or claim.only_published)
                why = f"{verdict.why}. {claim.because}" if has_reason else verdict.why
                command = f"`{verdict.command}`" if verdict.command else "none"
                tables.setdefault(needs, []).append((one.name, claim.name, why, command))
        return dict(sorted(tables.items()))

    @property
    def not_carried(self) -> dict[str, Rows]:
        """The claims whose check on the published values does not say that they held, by their verdict there."""
        tables: dict[str, Rows] = {DID_NOT_HOLD: [], CANNOT_TELL: []}
        for one, verdict in self._claims:
            claim = verdict.claim
            if verdict.published is not None and verdict.published.verdict in tables:
                sentence = summary.sentence(claim, one.figure.fields)
                values = (published_words(verdict), asked_words(claim), claim.because or "–")
                tables[verdict.published.verdict].append((one.name, claim.name, sentence, *values))
        return {verdict: rows for verdict, rows in tables.items() if rows}

    @property
    def deviations(self) -> dict[str, Rows]:
        """Every deviation that touches no claim, once, with the figures that have it, by what it changes."""
        figures: dict[str, dict[tuple[str, str, str], list[str]]] = {"absolute values only": {}, "no claim": {}}
        for one in self.figures:
            for deviation in one.figure.fields.deviations:
                if deviation.touched in figures:
                    known = figures[deviation.touched]
                    known.setdefault((deviation.published, deviation.here, deviation.because), []).append(one.name)
        return {
            touched: [(*words, ", ".join(dict.fromkeys(names))) for words, names in known.items()]
            for touched, known in figures.items()
            if known
        }

    @property
    def checks(self) -> Rows:
        """How every figure is checked: command, times, and the digest of its file."""
        first: dict[str, str] = {}
        rows: Rows = []
        for one in self.figures:
            shared = first.setdefault(one.figure.fields.sweep, one.name)
            times = [
                summary.duration(seconds) if (seconds := self._seconds(one, form)) else "–" for form in (QUICK, FULL)
            ]
            digest = hashlib.sha256(one.figure.text.encode()).hexdigest()[:FILE_DIGEST_LENGTH]
            times = times if shared == one.name else [f"with {shared}"] * 2
            rows.append((one.name, f"`{command_of(one)}`", *times, f"`{digest}`"))
        return rows

    def _seconds(self, one: Judged, form: Form) -> float:
        """How long the sweep of a figure takes in a form; 0 if it has no such form."""
        if form == QUICK and one.figure.sweep.fields.quick is None:
            return 0.0
        return seconds_of(in_form(one.figure.sweep, form), self.settings, one.repeats_of(form))

    @property
    def total_time(self) -> str:
        """How long all figures take, each sweep once."""
        sweeps = {one.figure.fields.sweep: one for one in reversed(self.figures)}.values()
        quick, full = (summary.duration(sum(self._seconds(one, form) for one in sweeps)) for form in (QUICK, FULL))
        return f"All of them, each sweep once, take {quick} in the short form and {full} in full."

    @property
    def circumstances(self) -> list[str]:
        """Machines and images of all repeats that are judged."""
        repeats = [repeat for one in self.figures for repeat in one.repeats]
        images = page.images_words([repeat.images for repeat in repeats])
        return [f"machines: {summary.machines(repeats)}", f"images of the nodes: {images}"] if repeats else []


def command_of(one: Judged) -> str:
    """Return the command that measures a figure; if none of its claims can be tested here, that for one's own image."""
    lacking = [verdict for verdict in one.verdicts if verdict.verdict == NOT_TESTABLE and verdict.command]
    can_be_tested = any(verdict.verdict != NOT_TESTABLE for verdict in one.verdicts)
    return measure_command(one.name, one.form) if can_be_tested or not lacking else lacking[0].command


def measured_words(one: Judged) -> str:
    """Return when, where and how the repeats of a figure were measured, what they lack, and which do not count."""
    outdated = [f"Not counted: {line}." for line in summary.outdated_words(one.outdated)]
    if not one.repeats:
        return " ".join(["Not measured yet.", *outdated])
    sweep, form = one.figure.sweep, one.repeats[0].form
    whole = "short form" if form == QUICK else "whole sweep"
    spoilt = [f"{line[:1].upper()}{line[1:]}." for line in summary.spoilt_words(one.repeats)]
    is_conditioned = in_form(sweep, form).fields.condition != "none"
    measured = (
        f"{plural(len(one.repeats), 'repeat')} of the {whole} of {sweep.name}, {summary.days(one.repeats)}, on "
        f"{summary.machines_with_speed(one.repeats)}, by the lab {summary.versions(one.repeats)}."
    )
    conditioning = summary.conditioning_words(one.repeats) if is_conditioned else []
    return " ".join([measured, *spoilt, *conditioning, *outdated])


def of(figures: Sequence[Figure], repeats: Sequence[Repeat]) -> Book:
    """Return the content of the book. It depends on the files of the checkout only, not on this machine."""
    return Book(tuple(judged_latest(figure, repeats) for figure in figures), load_settings(ENV_FILE, {}))


def text(book: Book, places: Places) -> str:
    """Return ``docs/reproduction.md``."""
    return document.text(
        book=book,
        pictures=places.pictures.relative_to(places.document.parent).as_posix(),
        estimates=ESTIMATES,
        charts=charts,
        page=page,
        command_of=command_of,
        measured_words=measured_words,
    )


def write(places: Places) -> list[Path]:
    """Write the document, its pictures, and the pages of all figures. Returns the document and the folder of pages."""
    book = of(places.read_figures(), store.read(places.repeats))
    draw(book.figures, places)
    atomic.write_text(places.document, text(book, places))
    for one in book.figures:
        page.write(one, places.pages)
    return [places.document, places.pages]


def draw(found: Sequence[Judged], places: Places) -> list[Path]:
    """Draw the pictures of all figures that were measured, and delete those of others. Raises LabError."""
    drawn = []
    for one in found:
        if charts.is_drawn(one):
            drawn += drawing.write([picture_of(one)], places.pictures, suffixes=("svg",))
    for path in places.pictures.glob("*.svg"):
        if path not in drawn:
            path.unlink()
    return drawn


def picture_of(one: Judged) -> Chart:
    """Return the chart that is the picture of a figure: both curves in one, or ours if no published one is beside."""
    chart = charts.both(one) if charts.has_published(one) else charts.here(one)
    return replace(chart, id=one.name, width="")
