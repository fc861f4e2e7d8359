"""Checks what ends the steps of a sweep file: by time, bursts or flows, and rates that follow from other steps."""

from collections.abc import Iterable, Iterator, Sequence

from corda_lab.sweeps.schema import (
    BurstsFields,
    Measure,
    MeasureFields,
    QuickFields,
    StepFields,
    SweepFields,
    peak_factor,
)
from lab_workload.problems import Location, Problem
from lab_workload.yaml_source import Source


def _entries(fields: SweepFields) -> Iterator[tuple[Location, StepFields | None]]:
    """Yield every named step with its place in the file; the whole sweep (None) if there are none."""
    yield from ((("steps", index), step) for index, step in enumerate(fields.steps or ()))
    if not fields.steps:
        yield (), None


NOT_TIMED = "must not be set: bursts, and steps that end by count, have no warm-up"
BURSTS_EXAMPLE = "condition: {load: {arrivals: closed, users: 8}}"


def ending_problems(fields: SweepFields, source: Source) -> list[Problem]:
    """Return what does not fit between ``measure``, ``warm_up``, ``condition`` and the arrivals of the load."""
    problems = []
    is_timed = False
    for where, step in _entries(fields):
        own = step.measure if step is not None else None
        measure, place = (own, (*where, "measure")) if own is not None else (fields.measure, ("measure",))
        warm_up = step.warm_up if step is not None else None
        is_timed |= isinstance(measure, MeasureFields)
        if isinstance(measure, MeasureFields) and (warm_up or fields.warm_up) is None:
            text = "is missing, both here and for the whole sweep" if where else "is missing"
            problems.append(source.problem((*where, "warm_up"), text))
        if not isinstance(measure, MeasureFields) and warm_up is not None:
            problems.append(source.problem((*where, "warm_up"), NOT_TIMED))
        if not isinstance(measure, MeasureFields) and fields.find_max is not None:
            problems.append(source.problem(place, "must have min and max in a search"))
        arrivals = _arrivals(fields, step)
        problems += _burst_problems(measure, arrivals, place, source)
        problems += _burst_conditioning_problems(fields, arrivals, source)
    if fields.warm_up is not None and not is_timed:
        problems.append(source.problem(("warm_up",), NOT_TIMED))
    return problems


def _arrivals(fields: SweepFields, step: StepFields | None) -> Sequence[str]:
    """Return the arrivals that a named step, or the whole sweep, has at its points."""
    if varied := fields.vary.get("load.arrivals"):
        return varied
    own = step.load.given("arrivals") if step is not None else None
    return (own or fields.load.given("arrivals") or "closed",)


def _burst_problems(measure: Measure, arrivals: Sequence[str], place: Location, source: Source) -> Iterator[Problem]:
    if isinstance(measure, BurstsFields) and any(one != "burst" for one in arrivals):
        yield source.problem((*place, "bursts"), "needs load.arrivals: burst")
    if not isinstance(measure, BurstsFields) and "burst" in arrivals:
        yield source.problem(place, "must be {bursts: N}, because load.arrivals is burst")


def _burst_conditioning_problems(fields: SweepFields, arrivals: Sequence[str], source: Source) -> Iterator[Problem]:
    """Yield the problem that bursts, which have rests between them, would condition the nodes."""
    wanted = fields.condition
    if "burst" not in arrivals or wanted == "none" or wanted.load.given("arrivals") not in (None, "burst"):
        return
    text = f"bursts do not condition nodes; set another load, such as {BURSTS_EXAMPLE}, or none"
    yield source.problem(("condition",), text)


def _multiples(fields: SweepFields) -> Iterator[Location]:
    """Yield the places of the rates that are multiples of the peak, except that of the conditioning."""
    places: list[tuple[Location, object]] = [(("load", "rate"), fields.load.given("rate"))]
    places += [
        (("steps", index, "load", "rate"), step.load.given("rate")) for index, step in enumerate(fields.steps or ())
    ]
    places += [(("vary", "load.rate", index), value) for index, value in enumerate(fields.vary.get("load.rate", ()))]
    yield from (where for where, rate in places if peak_factor(rate) is not None)


def peak_problems(fields: SweepFields, source: Source) -> list[Problem]:
    """Return what is wrong with the rates that are multiples of the peak, and with the steps that measure it."""
    problems = []
    if fields.condition != "none" and peak_factor(fields.condition.load.given("rate")) is not None:
        text = "must be a number: nothing was measured before the nodes are conditioned"
        problems.append(source.problem(("condition", "load", "rate"), text))
    multiples = list(_multiples(fields))
    if not multiples or fields.find_max is not None:
        return problems
    varied = fields.vary.get("load.rate")
    for index, step in enumerate(fields.steps or ()):
        own = varied or [step.load.given("rate") or fields.load.given("rate")]
        if step.peak and any(peak_factor(rate) is not None for rate in own):
            problems.append(source.problem(("steps", index, "peak"), f"{step.name!r} has a rate that depends on it"))
    has_peak = any(step.peak for step in fields.steps or ())
    if not has_peak and not any(_is_measurable_first(fields, step) for _, step in _entries(fields)):
        text = "needs a point whose rate is no multiple, to be measured before"
        problems.append(source.problem(multiples[0], text))
    return problems


def _is_measurable_first(fields: SweepFields, step: StepFields | None) -> bool:
    """Return whether a named step, or the whole sweep, has a point whose rate is not a multiple of the peak."""
    own = step.load.given("rate") if step is not None else None
    rates = fields.vary.get("load.rate") or [own or fields.load.given("rate")]
    return any(peak_factor(rate) is None for rate in rates)


def quick_ending_problems(fields: SweepFields, short: QuickFields, source: Source) -> Iterator[Problem]:
    """Yield what does not fit between ``measure`` and ``warm_up`` of a short form, and the rest of the sweep."""
    steps = [step for step in fields.steps or () if short.steps is None or step.name in short.steps]
    inheriting: list[StepFields | None] = [step for step in steps if step.measure is None]
    if not fields.steps:
        inheriting.append(None)
    measure = short.measure or fields.measure
    is_timed = isinstance(measure, MeasureFields)
    if short.measure is not None and inheriting:
        place: Location = ("quick", "measure")
        yield from _unique(_burst_problems(measure, _arrivals(fields, step), place, source) for step in inheriting)
        is_warm = [one is not None and one.warm_up is not None for one in inheriting]
        if is_timed and (short.warm_up or fields.warm_up) is None and not all(is_warm):
            yield source.problem(("quick", "warm_up"), "is missing, both here and for the whole sweep")
    any_timed = (is_timed and inheriting) or any(isinstance(step.measure, MeasureFields) for step in steps)
    if short.warm_up is not None and not any_timed:
        yield source.problem(("quick", "warm_up"), NOT_TIMED)
    if short.measure is not None and fields.find_max is not None and not is_timed:
        yield source.problem(("quick", "measure"), "must have min and max in a search")


def _unique(groups: Iterable[Iterable[Problem]]) -> Iterator[Problem]:
    yield from dict.fromkeys(problem for group in groups for problem in group)
