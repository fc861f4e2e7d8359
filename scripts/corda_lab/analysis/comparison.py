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

Keyed = Mapping[str, Point]
"""The points of a run by a key that is the same for two runs; of a search its first point."""


@dataclass(frozen=True)
class RateComparison:
    """The highest confirmed rates of two searches of the same point. Each is one measurement, without an interval."""

    first: SearchResult
    second: SearchResult

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
    """The comparison of a contender (``second``) with the baseline (``first``). ``rows`` has the points by metric."""

    first: StoredRun
    second: StoredRun
    environment_differences: list[EnvironmentDifference]
    rows: dict[str, list[PointComparison]]
    rates: list[RateComparison]
    missing: list[str]
    """The points for which the baseline has a value and the contender has none, and why."""
    alone: list[str]
    """The points that are in one run only."""

    def verdicts(self, metric: str) -> list[str]:
        """The verdicts on all points and searches."""
        return [row.verdict for row in self.rows[metric]] + [rates.verdict for rates in self.rates]

    def regressions(self, metric: str, threshold: float) -> list[str]:
        """A text for every point that is shown to be worse by more than a share, or that lost its value."""
        worse = [
            f"{row.second.label}: {METRICS[metric].title} {100 * loss(row, metric):.1f} % worse, {ratio_words(row)}"
            for row in self.rows[metric]
            if loss(row, metric) > threshold
        ]
        return worse + self.missing


@dataclass(frozen=True)
class Comparison:
    """The comparison of runs with the first of them, judged by one metric. ``threshold`` is a share, or None."""

    runs: list[StoredRun]
    others: list[RunComparison]
    metric: str
    threshold: float | None

    @property
    def regressions(self) -> list[str]:
        """What is worse than the threshold allows, with the name of the run if there are several contenders."""
        if self.threshold is None:
            return []
        return [
            (f"{other.second.identity}, " if len(self.others) > 1 else "") + text
            for other in self.others
            for text in other.regressions(self.metric, self.threshold)
        ]

    @property
    def judged(self) -> list[bool]:
        """Whether each point and search could be judged."""
        verdicts = (verdict for other in self.others for verdict in other.verdicts(self.metric))
        return [verdict not in (TOO_FEW, CANNOT_COMPARE) for verdict in verdicts]

    @property
    def state(self) -> str:
        """The result of the threshold: ``good``, ``bad``, or ``warning`` if some points could not be judged."""
        return "bad" if self.regressions else "good" if all(self.judged) else "warning"

    @property
    def threshold_words(self) -> str:
        """Whether the threshold was kept, and how many points could not be judged. Empty if there is no threshold."""
        if self.threshold is None:
            return ""
        limit = f"{100 * self.threshold:g} %"
        if self.regressions:
            return f"Worse by more than {limit}, or without a value: {'; '.join(self.regressions)}."
        known, total = sum(self.judged), plural(len(self.judged), "point")
        return f"Worse by more than {limit}: none of {known} points that could be judged, of {total}."


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
        after = _keyed(contender)
        searches = {search.key: search for search in contender.searches}
        rates = [RateComparison(search, searches[search.key]) for search in baseline.searches if search.key in searches]
        places = [*own, *((one.first.members[0], one.second.members[0]) for one in rates)]
        others.append(
            RunComparison(
                baseline.run,
                contender.run,
                environment_differences(baseline.run, contender.run, places),
                {metric: [next(judged[metric]) for _ in own] for metric in metrics},
                rates,
                [
                    *_missing(before, after, own),
                    *(f"{one.first.label}: {NO_RATE}" for one in rates if one.verdict == NO_RATE),
                ],
                [*_alone(baseline.run, before, after), *_alone(contender.run, after, before)],
            )
        )
    return others


def _keyed(analysis: Analysis) -> Keyed:
    keyed: dict[str, Point] = {}
    for point in analysis.points:
        keyed.setdefault(point.key if point.phase == "measure" else search_key(point), point)
    return keyed


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


def _missing(before: Keyed, after: Keyed, shared: Sequence[tuple[Point, Point]]) -> Iterator[str]:
    """The points that have a value in the baseline and none in the contender, which is worse than any ratio."""
    for key, point in before.items():
        if key not in after and (point.valid or point.phase != "measure"):
            yield f"{_label(point)}: missing"
    for first, second in shared:
        if not first.valid or first.collapsed:
            continue
        if not second.valid:
            yield f"{second.label}: {'broke' if second.broken else 'no valid step'}"
        elif second.collapsed:
            count = f"{len(second.collapsed)} of {plural(len(second.valid), 'step')}"
            yield f"{second.label}: completed nothing in {count}"


def _alone(run: StoredRun, points: Keyed, others: Keyed) -> list[str]:
    return [f"{_label(point)} (only in {run.identity})" for key, point in points.items() if key not in others]


def _label(point: Point) -> str:
    """The label of a point. All points of a search share one label."""
    return point.label if point.phase == "measure" else f"the search of {point.steps[0].label or point.workload}"
