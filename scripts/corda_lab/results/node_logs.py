"""The logs of the nodes that are kept with a failed load: files in ``logs/``, and ``logs.json`` with their errors.

A run of one step has them in ``logs/``, a sweep in ``logs/<step>/``. A file has the time of the load only, at most
``BYTES_MAX`` of it, without secrets, and is compressed if it is large.
"""

import gzip
import shutil
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from corda_lab.results import folders
from corda_lab.steps.node_log import ErrorKind

FOLDER = "logs"
INDEX = "logs.json"

BYTES_MAX = 4 * 1024**2
"""The longest text of a node that is kept: half of it from the beginning of the load, half from its end."""
PLAIN_BYTES_MAX = 256 * 1024
"""Longer texts are compressed."""


class Part(BaseModel):
    """Base of the models: immutable, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class KeptLog(Part):
    """The log of one node: its file, and what was logged during the load.

    ``lines_left_out`` is the number of lines between its beginning and its end that were too many; errors are counted
    in them too. ``others`` is the number of errors of kinds that are not listed.
    """

    node: str
    file: str
    entries: int
    lines_left_out: int = 0
    errors: list[ErrorKind] = []
    others: int = 0

    @property
    def error_count(self) -> int:
        return sum(kind.count for kind in self.errors) + self.others


class KeptLogs(Part):
    """The content of ``logs.json``: why logs were kept, of which time (unix seconds), and which could not be read."""

    why: str
    since: float
    until: float
    logs: list[KeptLog]
    missing: dict[str, str] = {}
    """Why the log of a node could not be read, by node."""


@dataclass
class BoundedText:
    """Lines up to a number of bytes: the first half of them, and the newest ones. What is between is left out."""

    bytes_max: int = BYTES_MAX
    left_out: int = 0
    _head: list[bytes] = field(default_factory=list)
    _tail: deque[bytes] = field(default_factory=deque)
    _head_bytes: int = 0
    _tail_bytes: int = 0

    def add(self, line: str) -> None:
        encoded = line.encode("utf-8", errors="replace") + b"\n"
        half = self.bytes_max // 2
        if not self._tail and self._head_bytes + len(encoded) <= half:
            self._head.append(encoded)
            self._head_bytes += len(encoded)
            return
        self._tail.append(encoded)
        self._tail_bytes += len(encoded)
        while self._tail_bytes > half and len(self._tail) > 1:
            self._tail_bytes -= len(self._tail.popleft())
            self.left_out += 1

    def content(self) -> bytes:
        """The lines, with a line that says how many are left out."""
        said = [f"… {self.left_out} lines are left out here …\n".encode()] if self.left_out else []
        return b"".join([*self._head, *said, *self._tail])


def write_log(folder: Path, node: str, text: BoundedText) -> str:
    """Write the log of a node, and return the name of its file."""
    folder.mkdir(parents=True, exist_ok=True)
    content = text.content()
    if len(content) <= PLAIN_BYTES_MAX:
        (folder / f"{node}.log").write_bytes(content)
        return f"{node}.log"
    # Without a time, the same log always gives the same file.
    (folder / f"{node}.log.gz").write_bytes(gzip.compress(content, mtime=0))
    return f"{node}.log.gz"


def write_index(folder: Path, kept: KeptLogs) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folders.write_json(folder / INDEX, kept.model_dump(mode="json"))


def read_index(folder: Path) -> KeptLogs | None:
    """Read ``logs.json`` of a folder with logs; None if there is none. Raises LabError if it is damaged."""
    path = folder / INDEX
    return folders.read_model(path, KeptLogs) if folders.has_file(path) else None


def copy(source: Path, target: Path) -> None:
    """Copy a folder with logs. That of a step that broke has been set aside with the rest of its evidence."""
    if source.is_dir():
        shutil.copytree(source, target)


def of_run(folder: Path) -> Iterator[tuple[int, Path, KeptLogs]]:
    """The logs that are kept with a run: the index of the step, their folder, and what they are. Raises LabError."""
    logs = folder / FOLDER
    if (kept := read_index(logs)) is not None:
        yield 1, logs, kept
    steps = sorted(path for path in logs.iterdir() if path.name.isdecimal()) if folders.has_folder(logs) else []
    for step in steps:
        if (kept := read_index(step)) is not None:
            yield int(step.name), step, kept
