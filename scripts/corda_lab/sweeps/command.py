"""``lab sweep``: begins a sweep, shows its plan, resumes an unfinished sweep, or stores one as it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from corda_lab.analysis import detection
from corda_lab.analysis.comparison import parse_share
from corda_lab.analysis.metrics import METRICS
from corda_lab.errors import LabError
from corda_lab.knobs import labels
from corda_lab.lab import lifecycle, lock
from corda_lab.lab.settings import Settings
from corda_lab.paths import CONFIGS, ROOT
from corda_lab.report import facts
from corda_lab.results import folders, stored
from corda_lab.results.manifest import Rerun
from corda_lab.sweeps import estimate, execute, plan, store
from corda_lab.sweeps.execute import SweepResult
from corda_lab.sweeps.file import SweepFile, quick, read_sweep, with_repeats
from corda_lab.sweeps.lab import Lab, admitting
from corda_lab.sweeps.plan import CheckedPlan
from corda_lab.sweeps.planned import PlannedStep
from corda_lab.sweeps.points import at_rate
from corda_lab.sweeps.site import Machine, Site, Swarm
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


def dry_run(wanted: SweepRequest, settings: Settings) -> None:
    """Print the plan of a sweep and its duration."""
    sweep = read(wanted)
    show_plan(sweep, plan.plan_sweep(sweep, settings, wanted.site.room), settings)


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


def read(wanted: SweepRequest) -> SweepFile:
    """Read the requested sweep, shortened if ``quick`` is set, with the requested repeats. Raises LabError."""
    sweep = read_sweep(find_file(required(wanted.file)))
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
        lab = lab_of(sweep, settings, wanted.site)
        lab.require_alone()
        if not wanted.replace:
            lab.require_replaceable()
        kept = execute.begin(sweep, checked, settings, rerun, images, placement=wanted.placement)
        with folders.in_progress(kept.folder):
            return run(sweep, kept, settings, lab)


def resume(wanted: SweepRequest, settings: Settings) -> SweepResult:
    """Run the missing steps of an unfinished sweep."""
    kept = unfinished(wanted.file)
    with lock.held(settings.project), folders.in_progress(kept.folder):
        folders.require_writable()
        sweep = stored_sweep(kept)
        execute.require_unchanged(kept, sweep, settings)
        ui.note(f"{kept.identity}: {len(kept.done)} steps are complete")
        lab = lab_of(sweep, settings, resumed_site(wanted, kept))
        lab.require_alone()
        if not wanted.replace:
            lab.require_replaceable()
        return run(sweep, kept, settings, lab)


def lab_of(sweep: SweepFile, settings: Settings, site: Site) -> Lab:
    """Return the lab on which the steps of a sweep run."""
    return Lab(admitting(sweep, settings, cores=site.bridge_cores), site, fresh=sweep.fields.fresh)


def resumed_site(wanted: SweepRequest, kept: store.Unfinished) -> Site:
    """Return where an unfinished sweep goes on: where it began."""
    return replace(wanted, placement=kept.plan.placement).site


def finish(wanted: SweepRequest) -> SweepResult:
    """Store the complete steps of an unfinished sweep as a run."""
    kept = unfinished(wanted.file)
    with folders.in_progress(kept.folder):
        folders.require_writable()
        kept.tidy()
        sweep = stored_sweep(kept)
        folder = execute.finish(sweep, kept, execute.searched_so_far(sweep, kept))
    return SweepResult(folder, execute.problems_of(stored.read(folder)))


def run(sweep: SweepFile, kept: store.Unfinished, settings: Settings, lab: Lab) -> SweepResult:
    """Run the missing steps. If that ends early, say how to continue."""
    try:
        outcome = execute.execute(sweep, kept, settings, lab)
    except KeyboardInterrupt:
        say_how_to_go_on(kept)
        raise
    except LabError as error:
        kept_count = len(kept.done)
        raise LabError(
            error.message,
            f"{error.remedy}\n{kept_count} steps are stored. Continue: `scripts/lab sweep resume`.".lstrip(),
            exit_code=error.exit_code,
        ) from None
    if outcome.folder is None:
        say_how_to_go_on(kept)
    return outcome


def say_how_to_go_on(kept: store.Unfinished) -> None:
    """Print where the complete steps are stored, and how to continue."""
    ui.console.print()
    ui.console.print(
        f"{len(kept.done)} complete steps are stored in {kept.folder}.\n"
        f"Continue with `scripts/lab sweep resume`, or report only these steps with `scripts/lab sweep finish`.",
        style="yellow",
        markup=False,
    )


def required(file: str | None) -> str:
    """Return the file argument. Raises LabError if it is missing."""
    if file is None:
        raise LabError("FILE: is missing", "For example: scripts/lab sweep smoke")
    return file


def unfinished(file: str | None) -> store.Unfinished:
    """Return the latest unfinished sweep, or the latest one of a file, name or id. Raises LabError."""
    return store.find(None if file is None else Path(file).stem)


def stored_sweep(kept: store.Unfinished) -> SweepFile:
    """Read the sweep file as stored when the sweep began, with its original name."""
    sweep = read_sweep(kept.folder / "sweep.yaml")
    file = kept.plan.file
    sweep = replace(sweep, name=file.stem, source=replace(sweep.source, path=file))
    sweep = quick(sweep) if kept.plan.quick else sweep
    return sweep if kept.plan.repeats is None else with_repeats(sweep, kept.plan.repeats, kept.plan.seed)


def show_plan(sweep: SweepFile, checked: CheckedPlan, settings: Settings) -> None:
    """Print the steps in order, the shape at every start of the lab, and the duration of the sweep."""
    fields = sweep.fields
    ui.console.print(f"[bold]{sweep.run_name}[/bold] ", end="")
    ui.console.print(fields.description, markup=False)
    if fields.find_max is not None:
        show_search(sweep, checked.points)
        show_left_out(checked)
        return
    steps = checked.steps
    table = tables.table("", "step", "repeat", "workload", "measured", "lab")
    last: object = None
    for step in steps:
        key = step.lab_key(fields.fresh)
        is_new, last = key != last, key
        wanted = plan.settings_of(step.variables, settings)
        described = labels.describe({**wanted.values, "CORDA_IMAGE": wanted.recorded_image}) if is_new else ""
        table.add_row(str(step.index), step.label, str(step.repeat), step.workload, ending_words(step), described)
    tables.show(table)
    show_left_out(checked)
    left = estimate.estimate(steps, settings, fresh=fields.fresh)
    least, most = minutes(left.seconds_min), minutes(left.seconds_max)
    between = most if least == most else f"{least} to {most}"
    until = datetime.now().astimezone() + timedelta(seconds=left.seconds_max)
    ui.console.print(
        f"{plural(len(steps), 'step')}, {plural(left.starts, 'start')} of the lab: {between} "
        f"(until {until:%H:%M} at the latest), without image builds",
        markup=False,
    )
    if any(step.is_counted for step in steps):
        ui.console.print(estimate.RATES_GUESSED, markup=False)
    show_conditioning(sweep, steps)


def show_left_out(checked: CheckedPlan) -> None:
    """Print the points that this machine cannot have, and why."""
    for one in checked.left_out:
        ui.console.print(f"Left out: {one.label}: {one.reason}", style="yellow", markup=False)


def ending_words(step: PlannedStep) -> str:
    """Describe what ends a step: ``60s``, ``10 bursts`` or ``8 flows after 2``, and whether it may break."""
    if step.bursts is not None:
        words = plural(step.bursts, "burst")
    elif step.flows is not None:
        words = plural(step.flows, "flow") + (f" after {step.flows_after}" if step.flows_after else "")
    else:
        words = format_duration(step.measure)
    return words + (", may break" if step.may_break else "")


def show_search(sweep: SweepFile, points: Sequence[PlannedStep]) -> None:
    """Print the limits of a search."""
    search = sweep.fields.find_max
    assert search is not None
    probes = [at_rate(sweep, point, search.rate_min) for point in points]
    probe_seconds = max(estimate.span_seconds(probe)[1] for probe in probes) + estimate.STEP_OVERHEAD_SECONDS
    ui.console.print(
        f"{len(points)} search{'es' if len(points) > 1 else ''} from {search.rate_min:g}/s to {search.rate_max:g}/s: "
        f"{', '.join(point.label for point in points)}. At most {search.steps_max} steps each, "
        f"at most {minutes(probe_seconds)} per probe.",
        markup=False,
    )
    show_conditioning(sweep, probes)


def show_conditioning(sweep: SweepFile, steps: Sequence[PlannedStep]) -> None:
    """Print what conditions the nodes. The estimate of the duration includes it."""
    arrivals = [str(step.load.get("arrivals", "closed")) for step in steps]
    words = facts.conditioning_plan(execute.sweep_manifest(sweep, None).condition, arrivals)
    ui.console.print(f"Conditioning: {words}", markup=False)


def minutes(seconds: float) -> str:
    """Format a duration, rounded to minutes if it is longer than three minutes."""
    return format_duration(round(seconds / 60) * 60 if seconds > 180 else round(seconds))
