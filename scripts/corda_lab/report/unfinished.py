"""What can be said of a run that failed or was interrupted: its reason, its rows, and what is missing."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from corda_lab import atomic, locks
from corda_lab.errors import LabError
from corda_lab.node_logs import model as node_logs
from corda_lab.results import evidence, folders
from corda_lab.results.files import iso
from corda_lab.steps import rows
from corda_lab.text.words import plural

TABLE = "requests.parquet"


@dataclass(frozen=True)
class UnfinishedReport:
    """What is known of a run without results. Times are in UTC; latencies are those of answered requests, in ms."""

    run: str
    outcome: str
    reason: str
    command: str | None
    rows: int
    outcomes: dict[str, int]
    first_started_at: str | None
    last_ended_at: str | None
    p50_ms: float | None
    p99_ms: float | None
    missing: list[str]
    table: str | None
    logs: list[str]
    """What was kept of the nodes' logs, and their most frequent errors, in words."""


def find(name: str, *, results: Path | None = None) -> Path | None:
    """Return the only unfinished run or sweep with this id, beginning of an id, or name; None if there is none."""
    found = folders.unfinished_folders(results=results)
    matches = [path for path in found if path.name.startswith(name) or folders.name_of(path.name) == name]
    return matches[0] if len(matches) == 1 else None


def report(folder: Path) -> UnfinishedReport:
    """Report on an unfinished run, and store its rows as a table. Raises LabError if it is still in progress."""
    if locks.is_locked(folder):
        raise LabError(f"{folder.name} is in progress", "Its report is written when it has ended.", exit_code=1)
    if not folders.is_run(folder):
        raise LabError(
            f"{folder.name} is an unfinished sweep with {plural(len(folders.complete_steps(folder)), 'complete step')}",
            "Continue it with `scripts/lab sweep resume`, or report its steps with `scripts/lab sweep finish`.",
        )
    ended = evidence.ended(folder)
    frame = _rows(folder)
    done = frame.filter(rows.is_done())["latency_ms"]
    values = rows.distribution(done)
    return UnfinishedReport(
        run=folder.name,
        outcome=ended.outcome,
        reason=ended.reason,
        command=_command(folder),
        rows=frame.height,
        outcomes=dict(frame.group_by("outcome").len().sort("outcome").iter_rows()),
        first_started_at=iso(float(frame["started_at"].min())) if frame.height else None,  # type: ignore[arg-type]
        last_ended_at=iso(float(frame["ended_at"].max())) if frame.height else None,  # type: ignore[arg-type]
        p50_ms=values.p50,
        p99_ms=values.p99,
        missing=_missing(folder, has_rows=frame.height > 0, were_fetched=ended.rows is not None),
        table=str(folder / TABLE) if frame.height else None,
        logs=node_logs.lines(folder),
    )


def _command(folder: Path) -> str | None:
    try:
        return folders.read_model(folder / evidence.LOAD, evidence.LoadFile).command
    except LabError:
        return None


def _rows(folder: Path) -> pl.DataFrame:
    paths = evidence.rows_files(folder)
    frame = rows.read_rows(paths) if paths else pl.DataFrame(schema=rows.ROW_SCHEMA)
    if frame.height:
        with atomic.whole_file(folder / TABLE) as partial:
            frame.write_parquet(partial)
    return frame


def _missing(folder: Path, *, has_rows: bool, were_fetched: bool) -> list[str]:
    found = []
    if not were_fetched:
        found.append("its rows, which may still be in the lab's volume: the next `scripts/lab up` or run collects them")
    elif not has_rows:
        found.append("rows: no request had ended")
    if not any((folder / evidence.ROWS).glob("*.end.json")):
        found.append("the end of the load, so requests in flight have no row")
    return [*found, "the counts after the load, the metrics and the report"]


def lines(seen: UnfinishedReport) -> list[tuple[str, str]]:
    found = [("run", f"{seen.run} has no results"), (seen.outcome, seen.reason)]
    if seen.command:
        found.append(("command", seen.command))
    if seen.rows:
        counted = ", ".join(f"{count} {outcome}" for outcome, count in seen.outcomes.items())
        found.append(("rows", f"{seen.rows} ({counted}), from {seen.first_started_at} to {seen.last_ended_at}"))
    if seen.p50_ms is not None and seen.p99_ms is not None:
        found.append(("latency", f"p50 {seen.p50_ms:,.0f} ms, p99 {seen.p99_ms:,.0f} ms, warm-up included"))
    found += [("missing", text) for text in seen.missing]
    found += [("logs" if not place else "", text) for place, text in enumerate(seen.logs)]
    return [*found, ("table", seen.table)] if seen.table else found
