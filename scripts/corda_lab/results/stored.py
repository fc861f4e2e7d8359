"""A stored run: manifest, steps and tables, read for reports and comparisons and never changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import BaseModel, ConfigDict

from corda_lab import locks
from corda_lab.errors import LabError
from corda_lab.results import audits, folders
from corda_lab.results.audits import Audit
from corda_lab.results.folders import DAMAGED, SCHEMA, read_model, read_object
from corda_lab.results.manifest import Environment, Manifest, ProfileEntries, ProfileEntry
from corda_lab.results.sweep import SweepPlan
from corda_lab.steps.entry import Kind, StepEntry
from corda_lab.steps.spans import NO_SPANS
from corda_lab.steps.usage import NO_SAMPLES

STEPS = "steps"
STEP = "step.json"
PLAN = "plan.json"
ENVIRONMENT = "environment.json"
PROFILES = "profiles/profiles.json"
"""What was profiled under the load of a step."""
WORKLOADS = "workloads"
EVIDENCE = "evidence"
"""What is known of a load until its step is complete: the files of the generator, and the counters before it."""

KILLED = "its command was killed, or the machine went down"
INTERRUPTED = "it was interrupted"
NO_REPORT = "it was measured, but its report was not written, which `scripts/lab report` does"

NO_SWEEP = SweepPlan()


class StepFile(BaseModel):
    """What every ``step.json`` has. That of a measured step also has all fields of ``StepEntry``."""

    model_config = ConfigDict(frozen=True)

    index: int
    key: str
    label: str = ""
    repeat: int = 1
    kind: Kind = "measure"
    state: Literal["running", "done", "failed", "interrupted", "broke"] = "running"
    why: str = ""
    """Why it failed, was interrupted, or broke the lab."""
    began_at: str | None = None
    rows: int | None = None
    """The rows that are kept of a step without values; None if they could not be fetched."""

    @property
    def is_measured(self) -> bool:
        return self.state in ("done", "broke") and self.kind != "condition"


RUN_STEP = StepFile(index=1, key="run")
"""The step of a run of one load."""


def read_step(folder: Path) -> StepFile:
    """Read what became of a step. One that nobody works on any more was killed. Raises LabError if it is damaged."""
    step = read_model(folder / STEP, StepFile)
    if step.state == "running" and not locks.is_locked(folder):
        return step.model_copy(update={"state": "interrupted", "why": KILLED})
    return step


def read_steps(run: Path) -> dict[Path, StepFile]:
    """The steps of a run by their folders, in the order in which they ran. Raises LabError if one is damaged."""
    try:
        paths = sorted(path for path in (run / STEPS).iterdir() if not path.name.startswith("."))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise LabError(f"{run / STEPS}: cannot be read ({error.strerror})", DAMAGED) from None
    return {path: read_step(path) for path in paths}


@dataclass(frozen=True)
class StoredRun:
    """The manifest and the measured steps of a run or a sweep. Its tables are read on demand."""

    folder: Path
    manifest: Manifest
    steps: list[StepEntry]
    places: Mapping[int, Path] = field(default_factory=dict)
    """The folders of the steps by their index."""

    @property
    def identity(self) -> str:
        return self.manifest.id

    @property
    def is_sweep(self) -> bool:
        return self.manifest.kind == "sweep"

    @property
    def sweep(self) -> SweepPlan:
        """The plan of the sweep. A run of one step has the defaults."""
        return self.manifest.sweep or NO_SWEEP

    def environment(self, step: StepEntry) -> Environment:
        return self.manifest.environments[step.environment]

    def table(self, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """A table of all steps (``requests``), or some of its columns. Raises LabError if it cannot be read.

        Its column ``step`` has the index of the step.
        """
        if (found := self._table(name, columns)) is None:
            raise LabError(f"{self.folder}: no step has {name}.parquet", DAMAGED)
        return found

    def _table(self, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame | None:
        paths = [path for place in self.places.values() if (path := place / f"{name}.parquet").is_file()]
        if not paths:
            return None
        try:
            parts = [pl.read_parquet(path, columns=list(columns) if columns else None) for path in paths]
            # The stages that a workload does not have are null in its rows.
            return pl.concat(parts, how="diagonal_relaxed" if name == "stages" else "vertical")
        except (OSError, pl.exceptions.PolarsError) as error:
            raise LabError(f"{self.folder}: its tables cannot be read ({error})", DAMAGED) from None

    def stage_rows(self) -> pl.DataFrame | None:
        """The stage rows; None if the run has none."""
        return self._table("stages")

    def audits(self) -> dict[int, Audit]:
        """What the ledgers prove about each step, by its index. Raises LabError if a file is damaged."""
        return audits.read(self.folder)

    def spans(self) -> pl.DataFrame:
        """The spans of traced requests; without rows if the run has none."""
        spans = self._table("spans")
        return NO_SPANS if spans is None else spans

    def samples(self) -> pl.DataFrame:
        """The samples of containers each second; without rows if the run has none."""
        samples = self._table("samples")
        return NO_SAMPLES if samples is None else samples


def read_manifest(folder: Path) -> Manifest:
    """Read ``run.json``. Raises LabError if it is damaged, or of another version of the lab."""
    if (schema := read_object(folder / folders.RUN).get("schema")) != SCHEMA:
        raise LabError(
            f"{folder}: was measured by another version of the lab (schema {schema}; this one reads {SCHEMA})",
            "Its own report.html still opens, but this version can neither rebuild it nor resume the run.",
        )
    return read_model(folder / folders.RUN, Manifest)


def read(folder: Path) -> StoredRun:
    """Read the manifest and the measured steps of a run, finished or not. Raises LabError if it is damaged."""
    manifest = read_manifest(folder)
    places = {step.index: place for place, step in read_steps(folder).items() if step.is_measured}
    if not places:
        raise LabError(f"{folder}: no step is complete", DAMAGED)
    environments: list[Environment] = []
    steps: list[StepEntry] = []
    for place in places.values():
        environment = read_model(place / ENVIRONMENT, Environment)
        if environment not in environments:
            environments.append(environment)
        step = read_model(place / STEP, StepEntry)
        steps.append(step.updated(environment=environments.index(environment)))
    windows = [step.window for step in steps]
    read_from_steps = {
        "started_at": iso(min(window.load_started_at for window in windows)),
        "ended_at": iso(max(window.load_ended_at for window in windows)),
        "workload_files": {
            path.stem: path.read_text(encoding="utf-8") for path in sorted((folder / WORKLOADS).glob("*.yaml"))
        },
        "environments": environments,
        "profiles": [entry for place in places.values() for entry in _profiles(folder, place)],
    }
    return StoredRun(folder, manifest.model_copy(update=read_from_steps), steps, places)


def _profiles(run: Path, place: Path) -> list[ProfileEntry]:
    """The profiles of a step, whose files are named relative to the folder of the run."""
    path, own = place / PROFILES, place.relative_to(run)
    entries = read_model(path, ProfileEntries).root if path.is_file() else []
    return [entry.model_copy(update={"file": entry.file and str(own / entry.file)}) for entry in entries]


def iso(seconds: float) -> str:
    """Unix seconds as ISO 8601 text in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


