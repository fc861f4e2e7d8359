"""Simulates how well the end of a warm-up is found, and how often an early end of a measurement is correct.

``interval_coverage.py`` prints the tables. The lab itself does not use this code.
"""

import math
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from corda_lab.stats import steady


def poisson(source: random.Random, mean: float) -> int:
    """Return a Poisson count, by exponential gaps."""
    count, passed = -1, 0.0
    while passed < mean:
        count, passed = count + 1, passed + source.expovariate(1)
    return max(0, count)


def swings(memory: float, size: float) -> Callable[[random.Random, int], list[int]]:
    """Return a source of 20 completions/s with a drifting rate: first-order autoregression with factor ``memory``."""

    def series(source: random.Random, seconds: int) -> list[int]:
        counts, state = [], source.gauss(0, size / math.sqrt(1 - memory**2))
        for _ in range(seconds):
            state = memory * state + source.gauss(0, size)
            counts.append(poisson(source, max(0.5, 20 * (1 + state))))
        return counts

    return series


def pauses(source: random.Random, seconds: int) -> list[int]:
    """Return 20 completions/s with random pauses: every 22 seconds on average, three seconds with 4 completions/s."""
    counts: list[int] = []
    left = 0
    for _ in range(seconds):
        left = left - 1 if left else 3 if source.random() < 1 / 20 else 0
        counts.append(poisson(source, 4 if left else 20))
    return counts


def independent(source: random.Random, seconds: int) -> list[int]:
    return [poisson(source, 20) for _ in range(seconds)]


PROCESSES: Mapping[str, tuple[Callable[[random.Random, int], list[int]], float]] = {
    "independent": (independent, 20.0),
    "pauses": (pauses, (19 * 20 + 3 * 4) / 22),
    "short swings": (swings(0.7, 0.10), 20.0),
    "long swings": (swings(0.9, 0.08), 20.0),
}


def warming(mean: float, scale: float) -> Callable[[random.Random], list[int]]:
    """Return a source of three minutes that begin at 40 % of the throughput and approach it with this time constant."""
    share = [1 - 0.6 * math.exp(-second / scale) if scale else 1.0 for second in range(180)]
    return lambda source: [poisson(source, mean * one) for one in share]


def warm_up_rows(simulations: int = 300) -> Iterator[list[str]]:
    """Yield the error that a slow start leaves after the cut by MSER-5 (10 to 60 s), and after two fixed cuts."""
    yield ["flows/s", "time constant", "found", "cut", "error after it", "error after 10 s", "error after 60 s"]
    for mean, scale in ((2, 0), (20, 0), (100, 0), (2, 10), (20, 10), (100, 10), (20, 30), (100, 30), (100, 90)):
        source, make, found = random.Random(1), warming(mean, scale), 0
        cuts: list[float] = []
        errors: dict[str, list[float]] = {"cut": [], "floor": [], "ceiling": []}
        for _ in range(simulations):
            series = make(source)
            times = [second + 0.5 for second, count in enumerate(series) for _ in range(count)]
            end = steady.warm_up_end(times, started_at=0, stopped_at=180, seconds_min=10, seconds_max=60)
            found += end.found
            cuts.append(end.cut_seconds)
            for name, cut in (("cut", int(end.cut_seconds)), ("floor", 10), ("ceiling", 60)):
                errors[name].append(100 * (statistics.fmean(series[cut:]) / mean - 1))
        shown = [f"{statistics.fmean(each):+.1f} ± {statistics.stdev(each):.1f} %" for each in errors.values()]
        start = f"{scale} s" if scale else "steady at once"
        yield [str(mean), start, f"{100 * found / simulations:.0f} %", f"{statistics.fmean(cuts):.0f} s", *shown]


@dataclass(frozen=True)
class SimulatedMeasurement:
    """A simulated measurement: its length, and whether the true mean was in its interval and within the precision."""

    seconds: int
    early: bool
    held: bool
    within: bool


def in_looks(series: Sequence[float]) -> list[float]:
    """Sum a series of counts per second to counts per ``LOOK_SECONDS``."""
    size = int(steady.LOOK_SECONDS)
    return [sum(series[start : start + size]) for start in range(0, len(series) - size + 1, size)]


def early_ends(
    process: str, *, precision: float, simulations: int, seed: int, seconds_max: int = 480
) -> list[SimulatedMeasurement]:
    """Simulate measurements that are checked every ``LOOK_SECONDS``, as in the lab, and end as soon as allowed."""
    make, mean = PROCESSES[process]
    source, ended = random.Random(seed), []
    for _ in range(simulations):
        series = make(source, seconds_max)
        looks = range(int(steady.ENDING_SECONDS_MIN), seconds_max, int(steady.LOOK_SECONDS))
        seconds = next(
            (
                look
                for look in looks
                if steady.may_end(in_looks(series[:look]), precision, bin_seconds=steady.LOOK_SECONDS)
            ),
            seconds_max,
        )
        estimate = statistics.fmean(series[:seconds])
        half = steady.relative_half_width(series[:seconds]) or 0.0
        error = abs(mean - estimate) / estimate
        ended.append(SimulatedMeasurement(seconds, seconds < seconds_max, error <= half, error <= precision))
    return ended


def early_end_rows(simulations: int = 400) -> Iterator[list[str]]:
    yield [
        "series",
        "precision",
        "held after 60 s",
        "180 s",
        "480 s",
        "ended early",
        "after",
        "held then",
        "within precision",
    ]
    for name, (make, mean) in PROCESSES.items():
        fixed = []
        for seconds in (60, 180, 480):
            source, held = random.Random(seconds), 0
            for _ in range(simulations):
                series = make(source, seconds)
                estimate = statistics.fmean(series)
                held += abs(mean - estimate) <= (steady.relative_half_width(series) or 0.0) * estimate
            fixed.append(f"{100 * held / simulations:.1f}")
        for precision in (0.05, 0.10):
            ended = early_ends(name, precision=precision, simulations=simulations, seed=1)
            early = [one for one in ended if one.early]
            yield [
                name,
                f"±{100 * precision:.0f} %",
                *fixed,
                f"{100 * len(early) / simulations:.0f}",
                f"{statistics.fmean(one.seconds for one in ended):.0f} s",
                f"{100 * statistics.fmean(one.held for one in early):.1f}" if early else "–",
                f"{100 * statistics.fmean(one.within for one in early):.1f}" if early else "–",
            ]
