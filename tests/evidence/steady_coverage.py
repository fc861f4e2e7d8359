"""Simulates how well the end of a warm-up is found.

``interval_coverage.py`` prints the tables. The lab itself does not use this code.
"""

import math
import random
import statistics
from collections.abc import Callable, Iterator

from corda_lab.stats import steady


def poisson(source: random.Random, mean: float) -> int:
    """Return a Poisson count, by exponential gaps."""
    count, passed = -1, 0.0
    while passed < mean:
        count, passed = count + 1, passed + source.expovariate(1)
    return max(0, count)


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
