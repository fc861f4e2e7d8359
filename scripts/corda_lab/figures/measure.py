"""Measures repeats of a sweep by the code of ``lab sweep``, and stores those that can be trusted as a whole."""

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from corda_lab.analysis.metrics import metric
from corda_lab.errors import LabError
from corda_lab.figures import repeats
from corda_lab.figures.figure import Figure, Places, metrics_of
from corda_lab.figures.points import Point
from corda_lab.figures.repeats import Repeat
from corda_lab.lab.settings import Settings
from corda_lab.paths import ROOT
from corda_lab.results import folders, stored
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.reasons import sentences
from corda_lab.steps.validity import NOT_STEADY
from corda_lab.sweeps import command
from corda_lab.sweeps import store as sweeps_store
from corda_lab.sweeps.command import SweepRequest
from corda_lab.sweeps.file import SweepFile, quick, read_sweep
from corda_lab.sweeps.run import problems_of
from corda_lab.text import ui
from corda_lab.text.words import plural

AGAIN_MAX = 2
"""How often spoilt repeats are measured again before that is left to the user."""
CALIBRATION_MOVED_MAX = 0.10
"""A repeat during which the same work became slower or faster by a larger share is measured again."""
REPEAT_HOURS_MAX = 24
"""A repeat that took longer was interrupted, and its points are not of one day."""
DIGITS = 6
"""Significant digits of stored values."""
NODE_PREFIXES = ("party", "notary")
"""How the services of Corda nodes begin."""


def sweep_of(run: StoredRun) -> SweepFile:
    """Read the sweep of a run as it was measured, in its form. Raises LabError."""
    if not run.is_sweep:
        raise LabError(f"{run.identity} is not the run of a sweep", "Figures are judged from runs of their sweeps.")
    if run.sweep.find_max:
        raise LabError(f"{run.identity} is a search for the highest rate", "Figures are judged from other sweeps.")
    sweep = read_sweep(run.folder / "sweep.yaml")
    return quick(sweep) if run.sweep.is_quick else sweep


class Collected(NamedTuple):
    """The repeats of a run, and the numbers of those that have to be measured again, with the reason."""

    repeats: list[Repeat]
    spoilt: dict[int, str]


def collect(run: StoredRun, metrics: Sequence[str]) -> Collected:
    """Return the repeats of a run with these metrics of each point. Raises LabError if it is not a run of a sweep."""
    digest = repeats.digest_of(sweep_of(run))
    in_order = sorted(run.steps, key=lambda step: step.window.load_started_at)
    steps = {number: [step for step in in_order if step.repeat == number] for number in range(1, run.sweep.repeats + 1)}
    spoilt = {number: why for number, own in steps.items() if (why := _fault(run, own))}
    whole = [_repeat(run, digest, number, own, metrics) for number, own in steps.items() if number not in spoilt]
    return Collected([repeat.model_copy(update={"spoilt": spoilt}) for repeat in whole], spoilt)


def _fault(run: StoredRun, steps: Sequence[StepEntry]) -> str:
    """Return why a repeat cannot be used; empty if it can. Its steps are in the order of their time."""
    expected, measured = (
        len({json.dumps([step.workload, step.label, step.point], sort_keys=True) for step in of})
        for of in (run.steps, steps)
    )
    if measured < expected:
        return f"has {measured} of {plural(expected, 'point')}"
    if not any(step.validity.valid for step in steps):
        return "has no valid step"
    hosts = [run.environment(step).host for step in steps]
    if len({(host.cpu_model, host.cpu_count) for host in hosts}) > 1:
        return "began and ended on different machines"
    hours = (max(step.window.load_ended_at for step in steps) - steps[0].window.load_started_at) / 3600
    if hours > REPEAT_HOURS_MAX:
        return f"took {hours:.0f} hours, so it is not of one day"
    speed = _calibration(steps)
    moved = speed[-1] / speed[0] if speed else 1.0
    if abs(moved - 1) > CALIBRATION_MOVED_MAX:
        return f"the machine's speed moved: the same work took {moved:.2f} times as long at its end"
    return ""


def _calibration(steps: Sequence[StepEntry]) -> list[float]:
    """Return the means of the readings in both halves of a repeat.

    A reading lasts less than 50 ms. On a machine that shares its cores with others, single readings scatter by more
    than what a repeat may move.
    """
    known = [step.calibration for step in steps if step.calibration is not None]
    times = [statistics.fmean(reading.values()) for each in known for reading in (each.before, each.after) if reading]
    if not times or len({each.work for each in known}) > 1:
        return []
    middle = len(times) // 2
    return [round(statistics.fmean(half), 3) for half in (times[:middle], times[middle:])]


