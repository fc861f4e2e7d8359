"""The checks of the short form of a sweep."""

from collections.abc import Iterable, Iterator

from corda_lab.sweeps.checks import NOT_TIMED, arrivals_of, burst_problems, search_limit_problems, span_problems
from corda_lab.sweeps.schema import QuickFields, StepFields, SweepFields, is_timed
from lab_workload.names import did_you_mean
from lab_workload.problems import Location, Problem
from lab_workload.yaml_source import Source


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
