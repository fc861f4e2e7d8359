"""The folders in ``results/``, one per run: their names, which of them are finished, their locks, and JSON files.

``results.store`` writes a run, ``results.stored`` reads it.
"""

import contextlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from corda_lab import atomic, locks
from corda_lab.errors import LabError
from corda_lab.paths import RESULTS
from corda_lab.text import ui

SCHEMA = 9
"""Version of the format of ``run.json`` and ``step.json``. No other can be read."""

RUN = "run.json"
RUN_NAME = re.compile(r"\d{8}T\d{6}Z-[a-z0-9][a-z0-9-]*")
NAME_LENGTH_MAX = 60
REMOVED = ".removed-"
"""Name prefix of a folder that is being deleted."""

DAMAGED = "The run is damaged; choose another."

FREE_BYTES_MIN = 200 * 1024**2
"""Free disk space without which nothing is measured: room for the rows and metrics of a large run."""


def check_name(name: str, *, option: str, length_max: int = NAME_LENGTH_MAX) -> str:
    """Return ``name`` if it can be the name of a run. Raises LabError, which names ``option``, if it cannot."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name) or len(name) > length_max:
        raise LabError(
            f"{option}: {name!r} cannot be the name of a run",
            f"Use lower-case letters, digits and hyphens, at most {length_max}.",
        )
    return name


def run_id(name: str, *, at: datetime | None = None) -> str:
    """The id of a run: ``<utc>-<name>``, which sorts by time."""
    return f"{(at or datetime.now(UTC)):%Y%m%dT%H%M%SZ}-{name}"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def write_json(path: Path, content: Any) -> None:
    """Write JSON, indented and with its fields in the given order. The file is replaced as a whole or not at all."""
    atomic.write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file of a run. Raises LabError, which names the file, if it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise LabError(f"{path}: cannot be read ({error})", DAMAGED) from None


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON file whose content is an object. Raises LabError for any other content."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise LabError(f"{path}: is not a JSON object", DAMAGED)
    return content


Model = TypeVar("Model", bound=BaseModel)


def read_model(path: Path, model: type[Model]) -> Model:
    """Read a JSON file of a run as a model. Raises LabError with the file and the first wrong field."""
    try:
        return model.model_validate(read_json(path))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(name) for name in first["loc"])
        raise LabError(f"{path}: {field}: {first['msg']}", DAMAGED) from None


def name_of(identity: str) -> str:
    """The name in a run's id: ``20260102T030405Z-iou`` is ``iou``."""
    return identity.partition("-")[2]


def run_folder(identity: str, *, results: Path | None = None) -> Path:
    return (results or RESULTS) / identity


def require_free(identity: str, *, results: Path | None = None) -> None:
    """Raise LabError if a run with this id already exists."""
    final = run_folder(identity, results=results)
    if final.exists():
        raise LabError(f"{final} already exists", "Start again a second later, or give another --name.")


def unwritable(folder: Path, error: OSError) -> LabError:
    """Return the error for a folder of results that cannot be written."""
    return LabError(
        f"{folder}: results cannot be written there ({error.strerror or error})",
        "Make the folder writable or free some disk space, or set LAB_RESULTS_DIR to another folder.",
    )


def require_writable(*, results: Path | None = None) -> None:
    """Check, before anything is measured, that results can be stored. Raises LabError that names the folder."""
    folder = results or RESULTS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            # A full disk or a used-up quota often still takes an empty file.
            probe.write(bytes(1024**2))
            probe.flush()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise unwritable(folder, error) from None
    if free < FREE_BYTES_MIN:
        raise LabError(
            f"{folder}: only {free / 1024**2:.0f} MiB of disk space are free; a run may need"
            f" {FREE_BYTES_MIN / 1024**2:.0f} MiB",
            "Free some disk space, or set LAB_RESULTS_DIR to a folder on another disk.",
        )


def point_latest(run: Path) -> None:
    """Point ``latest`` to ``run``, atomically."""
    # With a fixed name, the next process replaces what a killed one left here.
    staged = run.parent / ".latest"
    with contextlib.suppress(FileNotFoundError):
        staged.unlink()
    # If two runs end at the same moment, either may be the latest.
    with contextlib.suppress(FileExistsError):
        staged.symlink_to(run.name)
    with contextlib.suppress(FileNotFoundError):
        staged.replace(run.parent / "latest")


