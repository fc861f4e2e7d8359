"""Runs a whole sweep: stores its plan, runs what is missing, searches, and makes the run of what is complete."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.lab import lifecycle
from corda_lab.lab.settings import Settings
from corda_lab.paths import ROOT
from corda_lab.results import files, folders, stored
from corda_lab.results.manifest import Rerun
from corda_lab.results.stored import StoredRun
from corda_lab.results.sweep import LeftOut, SearchAnswer, SearchOutcome, SweepPlan
from corda_lab.results.sweep_parts import NO_CONDITION
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.reasons import sentences
from corda_lab.sweeps import search, store
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.lab import Lab
from corda_lab.sweeps.plan import CheckedPlan, run_time, without
from corda_lab.sweeps.runner import Runner, StepFailedError
from corda_lab.sweeps.step import PlannedStep, at_rate, points_of
from corda_lab.text import ui
from corda_lab.text.durations import format_duration

NO_IMAGES: Mapping[str, str] = {}


@dataclass(frozen=True)
class SweepResult:
    """The result of a sweep: its run's folder (None if steps are missing), and why it failed, one sentence each."""

    folder: Path | None
    problems: list[str]


def sweep_plan(
    sweep: SweepFile, outcomes: Mapping[str, SearchOutcome] | None = None, left_out: Sequence[LeftOut] = ()
) -> SweepPlan:
    """Return the entry ``sweep`` of ``run.json``. ``left_out`` are the points that the machine could not have."""
    path = sweep.source.path.resolve()
    return SweepPlan.model_construct(
        **{**dict(sweep.fields), "quick": None},
        file=str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name,
        text=sweep.text,
        name=sweep.name,
        is_quick=sweep.is_quick,
        left_out=list(left_out),
        outcomes=dict(outcomes or {}),
    )


def begin(
    sweep: SweepFile,
    checked: CheckedPlan,
    settings: Settings,
    rerun: Rerun | None = None,
    images: Mapping[str, str] = NO_IMAGES,
    placement: str | None = None,
) -> store.Unfinished:
    """Store the plan of a sweep, before its first step. Raises LabError if that is impossible.

    ``rerun`` names the sweep that it repeats, and ``images`` has the images that all steps must have: name → id.
    ``placement`` says what runs on which host, None that all runs on this machine.
    """
    return store.create(
        folders.run_id(sweep.run_name),
        sweep.text,
        store.PlanFile(
            file=sweep.source.path.resolve(),
            command=files.command_line(),
            fingerprint=store.fingerprint(sweep.text, workloads_of(sweep, checked.points), settings),
            quick=sweep.is_quick,
            repeats=sweep.fields.repeats,
            seed=sweep.fields.seed,
            steps=checked.steps,
            left_out=checked.left_out,
            rerun=rerun,
            images=dict(images),
            placement=placement,
        ),
    )


def workloads_of(sweep: SweepFile, points: Sequence[PlannedStep]) -> list[str]:
    """Return the workloads of points, and the one that conditions the nodes if the sweep names one."""
    condition = sweep.fields.condition
    first = None if condition == NO_CONDITION else condition.workload
    return [*(point.workload for point in points), *([first] if first else [])]


def require_unchanged(kept: store.Unfinished, sweep: SweepFile, settings: Settings) -> None:
    """Raise LabError if anything that the steps depend on has changed since the sweep began.

    If the sweep file is gone, its stored text counts.
    """
    path = sweep.source.path
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else sweep.text
    changes = kept.changes(store.fingerprint(text, workloads_of(sweep, _points(sweep, kept)), settings))
    if changes:
        raise LabError(
            f"{kept.identity} cannot be resumed, because these have changed since it began: {', '.join(changes)}",
            "Undo the changes, store the complete steps with `scripts/lab sweep finish`, or start a new sweep.",
        )


def _points(sweep: SweepFile, kept: store.Unfinished) -> list[PlannedStep]:
    return without(points_of(sweep), kept.plan.left_out)


def execute(sweep: SweepFile, kept: store.Unfinished, settings: Settings, lab: Lab) -> SweepResult:
    """Run the missing steps. When all steps are complete, store them as a run."""
    kept.tidy()
    runner = Runner(sweep, kept, lab)
    started_at = time.time()
    if sweep.fields.find_max is None:
        _run_steps(runner, kept, settings, sweep)
    else:
        _search_all(runner, sweep, kept)
    if runner.failed:
        return SweepResult(None, [f"step {key}: {message}" for key, message in runner.failed.items()])
    # Prometheus has data of the last lab only: that of earlier labs was deleted with them.
    link = lifecycle.dashboard_link(settings, max(started_at, lab.started_at), time.time())
    folder = finish(sweep, kept, link)
    if link:
        ui.note(f"Grafana, since the last start of the lab: {link}")
    return SweepResult(folder, problems_of(stored.read(folder)))


