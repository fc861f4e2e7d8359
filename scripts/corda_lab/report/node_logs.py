"""The logs that are kept with a failed load, as a report shows them: their errors by frequency, and the files."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corda_lab.results import node_logs
from corda_lab.results.node_logs import KeptLog
from corda_lab.steps.node_log import ErrorKind


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
    kept_of_steps = list(node_logs.of_run(folder))
    if not kept_of_steps:
        return None
    files = [
        FileOfLog(step, (path.relative_to(folder) / log.file).as_posix(), log)
        for step, path, kept in kept_of_steps
        for log in kept.logs
    ]
    errors = [(file, kind) for file in files for kind in file.log.errors]
    return Section(
        why=[(step, kept.why) for step, _, kept in kept_of_steps],
        errors=sorted(errors, key=lambda error: (-error[1].count, error[1].first_at)),
        files=files,
        missing=[(node, why) for _, _, kept in kept_of_steps for node, why in kept.missing.items()],
    )


def lines(folder: Path) -> Iterator[str]:
    """What ``lab report`` says of the logs of a run without results: the files, and the most frequent errors."""
    logs = section(folder)
    if logs is None:
        return
    yield f"{len(logs.files)} in {folder / node_logs.FOLDER}"
    for file, kind in logs.errors[:3]:
        yield f"{kind.count:,} × {file.log.node} {kind.level} {kind.words}"
