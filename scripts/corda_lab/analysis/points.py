"""The points of a sweep: steps that differ only in their repeat, with the interval of each value over these steps.

The values of a point come from its valid steps only. The probes of a search and its longer confirmations are separate
points, because they are not measured in the same way.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corda_lab.analysis.metrics import COMPARED, METRICS, metric
from corda_lab.results.stored import StoredRun
from corda_lab.results.sweep import SearchOutcome
from corda_lab.stats import intervals
from corda_lab.stats.intervals import Interval
from corda_lab.steps.entry import ParameterValue, StepEntry
from corda_lab.steps.open_load import arrival_problems
from corda_lab.steps.parameters import AT, STEP, value_words

RATE = "load.rate"
"""The parameter that a search for the highest rate varies."""


@dataclass(frozen=True)
class Estimate:
    """A value of a point, from ``n`` valid steps. ``low`` and ``high`` are None for fewer than two valid steps."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    method: str | None


@dataclass(frozen=True)
class Point:
    """The steps of one load on one shape, and their place in the curves of the sweep.

    ``x`` is the value on the x axis; ``group`` has the values of the other varied parameters.
    """

    workload: str
    values: dict[str, ParameterValue]
    phase: str
    label: str
    x: Any
    group: dict[str, ParameterValue]
    steps: tuple[StepEntry, ...]

    @property
    def key(self) -> str:
        """The key of a point. Points of two sweeps are the same if their keys are equal."""
        return json.dumps([self.workload, self.phase, self.values], sort_keys=True)

    @property
    def valid(self) -> list[StepEntry]:
        """The valid steps with values. Those that broke are valid too, but have none."""
        return [step for step in self.steps if step.validity.valid and step.outcome == "passed"]

    @property
    def broken(self) -> list[StepEntry]:
        """The steps that broke the lab."""
        return [step for step in self.steps if step.outcome == "broke"]

    @property
    def steady(self) -> list[StepEntry]:
        """The valid steps whose throughput was steady."""
        return [step for step in self.valid if not step.unsteady]

    @property
    def collapsed(self) -> list[StepEntry]:
        """The valid steps in which no flow was completed. They are results too, and count as 0 flows per second."""
        return [step for step in self.valid if step.throughput_per_second == 0]

    @property
    def group_label(self) -> str:
        """The values of the other varied parameters as text; empty if there are none."""
        return ", ".join(value_words(name, value) for name, value in self.group.items())

    def samples(self, name: str) -> list[float]:
        """The value of each valid step that has it, in order of the repeats."""
        return _samples(self.valid, name)

    def estimate(self, name: str) -> Estimate:
        """The value with its interval over the valid steps."""
        return self._estimate(self.samples(name))

    def steady_estimate(self, name: str) -> Estimate | None:
        """The value without the unsteady steps; None if there are none, or if no step is left."""
        if len(self.steady) in (0, len(self.valid)):
            return None
        return self._estimate(_samples(self.steady, name))

    def _estimate(self, values: list[float]) -> Estimate:
        if any(math.isinf(value) for value in values):
            # In at least one repeat, so few requests were answered that this latency has no value.
            return Estimate(math.inf, None, None, len(values), None)
        found: Interval | None = intervals.repeats_interval(values)
        if found is not None:
            return Estimate(found.estimate, found.low, found.high, found.n, found.method)
        return Estimate(values[0] if values else None, None, None, len(values), None)


def _samples(steps: Sequence[StepEntry], name: str) -> list[float]:
    of = metric(name).of
    found = (of(step) for step in sorted(steps, key=lambda step: int(step.repeat)))
    return [value for value in found if value is not None]


def x_name(run: StoredRun) -> str | None:
    """The parameter on the x axis; None if the points have no order."""
    if run.sweep.find_max:
        return RATE
    name: str | None = run.sweep.axis
    return name


