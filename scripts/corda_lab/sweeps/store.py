"""Stores an unfinished sweep in ``results/unfinished/<id>/``.

``plan.json`` and ``sweep.yaml`` are written before the first step. Each step becomes a folder in ``steps/`` atomically,
when it ends. ``finish`` turns the steps into a run. If the process ends for any reason, another can continue.
"""

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.knobs.options import Kind
from corda_lab.knobs.shape import KNOBS
from corda_lab.lab.settings import Settings
from corda_lab.paths import CONFIGS, WORKLOADS
from corda_lab.report import page
from corda_lab.results import files, folders
from corda_lab.results.files import Measured
from corda_lab.results.manifest import SweepPlan
from corda_lab.steps.entry import StepEntry
from corda_lab.sweeps.file import QUICK_SUFFIX
from corda_lab.sweeps.planned import PlanFile, PlannedStep

SHAPE_FOLDERS = tuple(knob.folder for knob in KNOBS if knob.kind is Kind.FILE)
"""Folders of configs/ with the files of which shapes are composed."""

FAILED = "failed"
"""Folder of failed attempts, each with its error and the nodes' logs."""
BROKE = "broke"
"""Folder of the steps that broke the lab, each with the evidence of its load and the nodes' logs."""
ATTEMPTS = "attempts"
"""Folder of the attempts in progress, each with the evidence of its load."""


def digest(paths: Sequence[Path]) -> str:
    """Return a hash of the names and content of some files. It changes if one of them is deleted."""
    found = hashlib.sha256()
    for path in sorted(paths):
        if path.is_file():
            found.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


def fingerprint(sweep_text: str, workloads: Sequence[str], settings: Settings) -> dict[str, str]:
    """Return what a sweep's steps depend on, except images: name → hash or value. ``sweep resume`` compares it."""
    shape_files = [path for folder in SHAPE_FOLDERS for path in (CONFIGS / folder).iterdir() if path.is_file()]
    return {
        "the sweep file": hashlib.sha256(sweep_text.encode()).hexdigest(),
        "the nodes' settings in configs/": digest([*shape_files, CONFIGS / "network.conf"]),
        **{f"the workload {name}": digest([WORKLOADS / f"{name}.yaml"]) for name in sorted(set(workloads))},
        **{
            f"{name} in .env or the environment": value
            for name, value in settings.public().items()
            if not name.endswith("_PORT")
        },
    }


