"""Simulates how often intervals and comparisons are correct: the tables of ``docs/validation.md``.

``PYTHONPATH=scripts:loadgen/locust .venv/bin/python tests/evidence/interval_coverage.py`` prints the tables as
Markdown. It takes about four minutes, and always prints the same. The lab itself uses none of this code.
"""

import math
import random
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from corda_lab.analysis import significance
from corda_lab.analysis.points import Point
from corda_lab.analysis.significance import MetricComparisons
from corda_lab.results.manifest import Manifest
from corda_lab.results.stored import StoredRun
from corda_lab.results.sweep import SweepPlan
from corda_lab.stats import steady
from corda_lab.stats.difference import Difference, holm, paired, unpaired
from corda_lab.stats.intervals import CONFIDENCE, around_mean, repeats_interval
from corda_lab.steps.entry import StepEntry, ValidityEntry
from lab_workload.load import Load

SIMULATIONS = 2000
REPEATS = (3, 5, 10)

Noise = Callable[[random.Random], float]
Ends = tuple[float, float]


def lognormal(cv: float) -> Noise:
    """Return a source of lognormal factors with mean 1 and this coefficient of variation."""
    sigma = math.sqrt(math.log1p(cv * cv))
    return lambda source: source.lognormvariate(-sigma * sigma / 2, sigma)


def skewed(source: random.Random) -> float:
    """Return a factor with mean 1, cv 10 % and skewness 2: an exponential tail, like latencies on a shared machine."""
    return 0.9 + source.expovariate(10)


NOISES: dict[str, Noise] = {
    "lognormal, cv 3 %": lognormal(0.03),
    "lognormal, cv 8 %": lognormal(0.08),
    "lognormal, cv 15 %": lognormal(0.15),
    "exponential tail, cv 10 %": skewed,
}


def student_on_values(values: Sequence[float]) -> Ends:
    low, _, high = around_mean(values, CONFIDENCE)
    return low, high


def student_on_logarithms(values: Sequence[float]) -> Ends:
    interval = repeats_interval(values)
    if interval is None:
        raise ValueError("a single repeat")
    return interval.low, interval.high


METHODS: dict[str, Callable[[Sequence[float]], Ends]] = {
    "Student's t": student_on_values,
    "**Student's t on logarithms**": student_on_logarithms,
}


def interval_rows() -> Iterator[list[str]]:
    """Yield the coverage of the true mean, and the median half width in % of it."""
    yield ["noise", "method", *(f"n = {n}" for n in REPEATS)]
    for noise_name, noise in NOISES.items():
        for name, method in METHODS.items():
            cells = []
            for n in REPEATS:
                source = random.Random(n)
                ends = [method([noise(source) for _ in range(n)]) for _ in range(SIMULATIONS)]
                held = sum(low <= 1 <= high for low, high in ends) / SIMULATIONS
                half = statistics.median((high - low) / 2 for low, high in ends)
                cells.append(f"{100 * held:.1f} (±{100 * half:.1f})")
            yield [noise_name, name, *cells]


def compare(source: random.Random, noise: Noise, n: int, factor: float) -> dict[str, Difference]:
    """Compare the same repeats with the paired test and with Welch's test."""
    a, b = [noise(source) for _ in range(n)], [factor * noise(source) for _ in range(n)]
    return {
        "paired": paired(dict(enumerate(a)), dict(enumerate(b)), higher_is="faster"),
        "Welch": unpaired(a, b, higher_is="faster"),
    }


def comparison_rows() -> Iterator[list[str]]:
    """Yield the rates of false alarms, in one comparison and in any of ten, and of detected slowdowns."""
    factors = {"A/A": 1.0, "5 % slower": 0.95, "10 % slower": 0.90, "15 % slower": 0.85}
    yield ["noise", "n", "test", *factors, "ten A/A, Holm"]
    for noise_name, noise in NOISES.items():
        for n in REPEATS:
            seen: dict[str, Counter[str]] = {"paired": Counter(), "Welch": Counter()}
            for name, factor in factors.items():
                source = random.Random(n)
                for _ in range(SIMULATIONS):
                    for test, one in compare(source, noise, n, factor).items():
                        seen[test][name] += (
                            one.verdict == "slower" if factor < 1 else one.verdict != "no difference seen"
                        )
            source = random.Random(n)
            for _ in range(SIMULATIONS // 2):
                points = [compare(source, noise, n, 1.0) for _ in range(10)]
                for test, counts in seen.items():
                    judged = holm([point[test] for point in points])
                    counts["Holm"] += 2 * any(one.verdict != "no difference seen" for one in judged)
            for test, counts in seen.items():
                shares = [f"{100 * counts[name] / SIMULATIONS:.1f}" for name in (*factors, "Holm")]
                yield [noise_name, str(n), test, *shares]


def report_of(source: random.Random, noise: Noise, *, points: int, repeats: int) -> MetricComparisons:
    """Return the comparisons of a sweep's report for points that all measure the same system."""
    name, values = "load.users", list(range(1, points + 1))
    plan = SweepPlan(x=name, vary={name: values})
    manifest: dict[str, Any] = {"kind": "sweep", "sweep": plan}
    run = StoredRun(Path(), Manifest.model_construct(**manifest), [])
    same = [
        Point("iou", {name: value}, "measure", str(value), value, {}, tuple(steps_of(source, noise, repeats)))
        for value in values
    ]
    return significance.judge(run, same)


def steps_of(source: random.Random, noise: Noise, repeats: int) -> Iterator[StepEntry]:
    """Yield the steps of a point, with only the fields that a comparison needs."""
    for repeat in range(1, repeats + 1):
        needed: dict[str, Any] = {
            "repeat": repeat,
            "validity": ValidityEntry(valid=True, reasons=[], machine=[]),
            "throughput_per_second": 20 * noise(source),
            "throughput_states_per_second": None,
            "load": Load(workload="iou"),
        }
        yield StepEntry.model_construct(**needed)


def report_alarms(noise: Noise, *, simulations: int, **about: Any) -> float:
    """Return the share of reports of equal points (``report_of``) that show any difference."""
    source = random.Random(7)
    reports = (report_of(source, noise, **about) for _ in range(simulations))
    shown = ("faster", "slower")
    return sum(any(pair.verdict in shown for pair in report.pairs.values()) for report in reports) / simulations


def report_rows() -> Iterator[list[str]]:
    """Yield the share of reports of seven equal points that show any difference, in % of reports."""
    yield ["noise", "n", "reports"]
    for noise_name, noise in NOISES.items():
        for repeats in (3, 5):
            share = report_alarms(noise, simulations=SIMULATIONS // 2, points=7, repeats=repeats)
            yield [noise_name, str(repeats), f"{100 * share:.1f}"]


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


def show(title: str, rows: Iterator[list[str]]) -> None:
    """Print a table as Markdown. The first row is the heading."""
    print(f"\n{title}\n")
    for number, row in enumerate(rows):
        print("| " + " | ".join(row) + " |", flush=True)
        if number == 0:
            print("|" + "---|" * len(row))


if __name__ == "__main__":
    show("Coverage of a 95 % interval in % (median half width in % of the mean)", interval_rows())
    show("Differences seen, % of comparisons", comparison_rows())
    show("Reports of seven equal points that show any difference, % of reports", report_rows())
    show("Warm-up, error of the throughput as mean ± standard deviation", warm_up_rows())
