"""Reads a sweep file, and makes its short form for ``--quick``."""

from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from corda_lab.errors import LabError
from corda_lab.sweeps.checks import problem, vary_problems, whole_problems
from corda_lab.sweeps.schema import (
    QUICK_REPEATS_MIN,
    ConditionFields,
    FindMaxFields,
    LoadFields,
    QuickFields,
    ShapeFields,
    SweepFields,
    is_timed,
)
from lab_workload.names import did_you_mean
from lab_workload.problems import Problem, WorkloadError, in_file_order
from lab_workload.schema import Fields
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
    return replace(sweep, fields=_short(fields, short), is_quick=True)


def _short(fields: SweepFields, short: QuickFields) -> SweepFields:
    """Return the fields of a sweep with those that its short form sets. Groups of fields are joined."""
    changes = {name: _joined(getattr(fields, name), getattr(short, name)) for name in short.model_fields_set}
    changes["vary"] = {
        key: [value for value in values if value in short.vary.get(key, values)] for key, values in fields.vary.items()
    }
    changes["steps"] = fields.steps and [step for step in fields.steps if step.name in (short.steps or [step.name])]
    if fields.find_max is None:
        changes.setdefault("repeats", QUICK_REPEATS_MIN)
    found = fields.model_copy(update=changes)
    measures = [step.measure or found.measure for step in found.steps or ()] or [found.measure]
    if short.warm_up is None and not any(map(is_timed, measures)):
        # What is counted has no warm-up, even if the whole sweep is measured by time.
        return found.model_copy(update={"warm_up": None})
    return found


def _joined(whole: object, short: object) -> object:
    """Return a value of a short form; of a group of fields, with those of the whole sweep that it does not set."""
    if isinstance(whole, dict) and isinstance(short, dict):
        return {**whole, **short}
    if isinstance(whole, FindMaxFields | LoadFields | ShapeFields | ConditionFields) and isinstance(short, Fields):
        return whole.model_copy(update={name: getattr(short, name) for name in short.model_fields_set})
    return short


def with_repeats(sweep: SweepFile, repeats: int, seed: int | None = None) -> SweepFile:
    """Return a sweep with another number of repeats, and with the seed of the first of them unless it is None."""
    changes = {"repeats": repeats} | ({} if seed is None else {"seed": seed})
    return replace(sweep, fields=sweep.fields.model_copy(update=changes))


def _read(path: Path) -> SweepFile:
    data, source = read_fields(path)
    try:
        fields = SweepFields.model_validate(data)
    except ValidationError as error:
        problems = [problem(detail, source) for detail in error.errors(include_url=False)]
        raise WorkloadError(in_file_order(problems)) from None
    problems = [*vary_problems(fields, source), *whole_problems(fields, source)]
    problems = problems or quick_problems(fields, source)
    if problems:
        raise WorkloadError(in_file_order(problems))
    return SweepFile(path.stem, fields, source, path.read_text(encoding="utf-8"))


def quick_problems(fields: SweepFields, source: Source) -> list[Problem]:
    """Return the problems of ``quick``: what it names must be in the sweep."""
    short = fields.quick
    if short is None:
        return []
    problems: list[Problem] = []
    for key, values in short.vary.items():
        known = fields.vary.get(key)
        if known is None:
            has = ", ".join(fields.vary) or "no fields"
            problems.append(source.problem(("quick", "vary", key), f"{key!r} is not in vary, which has {has}"))
            continue
        problems += [
            source.problem(("quick", "vary", key, index), f"{value!r} is not in vary.{key}")
            for index, value in enumerate(values)
            if value not in known
        ]
    given = {"shape": short.shape.model_fields_set, "load": short.load.model_fields_set, "set": short.set}
    problems += [
        source.problem(("quick", group, name), f"{group}.{name} is in vary; choose from its values in quick.vary")
        for group, names in given.items()
        for name in names
        if f"{group}.{name}" in fields.vary
    ]
    names = [step.name for step in fields.steps or ()]
    problems += [
        source.problem(("quick", "steps", index), f"there is no step {name!r}" + (did_you_mean(name, names) or ""))
        for index, name in enumerate(short.steps or ())
        if name not in names
    ]
    if fields.find_max is None and short.find_max is not None:
        problems.append(source.problem(("quick", "find_max"), "is only for a search, and the sweep has no find_max"))
    return problems or [
        source.problem(("quick", *problem.location), problem.text)
        for problem in whole_problems(_short(fields, short), source)
    ]
