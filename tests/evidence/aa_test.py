"""Evaluates runs of the sweep ``a-a``: the false alarms, and the scatter of throughput on this machine.

``PYTHONPATH=scripts:loadgen/locust .venv/bin/python tests/evidence/aa_test.py results/*-a-a`` reads the stored runs
and prints Markdown. It compares the two points within each run, and the runs in consecutive pairs: the second with the
first, the fourth with the third.
"""

import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from corda_lab.analysis import comparison
from corda_lab.analysis.points import points
from corda_lab.analysis.significance import PointComparison, judge
from corda_lab.errors import LabError
from corda_lab.results import stored
from corda_lab.results.stored import StoredRun
from interval_coverage import show

METRIC = "throughput"


def differences(run: StoredRun) -> list[PointComparison]:
    """Return the planned comparisons between points of one run."""
    return judge(run, points(run)).planned


def shown(compared: PointComparison) -> list[str]:
    """Return ratio, interval, adjusted p-value and verdict as cells. Without an interval, three are dashes."""
    found = compared.difference
    if found is None or found.low is None or found.high is None or found.p_value is None:
        return ["–", "–", "–", compared.verdict]
    return [f"{found.ratio:.3f}", f"{found.low:.3f} to {found.high:.3f}", f"{found.p_value:.3f}", compared.verdict]


def within_rows(runs: Sequence[StoredRun]) -> Iterator[list[str]]:
    """Yield a heading row, and a row for each comparison of a point with the baseline of its own run."""
    yield ["run", "compared", "ratio", "95 % interval", "p", "verdict"]
    for run in runs:
        for compared in differences(run):
            yield [run.identity, f"{compared.second.label} ÷ {compared.first.label}", *shown(compared)]


def between_rows(runs: Sequence[StoredRun]) -> Iterator[list[str]]:
    """Yield a heading row, and a row for each point that two consecutive runs share, compared as by ``lab compare``."""
    yield ["run", "compared with", "point", "ratio", "95 % interval", "p", "verdict"]
    for first, second in list(pairwise(runs))[::2]:
        (against,) = comparison.against_first([first, second])
        for compared in against.rows[METRIC]:
            yield [second.identity, first.identity, compared.second.label, *shown(compared)]


def scatter_rows(runs: Sequence[StoredRun]) -> Iterator[list[str]]:
    """Yield a heading row, and the scatter of throughput, as standard deviations of its logarithm.

    The scatter between starts of the lab within one run is first, the additional scatter between runs second.
    """
    samples = [[math.log(value) for point in points(run) for value in point.samples(METRIC) if value] for run in runs]
    samples = [values for values in samples if len(values) > 1]
    yield ["runs", "starts of the lab in each", "scatter between starts in one run", "additional scatter between runs"]
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
