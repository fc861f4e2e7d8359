"""``lab compare``: compares runs (the contenders) with the first run (the baseline), point by point.

Two points are the same if they have the same workload and the same values of all varied parameters. Points of different
runs are never paired: they were not measured side by side, so any change of the machine in between is part of the
difference.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corda_lab.analysis.circumstances import EnvironmentDifference, environment_differences
from corda_lab.analysis.metrics import COMPARED, METRICS
from corda_lab.analysis.points import Point, SearchResult, known_metrics, points, searched
from corda_lab.analysis.significance import CANNOT_COMPARE, PointComparison, compare_all
from corda_lab.analysis.wording import ratio_words
from corda_lab.errors import LabError
from corda_lab.results import stored
from corda_lab.results.stored import StoredRun
from corda_lab.stats.difference import TOO_FEW
from corda_lab.text.words import listed, plural


@dataclass(frozen=True)
class MissingPoint:
    """A point for which the baseline has a value and the contender has none, and why."""

    label: str
    reason: str


@dataclass(frozen=True)
class RateComparison:
    """The highest confirmed rates of two searches of the same point. Each is one measurement, without an interval."""

    first: SearchResult
    second: SearchResult

    @property
    def label(self) -> str:
        return self.first.label

    @property
    def ratio(self) -> float | None:
        """Contender ÷ baseline; None if either search confirmed no rate."""
        return self.second.rate / self.first.rate if self.first.rate and self.second.rate else None

    @property
    def verdict(self) -> str:
        """Two single rates are too few to show a difference, but a contender without any confirmed rate is worse."""
        if self.first.rate and not self.second.rate:
            return "no rate confirmed"
        return TOO_FEW if self.ratio else CANNOT_COMPARE


@dataclass(frozen=True)
class RunComparison:
    """The comparison of a contender (``second``) with the baseline (``first``).

    ``rows`` has the compared points by metric, and ``rates`` the searches of both. ``missing`` lists the points that
    only the baseline has values for, ``alone`` the labels of all points that are present in one run only.
    """

    first: StoredRun
    second: StoredRun
    environment_differences: list[EnvironmentDifference]
    rows: dict[str, list[PointComparison]]
    rates: list[RateComparison]
    missing: list[MissingPoint]
    alone: list[str]

    def regressions(self, metric: str, threshold: float | None) -> list[PointComparison]:
        """The points that are shown to be worse by more than the threshold, a share."""
        return [] if threshold is None else [one for one in self.rows[metric] if loss(one, metric) > threshold]

    def undecided(self, metric: str) -> int:
        """The number of points and searches that could not be judged."""
        rows = sum(one.verdict in (TOO_FEW, CANNOT_COMPARE) for one in self.rows[metric])
        return rows + sum(one.verdict in (TOO_FEW, CANNOT_COMPARE) for one in self.rates)

    def judged(self, metric: str) -> int:
        """The number of points and searches that could be judged."""
        return len(self.rows[metric]) + len(self.rates) - self.undecided(metric)


def loss(one: PointComparison, metric: str) -> float:
    """The share by which the contender is shown to be worse; 0 if no difference is shown."""
    found = one.difference
    if found is None or found.verdict != "slower":
        return 0.0
    return 1 - found.ratio if METRICS[metric].higher_is_better else found.ratio - 1


def parse_share(text: str, *, option: str) -> float:
    """Convert a percentage to a share: ``5%`` to 0.05. Raises LabError, which names ``option``, if it is not one."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%?", text.strip())
    if not match or not 0 < float(match[1]) < 100:
        raise LabError(f"{option}: {text!r} is not a percentage between 0 and 100", "Write it like 5%.")
    return float(match[1]) / 100


def against_first(runs: Sequence[StoredRun]) -> list[RunComparison]:
    """Compare every metric at every point that a run shares with the first, as one family for each metric.

    Raises LabError if a run has no point in common with the first.
    """
    all_points = [points(run) for run in runs]
    pairs = [aligned(runs[0], all_points[0], run, own) for run, own in zip(runs[1:], all_points[1:], strict=True)]
    rates = [found_by_both(runs[0], all_points[0], run, own) for run, own in zip(runs[1:], all_points[1:], strict=True)]
    metrics = [name for name in COMPARED if all(name in known_metrics(own) for own in all_points)]
    # The points of a search are not compared, because each search chooses its own rates.
    judged = {
        metric: iter(compare_all([pair for found in pairs for pair in found], metric, paired=False))
        for metric in metrics
    }
    others = []
    for run, own, shared, searches in zip(runs[1:], all_points[1:], pairs, rates, strict=True):
        rows = {metric: [next(judged[metric]) for _ in shared] for metric in metrics}
        both = [*shared, *((one.first.members[0], one.second.members[0]) for one in searches)]
        others.append(
            RunComparison(
                runs[0],
                run,
                environment_differences(runs[0], run, both),
                rows,
                searches,
                missing_points(all_points[0], own, shared, searches),
                alone((runs[0], all_points[0]), (run, own)),
            )
        )
    return others


