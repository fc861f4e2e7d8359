"""The logs of the nodes: their entries, the errors by kind, and the logs that are kept with a failed load.

Both presets write the same lines: ``[LEVEL] time [thread] logger - message {context}``, and below them the stack trace
of an exception. The context is Log4j's thread context. While a flow runs on a thread, it has the id of the flow
(``flow-id``), and the client id of the request (``client_id``) if there was one.

A step keeps logs in ``logs/``: files, and ``logs.json`` with their errors. A file has only the time of the load,
without secrets, at most ``BYTES_MAX`` of it, and is compressed if it is large.
"""

import gzip
import re
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from corda_lab.errors import LabError
from corda_lab.results import folders
from corda_lab.text.words import plural
from lab_workload.error_text import without_values

FOLDER = "logs"
INDEX = "logs.json"
BYTES_MAX = 4 * 1024**2
"""The longest text of a node that is kept: half of it from the beginning of the load, half from its end."""
PLAIN_BYTES_MAX = 256 * 1024
"""Longer texts are compressed."""

_HEADER = re.compile(
    r"\[(?P<level>TRACE|DEBUG|INFO|WARN|ERROR|FATAL) *\] "
    r"(?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{3})\d*Z? "
    r"\[(?P<thread>.*?)\] (?P<logger>\S+) - (?P<message>.*)"
)
_CONTEXT = re.compile(r" ?\{(?:[\w.-]+=[^{}]*)?\}$")
_ERROR_CODE = re.compile(r" \[errorCode=[^\]]*\]$")
"""What Corda appends to a warning with an exception: a hash of the place, and a link."""
_FRAME = re.compile(r"\s+(?:at |\.\.\. \d+ (?:more|common frames omitted))")
_CLASS = re.compile(r"(?:[A-Za-z_$][\w$]*\.)+[A-Za-z_$][\w$]*(?::|$)")
_CAUSE = "Caused by: "

ERROR_LEVELS = ("WARN", "ERROR", "FATAL")
KINDS_MAX = 500
"""Kinds of error that are told apart. Further ones are only counted."""
TEXT_MAX = 500
"""The longest message of a kind, in characters."""


@dataclass(frozen=True)
class LogEntry:
    """One entry of a log. ``at`` is in unix seconds; None for what comes before the first entry of a file."""

    lines: tuple[str, ...]
    level: str = ""
    at: float | None = None
    logger: str = ""

    @property
    def is_error(self) -> bool:
        """Whether it is a warning or an error, or tells an exception: nodes log those of flows at the level INFO."""
        return self.level in ERROR_LEVELS or any(_FRAME.match(line) for line in self.lines[1:])

    def names(self, identity: str) -> bool:
        """Whether an id, or the beginning of one, is in the entry: in its context or its text."""
        return any(identity.lower() in line.lower() for line in self.lines)

    @property
    def message(self) -> str:
        header = _HEADER.match(self.lines[0])
        first = header["message"] if header else self.lines[0]
        rest = self.lines[1 : self._trace_at]
        return _ERROR_CODE.sub("", _CONTEXT.sub("", "\n".join((first, *rest)))).strip()

    @property
    def exception(self) -> str | None:
        """The exception with its message; with the innermost cause, if it has one; None without a stack trace."""
        at = self._trace_at
        if at == len(self.lines):
            return None
        trace = self.lines[at:]
        end = next((place for place, line in enumerate(trace) if _FRAME.match(line)), len(trace))
        whole = " ".join(line.strip() for line in trace[:end])
        causes = [line.removeprefix(_CAUSE) for line in trace if line.startswith(_CAUSE)]
        return f"{whole} (cause: {causes[-1]})" if causes and causes[-1] != whole else whole

    @property
    def _trace_at(self) -> int:
        """The place of the line with the exception before its stack trace; that after the last line without one."""
        frame = next((place for place, line in enumerate(self.lines) if place and _FRAME.match(line)), None)
        if frame is None:
            return len(self.lines)
        # The message of an exception may have several lines.
        return next((place for place in range(frame - 1, 0, -1) if _CLASS.match(self.lines[place])), max(1, frame - 1))


def entries(lines: Iterable[str | None]) -> Iterator[LogEntry]:
    """The entries of a log, in order.

    None in place of a line says that nothing has come for a moment: the last entry is complete.
    """
    pending: list[str] = []
    for line in lines:
        if pending and (line is None or _HEADER.match(line)):
            yield _entry(pending)
            pending = []
        if line is not None:
            pending.append(line)
    if pending:
        yield _entry(pending)


def _entry(lines: list[str]) -> LogEntry:
    header = _HEADER.match(lines[0])
    if header is None:
        return LogEntry(tuple(lines))
    at = datetime.fromisoformat(header["at"].replace(",", ".")).replace(tzinfo=UTC)
    return LogEntry(tuple(lines), header["level"], at.timestamp(), header["logger"])


