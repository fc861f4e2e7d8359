"""Writes what was measured: the files of a run, and of a step of a sweep that is not finished yet."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from corda_lab.results import folders
from corda_lab.text import ui


@dataclass(frozen=True)
class Measured:
    """One step as it was measured: its entry of ``steps.json``, its tables, and the environment that it ran in."""

    step: dict[str, Any]
    requests: pl.DataFrame
    metrics: pl.DataFrame
    stage_rows: pl.DataFrame | None
    environment: dict[str, Any]
    workload: str
    workload_text: str


ALONE: dict[str, Any] = {
    "index": 1,
    "key": "run",
    "label": "",
    "point": {},
    "repeat": 1,
    "phase": "measure",
    "environment": 0,
    "thresholds": {"passed": True, "reasons": []},
    "measured_again": [],
}
"""What the step of a run of one step says of its place."""


def iso(seconds: float) -> str:
    """Unix seconds as UTC text."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def single(identity: str, measured: Measured) -> dict[str, Any]:
    """``run.json`` of a run of one step, to which it gives its place."""
    measured.step.update({**ALONE, **measured.step})
    return run_manifest(identity, [measured], kind="run", sweep=None, phases=dict(ui.phase_times.seconds))


def run_manifest(
    identity: str,
    steps: Sequence[Measured],
    *,
    kind: str,
    sweep: dict[str, Any] | None,
    phases: dict[str, float],
    command: str | None = None,
    grafana: str | None = None,
) -> dict[str, Any]:
    """The content of ``run.json``. Every step says by its number which environment it ran in.

    ``grafana`` is a link to what Grafana shows of the steps, where it runs.
    """
    environments: list[dict[str, Any]] = []
    for one in steps:
        if one.environment not in environments:
            environments.append(one.environment)
        one.step["environment"] = environments.index(one.environment)
    windows = [one.step["window"] for one in steps]
    return {
        "schema": folders.SCHEMA,
        "kind": kind,
        "id": identity,
        "name": folders.name_of(identity),
        "command": command or command_line(),
        "started_at": iso(min(float(window["load_started_at"]) for window in windows)),
        "ended_at": iso(max(float(window["load_ended_at"]) for window in windows)),
        "phases_seconds": phases,
        "workload_files": {one.workload: one.workload_text for one in steps},
        "environments": environments,
        "sweep": sweep,
        "grafana": grafana,
    }


def with_step(frame: pl.DataFrame, step: dict[str, Any]) -> pl.DataFrame:
    """A table with the number of the step in front."""
    return frame.select(pl.lit(step["index"], dtype=pl.Int32).alias("step"), pl.all())


def stage_table(steps: Sequence[Measured]) -> pl.DataFrame:
    """The stage rows of all steps that have some; each workload brings stages of its own, which are null in others' rows."""
    rows = [with_step(one.stage_rows, one.step) for one in steps if one.stage_rows is not None]
    return pl.concat(rows, how="diagonal_relaxed")


def write_run(folder: Path, run: dict[str, Any], steps: Sequence[Measured]) -> None:
    """Write what was measured: every file of a run but the report and the summaries, which are made from them."""
    pl.concat([with_step(one.requests, one.step) for one in steps]).write_parquet(folder / "requests.parquet")
    pl.concat([with_step(one.metrics, one.step) for one in steps]).write_parquet(folder / "metrics.parquet")
    if any(one.stage_rows is not None for one in steps):
        stage_table(steps).write_parquet(folder / "stages.parquet")
    folders.write_json(folder / "steps.json", {"schema": folders.SCHEMA, "steps": [one.step for one in steps]})
    folders.write_json(folder / "run.json", run)


def write_step(folder: Path, measured: Measured) -> None:
    """Write the files of one step of a sweep."""
    measured.requests.write_parquet(folder / "requests.parquet")
    measured.metrics.write_parquet(folder / "metrics.parquet")
    if measured.stage_rows is not None:
        measured.stage_rows.write_parquet(folder / "stages.parquet")
    for name, content in (("step", measured.step), ("environment", measured.environment)):
        folders.write_json(folder / f"{name}.json", content)
    folders.write_json(folder / "workload.json", {"name": measured.workload, "text": measured.workload_text})


def read_step(folder: Path) -> Measured:
    """A step that ``write_step`` wrote."""
    stage_file = folder / "stages.parquet"
    workload = folders.read_json(folder / "workload.json")
    return Measured(
        folders.read_json(folder / "step.json"),
        pl.read_parquet(folder / "requests.parquet"),
        pl.read_parquet(folder / "metrics.parquet"),
        pl.read_parquet(stage_file) if stage_file.is_file() else None,
        folders.read_json(folder / "environment.json"),
        workload["name"],
        workload["text"],
    )


def command_line() -> str:
    """The command as it was typed, with the launcher's name in front."""
    return shlex.join(["scripts/lab", *sys.argv[1:]])
