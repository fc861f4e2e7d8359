"""The page of a figure, and the book of all: ``docs/reproduction.md`` with its pictures, from the committed repeats."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corda_lab import atomic
from corda_lab.analysis.metrics import metric
from corda_lab.figures import curves, repeats, words
from corda_lab.figures.claims import NOT_TESTABLE, Verdict
from corda_lab.figures.figure import Document, Figure, Form, Places
from corda_lab.figures.judge import ClaimVerdict, Judged, judge, lacks, measure_command
from corda_lab.figures.repeats import ESTIMATES, REPEATS_MIN, Repeat, kept, seconds_of
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.report import drawing, page, rendering
from corda_lab.report.chart import Chart
from corda_lab.report.facts import LABS, conditioning_plan, until
from corda_lab.stats.intervals import CONFIDENCE
from corda_lab.steps.parameters import value_words
from corda_lab.text.words import listed

SIGNS = dict(zip(words.LABELS, "●○?–·", strict=True))
"""The sign of a claim in a bar, by its verdict."""
NOTE = "†"
"""The mark of a claim that has a note: what a person found who looked at the evidence."""

SHAPES = {"shape.corda": "CORDA_VERSION", "shape.database": "DATABASE", "shape.heap": "NODE_HEAP"}
"""What the conditions of every figure say, with the variable of ``.env`` that has it if the sweep does not."""

_COMMAND = re.compile(r"\./scripts/lab reproduce [\w-]+( --quick)?( --add \d+)?")
"""A command in a sentence."""

Entry = tuple[Judged, ClaimVerdict]
"""A claim with its figure."""


@dataclass(frozen=True)
class Book:
    """All figures, judged. ``settings`` are those of ``.env``, for the estimates of time."""

    figures: tuple[Judged, ...]
    settings: Settings

    @property
    def claims(self) -> list[Entry]:
        return [(figure, verdict) for figure in self.figures for verdict in figure.verdicts]

    @property
    def documents(self) -> dict[Document, list[Entry]]:
        """The claims about sentences of each document. Our own expectations count to that of their figure."""
        claims: dict[Document, list[Entry]] = {name: [] for name in words.TITLES}
        for figure, verdict in self.claims:
            claims[figure.figure.fields.document_of(verdict.claim)].append((figure, verdict))
        return {name: known for name, known in claims.items() if known}

    @property
    def not_testable(self) -> dict[str, list[Entry]]:
        """The claims that cannot be tested here, by what they need."""
        claims: dict[str, list[Entry]] = {}
        for figure, verdict in self.claims:
            if verdict.verdict == NOT_TESTABLE:
                needs = listed(lacks(verdict.claim.needs, None, figure.figure)) or "a region too narrow for repeats"
                claims.setdefault(needs, []).append((figure, verdict))
        return dict(sorted(claims.items()))

    def published_as(self, verdict: Verdict) -> list[Entry]:
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
        return next(figure for figure in self.figures if figure.figure.fields.sweep == sweep)

    def seconds(self, judged: Judged, form: Form) -> float:
        """Return how long the sweep of a figure takes in a form; 0 if it has no such form."""
        if form == "quick" and judged.figure.sweep.short is None:
            return 0.0
        measured = judged.repeats if judged.form == form else ()
        return seconds_of(judged.figure.in_form(form), self.settings, measured)

    def total_seconds(self, form: Form) -> float:
        """Return how long all figures take in a form, each sweep once."""
        sweeps = {figure.figure.fields.sweep for figure in self.figures}
        return sum(self.seconds(self.first_of(sweep), form) for sweep in sweeps)


def of(figures: Sequence[Figure], stored: Sequence[Repeat], settings: Settings | None = None) -> Book:
    """Return the content of the book. Without settings, it depends on the files of the checkout only."""
    of_figures = [(figure, kept(figure, stored)) for figure in figures]
    judged = tuple(judge(figure, own.chosen, own.outdated_words) for figure, own in of_figures)
    return Book(judged, settings or load_settings(ENV_FILE, {}))


def text(book: Book, places: Places) -> str:
    """Return ``docs/reproduction.md``."""
    rendered = rendering.template("reproduction.jinja", FILTERS).render(
        book=book,
        pictures=places.pictures.relative_to(places.document.parent).as_posix(),
        estimates=ESTIMATES,
        words=words,
        repeats=repeats,
        shown=shown,
        listed=listed,
        bar=bar,
        command_of=command_of,
        conditions=conditions,
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


def as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" + ("" if not text or text.endswith((".", "?", "!")) else ".")


FILTERS: dict[str, Callable[..., str]] = {
    "cell": cell,
    "plain": plain,
    "sentence": as_sentence,
    "item": lambda text: f"- {plain(text)}",
    "paragraph": lambda text: " ".join(text.split()) + "\n\n",
    "with_commands": lambda text: _COMMAND.sub(r"`\g<0>`", text),
}


def bar(judged: Judged) -> str:
    """Return the claims of a figure as signs, by verdict, with the mark of those that have a note."""
    places = sorted((words.LABELS.index(each.label), each.found is not None) for each in judged.verdicts)
    return "".join(SIGNS[words.LABELS[place]] + NOTE * has_note for place, has_note in places)


def command_of(judged: Judged) -> str:
    """Return the command that measures a figure; if none of its claims can be tested here, that for one's own image."""
    commands = [verdict.command for verdict in judged.verdicts if verdict.verdict == NOT_TESTABLE and verdict.command]
    can_be_tested = any(verdict.verdict != NOT_TESTABLE for verdict in judged.verdicts)
    return measure_command(judged.name, judged.form) if can_be_tested or not commands else commands[0]


