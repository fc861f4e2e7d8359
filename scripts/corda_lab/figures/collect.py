"""Makes repeats from a stored run of a sweep: one for each of its repeats that can be trusted as a whole."""

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from corda_lab.figures import store
from corda_lab.figures.forms import digest_of, form_of, sweep_of
from corda_lab.figures.metrics import metric_of
from corda_lab.figures.repeat import (
    Repeat,
    RepeatCalibration,
    RepeatMachine,
    RepeatPoint,
    SpoiltRepeat,
)
from corda_lab.knobs.shape import LAB_IMAGES
from corda_lab.lab.cordapps import platform_version
from corda_lab.results.manifest import Environment
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.reasons import sentences
from corda_lab.steps.validity import NOT_STEADY
from corda_lab.sweeps.file import SweepFile
from corda_lab.text.words import plural

CALIBRATION_MOVED_MAX = 0.10
"""A repeat during which the same work became slower or faster by a larger share is measured again."""
REPEAT_HOURS_MAX = 24
"""A repeat that took longer was interrupted, and its points are not of one day."""
STEP_SECONDS_MAX = 3600
"""A step that took longer, with the start of its lab, was interrupted."""
DIGITS = 6
"""Significant digits of stored values."""
NODE_PREFIXES = ("party", "notary")
"""How the services of Corda nodes begin."""


@dataclass(frozen=True)
class Collected:
    """The repeats of a run, and those that have to be measured again."""

    repeats: tuple[Repeat, ...]
    spoilt: tuple[SpoiltRepeat, ...]


def collect(run: StoredRun, metrics: Sequence[str]) -> Collected:
    """Return the repeats of a run with these metrics of each point. Raises LabError if it is not a run of a sweep."""
    sweep = sweep_of(run)
    found: list[Repeat] = []
    spoilt: list[SpoiltRepeat] = []
    for number in range(1, run.sweep.repeats + 1):
        steps = [step for step in run.steps if step.repeat == number]
        why = _fault(run, steps)
        if why:
            spoilt.append(SpoiltRepeat(repeat=number, why=why))
        else:
            found.append(_repeat(run, sweep, number, steps, metrics))
    return Collected(tuple(one.model_copy(update={"spoilt": spoilt}) for one in found), tuple(spoilt))


def _fault(run: StoredRun, steps: Sequence[StepEntry]) -> str:
    """Return why a repeat cannot be used; empty if it can."""
    expected = len({_key(step) for step in run.steps})
    measured = len({_key(step) for step in steps})
    if measured < expected:
        return f"has {measured} of {plural(expected, 'point')}"
    if not any(step.validity.valid for step in steps):
        return "has no valid step"
    machines = {_machine(run.environment(step)) for step in steps}
    if len(machines) > 1:
        return "began and ended on different machines"
    hours = (max(step.window.load_ended_at for step in steps) - _began(steps)) / 3600
    if hours > REPEAT_HOURS_MAX:
        return f"took {hours:.0f} hours, so it is not of one day"
    moved = _moved(steps)
    if moved is not None and abs(moved - 1) > CALIBRATION_MOVED_MAX:
        return f"the machine's speed moved: the same work took {moved:.2f} times as long at its end"
    return ""


def _key(step: StepEntry) -> str:
    return json.dumps([step.workload, step.label, step.point], sort_keys=True)


def _began(steps: Iterable[StepEntry]) -> float:
    return min(step.window.load_started_at for step in steps)


def _in_order(steps: Iterable[StepEntry]) -> list[StepEntry]:
    return sorted(steps, key=lambda step: step.window.load_started_at)


def _seconds(run: StoredRun, number: int) -> float | None:
    """Return how long the steps of a repeat took, each from the end of the one before; None if one was interrupted."""
    took, before = 0.0, _run_began(run)
    for step in _in_order(run.steps):
        seconds, before = step.window.load_ended_at - before, step.window.load_ended_at
        if step.repeat == number:
            if not 0 < seconds <= STEP_SECONDS_MAX:
                return None
            took += seconds
    return round(took, 1)


