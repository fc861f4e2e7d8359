"""``lab bench repeats``: repeats one load on one start of the lab, prints how much the values vary, and stores them."""

import math
import statistics
from dataclasses import replace
from pathlib import Path

from corda_lab import __version__
from corda_lab.bench.file import store
from corda_lab.bench.repeats import show
from corda_lab.bench.repeats.measurement import Repeat, RepeatsBench
from corda_lab.bench.warm import warmed
from corda_lab.errors import LabError
from corda_lab.lab import environment
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.results import folders
from corda_lab.runs import execute, preflight
from corda_lab.runs.running import RunningLab
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.plan import RunPlan
from corda_lab.text import ui
from corda_lab.text.words import plural

BETWEEN_SECONDS = 30
"""Estimated time between two repeats, for the announcement: containers start, flows end, counts and files are made."""


def run(options: LoadOptions, settings: Settings, *, repeats: int) -> Path:
    """Make the repeats, each as ``lab run`` does. Returns the stored file. Raises LabError."""
    folders.require_writable()
    lab = RunningLab.of(settings)
    with ui.phase("Checking the benchmark"):
        plan = preflight.plan(preflight.prepare(options), lab.settings, lab.compose, lab.bridge)
    bench = described(plan, repeats, lab.settings)
    ui.note(announcement(options, repeats))
    bench = warmed(bench, options, plan.subject, lab)
    for number in range(1, repeats + 1):
        with ui.phase(f"Repeat {number} of {repeats}"):
            measured = repeat(replace(options, seed=options.seed + number - 1, name="repeat"), lab.settings, number)
            show.progress(measured)
        bench = bench.model_copy(update={"measurements": (*bench.measurements, measured)})
        # Stored after every repeat, so that an interrupted bench keeps what it has.
        path = store(bench)
    show.results(bench)
    ui.note(f"stored in {path}")
    return path


def announcement(options: LoadOptions, repeats: int) -> str:
    """Describe the bench in one line."""
    seconds = repeats * (options.total_seconds + BETWEEN_SECONDS)
    return f"{options.workload}: {plural(repeats, 'repeat')}, about {seconds / 60:.0f} minutes"


def repeat(options: LoadOptions, settings: Settings, number: int) -> Repeat:
    """Run the load once. If the run fails, the repeat says why."""
    try:
        folder, step = execute.execute(options, settings)
    except LabError as error:
        return Repeat(number=number, run="", problem=" ".join(error.message.split()))
    return repeat_of(number, folder.name, step)


def repeat_of(number: int, run: str, step: StepEntry) -> Repeat:
    """The values of a run."""
    problems = [str(one) for one in (*step.validity.reasons, *step.verdict.reasons)]
    calibration = step.calibration
    return Repeat(
        number=number,
        run=run,
        flows_per_second=step.throughput_per_second,
        p50_ms=_finite(step.judged_latency.quantile("p50")),
        p99_ms=_finite(step.judged_latency.quantile("p99")),
        window_seconds=step.window.seconds,
        host_busy_percent=step.resources.host_busy_percent,
        stolen_percent=step.resources.host_stolen_percent,
        calibration_ms=statistics.fmean(calibration.before.values()) if calibration and calibration.before else None,
        warnings=tuple(str(one) for one in step.flags),
        problem="; ".join(dict.fromkeys(problems)) or None,
    )


def described(plan: RunPlan, repeats: int, settings: Settings) -> RepeatsBench:
    """Return the file without measurements."""
    options = plan.options
    return RepeatsBench(
        id=folders.run_id("repeats"),
        lab_version=__version__,
        environment=environment.read_environment(Compose(settings)),
        workload=plan.workload.name,
        flow=", ".join(plan.subject.flows),
        node=", ".join(plan.subject.nodes),
        load=options.entry(),
        warm_up_seconds=options.warm_up_seconds,
        duration_seconds=options.duration_seconds,
        repeats=repeats,
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
