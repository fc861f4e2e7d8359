"""Figures, repeats and their verdicts in short, as the terminal, the pages and the book name them."""

import math
import statistics
from collections.abc import Iterable, Sequence
from datetime import date, datetime

from corda_lab.figures.judge import ClaimVerdict, Judged
from corda_lab.figures.repeat import Form, Repeat, RepeatMachine, RepeatPoint
from corda_lab.figures.schema import OURS, ClaimFields, FigureFields
from corda_lab.figures.statistics import words as point_words
from corda_lab.figures.store import Outdated
from corda_lab.figures.verdict import CANNOT_TELL, DID_NOT_HOLD, HELD, NOT_MEASURED, NOT_TESTABLE, VERDICTS, Verdict
from corda_lab.figures.words import asked_words, here_words, published_words, why_words
from corda_lab.steps.parameters import AT, STEP
from corda_lab.text.words import length, listed, plural

TITLES = {
    "iitb-2019": "IIT Bombay 2019",
    "r3-results": "R3, results",
    "r3-sizing": "R3, sizing",
    "r3-blog-2020": "R3, blog 2020",
    "r3-attachments-2020": "R3, attachments 2020",
    "coconut": "COCONUT",
}
"""The documents, as users see them."""

REFERENCES = {
    "iitb-2019": "Nihhaar Chandra R: *Performance Benchmark of Corda Blockchain*. Report, IIT Bombay, May 2019",
    "r3-results": "R3: *Performance benchmarking results*. Documentation of Corda Enterprise",
    "r3-sizing": "R3: *Sizing and performance*. Documentation of Corda Enterprise 4",
    "r3-blog-2020": "Dimos Raptis: *Performance improvements in Corda Enterprise 4.4 and 4.5*. Blog of R3, 2020",
    "r3-attachments-2020": "Jonathan Scialpi: *Experimenting with Corda Attachments*. Corda on Medium, 2 March 2020",
    "coconut": "The raw values of COCONUT, in the repository frankchrisg/coconut",
}
"""What each document is, in a line. ``configs/figures/README.md`` has the whole references."""

LABELS = (*VERDICTS, NOT_MEASURED)
"""How claims are told, in the order of tables and counts."""

NO_CLAIM = "no claim"
"""What is said of a sentence that no claim is about."""

STATES: dict[Verdict, str] = {HELD: "good", DID_NOT_HOLD: "bad", CANNOT_TELL: "warning", NOT_TESTABLE: "quiet"}


def line(one: ClaimVerdict) -> str:
    """Return what follows the verdict on a claim in the terminal."""
    if one.verdict == NOT_TESTABLE:
        return "; ".join(filter(None, (one.why, one.command)))
    theirs = published_words(one)
    parts = [here_words(one), f"asked for: {asked_words(one.claim)}", theirs and f"published values {theirs}"]
    parts += [why_words(one), found_words(one)]
    return "; ".join(filter(None, parts))


def found_words(one: ClaimVerdict) -> str:
    """Return what a person found, with the day: ``found on 24 Nov 2026: …``.

    Empty if nobody wrote anything, and if a judged repeat is newer than the text.
    """
    return "" if one.found is None else f"found on {_day_words(one.found.date)}: {one.found.text}"


def added_words(claim: ClaimFields) -> str:
    """Return that a claim is younger than the first run of its figure, with the day; empty if it is not."""
    return "" if claim.added is None else f"added on {_day_words(claim.added)}, after the first run"


def _day_words(iso: str) -> str:
    day = date.fromisoformat(iso)
    return f"{day.day} {day:%b %Y}"


def counts(verdicts: Iterable[ClaimVerdict]) -> str:
    """Return the claims by verdict: ``3 held, 1 did not hold``."""
    names = [label(one) for one in verdicts]
    return ", ".join(f"{names.count(name)} {name}" for name in LABELS if name in names)


def total(figures: Sequence[Judged]) -> str:
    """Return the number of figures and claims, and the claims by verdict."""
    verdicts = [verdict for one in figures for verdict in one.verdicts]
    counted = f"{plural(len(figures), 'figure')}, {plural(len(verdicts), 'claim')}"
    return f"{counted}: {counts(verdicts)}" if verdicts else counted


def label(one: ClaimVerdict) -> str:
    """Return the verdict on a claim in words. A claim that no repeat was to measure is not measured yet."""
    return one.verdict if one.is_measured or one.verdict != CANNOT_TELL else NOT_MEASURED


def state(one: ClaimVerdict) -> str:
    """Return the class of the verdict on a claim on a page."""
    return STATES[one.verdict] if label(one) != NOT_MEASURED else "quiet"


def sentence(claim: ClaimFields, fields: FigureFields) -> str:
    """Return the sentence of the source that a claim is about; for one of ours, that nobody published it."""
    return "our own expectation" if claim.says == OURS else fields.words[int(claim.says) - 1].text