@dataclass
class ErrorKind:
    """Errors with the same level, logger, message and exception, apart from the values in them.

    ``example`` is the first message, with its exception, as it was logged. Times are in unix seconds.
    """

    level: str
    logger: str
    message: str
    exception: str | None
    count: int
    first_at: float
    last_at: float
    example: str

    @property
    def words(self) -> str:
        """The message and the exception, without the values in them."""
        return self.message if self.exception is None else f"{self.message} – {self.exception}"


@dataclass
class Errors:
    """The errors of a log by kind, as its entries are added. ``others`` counts those beyond ``KINDS_MAX`` kinds."""

    others: int = 0
    _kinds: dict[tuple[str, str, str, str | None], ErrorKind] = field(default_factory=dict)

    def add(self, entry: LogEntry) -> None:
        if not entry.is_error or entry.at is None:
            return
        message, exception = entry.message, entry.exception
        alike = None if exception is None else _short(without_values(exception))
        key = (entry.level, entry.logger, _short(without_values(message)), alike)
        kind = self._kinds.get(key)
        if kind is not None:
            kind.count += 1
            kind.first_at, kind.last_at = min(kind.first_at, entry.at), max(kind.last_at, entry.at)
        elif len(self._kinds) >= KINDS_MAX:
            self.others += 1
        else:
            example = message if exception is None else f"{message} – {exception}"
            self._kinds[key] = ErrorKind(*key, 1, entry.at, entry.at, _short(example))

    @property
    def kinds(self) -> list[ErrorKind]:
        """The kinds, most frequent first."""
        return sorted(self._kinds.values(), key=lambda kind: (-kind.count, kind.first_at))


def _short(text: str) -> str:
    return text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}…"


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
        encoded, half = line.encode("utf-8", errors="replace") + b"\n", self.bytes_max // 2
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


def keep_log(folder: Path, node: str, logged: Iterable[LogEntry]) -> KeptLog | None:
    """Write the log of a node, and return what it has; None without entries."""
    text, errors, count = BoundedText(), Errors(), 0
    for entry in logged:
        count += 1
        errors.add(entry)
        for line in entry.lines:
            text.add(line)
    if not count:
        return None
    content, file = text.content(), f"{node}.log"
    if len(content) > PLAIN_BYTES_MAX:
        # Without a time, the same log always gives the same file.
        content, file = gzip.compress(content, mtime=0), f"{file}.gz"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_bytes(content)
    return KeptLog(
        node=node,
        file=file,
        entries=count,
        lines_left_out=text.left_out,
        errors=errors.kinds,
        others=errors.others,
    )


def read_log(path: Path) -> list[LogEntry]:
    """The entries of a log that was kept, compressed or not. Raises LabError if it is not there or damaged."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            return list(entries(line.rstrip("\n") for line in lines))
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise LabError(f"{path}: cannot be read ({error})", folders.DAMAGED) from None


def write_index(folder: Path, kept: KeptLogs) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folders.write_json(folder / INDEX, kept.model_dump(mode="json"))


def read_index(folder: Path) -> KeptLogs | None:
    """Read ``logs.json`` of a folder with logs; None if there is none. Raises LabError if it is damaged."""
    path = folder / INDEX
    return folders.read_model(path, KeptLogs) if folders.has_file(path) else None


def of_run(folder: Path) -> Iterator[tuple[int, Path, KeptLogs]]:
    """The logs that are kept with a run: the index of the step, their folder, and what they are. Raises LabError."""
    for logs in sorted(folder.glob(f"steps/[0-9]*/{FOLDER}")):
        if (kept := read_index(logs)) is not None:
            yield int(logs.parent.name.partition("-")[0]), logs, kept


@dataclass(frozen=True)
class FileOfLog:
    step: int
    path: str
    """In the folder of the run."""
    log: KeptLog


class Section(NamedTuple):
    """Everything that a report shows of the kept logs."""

    why: list[tuple[int, str]]
    """The reasons, by step, for which they were kept."""
    errors: list[tuple[FileOfLog, ErrorKind]]
    """Most frequent first."""
    files: list[FileOfLog]
    missing: list[tuple[str, str]]
    """The nodes whose log could not be read, and why."""


def section(folder: Path) -> Section | None:
    """The kept logs of a run; None if it has none. Raises LabError if ``logs.json`` is damaged."""
    why, files, missing = [], list[FileOfLog](), list[tuple[str, str]]()
    for step, path, kept in of_run(folder):
        why.append((step, kept.why))
        files += [FileOfLog(step, (path.relative_to(folder) / log.file).as_posix(), log) for log in kept.logs]
        missing += kept.missing.items()
    errors = [(file, kind) for file in files for kind in file.log.errors]
    errors.sort(key=lambda error: (-error[1].count, error[1].first_at))
    return Section(why, errors, files, missing) if why else None


def lines(folder: Path) -> list[str]:
    """What ``lab report`` says of the logs of a run without results: the files, and the most frequent errors."""
    kept = section(folder)
    if kept is None:
        return []
    most = [f"{kind.count:,} × {file.log.node} {kind.level} {kind.words}" for file, kind in kept.errors[:3]]
    return [f"{plural(len(kept.files), 'file')}: {', '.join(file.path for file in kept.files)}", *most]
