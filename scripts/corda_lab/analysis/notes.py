"""The notes of a sweep: why steps failed or are invalid, and the warnings of valid steps."""

from collections.abc import Callable, Sequence

from corda_lab.analysis.wording import steps_words
from corda_lab.results.stored import StoredRun
from corda_lab.steps import reasons
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.failures import SHOWN_MAX, error_words, grouped_errors
from corda_lab.steps.reasons import Reason


def failures(step: StepEntry) -> list[Reason]:
    """Why a step failed. Empty for the steps of a search, which overload the system on purpose."""
    return [] if step.phase != "measure" else [*step.verdict.reasons, *step.thresholds.reasons]


def notes(run: StoredRun) -> list[str]:
    """Why steps failed or are invalid, and the warnings of the valid steps: each reason once, with its steps."""
    found = []
    if run.sweep.quick:
        found.append("Warning: every point was measured only once, for 20 s (--quick): do not quote these values")
    kinds: dict[str, Callable[[StepEntry], Sequence[Reason]]] = {
        "Failed": failures,
        "Invalid": lambda step: step.validity.reasons,
        "Warning": lambda step: step.flags if step.validity.valid else [],
    }
    for title, reasons_of in kinds.items():
        groups: dict[tuple[object, ...], list[tuple[StepEntry, Reason]]] = {}
        for step in run.steps:
            for one in reasons_of(step):
                groups.setdefault(reasons.kind(one), []).append((step, one))
        found += [
            f"{title}: {steps_words([str(step.index) for step, _ in members])}: "
            f"{reasons.sentence([one for _, one in members])}"
            for members in groups.values()
        ]
        found += error_notes(run) if title == "Failed" else []
    return found


def error_notes(run: StoredRun) -> list[str]:
    """The most frequent errors of the failed steps. Empty for a search, which causes errors on purpose."""
    failed = [step for step in run.steps if failures(step)]
    kinds = grouped_errors(error for step in failed for error in step.errors)
    return [f"Failed requests: {error_words(kind)}" for kind in kinds[:SHOWN_MAX]]
