"""The rows of a run: one JSON object per request and line.

A row is encoded when its request ends and written within a second. A process that is killed outright loses at most
that second, and may leave its last row cut off: a row counts once its line break is there, and whoever reads the file
leaves the rest out. ``<run id>.end.json`` appears last and at once, so its presence says that every request of the run
has its row.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab_load.errors import LoadError

BUFFER_BYTES_MAX = 1024 * 1024
"""Rows that may wait to be written; the row that exceeds it has all of them written at once."""

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class RowsError(LoadError):
    """Rows cannot be written, so the run cannot be trusted any more."""


class RowWriter:
    """Appends rows to ``<directory>/<run id>.ndjson``, a file that must not exist yet."""

    def __init__(self, directory: Path, run_id: str) -> None:
        self._path = rows_path(directory, run_id)
        self._end_path = end_path(directory, run_id)
        self._buffer = bytearray()
        self._bytes_written = 0
        self._failure: RowsError | None = None
        try:
            self._file = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            raise RowsError(f"run id {run_id!r} is taken: {self._path} exists") from None
        except OSError as error:
            raise RowsError(f"cannot write rows to {directory}: {error.strerror}") from error

    def append(self, row: Mapping[str, Any]) -> None:
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

    def close(self, end: Mapping[str, Any]) -> None:
        """Write what waits, then ``end`` to ``<run id>.end.json``. Raises ``RowsError``; then there is no such file."""
        try:
            self.flush()
            os.fsync(self._file)
            _write_whole(self._end_path, json.dumps(end, indent=2, allow_nan=False) + "\n")
        except OSError as error:
            raise RowsError(f"cannot write {self._end_path}: {error.strerror}") from error
        finally:
            os.close(self._file)

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._file, rest) :]
        self._bytes_written += len(data)


def rows_path(directory: Path, run_id: str) -> Path:
    """Where the rows of a run are."""
    return directory / f"{run_id}.ndjson"


def end_path(directory: Path, run_id: str) -> Path:
    """Where a run says how it ended."""
    return directory / f"{run_id}.end.json"


def _write_whole(path: Path, text: str) -> None:
    """Write a file that others see whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
