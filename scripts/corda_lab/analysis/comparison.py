"""``lab compare``: compares runs (the contenders) with the first run (the baseline), point by point.

Two points are the same if they have the same workload and the same values of all varied parameters. Points of different
runs are never paired: they were not measured side by side, so any change of the machine in between is part of the
difference. The points of a search are not compared, because each search chooses its own rates; the rates that it
confirmed are.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corda_lab.analysis.circumstances import EnvironmentDifference, environment_differences
from corda_lab.analysis.conclusions import Analysis, some
from corda_lab.analysis.metrics import COMPARED, METRICS
from corda_lab.analysis.points import Point, SearchResult, known_metrics, search_key
from corda_lab.analysis.significance import CANNOT_COMPARE, PointComparison, compare_all
from corda_lab.analysis.values import ratio_words
from corda_lab.errors import LabError
from corda_lab.results import stored
from corda_lab.results.stored import StoredRun
from corda_lab.stats.difference import TOO_FEW
from corda_lab.text.words import plural

NO_RATE = "no rate confirmed"


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
            return NO_RATE
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

    @property
    def is_same_run(self) -> bool:
        return self.first.folder == self.second.folder

    def verdicts(self, metric: str) -> list[str]:
        """The verdicts on all points and searches."""
        return [row.verdict for row in self.rows[metric]] + [rates.verdict for rates in self.rates]

    def regressions(self, metric: str, threshold: float | None) -> list[str]:
        """A text for every point that is shown to be worse by more than a share, or that lost its value."""
        if threshold is None:
            return []
        worse = [
            f"{row.second.label}: {METRICS[metric].title} {100 * loss(row, metric):.1f} % worse, {ratio_words(row)}"
            for row in self.rows[metric]
            if loss(row, metric) > threshold
        ]
        return worse + [f"{point.label}: {point.reason}" for point in self.missing]


def loss(row: PointComparison, metric: str) -> float:
    """The share by which the contender is shown to be worse; 0 if no difference is shown."""
    if row.difference is None or row.difference.verdict != "slower":
        return 0.0
    return 1 - row.difference.ratio if METRICS[metric].higher_is_better else row.difference.ratio - 1


def parse_share(text: str, *, option: str) -> float:
    """Convert a percentage to a share: ``5%`` to 0.05. Raises LabError, which names ``option``, if it is not one."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%?", text.strip())
    if not match or not 0 < float(match[1]) < 100:
        raise LabError(f"{option}: {text!r} is not a percentage between 0 and 100", "Write it like 5%.")
    return float(match[1]) / 100


Keyed = Mapping[str, Point]
"""The points of a run by a key that is the same for two runs; of a search its first point."""


def against_first(runs: Sequence[StoredRun]) -> list[RunComparison]:
    """Compare every metric at every point that a run shares with the first, as one family for each metric.

    Raises LabError if a run has no point in common with the first.
    """
    baseline, *contenders = [Analysis(run) for run in runs]
    before = _keyed(baseline)
    shared = [_shared(baseline, before, contender) for contender in contenders]
    metrics = [name for name in COMPARED if all(name in known_metrics(run.points) for run in (baseline, *contenders))]
    pairs = [pair for own in shared for pair in own]
    judged = {metric: iter(compare_all(pairs, metric, paired=False)) for metric in metrics}
    others = []
    for contender, own in zip(contenders, shared, strict=True):
        after, rates = _keyed(contender), _rates(baseline, contender)
        places = [*own, *((one.first.members[0], one.second.members[0]) for one in rates)]
        others.append(
            RunComparison(
                baseline.run,
                contender.run,
                environment_differences(baseline.run, contender.run, places),
                {metric: [next(judged[metric]) for _ in own] for metric in metrics},
                rates,
                [*_missing_points(before, after, own), *_missing_rates(rates)],
                [*_alone(baseline.run, before, after), *_alone(contender.run, after, before)],
            )
        )
    return others


def _keyed(analysis: Analysis) -> Keyed:
    found: dict[str, Point] = {}
    for point in analysis.points:
        found.setdefault(point.key if point.phase == "measure" else search_key(point), point)
    return found


