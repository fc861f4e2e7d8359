"""``lab compare``: runs against a first one, point by point, with what differs between them besides told first.

Points are the same when they vary the same things to the same values under the same workload. Between runs nothing is
paired: they were not measured side by side, so whatever changed on the machine meanwhile is part of the difference.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corda_lab.analysis.circumstances import Unlike, unlike
from corda_lab.analysis.conclusions import ratio_words
from corda_lab.analysis.points import METRICS, Found, Point, known_metrics, points, searched
from corda_lab.analysis.significance import CANNOT_COMPARE, Compared, compare_all
from corda_lab.errors import LabError
from corda_lab.results import stored
from corda_lab.results.stored import StoredRun
from corda_lab.text.words import listed, plural


@dataclass(frozen=True)
class Lost:
    """A point of the first run of which the second one has no figure, and why."""

    label: str
    reason: str


@dataclass(frozen=True)
class Rates:
    """The highest rates that two searches confirmed of the same; there is one of each, so no interval."""

    first: Found
    second: Found

    @property
    def label(self) -> str:
        return self.first.label

    @property
    def ratio(self) -> float | None:
        """Second ÷ first; None where one confirmed nothing."""
        return self.second.rate / self.first.rate if self.first.rate and self.second.rate else None

    @property
    def verdict(self) -> str:
        """Two single rates are never shown to differ; that nothing held any more is."""
        if self.first.rate and not self.second.rate:
            return "no rate confirmed"
        return "cannot tell" if self.ratio else CANNOT_COMPARE


@dataclass(frozen=True)
class Against:
    """A run against the first one. ``alone`` are the labels of points that only one of them has.

    ``rows`` are the measured points of both by metric, ``rates`` what both searched, ``lost`` what the second run no longer does.
    """

    first: StoredRun
    second: StoredRun
    unlike: list[Unlike]
    rows: dict[str, list[Compared]]
    rates: list[Rates]
    lost: list[Lost]
    alone: list[str]

    def regressions(self, metric: str, threshold: float | None) -> list[Compared]:
        """Points that are shown to be worse, by more than the threshold."""
        return [] if threshold is None else [one for one in self.rows[metric] if loss(one, metric) > threshold]

    def undecided(self, metric: str) -> int:
        """How many points could not be judged."""
        rows = sum(one.verdict in ("cannot tell", CANNOT_COMPARE) for one in self.rows[metric])
        return rows + sum(one.verdict in ("cannot tell", CANNOT_COMPARE) for one in self.rates)

    def judged(self, metric: str) -> int:
        """How many points could be judged."""
        return len(self.rows[metric]) + len(self.rates) - self.undecided(metric)


def loss(one: Compared, metric: str) -> float:
    """By what share the second point is shown to be worse; 0 where no difference is shown."""
    found = one.difference
    if found is None or found.verdict != "slower":
        return 0.0
    return 1 - found.ratio if METRICS[metric].higher_is_better else found.ratio - 1


def parse_threshold(text: str) -> float:
    """``5%`` as 0.05."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%?", text.strip())
    if not match or not 0 < float(match[1]) < 100:
        raise LabError(f"--threshold: {text!r} is not a share", "Write it like 5%.")
    return float(match[1]) / 100


def against_first(runs: Sequence[StoredRun]) -> list[Against]:
    """Compare every metric at every point that runs share with the first. All comparisons of a metric are judged together.

    Raises LabError where two have no point in common.
    """
    all_points = [points(run) for run in runs]
    pairs = [aligned(runs[0], all_points[0], run, own) for run, own in zip(runs[1:], all_points[1:], strict=True)]
    rates = [found_by_both(runs[0], all_points[0], run, own) for run, own in zip(runs[1:], all_points[1:], strict=True)]
    metrics = [name for name in METRICS if all(name in known_metrics(own) for own in all_points)]
    # A search's points are of rates that it chose itself, so they are not compared.
    judged = {
        metric: iter(compare_all([pair for found in pairs for pair in found], metric, paired=False))
        for metric in metrics
    }
    others = []
    for run, own, shared, searches in zip(runs[1:], all_points[1:], pairs, rates, strict=True):
        rows = {metric: [next(judged[metric]) for _ in shared] for metric in metrics}
        both = [*shared, *((one.first.members[0], one.second.members[0]) for one in searches)]
        others.append(
            Against(
                runs[0],
                run,
                unlike(runs[0], run, both),
                rows,
                searches,
                lost(all_points[0], own, shared, searches),
                alone((runs[0], all_points[0]), (run, own)),
            )
        )
    return others


