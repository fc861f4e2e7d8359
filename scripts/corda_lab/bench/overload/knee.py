"""The knee of a closed-load curve, and the goodput of overload as a share of its peak."""

import statistics
from collections.abc import Sequence
from typing import Literal

import polars as pl

from corda_lab.bench.latency import latency_of
from corda_lab.bench.overload.measurement import LevelMeasurement, OverloadBench, OverloadMeasurement
from corda_lab.steps import rows
from corda_lab.steps.rows import Window

KNEE_SHARE = 0.95
"""The knee is the smallest number of outstanding flows with this share of the peak."""

PAST_PEAK_SHARE = 0.9
PAST_PEAK_COUNT = 2
"""The search ends after so many numbers in a row whose throughput is below this share of the peak."""

GOODPUT_SHARE_MIN = 0.9
"""The goodput that the bridge's limit must keep, as a share of the peak."""

TOO_MANY = 429
"""HTTP status of a start that the bridge rejects at its limit."""

TIMED_OUT = 504

Verdict = Literal["kept", "lost", "not measured"]


def search_is_over(searched: Sequence[LevelMeasurement]) -> bool:
    """Return whether the last levels show that the peak has been passed."""
    rates = [each.flows_per_second for each in searched]
    last = rates[-PAST_PEAK_COUNT:]
    return len(rates) > PAST_PEAK_COUNT and all(rate < PAST_PEAK_SHARE * max(rates) for rate in last)


def of_search(bench: OverloadBench) -> list[LevelMeasurement]:
    """Return the levels of the search that did not fail, in its order."""
    return [each for each in bench.searched if each.round == 0 and each.problem is None]


def peak_level(searched: Sequence[LevelMeasurement]) -> LevelMeasurement:
    """Return the level with the highest throughput."""
    return max(searched, key=lambda each: each.flows_per_second)


def knee(searched: Sequence[LevelMeasurement]) -> LevelMeasurement:
    """Return the level with the smallest number of outstanding flows that reaches ``KNEE_SHARE`` of the peak."""
    enough = KNEE_SHARE * peak_level(searched).flows_per_second
    return min((each for each in searched if each.flows_per_second >= enough), key=lambda each: each.users)


def peak_of_round(bench: OverloadBench, number: int) -> float | None:
    """Return the peak in flows/s that a round began with; None if it failed."""
    return next(
        (each.flows_per_second for each in bench.searched if each.round == number and each.problem is None), None
    )


def shares(bench: OverloadBench, multiple: int, limit: int | None) -> list[float]:
    """Return goodput ÷ peak of its round, for every round."""
    peaks = {number: peak_of_round(bench, number) for number in range(1, bench.rounds + 1)}
    return [each.goodput / peak for each in bench.of(multiple, limit) if (peak := peaks.get(each.round))]


def share(bench: OverloadBench, multiple: int, limit: int | None) -> float | None:
    """Return the mean of ``shares``; None without any."""
    found = shares(bench, multiple, limit)
    return statistics.fmean(found) if found else None


def verdict(bench: OverloadBench, limit: int | None) -> Verdict:
    """Return whether a limit keeps ``GOODPUT_SHARE_MIN`` of the peak at every multiple. One that is lost decides."""
    found = [share(bench, multiple, limit) for multiple in bench.multiples]
    if any(each is not None and each < GOODPUT_SHARE_MIN for each in found):
        return "lost"
    return "not measured" if None in found else "kept"


def counted(
    requests: pl.DataFrame, window: Window, begun: OverloadMeasurement, *, time_limit_seconds: float, dropped: int
) -> OverloadMeasurement:
    """Return the measurement with the values of a window. ``dropped``: arrivals of the window that were not sent."""
    ended = rows.ended_within(requests, window)
    in_time = pl.col("latency_ms") <= 1000 * time_limit_seconds
    good = ended.filter(rows.is_done() & in_time)
    rejected = ended.filter(pl.col("status") == TOO_MANY).height
    late = ended.filter((rows.is_done() & ~in_time) | (pl.col("status") == TIMED_OUT)).height
    failed = ended.height - good.height - rejected - late
    return begun.model_copy(
        update={
            "window_started_at": window.started_at,
            "window_seconds": window.seconds,
            "goodput": good.height / window.seconds,
            "rejected": rejected / window.seconds,
            "late": late / window.seconds,
            "failed": failed / window.seconds,
            "dropped": dropped / window.seconds,
            "latency": latency_of(good["latency_ms"]),
        }
    )
