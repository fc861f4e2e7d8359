"""The logs that are kept with a failed load, as a report shows them: their errors by frequency, and the files."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from corda_lab.results import node_logs
from corda_lab.results.node_logs import KeptLogs
from corda_lab.text.words import plural

SHOWN_MAX = 50
"""Kinds of error that a report lists. All are in ``logs.json``."""


@dataclass(frozen=True)
class ErrorRow:
    """Errors of one kind on one node. ``file`` is the path of the log from the folder of the run."""

    step: int
    node: str
    count: int
    level: str
    message: str
    exception: str
    example: str
    first: str
    last: str
    file: str


@dataclass(frozen=True)
class FileRow:
    """The log of a node: its path from the folder of the run, and what is in it."""

    step: int
    node: str
    file: str
    words: str


@dataclass(frozen=True)
class Section:
    """Everything that a report shows of the kept logs. ``why`` has the reasons, by step, for which they were kept."""

    why: list[tuple[int, str]]
    errors: list[ErrorRow]
    more: int
    files: list[FileRow]
    missing: list[tuple[str, str]]


def section(folder: Path) -> Section | None:
    """The kept logs of a run; None if it has none. Raises LabError if ``logs.json`` is damaged."""
    found = list(node_logs.of_run(folder))
    if not found:
        return None
    errors = [row for step, path, kept in found for row in _error_rows(step, path.relative_to(folder), kept)]
    errors.sort(key=lambda row: (-row.count, row.first))
    files = [row for step, path, kept in found for row in _file_rows(step, path.relative_to(folder), kept)]
    missing = [(node, why) for _, _, kept in found for node, why in kept.missing.items()]
    return Section(
        why=[(step, kept.why) for step, _, kept in found],
        errors=errors[:SHOWN_MAX],
        more=max(0, len(errors) - SHOWN_MAX),
        files=files,
        missing=missing,
    )


def clock(at: float) -> str:
    """A time of the day in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S.%f")[:-3]


def _error_rows(step: int, path: Path, kept: KeptLogs) -> list[ErrorRow]:
    return [
        ErrorRow(
            step=step,
            node=log.node,
            count=kind.count,
            level=kind.level,
            message=kind.message,
            exception=kind.exception or "",
            # A message without values is its own example.
            example=kind.example if kind.example not in (kind.message, _together(kind.message, kind.exception)) else "",
            first=clock(kind.first_at),
            last=clock(kind.last_at),
            file=(path / log.file).as_posix(),
        )
        for log in kept.logs
        for kind in log.errors
    ]


def _together(message: str, exception: str | None) -> str:
    return message if exception is None else f"{message} – {exception}"


def _file_rows(step: int, path: Path, kept: KeptLogs) -> list[FileRow]:
    rows = []
    for log in kept.logs:
        count = sum(kind.count for kind in log.errors) + log.others
        words = f"{log.entries:,} {'entry' if log.entries == 1 else 'entries'}, {plural(count, 'error')}"
        if log.lines_left_out:
            words += f"; {plural(log.lines_left_out, 'line')} between its beginning and its end are left out"
        rows.append(FileRow(step, log.node, (path / log.file).as_posix(), words))
    return rows


def lines(folder: Path) -> list[str]:
    """What ``lab report`` says of the logs of a run without results: the files, and the most frequent errors."""
    found = section(folder)
    if found is None:
        return []
    words = [f"{len(found.files)} in {folder / node_logs.FOLDER}"]
    for row in found.errors[:3]:
        words.append(f"{row.count:,} × {row.node} {row.level} {_together(row.message, row.exception or None)}")
    return words
