"""Writes the rows and drops of a run: one JSON object per line and arrival, one file of each kind per worker.

A row is encoded when its request ends, and written within a second. If a process is killed, at most that second is
lost, and the last row may be incomplete. A row counts only with its line break; readers ignore the rest.
If the plan says so, there are no rows and no drops, and only the end file is written.
``<run id>.end.json`` is written last and atomically. If it exists, every request of every worker has its row.
"""

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from lab_workload.plan import Plan
from lab_workload.problems import LoadError

BUFFER_BYTES_MAX = 1024 * 1024
"""Size of the buffer. When it is full, all rows in it are written."""

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class RowsError(LoadError):
    """Rows cannot be written, so the run is not reliable any more."""


class RowWriter:
    """Appends rows to a new file, ``<run id>.ndjson`` or, for worker i, ``<run id>.<i>.ndjson``.

    Drops go to a second file, which exists only if there is one. Raises ``RowsError`` if a file already exists or
    cannot be created.
    """

    def __init__(self, directory: Path, run_id: str, worker: int = 0) -> None:
        self.rows = 0
        """Number of rows so far."""
        self._run_id = run_id
        self._rows = _LineFile(rows_path(directory, run_id, worker), run_id)
        self._drops: _LineFile | None = None
        self._drops_path = self._rows.path.with_suffix(".drops.ndjson")

    def append(self, row: Mapping[str, object]) -> None:
        """Append one row. Raises ``RowsError`` if the buffer is full and cannot be written."""
        self.rows += 1
        self._rows.append(row)

    def append_drop(self, drop: Mapping[str, object]) -> None:
        self._drops = self._drops or _LineFile(self._drops_path, self._run_id)
        self._drops.append(drop)

    def flush(self) -> None:
        """Write the buffers. After a failure, a file keeps only complete writes, and every later call raises."""
        for file in self._files:
            file.flush()

    def close(self) -> None:
        """Write the buffers, sync the files to disk and close them. Raises ``RowsError``."""
        with ExitStack() as closing:
            for file in self._files:
                closing.callback(file.close)

    @property
    def _files(self) -> list["_LineFile"]:
        return [self._rows, *([self._drops] if self._drops else [])]


def writer_for(plan: Plan, directory: Path, worker: int = 0) -> RowWriter | None:
    """Return the writer of a plan; None if it asks for no rows. Raises ``RowsError`` as ``RowWriter`` does."""
    return RowWriter(directory, plan.identity, worker) if plan.recording == "rows" else None


class _LineFile:
    """A new file of JSON lines, with a buffer."""

    def __init__(self, path: Path, run_id: str) -> None:
        self.path = path
        self._buffer = bytearray()
        self._bytes_written = 0
        self._failure: RowsError | None = None
        try:
            self._file = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            raise RowsError(f"run id {run_id!r} is already used: {self.path} exists") from None
        except OSError as error:
            raise RowsError(f"cannot write rows to {path.parent}: {error.strerror}") from error

    def append(self, line: Mapping[str, object]) -> None:
        self._buffer += _encode(line).encode()
        self._buffer += b"\n"
        if len(self._buffer) >= BUFFER_BYTES_MAX:
            self.flush()

    def flush(self) -> None:
        if self._failure is None:
            try:
                self._write(bytes(self._buffer))
            except OSError as error:
                with suppress(OSError):  # then the last row is torn, which readers know
                    os.ftruncate(self._file, self._bytes_written)
                self._failure = RowsError(f"cannot write rows to {self.path}: {error.strerror}")
        self._buffer.clear()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        try:
            self.flush()
            os.fsync(self._file)
        except OSError as error:
            raise RowsError(f"cannot write rows to {self.path}: {error.strerror}") from error
        finally:
            os.close(self._file)

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._file, rest) :]
        self._bytes_written += len(data)


def rows_path(directory: Path, run_id: str, worker: int = 0) -> Path:
    """Return the path of the rows. ``worker`` is 0 for a single-process generator."""
    return directory / (f"{run_id}.{worker}.ndjson" if worker else f"{run_id}.ndjson")


def end_path(directory: Path, run_id: str) -> Path:
    return directory / f"{run_id}.end.json"


def ready_path(directory: Path, run_id: str) -> Path:
    """Return the path of the file that a run with ``--hold`` writes after its set-up."""
    return directory / f"{run_id}.ready.json"


def go_path(directory: Path, run_id: str) -> Path:
    """Return the path of the file for which a run with ``--hold`` waits."""
    return directory / f"{run_id}.go"


def stop_path(directory: Path, run_id: str) -> Path:
    """Return the path of the file that ends the load of a run early."""
    return directory / f"{run_id}.stop"


def is_taken(directory: Path, run_id: str) -> bool:
    paths = (rows_path(directory, run_id), rows_path(directory, run_id, 1), end_path(directory, run_id))
    return any(path.exists() for path in paths)


def write_whole(path: Path, content: Mapping[str, object]) -> None:
    """Write a JSON file atomically. Raises ``RowsError``."""
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