def aligned(
    first: StoredRun, ours: Sequence[Point], second: StoredRun, theirs: Sequence[Point]
) -> list[tuple[Point, Point]]:
    """The measured points that two runs share, as (baseline, contender). Raises LabError if they share no point."""
    before, after = by_key(ours), by_key(theirs)
    if not before.keys() & after.keys():
        raise LabError(
            f"{first.identity} and {second.identity} have no point in common",
            f"The first run has {some(before)}; the second has {some(after)}.",
        )
    return [(point, after[key]) for key, point in before.items() if key in after and point.phase == "measure"]


def by_key(own: Sequence[Point]) -> dict[str, Point]:
    """The points by a key that is the same for two runs. The key of a search does not contain its rates."""
    found: dict[str, Point] = {}
    for point in own:
        found.setdefault(point.key if point.phase == "measure" else search_key(point), point)
    return found


def search_key(point: Point) -> str:
    """The key that all points of one search share."""
    return json.dumps(["search", point.workload, point.group], sort_keys=True)


def found_by_both(
    first: StoredRun, ours: Sequence[Point], second: StoredRun, theirs: Sequence[Point]
) -> list[RateComparison]:
    """The results of the searches that both runs have. Empty unless both runs are searches."""
    if not (first.sweep.find_max and second.sweep.find_max):
        return []
    after = {found.key: found for found in searched(second, theirs)}
    return [RateComparison(found, after[found.key]) for found in searched(first, ours) if found.key in after]


def missing_points(
    ours: Sequence[Point],
    theirs: Sequence[Point],
    shared: Sequence[tuple[Point, Point]],
    rates: Sequence[RateComparison],
) -> list[MissingPoint]:
    """The points that have a value in the baseline and none in the contender, which is worse than any ratio."""
    after = by_key(theirs)
    found = [
        MissingPoint(label_of(point), "missing")
        for key, point in by_key(ours).items()
        if key not in after and (point.valid or point.phase != "measure")
    ]
    for before, now in shared:
        if not before.valid or before.collapsed:
            continue
        if not now.valid:
            found.append(MissingPoint(now.label, "broke" if now.broken else "no valid step"))
        elif now.collapsed:
            count = f"{len(now.collapsed)} of {plural(len(now.valid), 'step')}"
            found.append(MissingPoint(now.label, f"completed nothing in {count}"))
    return found + [MissingPoint(one.label, one.verdict) for one in rates if one.verdict == "no rate confirmed"]


def alone(first: tuple[StoredRun, Sequence[Point]], second: tuple[StoredRun, Sequence[Point]]) -> list[str]:
    """The labels of the points that are present in one of two runs only."""
    before, after = by_key(first[1]), by_key(second[1])
    found = [f"{label_of(point)} (only in {first[0].identity})" for key, point in before.items() if key not in after]
    return found + [
        f"{label_of(point)} (only in {second[0].identity})" for key, point in after.items() if key not in before
    ]


def label_of(point: Point) -> str:
    """The label of a point. All points of a search share one label."""
    return point.label if point.phase == "measure" else f"the search of {point.steps[0].label or point.workload}"


def some(known: Mapping[str, Point]) -> str:
    """The labels and workloads of up to four points, as a list."""
    labels = [f"{label_of(point)} of {point.workload}" for point in known.values()]
    return listed(labels[:4]) + (" and others" if len(labels) > 4 else "")


def regression_words(one: PointComparison, metric: str) -> str:
    """``16 users: throughput 12.0 % worse, 0.88 × (0.85 to 0.91)``."""
    return f"{one.second.label}: {METRICS[metric].title} {100 * loss(one, metric):.1f} % worse, {ratio_words(one)}"


@dataclass(frozen=True)
class Comparison:
    """The comparison of runs with the first of them, judged by one metric. ``threshold`` is a share, or None."""

    runs: list[StoredRun]
    others: list[RunComparison]
    metric: str
    threshold: float | None

    @property
    def regressions(self) -> list[str]:
        """A text for every point that is shown to be worse by more than the threshold, or that lost its value."""
        if self.threshold is None:
            return []
        return [
            (f"{one.second.identity}, " if len(self.others) > 1 else "") + words
            for one in self.others
            for words in [
                *(regression_words(row, self.metric) for row in one.regressions(self.metric, self.threshold)),
                *(f"{found.label}: {found.reason}" for found in one.missing),
            ]
        ]

    @property
    def state(self) -> str:
        """The result of the threshold: ``good``, ``bad``, or ``warning`` if some points could not be judged."""
        if self.regressions:
            return "bad"
        return "warning" if any(one.undecided(self.metric) for one in self.others) else "good"


def compare_runs(folders: Sequence[Path], *, metric: str, threshold: float | None) -> Comparison:
    """Compare runs with the first of them.

    Raises LabError if a run has no point in common with the first, or does not have the metric.
    """
    runs = [stored.read(folder) for folder in folders]
    others = against_first(runs)
    if any(metric not in one.rows for one in others):
        raise LabError(
            f"--metric {metric}: not every run has it",
            "Choose another metric, or use workloads that define states_per_flow.",
        )
    return Comparison(runs, others, metric, threshold)
