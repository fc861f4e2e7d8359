"""The page of a figure, and the book of all: ``docs/reproduction.md`` with its pictures, from the committed repeats."""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corda_lab import atomic
from corda_lab.analysis.metrics import metric
from corda_lab.figures import curves, repeat, store, words
from corda_lab.figures.file import Figure, Places
from corda_lab.figures.judge import ClaimVerdict, Judged, judged_latest, lacks, measure_command
from corda_lab.figures.repeat import Form, Repeat
from corda_lab.figures.schema import Document
from corda_lab.figures.store import ESTIMATES, FULL, QUICK, in_form, names_of, seconds_of
from corda_lab.figures.verdict import CANNOT_TELL, DID_NOT_HOLD, HELD, NOT_TESTABLE, REPEATS_MIN, Verdict
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.report import drawing, page, rendering
from corda_lab.report.chart import Chart
from corda_lab.report.facts import LABS, conditioning_plan, until
from corda_lab.stats.intervals import CONFIDENCE
from corda_lab.steps.parameters import value_words
from corda_lab.text.words import listed

FILE_DIGEST_LENGTH = 12

SIGNS = dict(zip(words.LABELS, "●○?–·", strict=True))
"""The sign of a claim in a bar, by its verdict."""
NOTE = "†"
"""The mark of a claim that has a note: what a person found who looked at the evidence."""

REFERENCES: dict[Document, str] = {
    "iitb-2019": "Nihhaar Chandra R: *Performance Benchmark of Corda Blockchain*. Report, IIT Bombay, May 2019",
    "r3-results": "R3: *Performance benchmarking results*. Documentation of Corda Enterprise",
    "r3-sizing": "R3: *Sizing and performance*. Documentation of Corda Enterprise 4",
    "r3-blog-2020": "Dimos Raptis: *Performance improvements in Corda Enterprise 4.4 and 4.5*. Blog of R3, 2020",
    "r3-attachments-2020": "Jonathan Scialpi: *Experimenting with Corda Attachments*. Corda on Medium, 2 March 2020",
    "coconut": "The raw values of COCONUT, in the repository frankchrisg/coconut",
}
"""What each document is, in a line. ``configs/figures/README.md`` has the whole references."""

SHAPES = {"shape.corda": "CORDA_VERSION", "shape.database": "DATABASE", "shape.heap": "NODE_HEAP"}
"""What the conditions of every figure say, with the variable of ``.env`` that has it if the sweep does not."""

_COMMAND = re.compile(r"\./scripts/lab reproduce [\w-]+( --quick)?( --add \d+)?")
"""A command in a sentence."""

Claim = tuple[Judged, ClaimVerdict]


@dataclass(frozen=True)
class Book:
    """All figures, judged. ``settings`` are those of ``.env``, for the estimates of time."""

    figures: tuple[Judged, ...]
    settings: Settings

    @property
    def claims(self) -> list[Claim]:
        """The claims of all figures, each with its figure."""
        return [(figure, verdict) for figure in self.figures for verdict in figure.verdicts]

    @property
    def measured(self) -> int:
        """The number of claims of which a repeat has a value."""
        return sum(verdict.n > 0 for _, verdict in self.claims)

    @property
    def without_value(self) -> int:
        """The number of claims that were measured, but of which no repeat has a value that counts."""
        labels = [words.label(verdict) for _, verdict in self.claims]
        return sum(label in (HELD, DID_NOT_HOLD, CANNOT_TELL) for label in labels) - self.measured

    @property
    def documents(self) -> dict[Document, list[Claim]]:
        """The claims about sentences of each document. Our own expectations count to that of their figure."""
        claims: dict[Document, list[Claim]] = {name: [] for name in REFERENCES}
        for figure, verdict in self.claims:
            claims[figure.figure.fields.document_of(verdict.claim)].append((figure, verdict))
        return {name: known for name, known in claims.items() if known}

    @property
    def not_testable(self) -> dict[str, list[Claim]]:
        """The claims that cannot be tested here, by what they need."""
        claims: dict[str, list[Claim]] = {}
        for figure, verdict in self.claims:
            if verdict.verdict == NOT_TESTABLE:
                needs = listed(lacks(verdict.claim.needs, None, figure.figure)) or "a region too narrow for repeats"
                claims.setdefault(needs, []).append((figure, verdict))
        return dict(sorted(claims.items()))

    def published_as(self, verdict: Verdict) -> list[Claim]:
        """Return the claims with a verdict on the published values."""
        return [claim for claim in self.claims if claim[1].published and claim[1].published.verdict == verdict]

    def deviations(self, touched: str) -> dict[tuple[str, str, str], list[str]]:
        """Return every deviation that touches no claim, once, with the names of the figures that have it."""
        figures: dict[tuple[str, str, str], list[str]] = {}
        for figure in self.figures:
            for deviation in figure.figure.fields.deviations:
                if deviation.touched == touched:
                    key = (str(deviation.published), str(deviation.here), deviation.because)
                    figures.setdefault(key, []).append(figure.name)
        return figures

    def first_of(self, sweep: str) -> Judged:
        """Return the first figure that a sweep serves."""
        return next(figure for figure in self.figures if figure.figure.fields.sweep == sweep)

    def seconds(self, judged: Judged, form: Form) -> float:
        """Return how long the sweep of a figure takes in a form; 0 if it has no such form."""
        if form == QUICK and judged.figure.sweep.fields.quick is None:
            return 0.0
        return seconds_of(
            in_form(judged.figure.sweep, form), self.settings, judged.repeats if judged.form == form else ()
        )

    def total_seconds(self, form: Form) -> float:
        """Return how long all figures take in a form, each sweep once."""
        sweeps = {figure.figure.fields.sweep for figure in self.figures}
        return sum(self.seconds(self.first_of(sweep), form) for sweep in sweeps)