def sentences(fields: FigureFields) -> list[tuple[str, str]]:
    """Return the sentences of a figure, each with a remark: its document if it is another, and that it has no claim."""
    claimed = {claim.says for claim in fields.claims}
    found = []
    for number, one in enumerate(fields.words, start=1):
        remarks = [f"in {TITLES[one.document]}"] if one.document else []
        remarks += [] if number in claimed else [NO_CLAIM]
        found.append((one.text, ", ".join(remarks)))
    return found


def source(fields: FigureFields) -> str:
    """Return where a figure is published: ``R3, results, figure 2``."""
    return f"{TITLES[fields.source.document]}, {fields.source.place}"


def days(repeats: Sequence[Repeat]) -> str:
    """Return the days of repeats: ``22 Nov 2026``, ``22 Nov 2026 to 1 Dec 2026``."""
    known = [f"{at.day} {at:%b %Y}" for at in sorted(datetime.fromisoformat(one.at) for one in repeats)]
    return " to ".join(dict.fromkeys((known[0], known[-1]))) if known else ""


def outdated_words(outdated: Sequence[Outdated]) -> list[str]:
    """Return which repeats do not count: ``3 repeats, quick, 23 Nov 2026: measured with another workload iou``."""
    found: dict[tuple[Form, str], list[Repeat]] = {}
    for one in outdated:
        found.setdefault((one.repeat.form, one.why), []).append(one.repeat)
    return [
        f"{plural(len(repeats), 'repeat')}, {form}, {days(repeats)}: {why}" for (form, why), repeats in found.items()
    ]


def spoilt_words(repeats: Sequence[Repeat]) -> list[str]:
    """Return which repeats of the same runs were measured and did not count, and why."""
    found = {(one.run, spoilt.repeat): spoilt.why for one in repeats for spoilt in one.spoilt}
    return [f"repeat {number} of {run} was not counted: {why}" for (run, number), why in found.items()]


def conditioning_words(repeats: Sequence[Repeat]) -> list[str]:
    """Return whether the nodes were where they stay when the first point on each lab began, as far as it is known."""
    first = {one.id: [point for point in one.points if point.conditioned is not None] for one in repeats}
    # Of repeats that share a start, only the first has a point before which the nodes were conditioned.
    known = {one.run for one in repeats if first[one.id]}
    found = []
    if cold := [point for points in first.values() for point in points if not point.conditioned]:
        labels = listed(list(dict.fromkeys(_point_label(point) for point in cold)))
        count = f"{len(cold)} of {plural(sum(map(len, first.values())), 'lab')}"
        found.append(f"On {count} the nodes were not steady yet when the first point began ({labels}).")
    if unknown := sum(one.run not in known for one in repeats):
        found.append(
            f"For {plural(unknown, 'repeat')}, it is not known whether the nodes were conditioned long enough."
        )
    return found


def _point_label(point: RepeatPoint) -> str:
    # The number of a named step says nothing more.
    return point_words({name: value for name, value in point.values.items() if name != AT or STEP not in point.values})


def machine(one: RepeatMachine) -> str:
    """Return a machine: ``AMD EPYC, 2 cores, 25 GB``."""
    memory = "" if one.memory_bytes is None else f", {one.memory_bytes / 1e9:.0f} GB"
    return f"{one.cpu or 'unknown CPU'}, {plural(one.cores, 'core')}{memory}"


def machines(repeats: Iterable[Repeat]) -> str:
    """Return the machines of repeats, each once."""
    return "; ".join(dict.fromkeys(machine(one.machine) for one in repeats))


def machines_with_speed(repeats: Iterable[Repeat]) -> str:
    """Return the machines of repeats, each with the mean calibration of its repeats: ``… (calibration 3.02 ms)``."""
    times: dict[str, list[float]] = {}
    for one in repeats:
        readings = (one.calibration.before, one.calibration.after)
        times.setdefault(machine(one.machine), []).extend(time for time in readings if time is not None)
    return "; ".join(
        name + (f" (calibration {statistics.fmean(known):.2f} ms)" if known else "") for name, known in times.items()
    )


def versions(repeats: Iterable[Repeat]) -> str:
    """Return the versions of the lab with their commits: ``0.2.0 at 0123456789ab with uncommitted changes``.

    A commit with changes does not say all of what was measured.
    """
    found: dict[str, dict[str, None]] = {}
    for one in repeats:
        found.setdefault(one.lab_version, {})[one.commit or "an unknown commit"] = None
    return "; ".join(f"{version} at {', '.join(commits)}" for version, commits in found.items())


def duration(seconds: float) -> str:
    """Return an estimated duration: ``15 min``, ``4 h 20 min``."""
    minutes = max(1, round(seconds / 60))
    return length(60 * (minutes if minutes < 60 else 5 * math.ceil(minutes / 5)))
