"""``lab run --like`` and ``lab sweep --like``: repeat a stored run to the letter, or say what has changed since."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from corda_lab.analysis import circumstances
from corda_lab.errors import LabError
from corda_lab.lab import lifecycle, lock
from corda_lab.lab.compose import Compose
from corda_lab.lab.environment import read_environment
from corda_lab.lab.settings import Settings
from corda_lab.paths import ROOT, WORKLOADS
from corda_lab.report import commands
from corda_lab.results import folders
from corda_lab.results.manifest import Environment, Rerun
from corda_lab.results.stored import StoredRun
from corda_lab.runs import conditioning, execute
from corda_lab.runs.running import deployed
from corda_lab.steps.entry import StepEntry
from corda_lab.sweeps import command, store
from corda_lab.sweeps.command import SweepRequest
from corda_lab.text import ui
from corda_lab.text.words import plural

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
        return execute.execute(options, settings, rerun, first)


def sweep_like(run: StoredRun, request: SweepRequest, settings: Settings, *, anyway: bool = False) -> Path:
    """Repeat a sweep from its first step, on new labs.

    ``request`` has the images, and whether the existing lab is replaced. Raises LabError as ``run_like`` does.
    """
    file, environments = ROOT / run.sweep.file, run.manifest.environments
    if not file.is_file():
        raise LabError(
            f"The file of the sweep no longer exists: {run.sweep.file}",
            f"Put it back: cp {run.folder / store.SWEEP_FILE} {run.sweep.file}",
        )
    now = read_environment(Compose(settings))
    changes = _file_changes({"sweep file": (file, run.sweep.text)}) + _workload_changes(run)
    changes += environment_changes(environments[0], now, KNOWN_BEFORE_START)
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
    images = {image.name: image.id for environment in environments for image in environment.images.values()}
    return command.begin(request, settings, rerun, None if anyway else images)


def environment_changes(before: Environment, now: Environment, kinds: tuple[str, ...] | None = None) -> list[str]:
    """Return what differs between the environment of a run and that of today, one sentence each."""
    differences = circumstances.differences(circumstances.surroundings(before), circumstances.surroundings(now))
    return [
        f"{change.name if change.name == change.kind else f'{change.kind}, {change.name}'}: "
        f"{change.first or 'empty'} → {change.second or 'empty'}"
        for change in differences
        if change.kind not in MEASURED and (kinds is None or change.kind in kinds)
    ]


def _workload_changes(run: StoredRun) -> list[str]:
    texts = run.manifest.workload_files
    return _file_changes({f"workload {name}": (WORKLOADS / f"{name}.yaml", text) for name, text in texts.items()})


def _file_changes(texts: Mapping[str, tuple[Path, str]]) -> list[str]:
    """Return the files that have not the text that they had, one sentence each."""
    changes = []
    for what, (path, text) in texts.items():
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        if not path.is_file():
            changes.append(f"{what}: {shown} no longer exists")
        elif path.read_text(encoding="utf-8") != text:
            changes.append(f"{what}: {shown} has other contents")
    return changes


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
