"""The evidence of one load, in a folder that exists before the load starts and is deleted once its run is stored.

Written before the load: ``load.json`` (what was asked for), ``workload.yaml``, ``environment.json``, ``setup.json``
and ``counters.json``. Written at its end, however it ends: ``rows/``, with the files of the load generator. If no run
is stored, ``end.json`` says why. The folder of a run is ``results/unfinished/<id>/``; a sweep has one for each attempt
at a step. The command that fills a folder holds its lock, so a folder without a lock is one of an ended command.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from corda_lab import atomic, locks
from corda_lab.errors import LabError
from corda_lab.results import folders
from corda_lab.results.manifest import Environment
from lab_workload.load import Load
from lab_workload.subject import Subject

LOAD = "load.json"
END = "end.json"
ROWS = "rows"
ROWS_FILE = re.compile(r"[^.]+(\.\d+)?\.ndjson")
"""Name of a file with rows: ``<id>.ndjson``, or ``<id>.<worker>.ndjson``. Other files in ``rows/`` have more dots."""

KILLED = "its command was killed, or the machine went down"
INTERRUPTED = "it was interrupted"

Outcome = Literal["failed", "interrupted"]


class LoadFile(BaseModel):
    """The content of ``load.json``: the id of the load, the command, and what was asked for."""

    model_config = ConfigDict(frozen=True)

    schema_: int = Field(default=folders.SCHEMA, alias="schema")
    id: str
    command: str
    began_at: str
    workload: str
    options: Load
    subject: Subject


class EndFile(BaseModel):
    """The content of ``end.json``: why there is no run, and the number of rows; None if they could not be fetched."""

    model_config = ConfigDict(frozen=True)

    outcome: Outcome
    reason: str
    rows: int | None
    ended_at: str | None


def begin(folder: Path, load: LoadFile, workload: str, environment: Environment) -> None:
    """Create the folder with what is known before the load. ``workload`` is the file's text. Raises LabError."""
    try:
        with atomic.whole_folder(folder) as partial:
            (partial / ROWS).mkdir()
            (partial / "workload.yaml").write_text(workload, encoding="utf-8")
            folders.write_json(partial / "environment.json", environment.model_dump(mode="json"))
            folders.write_json(partial / LOAD, load.model_dump(mode="json", by_alias=True))
    except OSError as error:
        raise folders.unwritable(folder, error) from None


def sync_rows(folder: Path) -> None:
    """Flush the files in ``rows/`` to disk, so that the originals can be deleted."""
    for path in [*(folder / ROWS).iterdir(), folder / ROWS]:
        atomic.sync(path)


def rows_files(folder: Path) -> list[Path]:
    found = (folder / ROWS).iterdir() if (folder / ROWS).is_dir() else ()
    return sorted(path for path in found if ROWS_FILE.fullmatch(path.name))


def count_rows(paths: Iterable[Path]) -> int:
    found = 0
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                found += block.count(b"\n")
    return found


def end(folder: Path, outcome: Outcome, reason: str, *, rows: int | None) -> None:
    content = EndFile(outcome=outcome, reason=reason, rows=rows, ended_at=folders.now())
    folders.write_json(folder / END, content.model_dump(mode="json"))


def ended(folder: Path) -> EndFile:
    """Read why there is no run. Without an end file, the command was killed, and its rows were not fetched."""
    if not (folder / END).is_file():
        return EndFile(outcome="interrupted", reason=KILLED, rows=None, ended_at=None)
    return folders.read_model(folder / END, EndFile)


def identity_of(folder: Path) -> str | None:
    """Return the id of the load whose evidence a folder has; None if it has none."""
    try:
        return folders.read_model(folder / LOAD, LoadFile).id
    except LabError:
        return None


def find(identity: str, *, results: Path | None = None) -> Path | None:
    """Return the folder with the evidence of a load: of a run, or of an attempt at a step of a sweep. None without."""
    unfinished = folders.unfinished_folder(results=results)
    if (unfinished / identity).is_dir():
        return unfinished / identity
    found = unfinished.glob(f"*/*/*/{LOAD}")
    return next((path.parent for path in found if identity_of(path.parent) == identity), None)


class UnfinishedRun(BaseModel):
    """A run without results: in progress, failed or interrupted. ``reason`` says why; ``rows`` counts what is kept."""

    run: str
    kind: str = "run"
    finished: bool = False
    state: Literal["in progress", "failed", "interrupted"]
    reason: str | None = None
    rows: int | None = None
    damaged: str | None = None


def unfinished_runs(*, results: Path | None = None) -> list[UnfinishedRun]:
    """The runs without results, oldest first."""
    unfinished = [path for path in folders.unfinished_folders(results=results) if folders.is_run(path)]
    # A command that is killed right after it has stored its run leaves both folders.
    return [
        _unfinished_run(path)
        for path in unfinished
        if not folders.has_file(path.parent.parent / path.name / "run.json")
    ]


def _unfinished_run(folder: Path) -> UnfinishedRun:
    try:
        if locks.is_locked(folder):
            return UnfinishedRun(run=folder.name, state="in progress")
        seen = ended(folder)
    except (LabError, OSError) as error:
        return UnfinishedRun(run=folder.name, state="interrupted", damaged=str(error))
    return UnfinishedRun(run=folder.name, state=seen.outcome, reason=seen.reason, rows=seen.rows)
