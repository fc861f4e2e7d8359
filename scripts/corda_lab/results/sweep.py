"""A whole sweep, as its file and ``run.json`` have it, and what does not fit together in it. See ``docs/sweeps.md``."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from corda_lab.results.sweep_parts import (
    NO_CONDITION,
    REPEATS_MAX,
    STEPS_MAX,
    VALUES_MAX,
    BurstCount,
    CommonFields,
    Condition,
    ConditionFields,
    Conflict,
    Duration,
    FindMaxFields,
    LoadFields,
    Measure,
    ShapeFields,
    SpanFields,
    StepFields,
    ThresholdFields,
    peak_factor,
)
from corda_lab.steps.entry import ParameterValue
from corda_lab.steps.parameters import AT, STEP
from lab_workload.field_problems import field_words
from lab_workload.names import did_you_mean
from lab_workload.problems import Location
from lab_workload.schema import Fields, Scalar, Text

RETRIES_MAX = 10
QUICK_REPEATS_MIN = 3
"""The fewest repeats of a short form. With fewer, no comparison decides anything."""

Fresh = Literal["repeat", "shape", "step"]
"""When a sweep starts a new lab: for every shape in every repeat, once for every shape, or for every step."""


class QuickFields(Fields):
    """The short form of a sweep: which points it measures, and how often.

    All its other fields are those of a sweep, and take their place: see ``sweeps.file.short_form``.
    """

    model_config = ConfigDict(extra="allow")

    vary: dict[str, list[Any]] = Field(default_factory=dict)
    steps: list[Text] | None = None
    repeats: Annotated[int, Field(ge=QUICK_REPEATS_MIN)] | None = None


class SweepFields(CommonFields):
    description: Text
    vary: dict[str, Annotated[list[Any], Field(min_length=1, max_length=VALUES_MAX)]] = Field(default_factory=dict)
    steps: Annotated[list[StepFields], Field(min_length=1, max_length=STEPS_MAX)] | None = None
    x: Text | None = None
    repeats: Annotated[int, Field(ge=1, le=REPEATS_MAX)] = 1
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    fresh: Fresh = "repeat"
    impossible: Literal["refuse", "skip"] = "refuse"
    """What becomes of a point that this machine cannot have: the sweep is refused, or the point is left out."""
    may_break: bool = False
    """Whether a step that ends a node, or leaves it overloaded, is a result, and not a failure."""
    retries: Annotated[int, Field(ge=0, le=RETRIES_MAX)] = 2
    """How often a step is rerun on a fresh lab if swapping or CPU steal of the machine made it invalid. A step that
    failed is rerun once, unless this is 0."""
    condition: Condition = Field(default_factory=ConditionFields)
    warm_up: SpanFields | None = None
    """None if no step is measured by time."""
    measure: Measure
    beside: Duration | None = None
    """How long a step takes beside its warm-up and its measuring window, as its author has seen: its set-up, bursts and
    counted flows, a backlog that drains. It changes only what the plan says. None if the author does not say."""
    thresholds: ThresholdFields = Field(default_factory=ThresholdFields)
    find_max: FindMaxFields | None = None
    quick: QuickFields | None = None

    @property
    def entries(self) -> Sequence[StepFields]:
        """The named steps. A sweep without them has one that overrides nothing and has no name."""
        return self.steps or [StepFields.model_construct(name="")]

    def of(self, step: StepFields, name: str) -> Any:
        """Return a field of a named step, or of the whole sweep."""
        value = getattr(step, name)
        return getattr(self, name) if value is None else value

    @property
    def axis(self) -> str | None:
        """The parameter on the x axis; None if the points have no order."""
        numeric = (key for key, values in self.vary.items() if all(map(_is_number, values)))
        has_numbers = bool(self.steps) and all(step.at is not None for step in self.entries)
        return self.x or next(numeric, AT if has_numbers else None)

    def listed(self, name: str) -> Sequence[ParameterValue]:
        """Return the values of a parameter that varies, in the order of the file; none if it does not vary."""
        return [step.name for step in self.steps or ()] if name == STEP else self.vary.get(name, [])

    def conflicts(self) -> Iterator[Conflict]:
        yield from _vary_conflicts(self.vary)
        yield from _axis_conflicts(self)
        yield from (
            (tuple(key.split(".")), f"{key} is also in vary; remove one of them") for key in self.vary if self.sets(key)
        )
        measures = [self.of(step, "measure") for step in self.entries]
        if self.warm_up is not None and not any(isinstance(measure, float) for measure in measures):
            yield ("warm_up",), NOT_TIMED
        names: set[str] = set()
        for index, step in enumerate(self.entries):
            where: Location = ("steps", index) if self.steps else ()
            if step.name in names:
                yield (*where, "name"), f"{step.name!r} is used twice"
            names.add(step.name)
            yield from _step_conflicts(self, step, where)
        if self.find_max is not None:
            yield from _search_conflicts(self)
        if self.quick is not None:
            yield from _quick_conflicts(self, self.quick)


class ManifestPart(BaseModel):
    """Base of all parts of ``run.json``: immutable, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class LeftOut(ManifestPart):
    label: str
    reason: str


