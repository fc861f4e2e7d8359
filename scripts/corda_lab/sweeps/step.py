"""The points of a sweep, which are all combinations of what varies, and the steps that measure them, in their order."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from itertools import product
from math import prod
from typing import Any

from pydantic import Field

from corda_lab.errors import LabError
from corda_lab.faults.model import Fault
from corda_lab.knobs.options import Kind
from corda_lab.knobs.shape import LIVE_VARIABLES, SIZE, variables_of
from corda_lab.results import folders
from corda_lab.results.sweep import Fresh, ManifestPart, SweepFields
from corda_lab.results.sweep_parts import (
    NO_CONDITION,
    STEPS_MAX,
    BurstCount,
    FlowCount,
    Measure,
    StepFields,
    peak_factor,
)
from corda_lab.steps.entry import ParameterValue, Phase
from corda_lab.steps.load import LOAD_OPTIONS, Conditioning, LoadModel, LoadOptions, Stopping, attributes_of
from corda_lab.steps.parameters import AT, value_words
from corda_lab.sweeps.file import SweepFile
from corda_lab.text.durations import parse_duration

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
"""The variables of a shape: equal for steps on the same shape."""


class PlannedCondition(ManifestPart):
    """The load that conditions the nodes if a step is the first on its lab. Times are in seconds."""

    load: dict[str, ParameterValue]
    """The fields of ``load``, those of the step included."""
    seconds: tuple[float, float]
    overrides: dict[str, str] = Field(default_factory=dict)
    """The arguments of the workload, those of the step included."""
    workload: str | None = None
    """None if it is that of the step."""


class PlannedStep(ManifestPart):
    """One load on one shape. It is stored in ``plan.json``. All times are in seconds."""

    index: int
    """Position in the order of execution, from 1."""
    key: str
    label: str
    point: dict[str, ParameterValue]
    """The values of the fields in ``vary``, the same for all repeats."""
    repeat: int
    phase: Phase
    workload: str
    overrides: dict[str, str]
    load: dict[str, ParameterValue]
    """The fields of ``load`` that the sweep file sets."""
    variables: dict[str, str]
    """The variables of ``.env`` that define the shape."""
    seed: int
    warm_up: tuple[float, float]
    """The shortest and the longest warm-up. Steps that end by count have none."""
    measure: Measure
    """What ends the step: the length of the measuring window, or a number of bursts or flows."""
    condition: PlannedCondition | None = None
    """None if nothing conditions the nodes."""
    may_break: bool = False
    """Whether it is a result if the step ends a node."""
    faults: tuple[Fault, ...] = ()
    """What is done to the lab during the load."""
    is_peak: bool = False
    """Whether its throughput is the peak of the steps of its repeat with the same workload and shape."""
    beside_seconds: float | None = None
    """How long it takes beside its load, for the estimate only; None if the sweep file does not say."""

    @property
    def is_counted(self) -> bool:
        """Whether the step ends after a number of bursts or flows, and not by time."""
        return not isinstance(self.measure, float)

    @property
    def seconds_max(self) -> float:
        """The measuring window; of a step that ends by count, the longest."""
        match self.measure:
            case BurstCount(bursts=bursts):
                most = BURST_SECONDS_MAX * bursts
            case FlowCount(flows=flows, after=after):
                most = FLOW_SECONDS_MAX * (flows + after)
            case seconds:
                return seconds
        return min(max(COUNTED_SECONDS_MIN, most), COUNTED_SECONDS_MAX)

    @property
    def shape_key(self) -> ShapeKey:
        """A key that is equal for steps on the same shape."""
        return tuple(sorted(self.variables.items()))

    def lab_key(self, fresh: Fresh) -> tuple[object, ...]:
        """Return a key that is equal for consecutive steps that share a lab. They may differ in live knobs."""
        own: dict[Fresh, tuple[int, ...]] = {"shape": (), "repeat": (self.repeat,), "step": (self.index,)}
        return (*(each for each in self.shape_key if each[0] not in LIVE_VARIABLES), *own[fresh])

    @property
    def peak_factor(self) -> float | None:
        """The multiple of the peak that is offered; None if the rate is a number, or if there is none."""
        return peak_factor(self.load.get("rate"))

    def peaks(self, steps: Iterable["PlannedStep"]) -> list["PlannedStep"]:
        """Return the steps of its repeat whose highest throughput is the peak of which its rate is a multiple."""
        own = (self.repeat, self.workload, self.shape_key)
        return [step for step in steps if step.is_peak and (step.repeat, step.workload, step.shape_key) == own]

    def at_peak(self, peak: float) -> "PlannedStep":
        """Return the step with its rate in arrivals per second. ``peak`` is a throughput in flows per second."""
        if self.peak_factor is None:
            return self
        rate = float(f"{self.peak_factor * peak:.{RATE_DIGITS}g}")
        before = self.condition
        if before is not None and peak_factor(before.load.get("rate")) is not None:
            before = before.model_copy(update={"load": {**before.load, "rate": rate}})
        return self.model_copy(update={"load": {**self.load, "rate": rate}, "condition": before})

    def options(self, name: str) -> LoadOptions:
        """Return the load of this step, with the conditions for ending early."""
        given = ({"users": POOL_DEFAULT} if _model(self.load) == "open" else {}) | self.load
        stopping = None
        match self.measure:
            case BurstCount(bursts=bursts):
                given["bursts"] = bursts
            case FlowCount(flows=flows, after=after):
                given |= {"flows": flows, "flows_after": after}
            case _:
                stopping = Stopping(self.warm_up[0])
        return LoadOptions(
            workload=self.workload,
            duration_seconds=self.seconds_max,
            warm_up_seconds=self.warm_up[1],
            name=name,
            seed=self.seed,
            overrides=self.overrides,
            stopping=stopping,
            faults=self.faults,
            **attributes_of(given),
        )

    def conditioning(self) -> Conditioning | None:
        """Return the load that conditions the nodes of a new lab for this step; None if nothing does."""
        if self.condition is None:
            return None
        own = {"load": self.condition.load, "overrides": self.condition.overrides, "measure": self.seconds_max}
        own |= {"faults": (), "workload": self.condition.workload or self.workload}
        return Conditioning(self.model_copy(update=own).options(f"condition-{self.index:04d}"), *self.condition.seconds)


def points_of(sweep: SweepFile) -> list[PlannedStep]:
    """Return every point as its first step, in the order of the file. Their keys do not name the repeat.

    Raises LabError if there are too many.
    """
    fields = sweep.fields
    if len(fields.entries) * prod(map(len, fields.vary.values())) > STEPS_MAX:
        raise LabError(f"{sweep.source.path}: has more than {STEPS_MAX} steps", "Reduce the number of values in vary.")
    return [
        _conditioned(fields, _point(fields, entry, dict(zip(fields.vary, values, strict=True))))
        for entry in fields.entries
        for values in product(*fields.vary.values())
    ]


def _point(fields: SweepFields, entry: StepFields, varied: Mapping[str, Any]) -> PlannedStep:
    """Return the step of one combination of values, without the load that conditions its nodes."""
    whole, own = fields.model_dump(exclude_none=True), entry.model_dump(exclude_none=True)
    groups = {group: {**whole[group], **own[group]} for group in ("load", "shape", "set")}
    # A schedule is no value of a parameter, and the load that conditions the nodes has none.
    groups["load"].pop("faults", None)
    for key, value in varied.items():
        group, _, name = key.partition(".")
        if key != "workload":
            groups[group][name] = _seconds(name, value) if group == "load" else value
    workload = str(varied.get("workload") or fields.of(entry, "workload"))
    named: dict[str, ParameterValue] = {"step": entry.name} if entry.name else {}
    varying = {**named, **varied}
    measure, span = fields.of(entry, "measure"), fields.of(entry, "warm_up")
    size = groups["shape"].get(SIZE.name)
    faults = fields.load.faults if entry.load.faults is None else entry.load.faults
    return PlannedStep(
        index=1,
        key=_key(varying, workload),
        label=", ".join(value_words(key, value) for key, value in varying.items()) or workload,
        point={**named, **({} if entry.at is None else {AT: entry.at}), **varied},
        repeat=1,
        phase="measure",
        workload=workload,
        overrides=_texts(groups["set"]),
        load=groups["load"],
        variables=variables_of(groups["shape"]) | ({"SIZE": size} if size else {}),
        seed=fields.seed,
        warm_up=(span.min, span.max) if span is not None and isinstance(measure, float) else (0.0, 0.0),
        measure=measure,
        may_break=fields.of(entry, "may_break"),
        faults=tuple(one.fault for one in faults or ()),
        is_peak=entry.peak,
        beside_seconds=fields.of(entry, "beside"),
    )


def _conditioned(fields: SweepFields, step: PlannedStep) -> PlannedStep:
    """Return a step with the load that conditions its nodes. One without a warm-up has none: it shows how they warm."""
    asked = fields.condition
    if asked == NO_CONDITION or (not step.is_counted and step.warm_up[1] == 0):
        return step
    given, load = asked.load.model_dump(exclude_none=True), dict(step.load)
    if _model({**load, **given}) != _model(load):
        # The options of the other model, and the users, who are another thing there, do not apply.
        load = {name: value for name, value in load.items() if name != "users" and LOAD_OPTIONS[name].model is None}
    is_same = asked.workload in (None, step.workload)
    condition = PlannedCondition(
        load={**load, **given},
        overrides=(step.overrides if is_same else {}) | _texts(asked.set),
        seconds=(asked.duration.min, asked.duration.max),
        workload=None if is_same else asked.workload,
    )
    return step.model_copy(update={"condition": condition})


def _model(load: Mapping[str, Any]) -> LoadModel:
    return LoadOptions("", arrivals=load.get("arrivals", "closed")).model


def _seconds(name: str, value: Any) -> Any:
    return parse_duration(str(value), option=name) if LOAD_OPTIONS[name].kind is Kind.DURATION else value


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


def steps_of(sweep: SweepFile, points: Iterable[PlannedStep]) -> list[PlannedStep]:
    """Return the steps of a sweep in the order in which they run.

    All points are measured once, then all again in reverse order, and so on. With an even number of repeats, a steady
    drift affects all points equally. Repeats whose own seed is even are the reverse ones, so that repeats that are
    added later go on in turn.

    Points of the same shape run together. Among them, those that show the peak come first in every repeat, because the
    rates of others are multiples of it.
    """
    shapes: dict[ShapeKey, list[PlannedStep]] = {}
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
    return _conditioned(sweep.fields, point.model_copy(update={"load": {**point.load, "rate": rate}}))
