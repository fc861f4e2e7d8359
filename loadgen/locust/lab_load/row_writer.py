"""The rows of a run: one JSON object per request and line, a file for every worker.

A row is encoded when its request ends and written within a second. A process that is killed outright loses at most
that second, and may leave its last row cut off: a row counts once its line break is there, and whoever reads the file
leaves the rest out. ``<run id>.end.json`` appears last and at once, so its presence says that every request of the run,
of every worker, has its row.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from lab_workload.load import Outcome
from lab_workload.problems import LoadError

BUFFER_BYTES_MAX = 1024 * 1024
"""Rows that may wait to be written; the row that exceeds it has all of them written at once."""

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class Row(TypedDict):
    """One request. Times are Unix seconds, durations milliseconds; what there is no value of is None."""

    request_id: int
    user_id: int
    workload: str
    part: str
    node: str
    flow: str
    worker: int
    intended_at: float | None
    """When it should have started; None in closed load."""
    started_at: float
    ended_at: float
    latency_ms: float
    latency_intended_ms: float | None
    """From the intended start; None in closed load."""
    outcome: Outcome
    status: int
    """HTTP status; 0 without an answer."""
    error: str | None
    flow_id: str | None
    tx_id: str | None
    client_id: str
    bridge_rpc_ms: float | None
    bridge_flow_ms: float | None


class RowsError(LoadError):
    """Rows cannot be written, so the run cannot be trusted any more."""


class RowWriter:
    """Appends rows to ``<directory>/<run id>.ndjson``, of worker i ``<run id>.<i>.ndjson``; it must not exist yet."""

    def __init__(self, directory: Path, run_id: str, worker: int = 0) -> None:
        self._path = rows_path(directory, run_id, worker)
        self._buffer = bytearray()
        self._bytes_written = 0
        self._failure: RowsError | None = None
        try:
            self._file = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            raise RowsError(f"run id {run_id!r} is taken: {self._path} exists") from None
        except OSError as error:
            raise RowsError(f"cannot write rows to {directory}: {error.strerror}") from error

    def append(self, row: Mapping[str, object]) -> None:
        """Take one row. Raises ``RowsError`` when the buffer is full and cannot be written."""
        self._buffer += _encode(row).encode()
        self._buffer += b"\n"
        if len(self._buffer) >= BUFFER_BYTES_MAX:
            self.flush()

    def flush(self) -> None:
        """Write what waits. After a first failure the file stays as it was before, and every call raises."""
        if self._failure is None:
            try:
                self._write(bytes(self._buffer))
            except OSError as error:
                os.ftruncate(self._file, self._bytes_written)
                self._failure = RowsError(f"cannot write rows to {self._path}: {error.strerror}")
        self._buffer.clear()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Write what waits, to the disk itself. Raises ``RowsError``."""
        try:
            self.flush()
            os.fsync(self._file)
        except OSError as error:
            raise RowsError(f"cannot write rows to {self._path}: {error.strerror}") from error
        finally:
            os.close(self._file)

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._file, rest) :]
        self._bytes_written += len(data)


def rows_path(directory: Path, run_id: str, worker: int = 0) -> Path:
    """Where the rows of a run are; ``worker`` is 0 for a generator of a single process."""
    return directory / (f"{run_id}.{worker}.ndjson" if worker else f"{run_id}.ndjson")


def end_path(directory: Path, run_id: str) -> Path:
    """Where a run says how it ended."""
    return directory / f"{run_id}.end.json"


def ready_path(directory: Path, run_id: str) -> Path:
    """Where a run that holds after its set-up says so."""
    return directory / f"{run_id}.ready.json"


def go_path(directory: Path, run_id: str) -> Path:
    """What a run that holds waits for."""
    return directory / f"{run_id}.go"


def stop_path(directory: Path, run_id: str) -> Path:
    """What ends the load of a run before its time."""
    return directory / f"{run_id}.stop"


def is_taken(directory: Path, run_id: str) -> bool:
    """Whether there is a run of this id already."""
    paths = (rows_path(directory, run_id), rows_path(directory, run_id, 1), end_path(directory, run_id))
    return any(path.exists() for path in paths)


def write_whole(path: Path, content: Mapping[str, object]) -> None:
    """Write a JSON file that others see whole or not at all. Raises ``RowsError``."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            file.write(json.dumps(content, indent=2, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise RowsError(f"cannot write {path}: {error.strerror}") from error
