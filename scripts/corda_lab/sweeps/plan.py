"""Plans a sweep: its points, which are all combinations of what varies, the steps that measure them, and their time."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

from corda_lab.errors import LabError
from corda_lab.knobs.shape import LIVE_VARIABLES, SIZE, variables_of
from corda_lab.lab import shape
from corda_lab.lab.settings import Settings
from corda_lab.results import folders
from corda_lab.results.sweep import Fresh, ManifestPart, SweepFields
from corda_lab.results.sweep_parts import (
    NO_CONDITION,
    STEPS_MAX,
    BurstCount,
    ConditionFields,
    FlowCount,
    Measure,
    SpanFields,
    StepFields,
    peak_factor,
)
from corda_lab.steps.entry import Kind, ParameterValue
from corda_lab.steps.load import Conditioning, read_load
from corda_lab.steps.parameters import AT, value_words
from corda_lab.sweeps.file import SweepFile
from lab_workload.load import FIELDS, Load, LoadModel, Stopping, model_of, read_seconds

POOL_DEFAULT = 200
"""Default size of the pool in open load."""
NAME_LENGTH_MAX = folders.NAME_LENGTH_MAX - len("-0000")
"""Maximum length of a sweep's name. The load of each step is named after the sweep, with a number."""
KEY_LENGTH_MAX = 150
"""Maximum length of a step's key. The name of a step's folder contains it, and may have at most 255 characters."""
RATE_DIGITS = 4
"""Significant digits of computed rates. Names of steps and reports then show exactly the rate that was offered."""

BURST_SECONDS_MAX = 600.0
FLOW_SECONDS_MAX = 60.0
COUNTED_SECONDS_MIN = 1800.0
"""A step that ends by count may last ``BURST_SECONDS_MAX`` for every burst, or ``FLOW_SECONDS_MAX`` for every flow, and
at least this long. A flow that hangs is ended by the bridge before."""
COUNTED_SECONDS_MAX = 24 * 3600.0

ShapeKey = tuple[tuple[str, str], ...]
Given = dict[str, ParameterValue]
"""Fields of a group, by their names in a sweep file."""


class PlannedStep(ManifestPart):
    """One load on one shape."""

    index: int = 0
    """Position in the order of execution, from 1; 0 of a point, which is no step yet."""
    key: str
    label: str
    point: dict[str, ParameterValue]
    """The values of the fields in ``vary``, the same for all repeats."""
    repeat: int = 1
    kind: Kind = "measure"
    load: Load
    """Without a rate, if that is a multiple of the peak."""
    condition: Conditioning | None
    """The load that conditions the nodes if the step is the first on its lab; None if nothing does."""
    variables: dict[str, str]
    """The variables of ``.env`` that define the shape."""
    peak_factor: float | None
    """The multiple of the peak that is offered; None if the rate is none."""
    is_peak: bool
    """Whether its throughput is the peak of the steps of its repeat with the same workload and shape."""
    may_break: bool
    """Whether it is a result if the step ends a node."""
    beside_seconds: float | None
    """How long it takes beside its load, for the estimate only; None if the sweep file does not say."""

    @property
    def workload(self) -> str:
        return self.load.workload

    @property
    def shape_key(self) -> ShapeKey:
        return tuple(sorted(self.variables.items()))

    def lab_key(self, fresh: Fresh) -> tuple[object, ...]:
        """Return a key that is equal for consecutive steps that share a lab. They may differ in live knobs."""
        starts: dict[Fresh, tuple[int, ...]] = {"shape": (), "repeat": (self.repeat,), "step": (self.index,)}
        fixed = (variable for variable in self.shape_key if variable[0] not in LIVE_VARIABLES)
        return (*fixed, *starts[fresh])

    def settings(self, settings: Settings) -> Settings:
        """Return the settings of its lab. Raises LabError for an unknown size."""
        variables = {name: value for name, value in self.variables.items() if name != "SIZE"}
        return shape.with_options(settings, variables, size=self.variables.get("SIZE"))

    def peaks(self, steps: Iterable["PlannedStep"]) -> list["PlannedStep"]:
        """Return the steps of its repeat whose highest throughput is the peak of which its rate is a multiple."""
        key = (self.repeat, self.workload, self.shape_key)
        return [step for step in steps if step.is_peak and (step.repeat, step.workload, step.shape_key) == key]

    def at_peak(self, peak: float) -> "PlannedStep":
        """Return the step with its rate in arrivals per second. ``peak`` is a throughput in flows per second."""
        if self.peak_factor is None:
            return self
        return self.at_rate(float(f"{self.peak_factor * peak:.{RATE_DIGITS}g}"))

    def at_rate(self, rate: float) -> "PlannedStep":
        """Return the step with a rate in arrivals per second. Open load that conditions its nodes has it too.

        Raises LabError for a rate that no load can have.
        """
        condition = self.condition
        if condition is not None and condition.options.is_open and condition.options.rate is None:
            condition = replace(condition, options=_at_rate(condition.options, rate))
        changes = {"load": _at_rate(self.load, rate), "condition": condition, "peak_factor": None}
        return self.model_copy(update=changes)

    def numbered(self, index: int, seed: int, **changes: object) -> "PlannedStep":
        """Return a point as the step at a place in the order, after which its loads are named."""
        load = self.load.updated(name=f"{self.load.name}-{index:04d}", seed=seed)
        condition = self.condition
        if condition is not None:
            options = condition.options.updated(name=f"condition-{index:04d}", seed=seed)
            condition = replace(condition, options=options)
        return self.model_copy(update={"index": index, "load": load, "condition": condition, **changes})


