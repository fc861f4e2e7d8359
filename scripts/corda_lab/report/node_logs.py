"""The logs that are kept with a failed load, as a report shows them: their errors by frequency, and the files."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from corda_lab.results import node_logs
from corda_lab.results.node_logs import KeptLog
from corda_lab.steps.node_log import ErrorKind

SHOWN_MAX = 50
"""Kinds of error that a report lists. All are in ``logs.json``."""


@dataclass(frozen=True)
class FileOfLog:
    step: int
    path: str
    log: KeptLog


@dataclass(frozen=True)
class Section:
    """Everything that a report shows of the kept logs. ``why`` has the reasons, by step, for which they were kept."""

    why: list[tuple[int, str]]
    errors: list[tuple[FileOfLog, ErrorKind]]
    """Most frequent first."""
    files: list[FileOfLog]
    missing: list[tuple[str, str]]


def section(folder: Path) -> Section | None:
    """The kept logs of a run; None if it has none. Raises LabError if ``logs.json`` is damaged."""
    of_steps = list(node_logs.of_run(folder))
    if not of_steps:
        return None
    files = [
        FileOfLog(step, (path.relative_to(folder) / log.file).as_posix(), log)
        for step, path, kept in of_steps
        for log in kept.logs
    ]
    errors = [(file, kind) for file in files for kind in file.log.errors]
    return Section(
        why=[(step, kept.why) for step, _, kept in of_steps],
        errors=sorted(errors, key=lambda error: (-error[1].count, error[1].first_at)),
        files=files,
        missing=[(node, why) for _, _, kept in of_steps for node, why in kept.missing.items()],
    )


def clock(at: float) -> str:
    """A time of the day in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S.%f")[:-3]


def lines(folder: Path) -> list[str]:
    """What ``lab report`` says of the logs of a run without results: the files, and the most frequent errors."""
    found = section(folder)
    if found is None:
        return []
    words = [f"{len(found.files)} in {folder / node_logs.FOLDER}"]
    for file, kind in found.errors[:3]:
        words.append(f"{kind.count:,} × {file.log.node} {kind.level} {kind.words}")
    return words
