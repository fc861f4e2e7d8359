"""Runs the steps of a sweep on a lab of the shape that each needs, and stores every step as soon as it ends."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corda_lab.errors import LabError
from corda_lab.lab import lifecycle
from corda_lab.lab.settings import Settings
from corda_lab.paths import ROOT
from corda_lab.results import files, folders, stored
from corda_lab.results.manifest import (
    ConditionPlan,
    LeftOut,
    OwnSpans,
    Rerun,
    SearchOutcome,
    SearchPlan,
    Span,
    SweepPlan,
)
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.parameters import AT
from corda_lab.steps.reasons import sentences
from corda_lab.sweeps import plan, store
from corda_lab.sweeps.estimate import estimate
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.lab import Lab
from corda_lab.sweeps.plan import CheckedPlan
from corda_lab.sweeps.planned import PlanFile, PlannedStep
from corda_lab.sweeps.points import at_rate, points_of
from corda_lab.sweeps.runner import Runner, StepFailedError, SweepProgress, is_sustained
from corda_lab.sweeps.schema import StepFields, SweepFields
from corda_lab.sweeps.search import Search
from corda_lab.text import ui

NO_IMAGES: Mapping[str, str] = {}


@dataclass(frozen=True)
class SweepResult:
    """The result of a sweep: its run's folder (None if steps are missing), and why it failed, one sentence each."""

    folder: Path | None
    problems: list[str]


def sweep_manifest(
    sweep: SweepFile,
    search: dict[str, SearchOutcome] | None,
    left_out: Sequence[LeftOut] = (),
) -> SweepPlan:
    """Return the entry ``sweep`` of ``run.json``. ``left_out`` are the points that the machine could not have."""
    fields = sweep.fields
    stored_fields = fields.model_dump(mode="json", exclude_none=True)
    x = fields.x or next((key for key, values in fields.vary.items() if _is_numeric(values)), None)
    if x is None and fields.steps and all(step.at is not None for step in fields.steps):
        x = AT
    vary = dict(fields.vary) | ({"step": [step.name for step in fields.steps]} if fields.steps else {})
    return SweepPlan(
        file=_shown(sweep.source.path),
        text=sweep.text,
        name=sweep.name,
        quick=sweep.is_quick,
        description=fields.description,
        x=x,
        vary=vary,
        repeats=fields.repeats,
        seed=fields.seed,
        fresh=fields.fresh,
        condition=_conditioning(fields),
        warm_up=_warm_up(fields),
        measure=fields.measure,
        own_spans={
            step.name: OwnSpans(warm_up=_warm_up(step), measure=step.measure)
            for step in fields.steps or ()
            if step.warm_up or step.measure
        },
        left_out=list(left_out),
        thresholds=stored_fields["thresholds"],
        find_max=None if fields.find_max is None else SearchPlan(**stored_fields["find_max"], outcomes=search or {}),
    )


def _conditioning(fields: SweepFields) -> ConditionPlan | None:
    """Return what the sweep sets of the load that conditions the nodes; None if nothing conditions them."""
    wanted = fields.condition
    if wanted == "none":
        return None
    load = wanted.load.model_dump(mode="json", exclude_none=True)
    limits = wanted.duration
    return ConditionPlan(
        workload=wanted.workload,
        load=load,
        set=dict(wanted.set),
        seconds_min=limits.min,
        seconds_max=limits.max,
    )


def _warm_up(fields: SweepFields | StepFields) -> Span | None:
    """Return the warm-up of a sweep, or that of a named step if it has its own."""
    span = fields.warm_up
    return Span(seconds_min=span.min, seconds_max=span.max) if span else None


