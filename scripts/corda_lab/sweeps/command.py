"""``lab sweep``: begins a sweep, shows its plan, resumes or finishes an unfinished one; and ``--like``, which repeats.

``--like`` repeats a stored run or sweep to the letter, or says what has changed since.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from corda_lab.analysis import circumstances, detection
from corda_lab.analysis.comparison import parse_share
from corda_lab.analysis.metrics import METRICS
from corda_lab.errors import LabError
from corda_lab.knobs import labels
from corda_lab.lab import lifecycle, lock
from corda_lab.lab.compose import Compose
from corda_lab.lab.environment import read_environment
from corda_lab.lab.settings import Settings
from corda_lab.paths import CONFIGS, ROOT, WORKLOADS
from corda_lab.report import commands, facts
from corda_lab.results import folders, stored
from corda_lab.results.manifest import Environment, Rerun
from corda_lab.results.stored import StoredRun
from corda_lab.runs import conditioning
from corda_lab.runs import execute as runs_execute
from corda_lab.runs.running import deployed
from corda_lab.steps.entry import StepEntry
from corda_lab.sweeps import execute, plan, store
from corda_lab.sweeps.execute import SweepResult
from corda_lab.sweeps.file import SweepFile, quick, read_sweep, with_repeats
from corda_lab.sweeps.lab import Lab, Machine, Site, Swarm, admitting
from corda_lab.sweeps.plan import CheckedPlan
from corda_lab.sweeps.step import PlannedStep, at_rate
from corda_lab.text import tables, ui
from corda_lab.text.durations import format_duration
from corda_lab.text.words import plural
from lab_workload.names import did_you_mean

SWEEPS = CONFIGS / "sweeps"


@dataclass(frozen=True)
class SweepRequest:
    """The arguments of ``lab sweep``. ``file`` is a path, or the name of a file in configs/sweeps/.

    ``repeats`` and ``seed`` (of the first repeat) replace those of the file, if they are not None.
    """

    file: str | None
    images: lifecycle.ImageChoice | None = None
    replace: bool = False
    quick: bool = False
    repeats: int | None = None
    seed: int | None = None
    placement: str | None = None
    """What runs on which host; None for this machine."""

    @property
    def site(self) -> Site:
        """Where the labs of the sweep are started."""
        return Machine(self.images) if self.placement is None else Swarm(self.images, self.placement)


def find_file(text: str) -> Path:
    """Return the sweep file with this path, or with this name in configs/sweeps/. Raises LabError."""
    for path in (Path(text), SWEEPS / f"{text}.yaml"):
        if path.is_file():
            return path if path.is_absolute() or not path.resolve().is_relative_to(ROOT) else path.resolve()
    names = sorted(path.stem for path in SWEEPS.glob("*.yaml"))
    hint = did_you_mean(text, names) or f"; choose from {', '.join(names)}"
    raise LabError(f"FILE: there is no sweep {text!r}{hint}", "Sweeps are the files in configs/sweeps/.")


def read(wanted: SweepRequest) -> SweepFile:
    """Read the requested sweep, shortened if ``quick`` is set, with the requested repeats. Raises LabError."""
    if wanted.file is None:
        raise LabError("FILE: is missing", "For example: scripts/lab sweep smoke")
    return _in_form(read_sweep(find_file(wanted.file)), wanted)


def _in_form(sweep: SweepFile, wanted: SweepRequest | store.PlanFile) -> SweepFile:
    sweep = quick(sweep) if wanted.quick else sweep
    return sweep if wanted.repeats is None else with_repeats(sweep, wanted.repeats, wanted.seed)


def begin(
    wanted: SweepRequest,
    settings: Settings,
    rerun: Rerun | None = None,
    images: Mapping[str, str] = execute.NO_IMAGES,
) -> SweepResult:
    """Run a sweep from its first step. ``rerun`` and ``images`` are those of ``execute.begin``."""
    sweep = read(wanted)
    checked = plan.plan_sweep(sweep, settings, wanted.site.room)
    show_plan(sweep, checked, settings)
    with lock.held(settings.project):
        folders.require_writable()
        lab = _free_lab(sweep, wanted, settings)
        kept = execute.begin(sweep, checked, settings, rerun, images, placement=wanted.placement)
        with folders.in_progress(kept.folder):
            return _run(sweep, kept, settings, lab)


def resume(wanted: SweepRequest, settings: Settings) -> SweepResult:
    """Run the missing steps of an unfinished sweep, where it began."""
    kept = unfinished(wanted.file)
    with lock.held(settings.project), folders.in_progress(kept.folder):
        folders.require_writable()
        sweep = stored_sweep(kept)
        execute.require_unchanged(kept, sweep, settings)
        ui.note(f"{kept.identity}: {len(kept.done)} steps are complete")
        lab = _free_lab(sweep, replace(wanted, placement=kept.plan.placement), settings)
        return _run(sweep, kept, settings, lab)


def finish(wanted: SweepRequest) -> SweepResult:
    """Store the complete steps of an unfinished sweep as a run."""
    kept = unfinished(wanted.file)
    with folders.in_progress(kept.folder):
        folders.require_writable()
        kept.tidy()
        folder = execute.finish(stored_sweep(kept), kept)
    return SweepResult(folder, execute.problems_of(stored.read(folder)))


def _free_lab(sweep: SweepFile, wanted: SweepRequest, settings: Settings) -> Lab:
    """Return the lab on which the steps of a sweep run. Raises LabError if another one must not be replaced."""
    site = wanted.site
    settings = admitting(sweep, settings, cores=site.bridge_cores)
    site.require_alone(settings)
    if not wanted.replace:
        site.require_replaceable(settings)
    return Lab(settings, site, fresh=sweep.fields.fresh)


def _run(sweep: SweepFile, kept: store.Unfinished, settings: Settings, lab: Lab) -> SweepResult:
    """Run the missing steps. If that ends early, say how to continue."""
    try:
        outcome = execute.execute(sweep, kept, settings, lab)
    except KeyboardInterrupt:
        _say_how_to_go_on(kept)
        raise
    except LabError as error:
        remedy = f"{error.remedy}\n{len(kept.done)} steps are stored. Continue: `scripts/lab sweep resume`."
        raise LabError(error.message, remedy.lstrip(), exit_code=error.exit_code) from None
    if outcome.folder is None:
        _say_how_to_go_on(kept)
    return outcome


def _say_how_to_go_on(kept: store.Unfinished) -> None:
    ui.console.print()
    ui.console.print(
        f"{len(kept.done)} complete steps are stored in {kept.folder}.\n"
        f"Continue with `scripts/lab sweep resume`, or report only these steps with `scripts/lab sweep finish`.",
        style="yellow",
        markup=False,
    )


def unfinished(file: str | None) -> store.Unfinished:
    """Return the latest unfinished sweep, or the latest one of a file, name or id. Raises LabError."""
    return store.find(None if file is None else Path(file).stem)


def stored_sweep(kept: store.Unfinished) -> SweepFile:
    """Read the sweep file as stored when the sweep began, with its original name."""
    sweep, file = read_sweep(kept.folder / store.SWEEP_FILE), kept.plan.file
    return _in_form(replace(sweep, name=file.stem, source=replace(sweep.source, path=file)), kept.plan)


def dry_run(wanted: SweepRequest, settings: Settings) -> None:
    """Print the plan of a sweep and its duration."""
    sweep = read(wanted)
    show_plan(sweep, plan.plan_sweep(sweep, settings, wanted.site.room), settings)


def show_plan(sweep: SweepFile, checked: CheckedPlan, settings: Settings) -> None:
    """Print the steps in order, the shape at every start of the lab, and the duration of the sweep."""
    fields, steps = sweep.fields, checked.steps
    ui.console.print(f"[bold]{sweep.run_name}[/bold] ", end="")
    ui.console.print(fields.description, markup=False)
    if search := fields.find_max:
        steps = [at_rate(sweep, point, search.rate_min) for point in checked.points]
        probe_seconds = max(plan.step_seconds(step)[1] for step in steps) + plan.STEP_OVERHEAD_SECONDS
        words = (
            f"{len(steps)} search{'' if len(steps) == 1 else 'es'} from {search.rate_min:g}/s to "
            f"{search.rate_max:g}/s: {', '.join(step.label for step in steps)}. At most {search.steps_max} steps each, "
            f"at most {_minutes(probe_seconds)} per probe."
        )
    else:
        _show_steps(sweep, steps, settings)
        words = _time_words(sweep, steps, settings)
    for one in checked.left_out:
        ui.console.print(f"Left out: {one.label}: {one.reason}", style="yellow", markup=False)
    ui.console.print(words, markup=False)
    arrivals = [str(step.load.get("arrivals", "closed")) for step in steps]
    ui.console.print(f"Conditioning: {facts.conditioning_plan(fields.condition, arrivals)}", markup=False)


def _show_steps(sweep: SweepFile, steps: Sequence[PlannedStep], settings: Settings) -> None:
    table = tables.table("", "step", "repeat", "workload", "measured", "lab")
    last: object = None
    for step in steps:
        key = step.lab_key(sweep.fields.fresh)
        is_new, last = key != last, key
        wanted = plan.settings_of(step.variables, settings)
        described = labels.describe({**wanted.values, "CORDA_IMAGE": wanted.recorded_image}) if is_new else ""
        measured = facts.until(step.measure) + (", may break" if step.may_break else "")
        table.add_row(str(step.index), step.label, str(step.repeat), step.workload, measured, described)
    tables.show(table)


def _time_words(sweep: SweepFile, steps: Sequence[PlannedStep], settings: Settings) -> str:
    left = plan.run_time(steps, settings, fresh=sweep.fields.fresh)
    least, most = _minutes(left.seconds_min), _minutes(left.seconds_max)
    until = datetime.now().astimezone() + timedelta(seconds=left.seconds_max)
    unknown = sum(step.is_counted and step.beside_seconds is None for step in steps)
    return (
        f"{plural(len(steps), 'step')}, {plural(left.starts, 'start')} of the lab: "
        f"{most if least == most else f'{least} to {most}'} (until {until:%H:%M} at the latest), without image builds"
        + (f", and without the loads of {plural(unknown, 'step')} that end by count" if unknown else "")
    )


def _minutes(seconds: float) -> str:
    """Format a duration, rounded to minutes if it is longer than three minutes."""
    return format_duration(round(seconds / 60) * 60 if seconds > 180 else round(seconds))


def show_detection(wanted: SweepRequest, change: str) -> None:
    """Print how many repeats of a sweep show a change (a percentage), from its latest finished run. Raises LabError."""
    share = parse_share(change, option="--detect")
    run = detection.latest_run_of(read(wanted).name)
    found = detection.detections(run, share)
    table = tables.table("value", "scatter", "repeats", numbers=["scatter", "repeats"])
    for one in found:
        count = f"over {detection.REPEATS_MAX}" if one.repeats is None else str(one.repeats)
        table.add_row(METRICS[one.metric].title, f"{100 * one.scatter:.1f} %", count)
    ui.console.print(
        f"Repeats of each point that show a difference of {100 * share:g} % between any two with a probability of "
        f"{100 * detection.POWER:.0f} %, by the scatter of {run.identity} with {plural(run.sweep.repeats, 'repeat')}.",
        markup=False,
    )
    tables.show(table)
    if min(one.freedom for one in found) < detection.FREEDOM_MIN:
        ui.warn("so few repeats hardly show the scatter: these numbers may be wrong by a factor of several")


MEASURED = ("links", "speed")
"""Kinds of differences that are measured: they may differ between two repeats of the same thing."""
KNOWN_BEFORE_START = ("host", "commit", "stand-ins", "settings")
"""Kinds that are known without a running lab. A sweep starts its own, whose images it compares then."""


def run_like(run: StoredRun, settings: Settings, *, anyway: bool = False) -> tuple[Path, StepEntry]:
    """Repeat a run of one step on the running lab.

    Raises LabError if the lab has another shape, or if anything has changed and ``anyway`` is not set.
    """
    options = run.manifest.load
    if options is None:
        raise LabError(f"{run.folder}: its run.json has no load", folders.DAMAGED)
    lifecycle.require_engine()
    with lock.held(settings.project):
        before, now = run.environment(run.steps[0]), read_environment(deployed(settings))
        if not now.images:
            raise LabError("The lab is not up", f"Start it in the shape of the run: {commands.up(before)}")
        changes = [*_workload_changes(run), *environment_changes(before, now)]
        if any(change.startswith("shape, ") for change in changes):
            ui.note(f"the lab of the run was started with: {commands.up(before)}")
        rerun = _require_same(run, changes, anyway=anyway)
        options = options.updated(name=run.manifest.name)
        first = conditioning.again(options, run.steps[0].conditioning)
        return runs_execute.execute(options, settings, rerun, first)


def sweep_like(run: StoredRun, request: SweepRequest, settings: Settings, *, anyway: bool = False) -> SweepResult:
    """Repeat a sweep from its first step, on new labs.

    ``request`` has the images, and whether the existing lab is replaced. Raises LabError as ``run_like`` does.
    """
    file, environments = ROOT / run.sweep.file, run.manifest.environments
    if not file.is_file():
        raise LabError(
            f"The file of the sweep no longer exists: {run.sweep.file}",
            f"Put it back: cp {run.folder / store.SWEEP_FILE} {run.sweep.file}",
        )
    before, now = (
        hashlib.sha256(text.encode()).hexdigest()[:12] for text in (run.sweep.text, file.read_text(encoding="utf-8"))
    )
    changes = [] if before == now else [f"sweep file, {run.sweep.file}: {before} → {now}"]
    changes += _workload_changes(run)
    changes += environment_changes(environments[0], read_environment(Compose(settings)), KNOWN_BEFORE_START)
    rerun = _require_same(run, changes, anyway=anyway)
    placed = environments[0].placement
    request = replace(
        request,
        file=str(file),
        quick=run.sweep.is_quick,
        repeats=None if anyway else run.sweep.repeats,
        seed=None if anyway else run.sweep.seed,
        placement=placed.name if placed else None,
    )
    images = {image.name: image.id for one in environments for image in one.images.values()}
    return begin(request, settings, rerun, execute.NO_IMAGES if anyway else images)


def environment_changes(before: Environment, now: Environment, kinds: tuple[str, ...] | None = None) -> list[str]:
    """Return what differs between the environment of a run and that of today, one sentence each."""
    differences = circumstances.differences(circumstances.surroundings(before), circumstances.surroundings(now))
    return [
        f"{one.name if one.name == one.kind else f'{one.kind}, {one.name}'}: "
        f"{one.first or 'empty'} → {one.second or 'empty'}"
        for one in differences
        if one.kind not in MEASURED and (kinds is None or one.kind in kinds)
    ]


def _workload_changes(run: StoredRun) -> list[str]:
    """Return the workload files that are not those of the run any more, one sentence each."""
    found = []
    for name, text in run.manifest.workload_files.items():
        path = WORKLOADS / f"{name}.yaml"
        if not path.is_file():
            found.append(f"workload {name}: {path.relative_to(ROOT)} no longer exists")
        elif path.read_text(encoding="utf-8") != text:
            found.append(f"workload {name}: {path.relative_to(ROOT)} has other contents")
    return found


def _require_same(run: StoredRun, changes: list[str], *, anyway: bool) -> Rerun:
    """Return the entry ``rerun`` of the new manifest. Raises LabError for changes, unless ``anyway`` is set."""
    if changes and not anyway:
        raise LabError(
            f"{run.identity} cannot be repeated to the letter, because {plural(len(changes), 'thing')} changed since:\n"
            + "\n".join(f"- {change}" for change in changes),
            "Undo the changes, or repeat it as things are now, and record them, with --anyway.",
        )
    for change in changes:
        ui.warn(f"changed since: {change}")
    return Rerun(run=run.identity, changes=changes)