def points(run: StoredRun) -> list[Point]:
    """The points of a run, in the order of the plan. Points that the plan does not list follow by their first step."""
    name = x_name(run)
    curves = _curves(run, name)
    steps_of: dict[str, list[StepEntry]] = {}
    for step in sorted(run.steps, key=lambda step: int(step.index)):
        key = json.dumps([step.workload, step.phase, step.point, _probed_rate(run, step)], sort_keys=True)
        steps_of.setdefault(key, []).append(step)
    found = []
    for steps in steps_of.values():
        first = steps[0]
        values = dict(first.point)
        if run.sweep.find_max:
            values[RATE] = first.load.rate
        label = _label(run, first)
        group = {key: value for key, value in values.items() if key not in curves.told}
        group |= {"workload": first.workload} if curves.by_workload else {}
        found.append(
            Point(
                first.workload,
                values,
                first.phase,
                label,
                values.get(name) if name else label,
                group if name else {},
                tuple(steps),
            )
        )
    return sorted(found, key=lambda point: _listed_place(run, point))


@dataclass(frozen=True)
class _Curves:
    """What parts one curve from another: all parameters except those that are ``told``, and the workload if asked."""

    told: frozenset[str]
    by_workload: bool = False


def _curves(run: StoredRun, name: str | None) -> _Curves:
    """What the place on the x axis tells of a point, so that it does not part curves.

    The number of a named step is told by its name. If the number is the place, it tells the name too, unless several
    steps share it. Steps that share it may be those of several workloads, each of which is then a curve.
    """
    told = frozenset([AT, *([name] if name else [])])
    steps = {(step.point.get(STEP), step.point.get(AT), step.workload) for step in run.steps}
    if name != AT:
        return _Curves(told)
    if len({number for _, number, _ in steps}) == len({(one, number) for one, number, _ in steps}):
        return _Curves(told | {STEP})
    is_one_each = len({(number, workload) for _, number, workload in steps}) == len(steps)
    return _Curves(told | {STEP}, by_workload=True) if is_one_each else _Curves(told)


def _label(run: StoredRun, step: StepEntry) -> str:
    """The label in the plan. All steps of a search share one label, so the rate is added in front."""
    label = str(step.label or step.workload)
    if not run.sweep.find_max:
        return label
    rate = value_words(RATE, step.load.rate)
    return f"{rate}, {label}" if step.point else rate


def _probed_rate(run: StoredRun, step: StepEntry) -> Any:
    return step.load.rate if run.sweep.find_max else None


def _listed_place(run: StoredRun, point: Point) -> list[tuple[int, float]]:
    """The place of a point's values in the plan. Values that are not in the plan (of a search) are sorted by size."""
    places = []
    for name, value in point.values.items():
        listed = list(run.sweep.listed(name))
        number = float(value) if isinstance(value, int | float) else 0.0
        # The parameter on the x axis always varies fastest, also where the plan has another order.
        is_x = name == x_name(run)
        place = (listed.index(value), number) if value in listed else (len(listed), number)
        places.append((is_x, place))
    return [place for _, place in sorted(places, key=lambda entry: entry[0])]


def grouped(all_points: Sequence[Point]) -> dict[str, list[Point]]:
    """Points by the label of their group, in the order of the points."""
    groups: dict[str, list[Point]] = {}
    for point in all_points:
        groups.setdefault(point.group_label, []).append(point)
    return groups


def strata(all_points: Sequence[Point]) -> list[list[Point]]:
    """Sets of points that may be compared with one another, without the probes of a search.

    Each workload has its own set, because flows of different workloads are different work. If only the workload varies,
    all points form one set.
    """
    by_workload: dict[str, list[Point]] = {}
    measured = [point for point in all_points if point.phase != "probe"]
    for point in measured:
        by_workload.setdefault(point.workload, []).append(point)
    if all(len(members) == 1 for members in by_workload.values()):
        return [measured] if measured else []
    return list(by_workload.values())


def known_metrics(all_points: Sequence[Point]) -> list[str]:
    """The compared metrics of the points. ``states`` is one of them only if a workload defines states_per_flow."""
    knows_states = any(METRICS["states"].of(step) is not None for point in all_points for step in point.valid)
    return [name for name in COMPARED if name != "states" or knows_states]


def measured_metrics(all_points: Sequence[Point]) -> list[str]:
    """The compared metrics of the points, and all others that at least one valid step of them has."""
    steps, compared = [step for point in all_points for step in point.valid], known_metrics(all_points)
    return [
        name for name, one in METRICS.items() if name in compared or any(one.of(step) is not None for step in steps)
    ]


