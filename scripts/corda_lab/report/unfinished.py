"""What can be said of a run that failed or was interrupted: its reason, its rows, and what is missing."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from corda_lab import atomic, locks
from corda_lab.errors import LabError
from corda_lab.node_logs import model as node_logs
from corda_lab.results import folders, store, stored
from corda_lab.results.stored import EVIDENCE, KILLED, RUN_STEP, iso
from corda_lab.steps import rows
from corda_lab.text.words import plural

TABLE = f"{EVIDENCE}/requests.parquet"


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
    matches = folders.find_unfinished(name, results=results)
    return matches[0] if len(matches) == 1 else None


def lacks_report(folder: Path) -> bool:
    """Whether a run of one load was measured, and lacks nothing but its report. Raises LabError."""
    is_run = not locks.is_locked(folder) and stored.read_manifest(folder).kind == "run"
    return is_run and any(step.is_measured for step in stored.read_steps(folder).values())


def report(folder: Path) -> UnfinishedReport:
    """Report on an unfinished run, and store its rows as a table. Raises LabError if it is still in progress."""
    if locks.is_locked(folder):
        raise LabError(f"{folder.name} is in progress", "Its report is written when it has ended.", exit_code=1)
    manifest, steps = stored.read_manifest(folder), stored.read_steps(folder)
    if manifest.kind == "sweep":
        complete = sum(step.is_measured for step in steps.values())
        raise LabError(
            f"{folder.name} is an unfinished sweep with {plural(complete, 'complete step')}",
            "Continue it with `scripts/lab sweep resume`, or report its steps with `scripts/lab sweep finish`.",
        )
    killed = RUN_STEP.model_copy(update={"state": "interrupted", "why": KILLED})
    place, last = list(steps.items())[-1] if steps else (folder, killed)
    if last.state == "done":
        # The nodes were conditioned, and the load had not begun.
        last = killed
    frame = _rows(place)
    done = frame.filter(rows.is_done())["latency_ms"]
    values = rows.distribution(done)
    return UnfinishedReport(
        run=folder.name,
        outcome=last.state,
        reason=last.why,
        command=manifest.command or None,
        rows=frame.height,
        outcomes=dict(frame.group_by("outcome").len().sort("outcome").iter_rows()),
        first_started_at=iso(float(frame["started_at"].min())) if frame.height else None,  # type: ignore[arg-type]
        last_ended_at=iso(float(frame["ended_at"].max())) if frame.height else None,  # type: ignore[arg-type]
        p50_ms=values.p50,
        p99_ms=values.p99,
        missing=_missing(place, has_rows=frame.height > 0, were_fetched=last.rows is not None),
        table=str(place / TABLE) if frame.height else None,
        logs=node_logs.lines(folder),
    )


def _rows(place: Path) -> pl.DataFrame:
    paths = store.rows_files(place)
    frame = rows.read_rows(paths) if paths else pl.DataFrame(schema=rows.ROW_SCHEMA)
    if frame.height:
        with atomic.whole_file(place / TABLE) as partial:
            frame.write_parquet(partial)
    return frame


def _missing(place: Path, *, has_rows: bool, were_fetched: bool) -> list[str]:
    found = []
    if not were_fetched:
        found.append("its rows, which may still be in the lab's volume: the next `scripts/lab up` or run collects them")
    elif not has_rows:
        found.append("rows: no request had ended")
    if not any((place / EVIDENCE).glob("*.end.json")):
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
