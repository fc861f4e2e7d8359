"""A repeat of a sweep as a small file, ``docs/reproduction/<sweep>/<utc>-<form>.json``. Claims are judged from repeats.

A repeat has only ratios, exponents and levels of its own points to give. So repeats of several days add up.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from corda_lab.results.sweep import LeftOut
from corda_lab.steps.entry import ParameterValue
from corda_lab.text.words import plural

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

    def __str__(self) -> str:
        """``AMD EPYC, 2 cores, 25 GB``."""
        memory = "" if self.memory_bytes is None else f", {self.memory_bytes / 1e9:.0f} GB"
        return f"{self.cpu or 'unknown CPU'}, {plural(self.cores, 'core')}{memory}"


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
    def label(self) -> str:
        """The point in words: ``load.users 70, step 4.3``. The number of a named step says nothing more."""
        known = {name: value for name, value in self.values.items() if name != "at" or "step" not in self.values}
        return ", ".join(f"{name} {value}" for name, value in known.items()) or "any value"

    @property
    def why(self) -> str:
        """Why it has no values; empty if it has."""
        what = {"broke": "the point broke", "invalid": "the step is invalid"}.get(self.outcome)
        return ": ".join(filter(None, (what, self.reason)))


@dataclass(frozen=True)
class Site:
    """What a claim may need: a machine and its nodes."""

    cores: int
    platform: int | None
    """The highest platform version of the nodes; None if it is not known."""
    enterprise: bool


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
    def site(self) -> Site:
        """Where it was measured."""
        return Site(self.machine.cores, self.platform, self.enterprise)

    @property
    def day(self) -> str:
        """The day on which it began, by UTC: ``2026-11-22``."""
        return self.at.partition("T")[0]

    @property
    def kind(self) -> tuple[str, Form, str]:
        """What it measured: sweep, form and digest. Only repeats of one kind enter one interval."""
        return self.sweep, self.form, self.sweep_digest

    def lacking(self, metrics: Sequence[str]) -> list[str]:
        """Return the metrics that were never collected for it. If every point broke, it lacks none."""
        known = {name for point in self.points for name in point.metrics}
        return [name for name in metrics if name not in known] if known else []

    @property
    def id(self) -> str:
        """``20261122T030405Z quick, repeat 2``."""
        return f"{self.at} {self.form}, repeat {self.repeat}"


# Repeats in words.


def days(repeats: Sequence[Repeat]) -> str:
    """Return the days of repeats: ``22 Nov 2026``, ``22 Nov 2026 to 1 Dec 2026``."""
    known = [f"{at.day} {at:%b %Y}" for at in sorted(datetime.fromisoformat(repeat.at) for repeat in repeats)]
    return " to ".join(dict.fromkeys((known[0], known[-1]))) if known else ""


def machines(repeats: Iterable[Repeat]) -> str:
    """Return the machines of repeats, each once."""
    return "; ".join(dict.fromkeys(str(repeat.machine) for repeat in repeats))


def machines_with_speed(repeats: Iterable[Repeat]) -> str:
    """Return the machines of repeats, each with the mean calibration of its repeats: ``… (calibration 3.02 ms)``."""
    times: dict[str, list[float]] = {}
    for repeat in repeats:
        readings = (repeat.calibration.before, repeat.calibration.after)
        times.setdefault(str(repeat.machine), []).extend(time for time in readings if time is not None)
    return "; ".join(
        name + (f" (calibration {statistics.fmean(known):.2f} ms)" if known else "") for name, known in times.items()
    )


def versions(repeats: Iterable[Repeat]) -> str:
    """Return the versions of the lab with their commits: ``0.2.0 at 0123456789ab with uncommitted changes``.

    A commit with changes does not say all of what was measured.
    """
    commits: dict[str, dict[str, None]] = {}
    for repeat in repeats:
        commits.setdefault(repeat.lab_version, {})[repeat.commit or "an unknown commit"] = None
    return "; ".join(f"{version} at {', '.join(known)}" for version, known in commits.items())


def images(repeats: Iterable[Repeat]) -> str:
    """Return the images of repeats with the beginnings of their ids: ``corda-lab/node:4.10 (0123456789ab)``."""
    known = sorted({image for repeat in repeats for image in repeat.images.items()})
    return ", ".join(f"{name} ({identity.removeprefix('sha256:')[:12]})" for name, identity in known)


def left_out(repeats: Iterable[Repeat]) -> str:
    """Return the points that the machines of repeats cannot have, and why; empty if there are none."""
    return "; ".join(dict.fromkeys(f"{each.label}: {each.reason}" for repeat in repeats for each in repeat.left_out))


def spoilt(repeats: Iterable[Repeat]) -> list[str]:
    """Return which repeats of the same runs were measured and did not count, and why."""
    known = {(repeat.run, each.repeat): each.why for repeat in repeats for each in repeat.spoilt}
    return [f"repeat {number} of {run} was not counted: {why}" for (run, number), why in known.items()]


def first_points(repeats: Iterable[Repeat]) -> list[RepeatPoint]:
    """Return the first point on each lab, as far as it is known whether its nodes were conditioned long enough."""
    return [point for repeat in repeats for point in repeat.points if point.conditioned is not None]


def without_conditioning(repeats: Sequence[Repeat]) -> int:
    """Return the number of repeats of which it is not known whether the nodes were conditioned long enough.

    Of repeats that share a start, only the first has a point before which the nodes were conditioned.
    """
    known = {repeat.run for repeat in repeats if first_points([repeat])}
    return sum(repeat.run not in known for repeat in repeats)


def duration(seconds: float) -> str:
    """Return an estimated duration: ``15 min``, ``4 h 20 min``."""
    minutes = max(1, round(seconds / 60))
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(5 * math.ceil(minutes / 5), 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"
