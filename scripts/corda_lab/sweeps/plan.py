"""Turns a sweep file into steps in the order in which they run, and makes all checks that need no lab."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from corda_lab.errors import LabError
from corda_lab.lab import shape
from corda_lab.lab.settings import Settings
from corda_lab.results import folders
from corda_lab.results.manifest import LeftOut, Rerun
from corda_lab.steps.conditioning import Conditioning
from corda_lab.steps.entry import ParameterValue, Phase
from corda_lab.steps.load import LOAD_OPTIONS, LoadModel, LoadOptions, Stopping, attributes_of, check_options
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.left_out import impossible_points, without
from corda_lab.sweeps.order import ordered
from corda_lab.sweeps.peak import peak_sources
from corda_lab.sweeps.points import KEY_LENGTH_MAX, SweepPoint, points_of, settings_of, text_of
from corda_lab.sweeps.schema import (
    STEPS_MAX,
    BurstsFields,
    FlowsFields,
    Fresh,
    Measure,
    MeasureFields,
    peak_factor,
)
from corda_lab.sweeps.search import RATE_DIGITS
from corda_lab.workloads.resolve import read_workload
from lab_workload.problems import Problem

__all__ = [
    "KEY_LENGTH_MAX",
    "CheckedPlan",
    "PlanFile",
    "PlannedCondition",
    "PlannedStep",
    "SweepPoint",
    "check_points",
    "ordered",
    "peak_sources",
    "plan_sweep",
    "points_of",
    "settings_of",
    "step_of",
    "without",
]

POOL_DEFAULT = 200
"""Default size of the pool in open load."""

NAME_LENGTH_MAX = folders.NAME_LENGTH_MAX - len("-0000")
"""Maximum length of a sweep's name. The load of each step is named after the sweep, with a number."""
SEARCHES_MAX = 99

BURST_SECONDS_MAX = 600.0
FLOW_SECONDS_MAX = 60.0
COUNTED_SECONDS_MIN = 1800.0
"""A step that ends by count may last ``BURST_SECONDS_MAX`` for every burst, or ``FLOW_SECONDS_MAX`` for every flow, and
at least this long. A flow that hangs is ended by the bridge before."""
COUNTED_SECONDS_MAX = 24 * 3600.0


class PlannedCondition(BaseModel):
    """The load that conditions the nodes if a step is the first on its lab. Times are in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    load: dict[str, ParameterValue]
    """The fields of ``load``, those of the step included."""
    seconds: tuple[float, float]
    overrides: dict[str, str] = {}
    """The arguments of the workload, those of the step included."""


class PlannedStep(BaseModel):
    """One load on one shape. It is stored in ``plan.json``. All times are in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
    measure: tuple[float, float]
    """The shortest and the longest measuring window. Of a step that ends by count, only the longest is meant."""
    bursts: int | None = None
    """The number of bursts after which the step ends; None if it ends otherwise."""
    flows: int | None = None
    """The number of flows after which the step ends, without the ``flows_after`` before them; None if it ends
    otherwise."""
    flows_after: int = 0
    precision: float | None
    confidence: float
    condition: PlannedCondition | None = None
    """None if nothing conditions the nodes."""
    may_break: bool = False
    """Whether it is a result if the step ends a node."""
    is_peak: bool = False
    """Whether the peak is its throughput. If no step of a sweep says so, all whose rate is no multiple do."""

    @property
    def is_counted(self) -> bool:
        """Whether the step ends after a number of bursts or flows, and not by time."""
        return self.bursts is not None or self.flows is not None

    @property
    def shape_key(self) -> tuple[tuple[str, str], ...]:
        """A key that is equal for steps on the same shape."""
        return tuple(sorted(self.variables.items()))

    @property
    def is_multiple(self) -> bool:
        """Whether its rate is a multiple of what was measured before."""
        return self.peak_factor is not None

    @property
    def peak_factor(self) -> float | None:
        """The multiple of the peak that is offered; None if the rate is a number, or if there is none."""
        return peak_factor(self.load.get("rate"))

    def at_peak(self, peak: float) -> "PlannedStep":
        """Return the step with its rate in arrivals per second. ``peak`` is a throughput in flows per second."""
        factor = self.peak_factor
        if factor is None:
            return self
        rate = float(f"{factor * peak:.{RATE_DIGITS}g}")
        before = self.condition
        if before is not None and peak_factor(before.load.get("rate")) is not None:
            before = before.model_copy(update={"load": {**before.load, "rate": rate}})
        return self.model_copy(update={"load": {**self.load, "rate": rate}, "condition": before})

    def conditioning(self) -> Conditioning | None:
        """Return the load that conditions the nodes of a new lab for this step; None if nothing does."""
        if self.condition is None:
            return None
        own = {"load": self.condition.load, "overrides": self.condition.overrides, "bursts": None, "flows": None}
        options = self.model_copy(update=own).options(f"condition-{self.index:04d}")
        return Conditioning(options, *self.condition.seconds)

    def options(self, name: str) -> LoadOptions:
        """Return the options of ``lab run`` for this step, with the conditions for ending early."""
        given: dict[str, ParameterValue] = ({"users": POOL_DEFAULT} if _model(self.load) == "open" else {}) | self.load
        stopping: Stopping | None = None
        if self.bursts is not None:
            given["bursts"] = self.bursts
        elif self.flows is not None:
            given |= {"flows": self.flows, "flows_after": self.flows_after}
        else:
            stopping = Stopping(self.warm_up[0], self.measure[0], self.precision, self.confidence)
        return LoadOptions(
            workload=self.workload,
            duration_seconds=self.measure[1],
            warm_up_seconds=self.warm_up[1],
            name=name,
            seed=self.seed,
            overrides=self.overrides,
            stopping=stopping,
            **attributes_of(given),
        )

    def lab_key(self, fresh: Fresh) -> tuple[object, ...]:
        """Return a key that is equal for consecutive steps that share a lab."""
        own: dict[Fresh, tuple[int, ...]] = {"shape": (), "repeat": (self.repeat,), "step": (self.index,)}
        return (*sorted(self.variables.items()), *own[fresh])