def _run_began(run: StoredRun) -> float:
    """Return when a run began, with the start of its lab, which its folder is named after."""
    return datetime.strptime(run.identity.split("-")[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()


def _moved(steps: Sequence[StepEntry]) -> float | None:
    """Return how many times longer the same work took in the second half of a repeat; None if it was not timed."""
    found = _calibration(steps)
    return None if found.before is None or found.after is None else found.after / found.before


def _calibration(steps: Sequence[StepEntry]) -> RepeatCalibration:
    """Return the means of the readings in both halves of a repeat.

    A reading lasts less than 50 ms. On a machine that shares its cores with others, single readings scatter by more
    than what a repeat may move.
    """
    known = [step.calibration for step in _in_order(steps) if step.calibration is not None]
    readings = [reading for one in known for reading in (one.before, one.after) if reading]
    if not readings or len({one.work for one in known}) > 1:
        return RepeatCalibration()
    times = [statistics.fmean(reading.values()) for reading in readings]
    middle = len(times) // 2
    before, after = (round(statistics.fmean(half), 3) for half in (times[:middle], times[middle:]))
    return RepeatCalibration(before=before, after=after)


def _repeat(
    run: StoredRun, sweep: SweepFile, number: int, steps: Sequence[StepEntry], metrics: Sequence[str]
) -> Repeat:
    environments = [run.environment(step) for step in _in_order(steps)]
    first = environments[0]
    machine = RepeatMachine(
        cpu=first.host.cpu_model, cores=first.host.cpu_count or 1, memory_bytes=first.host.memory_bytes
    )
    return Repeat(
        sweep=run.sweep.name,
        form=form_of(run),
        repeat=number,
        seed=None if run.sweep.seed is None else run.sweep.seed + number - 1,
        at=datetime.fromtimestamp(_began(steps), UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        seconds=_seconds(run, number),
        run=run.identity,
        lab_version=run.manifest.lab_version,
        commit=first.git.words if first.git.commit else None,
        machine=machine,
        images=_node_images(environments),
        platform=_platform(environments),
        enterprise=all(is_enterprise_image(one.shape.get("CORDA_IMAGE", "")) for one in environments),
        calibration=_calibration(steps),
        sweep_digest=digest_of(sweep),
        files=store.files_of(run, steps),
        points=[_point(step, metrics) for step in sorted(steps, key=lambda step: step.index)],
        left_out=run.sweep.left_out,
    )


def _machine(environment: Environment) -> tuple[str | None, int | None]:
    return environment.host.cpu_model, environment.host.cpu_count


def _node_images(environments: Iterable[Environment]) -> dict[str, str]:
    """Return the images of the Corda nodes, name → id, sorted by name."""
    found = {
        image.name: image.id
        for one in environments
        for service, image in one.images.items()
        if service.startswith(NODE_PREFIXES)
    }
    return dict(sorted(found.items()))


def _platform(environments: Iterable[Environment]) -> int | None:
    known = (platform_version(one.versions.corda) for one in environments)
    return max((version for version in known if version is not None), default=None)


def is_enterprise_image(image: str) -> bool:
    """Return whether nodes of an image are Corda Enterprise: the lab did not build it, and its name says so."""
    return not image.startswith(LAB_IMAGES) and "enterprise" in image.lower()


def _point(step: StepEntry, metrics: Sequence[str]) -> RepeatPoint:
    common = RepeatPoint(
        values=dict(step.point),
        failed=step.requests.unwanted - step.resolved.ok,
        conditioned=None if step.conditioning is None else all(one.code != NOT_STEADY for one in step.flags),
    )
    if not step.validity.valid:
        return common.model_copy(update={"outcome": "invalid", "reason": "; ".join(sentences(step.validity.reasons))})
    if step.outcome == "broke":
        return common.model_copy(update={"outcome": "broke", "reason": step.broke})
    return common.model_copy(update={"metrics": {name: _value(step, name) for name in metrics}})


def _value(step: StepEntry, name: str) -> float | None:
    """Return a value of a step to ``DIGITS`` digits; None if it has none, or if a request was never answered."""
    metric = metric_of(name)
    value = None if metric is None else metric.of(step)
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{DIGITS}g}")
