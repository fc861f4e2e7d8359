"""Reads a sweep file, and makes its short form for ``--quick``."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from corda_lab.errors import LabError
from corda_lab.sweeps.checks import (
    NOT_TIMED,
    arrivals_of,
    burst_problems,
    problem,
    search_limit_problems,
    span_problems,
    vary_problems,
    whole_problems,
)
from corda_lab.sweeps.schema import (
    QUICK_REPEATS_MIN,
    Condition,
    ConditionFields,
    LoadFields,
    QuickFields,
    ShapeFields,
    StepFields,
    SweepFields,
    is_timed,
)
from lab_workload.names import did_you_mean
from lab_workload.problems import Location, Problem, WorkloadError, in_file_order
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


def quick_problems(fields: SweepFields, source: Source) -> list[Problem]:
    """Return the problems of ``quick``: what it names must be in the sweep."""
    short = fields.quick
    if short is None:
        return []
    problems = span_problems(short, ("quick",), source)
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
    problems += _quick_ending_problems(fields, short, source)
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
    if short.find_max is not None:
        problems += search_limit_problems(short.find_max, ("quick", "find_max"), source)
    if fields.find_max is not None and short.repeats is not None:
        text = "must not be set for a search, which confirms its own result"
        problems.append(source.problem(("quick", "repeats"), text))
    return problems


def _quick_ending_problems(fields: SweepFields, short: QuickFields, source: Source) -> Iterator[Problem]:
    """Yield what does not fit between ``measure`` and ``warm_up`` of a short form, and the rest of the sweep."""
    steps = [step for step in fields.steps or () if short.steps is None or step.name in short.steps]
    inheriting: list[StepFields | None] = [step for step in steps if step.measure is None]
    if not fields.steps:
        inheriting.append(None)
    measure = short.measure or fields.measure
    if short.measure is not None and inheriting:
        place: Location = ("quick", "measure")
        yield from unique(burst_problems(measure, arrivals_of(fields, step), place, source) for step in inheriting)
        is_warm = [one is not None and one.warm_up is not None for one in inheriting]
        if is_timed(measure) and (short.warm_up or fields.warm_up) is None and not all(is_warm):
            yield source.problem(("quick", "warm_up"), "is missing, both here and for the whole sweep")
    any_timed = (is_timed(measure) and inheriting) or any(step.measure and is_timed(step.measure) for step in steps)
    if short.warm_up is not None and not any_timed:
        yield source.problem(("quick", "warm_up"), NOT_TIMED)
    if short.measure is not None and fields.find_max is not None and not is_timed(measure):
        yield source.problem(("quick", "measure"), "must be a duration in a search")


def unique(groups: Iterable[Iterable[Problem]]) -> Iterator[Problem]:
    yield from dict.fromkeys(problem for group in groups for problem in group)
