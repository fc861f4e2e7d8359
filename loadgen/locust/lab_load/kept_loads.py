"""The files of loads by hand that nobody has made a run of yet. Their number and size are limited: the oldest go first.

``scripts/lab report web-ui`` makes a run of a load, and deletes its files here.
"""

import logging
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from lab_load.row_writer import end_path, write_whole
from lab_workload.by_hand import IDENTITY, LOAD_SUFFIX, REMOVED_FILE, REMOVED_MAX, LoadByHand, RemovedLoad, RemovedLoads
from lab_workload.run_end import RunEnd

RUN_FILE = re.compile(r"(\d{8}T\d{6}Z-[a-z0-9][a-z0-9-]*)\..+")
"""A file of a run of the command line, whose files are here until its results are stored."""
RUN_SECONDS_MAX = 600.0
"""A run of the command line whose files have not changed for so long has ended: its command was killed."""

Value = TypeVar("Value")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class KeptLoad:
    """The files of one load by hand, and their size."""

    identity: str
    paths: tuple[Path, ...]
    bytes: int


def kept_loads(directory: Path) -> list[KeptLoad]:
    """Return all loads by hand, oldest first."""
    files: dict[str, list[Path]] = {}
    for path in directory.iterdir():
        identity = path.name.partition(".")[0]
        if IDENTITY.fullmatch(identity):
            files.setdefault(identity, []).append(path)
    return [KeptLoad(identity, tuple(paths), _size(paths)) for identity, paths in sorted(files.items())]


def _size(paths: list[Path]) -> int:
    total = 0
    for path in paths:
        # Meanwhile, the command line may have collected it.
        with suppress(FileNotFoundError):
            total += path.stat().st_size
    return total


def make_room(directory: Path, *, loads_max: int, bytes_max: int, current: str = "") -> bool:
    """Remove the oldest loads until both limits are kept. Returns whether they are; ``current`` is never removed."""
    loads = kept_loads(directory)
    while len(loads) > loads_max or sum(load.bytes for load in loads) > bytes_max:
        oldest = next((load for load in loads if load.identity != current), None)
        if oldest is None:
            return False
        _remember(directory, oldest)
        logger.warning("Removed the rows of %s, of which no report was made, to make room", oldest.identity)
        remove(oldest)
        loads.remove(oldest)
    return True


def remove(load: KeptLoad) -> None:
    """Delete the files of a load."""
    for path in load.paths:
        path.unlink(missing_ok=True)


def _remember(directory: Path, load: KeptLoad) -> None:
    """Note that a load is removed, so that ``lab list`` can tell. Raises ``RowsError``."""
    path = directory / REMOVED_FILE
    loads: list[RemovedLoad] = []
    with suppress(OSError, ValueError):
        loads = RemovedLoads.read(path.read_text(encoding="utf-8")).loads
    workload = _field(
        directory / f"{load.identity}{LOAD_SUFFIX}", lambda text: LoadByHand.read(text).plan.load.workload
    )
    requests = _field(end_path(directory, load.identity), lambda text: RunEnd.read(text).requests)
    removed = RemovedLoad(load.identity, workload, requests, time.time())
    write_whole(path, RemovedLoads([*loads, removed][-REMOVED_MAX:]).as_dict())


def _field(path: Path, read: Callable[[str], Value]) -> Value | None:
    with suppress(OSError, ValueError):
        return read(path.read_text(encoding="utf-8"))
    return None


def run_of_command_line(directory: Path, *, now: float) -> str | None:
    """Return the id of a run of the command line that is in progress; None if there is none."""
    for path in directory.iterdir():
        match = RUN_FILE.fullmatch(path.name)
        with suppress(FileNotFoundError):
            if match is not None and now - path.stat().st_mtime < RUN_SECONDS_MAX:
                return match[1]
    return None
