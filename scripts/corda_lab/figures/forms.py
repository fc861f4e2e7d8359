"""The two forms in which a figure is measured: the whole sweep, and its short form. They are never mixed."""

import hashlib
import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from corda_lab.errors import LabError
from corda_lab.figures.repeat import Form, Repeat
from corda_lab.lab.settings import Settings
from corda_lab.results.stored import StoredRun
from corda_lab.sweeps import estimate, plan
from corda_lab.sweeps.file import SweepFile, quick, read_sweep
from corda_lab.sweeps.plan import ordered
from corda_lab.sweeps.planned import PlannedStep
from corda_lab.sweeps.points import points_of

QUICK: Form = "quick"
FULL: Form = "full"
FORMS: tuple[Form, ...] = get_args(Form)

DIGEST_LENGTH = 16

NOT_MEASURED = {"description", "x", "repeats", "seed", "retries", "thresholds", "quick", "beside"}
"""Fields of a sweep file that change nothing about one repeat. All others enter its digest."""


def in_form(sweep: SweepFile, form: Form) -> SweepFile:
    """Return a sweep in one of its forms. Raises LabError if it has no short form."""
    return quick(sweep) if form == QUICK else sweep


def form_of(run: StoredRun) -> Form:
    """Return the form in which the sweep of a run was measured."""
    return QUICK if run.sweep.quick else FULL


def digest_of(sweep: SweepFile) -> str:
    """Return the digest of what a sweep, in its form, says about one repeat. Comments and repeats do not count."""
    said = sweep.fields.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=NOT_MEASURED)
    for step in said.get("steps") or ():
        step.pop("beside", None)
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:DIGEST_LENGTH]


def sweep_of(run: StoredRun) -> SweepFile:
    """Read the sweep of a run as it was measured, in its form. Raises LabError."""
    if not run.is_sweep:
        raise LabError(f"{run.identity} is not the run of a sweep", "Figures are judged from runs of their sweeps.")
    if run.sweep.find_max:
        raise LabError(f"{run.identity} is a search for the highest rate", "Figures are judged from other sweeps.")
    return in_form(read_sweep(run.folder / "sweep.yaml"), form_of(run))


ESTIMATES = (
    "Times are those of the stored repeats. Without any, they are estimates for two cores, without the time of image "
    "builds. Set-ups and backlogs are counted only if the sweep file says how long they take (beside). "
    f"{estimate.RATES_GUESSED}"
)
"""What the times of figures are, and what they leave out."""


@dataclass(frozen=True)
class Takes:
    """How long a sweep takes in its form, in seconds, with how many starts of the lab.

    ``notes`` say what an estimate counts and leaves out. They are empty if stored repeats show how long it takes.
    """

    seconds: float
    starts: int
    notes: tuple[str, ...]


def takes(sweep: SweepFile, settings: Settings, stored: Iterable[Repeat]) -> Takes | None:
    """Return how long a sweep takes in its form on this machine; None if this machine cannot run it."""
    try:
        return _takes(sweep, plan.plan_sweep(sweep, settings).steps, settings, stored)
    except LabError:
        return None


def whole_takes(sweep: SweepFile, settings: Settings, stored: Iterable[Repeat]) -> Takes:
    """Return how long a sweep takes in its form on a machine that can have all of its points."""
    fields = sweep.fields
    turns = ordered(points_of(sweep), repeats=fields.repeats, seed=fields.seed)
    steps = [plan.step_of(sweep, point, index, repeat) for index, (point, repeat) in enumerate(turns, start=1)]
    return _takes(sweep, steps, settings, stored)


def _takes(sweep: SweepFile, steps: Sequence[PlannedStep], settings: Settings, stored: Iterable[Repeat]) -> Takes:
    found = estimate.estimate(steps, settings, fresh=sweep.fields.fresh)
    known = [one.seconds for one in stored if one.seconds is not None]
    if known:
        # Not the median: where repeats share a start, the first of them has it, and its time would be left out.
        return Takes(statistics.fmean(known) * sweep.fields.repeats, found.starts, ())
    notes = (f"Estimated {estimate.coverage(steps)}.", estimate.counted_words(steps))
    return Takes(found.seconds_max, found.starts, tuple(filter(None, notes)))


LACK = "So the intervals leave out how much two starts differ, and contain how much nodes change with their age."
SHARED_START = f"Repeats of one run share a start of the nodes. {LACK}"
SHARED_STARTS = (
    "Each run started the nodes only where the shape of the lab changed. Its repeats go forwards and backwards in "
    f"turn, so neighbours may share a start. {LACK}"
)
"""The same where the labs of a sweep have several shapes."""


def are_of_one_start(sweep: SweepFile, repeats: Sequence[Repeat]) -> bool:
    """Return whether two or more repeats all ran on one start of the nodes.

    They are of one run, whose labs have one shape, and are not started again for a repeat.
    """
    if len(repeats) < 2 or len({one.run for one in repeats}) > 1:
        return False
    return _starts_once_a_shape(sweep, repeats[0].form) and _shapes(sweep, repeats[0].form) == 1


def shared_words(sweep: SweepFile, form: Form) -> str:
    """Return what the intervals of repeats lack that share starts of the nodes; empty if each repeat has its own."""
    if not _starts_once_a_shape(sweep, form):
        return ""
    return SHARED_START if _shapes(sweep, form) == 1 else SHARED_STARTS


def _starts_once_a_shape(sweep: SweepFile, form: Form) -> bool:
    return in_form(sweep, form).fields.fresh == "shape"


def _shapes(sweep: SweepFile, form: Form) -> int:
    """Return how many shapes the labs of a sweep have."""
    return len({point.shape_key for point in points_of(in_form(sweep, form))})