class UnfinishedRun(BaseModel):
    """A run or sweep that is in progress, failed or was interrupted.

    ``why`` and ``rows`` are those of its last step, ``steps`` counts those that are complete. A sweep can be resumed
    unless it is ``damaged``, or was started by another version of the lab; then that has the reason.
    """

    run: str
    kind: Literal["run", "sweep"] = "run"
    finished: bool = False
    state: Literal["in progress", "failed", "interrupted"] = "interrupted"
    why: str = KILLED
    rows: int | None = None
    steps: int = 0
    steps_planned: int = 0
    damaged: str | None = None


def unfinished(*, results: Path | None = None) -> list[UnfinishedRun]:
    """The runs and sweeps without results, oldest first."""
    return [_unfinished(folder) for folder in folders.unfinished_runs(results=results)]


def _unfinished(folder: Path) -> UnfinishedRun:
    line = UnfinishedRun(run=folder.name)
    try:
        manifest = read_manifest(folder)
        steps = list(read_steps(folder).values())
        planned = manifest.sweep.steps_planned if manifest.sweep else 1
        counted = {"steps": sum(step.is_measured for step in steps), "steps_planned": planned}
        line = line.model_copy(update={"kind": manifest.kind, **counted})
        if locks.is_locked(folder):
            return line.model_copy(update={"state": "in progress"})
    except (LabError, OSError) as error:
        return line.model_copy(update={"damaged": str(error)})
    if steps and steps[-1].is_measured and manifest.kind == "run":
        return line.model_copy(update={"why": NO_REPORT})
    if steps and steps[-1].state in ("failed", "interrupted"):
        last = steps[-1]
        return line.model_copy(update={"state": last.state, "why": last.why, "rows": last.rows})
    return line
