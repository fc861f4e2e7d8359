"""The points of a sweep: steps that differ only in their repeat, with each figure's interval over them.

A point's figures are made of its valid steps alone. Steps that only look for a rate (probes) and the longer ones that
confirm it are points of their own: they are not measured alike.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from corda_lab import difference, intervals
from corda_lab.difference import Difference
from corda_lab.intervals import Interval
from corda_lab.stored import StoredRun
from corda_lab.words import judged_latency, parameter_name

RATE = "load.rate"
"""The parameter that a search for the highest rate varies by itself."""


@dataclass(frozen=True)
class Metric:
    """A figure of a step that points are compared by."""

    name: str
    title: str
    unit: str
    higher_is: Literal["faster", "slower"]
    of: Callable[[dict[str, Any]], float | None]

    @property
    def higher_is_better(self) -> bool:
        return self.higher_is == "faster"


def _latency(name: str) -> Callable[[dict[str, Any]], float | None]:
    def of(step: dict[str, Any]) -> float | None:
        value: float | None = judged_latency(step)[name]
        return value

    return of


def _throughput(step: dict[str, Any]) -> float | None:
    return float(step["throughput_per_second"])


METRICS: dict[str, Metric] = {
    "throughput": Metric("throughput", "throughput", "flows/s", "faster", _throughput),
    **{name: Metric(name, f"latency {name}", "ms", "slower", _latency(name)) for name in ("p50", "p95", "p99")},
}


@dataclass(frozen=True)
class Estimate:
    """A figure of a point. ``low`` and ``high`` are None where fewer than two valid steps are behind it."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    method: str | None


@dataclass(frozen=True)
class Point:
    """Steps of one load on one shape, and where they stand in the sweep's curves."""

    workload: str
    values: dict[str, Any]
    phase: str
    label: str
    x: Any
    group: dict[str, Any]
    steps: tuple[dict[str, Any], ...]
    confidence: float

    @property
    def key(self) -> str:
        """What two sweeps have to share for their points to be the same."""
        return json.dumps([self.workload, self.phase, self.values], sort_keys=True)

    @property
    def valid(self) -> list[dict[str, Any]]:
        return [step for step in self.steps if step["validity"]["valid"]]

    @property
    def group_label(self) -> str:
        """The other varied parameters in words; empty where there is none."""
        return ", ".join(value_words(name, value) for name, value in self.group.items())

    def samples(self, metric: str) -> list[float]:
        """The figure of each valid step that has it, in order of their repeats."""
        found = (METRICS[metric].of(step) for step in sorted(self.valid, key=lambda step: int(step["repeat"])))
        return [value for value in found if value is not None]

    def estimate(self, metric: str) -> Estimate:
        """The figure with its interval over the valid steps."""
        values = self.samples(metric)
        found: Interval | None = intervals.repeats_interval(values, self.confidence)
        if found is not None:
            return Estimate(found.estimate, found.low, found.high, found.n, found.method)
        return Estimate(values[0] if values else None, None, None, len(values), None)


def value_words(parameter: str, value: Any) -> str:
    """``postgres``, ``heap 2g``, ``dev mode false``: a value, with its parameter where it does not speak for itself."""
    name = parameter_name(parameter)
    if isinstance(value, bool):
        return f"{name} {str(value).lower()}"
    if isinstance(value, str) and not value[:1].isdigit():
        return value
    return f"{value} {name}" if parameter.startswith("load.") else f"{name} {value}"


def x_name(run: StoredRun) -> str | None:
    """The parameter on the x axis; None where points stand side by side."""
    if run.sweep.get("find_max"):
        return RATE
    name: str | None = run.sweep["x"]
    return name


def points(run: StoredRun) -> list[Point]:
    """The points of a run, in the order in which the plan lists them, and otherwise of their first step."""
    name = x_name(run)
    steps_of: dict[str, list[dict[str, Any]]] = {}
    for step in sorted(run.steps, key=lambda step: int(step["index"])):
        key = json.dumps([step["workload"], step["phase"], step["point"], _probed_rate(run, step)], sort_keys=True)
        steps_of.setdefault(key, []).append(step)
    found = []
    for steps in steps_of.values():
        first = steps[0]
        values = dict(first["point"])
        if run.sweep.get("find_max"):
            values[RATE] = first["load"]["rate_per_second"]
        group = {key: value for key, value in values.items() if key != name}
        x = values.get(name) if name else first["label"]
        found.append(
            Point(
                first["workload"],
                values,
                first["phase"],
                first["label"] or first["workload"],
                x,
                group if name else {},
                tuple(steps),
                float(run.sweep["confidence"]),
            )
        )
    return sorted(found, key=lambda point: _listed_place(run, point))