class SearchAnswer(ManifestPart):
    rate: float
    sustained: bool
    phase: str


class SearchOutcome(ManifestPart):
    """The result of a search: the confirmed rate, the highest rate that was sustained by a probe (``low``), the lowest
    that was not (``high``), and why it ended."""

    rate: float | None
    low: float | None
    high: float | None
    reason: str | None
    answers: list[SearchAnswer]


class SweepPlan(SweepFields):
    """A sweep as ``run.json`` has it: its fields, its file, what resuming it needs, and what came of it.

    A run of one step has the defaults.
    """

    description: str = ""
    fresh: Fresh = "shape"
    condition: Condition = NO_CONDITION
    measure: Measure = 0.0
    file: str = ""
    text: str = ""
    name: str = ""
    is_quick: bool = False
    """Whether the fields are those of the short form."""
    left_out: list[LeftOut] = Field(default_factory=list)
    """The points that the machine could not have. The sweep says that they may be left out."""
    fingerprint: dict[str, str] = Field(default_factory=dict)
    """Everything that must not change before the sweep is resumed: name → hash or value."""
    images: dict[str, str] = Field(default_factory=dict)
    """The images that the steps must have, because the sweep repeats another: name → id."""
    placement: str | None = None
    """What runs on which host, as it was given; None if the sweep runs on one machine."""
    steps_planned: int = 0
    """0 of a search, which plans one step at a time."""
    outcomes: dict[str, SearchOutcome] = Field(default_factory=dict)
    """The outcomes of searches by the label of the point."""

    def conflicts(self) -> Iterator[Conflict]:
        yield from ()


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_GROUPS: Mapping[str, type[BaseModel]] = {"load": LoadFields, "shape": ShapeFields}
_TEXT: TypeAdapter[str] = TypeAdapter(Text)
_VALUE: TypeAdapter[Scalar] = TypeAdapter(Scalar)


def _vary_conflicts(vary: Mapping[str, Sequence[Any]]) -> Iterator[Conflict]:
    """Yield unknown names and invalid values."""
    for key, values in vary.items():
        group, _, name = key.partition(".")
        if unknown := _unknown(key, group, name):
            yield ("vary", key), unknown
            continue
        for index, value in enumerate(values):
            where = ("vary", key, index)
            if value is None:
                yield where, "is empty; enter a value"
                continue
            try:
                if group in _GROUPS:
                    _GROUPS[group].model_validate({name: value})
                else:
                    (_VALUE if group == "set" else _TEXT).validate_python(value)
            except ValidationError as error:
                yield where, field_words(error.errors(include_url=False)[0], ())
            if value in values[:index]:
                yield where, f"{value!r} is listed twice"


def _unknown(key: str, group: str, name: str) -> str | None:
    """Return why a key of ``vary`` cannot vary, or None."""
    if key == "load.faults":
        return "cannot vary; give named steps a load with faults of their own"
    if group in _GROUPS:
        known = list(_GROUPS[group].model_fields)
        hint = did_you_mean(name, known) or f"; choose from {', '.join(known)}"
        return None if name in known else f"{group} has no {name!r}{hint}"
    if key == "workload" or (group == "set" and name):
        return None
    return "must be workload or begin with load., shape. or set., for example load.users"


