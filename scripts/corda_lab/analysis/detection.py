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
from corda_lab.stats.intervals import CONFIDENCE
from corda_lab.stats.power import Design, repeats_needed

FREEDOM_MIN = 6
"""With fewer degrees of freedom, an interval of the scatter itself spans more than a factor of 3."""


@dataclass(frozen=True)
class Detection:
    """How many repeats of each point show a change of one metric, if every pair of points is judged, as in a report.

    ``scatter`` is the standard deviation that ``stats.power`` takes, about the same as a coefficient of variation.
    ``repeats`` is None above the limit of ``stats.power``.
    """

    metric: str
    scatter: float
    freedom: int
    """The degrees of freedom of the scatter: how many deviations it was estimated from."""
    repeats: int | None


def latest_run_of(name: str, *, results: Path | None = None) -> StoredRun:
    """The latest finished run of a sweep that was not shortened. Raises LabError if there is none."""
    for folder in reversed(folders.all_runs(results=results)):
        try:
            run = stored.read(folder)
        except LabError:
            # Damaged runs are shown by `lab list`, and say nothing about scatter.
            continue
        if run.is_sweep and run.sweep.name == name and not run.sweep.quick:
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
        scatter, freedom = pooled(_logs_of_ratios(pairs, metric) if pairs else _logs(all_points, metric))
        if freedom:
            design: Design = "paired" if pairs else "independent"
            repeats = repeats_needed(scatter, change, design, confidence=confidence)
            found.append(Detection(metric, scatter, freedom, repeats))
    if not found:
        raise LabError(
            f"--detect: no point of {run.identity} has two valid repeats, so its scatter is not known",
            "Run the sweep with at least three repeats.",
        )
    return found


def pooled(samples: Iterable[Sequence[float]]) -> tuple[float, int]:
    """The standard deviation within samples, and its degrees of freedom: 0 if no sample has two values."""
    squares, freedom = 0.0, 0
    for sample in samples:
        if len(sample) > 1:
            squares += statistics.variance(sample) * (len(sample) - 1)
            freedom += len(sample) - 1
    return math.sqrt(squares / freedom) if freedom else 0.0, freedom


def _logs(all_points: Sequence[Point], metric: str) -> list[list[float]]:
    """The logarithms of the repeats of every point. Repeats without a positive, finite value are left out."""
    return [[math.log(value) for value in point.samples(metric) if 0 < value < math.inf] for point in all_points]


def _logs_of_ratios(pairs: Sequence[tuple[Point, Point]], metric: str) -> list[list[float]]:
    """The logarithms of the ratios of repeats with the same number, for every pair of points."""
    found = []
    for first, second in pairs:
        a, b = ({step.repeat: METRICS[metric].of(step) or 0.0 for step in point.valid} for point in (first, second))
        known = [repeat for repeat in a.keys() & b.keys() if 0 < a[repeat] < math.inf and 0 < b[repeat] < math.inf]
        found.append([math.log(b[repeat] / a[repeat]) for repeat in known])
    return found
