"""Turns a sweep file into steps in the order in which they run, and makes all checks that need no lab."""

import hashlib
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from corda_lab.errors import LabError
from corda_lab.knobs.options import Kind
from corda_lab.knobs.shape import SIZE, variables_of
from corda_lab.lab import shape
from corda_lab.lab.settings import Settings
from corda_lab.results import folders
from corda_lab.results.manifest import Rerun
from corda_lab.steps.conditioning import Conditioning
from corda_lab.steps.entry import ParameterValue, Phase
from corda_lab.steps.load import LOAD_OPTIONS, LoadOptions, Stopping, attributes_of, check_options
from corda_lab.steps.parameters import value_words
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.fit import fit_problems
from corda_lab.sweeps.schema import STEPS_MAX, Fresh, MeasureFields, SpanFields
from corda_lab.text.durations import parse_duration
from corda_lab.workloads.resolve import read_workload
from lab_workload.problems import Problem

POOL_DEFAULT = 200
"""Default size of the pool in open load."""

NAME_LENGTH_MAX = folders.NAME_LENGTH_MAX - len("-0000")
"""Maximum length of a sweep's name. The load of each step is named after the sweep, with a number."""
KEY_LENGTH_MAX = 150
"""Maximum length of a step's key. The name of a step's folder contains it, and may have at most 255 characters."""
SEARCHES_MAX = 99


class PlannedCondition(BaseModel):
    """The load that conditions the nodes if a step is the first on its lab. Times are in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    load: dict[str, ParameterValue]
    """The fields of ``load``, those of the step included."""
    seconds: tuple[float, float]


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
    precision: float | None
    confidence: float
    condition: PlannedCondition | None = None
    """None if nothing conditions the nodes."""

    def conditioning(self) -> Conditioning | None:
        """Return the load that conditions the nodes of a new lab for this step; None if nothing does."""
        if self.condition is None:
            return None
        options = self.model_copy(update={"load": self.condition.load}).options(f"condition-{self.index:04d}")
        return Conditioning(options, *self.condition.seconds)

    def options(self, name: str) -> LoadOptions:
        """Return the options of ``lab run`` for this step, with the conditions for ending early."""
        given = ({"users": POOL_DEFAULT} if _is_open(self.load) else {}) | self.load
        return LoadOptions(
            workload=self.workload,
            duration_seconds=self.measure[1],
            warm_up_seconds=self.warm_up[1],
            name=name,
            seed=self.seed,
            overrides=self.overrides,
            stopping=Stopping(self.warm_up[0], self.measure[0], self.precision, self.confidence),
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
    images: dict[str, str] = {}
    """The images that the steps must have, because the sweep repeats another: name → id."""


@dataclass(frozen=True)
class SweepPoint:
    """What all repeats of a point have in common."""

    values: dict[str, ParameterValue]
    workload: str
    overrides: dict[str, str]
    load: dict[str, ParameterValue]
    variables: dict[str, str]
    warm_up: SpanFields
    measure: MeasureFields

    @property
    def label(self) -> str:
        """The values that vary, in words: ``8 users, PostgreSQL``; the workload's name if nothing varies."""
        return ", ".join(value_words(key, value) for key, value in self.values.items()) or self.workload

    @property
    def key(self) -> str:
        """The values that vary, for file names: ``users-8_database-h2``. A long key is cut, and ends with a hash."""
        words = [f"{key.rpartition('.')[2]}-{_word(value)}" for key, value in self.values.items()]
        whole = "_".join(words) or _word(self.workload)
        if len(whole) <= KEY_LENGTH_MAX:
            return whole
        digest = hashlib.sha256(whole.encode()).hexdigest()[:8]
        return f"{whole[: KEY_LENGTH_MAX - len(digest) - 1]}-{digest}"


def _word(value: ParameterValue) -> str:
    text = " ".join(value) if isinstance(value, list) else str(value)
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.") or "none"


def points_of(sweep: SweepFile) -> list[SweepPoint]:
    """Return every combination of the values that vary, in the order of the file. Raises LabError if too many."""
    fields = sweep.fields
    given = {key: fields.model_dump(exclude_none=True)[key] for key in ("load", "shape", "set")}
    entries: Sequence[Any] = fields.steps or (None,)
    points = []
    if len(entries) * _size(fields.vary.values()) > STEPS_MAX:
        raise LabError(f"{sweep.source.path}: has more than {STEPS_MAX} steps", "Reduce the number of values in vary.")
    for entry in entries:
        over = entry.model_dump(exclude_none=True) if entry else {}
        for values in product(*fields.vary.values()):
            varied = dict(zip(fields.vary, values, strict=True))
            parts = {key: {**given[key], **over.get(key, {})} for key in ("load", "shape", "set")}
            workload = over.get("workload", fields.workload)
            for key, value in varied.items():
                group, _, name = key.partition(".")
                if key == "workload":
                    workload = value
                else:
                    parts[group][name] = _seconds(name, value) if group == "load" else value
            variables, size = variables_of(parts["shape"]), parts["shape"].get(SIZE.name)
            points.append(
                SweepPoint(
                    values={**({"step": entry.name} if entry else {}), **varied},
                    workload=workload or "",
                    overrides={name: _text(value) for name, value in parts["set"].items()},
                    load=parts["load"],
                    variables=variables | ({"SIZE": size} if size else {}),
                    warm_up=(entry and entry.warm_up) or fields.warm_up,
                    measure=(entry and entry.measure) or fields.measure,
                )
            )
    return points