def aligned(
    first: StoredRun, ours: Sequence[Point], second: StoredRun, theirs: Sequence[Point]
) -> list[tuple[Point, Point]]:
    """The measured points that two runs share. Raises LabError when they share nothing at all."""
    before, after = by_key(ours), by_key(theirs)
    if not before.keys() & after.keys():
        raise LabError(
            f"{first.identity} and {second.identity} have no point in common",
            f"The first has {some(before)}, the second {some(after)}.",
        )
    return [(point, after[key]) for key, point in before.items() if key in after and point.phase == "measure"]


def by_key(own: Sequence[Point]) -> dict[str, Point]:
    """Points by what they have to share with another run's: of a search it is not the rate, which that found itself."""
    found: dict[str, Point] = {}
    for point in own:
        found.setdefault(point.key if point.phase == "measure" else search_key(point), point)
    return found


def search_key(point: Point) -> str:
    """What a search's point has in common with all of that search."""
    return json.dumps(["search", point.workload, point.group], sort_keys=True)


def found_by_both(first: StoredRun, ours: Sequence[Point], second: StoredRun, theirs: Sequence[Point]) -> list[Rates]:
    """What both runs searched."""
    if not (first.sweep.find_max and second.sweep.find_max):
        return []
    after = {found.key: found for found in searched(second, theirs)}
    return [Rates(found, after[found.key]) for found in searched(first, ours) if found.key in after]


def lost(
    ours: Sequence[Point], theirs: Sequence[Point], shared: Sequence[tuple[Point, Point]], rates: Sequence[Rates]
) -> list[Lost]:
    """What the first run has a figure of and the second has not: worse than any ratio could be."""
    after = by_key(theirs)
    found = [
        Lost(label_of(point), "is missing")
        for key, point in by_key(ours).items()
        if key not in after and (point.valid or point.phase != "measure")
    ]
    for before, now in shared:
        if not before.valid or before.collapsed:
            continue
        if not now.valid:
            found.append(Lost(now.label, "has no valid step"))
        elif now.collapsed:
            count = f"{len(now.collapsed)} of {plural(len(now.valid), 'step')}"
            found.append(Lost(now.label, f"completed nothing in {count}"))
    return found + [Lost(one.label, one.verdict) for one in rates if one.verdict == "no rate confirmed"]


def alone(first: tuple[StoredRun, Sequence[Point]], second: tuple[StoredRun, Sequence[Point]]) -> list[str]:
    """The labels of points that only one of two runs has."""
    before, after = by_key(first[1]), by_key(second[1])
    found = [f"{label_of(point)} (only in {first[0].identity})" for key, point in before.items() if key not in after]
    return found + [
        f"{label_of(point)} (only in {second[0].identity})" for key, point in after.items() if key not in before
    ]


def label_of(point: Point) -> str:
    """A point in words; all points of a search are one."""
    return point.label if point.phase == "measure" else f"the search of {point.steps[0].label or point.workload}"


def some(known: Mapping[str, Point]) -> str:
    """A few points in words."""
    labels = [f"{label_of(point)} of {point.workload}" for point in known.values()]
    return listed(labels[:4]) + (" and others" if len(labels) > 4 else "")


def regression_words(one: Compared, metric: str) -> str:
    """One point that became worse."""
    return f"{one.second.label}: {METRICS[metric].title} {100 * loss(one, metric):.1f} % worse, {ratio_words(one)}"


@dataclass(frozen=True)
class Comparison:
    """Runs against the first of them, judged by one metric."""

    runs: list[StoredRun]
    others: list[Against]
    metric: str
    threshold: float | None

    @property
    def regressions(self) -> list[str]:
        """Every point that became worse by more than the threshold or has no figure any more, in words."""
        if self.threshold is None:
            return []
        return [
            (f"{one.second.identity}, " if len(self.others) > 1 else "") + words
            for one in self.others
            for words in [
                *(regression_words(row, self.metric) for row in one.regressions(self.metric, self.threshold)),
                *(f"{found.label} {found.reason}" for found in one.lost),
            ]
        ]

    @property
    def state(self) -> str:
        """What a reader should make of the threshold: ``good``, ``bad``, or ``doubt`` where points could not be judged."""
        if self.regressions:
            return "bad"
        return "doubt" if any(one.undecided(self.metric) for one in self.others) else "good"


def compare_runs(folders: Sequence[Path], *, metric: str, threshold: float | None) -> Comparison:
    """Compare runs with the first of them. Raises LabError where two have no point in common."""
    runs = [stored.read(folder) for folder in folders]
    others = against_first(runs)
    if any(metric not in one.rows for one in others):
        raise LabError(
            f"--metric {metric}: not every run knows it",
            "Choose another one, or workloads that say their states_per_flow.",
        )
    return Comparison(runs, others, metric, threshold)
