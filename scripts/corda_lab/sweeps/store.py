"""A sweep as it runs: which of its steps are there, and what must not change before it is resumed.

``run.json`` and ``sweep.yaml`` are written before the first step. If the process ends for any reason, another can
continue.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.knobs.shape import KNOBS, Kind
from corda_lab.lab.settings import Settings
from corda_lab.paths import CONFIGS, ROOT, WORKLOADS
from corda_lab.results import folders, store, stored
from corda_lab.results.manifest import Environment, Manifest, Rerun
from corda_lab.results.stored import StepFile
from corda_lab.results.sweep import SweepPlan
from corda_lab.steps.entry import StepEntry
from corda_lab.sweeps.file import QUICK_SUFFIX, SweepFile, quick, read_sweep, with_repeats
from corda_lab.sweeps.plan import PlannedStep, points_of, steps_of

RERUNS_MAX = 1
"""How often a step that failed runs again at most, on a fresh lab. A sweep with fewer ``retries`` has none."""
SHAPE_FOLDERS = tuple(knob.folder for knob in KNOBS if knob.kind is Kind.FILE)
"""Folders of configs/ with the files of which shapes are composed."""

SWEEP_FILE = "sweep.yaml"
"""The text of the sweep file when the sweep began."""


def fingerprint(sweep: SweepFile, text: str, settings: Settings, steps: Sequence[PlannedStep]) -> dict[str, str]:
    """Return what a sweep's steps depend on, except images: name → hash or value. ``sweep resume`` compares it.

    ``text`` is that of the sweep file. Another version of the lab may plan other ``steps`` from it.
    """
    shape_files = [path for folder in SHAPE_FOLDERS for path in (CONFIGS / folder).iterdir() if path.is_file()]
    points = points_of(sweep)
    loads = [point.load for point in points] + [point.condition.options for point in points if point.condition]
    workloads = {load.workload for load in loads}
    return {
        "the sweep file": hashlib.sha256(text.encode()).hexdigest(),
        "the plan of its steps": hashlib.sha256("".join(step.model_dump_json() for step in steps).encode()).hexdigest(),
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


@dataclass(frozen=True)
class Unfinished:
    """A sweep that is not finished, in its folder."""

    folder: Path
    manifest: Manifest

    @property
    def identity(self) -> str:
        return self.folder.name

    @property
    def plan(self) -> SweepPlan:
        assert self.manifest.sweep is not None
        return self.manifest.sweep

    @cached_property
    def steps(self) -> list[PlannedStep]:
        """The planned steps; none of a search."""
        return steps_of(self.sweep)

    @cached_property
    def sweep(self) -> SweepFile:
        """The sweep as it began: the text of its file, its form and its points. Raises LabError."""
        plan, sweep = self.plan, read_sweep(self.folder / SWEEP_FILE)
        sweep = with_repeats(quick(sweep) if plan.is_quick else sweep, plan.repeats, plan.seed)
        source = replace(sweep.source, path=ROOT / plan.file)
        return replace(sweep, name=plan.name, source=source, left_out=plan.left_out)

    def attempts(self, step: PlannedStep) -> dict[Path, StepFile]:
        paths = store.attempts(self.folder, step.index, step.key)
        return {path: stored.read_step(path) for path in paths}

    def entry(self, step: PlannedStep) -> StepEntry | None:
        """A step that is complete; None if it is missing. Raises LabError if it is damaged."""
        complete = [path for path, attempt in self.attempts(step).items() if attempt.is_measured]
        return folders.read_model(complete[-1] / stored.STEP, StepEntry) if complete else None

    def new_step(self, step: PlannedStep) -> Path:
        return store.new_step(self.folder, step.index, step.key)

    def sustained(self, step: PlannedStep, attempts_max: int) -> bool | None:
        """Return whether a step of a search sustained its rate; None if it has not run.

        If it failed in every attempt, its rate is not sustained. Before anything was measured, the rate is not what
        breaks the lab.
        """
        if (entry := self.entry(step)) is not None:
            return entry.thresholds.passed
        failed = sum(attempt.state == "failed" for attempt in self.attempts(step).values())
        return False if failed >= attempts_max and self.done else None

    @property
    def done(self) -> list[Path]:
        """The folders of the complete steps, in the order in which they ran. Raises LabError if one is damaged."""
        return [path for path, step in stored.read_steps(self.folder).items() if step.is_measured]

    def image_ids(self) -> dict[str, str]:
        """Return the images that the next steps must have: those of the plan and of the complete steps, name → id."""
        ids = dict(self.plan.images)
        for folder in self.done:
            images = folders.read_model(folder / stored.ENVIRONMENT, Environment).images
            ids |= {image.name: image.id for image in images.values()}
        return ids

    def require_unchanged(self, sweep: SweepFile, settings: Settings) -> None:
        """Raise LabError if anything that the steps depend on has changed since the sweep began.

        If the sweep file is gone, its stored text counts.
        """
        path, before = sweep.source.path, self.plan.fingerprint
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else sweep.text
        now = fingerprint(replace(sweep, left_out=self.plan.left_out), text, settings, self.steps)
        changes = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
        if changes:
            raise LabError(
                f"{self.identity} cannot be resumed, because these have changed since it began: {', '.join(changes)}",
                "Undo the changes, store the complete steps with `scripts/lab sweep finish`, or start a new sweep.",
            )


def attempts_max(sweep: SweepFile) -> int:
    """How often a step is tried at most, each time on a fresh lab, if it fails."""
    return 1 + min(RERUNS_MAX, sweep.fields.retries)


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
    steps = steps_of(sweep)
    plan = sweep.entry({}).model_copy(
        update={
            "fingerprint": fingerprint(sweep, sweep.text, settings, steps),
            "images": dict(images or {}),
            "placement": placement,
            "steps_planned": len(steps),
        }
    )
    manifest = store.manifest(folders.run_id(sweep.run_name), sweep=plan, rerun=rerun)
    return Unfinished(store.begin(manifest, {SWEEP_FILE: sweep.text}, results=results_folder), manifest)


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
    return Unfinished(folder, stored.read_manifest(folder))