def judged_metric(run: StoredRun, all_points: Sequence[Point]) -> str:
    """The metric by which a sweep is judged: ``throughput``, with two exceptions.

    It is ``states`` if the flows of one workload make different numbers of states at different points. It is ``p95`` if
    all steps have open load at one rate and kept it, because the throughput is then fixed by the offered rate. A step
    that did not keep the rate served other requests than the others, so its latency ranks nothing.
    """
    steps = [step for point in all_points for step in point.valid]
    if run.sweep.find_max or all(step.throughput_per_second == 0 for step in steps):
        return "throughput"
    if all(METRICS["states"].of(step) is not None for step in steps):
        shares = {(step.workload, tuple(part.states_per_flow for part in step.parts)) for step in steps}
        if len(shares) > len({workload for workload, _ in shares}):
            return "states"
    is_one_rate = all(step.open_load for step in steps) and len({step.load.rate for step in steps}) == 1
    if is_one_rate and not any(arrival_problems(step) for step in steps):
        return "p95"
    return "throughput"


def best(all_points: Sequence[Point], judged: str = "throughput") -> Point | None:
    """The point with the best value, among the points with a valid step. In a search, only confirmed rates count."""
    known = [point for point in all_points if point.estimate(judged).value is not None]
    known = [point for point in known if point.phase == "measure" or (point.phase == "confirm" and holds(point))]
    # A point at which some steps completed nothing is the best one only if this is true of every point.
    known = [point for point in known if not point.collapsed] or known
    sign = 1 if metric(judged).higher_is_better else -1
    return max(known, key=lambda point: sign * (point.estimate(judged).value or 0.0), default=None)


def holds(point: Point) -> bool:
    """Whether every step of the point is valid and within the thresholds."""
    return all(step.validity.valid and step.thresholds.passed for step in point.steps)


@dataclass(frozen=True)
class SearchResult:
    """The result of a search for one combination of varied values, in arrivals per second.

    ``low`` is the highest rate that a probe saw sustained, and ``high`` the lowest rate above it that was not
    sustained.
    """

    label: str
    workload: str
    group: dict[str, ParameterValue]
    group_label: str
    rate: float | None
    low: float | None
    high: float | None
    reason: str | None
    confirmed: Point | None
    """The point at which the rate was confirmed."""
    failed: Point | None
    """The lowest rate above the confirmed one that was not sustained; if none was confirmed, the lowest of all."""
    members: tuple[Point, ...]

    @property
    def key(self) -> str:
        """The key of a search. Searches of two runs are compared if their keys are equal."""
        return json.dumps([self.workload, self.group], sort_keys=True)


def searched(run: StoredRun, all_points: Sequence[Point]) -> list[SearchResult]:
    """The result of a search for each group of points: as stored, or computed from the steps if it was interrupted."""
    outcomes = run.sweep.outcomes
    by_group: dict[str, list[Point]] = {}
    for point in all_points:
        by_group.setdefault(json.dumps([point.workload, point.group]), []).append(point)
    return [_found(members, outcomes) for members in by_group.values()]


def _found(members: Sequence[Point], outcomes: Mapping[str, SearchOutcome]) -> SearchResult:
    label = members[0].steps[0].label or members[0].workload
    outcome = outcomes.get(label)
    held = {phase: [p for p in members if p.phase == phase and holds(p)] for phase in ("probe", "confirm")}
    if outcome:
        rate, low, high = outcome.rate, outcome.low, outcome.high
    else:
        rate = max((float(point.x) for point in held["confirm"]), default=None)
        low = max((float(point.x) for point in held["probe"]), default=None)
        above = [float(p.x) for p in members if p.phase == "probe" and not holds(p) and (low is None or p.x > low)]
        high = min(above, default=None)
    not_held = [point for point in members if not holds(point) and (rate is None or float(point.x) > rate)]
    return SearchResult(
        label,
        members[0].workload,
        members[0].group,
        members[0].group_label,
        rate,
        low,
        high,
        outcome.reason if outcome else None,
        next((point for point in held["confirm"] if float(point.x) == rate), None),
        min(not_held, key=lambda point: float(point.x), default=None),
        tuple(members),
    )
