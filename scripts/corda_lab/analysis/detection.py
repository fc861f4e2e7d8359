"""How many repeats a sweep needs to see a small difference, from the scatter between the repeats of a stored run."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from corda_lab.analysis.metrics import METRICS
from corda_lab.analysis.points import Point, known_metrics, points, strata
from corda_lab.errors import LabError
from corda_lab.results import folders, stored
from corda_lab.results.stored import StoredRun
from corda_lab.stats.intervals import CONFIDENCE, t_quantile

POWER = 0.8
"""Probability with which a difference of the given size is to be seen, if it exists."""
REPEATS_MIN, REPEATS_MAX = 3, 1000
"""Two repeats hardly show their own scatter, so fewer than three are never recommended."""
FREEDOM_MIN = 6
"""With fewer degrees of freedom, an interval of the scatter itself spans more than a factor of 3."""
SHIFT_MAX = 12.0
"""A difference of so many standard errors beyond the limit is always seen. scipy's function fails far above that."""


@dataclass(frozen=True)
class Detection:
    """How many repeats of each point show a change of one metric, if every pair of points is judged, as in a report.

    ``scatter`` is a standard deviation of logarithms, with ``freedom`` degrees of freedom: of the ratios within pairs
    of repeats, or of the repeats if the sweep has a single point. ``repeats`` is None above ``REPEATS_MAX``.
    """

    metric: str
    scatter: float
    freedom: int
    repeats: int | None


def latest_run_of(name: str, *, results: Path | None = None) -> StoredRun:
    """The latest finished run of a sweep that was not shortened. Raises LabError if there is none."""
    for folder in reversed(folders.all_runs(results=results)):
        try:
            run = stored.read(folder)
        except LabError:
            # Damaged runs are shown by `lab list`, and say nothing about scatter.
            continue
        if run.is_sweep and run.sweep.name == name and not run.sweep.is_quick:
            return run
    raise LabError(
        f"--detect: there is no finished run of the sweep {name!r}, so its scatter is not known",
        f"Run it once: scripts/lab sweep {name}",
    )


def detections(run: StoredRun, change: float) -> list[Detection]:
    """How many repeats show a ``change`` (a share) of each metric. Raises LabError without two valid repeats.

    A single point is compared with that of another run, whose repeats are independent.
    """
    all_points = points(run)
    pairs = [pair for layer in strata(all_points) for pair in combinations(layer, 2)]
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(pairs))
    found = []
    for metric in known_metrics(all_points):
        logs = {point.key: _logs(point, metric) for point in all_points}
        ratios = [
            [second - logs[a.key][repeat] for repeat, second in logs[b.key].items() if repeat in logs[a.key]]
            for a, b in pairs
        ]
        scatter, freedom = pooled(ratios if pairs else [list(values.values()) for values in logs.values()])
        if freedom:
            repeats = repeats_needed(scatter, change, samples=1 if pairs else 2, confidence=confidence)
            found.append(Detection(metric, scatter, freedom, repeats))
    if not found:
        raise LabError(
            f"--detect: no point of {run.identity} has two valid repeats, so its scatter is not known",
            "Run the sweep with at least three repeats.",
        )
    return found


def pooled(samples: Iterable[Sequence[float]]) -> tuple[float, int]:
    """The standard deviation within samples, and its degrees of freedom: 0 if no sample has two values."""
    known = [sample for sample in samples if len(sample) > 1]
    freedom = sum(len(sample) - 1 for sample in known)
    squares = sum(statistics.variance(sample) * (len(sample) - 1) for sample in known)
    return math.sqrt(squares / freedom) if freedom else 0.0, freedom


def _logs(point: Point, metric: str) -> dict[int, float]:
    """The logarithms of a metric by repeat. Repeats without a positive, finite value are left out."""
    values = {step.repeat: METRICS[metric].of(step) or 0.0 for step in point.valid}
    return {repeat: math.log(value) for repeat, value in values.items() if 0 < value < math.inf}


def power_of(repeats: int, scatter: float, change: float, *, samples: int, confidence: float = CONFIDENCE) -> float:
    """The probability that the tests of ``stats.difference`` see a change (a share), with ``repeats`` of each point.

    ``samples`` is 1 if repeats are compared in pairs, so that the ratios are one sample, and 2 if they are independent.
    """
    from scipy.special import nctdtr  # see t_quantile

    freedom = samples * (repeats - 1)
    limit = t_quantile(confidence, freedom)
    shift = min(limit + SHIFT_MAX, abs(math.log1p(change)) / (scatter * math.sqrt(samples / repeats)))
    # The two tails. By symmetry, the lower one is the upper one of the opposite shift.
    return float(2 - nctdtr(freedom, shift, limit) - nctdtr(freedom, -shift, limit))


def repeats_needed(scatter: float, change: float, *, samples: int, confidence: float = CONFIDENCE) -> int | None:
    """The fewest repeats of each point that show a change with probability ``POWER``; None above ``REPEATS_MAX``."""
    for repeats in range(REPEATS_MIN, REPEATS_MAX + 1):
        if scatter == 0 or power_of(repeats, scatter, change, samples=samples, confidence=confidence) >= POWER:
            return repeats
    return None
