"""How a run ended: the words of every process that took part, put together."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lab_load.load_plan import LoadPlan
from lab_load.schedule import Lags

LAG_QUANTILE = 0.99

Summary = dict[str, Any]
"""What ``ProcessRun.close`` says of one process."""


def end_of(
    plan: LoadPlan, summaries: Sequence[Summary], setup: Sequence[dict[str, Any]], exit_reason: str
) -> dict[str, Any]:
    """The content of the end file; ``setup`` is what each step prepared. What a closed load does not have is None."""
    choice = plan.choice
    lags = Lags((key, count) for summary in summaries for key, count in summary["lags"])
    lag_ms = lags.quantile_ms(LAG_QUANTILE)
    return {
        "started_at": min(summary["started_at"] for summary in summaries),
        # Nobody has spawned all users until everybody has.
        "spawned_at": _of(max, (summary["spawned_at"] for summary in summaries), complete=True),
        "stop_at": max(summary["stop_at"] for summary in summaries),
        "ended_at": max(summary["ended_at"] for summary in summaries),
        "model": choice.arrivals,
        "rate": choice.rate if choice.is_open else None,
        "users": sum(summary["users"] for summary in summaries),
        "requests": sum(summary["requests"] for summary in summaries),
        "errors": sum(summary["errors"] for summary in summaries),
        "expected": sum(summary["expected"] for summary in summaries),
        "offered": _of(sum, (summary["offered"] for summary in summaries)),
        "late": _of(sum, (summary["late"] for summary in summaries)),
        "dropped": _of(sum, (summary["dropped"] for summary in summaries)),
        "lag_p99_ms": lag_ms,
        "pool_free_min": _of(min, (summary["pool_free_min"] for summary in summaries)),
        "setup": list(setup),
        "rows": {str(summary["worker"]): summary["requests"] for summary in summaries},
        "cpu_percent_max": max(summary["cpu_percent_max"] for summary in summaries),
        "workers": [
            {
                "index": summary["worker"],
                "cpu_percent_max": summary["cpu_percent_max"],
                "rows": summary["requests"],
            }
            for summary in summaries
        ],
        "exit_reason": exit_reason,
    }


def _of(combine: Callable[[list[Any]], Any], values: Iterable[Any], *, complete: bool = False) -> Any:
    """``combine`` of the values that are there; None when there is none, or not all of them where that matters."""
    values = list(values)
    known = [value for value in values if value is not None]
    return combine(known) if known and (len(known) == len(values) or not complete) else None
