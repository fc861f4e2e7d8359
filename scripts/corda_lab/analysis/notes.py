"""The notes of a sweep: why steps failed or are invalid, and the warnings of valid steps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from corda_lab.analysis.points import Point, points
from corda_lab.analysis.wording import ended, steps_words
from corda_lab.results.stored import StoredRun
from corda_lab.steps import reasons
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.reasons import Reason
from corda_lab.steps.rows import ERRORS_SHOWN_MAX, error_words, grouped_errors
from corda_lab.text.words import plural

Kind = Literal["failed", "error", "invalid", "warning"]
"""Why a step failed, the errors of failed requests, why a step is invalid, and what a reader should know."""


@dataclass(frozen=True)
class Note:
    """One line above a report. ``text`` does not name its kind; the reports put that in front, in their own words."""

    kind: Kind
    text: str


def failures(step: StepEntry) -> list[Reason]:
    """Why a step failed. Empty for the steps of a search, which overload the system on purpose."""
    return [] if step.phase != "measure" else [*step.verdict.reasons, *step.thresholds.reasons]


def notes(run: StoredRun) -> list[Note]:
    """Why steps failed or are invalid, and the warnings of the valid steps: each reason once, with its steps."""
    found = []
    if run.sweep.is_quick:
        found.append(Note("warning", QUICK))
    found += [
        Note("warning", ended(f"{one.label} was left out, because this machine cannot have it: {one.reason}"))
        for one in run.sweep.left_out
    ]
    found += [Note("warning", ended(broke_words(point))) for point in points(run) if point.broken]
    kinds: dict[Kind, Callable[[StepEntry], Sequence[Reason]]] = {
        "failed": failures,
        "invalid": lambda step: step.validity.reasons,
        "warning": lambda step: step.flags if step.validity.valid else [],
    }
    for kind, reasons_of in kinds.items():
        groups: dict[tuple[object, ...], list[tuple[StepEntry, Reason]]] = {}
        for step in run.steps:
            for one in reasons_of(step):
                groups.setdefault(reasons.kind(one), []).append((step, one))
        found += [
            Note(
                kind,
                ended(
                    f"{steps_words([str(step.index) for step, _ in members])}: "
                    f"{reasons.sentence([one for _, one in members])}"
                ),
            )
            for members in groups.values()
        ]
        found += error_notes(run) if kind == "failed" else []
    return found


def broke_words(point: Point) -> str:
    """``10 MB broke in 2 of 3 repeats: PartyA ended with exit status 134``. The sweep allows it, so it is a result."""
    why = dict.fromkeys(step.broke for step in point.broken if step.broke)
    return f"{point.label} broke in {len(point.broken)} of {plural(len(point.steps), 'repeat')}: {'; '.join(why)}"


QUICK = "this is the short form of the sweep (--quick), with fewer points or shorter steps than the whole one."


def error_notes(run: StoredRun) -> list[Note]:
    """The most frequent errors of the failed steps. Empty for a search, which causes errors on purpose."""
    failed = [step for step in run.steps if failures(step)]
    kinds = grouped_errors(error for step in failed for error in [*step.failures, *step.unknown_outcomes])
    return [Note("error", ended(error_words(kind))) for kind in kinds[:ERRORS_SHOWN_MAX]]