def _probed_rate(run: StoredRun, step: dict[str, Any]) -> Any:
    return step["load"]["rate_per_second"] if run.sweep.get("find_max") else None


def _listed_place(run: StoredRun, point: Point) -> list[tuple[int, float]]:
    """Where the plan lists the point's values; values that it does not list (of a search) come in ascending order."""
    places = []
    for name, value in point.values.items():
        listed = list(run.sweep["vary"].get(name) or [])
        number = float(value) if isinstance(value, int | float) else 0.0
        # The x axis is the innermost order, whatever the plan's.
        is_x = name == x_name(run)
        place = (listed.index(value), number) if value in listed else (len(listed), number)
        places.append((is_x, place))
    return [place for _, place in sorted(places, key=lambda entry: entry[0])]


def grouped(all_points: Sequence[Point]) -> dict[str, list[Point]]:
    """Points by their group's label, in the order of the points."""
    groups: dict[str, list[Point]] = {}
    for point in all_points:
        groups.setdefault(point.group_label, []).append(point)
    return groups


def best(all_points: Sequence[Point], metric: str = "throughput") -> Point | None:
    """The point with the best figure among those that have a valid step. A search's confirmed points come first."""
    known = [point for point in all_points if point.estimate(metric).value is not None]
    confirmed = [point for point in known if point.phase == "confirm" and holds(point)]
    known = confirmed or [point for point in known if point.phase == "measure" or holds(point)] or known
    sign = 1 if METRICS[metric].higher_is_better else -1
    return max(known, key=lambda point: sign * (point.estimate(metric).value or 0.0), default=None)


def holds(point: Point) -> bool:
    """Whether every step of the point is valid and within the thresholds."""
    return all(step["validity"]["valid"] and step["thresholds"]["passed"] for step in point.steps)


@dataclass(frozen=True)
class Compared:
    """A point against another, which comes first. ``difference`` is None where one of them has no valid step."""

    first: Point
    second: Point
    difference: Difference | None


def is_paired(run: StoredRun) -> bool:
    """Whether repeats of different points were measured side by side, so that they can be compared in pairs."""
    return bool(run.sweep["order"] == "interleaved")


def compare_all(pairs: Sequence[tuple[Point, Point]], metric: str, *, paired: bool) -> list[Compared]:
    """Compare the second of each pair with the first; the verdicts are those that stand when all are judged together."""
    known: list[Difference | None] = [_difference(first, second, metric, paired=paired) for first, second in pairs]
    corrected = iter(difference.holm([one for one in known if one is not None]))
    return [
        Compared(first, second, None if found is None else next(corrected))
        for (first, second), found in zip(pairs, known, strict=True)
    ]


def _difference(first: Point, second: Point, metric: str, *, paired: bool) -> Difference | None:
    a, b = _by_repeat(first, metric), _by_repeat(second, metric)
    # A ratio needs two figures above zero.
    if not a or not b or min([*a.values(), *b.values()]) <= 0:
        return None
    if paired and a.keys() & b.keys():
        return difference.paired(a, b, higher_is=METRICS[metric].higher_is, confidence=first.confidence)
    return difference.unpaired(
        first.samples(metric), second.samples(metric), higher_is=METRICS[metric].higher_is, confidence=first.confidence
    )


def _by_repeat(point: Point, metric: str) -> dict[int, float]:
    values = ((int(step["repeat"]), METRICS[metric].of(step)) for step in point.valid)
    return {repeat: value for repeat, value in values if value is not None}


def group_pairs(all_points: Sequence[Point]) -> list[tuple[Point, Point]]:
    """Every point of a later group with the point of the first group at the same x."""
    groups = list(grouped([point for point in all_points if point.phase != "probe"]).values())
    if len(groups) < 2:
        return []
    base = {json.dumps(point.x): point for point in groups[0]}
    return [
        (base[json.dumps(point.x)], point) for group in groups[1:] for point in group if json.dumps(point.x) in base
    ]
