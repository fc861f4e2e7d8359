"""A repeat of a sweep as a small file, ``docs/reproduction/<sweep>/<utc>-<form>.json``. Claims are judged from repeats.

A repeat has only ratios, exponents and levels of its own points to give. So repeats of several days add up.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from corda_lab.results.sweep import LeftOut
from corda_lab.steps.entry import ParameterValue

SCHEMA = 1
"""Version of the format."""

Form = Literal["quick", "full"]
"""Whether the short form of the sweep ran (``--quick``), or all of it."""

Outcome = Literal["passed", "broke", "invalid"]
"""``broke``: the point ended a node, or left the lab with more flows than it completed. ``invalid``: the machine or the
generator spoilt it in every attempt."""


class RepeatPart(BaseModel):
    """Base of all parts of the file: immutable, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class RepeatMachine(RepeatPart):
    """The machine. Fields that the operating system does not report are None."""

    cpu: str | None
    cores: int
    memory_bytes: int | None


class RepeatCalibration(RepeatPart):
    """How long a fixed piece of work took, in ms, mean over the cores; None where it was not measured.

    Each is the mean of half of the readings; with a single reading on either side, of the first and the last step.
    """

    before: float | None = None
    after: float | None = None


class RepeatPoint(RepeatPart):
    """One point of the sweep in this repeat."""

    values: dict[str, ParameterValue]
    """What varies, by the names of the sweep file (``load.users``), and ``step`` and ``at`` of named steps."""
    outcome: Outcome = "passed"
    reason: str | None = None
    """Why the point broke or is invalid."""
    failed: int | None = None
    """Requests that nobody knows to have succeeded; None if they were not counted."""
    conditioned: bool | None = None
    """Whether the load before it brought its nodes to where they stay. None if the point is not the first on its lab,
    or if that is not known."""
    metrics: dict[str, float | None] = Field(default_factory=dict)
    """The values that the figures of the sweep use, in the unit of the metric. None: this point has no such value."""

    @property
    def why(self) -> str:
        """Why it has no values; empty if it has."""
        what = {"broke": "the point broke", "invalid": "the step is invalid"}.get(self.outcome)
        return ": ".join(filter(None, (what, self.reason)))


class SpoiltRepeat(RepeatPart):
    """A repeat that does not count, by its number in the run, and why."""

    repeat: int
    why: str


class Repeat(RepeatPart):
    """One repeat of all points of a sweep."""

    schema_: int = Field(default=SCHEMA, alias="schema")
    sweep: str
    form: Form
    repeat: int
    """Its number within its run, from 1."""
    seed: int | None = None
    """The seed of its loads, which also says in which direction it went; None if it is not known."""
    at: str
    """When it began: ISO 8601, UTC."""
    seconds: float | None = None
    """How long it took with its starts and conditionings; None if it was interrupted."""
    run: str
    """The folder of its run in ``results/``."""
    lab_version: str
    commit: str | None
    machine: RepeatMachine
    images: dict[str, str]
    """The images of the Corda nodes: name → id."""
    platform: int | None = None
    """The highest platform version of its nodes; None if it is not known."""
    enterprise: bool = False
    """Whether its nodes were Corda Enterprise."""
    calibration: RepeatCalibration = RepeatCalibration()
    sweep_digest: str
    """Digest of what the sweep file says about the measurement. Repeats with different digests are not joined."""
    files: dict[str, str] = Field(default_factory=dict)
    """Digests of the workloads and presets that it was measured with: ``workload iou`` → digest. A repeat whose files
    are others today is not judged. Files that are not named are not known."""
    points: list[RepeatPoint]
    left_out: list[LeftOut] = Field(default_factory=list)
    """The points that this machine cannot have."""
    spoilt: list[SpoiltRepeat] = Field(default_factory=list)
    """Repeats of the same run that do not count, and why."""

    @property
    def day(self) -> str:
        """The day on which it began, by UTC: ``2026-11-22``."""
        return self.at.partition("T")[0]

    @property
    def kind(self) -> tuple[str, Form, str]:
        """What it measured: sweep, form and digest. Only repeats of one kind enter one interval."""
        return self.sweep, self.form, self.sweep_digest

    @property
    def id(self) -> str:
        """``20261122T030405Z quick, repeat 2``."""
        return f"{self.at} {self.form}, repeat {self.repeat}"
