"""A sweep that is under way: ``results/unfinished/<id>/``, of which every step that has ended is whole.

``plan.json`` and ``sweep.yaml`` are written before the first step; each step becomes a folder of ``steps/`` at once; and only
``finish`` makes a run of them. Whatever ends the process, the next one goes on from there.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.lab.settings import Settings
from corda_lab.paths import CONFIGS, RESULTS, WORKLOADS
from corda_lab.report import page
from corda_lab.results import files as keep
from corda_lab.results import folders
from corda_lab.results.files import Measured
from corda_lab.results.manifest import SweepPlan
from corda_lab.sweeps.file import QUICK_SUFFIX
from corda_lab.sweeps.plan import PlannedStep

SHAPE_FOLDERS = ("databases", "nodes", "notaries")
"""Folders of configs/ that every shape is made from."""

FAILED = "failed"
"""Folder of what steps that broke left behind: a folder for each try, with the error and the nodes' logs."""
FINISHED = ".finished-"


def unfinished_folder(results_folder: Path | None = None) -> Path:
    """Where sweeps are kept until they are finished."""
    return (results_folder or RESULTS) / folders.UNFINISHED


def digest(paths: Sequence[Path]) -> str:
    """One fingerprint of some files, by their names and their content; that of one that is gone is another."""
    found = hashlib.sha256()
    for path in sorted(paths):
        if path.is_file():
            found.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


def fingerprint(sweep_text: str, workloads: Sequence[str], settings: Settings) -> dict[str, str]:
    """What a sweep's steps depend on besides images, so that a resumed one can tell whether it is still the same."""
    files = [path for folder in SHAPE_FOLDERS for path in (CONFIGS / folder).iterdir() if path.is_file()]
    return {
        "the sweep file": hashlib.sha256(sweep_text.encode()).hexdigest(),
        "the nodes' settings in configs/": digest([*files, CONFIGS / "network.conf"]),
        **{f"the workload {name}": digest([WORKLOADS / f"{name}.yaml"]) for name in sorted(set(workloads))},
        **{
            f"{name} in .env or the environment": value
            for name, value in settings.public().items()
            if not name.endswith("_PORT")
        },
    }


@dataclass(frozen=True)
class Unfinished:
    """One sweep that is under way."""

    folder: Path
    plan: dict[str, Any]

    @property
    def identity(self) -> str:
        """The id that its run will have."""
        return self.folder.name

    @property
    def sweep_text(self) -> str:
        """The sweep file as it was when the sweep began."""
        return (self.folder / "sweep.yaml").read_text(encoding="utf-8")

    @property
    def steps(self) -> list[PlannedStep]:
        """The steps that were planned; a search plans none."""
        return [PlannedStep.of(stored) for stored in self.plan["steps"]]

    def _step_folder(self, step: PlannedStep) -> Path:
        return self.folder / "steps" / f"{step.index:04d}-{step.key}"

    def has(self, step: PlannedStep) -> bool:
        """Whether a step is complete."""
        return self._step_folder(step).is_dir()

    def read(self, step: PlannedStep) -> Measured:
        """A step that is complete."""
        return keep.read_step(self._step_folder(step))

    def _broken_file(self, step: PlannedStep) -> Path:
        return self.folder / "broken" / f"{step.index:04d}-{step.key}.txt"

    def has_broken(self, step: PlannedStep) -> bool:
        """Whether a step of a search broke the lab on every try, which answers the search as well."""
        return self._broken_file(step).is_file()

    def note_broken(self, step: PlannedStep, why: str) -> None:
        """Keep that a step of a search broke the lab on every try."""
        file = self._broken_file(step)
        atomic.write_text(file, f"{why}\n")

    @property
    def done(self) -> list[Path]:
        """Folders of all complete steps, in the order in which they ran."""
        folder = self.folder / "steps"
        return sorted(path for path in folder.iterdir() if not path.name.startswith(".")) if folder.is_dir() else []

    def keep(self, step: PlannedStep, measured: Measured) -> None:
        """Keep a step that has ended, whole or not at all."""
        with atomic.whole_folder(self._step_folder(step)) as folder:
            keep.write_step(folder, measured)

    def image_ids(self) -> dict[str, str]:
        """Id of every image that complete steps ran on, by its name."""
        found = {}
        for folder in self.done:
            for image in folders.read_json(folder / "environment.json")["images"].values():
                found[image["name"]] = image["id"]
        return found

    def changes(self, now: Mapping[str, str]) -> list[str]:
        """What has changed since the sweep began, by name."""
        before: dict[str, str] = self.plan["fingerprint"]
        return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))

    def finish(self, sweep: SweepPlan, phases: dict[str, float], *, grafana: str | None = None) -> Path:
        """Make a run of all complete steps, and forget the unfinished sweep. Raises LabError when there is no step."""
        results_folder = self.folder.parent.parent
        final = results_folder / self.identity
        # A process may have ended between any two of these.
        if final.exists():
            folders.point_latest(final)
        else:
            steps = [keep.read_step(folder) for folder in self.done]
            if not steps:
                raise LabError(f"{self.identity}: no step is complete", "`scripts/lab sweep --resume` goes on with it.")
            with folders.new_run(self.identity, results=results_folder) as folder:
                (folder / "sweep.yaml").write_text(self.sweep_text, encoding="utf-8")
                manifest = keep.run_manifest(
                    self.identity,
                    steps,
                    sweep=sweep,
                    phases=phases,
                    command=self.plan["command"],
                    grafana=grafana,
                )
                keep.write_run(folder, manifest, steps)
                page.render(folder)
                if (self.folder / FAILED).is_dir():
                    shutil.copytree(self.folder / FAILED, folder / FAILED)
        # At once, and then in peace: half of a folder would look like a sweep.
        gone = self.folder.with_name(f"{FINISHED}{self.identity}")
        self.folder.rename(gone)
        shutil.rmtree(gone)
        return final

    def tidy(self) -> None:
        """Remove what a process that was killed had not finished writing, or removing."""
        for path in self.folder.parent.glob(f"{FINISHED}*"):
            shutil.rmtree(path)
        for folder in (self.folder / "steps", self.folder.parent.parent):
            for path in folder.glob(f"{atomic.PARTIAL}*") if folder.is_dir() else ():
                if folder.name == "steps" or path.name.startswith(f"{atomic.PARTIAL}{self.identity}-"):
                    shutil.rmtree(path)


