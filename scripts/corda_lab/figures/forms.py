"""The two forms in which a figure is measured, which are never mixed, and what varies in its sweep."""

import hashlib
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from corda_lab.errors import LabError
from corda_lab.figures.repeat import Form, Repeat
from corda_lab.lab.settings import Settings
from corda_lab.results.stored import StoredRun
from corda_lab.results.sweep import SweepFields
from corda_lab.results.sweep_parts import CommonFields
from corda_lab.steps.entry import ParameterValue
from corda_lab.sweeps import plan
from corda_lab.sweeps.file import SweepFile, quick, read_sweep
from corda_lab.sweeps.step import points_of, steps_of

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
    return QUICK if run.sweep.is_quick else FULL


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
    "builds. Set-ups, backlogs, bursts and counted flows take as long as the sweep file says (beside)."
)
"""What the times of figures are, and what they leave out."""


def seconds_of(sweep: SweepFile, settings: Settings, stored: Iterable[Repeat]) -> float:
    """Return how long a sweep takes in its form: as long as stored repeats did, else an estimate for all its points."""
    fields = sweep.fields
    known = [repeat.seconds for repeat in stored if repeat.seconds is not None]
    if known:
        # Not the median: where repeats share a start, the first of them has it, and its time would be left out.
        return statistics.fmean(known) * fields.repeats
    return plan.run_time(steps_of(sweep, points_of(sweep)), settings, fresh=fields.fresh).seconds_max


def are_of_one_start(sweep: SweepFile, repeats: Sequence[Repeat]) -> bool:
    """Return whether two or more repeats all ran on one start of the nodes.

    They are of one run, whose labs have one shape, and are not started again for a repeat.
    """
    if len(repeats) < 2 or len({one.run for one in repeats}) > 1:
        return False
    measured = in_form(sweep, repeats[0].form)
    return measured.fields.fresh == "shape" and len({point.shape_key for point in points_of(measured)}) == 1


STEP, AT = "step", "at"
"""The names of a named step, and of the number that it has on the axis."""

Values = Mapping[str, ParameterValue]
"""A point by what varies."""


@dataclass(frozen=True)
class SweepNames:
    """The points of a sweep in the order of the file, and what each named step sets that does not vary.

    The constants of a sweep without named steps have the key "".
    """

    points: tuple[Values, ...]
    constants: Mapping[str, Values]

    @property
    def axes(self) -> dict[str, list[ParameterValue]]:
        """The values of what varies, by its name."""
        found: dict[str, list[ParameterValue]] = {}
        for point in self.points:
            for name, value in point.items():
                if value not in (values := found.setdefault(name, [])):
                    values.append(value)
        return found

    def constants_at(self, values: Values) -> Values:
        """Return what a point has besides the values that vary: ``set.backchainSize``, ``load.users``."""
        return self.constants.get(str(values.get(STEP, "")), {})


def names_of(sweep: SweepFile) -> SweepNames:
    """Return what varies in a sweep, and what does not. Raises LabError if it has too many points."""
    fields = sweep.fields
    named = {step.name: {**_given(fields), **_given(step)} for step in fields.steps or ()}
    return SweepNames(tuple(step.point for step in points_of(sweep)), {"": _given(fields), **named})


def corda_versions(fields: SweepFields) -> list[str]:
    """Return the versions of Corda that a sweep sets; none if it starts that of ``.env``."""
    found = [str(version) for version in fields.vary.get("shape.corda", [])]
    for one in (fields, *(fields.steps or ())):
        version = one.shape.model_dump(exclude_none=True).get("corda")
        found += [] if version is None else [str(version)]
    return list(dict.fromkeys(found))


def _given(fields: CommonFields) -> dict[str, ParameterValue]:
    whole = fields.model_dump(exclude_none=True)
    found: dict[str, ParameterValue] = {
        f"{group}.{name}": value for group in ("load", "shape", "set") for name, value in whole.get(group, {}).items()
    }
    if fields.workload is not None:
        found["workload"] = fields.workload
    return found