def _size(lists: Iterable[Sequence[Any]]) -> int:
    size = 1
    for values in lists:
        size *= len(values)
    return size


def _seconds(name: str, value: Any) -> Any:
    return parse_duration(str(value), option=name) if LOAD_OPTIONS[name].kind is Kind.DURATION else value


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def settings_of(variables: Mapping[str, str], settings: Settings) -> Settings:
    """Return the settings for the lab of a step. Raises LabError for an unknown size."""
    values = dict(variables)
    size = values.pop("SIZE", None)
    return shape.with_options(settings, values, size=size)


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
        found = _point_problems(sweep, point, settings)
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
    step = step_of(sweep, point, 1, 1, rate=search.rate_min if search else None)
    try:
        check_options(step.options("x"))
        _check_conditioning(step)
        workload = read_workload(point.workload, point.overrides)
    except LabError as error:
        yield from error.problems
        return
    yield from fit_problems(workload, step.options("x"), wanted)


def _check_conditioning(step: PlannedStep) -> None:
    """Check the load that conditions the nodes for a step. Raises LabError, which names the field."""
    before = step.conditioning()
    try:
        if before is not None:
            check_options(before.until_steady)
    except LabError as error:
        raise LabError(f"condition.load: {error.message}", error.remedy) from None


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
        warm_up=_span(point.warm_up),
        measure=measure or _span(point.measure),
        precision=point.measure.precision,
        confidence=fields.confidence,
        condition=_condition(sweep, point, load),
    )


def _condition(sweep: SweepFile, point: SweepPoint, load: Mapping[str, ParameterValue]) -> PlannedCondition | None:
    """Return the load that conditions the nodes. A step without a warm-up has none: it shows how nodes warm up."""
    wanted = sweep.fields.condition
    if wanted == "none" or point.warm_up.max == 0:
        return None
    given = wanted.load.model_dump(exclude_none=True)
    own = dict(load)
    if _is_open({**own, **given}) != _is_open(own):
        # The options of the other model, and the users, who are another thing there, do not apply.
        own = {name: value for name, value in own.items() if name != "users" and LOAD_OPTIONS[name].model is None}
    return PlannedCondition(load={**own, **given}, seconds=(wanted.duration.min, wanted.duration.max))


def _is_open(load: Mapping[str, ParameterValue]) -> bool:
    return load.get("arrivals", "closed") != "closed"


def _span(fields: SpanFields) -> tuple[float, float]:
    return fields.min, fields.max


def ordered(
    points: Sequence[SweepPoint], *, order: str, repeats: int, seed: int, fresh: Fresh
) -> list[tuple[SweepPoint, int]]:
    """Return the points with their repeat numbers, in the order in which they run.

    - ``listed``: all repeats of a point one after another.
    - ``interleaved``: all points once, then all again in reverse order, and so on. With an even number of repeats, a
      steady drift affects all points equally.
    - ``randomised``: for every repeat, the shapes and the points of each shape are shuffled. With ``fresh: shape``, the
      shape that is running comes first, which saves a restart.

    Points of the same shape run together where the order permits it.
    """
    shapes: dict[tuple[tuple[str, str], ...], list[SweepPoint]] = {}
    for point in points:
        shapes.setdefault(tuple(sorted(point.variables.items())), []).append(point)
    groups = list(shapes.values())
    if order == "listed":
        return [(point, repeat) for group in groups for point in group for repeat in range(1, repeats + 1)]
    source = random.Random(seed)
    steps: list[tuple[SweepPoint, int]] = []
    last: list[SweepPoint] | None = None
    for repeat in range(1, repeats + 1):
        if order == "interleaved":
            turn = groups if repeat % 2 else groups[::-1]
            steps += [(point, repeat) for group in turn for point in (group if repeat % 2 else group[::-1])]
            continue
        turn = source.sample(groups, len(groups))
        if last is not None and fresh == "shape":
            turn.insert(0, turn.pop(turn.index(last)))
        last = turn[-1]
        steps += [(point, repeat) for group in turn for point in source.sample(group, len(group))]
    return steps


@dataclass(frozen=True)
class CheckedPlan:
    """The points of a sweep, which have been checked, and its steps in the order in which they run.

    A search plans one step at a time, so it has no steps here.
    """

    points: list[SweepPoint]
    steps: list[PlannedStep]


def plan_sweep(sweep: SweepFile, settings: Settings) -> CheckedPlan:
    """Check all points of a sweep, and plan its steps. Raises LabError with all problems of its points."""
    points = points_of(sweep)
    check_points(sweep, points, settings)
    return CheckedPlan(points, _steps_of(sweep, points) if sweep.fields.find_max is None else [])


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