def create(identity: str, text: str, plan: dict[str, Any], *, results_folder: Path | None = None) -> Unfinished:
    """Begin a sweep."""
    folders.require_free(identity, results=results_folder)
    final = unfinished_folder(results_folder) / identity
    if final.exists():
        raise LabError(f"{final} exists already", "Start again a second later.")
    with atomic.whole_folder(final) as folder:
        (folder / "sweep.yaml").write_text(text, encoding="utf-8")
        folders.write_json(folder / "plan.json", plan)
    return Unfinished(final, plan)


def all_unfinished(*, results_folder: Path | None = None) -> list[Unfinished]:
    """Every sweep that is under way, the oldest first."""
    folder = unfinished_folder(results_folder)
    if not folder.is_dir():
        return []
    paths = sorted(path for path in folder.iterdir() if folders.RUN_NAME.fullmatch(path.name))
    return [Unfinished(path, folders.read_json(path / "plan.json")) for path in paths]


def find(name: str | None, *, results_folder: Path | None = None) -> Unfinished:
    """The newest unfinished sweep, or that of a name or id, quick or not. Raises LabError."""
    found = all_unfinished(results_folder=results_folder)
    if not found:
        raise LabError("There is no unfinished sweep", "Begin one: scripts/lab sweep configs/sweeps/smoke.yaml")
    if name is None:
        return _of_this_version(found[-1])
    matches = [one for one in found if {one.identity, folders.name_of(one.identity)} & {name, f"{name}{QUICK_SUFFIX}"}]
    if not matches:
        raise LabError(
            f"There is no unfinished sweep {name!r}", f"There are {', '.join(one.identity for one in found)}."
        )
    return _of_this_version(matches[-1])


def _of_this_version(kept: Unfinished) -> Unfinished:
    if kept.plan.get("schema") != folders.SCHEMA:
        raise LabError(
            f"{kept.identity} was begun by another version of the lab",
            f"Finish it with that one (its steps' environment.json have the commit), or remove {kept.folder} and begin anew.",
        )
    return kept


@contextmanager
def only_one(*, results_folder: Path | None = None) -> Iterator[None]:
    """Two sweeps at once would measure each other. Raises LabError; the lock goes with the process, however that ends."""
    folder = unfinished_folder(results_folder)
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / ".lock", os.O_CREAT | os.O_RDWR, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError(
                "Another sweep is under way", "Wait for its end: two at once would measure each other."
            ) from None
        yield
    finally:
        os.close(handle)
