"""A run as it lies in its folder: manifest, steps and tables, read for reports and comparisons and never changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from corda_lab.errors import LabError
from corda_lab.results.folders import SCHEMA, read_json

DAMAGED = "The run is damaged; choose another."


@dataclass(frozen=True)
class StoredRun:
    """The manifest and the steps of a run of either kind; its tables are read when they are asked for."""

    folder: Path
    manifest: dict[str, Any]
    steps: list[dict[str, Any]]

    @property
    def identity(self) -> str:
        return str(self.manifest["id"])

    @property
    def is_sweep(self) -> bool:
        return bool(self.manifest["kind"] == "sweep")

    @property
    def sweep(self) -> dict[str, Any]:
        """What the sweep planned; of a single run nothing but the confidence that everybody uses."""
        return self.manifest.get("sweep") or {
            "confidence": 0.95,
            "x": None,
            "vary": {},
            "repeats": 1,
            "order": "listed",
        }

    def environment(self, step: dict[str, Any]) -> dict[str, Any]:
        """What a step ran on."""
        found: dict[str, Any] = self.manifest["environments"][step["environment"]]
        return found

    def table(self, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """One of the tables, or some of its columns: ``requests``, ``metrics``. Raises LabError when it is damaged."""
        try:
            return pl.read_parquet(self.folder / f"{name}.parquet", columns=list(columns) if columns else None)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise LabError(f"{self.folder}: its tables cannot be read ({error})", DAMAGED) from None

    def stage_rows(self) -> pl.DataFrame | None:
        """The rows of the flows that time their stages; None where there are none."""
        return self.table("stages") if (self.folder / "stages.parquet").is_file() else None


def read(folder: Path) -> StoredRun:
    """Manifest and steps of a run. Raises LabError for a damaged run, and for one of another version of the lab."""
    manifest, stored = read_json(folder / "run.json"), read_json(folder / "steps.json")
    if stored.get("schema") != SCHEMA:
        raise LabError(
            f"{folder}: was measured by another version of the lab (schema {stored.get('schema')}, not {SCHEMA})",
            "Its own report.html still opens; this version cannot make it again.",
        )
    if not stored.get("steps"):
        raise LabError(f"{folder}: its steps.json has no step", DAMAGED)
    return StoredRun(folder, manifest, stored["steps"])
