"""The log of a node: its entries, which of them are errors, and the errors by kind.

Both presets write the same lines: ``[LEVEL] time [thread] logger - message {context}``, and below them the stack trace
of an exception. The context is Log4j's thread context. While a flow runs on a thread, it has the id of the flow
(``flow-id``), and the client id of the request (``client_id``) if there was one.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from lab_workload.error_text import without_values

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
    """One entry of a log. ``lines`` are those of the file, without their line breaks.

    What comes before the first entry of a file has no level, and ``at`` (unix seconds) is None.
    """

    lines: tuple[str, ...]
    level: str = ""
    at: float | None = None
    logger: str = ""

    @property
    def has_exception(self) -> bool:
        return any(_FRAME.match(line) for line in self.lines[1:])

    @property
    def is_error(self) -> bool:
        """Whether it is a warning or an error, or tells an exception: nodes log those of flows at the level INFO."""
        return self.level in ERROR_LEVELS or self.has_exception

    def names(self, identity: str) -> bool:
        """Whether an id, or the beginning of one, is in the entry: in its context or its text."""
        wanted = identity.lower()
        return any(wanted in line.lower() for line in self.lines)

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


def begins_entry(line: str) -> bool:
    return _HEADER.match(line) is not None


def entry_of(lines: Iterable[str]) -> LogEntry:
    whole = tuple(lines)
    header = _HEADER.match(whole[0]) if whole else None
    if header is None:
        return LogEntry(whole)
    at = datetime.fromisoformat(header["at"].replace(",", ".")).replace(tzinfo=UTC)
    return LogEntry(whole, header["level"], at.timestamp(), header["logger"])


def entries(lines: Iterable[str]) -> Iterator[LogEntry]:
    """The entries of a log, in order. Lines may have their line breaks."""
    pending: list[str] = []
    for line in lines:
        text = line.rstrip("\r\n")
        if pending and begins_entry(text):
            yield entry_of(pending)
            pending = []
        pending.append(text)
    if pending:
        yield entry_of(pending)


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
        told = None if exception is None else _short(without_values(exception))
        key = (entry.level, entry.logger, _short(without_values(message)), told)
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