@dataclass(frozen=True)
class Unfinished:
    """One unfinished sweep."""

    folder: Path
    plan: PlanFile

    @property
    def identity(self) -> str:
        """The id of the future run."""
        return self.folder.name

    @property
    def sweep_text(self) -> str:
        """The text of the sweep file when the sweep began."""
        return (self.folder / "sweep.yaml").read_text(encoding="utf-8")

    @property
    def steps(self) -> list[PlannedStep]:
        """The planned steps. A search has none."""
        return self.plan.steps

    def _step_folder(self, step: PlannedStep) -> Path:
        return self.folder / "steps" / f"{step.index:04d}-{step.key}"

    def has(self, step: PlannedStep) -> bool:
        """Return whether a step is complete."""
        return self._step_folder(step).is_dir()

    def read(self, step: PlannedStep) -> Measured:
        """Read a complete step."""
        return files.read_step(self._step_folder(step))

    def entry(self, step: PlannedStep) -> StepEntry:
        """Read the values of a complete step."""
        return folders.read_model(self._step_folder(step) / "step.json", StepEntry)

    def attempt_folder(self, step: PlannedStep) -> Path:
        """Return the folder for the evidence of an attempt at a step."""
        return self.folder / ATTEMPTS / self._step_folder(step).name

    def drop_attempt(self, step: PlannedStep) -> None:
        """Delete the evidence of an attempt whose step is stored, or is measured again because of the machine."""
        folder = self.attempt_folder(step)
        if folder.exists():
            shutil.rmtree(folder)

    def _settle_attempts(self) -> None:
        folder = self.folder / ATTEMPTS
        for attempt in sorted(folder.iterdir()) if folder.is_dir() else ():
            if (self.folder / "steps" / attempt.name).is_dir():
                shutil.rmtree(attempt)
            else:
                self._set_aside(attempt, FAILED)

    def set_aside(self, step: PlannedStep, kind: str = FAILED) -> Path:
        """Move the evidence of an attempt at a step to ``failed`` or ``broke``. Returns its folder there.

        The folder may be empty.
        """
        return self._set_aside(self.attempt_folder(step), kind)

    def _set_aside(self, attempt: Path, kind: str) -> Path:
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

    def is_given_up(self, step: PlannedStep) -> bool:
        """Return whether a step of a search failed in every attempt, which means that its rate is not sustained."""
        return self._given_up_file(step).is_file()

    def give_up(self, step: PlannedStep, why: str) -> None:
        """Record that a step of a search failed in every attempt."""
        file = self._given_up_file(step)
        atomic.write_text(file, f"{why}\n")

    @property
    def done(self) -> list[Path]:
        """The folders of all complete steps, in the order in which they ran."""
        return folders.complete_steps(self.folder)

    def keep(self, step: PlannedStep, measured: Measured) -> None:
        """Store a step atomically."""
        with atomic.whole_folder(self._step_folder(step)) as folder:
            files.write_step(folder, measured)

    def image_ids(self) -> dict[str, str]:
        """Return the images that the next steps must have: those of the plan and of the complete steps, name → id."""
        found = dict(self.plan.images)
        for folder in self.done:
            for image in folders.read_json(folder / "environment.json")["images"].values():
                found[image["name"]] = image["id"]
        return found

    def changes(self, now: Mapping[str, str]) -> list[str]:
        """Return the names of the parts of the fingerprint that have changed since the sweep began, sorted."""
        before = self.plan.fingerprint
        return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))

    def finish(self, sweep: SweepPlan, phases: dict[str, float], *, grafana: str | None = None) -> Path:
        """Store all complete steps as a run, and delete the unfinished sweep. Raises LabError if there is no step."""
        results_folder = self.folder.parent.parent
        final = results_folder / self.identity
        # An earlier process may have been killed between any two of these operations.
        if final.exists():
            folders.point_latest(final)
        else:
            steps = [files.read_step(folder) for folder in self.done]
            if not steps:
                raise LabError(f"{self.identity}: no step is complete", "Continue it with `scripts/lab sweep resume`.")
            with folders.new_run(self.identity, results=results_folder) as folder:
                (folder / "sweep.yaml").write_text(self.sweep_text, encoding="utf-8")
                manifest = files.run_manifest(
                    self.identity,
                    steps,
                    sweep=sweep,
                    phases=phases,
                    command=self.plan.command,
                    rerun=self.plan.rerun,
                    grafana=grafana,
                )
                files.write_run(folder, manifest, steps)
                page.render(folder)
                for kind in (FAILED, BROKE):
                    if (self.folder / kind).is_dir():
                        shutil.copytree(self.folder / kind, folder / kind)
        folders.remove_unfinished(self.folder)
        return final

    def tidy(self) -> None:
        """Delete what a killed process left half-written or half-deleted, and set the attempts aside that it began."""
        results_folder = self.folder.parent.parent
        folders.tidy_unfinished(results=results_folder)
        self._settle_attempts()
        left = {
            self.folder / "steps": atomic.PARTIAL,
            results_folder: f"{atomic.PARTIAL}{self.identity}-",
        }
        for folder, beginning in left.items():
            for path in folder.glob(f"{beginning}*") if folder.is_dir() else ():
                shutil.rmtree(path)


def create(identity: str, text: str, plan: PlanFile, *, results_folder: Path | None = None) -> Unfinished:
    """Create the folder of a new sweep. Raises LabError if there is one already."""
    folders.require_free(identity, results=results_folder)
    final = folders.unfinished_folder(results=results_folder) / identity
    if final.exists():
        raise LabError(f"{final} already exists", "Start again a second later.")
    with atomic.whole_folder(final) as folder:
        (folder / "sweep.yaml").write_text(text, encoding="utf-8")
        folders.write_json(folder / "plan.json", plan.model_dump(mode="json", by_alias=True))
    return Unfinished(final, plan)


def find(name: str | None, *, results_folder: Path | None = None) -> Unfinished:
    """Return the latest unfinished sweep, or the latest one with this name or id, quick or not. Raises LabError."""
    found = folders.unfinished_sweeps(results=results_folder)
    if not found:
        raise LabError("There is no unfinished sweep", "Start one, for example: scripts/lab sweep smoke")
    if name is None:
        return read(found[-1])
    matches = [one for one in found if {one.name, folders.name_of(one.name)} & {name, f"{name}{QUICK_SUFFIX}"}]
    if not matches:
        raise LabError(f"There is no unfinished sweep {name!r}", f"Choose from {', '.join(one.name for one in found)}.")
    return read(matches[-1])


def read(folder: Path) -> Unfinished:
    """Read the plan of an unfinished sweep. Raises LabError if it is damaged, or by another version of the lab."""
    return Unfinished(folder, folders.as_model(folder / "plan.json", folders.read_plan(folder), PlanFile))