def points_of(sweep: SweepFile) -> list[PlannedStep]:
    """Return every point that is not left out, in the order of the file, as its first step.

    Their keys do not name the repeat. Raises LabError if there are too many.
    """
    fields = sweep.fields
    if len(fields.entries) * prod(map(len, fields.vary.values())) > STEPS_MAX:
        raise LabError(f"{sweep.source.path}: has more than {STEPS_MAX} steps", "Reduce the number of values in vary.")
    left_out = {point.label for point in sweep.left_out}
    points = (
        _point(sweep, entry, dict(zip(fields.vary, values, strict=True)))
        for entry in fields.entries
        for values in product(*fields.vary.values())
    )
    return [point for point in points if point.label not in left_out]


def _point(sweep: SweepFile, entry: StepFields, varied: Mapping[str, Any]) -> PlannedStep:
    fields = sweep.fields
    groups = given(fields, entry, varied)
    load, size = groups["load"], groups["shape"].get(SIZE.name)
    workload = str(varied.get("workload") or fields.of(entry, "workload"))
    named: dict[str, ParameterValue] = {"step": entry.name} if entry.name else {}
    varying = {**named, **varied}
    faults = fields.load.faults if entry.load.faults is None else entry.load.faults
    options = _options(load, workload=workload, overrides=_texts(groups["set"]), name=sweep.name, seed=fields.seed)
    options = _ending(options, fields.of(entry, "measure"), fields.of(entry, "warm_up"))
    options = options.updated(faults=tuple(fault.fault for fault in faults or ()))
    # A step without a warm-up shows how nodes warm up, so nothing conditions them.
    is_cold = not options.is_counted and options.warm_up_seconds == 0
    condition = None if fields.condition == NO_CONDITION or is_cold else _condition(fields.condition, options, load)
    return PlannedStep(
        key=_key(varying, workload),
        label=", ".join(value_words(key, value) for key, value in varying.items()) or workload,
        point={**named, **({} if entry.at is None else {AT: entry.at}), **varied},
        load=options,
        condition=condition,
        variables=variables_of(groups["shape"]) | ({"SIZE": size} if size else {}),
        peak_factor=peak_factor(load.get("rate")),
        is_peak=entry.peak,
        may_break=fields.of(entry, "may_break"),
        beside_seconds=fields.of(entry, "beside"),
    )


def given(fields: SweepFields, entry: StepFields, varied: Mapping[str, Any]) -> dict[str, Given]:
    """Return the fields of ``load``, ``shape`` and ``set`` that a point sets. Durations are in seconds."""
    whole, own = fields.model_dump(exclude_none=True), entry.model_dump(exclude_none=True)
    groups: dict[str, Given] = {group: {**whole[group], **own[group]} for group in ("load", "shape", "set")}
    # A schedule is no value of a parameter, and the load that conditions the nodes has none.
    groups["load"].pop("faults", None)
    for key, value in varied.items():
        group, _, name = key.partition(".")
        if key != "workload":
            groups[group][name] = _seconds(name, value) if group == "load" else value
    return groups


def _seconds(name: str, value: Any) -> Any:
    return read_seconds(value) if FIELDS[name].endswith("_seconds") else value


def _options(load: Mapping[str, Any], **attributes: Any) -> Load:
    pool = {"users": POOL_DEFAULT} if _model(load) == "open" else {}
    rate = {"rate": None} if isinstance(load.get("rate"), str) else {}
    return read_load({**pool, **load, **rate, **attributes})


def _at_rate(load: Load, rate: float) -> Load:
    return read_load({**dict(load), "rate": rate})


def _model(load: Mapping[str, Any]) -> LoadModel:
    return Load(workload="", arrivals=load.get("arrivals", "closed")).model


def _ending(load: Load, measure: Measure, warm_up: SpanFields | None) -> Load:
    """Return the load with what ends it: a time after a warm-up, or a number of bursts or flows."""
    match measure:
        case BurstCount(bursts=bursts):
            load, most = load.updated(bursts=bursts), BURST_SECONDS_MAX * bursts
        case FlowCount(flows=flows, after=after):
            load, most = load.updated(flows=flows, flows_after=after), FLOW_SECONDS_MAX * (flows + after)
        case seconds:
            assert warm_up is not None
            stopping = Stopping(warm_up_seconds_min=warm_up.min)
            return load.updated(duration_seconds=seconds, warm_up_seconds=warm_up.max, stopping=stopping)
    seconds_max = min(max(COUNTED_SECONDS_MIN, most), COUNTED_SECONDS_MAX)
    return load.updated(duration_seconds=seconds_max, warm_up_seconds=0.0)