def _run_steps(runner: Runner, kept: store.Unfinished, settings: Settings, sweep: SweepFile) -> None:
    steps, fresh = kept.steps, sweep.fields.fresh
    missing = [step for step in steps if not kept.has(step)]
    if len(missing) < len(steps):
        ui.note(f"{len(steps) - len(missing)} of {len(steps)} steps are already complete")
    began = time.monotonic()
    whole = run_time(missing, settings, fresh=fresh).seconds_max
    for number, step in enumerate(missing):
        before = missing[number - 1] if number else None
        left = run_time(missing[number:], settings, fresh=fresh, before=before).seconds_max
        # The steps so far show by how much the plan is wrong on this machine, with these flows.
        pace = (time.monotonic() - began) / (whole - left) if whole > left else 1.0
        about = format_duration(max(60, round(left * pace / 60) * 60))
        place = f"Step {len(steps) - len(missing) + number + 1} of {len(steps)}"
        try:
            runner.step(step, f"{place}: {step.label}, repeat {step.repeat} – about {about} left")
        except StepFailedError:
            ui.warn(f"step {step.key} is skipped for now; `scripts/lab sweep resume` tries it again")


def _search_all(runner: Runner, sweep: SweepFile, kept: store.Unfinished) -> None:
    """Search every point, until one cannot continue."""
    for number, point in enumerate(_points(sweep, kept)):
        try:
            ui.note(f"{point.label}: {find_max(sweep, point, number, runner.sustains).reason}")
        except StepFailedError:
            return


Answer = Callable[[PlannedStep, str], bool | None]
"""Takes a step and its heading, and returns whether its rate is sustained; None stops the search."""


def find_max(sweep: SweepFile, point: PlannedStep, number: int, answer: Answer) -> SearchOutcome:
    """Search for the highest rate that a point sustains, as far as ``answer`` has answers."""
    asked = sweep.fields.find_max
    assert asked is not None
    answers: list[SearchAnswer] = []
    while not isinstance(question := search.question(asked, answers), str):
        (rate, phase), count = question, len(answers) + 1
        changes = {
            "index": number * 100 + count,
            "key": f"{point.key}_{count:02d}-{phase}",
            "phase": phase,
            # If a rate is offered again, its arrivals must differ.
            "seed": sweep.fields.seed + count - 1,
        } | ({"measure": asked.confirm} if phase == "confirm" else {})
        step = at_rate(sweep, point, rate).model_copy(update=changes)
        heading = f"{point.label}: step {count} of at most {asked.steps_max}, {phase} {rate:g}/s"
        sustained = answer(step, heading)
        if sustained is None:
            break
        answers.append(SearchAnswer(rate=rate, sustained=sustained, phase=phase))
    return search.outcome(asked, answers)


def finish(sweep: SweepFile, kept: store.Unfinished, link: str | None = None) -> Path:
    """Store the complete steps as a run with a report, and return its folder. Searches have what they found so far."""
    outcomes: dict[str, SearchOutcome] = {}
    if sweep.fields.find_max is not None:
        for number, point in enumerate(_points(sweep, kept)):
            outcomes[point.label] = find_max(sweep, point, number, lambda step, _: kept.sustained(step))
    begun = {label: outcome for label, outcome in outcomes.items() if outcome.answers}
    with ui.phase("Storing the run and its report"):
        return kept.finish(sweep_plan(sweep, begun, kept.plan.left_out), dict(ui.phase_seconds), grafana=link)


def problems_of(run: StoredRun) -> list[str]:
    """Return why a finished sweep failed: one sentence for each failed step, or for each search without a result."""
    steps, sweep = run.steps, run.sweep
    if sweep.find_max:
        # The steps of a search are expected to overload the system, so only its outcome counts.
        return [f"{label}: {outcome.reason}" for label, outcome in sweep.outcomes.items() if outcome.rate is None]
    has_thresholds = any(limit is not None for _, limit in sweep.thresholds)
    return [*_problems(steps), *(_unchecked(steps) if has_thresholds else ())]


def _problems(steps: list[StepEntry]) -> Iterator[str]:
    for step in steps:
        if reasons := [*step.verdict.reasons, *step.thresholds.reasons]:
            yield f"step {step.key}: {'; '.join(sentences(reasons))}"


def _unchecked(steps: list[StepEntry]) -> Iterator[str]:
    """Yield the points without any valid step, whose thresholds could not be checked."""
    valid = {(step.workload, step.label) for step in steps if step.validity.valid}
    for workload, label in dict.fromkeys((step.workload, step.label) for step in steps):
        if (workload, label) not in valid:
            yield f"{label}: has no valid step, so its thresholds could not be checked"