def _repeat(run: StoredRun, digest: str, number: int, steps: Sequence[StepEntry], metrics: Sequence[str]) -> Repeat:
    environments = [run.environment(step) for step in steps]
    host, git = environments[0].host, environments[0].git
    images = {
        image.name: image.id
        for environment in environments
        for service, image in environment.images.items()
        if service.startswith(NODE_PREFIXES)
    }
    began = datetime.fromtimestamp(steps[0].window.load_started_at, UTC)
    return Repeat(
        sweep=run.sweep.name,
        form="quick" if run.sweep.is_quick else "full",
        repeat=number,
        seed=None if run.sweep.seed is None else run.sweep.seed + number - 1,
        at=began.isoformat(timespec="seconds").replace("+00:00", "Z"),
        run=run.identity,
        lab_version=run.manifest.lab_version,
        commit=git.words if git.commit else None,
        machine=repeats.machine_words(host.cpu_model, host.cpu_count or 1, host.memory_bytes),
        cores=host.cpu_count or 1,
        images=dict(sorted(images.items())),
        calibration=_calibration(steps),
        sweep_digest=digest,
        files=_files_of(run, steps),
        points=[_point(step, metrics) for step in sorted(steps, key=lambda step: step.index)],
        left_out={each.label: each.reason for each in run.sweep.left_out},
    )


def _files_of(run: StoredRun, steps: Sequence[StepEntry]) -> dict[str, str]:
    """Return the digests of the files that steps of a run were measured with, by name."""
    files: dict[str, str] = {}
    texts = run.manifest.workload_files
    for step in steps:
        names = [step.workload, *([step.conditioning.workload] if step.conditioning else [])]
        files |= {f"{repeats.WORKLOAD} {name}": repeats.text_digest(texts[name]) for name in names if name in texts}
        environment = run.environment(step)
        if environment.preset_sha256:
            preset = environment.shape.get("NODE_PRESET", "")
            files[f"{repeats.PRESET} {preset}"] = environment.preset_sha256[: repeats.DIGEST_LENGTH]
    return dict(sorted(files.items()))


def _point(step: StepEntry, metrics: Sequence[str]) -> Point:
    common = Point(
        values=dict(step.point),
        failed=step.requests.unwanted - step.resolved.ok,
        conditioned=None if step.conditioning is None else all(flag.code != NOT_STEADY for flag in step.flags),
    )
    if not step.validity.valid:
        return common.model_copy(update={"outcome": "invalid", "reason": "; ".join(sentences(step.validity.reasons))})
    if step.outcome == "broke":
        return common.model_copy(update={"outcome": "broke", "reason": step.broke})
    return common.model_copy(update={"metrics": {name: _value(step, name) for name in metrics}})


def _value(step: StepEntry, name: str) -> float | None:
    """Return a value of a step to ``DIGITS`` digits; None if it has none, or if a request was never answered."""
    value = metric(name).of(step)
    return None if value is None or not math.isfinite(value) else float(f"{value:.{DIGITS}g}")


# Measuring.


def measure(request: SweepRequest, figures: Sequence[Figure], settings: Settings, places: Places) -> Path:
    """Measure the repeats of a request, those that are spoilt again, and store them. The sweep serves all ``figures``.

    An unfinished sweep of the same form is resumed first. Returns the folder of the last run. Raises LabError if steps
    are missing in the end.
    """
    sweep = command.read(request)
    count, seed = sweep.fields.repeats, sweep.fields.seed
    for attempt in range(1 + AGAIN_MAX):
        folder = _run(replace(request, repeats=count, seed=seed), sweep, settings, places)
        spoilt = keep(stored.read(folder), figures, places).spoilt
        if not spoilt:
            break
        again = seed + min(spoilt) - 1
        seed += count
        # In the same direction, which is that of the parity (``sweeps.plan.steps_of``).
        seed += (seed - again) % 2
        count = len(spoilt)
        if attempt < AGAIN_MAX:
            ui.note(f"{plural(count, 'repeat')} will be measured again")
        else:
            ui.warn(f"{plural(count, 'repeat')} could not be measured; try later with --add {count}")
    return folder


def keep(run: StoredRun, figures: Sequence[Figure], places: Places) -> Collected:
    """Store the repeats of a run for the figures that its sweep serves, and say which of them are spoilt."""
    collected = collect(run, metrics_of(figures))
    for number, why in collected.spoilt.items():
        ui.warn(f"repeat {number} of {run.identity} does not count: {why}")
    for path in repeats.write(collected.repeats, places.repeats):
        ui.note(f"stored: {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")
    return collected


def _run(request: SweepRequest, sweep: SweepFile, settings: Settings, places: Places) -> Path:
    """Run a sweep, or resume its latest unfinished run of this form. Returns the folder of its run.

    Raises LabError if steps are missing.
    """
    unfinished = folders.unfinished_sweeps(results=places.results)
    own = [folder for folder in unfinished if folders.name_of(folder.name) == sweep.run_name]
    if own and _can_continue(own[-1], sweep, settings):
        folder = command.resume(replace(request, file=own[-1].name), settings)
    else:
        folder = command.begin(request, settings)
    for problem in problems_of(stored.read(folder)):
        ui.warn(problem)
    return folder


def _can_continue(unfinished: Path, sweep: SweepFile, settings: Settings) -> bool:
    try:
        sweeps_store.read(unfinished).require_unchanged(sweep, settings)
    except LabError as error:
        ui.note(f"{unfinished.name} is left as it is: {error.message}")
        return False
    return True
