"""The points of a sweep: steps that differ only in their repeat, with the interval of each value over these steps.

The values of a point come from its valid steps only. The probes of a search and its longer confirmations are separate
points, because they are not measured in the same way.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from corda_lab.analysis.metrics import COMPARED, METRICS, metric
from corda_lab.results.stored import StoredRun
from corda_lab.results.sweep import SearchOutcome
from corda_lab.stats import intervals
from corda_lab.steps.entry import ParameterValue, StepEntry, ValueName
from corda_lab.steps.open_load import arrival_problems
from corda_lab.steps.parameters import AT, STEP, value_words
from corda_lab.steps.reasons import sentences

RATE = "load.rate"
"""The parameter that a search for the highest rate varies."""


@dataclass(frozen=True)
class Estimate:
    """A value of a point, from ``n`` valid steps. ``low`` and ``high`` are None for fewer than two valid steps.

    ``value`` is None without a step that has it, and infinite if a step answered too few requests to have it.
    """

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
    _estimates: dict[str, Estimate] = field(default_factory=dict, init=False, repr=False, compare=False)

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
        return [step for step in self.steps if step.outcome == "broke"]

    @property
    def steady(self) -> list[StepEntry]:
        return [step for step in self.valid if not step.unsteady]

    @property
    def collapsed(self) -> list[StepEntry]:
        """The valid steps in which no flow was completed. They are results too, and count as 0 flows per second."""
        return [step for step in self.valid if step.throughput_per_second == 0]

    @property
    def holds(self) -> bool:
        return all(step.validity.valid and step.thresholds.passed for step in self.steps)

    @property
    def why_not(self) -> str:
        """Why the first step that is invalid or misses a threshold does so; empty if none does."""
        texts = ("; ".join(sentences([*step.validity.reasons, *step.thresholds.reasons])) for step in self.steps)
        return next(filter(None, texts), "")

    @property
    def keeps_rate(self) -> bool:
        """Whether the system kept up with the offered rate in every valid step of open load."""
        return not any(arrival_problems(step) for step in self.valid)

    @property
    def group_label(self) -> str:
        """The values of the other varied parameters as text; empty if there are none."""
        return ", ".join(value_words(name, value) for name, value in self.group.items())

    def samples(self, name: str) -> list[float]:
        """The value of each valid step that has it, in order of the repeats."""
        return _samples(self.valid, name)

    def estimate(self, name: str) -> Estimate:
        if name not in self._estimates:
            self._estimates[name] = _estimate(self.samples(name))
        return self._estimates[name]

    def steady_estimate(self, name: str) -> Estimate | None:
        """The value without the unsteady steps; None if there are none, or if no step is left."""
        if len(self.steady) in (0, len(self.valid)):
            return None
        return _estimate(_samples(self.steady, name))

    def cost(self, name: str) -> dict[str, float]:
        """Mean of a cost of one flow, by node and other part of the lab. Empty if it could not be measured."""
        return mean_by_name([step.by_part(cast(ValueName, name)) for step in self.valid])

    def stages(self) -> dict[str, float]:
        """Mean milliseconds of each stage, with start and end. Empty without stage rows."""
        return mean_by_name([means for step in self.valid if (means := _stages_of(step))])


def _samples(steps: Sequence[StepEntry], name: str) -> list[float]:
    of = metric(name).of
    values = (of(step) for step in sorted(steps, key=lambda step: step.repeat))
    return [value for value in values if value is not None]


def _estimate(values: list[float]) -> Estimate:
    if any(math.isinf(value) for value in values):
        return Estimate(math.inf, None, None, len(values), None)
    interval = intervals.repeats_interval(values)
    if interval is None:
        return Estimate(values[0] if values else None, None, None, len(values), None)
    return Estimate(interval.estimate, interval.low, interval.high, interval.n, interval.method)


def mean_by_name(dictionaries: Sequence[Mapping[str, float]]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for dictionary in dictionaries:
        for name, value in dictionary.items():
            values.setdefault(name, []).append(value)
    return {name: sum(known) / len(known) for name, known in values.items()}


def _stages_of(step: StepEntry) -> dict[str, float]:
    """Mean milliseconds of each stage over the flows of a step, weighted by their number."""
    tables = step.stages.flows if not step.stages.reason else []
    total = sum(table.rows for table in tables)
    means: dict[str, float] = {}
    for table in tables if total else ():
        inside = {line.stage: line.mean_ms for line in table.stages}
        for stage, value in {"start": table.start_ms.mean, **inside, "end": table.end_ms.mean}.items():
            means[stage] = means.get(stage, 0.0) + (value or 0.0) * table.rows / total
    return means


def x_name(run: StoredRun) -> str | None:
    """The parameter on the x axis; None if the points have no order."""
    return RATE if run.sweep.find_max else run.sweep.axis


def points(run: StoredRun) -> list[Point]:
    """The points of a run, in the order of the plan. Points that the plan does not list follow by their first step."""
    name, is_search = x_name(run), bool(run.sweep.find_max)
    steps_of: dict[str, list[StepEntry]] = {}
    for step in sorted(run.steps, key=lambda step: step.index):
        probed = step.load.rate if is_search else None
        key = json.dumps([step.workload, step.phase, step.point, probed], sort_keys=True)
        steps_of.setdefault(key, []).append(step)
    implied, is_by_workload = _implied_by_x(run, name)
    found = []
    for steps in steps_of.values():
        first = steps[0]
        values = {**first.point, RATE: first.load.rate} if is_search else dict(first.point)
        group = {key: value for key, value in values.items() if key not in implied}
        group |= {"workload": first.workload} if is_by_workload else {}
        label = _label(run, first)
        x = values.get(name) if name else label
        found.append(Point(first.workload, values, first.phase, label, x, group if name else {}, tuple(steps)))
    return sorted(found, key=lambda point: _place_in_plan(run, point))


def _implied_by_x(run: StoredRun, name: str | None) -> tuple[frozenset[str], bool]:
    """The parameters that the place on the x axis implies, so that they do not part curves; and whether workloads do.

    The number of a named step follows from its name. If the number is the place, the name follows from it too, unless
    several steps share it. Steps that share it may be those of several workloads, each of which is then a curve.
    """
    implied = frozenset([AT, *([name] if name else [])])
    if name != AT:
        return implied, False
    steps = {(step.point.get(STEP), step.point.get(AT), step.workload) for step in run.steps}
    if len({number for _, number, _ in steps}) == len({(step, number) for step, number, _ in steps}):
        return implied | {STEP}, False
    is_by_workload = len({(number, workload) for _, number, workload in steps}) == len(steps)
    return (implied | {STEP}, True) if is_by_workload else (implied, False)


def _label(run: StoredRun, step: StepEntry) -> str:
    """The label in the plan. All steps of a search share one label, so the rate is added in front."""
    label = step.label or step.workload
    if not run.sweep.find_max:
        return label
    rate = value_words(RATE, step.load.rate)
    return f"{rate}, {label}" if step.point else rate


def _place_in_plan(run: StoredRun, point: Point) -> list[tuple[int, float]]:
    """The places of a point's values in the plan. Values that are not in the plan (of a search) are sorted by size.

    The parameter on the x axis comes last: it always varies fastest, also where the plan has another order.
    """
    places = []
    for name in sorted(point.values, key=lambda name: name == x_name(run)):
        value, listed = point.values[name], list(run.sweep.listed(name))
        number = float(value) if isinstance(value, int | float) else 0.0
        places.append((listed.index(value) if value in listed else len(listed), number))
    return places


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
        name for name, value in METRICS.items() if name in compared or any(value.of(step) is not None for step in steps)
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
    is_one_rate = all(step.load.is_open for step in steps) and len({step.load.rate for step in steps}) == 1
    return "p95" if is_one_rate and all(point.keeps_rate for point in all_points) else "throughput"


def best(all_points: Sequence[Point], judged: str = "throughput") -> Point | None:
    """The point with the best value, among the points with a valid step. In a search, only confirmed rates count."""
    known = [point for point in all_points if point.estimate(judged).value is not None]
    known = [point for point in known if point.phase == "measure" or (point.phase == "confirm" and point.holds)]
    # A point at which some steps completed nothing is the best one only if this is true of every point.
    known = [point for point in known if not point.collapsed] or known
    sign = 1 if metric(judged).higher_is_better else -1
    return max(known, key=lambda point: sign * (point.estimate(judged).value or 0.0), default=None)


@dataclass(frozen=True)
class SearchResult:
    """The result of a search for one combination of varied values, in arrivals per second.

    ``low`` is the highest rate that a probe saw sustained, and ``high`` the lowest rate above it that was not
    sustained.
    """

    label: str
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
    def group(self) -> dict[str, ParameterValue]:
        return self.members[0].group

    @property
    def key(self) -> str:
        """The key of a search. Searches of two runs are compared if their keys are equal."""
        return search_key(self.members[0])


def search_key(point: Point) -> str:
    """The key that all points of one search share."""
    return json.dumps(["search", point.workload, point.group], sort_keys=True)


def searched(run: StoredRun, all_points: Sequence[Point]) -> list[SearchResult]:
    """The result of a search for each group of points. Without a stored reason, the search was interrupted."""
    groups: dict[str, list[Point]] = {}
    for point in all_points:
        groups.setdefault(search_key(point), []).append(point)
    return [_search_result(members, run.sweep.outcomes) for members in groups.values()]


def _search_result(members: Sequence[Point], outcomes: Mapping[str, SearchOutcome]) -> SearchResult:
    label = members[0].steps[0].label or members[0].workload
    confirmed = [point for point in members if point.phase == "confirm" and point.holds]
    best_point = max(confirmed, key=lambda point: float(point.x), default=None)
    rate = None if best_point is None else float(best_point.x)
    probes = [point for point in members if point.phase == "probe"]
    low = max((float(point.x) for point in probes if point.holds), default=None)
    high = min((float(point.x) for point in probes if not point.holds and (low is None or point.x > low)), default=None)
    not_held = [point for point in members if not point.holds and (rate is None or float(point.x) > rate)]
    failed = min(not_held, key=lambda point: float(point.x), default=None)
    reason = outcomes[label].reason if label in outcomes else None
    return SearchResult(label, rate, low, high, reason, best_point, failed, tuple(members))
