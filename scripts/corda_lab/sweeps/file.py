"""Reads a sweep file, and makes its short form for ``--quick``."""

from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from corda_lab.errors import LabError
from corda_lab.sweeps.checks import problem, vary_problems, whole_problems
from corda_lab.sweeps.quick_checks import quick_problems
from corda_lab.sweeps.schema import (
    QUICK_REPEATS_MIN,
    Condition,
    ConditionFields,
    LoadFields,
    ShapeFields,
    SweepFields,
    is_timed,
)
from lab_workload.problems import WorkloadError, in_file_order
from lab_workload.yaml_source import Source, read_fields

QUICK_SUFFIX = "-quick"


@dataclass(frozen=True)
class SweepFile:
    """A valid sweep file."""

    name: str
    """The file's name without its suffix."""
    fields: SweepFields
    source: Source
    text: str
    is_quick: bool = False

    @property
    def run_name(self) -> str:
        """The name of its run."""
        return f"{self.name}{QUICK_SUFFIX}" if self.is_quick else self.name


def read_sweep(path: Path) -> SweepFile:
    """Read a sweep file. Raises LabError with all its problems."""
    try:
        return _read(path)
    except WorkloadError as error:
        raise LabError(problems=error.problems, remedy="docs/sweeps.md describes sweep files.") from None


def quick(sweep: SweepFile) -> SweepFile:
    """Return the short form of a sweep, with fewer points, repeats or seconds, as its ``quick`` says.

    Raises LabError if the file has none: what may be left out without changing the question, only its author knows.
    """
    fields, short = sweep.fields, sweep.fields.quick
    if short is None:
        raise LabError(
            f"{sweep.source.path}: quick: is missing, so --quick does not know what to leave out",
            "Add it, for example `quick: {vary: {load.users: [1, 16]}, measure: 20s}`, or leave out --quick.",
        )
    changes: dict[str, object] = {
        "vary": {
            key: [value for value in values if value in short.vary.get(key, values)]
            for key, values in fields.vary.items()
        },
        "steps": fields.steps and [step for step in fields.steps if step.name in (short.steps or [step.name])],
    }
    if fields.find_max is None:
        changes["repeats"] = short.repeats or QUICK_REPEATS_MIN
    elif short.find_max is not None:
        given = {name: value for name, value in dict(short.find_max).items() if value is not None}
        changes["find_max"] = fields.find_max.model_copy(update=given)
    for name in ("warm_up", "measure", "fresh", "beside"):
        if (value := getattr(short, name)) is not None:
            changes[name] = value
    changes["set"] = {**fields.set, **short.set}
    changes["load"] = fields.load.model_copy(update=_given(short.load))
    changes["shape"] = fields.shape.model_copy(update=_given(short.shape))
    if short.condition is not None:
        changes["condition"] = _condition(fields.condition, short.condition)
    found = fields.model_copy(update=changes)
    if not _has_timed(found):
        # What is counted has no warm-up, even if the whole sweep is measured by time.
        found = found.model_copy(update={"warm_up": None})
    return replace(sweep, fields=found, is_quick=True)


def _has_timed(fields: SweepFields) -> bool:
    """Return whether any step of a sweep is measured by time."""
    own = [step.measure or fields.measure for step in fields.steps or ()] or [fields.measure]
    return any(map(is_timed, own))


def with_repeats(sweep: SweepFile, repeats: int, seed: int | None = None) -> SweepFile:
    """Return a sweep with another number of repeats, and with the seed of the first of them unless it is None."""
    changes = {"repeats": repeats} | ({} if seed is None else {"seed": seed})
    return replace(sweep, fields=sweep.fields.model_copy(update=changes))


def _condition(whole: Condition, short: Condition) -> Condition:
    """Return what conditions the nodes in a short form: that of the whole sweep, with the fields that it sets."""
    if whole == "none" or short == "none":
        return short
    return whole.model_copy(update=_given(short))


def _given(short: ConditionFields | LoadFields | ShapeFields) -> dict[str, object]:
    """Return the fields that a short form sets."""
    return {name: getattr(short, name) for name in short.model_fields_set}


def _read(path: Path) -> SweepFile:
    data, source = read_fields(path)
    try:
        fields = SweepFields.model_validate(data)
    except ValidationError as error:
        problems = [problem(detail, source) for detail in error.errors(include_url=False)]
        raise WorkloadError(in_file_order(problems)) from None
    problems = [*vary_problems(fields, source), *whole_problems(fields, source), *quick_problems(fields, source)]
    if problems:
        raise WorkloadError(in_file_order(problems))
    return SweepFile(path.stem, fields, source, path.read_text(encoding="utf-8"))
