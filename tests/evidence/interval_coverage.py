"""Simulates how often intervals and comparisons are correct: the tables of ``docs/validation.md``.

``PYTHONPATH=scripts:loadgen/locust .venv/bin/python tests/evidence/interval_coverage.py`` prints the tables as
Markdown. It takes about six minutes, and always prints the same. The lab itself uses none of this code; the bootstrap
methods are implemented only for the comparison.
"""

import itertools
import math
import random
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import steady_coverage
from corda_lab.analysis import significance
from corda_lab.analysis.points import Point
from corda_lab.analysis.significance import MetricComparisons
from corda_lab.results.manifest import Manifest
from corda_lab.results.stored import StoredRun
from corda_lab.results.sweep import SweepPlan
from corda_lab.stats.difference import Difference, holm, paired, unpaired
from corda_lab.stats.intervals import CONFIDENCE, around_mean, repeats_interval, t_quantile
from corda_lab.steps.entry import StepEntry, ValidityEntry
from lab_workload.load import Load

SIMULATIONS = 2000
RESAMPLES = 999
REPEATS = (3, 5, 10)
ALPHA = 1 - CONFIDENCE

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


@dataclass(frozen=True)
class Resamples:
    """The means and t statistics of the bootstrap resamples of one sample, each with its weight.

    Up to n = 5, these are all resamples; for larger n, they are random.
    """

    values: Sequence[float]
    means: list[tuple[float, int]]
    ts: list[tuple[float, int]]


def index_sets(n: int) -> list[tuple[tuple[int, ...], int]]:
    """Return resamples as indexes, each with the number of orders in which it can be drawn."""
    if n > 5:
        source = random.Random(n)
        return [(tuple(source.choices(range(n), k=n)), 1) for _ in range(RESAMPLES)]
    sets = itertools.combinations_with_replacement(range(n), n)
    return [
        (one, math.factorial(n) // math.prod(math.factorial(times) for times in Counter(one).values())) for one in sets
    ]


def resample(values: Sequence[float], sets: Sequence[tuple[tuple[int, ...], int]]) -> Resamples:
    n, mean = len(values), statistics.fmean(values)
    means, ts = [], []
    for indexes, weight in sets:
        drawn = [values[index] for index in indexes]
        middle = sum(drawn) / n
        squares = sum([(value - middle) ** 2 for value in drawn])
        means.append((middle, weight))
        error = math.sqrt(squares / (n - 1) / n)
        ts.append(((middle - mean) / error if error > 1e-12 else math.copysign(math.inf, middle - mean), weight))
    return Resamples(values, sorted(means), sorted(ts))


def weighted_quantile(ordered: Sequence[tuple[float, int]], share: float) -> float:
    wanted, passed = share * sum(weight for _, weight in ordered), 0
    for value, weight in ordered:
        passed += weight
        if passed >= wanted:
            return value
    return ordered[-1][0]


def percentile(drawn: Resamples) -> Ends:
    return weighted_quantile(drawn.means, ALPHA / 2), weighted_quantile(drawn.means, 1 - ALPHA / 2)


def expanded_percentile(drawn: Resamples) -> Ends:
    """Return the expanded percentile interval (Hesterberg 2015), which equals Student's interval for normal values."""
    n = len(drawn.values)
    outer = NormalDist().cdf(-math.sqrt(n / (n - 1)) * t_quantile(CONFIDENCE, n - 1))
    return weighted_quantile(drawn.means, outer), weighted_quantile(drawn.means, 1 - outer)


def bca(drawn: Resamples) -> Ends:
    """Return the bias-corrected and accelerated interval (Efron 1987), with the jackknife acceleration of a mean."""
    normal, mean = NormalDist(), statistics.fmean(drawn.values)
    total = sum(weight for _, weight in drawn.means)
    below = sum(weight * (1.0 if value < mean else 0.5 if value == mean else 0.0) for value, weight in drawn.means)
    bias = normal.inv_cdf(min(max(below / total, 1 / (total + 1)), total / (total + 1)))
    deviations = [value - mean for value in drawn.values]
    acceleration = sum(one**3 for one in deviations) / (6 * sum(one**2 for one in deviations) ** 1.5)

    def share(nominal: float) -> float:
        shifted = bias + normal.inv_cdf(nominal)
        return normal.cdf(bias + shifted / (1 - acceleration * shifted))

    return weighted_quantile(drawn.means, share(ALPHA / 2)), weighted_quantile(drawn.means, share(1 - ALPHA / 2))


def bootstrap_t(drawn: Resamples) -> Ends:
    n, mean = len(drawn.values), statistics.fmean(drawn.values)
    error = statistics.stdev(drawn.values) / math.sqrt(n)
    low, high = weighted_quantile(drawn.ts, ALPHA / 2), weighted_quantile(drawn.ts, 1 - ALPHA / 2)
    return mean - high * error, mean - low * error


def student_on_values(drawn: Resamples) -> Ends:
    low, _, high = around_mean(drawn.values, CONFIDENCE)
    return low, high


def student_on_logarithms(drawn: Resamples) -> Ends:
    interval = repeats_interval(drawn.values)
    if interval is None:
        raise ValueError("a single repeat")
    return interval.low, interval.high


METHODS: dict[str, Callable[[Resamples], Ends]] = {
    "percentile bootstrap": percentile,
    "BCa bootstrap": bca,
    "expanded percentile bootstrap": expanded_percentile,
    "bootstrap-t": bootstrap_t,
    "Student's t": student_on_values,
    "**Student's t on logarithms**": student_on_logarithms,
}


def interval_rows() -> Iterator[list[str]]:
    """Yield the coverage of the true mean, and the median half width in % of it."""
    yield ["noise", "method", *(f"n = {n}" for n in REPEATS)]
    for noise_name, noise in NOISES.items():
        cells: dict[str, list[str]] = {name: [] for name in METHODS}
        for n in REPEATS:
            source, sets = random.Random(n), index_sets(n)
            samples = [resample([noise(source) for _ in range(n)], sets) for _ in range(SIMULATIONS)]
            for name, method in METHODS.items():
                ends = [method(sample) for sample in samples]
                held = sum(low <= 1 <= high for low, high in ends) / SIMULATIONS
                half = statistics.median((high - low) / 2 for low, high in ends)
                width = "no end" if math.isinf(half) else f"±{100 * half:.1f}"
                cells[name].append(f"{100 * held:.1f} ({width})")
        for name, row in cells.items():
            yield [noise_name, name, *row]


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
    show("Warm-up, error of the throughput as mean ± standard deviation", steady_coverage.warm_up_rows())