def conditions(judged: Judged) -> str:
    """Return what does not vary, how long every point is measured, and what happens before."""
    fields, plan, settings = judged.figure.in_form(judged.form).fields, judged.plan, load_settings(ENV_FILE, {})
    points = [plan.whole(point) for point in plan.points]
    shapes = [
        listed(list(dict.fromkeys(value_words(name, point.get(name, settings[variable])) for point in points)))
        for name, variable in SHAPES.items()
    ]
    given = plan.constants[""]
    constants = [value_words(name, value) for name, value in given.items() if name not in SHAPES]
    loads = [load for step, load in plan.constants.items() if step] or [given]
    arrivals = [str(load.get("load.arrivals", "closed")) for load in loads]
    return words.joined(
        ", ".join(shapes),
        words.joined(*constants, by=", "),
        f"each point for {until(fields.measure)}",
        f"conditioned: {conditioning_plan(fields.condition, arrivals)}",
        f"labs: {LABS[fields.fresh]}",
    )


def write(places: Places) -> list[Path]:
    """Write the document, its pictures, and the pages of all figures. Returns the document and the folder of pages."""
    book = of(places.read_figures(), repeats.read(places.repeats))
    drawn = [picture(judged) for judged in book.figures if shown(judged)]
    paths = drawing.write(drawn, places.pictures, suffixes=("svg",))
    for path in places.pictures.glob("*.svg"):
        if path not in paths:
            path.unlink()
    atomic.write_text(places.document, text(book, places))
    for judged in book.figures:
        write_page(judged, places.results / "reproduction")
    return [places.document, places.results / "reproduction"]


def shown(judged: Judged) -> str:
    """Return what the picture of a figure shows; empty if there is nothing of ours to draw."""
    if curves.measured(judged).is_empty():
        return ""
    return "Published and measured curves" if curves.has_published(judged) else "Measured curves"


def picture(judged: Judged) -> Chart:
    """Return the chart that is the picture of a figure: both curves in one, or ours if no published one is beside."""
    chart = curves.both(judged) if curves.has_published(judged) else curves.here(judged)
    return replace(chart, id=judged.name, width="")


def write_page(judged: Judged, folder: Path, *, report: str | None = None) -> Path:
    """Write the page of a figure into a folder and return its path. ``report`` is the link to the run's own report."""
    content = {
        "judged": judged,
        "fields": judged.figure.fields,
        "words": words,
        "repeats": repeats,
        "published": curves.published(judged),
        "here": curves.here(judged),
        "both": curves.both(judged),
        "measured": curves.measured(judged).to_dicts(),
        "unit": metric(judged.figure.fields.chart.y).unit,
        "conditions": conditions(judged),
        "command": measure_command(judged.name, judged.form),
        "report": report,
    }
    path = folder / f"{judged.name}.html"
    atomic.write_text(path, page.html("figure.html", content))
    return path