def is_finished(run: Path) -> bool:
    """Whether all steps of a run are there. A run that cannot be read counts as finished: it cannot go on."""
    try:
        return read_object(run / RUN).get("finished_at") is not None
    except LabError:
        return True


def all_runs(*, results: Path | None = None) -> list[Path]:
    """The folders of the finished runs, oldest first."""
    return [run for run in _folders_of_runs(results or RESULTS) if is_finished(run)]


def unfinished_runs(*, results: Path | None = None) -> list[Path]:
    """The folders of the runs that are in progress, failed or were interrupted, oldest first."""
    return [run for run in _folders_of_runs(results or RESULTS) if not is_finished(run)]


def unfinished_sweeps(*, results: Path | None = None) -> list[Path]:
    return [run for run in unfinished_runs(results=results) if read_object(run / RUN).get("kind") == "sweep"]


def _folders_of_runs(parent: Path) -> list[Path]:
    """The folders in ``parent`` that have the name of a run, oldest first. Raises LabError if it cannot be read."""
    try:
        return sorted(path for path in parent.iterdir() if RUN_NAME.fullmatch(path.name) and path.is_dir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise LabError(
            f"{parent}: cannot be read ({error.strerror})", "Make it a folder that this user can read."
        ) from None


def find_run(name: str, *, results: Path | None = None) -> Path:
    """The folder of a finished run, given as ``latest``, an id or its beginning, a name, or a path.

    ``latest`` passes over folders whose files are no JSON, and names them. Raises LabError if no run or more than one
    matches.
    """
    results = results or RESULTS
    runs = all_runs(results=results)
    if name == "latest":
        return _latest(results, runs)
    for path in (results / name, Path(name)):
        if (path / RUN).is_file() and is_finished(path):
            return path.resolve()
    matches = [run for run in runs if run.name.startswith(name) or run.name.endswith(f"-{name}")]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise LabError(
            f"{name!r} matches {len(matches)} runs: {', '.join(run.name for run in matches)}",
            "Give the full name of one of them.",
        )
    if find_unfinished(name, results=results):
        raise LabError(f"{name!r} has no results, because it did not finish", f"See `scripts/lab report {name}`.")
    raise LabError(f"There is no run {name!r} in {results}", "`scripts/lab list` shows all runs.")


def find_unfinished(name: str, *, results: Path | None = None) -> list[Path]:
    """The folders of the unfinished runs with this id, beginning of an id, or name."""
    runs = unfinished_runs(results=results)
    return [run for run in runs if run.name.startswith(name) or name_of(run.name) == name]


def _latest(results: Path, runs: Sequence[Path]) -> Path:
    """The newest run whose files can be read; else the newest. Raises LabError if there is no run."""
    linked = (results / "latest").resolve()
    candidates = list(dict.fromkeys([*(run for run in runs if run.resolve() == linked), *reversed(runs)]))
    if not candidates:
        raise LabError("There is no run yet", "Start one with `scripts/lab run iou`.")
    skipped = []
    for folder in candidates:
        try:
            for file in (folder / RUN, *folder.glob("steps/[0-9]*/step.json")):
                read_object(file)
        except LabError as error:
            skipped.append(error.message)
            continue
        for text in skipped:
            ui.warn(f"skipped a damaged run: {text}")
        return folder
    return candidates[0]


def has_file(path: Path) -> bool:
    """Whether there is a file. Where that cannot be seen, for lack of permission, there is none."""
    try:
        return path.is_file()
    except OSError:
        return False


@contextmanager
def in_progress(folder: Path) -> Iterator[None]:
    """Hold the lock of a run or a step. Raises LabError if another command works on it, or it is gone."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locks.locked(folder))
        except BlockingIOError:
            raise LabError(f"{folder.name} is in progress in another command", "Wait for it or stop it.") from None
        except OSError as error:
            raise LabError(f"{folder}: cannot be read ({error.strerror})", "`scripts/lab list` shows all.") from None
        yield


def remove(folder: Path) -> None:
    """Delete the folder of a run or a step. It is renamed first: half deleted, it would look damaged."""
    removed = folder.with_name(f"{REMOVED}{folder.name}")
    folder.rename(removed)
    # Another command may tidy up meanwhile.
    shutil.rmtree(removed, ignore_errors=True)


def tidy(parent: Path, *, partial_of: str = "") -> None:
    """Delete what killed processes left half deleted in a folder, and half written under a name, or any."""
    for path in [*parent.glob(f"{REMOVED}*"), *parent.glob(f"{atomic.PARTIAL}{partial_of}*")]:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
