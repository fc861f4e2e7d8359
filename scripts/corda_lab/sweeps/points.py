"""The points of a sweep: every combination of what it varies and names, each as the first step that measures it."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from corda_lab.errors import LabError
from corda_lab.knobs.options import Kind
from corda_lab.knobs.shape import SIZE, variables_of
from corda_lab.results.manifest import BurstCount, FlowCount
from corda_lab.steps.entry import ParameterValue
from corda_lab.steps.faults import Fault
from corda_lab.steps.load import LOAD_OPTIONS
from corda_lab.steps.parameters import AT, value_words
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.planned import KEY_LENGTH_MAX, PlannedCondition, PlannedStep, model_of
from corda_lab.sweeps.schema import (
    STEPS_MAX,
    CommonFields,
    Measure,
    SpanFields,
    StepFields,
    SweepFields,
)
from corda_lab.text.durations import parse_duration

BURST_SECONDS_MAX = 600.0
FLOW_SECONDS_MAX = 60.0
COUNTED_SECONDS_MIN = 1800.0
"""A step that ends by count may last ``BURST_SECONDS_MAX`` for every burst, or ``FLOW_SECONDS_MAX`` for every flow, and
at least this long. A flow that hangs is ended by the bridge before."""
COUNTED_SECONDS_MAX = 24 * 3600.0

GROUPS = ("load", "shape", "set")


def points_of(sweep: SweepFile) -> list[PlannedStep]:
    """Return the step of every combination of the values that vary, in the order of the file.

    Their keys do not name the repeat. Raises LabError if there are too many.
    """
    fields = sweep.fields
    entries: Sequence[StepFields | None] = fields.steps or (None,)
    if len(entries) * prod(map(len, fields.vary.values())) > STEPS_MAX:
        raise LabError(f"{sweep.source.path}: has more than {STEPS_MAX} steps", "Reduce the number of values in vary.")
    return [
        conditioned(fields, _point(fields, entry, dict(zip(fields.vary, values, strict=True))))
        for entry in entries
        for values in product(*fields.vary.values())
    ]


def _point(fields: SweepFields, entry: StepFields | None, varied: Mapping[str, Any]) -> PlannedStep:
    """Return the step of one combination of values, without the load that conditions its nodes."""
    given = fields.model_dump(exclude_none=True)
    over = entry.model_dump(exclude_none=True) if entry else {}
    parts = {group: {**given[group], **over.get(group, {})} for group in GROUPS}
    # A schedule is no value of a parameter, and the load that conditions the nodes has none.
    parts["load"].pop("faults", None)
    for key, value in varied.items():
        group, _, name = key.partition(".")
        if key != "workload":
            parts[group][name] = _seconds(name, value) if group == "load" else value
    workload = str(varied.get("workload") or over.get("workload") or fields.workload or "")
    named: dict[str, ParameterValue] = {} if entry is None else {"step": entry.name}
    varying = {**named, **varied}
    ending = (entry and entry.measure) or fields.measure
    variables, size = variables_of(parts["shape"]), parts["shape"].get(SIZE.name)
    return PlannedStep(
        index=1,
        key=_key(varying, workload),
        label=", ".join(value_words(key, value) for key, value in varying.items()) or workload,
        point={**named, **({} if entry is None or entry.at is None else {AT: entry.at}), **varied},
        repeat=1,
        phase="measure",
        workload=workload,
        overrides={name: text_of(value) for name, value in parts["set"].items()},
        load=parts["load"],
        variables=variables | ({"SIZE": size} if size else {}),
        seed=fields.seed,
        warm_up=_warm_up((entry and entry.warm_up) or fields.warm_up, ending),
        measure=_seconds_max(ending),
        bursts=ending.bursts if isinstance(ending, BurstCount) else None,
        flows=ending.flows if isinstance(ending, FlowCount) else None,
        flows_after=ending.after if isinstance(ending, FlowCount) else 0,
        may_break=fields.may_break if entry is None or entry.may_break is None else entry.may_break,
        faults=_faults(fields if entry is None or entry.load.faults is None else entry),
        is_peak=entry is not None and entry.peak,
        beside_seconds=fields.beside if entry is None or entry.beside is None else entry.beside,
    )


def _key(varying: Mapping[str, ParameterValue], workload: str) -> str:
    """Return the values that vary, for file names: ``users-8_database-h2``. A long key is cut, and ends with a hash."""
    whole = "_".join(f"{key.rpartition('.')[2]}-{_word(value)}" for key, value in varying.items()) or _word(workload)
    if len(whole) <= KEY_LENGTH_MAX:
        return whole
    digest = hashlib.sha256(whole.encode()).hexdigest()[:8]
    return f"{whole[: KEY_LENGTH_MAX - len(digest) - 1]}-{digest}"


def _word(value: ParameterValue) -> str:
    text = " ".join(value) if isinstance(value, list) else str(value)
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.") or "none"


def _warm_up(span: SpanFields | None, ending: Measure) -> tuple[float, float]:
    """Return the shortest and the longest warm-up in seconds. Only steps that are measured by time have one."""
    return (span.min, span.max) if span is not None and isinstance(ending, float) else (0.0, 0.0)


def _seconds_max(ending: Measure) -> float:
    """Return the measuring window in seconds; the longest one of a step that ends by count."""
    if isinstance(ending, float):
        return ending
    if isinstance(ending, BurstCount):
        most = BURST_SECONDS_MAX * ending.bursts
    else:
        most = FLOW_SECONDS_MAX * (ending.flows + ending.after)
    return min(max(COUNTED_SECONDS_MIN, most), COUNTED_SECONDS_MAX)


def _faults(fields: CommonFields) -> tuple[Fault, ...]:
    """Return the faults of a whole sweep or of a named step, whose own replace those of the sweep."""
    return tuple(one.fault for one in fields.load.faults or ())


def conditioned(fields: SweepFields, step: PlannedStep) -> PlannedStep:
    """Return a step with the load that conditions its nodes. One without a warm-up has none: it shows how they warm."""
    asked = fields.condition
    if asked == "none" or (not step.is_counted and step.warm_up[1] == 0):
        return step
    given = asked.load.model_dump(exclude_none=True)
    load = dict(step.load)
    if model_of({**load, **given}) != model_of(load):
        # The options of the other model, and the users, who are another thing there, do not apply.
        load = {name: value for name, value in load.items() if name != "users" and LOAD_OPTIONS[name].model is None}
    is_same = asked.workload in (None, step.workload)
    condition = PlannedCondition(
        load={**load, **given},
        overrides=(step.overrides if is_same else {}) | {name: text_of(value) for name, value in asked.set.items()},
        seconds=(asked.duration.min, asked.duration.max),
        workload=None if is_same else asked.workload,
    )
    return step.model_copy(update={"condition": condition})


def _seconds(name: str, value: Any) -> Any:
    return parse_duration(str(value), option=name) if LOAD_OPTIONS[name].kind is Kind.DURATION else value


def text_of(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def steps_of(sweep: SweepFile, points: Iterable[PlannedStep]) -> list[PlannedStep]:
    """Return the steps of a sweep in the order in which they run.

    All points are measured once, then all again in reverse order, and so on. With an even number of repeats, a steady
    drift affects all points equally. Repeats whose own seed is even are the reverse ones, so that repeats that are
    added later go on in turn.

    Points of the same shape run together. Among them, those that show the peak come first in every repeat, because the
    rates of others are multiples of it.
    """
    shapes: dict[tuple[tuple[str, str], ...], list[PlannedStep]] = {}
    for point in points:
        shapes.setdefault(point.shape_key, []).append(point)
    groups = list(shapes.values())
    steps: list[PlannedStep] = []
    for repeat in range(1, sweep.fields.repeats + 1):
        is_reverse = (sweep.fields.seed + repeat - 1) % 2 == 0
        for group in [group[::-1] for group in groups[::-1]] if is_reverse else groups:
            for point in sorted(group, key=lambda point: not point.is_peak):
                steps.append(step_of(sweep, point, len(steps) + 1, repeat))
    return steps


def step_of(sweep: SweepFile, point: PlannedStep, index: int, repeat: int) -> PlannedStep:
    """Return the step that measures a point in a repeat."""
    changes = {"index": index, "repeat": repeat, "key": f"{point.key}_r{repeat}"}
    return point.model_copy(update={**changes, "seed": sweep.fields.seed + repeat - 1})


def at_rate(sweep: SweepFile, point: PlannedStep, rate: float) -> PlannedStep:
    """Return a point with its rate in arrivals per second."""
    return conditioned(sweep.fields, point.model_copy(update={"load": {**point.load, "rate": rate}}))
