"""``lab sweep``: begins a sweep, shows its plan, resumes or finishes an unfinished one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from corda_lab.analysis import detection
from corda_lab.analysis.comparison import parse_share
from corda_lab.analysis.metrics import METRICS
from corda_lab.errors import LabError
from corda_lab.knobs import shape as knobs
from corda_lab.lab import lifecycle, lock
from corda_lab.lab.settings import Settings
from corda_lab.paths import CONFIGS
from corda_lab.report import facts
from corda_lab.results import folders
from corda_lab.results import store as results_store
from corda_lab.results.manifest import Rerun
from corda_lab.results.sweep import Fresh
from corda_lab.steps.load import flows_words
from corda_lab.sweeps import run, store
from corda_lab.sweeps.check import checked
from corda_lab.sweeps.file import SweepFile, quick, read_sweep, with_repeats
from corda_lab.sweeps.lab import Lab, Machine, Site, Swarm, admitting
from corda_lab.sweeps.plan import STEP_OVERHEAD_SECONDS, PlannedStep, points_of, run_time, step_seconds, steps_of
from corda_lab.text import tables, ui
from corda_lab.text.durations import format_duration
from corda_lab.text.words import plural
from lab_workload.load import Load
from lab_workload.names import did_you_mean

SWEEPS = CONFIGS / "sweeps"


@dataclass(frozen=True)
class SweepRequest:
    """The arguments of ``lab sweep``. ``file`` is a path, or the name of a file in configs/sweeps/.

    ``repeats`` and ``seed`` (of the first repeat) replace those of the file. ``placement`` says what runs on which
    host; None is this machine.
    """

    file: str | None
    images: lifecycle.ImageChoice | None = None
    replace: bool = False
    quick: bool = False
    repeats: int | None = None
    seed: int | None = None
    placement: str | None = None

    @property
    def site(self) -> Site:
        return Machine(self.images) if self.placement is None else Swarm(self.images, self.placement)


def find_file(text: str) -> Path:
    """Return the sweep file with this path, or with this name in configs/sweeps/. Raises LabError."""
    for path in (Path(text), SWEEPS / f"{text}.yaml"):
        if path.is_file():
            return path.resolve()
    names = sorted(path.stem for path in SWEEPS.glob("*.yaml"))
    hint = did_you_mean(text, names) or f"; choose from {', '.join(names)}"
    raise LabError(f"FILE: there is no sweep {text!r}{hint}", "Sweeps are the files in configs/sweeps/.")


def read(request: SweepRequest) -> SweepFile:
    """Read the requested sweep, shortened if ``quick`` is set, with the requested repeats. Raises LabError."""
    if request.file is None:
        raise LabError("FILE: is missing", "For example: scripts/lab sweep smoke")
    sweep = read_sweep(find_file(request.file))
    return with_repeats(quick(sweep) if request.quick else sweep, request.repeats, request.seed)


def begin(
    request: SweepRequest,
    settings: Settings,
    rerun: Rerun | None = None,
    images: Mapping[str, str] | None = None,
) -> Path:
    """Run a sweep from its first step, and return the folder of its run. Raises LabError if a step has failed.

    ``rerun`` and ``images`` are those of ``store.begin``.
    """
    sweep = checked(read(request), settings, request.site)
    show_plan(sweep, settings)
    with lock.held(settings.project):
        folders.require_writable()
        lab = _free_lab(sweep, request, settings)
        kept = store.begin(sweep, settings, rerun=rerun, images=images, placement=request.placement)
        with folders.in_progress(kept.folder):
            return _run(kept, lab)


def resume(request: SweepRequest, settings: Settings) -> Path:
    """Run the missing steps of an unfinished sweep, where it began. Returns and raises as ``begin``."""
    kept = store.find(request.file)
    with lock.held(settings.project), folders.in_progress(kept.folder):
        folders.require_writable()
        sweep = kept.sweep
        kept.require_unchanged(sweep, settings)
        ui.note(f"{kept.identity}: {len(kept.done)} steps are complete")
        lab = _free_lab(sweep, replace(request, placement=kept.plan.placement), settings)
        return _run(kept, lab)


def finish(request: SweepRequest) -> Path:
    """Store the complete steps of an unfinished sweep as a run, and return its folder. Raises LabError."""
    kept = store.find(request.file)
    with folders.in_progress(kept.folder):
        folders.require_writable()
        results_store.tidy(kept.folder)
        return run.finish(kept)


def _free_lab(sweep: SweepFile, request: SweepRequest, settings: Settings) -> Lab:
    """Return the lab on which the steps of a sweep run. Raises LabError if another one must not be replaced."""
    site = request.site
    settings = admitting(sweep, settings, cores=site.bridge_cores)
    site.require_alone(settings)
    if not request.replace:
        site.require_replaceable(settings)
    return Lab(settings, site, fresh=sweep.fields.fresh)


def _run(kept: store.Unfinished, lab: Lab) -> Path:
    """Run the missing steps. If that ends early, say how to continue."""
    try:
        return run.run(kept, lab)
    except KeyboardInterrupt:
        ui.console.print()
        ui.console.print(f"{_stored_words(kept)} They are in {kept.folder}.", style="yellow", markup=False)
        raise
    except LabError as error:
        remedy = f"{error.remedy}\n{_stored_words(kept)}".lstrip()
        raise LabError(error.message, remedy, exit_code=error.exit_code) from None


def _stored_words(kept: store.Unfinished) -> str:
    return (
        f"{plural(len(kept.done), 'complete step')} stored. Continue with `scripts/lab sweep resume`, or report only "
        "these steps with `scripts/lab sweep finish`."
    )


def dry_run(request: SweepRequest, settings: Settings) -> None:
    """Print the plan of a sweep and its duration."""
    show_plan(checked(read(request), settings, request.site), settings)


def show_plan(sweep: SweepFile, settings: Settings) -> None:
    """Print the steps in order, the shape at every start of the lab, and the duration of the sweep."""
    fields, steps = sweep.fields, steps_of(sweep)
    ui.console.print(f"[bold]{sweep.run_name}[/bold] ", end="")
    ui.console.print(fields.description, markup=False)
    if search := fields.find_max:
        steps = [point.at_rate(search.rate_min) for point in points_of(sweep)]
        probe_seconds = max(step_seconds(step)[1] for step in steps) + STEP_OVERHEAD_SECONDS
        words = (
            f"{len(steps)} search{'' if len(steps) == 1 else 'es'} from {search.rate_min:g}/s to "
            f"{search.rate_max:g}/s: {', '.join(step.label for step in steps)}. At most {search.steps_max} steps each, "
            f"at most {_minutes(probe_seconds)} per probe."
        )
    else:
        _show_steps(steps, fields.fresh, settings)
        words = _time_words(steps, fields.fresh, settings)
    for point in sweep.left_out:
        ui.console.print(f"Left out: {point.label}: {point.reason}", style="yellow", markup=False)
    ui.console.print(words, markup=False)
    arrivals = [step.load.arrivals for step in steps]
    ui.console.print(f"Conditioning: {facts.conditioning_plan(fields.condition, arrivals)}", markup=False)


def _show_steps(steps: Sequence[PlannedStep], fresh: Fresh, settings: Settings) -> None:
    table = tables.table("", "step", "repeat", "workload", "measured", "lab")
    last: object = None
    for step in steps:
        is_new, last = step.lab_key(fresh) != last, step.lab_key(fresh)
        lab = step.settings(settings)
        described = knobs.describe({**lab.values, "CORDA_IMAGE": lab.recorded_image}) if is_new else ""
        measured = _ending_words(step.load) + (", may break" if step.may_break else "")
        table.add_row(str(step.index), step.label, str(step.repeat), step.workload, measured, described)
    tables.show(table)


def _ending_words(load: Load) -> str:
    if load.is_burst:
        return plural(load.bursts, "burst")
    return flows_words(load) if load.is_counted else format_duration(load.duration_seconds)


def _time_words(steps: Sequence[PlannedStep], fresh: Fresh, settings: Settings) -> str:
    time = run_time(steps, settings, fresh=fresh)
    least, most = _minutes(time.seconds_min), _minutes(time.seconds_max)
    until = datetime.now().astimezone() + timedelta(seconds=time.seconds_max)
    unknown = sum(step.load.is_counted and step.beside_seconds is None for step in steps)
    return (
        f"{plural(len(steps), 'step')}, {plural(time.starts, 'start')} of the lab: "
        f"{most if least == most else f'{least} to {most}'} (until {until:%H:%M} at the latest), without image builds"
        + (f", and without the loads of {plural(unknown, 'step')} that end by count" if unknown else "")
    )


def _minutes(seconds: float) -> str:
    """Format a duration, rounded to minutes if it is longer than three minutes."""
    return format_duration(round(seconds / 60) * 60 if seconds > 180 else round(seconds))


def show_detection(request: SweepRequest, change: str) -> None:
    """Print how many repeats of a sweep show a change (a percentage), from its latest finished run. Raises LabError."""
    share = parse_share(change, option="--detect")
    run = detection.latest_run_of(read(request).name)
    detections = detection.detections(run, share)
    table = tables.table("value", "scatter", "repeats", numbers=["scatter", "repeats"])
    for value in detections:
        count = f"over {detection.REPEATS_MAX}" if value.repeats is None else str(value.repeats)
        table.add_row(METRICS[value.metric].title, f"{100 * value.scatter:.1f} %", count)
    ui.console.print(
        f"Repeats of each point that show a difference of {100 * share:g} % between any two with a probability of "
        f"{100 * detection.POWER:.0f} %, by the scatter of {run.identity} with {plural(run.sweep.repeats, 'repeat')}.",
        markup=False,
    )
    tables.show(table)
    if min(value.freedom for value in detections) < detection.FREEDOM_MIN:
        ui.warn("so few repeats hardly show the scatter: these numbers may be wrong by a factor of several")
