"""Stores an unfinished sweep in ``results/unfinished/<id>/``.

``plan.json`` and ``sweep.yaml`` are written before the first step. Each step becomes a folder in ``steps/`` atomically,
when it ends. ``finish`` turns the steps into a run. If the process ends for any reason, another can continue.
"""

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import Field

from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.knobs.shape import KNOBS, Kind
from corda_lab.lab.settings import Settings
from corda_lab.paths import CONFIGS, WORKLOADS
from corda_lab.report import page
from corda_lab.results import files, folders
from corda_lab.results.files import Measured
from corda_lab.results.manifest import Environment, Rerun
from corda_lab.results.sweep import LeftOut, ManifestPart
from corda_lab.steps.entry import StepEntry
from corda_lab.sweeps.file import QUICK_SUFFIX, SweepFile, quick, read_sweep, with_repeats
from corda_lab.sweeps.plan import PlannedStep, points_of, steps_of
from corda_lab.sweeps.search import find_max
from corda_lab.text import ui

SHAPE_FOLDERS = tuple(knob.folder for knob in KNOBS if knob.kind is Kind.FILE)
"""Folders of configs/ with the files of which shapes are composed."""

SWEEP_FILE = "sweep.yaml"
"""The text of the sweep file when the sweep began."""
FAILED = "failed"
"""Folder of failed attempts, each with its error and the nodes' logs."""
BROKE = "broke"
"""Folder of the steps that broke the lab, each with the evidence of its load and the nodes' logs."""
ATTEMPTS = "attempts"
"""Folder of the attempts in progress, each with the evidence of its load."""


def fingerprint(sweep: SweepFile, text: str, settings: Settings) -> dict[str, str]:
    """Return what a sweep's steps depend on, except images: name → hash or value. ``sweep resume`` compares it.

    ``text`` is that of the sweep file.
    """
    shape_files = [path for folder in SHAPE_FOLDERS for path in (CONFIGS / folder).iterdir() if path.is_file()]
    points = points_of(sweep)
    loads = [point.load for point in points] + [point.condition.options for point in points if point.condition]
    workloads = {load.workload for load in loads}
    return {
        "the sweep file": hashlib.sha256(text.encode()).hexdigest(),
        "the nodes' settings in configs/": _digest([*shape_files, CONFIGS / "network.conf"]),
        **{f"the workload {name}": _digest([WORKLOADS / f"{name}.yaml"]) for name in sorted(workloads)},
        **{
            f"{name} in .env or the environment": value
            for name, value in settings.public().items()
            if not name.endswith("_PORT")
        },
    }