def of(figures: Sequence[Figure], repeats: Sequence[Repeat]) -> Book:
    """Return the content of the book. It depends on the files of the checkout only, not on this machine."""
    return Book(tuple(judged_latest(figure, repeats) for figure in figures), load_settings(ENV_FILE, {}))


def text(book: Book, places: Places) -> str:
    """Return ``docs/reproduction.md``."""
    rendered = rendering.template("reproduction.jinja", FILTERS).render(
        book=book,
        pictures=places.pictures.relative_to(places.document.parent).as_posix(),
        estimates=ESTIMATES,
        references=REFERENCES,
        words=words,
        repeat=repeat,
        shown=shown,
        listed=listed,
        outdated_words=store.outdated_words,
        bar=bar,
        command_of=command_of,
        conditions=conditions,
        is_conditioned=is_conditioned,
        file_digest=file_digest,
        signs=", ".join(f"{sign} {name}" for name, sign in SIGNS.items()),
        note=NOTE,
        confidence=CONFIDENCE,
        repeats_min=REPEATS_MIN,
    )
    return re.sub(r"\n{3,}", "\n\n", rendered).strip() + "\n"


def plain(text: str) -> str:
    """Return text on one line, without what would be read as HTML."""
    return " ".join(text.split()).replace("<", "&lt;").replace(">", "&gt;")


def cell(text: str) -> str:
    """Return text as it stands in a cell: a dash if there is none, without what would end the cell."""
    line = " ".join(text.split()).replace("|", "\\|") or "–"
    # Nothing in a code span is read as HTML.
    return line if line.startswith("`") else plain(line)


def item(text: str) -> str:
    """Return an item of a list."""
    return f"- {plain(text)}"


def as_sentence(text: str) -> str:
    """Return a text as a sentence; empty if it is empty."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if not text or text.endswith((".", "?", "!")) else ".")


def paragraph(text: str) -> str:
    """Return a paragraph on one line, with the empty line after it."""
    return " ".join(text.split()) + "\n\n"


def with_commands(text: str) -> str:
    """Return a text with its commands as code."""
    return _COMMAND.sub(r"`\g<0>`", text)


FILTERS: dict[str, Callable[..., str]] = {
    "cell": cell,
    "item": item,
    "paragraph": paragraph,
    "plain": plain,
    "sentence": as_sentence,
    "label": words.label,
    "with_commands": with_commands,
}


def bar(judged: Judged) -> str:
    """Return the claims of a figure as signs, by verdict, with the mark of those that have a note."""
    places = sorted((words.LABELS.index(words.label(each)), each.found is not None) for each in judged.verdicts)
    return "".join(SIGNS[words.LABELS[place]] + NOTE * has_note for place, has_note in places)


def command_of(judged: Judged) -> str:
    """Return the command that measures a figure; if none of its claims can be tested here, that for one's own image."""
    lacking = [verdict for verdict in judged.verdicts if verdict.verdict == NOT_TESTABLE and verdict.command]
    can_be_tested = any(verdict.verdict != NOT_TESTABLE for verdict in judged.verdicts)
    return measure_command(judged.name, judged.form) if can_be_tested or not lacking else lacking[0].command


