"""A stored run: manifest, steps and tables, read for reports and comparisons and never changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from corda_lab.errors import LabError
from corda_lab.results import audits
from corda_lab.results.audits import Audit
from corda_lab.results.folders import DAMAGED, SCHEMA, as_model, read_json
from corda_lab.results.manifest import Environment, Manifest
from corda_lab.results.sweep import SweepPlan
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.spans import NO_SPANS
from corda_lab.steps.usage import NO_SAMPLES

NO_SWEEP = SweepPlan()


@dataclass(frozen=True)
class StoredRun:
    """The manifest and the steps of a run or a sweep. Its tables are read on demand."""

    folder: Path
    manifest: Manifest
    steps: list[StepEntry]

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
        """A table (``requests``, ``metrics``), or some of its columns. Raises LabError if it is damaged."""
        try:
            return pl.read_parquet(self.folder / f"{name}.parquet", columns=list(columns) if columns else None)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise LabError(f"{self.folder}: its tables cannot be read ({error})", DAMAGED) from None

    def stage_rows(self) -> pl.DataFrame | None:
        """The stage rows; None if the run has none."""
        return self.table("stages") if (self.folder / "stages.parquet").is_file() else None

    def audits(self) -> dict[int, Audit]:
        """What the ledgers prove about each step, by its index. Raises LabError if the file is damaged."""
        return audits.read(self.folder)

    def spans(self) -> pl.DataFrame:
        """The spans of traced requests; without rows if the run has none."""
        return self.table("spans") if (self.folder / "spans.parquet").is_file() else NO_SPANS

    def samples(self) -> pl.DataFrame:
        """The samples of containers each second; without rows if the run has none."""
        return self.table("samples") if (self.folder / "samples.parquet").is_file() else NO_SAMPLES


def read(folder: Path) -> StoredRun:
    """Read the manifest and the steps of a run. Raises LabError if the run is damaged or has an unknown schema."""
    manifest, stored = read_json(folder / "run.json"), read_json(folder / "steps.json")
    schema = stored.get("schema") if isinstance(stored, dict) else None
    if schema != SCHEMA:
        raise LabError(
            f"{folder}: was measured by another version of the lab (schema {schema}; this one reads {SCHEMA})",
            "Its own report.html still opens, but this version cannot rebuild it.",
        )
    if not (isinstance(stored.get("steps"), list) and stored["steps"]):
        raise LabError(f"{folder}: its steps.json has no step", DAMAGED)
    steps = [as_model(folder / "steps.json", step, StepEntry) for step in stored["steps"]]
    run = StoredRun(folder, as_model(folder / "run.json", manifest, Manifest), steps)
    for step in steps:
        if not 0 <= step.environment < len(run.manifest.environments):
            raise LabError(
                f"{folder}: its run.json has no environment {step.environment} of step {step.index}", DAMAGED
            )
    return run