def _shared(baseline: Analysis, before: Keyed, contender: Analysis) -> list[tuple[Point, Point]]:
    """The measured points that two runs share, as (baseline, contender). Raises LabError if they share no point."""
    after = _keyed(contender)
    if not before.keys() & after.keys():
        first, second = (
            some([f"{_label(point)} of {point.workload}" for point in points.values()]) for points in (before, after)
        )
        raise LabError(
            f"{baseline.run.identity} and {contender.run.identity} have no point in common",
            f"The first run has {first}; the second has {second}.",
        )
    return [(point, after[key]) for key, point in before.items() if key in after and point.phase == "measure"]


def _rates(baseline: Analysis, contender: Analysis) -> list[RateComparison]:
    """The results of the searches that both runs have. Empty unless both runs are searches."""
    after = {search.key: search for search in contender.searches}
    return [RateComparison(search, after[search.key]) for search in baseline.searches if search.key in after]


def _missing_points(before: Keyed, after: Keyed, shared: Sequence[tuple[Point, Point]]) -> Iterator[MissingPoint]:
    """The points that have a value in the baseline and none in the contender, which is worse than any ratio."""
    for key, point in before.items():
        if key not in after and (point.valid or point.phase != "measure"):
            yield MissingPoint(_label(point), "missing")
    for first, second in shared:
        if not first.valid or first.collapsed:
            continue
        if not second.valid:
            yield MissingPoint(second.label, "broke" if second.broken else "no valid step")
        elif second.collapsed:
            count = f"{len(second.collapsed)} of {plural(len(second.valid), 'step')}"
            yield MissingPoint(second.label, f"completed nothing in {count}")


def _missing_rates(rates: Sequence[RateComparison]) -> list[MissingPoint]:
    return [MissingPoint(one.label, NO_RATE) for one in rates if one.verdict == NO_RATE]


def _alone(run: StoredRun, points: Keyed, others: Keyed) -> list[str]:
    return [f"{_label(point)} (only in {run.identity})" for key, point in points.items() if key not in others]


def _label(point: Point) -> str:
    """The label of a point. All points of a search share one label."""
    return point.label if point.phase == "measure" else f"the search of {point.steps[0].label or point.workload}"


@dataclass(frozen=True)
class Comparison:
    """The comparison of runs with the first of them, judged by one metric. ``threshold`` is a share, or None."""

    runs: list[StoredRun]
    others: list[RunComparison]
    metric: str
    threshold: float | None

    @property
    def regressions(self) -> list[str]:
        """A text for every regression, with the name of the run if there are several contenders."""
        return [
            (f"{other.second.identity}, " if len(self.others) > 1 else "") + text
            for other in self.others
            for text in other.regressions(self.metric, self.threshold)
        ]

    @property
    def undecided(self) -> int:
        """The number of points and searches that could not be judged."""
        return sum(verdict in (TOO_FEW, CANNOT_COMPARE) for verdict in self._verdicts)

    @property
    def _verdicts(self) -> list[str]:
        return [verdict for other in self.others for verdict in other.verdicts(self.metric)]

    @property
    def state(self) -> str:
        """The result of the threshold: ``good``, ``bad``, or ``warning`` if some points could not be judged."""
        return "bad" if self.regressions else "warning" if self.undecided else "good"

    @property
    def threshold_words(self) -> str:
        """Whether the threshold was kept, and how many points could not be judged. Empty if there is no threshold."""
        if self.threshold is None:
            return ""
        limit = f"{100 * self.threshold:g} %"
        if self.regressions:
            return f"Worse by more than {limit}, or without a value: {'; '.join(self.regressions)}."
        total = len(self._verdicts)
        if self.undecided == total:
            return f"The threshold of {limit} could not be applied, because no point has an interval; repeat them."
        rest = f" {self.undecided} of {plural(total, 'point')} could not be judged." if self.undecided else ""
        return f"No point is shown to be worse by more than {limit}.{rest}"


def compare_runs(folders: Sequence[Path], *, metric: str, threshold: float | None) -> Comparison:
    """Compare runs with the first of them.

    Raises LabError if a run has no point in common with the first, or does not have the metric.
    """
    runs = [stored.read(folder) for folder in folders]
    others = against_first(runs)
    if any(metric not in other.rows for other in others):
        raise LabError(
            f"--metric {metric}: not every run has it",
            "Choose another metric, or use workloads that define states_per_flow.",
        )
    return Comparison(runs, others, metric, threshold)