def _is_numeric(values: list[Any]) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def _shown(path: Path) -> str:
    """Return a path relative to the checkout; only the file name if the file is outside."""
    resolved = path.resolve()
    return str(resolved.relative_to(ROOT)) if resolved.is_relative_to(ROOT) else path.name


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
        PlanFile(
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


def workloads_of(sweep: SweepFile, points: Iterable[PlannedStep]) -> list[str]:
    """Return the workloads of points, and the one that conditions the nodes if the sweep names one."""
    wanted = sweep.fields.condition
    first = [] if wanted == "none" or wanted.workload is None else [wanted.workload]
    return [*(point.workload for point in points), *first]


def _text_today(sweep: SweepFile) -> str:
    """Return the current text of the sweep's file, or the stored text if the file no longer exists."""
    path = sweep.source.path
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else sweep.text


def require_unchanged(kept: store.Unfinished, sweep: SweepFile, settings: Settings) -> None:
    """Raise LabError if anything that the steps depend on has changed since the sweep began."""
    workloads = workloads_of(sweep, plan.without(points_of(sweep), kept.plan.left_out))
    changes = kept.changes(store.fingerprint(_text_today(sweep), workloads, settings))
    if changes:
        raise LabError(
            f"{kept.identity} cannot be resumed, because these have changed since it began: {', '.join(changes)}",
            "Undo the changes, store the complete steps with `scripts/lab sweep finish`, or start a new sweep.",
        )


def execute(sweep: SweepFile, kept: store.Unfinished, settings: Settings, lab: Lab) -> SweepResult:
    """Run the missing steps. When all steps are complete, store them as a run."""
    kept.tidy()
    runner = Runner(sweep, kept, lab)
    started_at = time.time()
    search: dict[str, SearchOutcome] | None = None
    if sweep.fields.find_max is None:
        _run_steps(runner, kept, settings, sweep)
        is_whole = all(kept.has(step) for step in kept.steps)
    else:
        search = _search_all(runner, sweep, kept)
        is_whole = search is not None
    if not is_whole:
        return SweepResult(None, [f"step {key}: {message}" for key, message in runner.failed.items()])
    # Prometheus has data of the last lab only: that of earlier labs was deleted with them.
    link = lifecycle.dashboard_link(settings, max(started_at, lab.started_at), time.time())
    folder = finish(sweep, kept, search, link)
    if link:
        ui.note(f"Grafana, since the last start of the lab: {link}")
    return SweepResult(folder, problems_of(stored.read(folder)))


def _run_steps(runner: Runner, kept: store.Unfinished, settings: Settings, sweep: SweepFile) -> None:
    steps = kept.steps
    missing = [step for step in steps if not kept.has(step)]
    if len(missing) < len(steps):
        ui.note(f"{len(steps) - len(missing)} of {len(steps)} steps are already complete")
    began = time.monotonic()
    whole = estimate(missing, settings, fresh=sweep.fields.fresh).seconds_max
    for number, step in enumerate(missing):
        before = missing[number - 1] if number else None
        left = estimate(missing[number:], settings, fresh=sweep.fields.fresh, before=before).seconds_max
        # The steps so far show by how much the estimate is wrong on this machine, with these flows.
        pace = (time.monotonic() - began) / (whole - left) if whole > left else 1.0
        progress = SweepProgress(len(steps), len(steps) - len(missing) + number, left * pace)
        try:
            runner.step(step, progress.heading(step))
        except StepFailedError:
            ui.warn(f"step {step.key} is skipped for now; `scripts/lab sweep resume` tries it again")


def _search_all(runner: Runner, sweep: SweepFile, kept: store.Unfinished) -> dict[str, SearchOutcome] | None:
    """Search every point. Returns the outcomes by label; None if a search could not continue."""
    found = {}
    for number, point in enumerate(plan.without(points_of(sweep), kept.plan.left_out)):
        try:
            found[point.label] = find_max(sweep, point, number, runner.answer)
        except StepFailedError:
            return None
        ui.note(f"{point.label}: {found[point.label].reason}")
    return found


def finish(
    sweep: SweepFile, kept: store.Unfinished, search: dict[str, SearchOutcome] | None, link: str | None = None
) -> Path:
    """Store the complete steps as a run with a report, and return its folder."""
    with ui.phase("Storing the run and its report"):
        return kept.finish(
            sweep_manifest(sweep, search, kept.plan.left_out),
            dict(ui.phase_seconds),
            grafana=link,
        )


def problems_of(run: StoredRun) -> list[str]:
    """Return why a finished sweep failed: one sentence for each failed step, or for each search without a result."""
    steps, sweep = run.steps, run.sweep
    if sweep.find_max:
        # The steps of a search are expected to overload the system, so only its outcome counts.
        outcomes = sweep.find_max.outcomes.items()
        return [f"{label}: {outcome.reason}" for label, outcome in outcomes if outcome.rate is None]
    return [*_problems(steps), *(_unchecked(steps) if any(sweep.thresholds.values()) else ())]


def _problems(steps: list[StepEntry]) -> Iterator[str]:
    for step in steps:
        reasons = [*step.verdict.reasons, *step.thresholds.reasons]
        if reasons:
            yield f"step {step.key}: {'; '.join(sentences(reasons))}"


def _unchecked(steps: list[StepEntry]) -> Iterator[str]:
    """Yield the points without any valid step, whose thresholds could not be checked."""
    is_valid: dict[tuple[str, str], bool] = {}
    for step in steps:
        point = (step.workload, step.label)
        is_valid[point] = is_valid.get(point, False) or step.validity.valid
    for (_, label), found in is_valid.items():
        if not found:
            yield f"{label}: has no valid step, so its thresholds could not be checked"


Answer = Callable[[PlannedStep, str], bool | None]
"""Takes a step and its heading, and returns whether its rate is sustained; None stops the search."""


def searched_so_far(sweep: SweepFile, kept: store.Unfinished) -> dict[str, SearchOutcome] | None:
    """Return the outcome so far of every search that has begun, by the point's label; None if there is no search."""
    if sweep.fields.find_max is None:
        return None

    def answer(step: PlannedStep, heading: str) -> bool | None:
        return kept_answer(kept, step)

    points = plan.without(points_of(sweep), kept.plan.left_out)
    found = {point.label: find_max(sweep, point, number, answer) for number, point in enumerate(points)}
    return {label: outcome for label, outcome in found.items() if outcome.answers}


def kept_answer(kept: store.Unfinished, step: PlannedStep) -> bool | None:
    """Return whether a stored step sustained its rate; None if it has not run. One that was given up did not."""
    if kept.has(step):
        return is_sustained(kept.read(step))
    return False if kept.is_given_up(step) else None


def find_max(sweep: SweepFile, point: PlannedStep, number: int, answer: Answer) -> SearchOutcome:
    """Search for the highest rate that a point sustains, as far as ``answer`` has answers."""
    asked = sweep.fields.find_max
    assert asked is not None
    search = Search(asked.rate_min, asked.rate_max, asked.precision, asked.steps_max)
    count = 0
    while (rate := search.next()) is not None:
        count += 1
        phase = search.phase or "probe"
        changes = {
            "index": number * 100 + count,
            "key": f"{point.key}_{count:02d}-{phase}",
            "phase": phase,
            # If a rate is offered again, its arrivals must differ.
            "seed": sweep.fields.seed + count - 1,
        } | ({"measure": asked.confirm} if phase == "confirm" else {})
        step = at_rate(sweep, point, rate).model_copy(update=changes)
        heading = f"{point.label}: step {count} of at most {asked.steps_max}, {phase} {rate:g}/s"
        found = answer(step, heading)
        if found is None:
            break
        search.tell(rate, found)
    return search.so_far