def _axis_conflicts(sweep: SweepFields) -> Iterator[Conflict]:
    if sweep.x == AT and not sweep.steps:
        yield ("x",), "at is the number of named steps, and there are no steps"
    elif sweep.x == AT:
        for index, step in enumerate(sweep.entries):
            if step.at is None:
                yield ("steps", index, "at"), "is missing; x is at, so every named step needs a number"
    elif sweep.x is not None and sweep.x not in sweep.vary:
        yield ("x",), f"{sweep.x!r} is not in vary, which has {', '.join(sweep.vary) or 'no fields'}"
    elif sweep.x is not None and any(isinstance(value, list) for value in sweep.vary[sweep.x]):
        yield ("x",), f"{sweep.x!r} has lists as values, which an axis cannot show"


NOT_TIMED = "must not be set: bursts, and steps that end by count, have no warm-up"


def _step_conflicts(sweep: SweepFields, step: StepFields, where: Location) -> Iterator[Conflict]:
    """Yield the conflicts of a named step, or of a whole sweep without any (``where`` is empty)."""
    if not (sweep.of(step, "workload") or "workload" in sweep.vary):
        yield where, "workload: is missing" + (", both here and for the whole sweep" if where else "")
    for key in sweep.vary:
        if step.sets(key):
            yield where, f"{step.name!r} sets {key}, which is also in vary; remove one of them"
    measure = sweep.of(step, "measure")
    is_timed = isinstance(measure, float)
    if is_timed and sweep.of(step, "warm_up") is None:
        yield (*where, "warm_up"), "is missing" + (", both here and for the whole sweep" if where else "")
    if not is_timed and step.warm_up is not None:
        yield (*where, "warm_up"), NOT_TIMED
    rates = sweep.vary.get("load.rate") or [step.load.given("rate") or sweep.load.given("rate")]
    if step.peak and any(peak_factor(rate) is not None for rate in rates):
        yield (*where, "peak"), f"{step.name!r} has a rate that depends on it"
    place = (*where, "measure") if step.measure else ("measure",)
    arrivals = sweep.vary.get("load.arrivals") or [step.load.given("arrivals") or sweep.load.given("arrivals")]
    if isinstance(measure, BurstCount) and any(kind != "burst" for kind in arrivals):
        yield (*place, "bursts"), "needs load.arrivals: burst"
    if "burst" not in arrivals:
        return
    if not isinstance(measure, BurstCount):
        yield place, "must be {bursts: N}, because load.arrivals is burst"
    if sweep.condition != NO_CONDITION and sweep.condition.load.given("arrivals") in (None, "burst"):
        example = "condition: {load: {arrivals: closed, users: 8}}"
        yield ("condition",), f"bursts do not condition nodes; set another load, such as {example}, or none"


def _search_conflicts(sweep: SweepFields) -> Iterator[Conflict]:
    if sweep.repeats > 1:
        yield ("repeats",), "must not be set for a search, which confirms its own result"
    if sweep.thresholds != ThresholdFields():
        yield ("thresholds",), "must not be set for a search; set its limits in find_max"
    if "load.rate" in sweep.vary:
        yield ("vary", "load.rate"), "must not be set for a search, which finds the rate itself"
    if sweep.load.given("arrivals") in (None, "closed", "burst"):
        yield ("find_max",), "needs open load; set load.arrivals to poisson or constant"
    named: list[tuple[Location, SweepFields | StepFields]] = [
        (("steps", index), step) for index, step in enumerate(sweep.steps or ())
    ]
    for where, entry in [((), sweep), *named]:
        if not isinstance(entry.measure, float | None):
            yield (*where, "measure"), "must be a duration in a search"
        if entry.may_break:
            yield (*where, "may_break"), "must not be set for a search: a rate that ends a node is not sustained"
        if entry.load.given("rate") is not None:
            yield (*where, "load", "rate"), "must not be set for a search, which finds the rate itself"


def _quick_conflicts(sweep: SweepFields, short: QuickFields) -> Iterator[Conflict]:
    """Yield what a short form names that is not in the sweep."""
    for key, values in short.vary.items():
        for index, value in enumerate(values):
            if value not in sweep.vary.get(key, []):
                yield ("quick", "vary", key, index), f"{value!r} is not in vary.{key} of the whole sweep"
    names = [step.name for step in sweep.steps or ()]
    for index, name in enumerate(short.steps or ()):
        if name not in names:
            yield ("quick", "steps", index), f"there is no step {name!r}{did_you_mean(name, names) or ''}"
