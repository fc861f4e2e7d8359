"""What runs of the sweep ``a-a`` took for a difference, and how far throughput scatters on this machine.

``PYTHONPATH=scripts:loadgen/locust .venv/bin/python -m corda_lab.selftest.aa_test results/*-a-a`` prints Markdown, from
what the runs have stored. Every run compares its own two points; runs that follow one another are compared two by two.
"""

import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from corda_lab.analysis import comparison
from corda_lab.analysis.points import points
from corda_lab.analysis.significance import Compared, judge
from corda_lab.errors import LabError
from corda_lab.results import stored
from corda_lab.results.stored import StoredRun
from corda_lab.selftest.interval_coverage import show

METRIC = "throughput"


def differences(run: StoredRun) -> list[Compared]:
    """What a run compares of itself."""
    return [one.compared for one in judge(run, points(run)).planned]


def shown(compared: Compared) -> list[str]:
    """Ratio, interval, adjusted p and verdict."""
    found = compared.difference
    if found is None or found.low is None or found.high is None or found.p_value is None:
        return ["–", "–", "–", compared.verdict]
    return [f"{found.ratio:.3f}", f"{found.low:.3f} to {found.high:.3f}", f"{found.p_value:.3f}", compared.verdict]


def within_rows(runs: Sequence[StoredRun]) -> Iterator[list[str]]:
    """The points of each run against its first."""
    yield ["run", "compared", "ratio", "95 % interval", "p", "verdict"]
    for run in runs:
        for compared in differences(run):
            yield [run.identity, f"{compared.second.label} ÷ {compared.first.label}", *shown(compared)]


def between_rows(runs: Sequence[StoredRun]) -> Iterator[list[str]]:
    """Every second run against the one before it, as ``lab compare`` does."""
    yield ["run", "compared with", "point", "ratio", "95 % interval", "p", "verdict"]
    for first, second in list(pairwise(runs))[::2]:
        (against,) = comparison.against_first([first, second])
        for compared in against.rows[METRIC]:
            yield [second.identity, first.identity, compared.second.label, *shown(compared)]


def scatter_rows(runs: Sequence[StoredRun]) -> Iterator[list[str]]:
    """How far throughput scatters, as standard deviations of its logarithm: of the starts of one run, and of runs beyond that."""
    samples = [[math.log(value) for point in points(run) for value in point.samples(METRIC) if value] for run in runs]
    samples = [values for values in samples if len(values) > 1]
    yield ["runs", "starts of the lab in each", "scatter of starts in one run", "of runs beyond that"]
    if len(samples) < 2:
        return
    inner = statistics.fmean(statistics.variance(values) for values in samples)
    outer = statistics.variance(statistics.fmean(values) for values in samples)
    size = statistics.fmean(len(values) for values in samples)
    between = math.sqrt(max(0.0, outer - inner / size))
    yield [str(len(samples)), f"{size:g}", f"{100 * math.sqrt(inner):.1f} %", f"{100 * between:.1f} %"]


if __name__ == "__main__":
    try:
        all_runs = [stored.read(Path(folder)) for folder in sys.argv[1:]]
    except LabError as error:
        sys.exit(f"{error.message}. {error.remedy}")
    show("The points of one run", within_rows(all_runs))
    show("One run and the next", between_rows(all_runs))
    show("Scatter of throughput", scatter_rows(all_runs))
