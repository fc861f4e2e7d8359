"""``--like``: repeats a stored run or sweep to the letter, or says what has changed since."""

import hashlib
from dataclasses import replace
from pathlib import Path

from corda_lab.analysis import circumstances
from corda_lab.analysis.circumstances import EnvironmentDifference
from corda_lab.errors import LabError
from corda_lab.lab import lifecycle, lock
from corda_lab.lab.compose import Compose
from corda_lab.lab.environment import read_environment
from corda_lab.lab.settings import Settings
from corda_lab.paths import ROOT, WORKLOADS
from corda_lab.report import commands
from corda_lab.results import folders, stored
from corda_lab.results.manifest import Environment, Rerun
from corda_lab.results.stored import StoredRun
from corda_lab.runs import conditioning
from corda_lab.runs import execute as runs_execute
from corda_lab.runs.running import deployed
from corda_lab.steps.entry import StepEntry
from corda_lab.sweeps import command, execute
from corda_lab.sweeps.command import SweepRequest
from corda_lab.sweeps.execute import SweepResult
from corda_lab.text import ui
from corda_lab.text.words import plural

MEASURED = ("links", "speed")
"""Kinds of differences that are measured: they may differ between two repeats of the same thing."""
KNOWN_BEFORE_START = ("host", "commit", "stand-ins", "settings")
"""Kinds that are known without a running lab. A sweep starts its own, whose images it compares then."""


def read(name: str) -> StoredRun:
    """Read the run to repeat. Raises LabError."""
    return stored.read(folders.find_run(name))


def words(one: EnvironmentDifference) -> str:
    """``commit: 0123456789ab → 456789abcdef``."""
    name = one.name if one.name == one.kind else f"{one.kind}, {one.name}"
    return f"{name}: {one.first or 'empty'} → {one.second or 'empty'}"


def environment_changes(before: Environment, now: Environment, kinds: tuple[str, ...] | None = None) -> list[str]:
    """What differs between the environment of a run and that of today, one sentence each."""
    first, second = circumstances.surroundings(before), circumstances.surroundings(now)
    return [
        words(one)
        for one in circumstances.differences(first, second)
        if one.kind not in MEASURED and (kinds is None or one.kind in kinds)
    ]


def workload_changes(run: StoredRun) -> list[str]:
    """The workload files that are not those of the run any more, one sentence each."""
    found = []
    for name, text in run.manifest.workload_files.items():
        path = WORKLOADS / f"{name}.yaml"
        if not path.is_file():
            found.append(f"workload {name}: {path.relative_to(ROOT)} no longer exists")
        elif path.read_text(encoding="utf-8") != text:
            found.append(f"workload {name}: {path.relative_to(ROOT)} has other contents")
    return found


def require_same(run: StoredRun, changes: list[str], *, anyway: bool) -> Rerun:
    """The entry ``rerun`` of the new manifest. Raises LabError if anything has changed and ``anyway`` is not set."""
    if changes and not anyway:
        raise LabError(
            f"{run.identity} cannot be repeated to the letter, because {plural(len(changes), 'thing')} changed since:\n"
            + "\n".join(f"- {change}" for change in changes),
            "Undo the changes, or repeat it as things are now, and record them, with --anyway.",
        )
    for change in changes:
        ui.warn(f"changed since: {change}")
    return Rerun(run=run.identity, changes=changes)


def single(run: StoredRun, settings: Settings, *, anyway: bool = False) -> tuple[Path, StepEntry]:
    """Repeat a run of one step on the running lab. Raises LabError if the lab has another shape, or see above."""
    options = run.manifest.load
    if options is None:
        raise LabError(f"{run.folder}: its run.json has no load", folders.DAMAGED)
    lifecycle.require_engine()
    with lock.held(settings.project):
        before, now = run.environment(run.steps[0]), read_environment(deployed(settings))
        if not now.images:
            raise LabError("The lab is not up", f"Start it in the shape of the run: {commands.up(before)}")
        changes = [*workload_changes(run), *environment_changes(before, now)]
        if any(change.startswith("shape, ") for change in changes):
            ui.note(f"the lab of the run was started with: {commands.up(before)}")
        rerun = require_same(run, changes, anyway=anyway)
        options = replace(options, name=run.manifest.name)
        first = conditioning.again(options, run.steps[0].conditioning)
        return runs_execute.execute(options, settings, rerun, first)


def sweep(run: StoredRun, request: SweepRequest, settings: Settings, *, anyway: bool = False) -> SweepResult:
    """Repeat a sweep from its first step, on new labs.

    ``request`` has the images, and whether the existing lab is replaced. Raises LabError.
    """
    file = ROOT / run.sweep.file
    if not file.is_file():
        raise LabError(
            f"The file of the sweep no longer exists: {run.sweep.file}",
            f"Put it back: cp {run.folder / 'sweep.yaml'} {run.sweep.file}",
        )
    changes = [] if file.read_text(encoding="utf-8") == run.sweep.text else [sweep_file_change(run, file)]
    changes += workload_changes(run)
    changes += environment_changes(
        run.manifest.environments[0], read_environment(Compose(settings)), KNOWN_BEFORE_START
    )
    rerun = require_same(run, changes, anyway=anyway)
    repeats, seed = (None, None) if anyway else (run.sweep.repeats, run.sweep.seed)
    placed = run.manifest.environments[0].placement
    placement = placed.name if placed else None
    request = replace(request, file=str(file), quick=run.sweep.quick, repeats=repeats, seed=seed, placement=placement)
    images = {image.name: image.id for one in run.manifest.environments for image in one.images.values()}
    return command.begin(request, settings, rerun, images if not anyway else execute.NO_IMAGES)


def sweep_file_change(run: StoredRun, file: Path) -> str:
    """That the file of a sweep has changed, with both fingerprints."""
    before, now = (
        hashlib.sha256(text.encode()).hexdigest()[:12] for text in (run.sweep.text, file.read_text(encoding="utf-8"))
    )
    return f"sweep file, {run.sweep.file}: {before} → {now}"
