"""Which differences a sweep shows: its planned comparisons, and those of the best points with all others."""

import math
from collections.abc import Sequence

from corda_lab.analysis.points import Point
from corda_lab.analysis.significance import (
    CANNOT_COMPARE,
    NOTHING_COMPLETED,
    MetricComparisons,
    PlannedComparison,
    PointComparison,
)
from corda_lab.analysis.wording import has_interval, joined, judged_words, ratio_only, ratio_words, some, too_few
from corda_lab.stats.difference import TOO_FEW
from corda_lab.steps.parameters import value_words
from corda_lab.text.words import plural

HOW = "paired by repeat, judged together"
"""How points are compared."""


def differences(judged: MetricComparisons) -> list[str]:
    """The results of the planned comparisons, and of the comparisons of the best points with all others."""
    by_parameter: dict[tuple[str, str], list[PlannedComparison]] = {}
    for one in judged.planned:
        workload = one.compared.second.workload if len(judged.strata) > 1 else ""
        by_parameter.setdefault((workload, one.parameter), []).append(one)
    found = []
    for (workload, _), members in by_parameter.items():
        where = f"{workload}: " if workload else ""
        how = f" ({HOW})" if any(has_interval(one.compared) for one in members) else ""
        found += [f"{where}{text}{how}" for text in planned_words(judged, members)]
    # Several workloads with one repeat each give the same sentence.
    return found + list(dict.fromkeys(text for top in judged.tops if (text := against_best(judged, top))))


def planned_words(judged: MetricComparisons, members: Sequence[PlannedComparison]) -> list[str]:
    """The results of the planned comparisons of one parameter, for each pair of values."""
    by_value: dict[tuple[str, str], list[PlannedComparison]] = {}
    for one in members:
        first, second = (point.values[one.parameter] for point in (one.compared.first, one.compared.second))
        names = (value_words(one.parameter, first), value_words(one.parameter, second))
        by_value.setdefault(names, []).append(one)
    judged_ones = any(has_interval(one.compared) for one in members)
    words, without = (judged_words, "") if judged_ones else (ratio_only, " (no intervals)")
    if all(len(found) == 1 for found in by_value.values()) and len({first for first, _ in by_value}) == 1:
        base = next(first for first, _ in by_value)
        each = "; ".join(f"{second} {words(found[0].compared)}" for (_, second), found in by_value.items())
        return [f"compared with {base}{without}: {each}"]
    return [
        f"{second} compared with {first}{without}: "
        + (
            over_points(judged, found)
            if judged_ones
            else "; ".join(f"{ratio_only(one.compared)} at {place(judged, one)}" for one in found)
        )
        for (first, second), found in by_value.items()
    ]


def place(judged: MetricComparisons, planned: PlannedComparison) -> str:
    """The values that two points share that differ in one parameter."""
    named = {planned.parameter} | ({"workload"} if len(judged.strata) > 1 else set())
    shared = [value_words(name, value) for name, value in planned.compared.second.values.items() if name not in named]
    return ", ".join(shared) or planned.compared.second.label


def over_points(judged: MetricComparisons, found: Sequence[PlannedComparison]) -> str:
    """The comparison of two values of a parameter, over all points at which both were measured."""
    verdicts: dict[str, list[PlannedComparison]] = {}
    for one in found:
        verdicts.setdefault(one.compared.verdict, []).append(one)
    parts = []
    for verdict, members in verdicts.items():
        if verdict in ("faster", "slower"):
            furthest = max(members, key=lambda one: distance(one.compared))
            parts.append(
                f"{verdict} at {len(members)} of {plural(len(found), 'point')}, most at {place(judged, furthest)}: "
                f"{ratio_words(furthest.compared)}"
            )
        elif verdict == TOO_FEW:
            ratios = [f"{place(judged, one)} ({ratio_words(one.compared)})" for one in members]
            parts.append(f"{verdict} at {some(ratios)}")
        else:
            parts.append(f"{verdict} at {some([place(judged, one) for one in members])}")
    return "; ".join(parts)


def distance(compared: PointComparison) -> float:
    """The distance of a ratio from 1, on a logarithmic scale."""
    return abs(math.log(compared.difference.ratio)) if compared.difference else 0.0


def against_best(judged: MetricComparisons, top: Point) -> str:
    """Which points differ from the best one, and which do not. Empty if there is no other point."""
    compared = judged.against(top)
    if not compared:
        return ""
    verdicts: dict[str, list[str]] = {}
    for one in compared:
        verdicts.setdefault(one.verdict, []).append(one.second.label)
    if set(verdicts) == {TOO_FEW}:
        return f"{too_few(judged)}, too few to tell whether they differ"
    differing = sum(len(verdicts.get(verdict, [])) for verdict in ("slower", "faster", NOTHING_COMPLETED))
    if differing == len(compared):
        return f"{top.label} differs from every other point"
    parts = [f"{top.label} differs from {plural(differing, 'point')}"] if differing else []
    if same := verdicts.get("no difference seen"):
        parts.append(f"no difference was seen between {top.label} and {some(same)}")
    if unknown := verdicts.get(TOO_FEW, []):
        parts.append(f"there are too few repeats to tell whether {top.label} differs from {some(unknown)}")
    if without := verdicts.get(CANNOT_COMPARE, []):
        parts.append(f"{top.label} cannot be compared with {some(without)}")
    return joined(parts)