def file_digest(figure: Figure) -> str:
    """Return the beginning of the digest of a figure's file."""
    return hashlib.sha256(figure.text.encode()).hexdigest()[:FILE_DIGEST_LENGTH]


def is_conditioned(judged: Judged) -> bool:
    """Return whether a load conditions the nodes before the points of a figure."""
    return in_form(judged.figure.sweep, judged.form or FULL).fields.condition != "none"


def conditions(judged: Judged) -> str:
    """Return what does not vary, how long every point is measured, and what happens before."""
    sweep = in_form(judged.figure.sweep, judged.form or FULL)
    fields, names, settings = sweep.fields, names_of(sweep), load_settings(ENV_FILE, {})
    given = names.constants[""]
    shapes = []
    for name, variable in SHAPES.items():
        values = (point.get(name, names.constants_at(point).get(name, settings[variable])) for point in names.points)
        shapes.append(listed(list(dict.fromkeys(value_words(name, value) for value in values))))
    constants = [value_words(name, value) for name, value in given.items() if name not in SHAPES]
    loads = [load for step, load in names.constants.items() if step] or [given]
    arrivals = [str(load.get("load.arrivals", "closed")) for load in loads]
    measured = until(fields.measure)
    return "; ".join(
        (
            ", ".join(shapes),
            *filter(None, [", ".join(filter(None, constants))]),
            *([f"each point for {measured}"] if measured else []),
            f"conditioned: {conditioning_plan(fields.condition, arrivals)}",
            f"labs: {LABS[fields.fresh]}",
        )
    )


def write(places: Places) -> list[Path]:
    """Write the document, its pictures, and the pages of all figures. Returns the document and the folder of pages."""
    book = of(places.read_figures(), store.read(places.repeats))
    draw(book.figures, places)
    atomic.write_text(places.document, text(book, places))
    for judged in book.figures:
        write_page(judged, places.pages)
    return [places.document, places.pages]


def draw(figures: Sequence[Judged], places: Places) -> list[Path]:
    """Draw the pictures of all figures that were measured, and delete those of others. Returns their paths."""
    drawn = []
    for judged in figures:
        if shown(judged):
            drawn += drawing.write([picture(judged)], places.pictures, suffixes=("svg",))
    for path in places.pictures.glob("*.svg"):
        if path not in drawn:
            path.unlink()
    return drawn


def shown(judged: Judged) -> str:
    """Return what the picture of a figure shows; empty if there is nothing of ours to draw."""
    if not curves.measured(judged.figure, judged.repeats):
        return ""
    return "Published and measured curves" if curves.has_published(judged) else "Measured curves"


def picture(judged: Judged) -> Chart:
    """Return the chart that is the picture of a figure: both curves in one, or ours if no published one is beside."""
    chart = curves.both(judged) if curves.has_published(judged) else curves.here(judged)
    return replace(chart, id=judged.name, width="")


def write_page(judged: Judged, folder: Path, *, report: str | None = None) -> Path:
    """Write the page of a figure into a folder and return its path. ``report`` is the link to the run's own report."""
    published, here, both = curves.published(judged), curves.here(judged), curves.both(judged)
    content = {
        "judged": judged,
        "fields": judged.figure.fields,
        "words": words,
        "repeat": repeat,
        "published_charts": published,
        "here_chart": here,
        "both_chart": both,
        "published": curves.published_charts(judged.figure),
        "measured": curves.measured(judged.figure, judged.repeats),
        "unit": metric(judged.figure.fields.chart.y).unit,
        "conditions": conditions(judged),
        "command": measure_command(judged.name, judged.form),
        "outdated": store.outdated_words(judged.outdated),
        "report": report,
    }
    path = folder / f"{judged.name}.html"
    atomic.write_text(path, page.html("figure.html", content))
    return path
