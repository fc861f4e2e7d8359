"""The end of the warm-up of a step.

It is computed from a series of counts: completions per bin, where a bin is usually one second long
(``completions_per_bin``).
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

WARM_UP_METHOD = "MSER-5 (White 1997)"
STEADY_METHOD = f"{WARM_UP_METHOD} and equal halves of the window"

BINS_PER_BATCH = 5
WARM_UP_BATCHES_MIN = 10
"""Fewer batches do not show where a warm-up ends. With bins of one second, these are the first 50 seconds."""

LAST_BATCHES = 3
"""Batches that must remain after the cut. Two batches that happen to be equal make the statistic small by chance. With
five, which is often recommended, a change of throughput in the last third of a minute would not be seen."""

BINS_WANTED = 60
BIN_SECONDS_MIN = 0.2
LOOK_SECONDS = 3.0
"""Seconds between two looks at a running load. The first look comes within this time of the start of the load."""


@dataclass(frozen=True)
class WarmUp:
    """The first ``cut_seconds`` of a load are warm-up. If no end was ``found``, this is the longest warm-up allowed."""

    cut_seconds: float
    found: bool


def bin_seconds_for(seconds: float) -> float:
    """Length of the bins for a load of ``seconds``: one second, or less if that gives fewer than ``BINS_WANTED``."""
    return min(1.0, max(BIN_SECONDS_MIN, seconds / BINS_WANTED))


def completions_per_bin(
    times_of_completion: Sequence[float], *, started_at: float, stopped_at: float, bin_seconds: float
) -> list[int]:
    """Number of requests that ended in each bin, from ``started_at`` on. An incomplete last bin is left out."""
    # Rounding guards against 3 / 0.1 = 29.999999999999996.
    counts = [0] * max(0, math.floor(round((stopped_at - started_at) / bin_seconds, 9)))
    for time in times_of_completion:
        number = math.floor((time - started_at) / bin_seconds)
        if 0 <= number < len(counts):
            counts[number] += 1
    return counts


def warm_up_end(
    times_of_completion: Sequence[float],
    *,
    started_at: float,
    stopped_at: float,
    seconds_min: float,
    seconds_max: float,
    bin_seconds: float = 1.0,
) -> WarmUp:
    """The end of the warm-up by MSER-5, of a load that began at ``started_at`` and is known until ``stopped_at``.

    Sources: White (1997), *An Effective Truncation Heuristic for Bias Reduction in Simulation Output*, Simulation 69;
    with batches of five, White, Cobb & Spratt (2000), *A Comparison of Five Steady-State Truncation Heuristics for
    Simulation*, WSC. The best cut leaves the smallest Σ(z − z̄)² / m² over the m remaining batch means. A cut in the
    second half does not count, as White says: the load was too short to tell. A cut after ``seconds_max`` does not
    count either. A cut before ``seconds_min`` is moved to ``seconds_min``. Times are unix seconds.

    "Found" does not mean "steady": a warm-up longer than the load looks like a slope with noise. And because of noise,
    no end is found in one of five loads without any warm-up. Call it again with more of the load.
    """
    series = completions_per_bin(
        times_of_completion, started_at=started_at, stopped_at=stopped_at, bin_seconds=bin_seconds
    )
    batches = _batch_means(series, len(series) // BINS_PER_BATCH, start=0)
    if len(batches) >= WARM_UP_BATCHES_MIN:
        errors = _marginal_errors(batches)
        best = min(range(len(batches) - LAST_BATCHES + 1), key=errors.__getitem__)
        cut = best * BINS_PER_BATCH * bin_seconds
        if best <= len(batches) / 2 and cut <= seconds_max:
            return WarmUp(max(seconds_min, cut), True)
    return WarmUp(seconds_max, False)


def steady_window(
    times_of_completion: Sequence[float],
    *,
    started_at: float,
    stopped_at: float,
    window_seconds: float,
    seconds_min: float,
    seconds_max: float,
    change_percent_max: float,
    bin_seconds: float = 1.0,
) -> WarmUp:
    """Whether the last ``window_seconds`` of a load known until ``stopped_at`` are steady; the rest is its warm-up.

    They are steady if the warm-up ends before them by MSER-5 (``warm_up_end``), and if the throughput of their second
    half differs from that of the first by at most ``change_percent_max``. While most of a load is a rise, MSER-5 takes
    it for a steady load, but its halves differ by more. The warm-up has at least ``seconds_min`` and at most
    ``seconds_max``.
    """
    begins = stopped_at - started_at - window_seconds
    cut = round(min(seconds_max, max(seconds_min, begins)), 1)
    warmed_up = warm_up_end(
        times_of_completion,
        started_at=started_at,
        stopped_at=stopped_at,
        seconds_min=seconds_min,
        seconds_max=seconds_max,
        bin_seconds=bin_seconds,
    )
    change = _change_percent(times_of_completion, started_at + cut, stopped_at)
    is_steady = change is not None and abs(change) <= change_percent_max
    return WarmUp(cut, begins >= seconds_min and warmed_up.found and warmed_up.cut_seconds <= cut and is_steady)


def _change_percent(times: Sequence[float], begin: float, end: float) -> float | None:
    """The change from the count in the first half of a period to that in the second, in %. None if the first is 0."""
    middle = (begin + end) / 2
    first = sum(begin <= time < middle for time in times)
    second = sum(middle <= time < end for time in times)
    return 100 * (second - first) / first if first else None


def _batch_means(series: Sequence[float], count: int, *, start: int) -> list[float]:
    size = (len(series) - start) // count if count else 0
    return [sum(series[start + number * size : start + (number + 1) * size]) / size for number in range(count)]


def _marginal_errors(batches: Sequence[float]) -> list[float]:
    """The MSER statistic for every number of batches that are cut off, in one pass from the end."""
    errors, total, squares = [], 0.0, 0.0
    middle = statistics.fmean(batches)  # keeps the sums small, so that their difference keeps its digits
    for left, batch in enumerate(reversed(batches), start=1):
        total += batch - middle
        squares += (batch - middle) ** 2
        errors.append(max(0.0, squares - total * total / left) / (left * left))
    return errors[::-1]