def _digest(paths: Sequence[Path]) -> str:
    """Return a hash of the names and content of some files. It changes if one of them is deleted."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        if path.is_file():
            digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


class PlanFile(ManifestPart):
    """The content of ``plan.json``, which has everything that a sweep needs to be resumed."""

    schema_: int = Field(alias="schema", default=folders.SCHEMA)
    file: Path
    command: str
    fingerprint: dict[str, str]
    """Everything that must not change before the sweep is resumed: name → hash or value."""
    quick: bool
    repeats: int
    """The number of repeats, which need not be that of the file."""
    seed: int
    """The seed of the first repeat, which need not be that of the file."""
    steps: list[PlannedStep]
    """Empty for a search, which plans one step at a time."""
    rerun: Rerun | None
    left_out: list[LeftOut]
    """The points that this machine cannot have, if the sweep leaves them out."""
    images: dict[str, str]
    """The images that the steps must have, because the sweep repeats another: name → id."""
    placement: str | None
    """What runs on which host, as it was given; None if the sweep runs on one machine."""


@dataclass(frozen=True)
class Unfinished:
    folder: Path
    plan: PlanFile

    @property
    def identity(self) -> str:
        """The id of the future run."""
        return self.folder.name

    @property
    def steps(self) -> list[PlannedStep]:
        return self.plan.steps

    def _step_folder(self, step: PlannedStep) -> Path:
        return self.folder / "steps" / f"{step.index:04d}-{step.key}"

    def has(self, step: PlannedStep) -> bool:
        return self._step_folder(step).is_dir()

    def read(self, step: PlannedStep) -> Measured:
        return files.read_step(self._step_folder(step))

    def entry(self, step: PlannedStep) -> StepEntry:
        return folders.read_model(self._step_folder(step) / "step.json", StepEntry)

    def attempt_folder(self, step: PlannedStep) -> Path:
        return self.folder / ATTEMPTS / self._step_folder(step).name

    def drop_attempt(self, step: PlannedStep) -> None:
        """Delete the evidence of an attempt whose step is stored, or is measured again because of the machine."""
        if (folder := self.attempt_folder(step)).exists():
            shutil.rmtree(folder)

    def set_aside(self, attempt: Path, kind: str = FAILED) -> Path:
        """Move the evidence of an attempt to ``failed`` or ``broke``. Returns its folder there, which may be empty."""
        number = 1
        while (folder := self.folder / kind / f"{attempt.name}-{number}").exists():
            number += 1
        folder.parent.mkdir(exist_ok=True)
        if attempt.exists():
            attempt.rename(folder)
        else:
            folder.mkdir()
        return folder

    def _given_up_file(self, step: PlannedStep) -> Path:
        return self.folder / "given-up" / f"{step.index:04d}-{step.key}.txt"

    def give_up(self, step: PlannedStep, why: str) -> None:
        """Record that a step of a search failed in every attempt, which means that its rate is not sustained."""
        atomic.write_text(self._given_up_file(step), f"{why}\n")

    def sustained(self, step: PlannedStep) -> bool | None:
        """Return whether a stored step of a search sustained its rate; None if it has not run."""
        if self.has(step):
            return self.entry(step).thresholds.passed
        return False if self._given_up_file(step).is_file() else None

    @property
    def done(self) -> list[Path]:
        return folders.complete_steps(self.folder)

    def keep(self, step: PlannedStep, measured: Measured) -> None:
        """Store a step atomically."""
        with atomic.whole_folder(self._step_folder(step)) as folder:
            files.write_step(folder, measured)

    def image_ids(self) -> dict[str, str]:
        """Return the images that the next steps must have: those of the plan and of the complete steps, name → id."""
        ids = dict(self.plan.images)
        for folder in self.done:
            images = folders.read_model(folder / "environment.json", Environment).images
            ids |= {image.name: image.id for image in images.values()}
        return ids

    def sweep(self) -> SweepFile:
        """Read the sweep as it began: the text of its file, its form and its points. Raises LabError."""
        plan, sweep = self.plan, read_sweep(self.folder / SWEEP_FILE)
        sweep = with_repeats(quick(sweep) if plan.quick else sweep, plan.repeats, plan.seed)
        source = replace(sweep.source, path=plan.file)
        return replace(sweep, name=plan.file.stem, source=source, left_out=plan.left_out)

    def require_unchanged(self, sweep: SweepFile, settings: Settings) -> None:
        """Raise LabError if anything that the steps depend on has changed since the sweep began.

        If the sweep file is gone, its stored text counts.
        """
        path, before = sweep.source.path, self.plan.fingerprint
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else sweep.text
        now = fingerprint(replace(sweep, left_out=self.plan.left_out), text, settings)
        changes = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
        if changes:
            raise LabError(
                f"{self.identity} cannot be resumed, because these have changed since it began: {', '.join(changes)}",
                "Undo the changes, store the complete steps with `scripts/lab sweep finish`, or start a new sweep.",
            )

    def finish(self, sweep: SweepFile, *, grafana: str | None = None) -> Path:
        """Store all complete steps as a run with a report, and delete the unfinished sweep. Returns the run's folder.

        Searches have what they found so far. Raises LabError if no step is complete.
        """
        results_folder = self.folder.parent.parent
        final = results_folder / self.identity
        # An earlier process may have been killed between any two of these operations.
        if final.exists():
            folders.point_latest(final)
        else:
            with ui.phase("Storing the run and its report"):
                self._write_run(sweep, results_folder, grafana)
        folders.remove_unfinished(self.folder)
        return final

    def _write_run(self, sweep: SweepFile, results_folder: Path, grafana: str | None) -> None:
        steps = [files.read_step(folder) for folder in self.done]
        if not steps:
            raise LabError(f"{self.identity}: no step is complete", "Continue it with `scripts/lab sweep resume`.")
        points = enumerate(points_of(sweep) if sweep.fields.find_max else ())
        outcomes = {point.label: find_max(sweep, point, number, self.sustained) for number, point in points}
        begun = {label: outcome for label, outcome in outcomes.items() if outcome.answers}
        manifest = files.run_manifest(
            self.identity,
            steps,
            sweep=sweep.entry(begun),
            phases=dict(ui.phase_seconds),
            command=self.plan.command,
            rerun=self.plan.rerun,
            grafana=grafana,
        )
        with folders.new_run(self.identity, results=results_folder) as folder:
            (folder / SWEEP_FILE).write_text(sweep.text, encoding="utf-8")
            files.write_run(folder, manifest, steps)
            page.render(folder)
            for kind in (FAILED, BROKE):
                if (self.folder / kind).is_dir():
                    shutil.copytree(self.folder / kind, folder / kind)

    def tidy(self) -> None:
        """Delete what a killed process left half-written or half-deleted, and set the attempts aside that it began."""
        results_folder = self.folder.parent.parent
        folders.tidy_unfinished(results=results_folder)
        for attempt in sorted((self.folder / ATTEMPTS).glob("*")):
            if (self.folder / "steps" / attempt.name).is_dir():
                shutil.rmtree(attempt)
            else:
                self.set_aside(attempt)
        partial = (self.folder / "steps").glob(f"{atomic.PARTIAL}*")
        for path in [*partial, *results_folder.glob(f"{atomic.PARTIAL}{self.identity}-*")]:
            shutil.rmtree(path)


def begin(
    sweep: SweepFile,
    settings: Settings,
    *,
    rerun: Rerun | None = None,
    images: Mapping[str, str] | None = None,
    placement: str | None = None,
    results_folder: Path | None = None,
) -> Unfinished:
    """Store the plan of a sweep, before its first step. Raises LabError if that is impossible.

    ``rerun`` names the sweep that it repeats, and ``images`` has the images that all steps must have: name → id.
    ``placement`` says what runs on which host, None that all runs on this machine.
    """
    identity = folders.run_id(sweep.run_name)
    folders.require_free(identity, results=results_folder)
    final = folders.unfinished_folder(results=results_folder) / identity
    if final.exists():
        raise LabError(f"{final} already exists", "Start again a second later.")
    plan = PlanFile(
        file=sweep.source.path.resolve(),
        command=files.command_line(),
        fingerprint=fingerprint(sweep, sweep.text, settings),
        quick=sweep.is_quick,
        repeats=sweep.fields.repeats,
        seed=sweep.fields.seed,
        steps=steps_of(sweep),
        rerun=rerun,
        left_out=list(sweep.left_out),
        images=dict(images or {}),
        placement=placement,
    )
    with atomic.whole_folder(final) as folder:
        (folder / SWEEP_FILE).write_text(sweep.text, encoding="utf-8")
        folders.write_json(folder / "plan.json", plan.model_dump(mode="json", by_alias=True))
    return Unfinished(final, plan)


def find(file: str | None, *, results_folder: Path | None = None) -> Unfinished:
    """Return the latest unfinished sweep, or the latest one of a file, a name (quick or not) or an id.

    Raises LabError if there is none.
    """
    unfinished = folders.unfinished_sweeps(results=results_folder)
    if not unfinished:
        raise LabError("There is no unfinished sweep", "Start one, for example: scripts/lab sweep smoke")
    name = None if file is None else Path(file).stem
    names = {name, f"{name}{QUICK_SUFFIX}"}
    matches = [path for path in unfinished if name is None or {path.name, folders.name_of(path.name)} & names]
    if not matches:
        known = ", ".join(path.name for path in unfinished)
        raise LabError(f"There is no unfinished sweep {name!r}", f"Choose from {known}.")
    return read(matches[-1])


def read(folder: Path) -> Unfinished:
    """Read the plan of an unfinished sweep. Raises LabError if it is damaged, or by another version of the lab."""
    return Unfinished(folder, folders.as_model(folder / "plan.json", folders.read_plan(folder), PlanFile))
