"""The conclusions of a sweep in sentences: headline, limits, validity and notes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from corda_lab.analysis import saturation
from corda_lab.analysis.metrics import METRICS
from corda_lab.analysis.notes import Note, notes
from corda_lab.analysis.points import Estimate, Point, SearchResult, grouped, measured_metrics, searched, x_name
from corda_lab.analysis.saturation import Resource, Utilisation
from corda_lab.analysis.significance import MetricComparisons, judge
from corda_lab.analysis.values import why
from corda_lab.analysis.wording import (
    extreme,
    is_unknown,
    joined,
    metric_words,
    name_of,
    sentence,
    some,
    steps_words,
    too_few,
    value_only,
    value_with_range,
)
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import NOT_ANSWERED
from corda_lab.steps.open_load import arrival_problems
from corda_lab.text.words import parameter_name, per_second, plural


@dataclass(frozen=True)
class Conclusion:
    """The top of the report: a headline, (topic, sentence) pairs below it, and warnings (``notes``)."""

    headline: str
    sentences: list[tuple[str, str]]
    notes: list[Note]
    judged: MetricComparisons
    uses: dict[str, list[Utilisation]]

    def is_top(self, point: Point) -> bool:
        """Whether a point is the best of its stratum."""
        return any(top is point for top in self.judged.tops)


def conclude(run: StoredRun, points: Sequence[Point], samples: pl.DataFrame) -> Conclusion:
    """The conclusions of a sweep. ``samples`` has the rows of ``metrics.parquet`` for ``saturation.SERIES``."""
    judged = judge(run, points)
    searches = searched(run, points) if run.sweep.find_max else []
    uses = {point.key: saturation.uses(run, point, samples) for point in points}
    entries = [
        ("Why no higher rate", failure_sentence(searches)),
        *(("Limit", one) for one in limits(run, points, judged, searches, uses)),
        ("Validity", validity_words(run)),
    ]
    return Conclusion(
        headline(run, judged, searches),
        [(name, sentence(text)) for name, text in entries if text],
        notes(run),
        judged,
        uses,
    )


def validity_words(run: StoredRun) -> str:
    """How many steps are valid, in how many the counts agree, how many requests failed, and which steps were rerun."""
    count = sum(step.validity.valid for step in run.steps)
    # What failed in a step that broke is its result.
    passed = [step for step in run.steps if step.outcome == "passed"]
    agree = sum(step.counts.agree for step in passed)
    errors = sum(step.requests.failed for step in passed)
    unknown = sum(step.requests.unknown for step in passed)
    failed = "no request failed" if not errors else f"{plural(errors, 'request')} failed"
    failed += f", the outcome of {unknown:,} was unknown" if unknown else ""
    are = "is" if len(run.steps) == 1 else "are"
    found = [f"{count} of {plural(len(run.steps), 'step')} {are} valid", f"the four counts agree in {agree}", failed]
    if broke := [str(step.index) for step in run.steps if step.outcome == "broke"]:
        found.append(f"{steps_words(broke)} broke the lab, which is a result without other values")
    if unsteady := [str(step.index) for step in run.steps if step.validity.valid and step.unsteady]:
        are = "is" if len(unsteady) == 1 else "are"
        found.append(f"{steps_words(unsteady)} {are} unsteady, and in every mean")
    if count < len(run.steps):
        found.append("invalid steps are drawn as crosses and left out of every mean")
    if again := [str(step.index) for step in run.steps if step.measured_again]:
        found.append(f"{steps_words(again)} {'was' if len(again) == 1 else 'were'} rerun because of the host")
    return joined(found)


def values_of(point: Point) -> dict[str, dict[str, object]]:
    """Every value of a point with its interval, its number of valid steps and its unit, by metric.

    ``steady`` is the same without the unsteady steps, if there are some.
    """
    found = {}
    for name in measured_metrics([point]):
        steady = point.steady_estimate(name)
        found[name] = {
            **_stored(point.estimate(name)),
            "unit": METRICS[name].unit,
            **({"steady": _stored(steady)} if steady else {}),
        }
    return found


def _stored(found: Estimate) -> dict[str, object]:
    return {**vars(found), "value": NOT_ANSWERED if found.value == math.inf else found.value}


def headline(run: StoredRun, judged: MetricComparisons, searches: Sequence[SearchResult]) -> str:
    """The headline of a sweep: one sentence for each workload."""
    if searches:
        return search_headline(searches)
    if not judged.tops:
        return "No step of this sweep is valid, so it shows nothing about throughput."
    found = [best_words(judged, top) for top in judged.tops]
    if all(is_unknown(judged, top) for top in judged.tops):
        found.append(f"{too_few(judged)}, too few to tell which point is best")
    return joined(found)


def best_words(judged: MetricComparisons, top: Point) -> str:
    """The sentence about the best point. It is called the best only if every other point is shown to be worse."""
    value, others = value_with_range(top, judged.metric), judged.against(top)
    whose = f" of {top.workload}" if len(judged.strata) > 1 else ""
    what, name = metric_words(judged) + whose, name_of(judged, top)
    if top.collapsed and len(top.collapsed) == len(top.valid):
        return f"no flow{whose} was completed in the measuring window"
    if not others:
        return f"{top.label}: {value}"
    most = extreme(judged.metric)
    if not judged.sees_difference(judged.stratum_of(top)) and {one.verdict for one in others} == {"no difference seen"}:
        return (
            f"No difference in {what} was seen between {plural(len(others) + 1, 'point')}. The {most} was measured "
            f"with {name}: {value}"
        )
    equals = [name_of(judged, one.second) for one in others if not one.is_worse]
    if not equals:
        return f"{what} was best with {name}: {value}"
    first = f"the {most} {what} was measured with {name}"
    if is_unknown(judged, top):
        return f"{first}: {value_only(top, judged.metric) if len(top.valid) == 1 else value}"
    return f"{first}: {value}. It is not shown to be better than {some(equals)}"


def search_headline(searches: Sequence[SearchResult]) -> str:
    """The highest rate that was confirmed, for each group."""
    if all(found.rate is None for found in searches):
        return "No rate was confirmed."
    rates = []
    for found in searches:
        where = f" with {found.group_label}" if found.group_label else ""
        if found.rate is None:
            rates.append(f"none{where}")
            continue
        completed = found.confirmed.estimate("throughput").value if found.confirmed else None
        done = f" ({per_second(completed)} flows per second completed)" if completed is not None else ""
        rates.append(f"{found.rate:g} arrivals per second{where}{done}")
    return sentence("highest confirmed rate: " + "; ".join(rates))


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
