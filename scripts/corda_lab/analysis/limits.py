"""What was saturated where a sweep reached a limit, and why a search found no higher rate."""

from collections.abc import Sequence

from corda_lab.analysis.points import Point, SearchResult, grouped, x_name
from corda_lab.analysis.saturation import Resource, Utilisation
from corda_lab.analysis.significance import MetricComparisons
from corda_lab.analysis.values import why
from corda_lab.analysis.wording import joined
from corda_lab.results.stored import StoredRun
from corda_lab.steps.open_load import arrival_problems
from corda_lab.text.words import parameter_name

KEPT_UP = "the system kept up with the offered rate"

CPU_AND_GC = (Resource.HOST_CPU, Resource.NODE_CPU, Resource.GC)
"""The resources whose use is told where nothing was saturated."""


def limits(
    run: StoredRun,
    points: Sequence[Point],
    judged: MetricComparisons,
    searches: Sequence[SearchResult],
    uses: dict[str, list[Utilisation]],
) -> list[str]:
    """What was saturated where the sweep reached a limit, or that no monitored resource was saturated."""
    if searches:
        return [search_limit(found, uses) for found in searches]
    measured = [point for point in points if point.valid]
    if measured and all(step.open_load for point in measured for step in point.valid):
        return [open_limit(measured, uses)]
    return [closed_limit(run, points, top, uses) for top in judged.tops]


def search_limit(found: SearchResult, uses: dict[str, list[Utilisation]]) -> str:
    """What was saturated at the lowest rate that was not sustained."""
    where = f" with {found.group_label}" if found.group_label else ""
    if found.failed is None and found.high is not None:
        return f"at {found.high:g} arrivals per second{where}, the lab failed, so there is no step to examine"
    if found.failed is None:
        return f"every rate tried{where} was sustained, so no limit was reached" if found.rate is not None else ""
    return (
        f"at {float(found.failed.x):g} arrivals per second{where} (not sustained): {evidence(uses[found.failed.key])}"
    )


def open_limit(measured: Sequence[Point], uses: dict[str, list[Utilisation]]) -> str:
    """What was saturated at the first point at which the system did not keep up with the offered rate."""
    behind = [point for point in measured if not keeps_rate(point)]
    if not behind:
        where = "" if len(measured) == 1 else " at every point"
        return f"{KEPT_UP}{where}, so no limit was reached"
    return f"at {behind[0].label}, the system did not keep up with the offered rate: {evidence(uses[behind[0].key])}"


def keeps_rate(point: Point) -> bool:
    """Whether the system kept up with the offered rate in every valid step of a point with open load."""
    return not any(arrival_problems(step) for step in point.valid)


def closed_limit(run: StoredRun, points: Sequence[Point], top: Point, uses: dict[str, list[Utilisation]]) -> str:
    """What was saturated at the best point of a closed load."""
    where = f"at {top.label}: " if len(points) > 1 else ""
    text = where + evidence(uses[top.key])
    if not any(use.is_saturated for use in uses[top.key]) and is_still_rising(points, top):
        name = parameter_name(x_name(run) or "")
        return joined([text, f"the best point has the largest value of {name}, so the limit may not be reached yet"])
    return text


def evidence(uses: Sequence[Utilisation]) -> str:
    """What was saturated. If nothing was: the use of CPU and garbage collection, and what flows may have waited for."""
    if saturated := [use.evidence for use in uses if use.is_saturated]:
        return "; ".join(saturated)
    seen = [use.evidence for use in uses if use.evidence and use.resource in CPU_AND_GC]
    waiting = "flows may have waited for one another, for a disk or for the network"
    return f"no monitored resource was saturated. {joined(['; '.join(seen), waiting] if seen else [waiting])}"


def is_still_rising(points: Sequence[Point], top: Point) -> bool:
    """Whether the best point is at the right end of a curve of several points."""
    numbers = [point.x for point in grouped(points)[top.group_label] if isinstance(point.x, int | float)]
    return len(numbers) > 1 and top.x == max(numbers)


def failure_sentence(searches: Sequence[SearchResult]) -> str:
    """Why the lowest rate above the confirmed one was not sustained, for each group of a search."""
    failed = []
    for found in searches:
        if found.failed is None:
            continue
        where = f" with {found.group_label}" if found.group_label else ""
        step = next(step for step in found.failed.steps if why(step))
        longer = " in the confirmation" if step.phase == "confirm" else ""
        rate = f"{float(found.failed.x):g} arrivals per second{where}"
        failed.append(f"{rate} were not sustained{longer}: {why(step)}")
    return joined(failed)
