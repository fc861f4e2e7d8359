"""The steps of a sweep as they are planned and stored, one after the other."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from corda_lab.knobs.shape import LIVE_VARIABLES
from corda_lab.results import folders
from corda_lab.results.manifest import LeftOut, Rerun
from corda_lab.steps.entry import ParameterValue, Phase
from corda_lab.steps.faults import Fault
from corda_lab.steps.load import Conditioning, LoadModel, LoadOptions, Stopping, attributes_of
from corda_lab.sweeps.schema import Fresh, peak_factor
from corda_lab.sweeps.search import RATE_DIGITS

POOL_DEFAULT = 200
"""Default size of the pool in open load."""
NAME_LENGTH_MAX = folders.NAME_LENGTH_MAX - len("-0000")
"""Maximum length of a sweep's name. The load of each step is named after the sweep, with a number."""
KEY_LENGTH_MAX = 150
"""Maximum length of a step's key. The name of a step's folder contains it, and may have at most 255 characters."""
SEARCHES_MAX = 99
"""Most searches of a sweep."""


def model_of(load: Mapping[str, Any]) -> LoadModel:
    """Return the model of a load, by its fields in a sweep file."""
    return LoadOptions("", arrivals=load.get("arrivals", "closed")).model


class PlannedCondition(BaseModel):
    """The load that conditions the nodes if a step is the first on its lab. Times are in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    load: dict[str, ParameterValue]
    """The fields of ``load``, those of the step included."""
    seconds: tuple[float, float]
    overrides: dict[str, str] = {}
    """The arguments of the workload, those of the step included."""
    workload: str | None = None
    """None if it is that of the step."""


class PlannedStep(BaseModel):
    """One load on one shape. It is stored in ``plan.json``. All times are in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

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
    measure: float
    """The measuring window. Of a step that ends by count, the longest."""
    bursts: int | None = None
    """The number of bursts after which the step ends; None if it ends otherwise."""
    flows: int | None = None
    """The number of flows after which the step ends, without the ``flows_after`` before them; None if it ends
    otherwise."""
    flows_after: int = 0
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

    def peaks(self, steps: Iterable["PlannedStep"]) -> list["PlannedStep"]:
        """Return the steps of its repeat whose highest throughput is the peak of which its rate is a multiple."""
        own = (self.repeat, self.workload, self.shape_key)
        return [step for step in steps if step.is_peak and (step.repeat, step.workload, step.shape_key) == own]

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
        own |= {"faults": (), "workload": self.condition.workload or self.workload}
        options = self.model_copy(update=own).options(f"condition-{self.index:04d}")
        return Conditioning(options, *self.condition.seconds)

    def options(self, name: str) -> LoadOptions:
        """Return the options of ``lab run`` for this step, with the conditions for ending early."""
        given = ({"users": POOL_DEFAULT} if model_of(self.load) == "open" else {}) | self.load
        stopping: Stopping | None = None
        if self.bursts is not None:
            given["bursts"] = self.bursts
        elif self.flows is not None:
            given |= {"flows": self.flows, "flows_after": self.flows_after}
        else:
            stopping = Stopping(self.warm_up[0])
        return LoadOptions(
            workload=self.workload,
            duration_seconds=self.measure,
            warm_up_seconds=self.warm_up[1],
            name=name,
            seed=self.seed,
            overrides=self.overrides,
            stopping=stopping,
            faults=self.faults,
            **attributes_of(given),
        )

    def lab_key(self, fresh: Fresh) -> tuple[object, ...]:
        """Return a key that is equal for consecutive steps that share a lab. They may differ in live knobs."""
        own: dict[Fresh, tuple[int, ...]] = {"shape": (), "repeat": (self.repeat,), "step": (self.index,)}
        lasting = sorted(each for each in self.variables.items() if each[0] not in LIVE_VARIABLES)
        return (*lasting, *own[fresh])


class PlanFile(BaseModel):
    """The content of ``plan.json``, which has everything that a sweep needs to be resumed."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    schema_: int = Field(alias="schema", default=folders.SCHEMA)
    file: Path
    """The sweep file."""
    command: str
    """The command that started the sweep."""
    fingerprint: dict[str, str]
    """Everything that must not change before the sweep is resumed: name → digest. See ``store.fingerprint``."""
    quick: bool
    repeats: int | None = None
    """The number of repeats, which need not be that of the file; None for that of the file."""
    seed: int | None = None
    """The seed of the first repeat, which need not be that of the file; None for that of the file."""
    steps: list[PlannedStep]
    """Empty for a search, which plans one step at a time."""
    rerun: Rerun | None = None
    left_out: list[LeftOut] = []
    """The points that this machine cannot have, if the sweep leaves them out."""
    images: dict[str, str] = {}
    """The images that the steps must have, because the sweep repeats another: name → id."""
    placement: str | None = None
    """What runs on which host, as it was given; None if the sweep runs on one machine."""
