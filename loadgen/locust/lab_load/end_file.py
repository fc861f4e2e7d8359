"""The summary of each process at the end of a run, and the end file, which combines them.

A new value of a run has three places: a field of ``ProcessSummary``, which ``ProcessRun.close`` sets; a field of
``lab_workload.run_end.RunEnd``, which is its name in ``<run id>.end.json``; and a line in ``end_of``, which combines
the values of all processes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lab_load.schedule import Lags
from lab_workload.load import OUTCOMES, Outcome
from lab_workload.plan import Plan
from lab_workload.run_end import PreparedStep, RunEnd, WorkerEnd

LAG_QUANTILE = 0.99


@dataclass(frozen=True)
class ProcessSummary:
    """The summary of one process. Times are in Unix seconds. Values that closed load does not have are None."""

    worker: int
    """Index of the worker, from 1; 0 for a single-process generator."""
    started_at: float
    spawned_at: float | None
    """Time when all its users were running; None if the run ended before."""
    stop_at: float
    """Time when it stopped starting requests."""
    ended_at: float
    users: int
    requests: int
    rows: int
    """Number of rows that it wrote."""
    outcomes: dict[Outcome, int]
    cpu_percent_max: float
    """Highest CPU utilisation over a window, in percent of one core; see ``CpuMeter``."""
    exit_reason: str
    offered: int | None
    late: int | None
    dropped: int | None
    lags: list[tuple[int, int]]
    """Schedule lags as (microseconds, count); see ``Lags``."""
    pool_free_min: int | None


def end_of(plan: Plan, summaries: Sequence[ProcessSummary], setup: Sequence[PreparedStep], exit_reason: str) -> RunEnd:
    """Combine the summaries of all processes of a run with its set-up."""
    lags = Lags(lag for summary in summaries for lag in summary.lags)
    spawned = [summary.spawned_at for summary in summaries if summary.spawned_at is not None]
    return RunEnd(
        started_at=min(summary.started_at for summary in summaries),
        # All users are running only when those of every process are running.
        spawned_at=max(spawned) if len(spawned) == len(summaries) else None,
        stop_at=max(summary.stop_at for summary in summaries),
        ended_at=max(summary.ended_at for summary in summaries),
        model=plan.load.arrivals,
        rate=plan.load.rate,
        users=sum(summary.users for summary in summaries),
        requests=sum(summary.requests for summary in summaries),
        outcomes={name: sum(summary.outcomes[name] for summary in summaries) for name in OUTCOMES},
        offered=_sum(summary.offered for summary in summaries),
        late=_sum(summary.late for summary in summaries),
        dropped=_sum(summary.dropped for summary in summaries),
        lag_p99_ms=lags.quantile_ms(LAG_QUANTILE),
        pool_free_min=min(_known(summary.pool_free_min for summary in summaries), default=None),
        setup=list(setup),
        rows={str(summary.worker): summary.rows for summary in summaries},
        cpu_percent_max=max(summary.cpu_percent_max for summary in summaries),
        workers=[WorkerEnd(summary.worker, summary.cpu_percent_max, summary.rows) for summary in summaries],
        exit_reason=exit_reason,
    )


def _known(values: Iterable[int | None]) -> list[int]:
    return [value for value in values if value is not None]


def _sum(values: Iterable[int | None]) -> int | None:
    """Return the sum of the values that are not None; None if all are None."""
    known = _known(values)
    return sum(known) if known else None