class PlanFile(BaseModel):
    """The content of ``plan.json``, which has everything that a sweep needs to be resumed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_: int = Field(alias="schema", default=folders.SCHEMA)
    file: Path
    """The sweep file."""
    command: str
    """The command that started the sweep."""
    fingerprint: dict[str, str]
    """Everything that must not change before the sweep is resumed: name → digest. See ``store.fingerprint``."""
    quick: bool
    steps: list[PlannedStep]
    """Empty for a search, which plans one step at a time."""
    rerun: Rerun | None = None
    left_out: list[LeftOut] = []
    """The points that this machine cannot have, if the sweep leaves them out."""
    images: dict[str, str] = {}
    """The images that the steps must have, because the sweep repeats another: name → id."""


def check_points(sweep: SweepFile, points: Sequence[SweepPoint], settings: Settings) -> None:
    """Make all checks of the points that need no lab. Raises LabError with all problems; each names its point."""
    folders.check_name(sweep.run_name, option=str(sweep.source.path), length_max=NAME_LENGTH_MAX)
    if sweep.fields.find_max is not None and len(points) > SEARCHES_MAX:
        raise LabError(
            f"{sweep.source.path}: has {len(points)} searches, more than {SEARCHES_MAX}",
            "Reduce the number of values in vary.",
        )
    problems: list[Problem] = []
    seen: dict[str, SweepPoint] = {}
    for point in points:
        where = f"{sweep.source.path} ({point.label})"
        if point.key in seen:
            problems.append(Problem.of(where, f"has the same file name as {seen[point.key].label!r}"))
        seen[point.key] = point
        found = [*_point_problems(sweep, point, settings), *_peak_problems(point, points)]
        problems += [Problem.of(where, problem.finding, problem.remedy) for problem in found]
    if problems:
        raise LabError(problems=list(dict.fromkeys(problems)))


def _point_problems(sweep: SweepFile, point: SweepPoint, settings: Settings) -> Iterator[Problem]:
    try:
        wanted = settings_of(point.variables, settings)
        yield from shape.problems(wanted)
    except LabError as error:
        yield from error.problems
        return
    search = sweep.fields.find_max
    step = step_of(sweep, point, 1, 1, rate=search.rate_min if search else None).at_peak(1.0)
    try:
        check_options(step.options("x"))
        _check_conditioning(step)
        workload = read_workload(point.workload, point.overrides)
    except LabError as error:
        yield from error.problems
        return
    parties = workload.requires.parties if workload.requires else None
    if parties and wanted.party_count < parties:
        text = f"the workload {workload.name} needs {parties} parties, but the shape has {wanted.party_count}"
        yield Problem(text, remedy="Increase shape.parties.")


def _peak_problems(point: SweepPoint, points: Sequence[SweepPoint]) -> Iterator[Problem]:
    if point.is_multiple and not peak_sources(point, points):
        rate = point.load["rate"]
        yield Problem.of(
            "load.rate",
            f"{rate} needs a point of the workload {point.workload} whose rate is no multiple",
            "Add one, for example a named step with peak: true and closed load.",
        )


def _check_conditioning(step: PlannedStep) -> None:
    """Check the load that conditions the nodes for a step. Raises LabError, which names the field."""
    before = step.conditioning()
    if before is None:
        return
    try:
        check_options(before.until_steady)
    except LabError as error:
        raise LabError(f"condition.load: {error.message}", error.remedy) from None
    if before.options.overrides != step.overrides:
        read_workload(step.workload, before.options.overrides)


def step_of(
    sweep: SweepFile,
    point: SweepPoint,
    index: int,
    repeat: int,
    *,
    phase: Phase = "measure",
    key: str | None = None,
    rate: float | None = None,
    measure: tuple[float, float] | None = None,
    seed: int | None = None,
) -> PlannedStep:
    """Return the step that measures a point once. Arguments that are None come from the sweep."""
    fields = sweep.fields
    load = point.load if rate is None else {**point.load, "rate": rate}
    ending = point.measure
    return PlannedStep(
        index=index,
        key=key or f"{point.key}_r{repeat}",
        label=point.label,
        point=point.values,
        repeat=repeat,
        phase=phase,
        workload=point.workload,
        overrides=point.overrides,
        load=load,
        variables=point.variables,
        seed=fields.seed + repeat - 1 if seed is None else seed,
        warm_up=_warm_up(point),
        measure=measure or _limits(ending),
        bursts=ending.bursts if isinstance(ending, BurstsFields) else None,
        flows=ending.flows if isinstance(ending, FlowsFields) else None,
        flows_after=ending.after if isinstance(ending, FlowsFields) else 0,
        precision=ending.precision if isinstance(ending, MeasureFields) else None,
        confidence=fields.confidence,
        condition=_condition(sweep, point, load),
        may_break=point.may_break,
        is_peak=point.is_peak,
    )


def _warm_up(point: SweepPoint) -> tuple[float, float]:
    """Return the shortest and the longest warm-up in seconds. Only steps that are measured by time have one."""
    if point.warm_up is None or not isinstance(point.measure, MeasureFields):
        return 0.0, 0.0
    return point.warm_up.min, point.warm_up.max


def _limits(ending: Measure) -> tuple[float, float]:
    """Return the shortest and the longest measuring window in seconds."""
    if isinstance(ending, MeasureFields):
        return ending.min, ending.max
    if isinstance(ending, BurstsFields):
        most = BURST_SECONDS_MAX * ending.bursts
    else:
        most = FLOW_SECONDS_MAX * (ending.flows + ending.after)
    return 1.0, min(max(COUNTED_SECONDS_MIN, most), COUNTED_SECONDS_MAX)


def _condition(sweep: SweepFile, point: SweepPoint, load: Mapping[str, ParameterValue]) -> PlannedCondition | None:
    """Return the load that conditions the nodes. A step without a warm-up has none: it shows how nodes warm up."""
    wanted = sweep.fields.condition
    is_cold = isinstance(point.measure, MeasureFields) and _warm_up(point)[1] == 0
    if wanted == "none" or is_cold:
        return None
    given = wanted.load.model_dump(exclude_none=True)
    own = dict(load)
    if _model({**own, **given}) != _model(own):
        # The options of the other model, and the users, who are another thing there, do not apply.
        own = {name: value for name, value in own.items() if name != "users" and LOAD_OPTIONS[name].model is None}
    return PlannedCondition(
        load={**own, **given},
        overrides=point.overrides | {name: text_of(value) for name, value in wanted.set.items()},
        seconds=(wanted.duration.min, wanted.duration.max),
    )


def _model(load: Mapping[str, Any]) -> LoadModel:
    """Return the model of a load, by its fields in a sweep file."""
    return LoadOptions("", arrivals=load.get("arrivals", "closed")).model


@dataclass(frozen=True)
class CheckedPlan:
    """The points of a sweep, which have been checked, and its steps in the order in which they run.

    A search plans one step at a time, so it has no steps here.
    """

    points: list[SweepPoint]
    steps: list[PlannedStep]
    left_out: list[LeftOut] = field(default_factory=list)


def plan_sweep(sweep: SweepFile, settings: Settings) -> CheckedPlan:
    """Check all points of a sweep, and plan its steps. Raises LabError with all problems of its points.

    If the sweep says so, the points that this machine cannot have are left out before.
    """
    points = points_of(sweep)
    left_out = impossible_points(sweep, points, settings) if sweep.fields.impossible == "skip" else []
    points = without(points, left_out)
    check_points(sweep, points, settings)
    return CheckedPlan(points, _steps_of(sweep, points) if sweep.fields.find_max is None else [], left_out)


def _steps_of(sweep: SweepFile, points: Sequence[SweepPoint]) -> list[PlannedStep]:
    fields = sweep.fields
    if len(points) * fields.repeats > STEPS_MAX:
        raise LabError(
            f"{sweep.source.path}: has {len(points) * fields.repeats} steps, more than {STEPS_MAX}",
            "Reduce repeats, or the number of values in vary.",
        )
    return [
        step_of(sweep, point, index, repeat)
        for index, (point, repeat) in enumerate(
            ordered(points, order=fields.order, repeats=fields.repeats, seed=fields.seed, fresh=fields.fresh), start=1
        )
    ]