def _condition(fields: ConditionFields, options: Load, load: Mapping[str, Any]) -> Conditioning:
    """Return the load that conditions the nodes for another, whose fields are ``load``."""
    workload = fields.workload or options.workload
    overrides = {**(options.overrides if workload == options.workload else {}), **_texts(fields.set)}
    same = {"name": options.name, "seed": options.seed}
    load = conditioning_load(fields, load)
    options = _options(load, workload=workload, overrides=overrides, **same)
    return Conditioning(options, fields.duration.min, fields.duration.max)


def conditioning_load(fields: ConditionFields, load: Mapping[str, Any]) -> Given:
    """Return the fields of the load that conditions the nodes for a load: those of that load, with changes."""
    changes = fields.load.model_dump(exclude_none=True)
    if _model({**load, **changes}) != _model(load):
        # The options of the other model, and the users, who are another thing there, do not apply.
        load = {name: value for name, value in load.items() if name != "users" and model_of(FIELDS[name]) is None}
    return {**load, **changes}


def _texts(arguments: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in arguments.items()}


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


def steps_of(sweep: SweepFile) -> list[PlannedStep]:
    """Return the steps of a sweep in the order in which they run; none of a search, which plans one at a time.

    All points are measured once, then all again in reverse order, and so on. With an even number of repeats, a steady
    drift affects all points equally. Repeats whose own seed is even are the reverse ones, so that repeats that are
    added later go on in turn.

    Points of the same shape run together. Among them, those that show the peak come first in every repeat, because the
    rates of others are multiples of it.
    """
    if sweep.fields.find_max is not None:
        return []
    shapes: dict[ShapeKey, list[PlannedStep]] = {}
    for point in points_of(sweep):
        shapes.setdefault(point.shape_key, []).append(point)
    groups = list(shapes.values())
    steps: list[PlannedStep] = []
    for repeat in range(1, sweep.fields.repeats + 1):
        is_reverse = (sweep.fields.seed + repeat - 1) % 2 == 0
        for group in [group[::-1] for group in groups[::-1]] if is_reverse else groups:
            for point in sorted(group, key=lambda point: not point.is_peak):
                steps.append(step_of(point, len(steps) + 1, repeat))
    return steps


def step_of(point: PlannedStep, index: int, repeat: int) -> PlannedStep:
    return point.numbered(index, point.load.seed + repeat - 1, repeat=repeat, key=f"{point.key}_r{repeat}")


STEP_OVERHEAD_SECONDS = 14
"""Measured duration of a step without its load and set-up: checks, start of the generator, counting, storing.

A conditioning takes as long without its load, because it also starts the generator and waits for rest."""
NODE_START_SECONDS = 17
"""Measured duration of the lab's start on two cores, per node."""
SHAPE_OVERHEAD_SECONDS = 25
"""Measured duration of stopping the previous lab and checking the images."""


@dataclass(frozen=True)
class RunTime:
    seconds_min: float
    seconds_max: float
    starts: int


def run_time(
    steps: Sequence[PlannedStep], settings: Settings, *, fresh: Fresh, before: PlannedStep | None = None
) -> RunTime:
    """Add up what the sweep file says that steps and conditionings take, and overheads measured on two cores.

    How long bursts and flows take is known only as far as the file says so (``beside``). ``before`` is the step whose
    lab is running now.
    """
    keys = [None if before is None else before.lab_key(fresh), *(step.lab_key(fresh) for step in steps)]
    first = [step for step, last, key in zip(steps, keys, keys[1:], strict=False) if key != last]
    nodes = sum(len(step.settings(settings).nodes) for step in first)
    loads = [step_seconds(step) for step in steps]
    loads += [(load.seconds_min, load.seconds_max) for step in first if (load := step.condition) is not None]
    fixed = len(first) * SHAPE_OVERHEAD_SECONDS + nodes * NODE_START_SECONDS + len(loads) * STEP_OVERHEAD_SECONDS
    return RunTime(fixed + sum(least for least, _ in loads), fixed + sum(most for _, most in loads), len(first))


def step_seconds(step: PlannedStep) -> tuple[float, float]:
    """Return the shortest and the longest duration of a step in seconds, as far as the sweep file says it."""
    load = step.load
    fixed = (step.beside_seconds or 0.0) + (load.idle_after_seconds or 0.0)
    fixed += 0.0 if load.is_counted else load.duration_seconds
    return load.warm_up_seconds_min + fixed, load.warm_up_seconds + fixed
