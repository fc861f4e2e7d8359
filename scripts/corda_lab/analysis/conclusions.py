"""The conclusions of a sweep in sentences: the best point, the differences, the limits, and the warnings."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from corda_lab.analysis import saturation
from corda_lab.analysis.points import (
    METRICS,
    Point,
    SearchResult,
    grouped,
    known_metrics,
    searched,
    value_words,
    x_name,
)
from corda_lab.analysis.saturation import Utilisation
from corda_lab.analysis.significance import (
    CANNOT_COMPARE,
    NOTHING_COMPLETED,
    MetricComparisons,
    PlannedComparison,
    PointComparison,
    is_paired,
    judge,
)
from corda_lab.analysis.values import TOO_FEW_REPEATS, interval_shown, interval_words, shown, why
from corda_lab.results.stored import StoredRun
from corda_lab.stats.difference import TOO_FEW
from corda_lab.steps import reasons
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.failures import SHOWN_MAX, error_words, grouped_errors
from corda_lab.steps.open_load import arrival_problems
from corda_lab.steps.reasons import Reason
from corda_lab.text.words import length, listed, parameter_name, per_second, plural

VALUES_SHOWN_MAX = 8
LABELS_SHOWN_MAX = 4
KEPT_UP = "the system kept up with the offered rate"


@dataclass(frozen=True)
class Conclusion:
    """The top of the report: a headline, (topic, sentence) pairs below it, and warnings (``notes``)."""

    headline: str
    sentences: list[tuple[str, str]]
    notes: list[str]
    judged: MetricComparisons
    uses: dict[str, list[Utilisation]]

    def is_top(self, point: Point) -> bool:
        """Whether a point is the best of its stratum."""
        return any(top is point for top in self.judged.tops)


def sentence(text: str) -> str:
    """``text`` with a full stop and a capital letter, unless it begins with a name such as ``numberOfStatesPerTx``."""
    word = text.partition(" ")[0]
    start = text[:1].upper() if word[1:].islower() or len(word) == 1 else text[:1]
    return start + text[1:] + ("" if text.endswith(".") else ".")


def joined(texts: Sequence[str]) -> str:
    """The texts as sentences, one after the other."""
    return " ".join(sentence(text) for text in texts)


def confidence_words(run: StoredRun) -> str:
    """``95 % interval``."""
    return f"{100 * float(run.sweep.confidence):g} % interval"


def range_words(point: Point, metric: str) -> str:
    """``95 % interval 12.0 to 12.6, 3 repeats``, or why there is no interval."""
    found = point.estimate(metric)
    if found.low is None or found.high is None:
        return "one valid step, no interval"
    if interval_shown(found.low, found.high) is None:
        return TOO_FEW_REPEATS
    return f"{100 * point.confidence:g} % interval {interval_words(found, metric)}, {plural(found.n, 'repeat')}"


def value_only(point: Point, metric: str) -> str:
    """``12.3 flows per second``."""
    return shown(point.estimate(metric).value, metric).replace("/s", " per second")


def value_with_range(point: Point, metric: str) -> str:
    """``12.3 flows per second (95 % interval …)``."""
    return f"{value_only(point, metric)} ({range_words(point, metric)})"


def metric_words(judged: MetricComparisons) -> str:
    """The metric as text: ``throughput``, ``latency p95 from the intended start``."""
    title = METRICS[judged.metric].title
    is_open = any(step.open_load for top in judged.tops for step in top.steps)
    return f"{title} from the intended start" if is_open and METRICS[judged.metric].unit == "ms" else title


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


def is_unknown(judged: MetricComparisons, top: Point) -> bool:
    """Whether there are other points, and too few repeats to compare any of them with the best one."""
    return {one.verdict for one in judged.against(top)} == {TOO_FEW}


def too_few(judged: MetricComparisons) -> str:
    """Why points cannot be compared: their repeats were not planned, or are not valid."""
    is_single = all(len(point.steps) == 1 for stratum in judged.strata for point in stratum)
    return "each point has one repeat" if is_single else "there are fewer than two valid repeats to compare"


def name_of(judged: MetricComparisons, point: Point) -> str:
    """The label of a point. It leaves out the workload if there are several, because the sentence names it already."""
    if len(judged.strata) == 1:
        return point.label
    return ", ".join(part for part in point.label.split(", ") if part != point.workload) or point.label


def extreme(metric: str) -> str:
    """``highest`` or ``lowest``: how the best value of a metric compares with the others."""
    return "highest" if METRICS[metric].higher_is_better else "lowest"


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


def some(labels: Sequence[str]) -> str:
    """A list of at most ``LABELS_SHOWN_MAX`` entries, the last of which counts the labels that are left out.

    Labels that contain commas are separated by semicolons.
    """
    shown_ones = list(labels)
    if len(shown_ones) > LABELS_SHOWN_MAX:
        shown_ones[LABELS_SHOWN_MAX - 1 :] = [f"{len(shown_ones) - LABELS_SHOWN_MAX + 1} others"]
    return "; ".join(shown_ones) if any("," in label for label in shown_ones) else listed(shown_ones)


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


def varied(run: StoredRun) -> str:
    """What was varied, with how many repeats, in which order, and how long it took."""
    names = []
    for name, values in run.sweep.vary.items():
        texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
        if len(texts) > VALUES_SHOWN_MAX + 1:
            texts = [*texts[: VALUES_SHOWN_MAX - 1], "…", texts[-1]]
        names.append(f"{parameter_name(name)} ({', '.join(texts)})")
    what = listed(names) or "nothing"
    if run.sweep.find_max:
        what = "the rate, in a search" + (f" for each combination of {what}" if names else "")
    first, last = points_first_last(run)
    repeats = run.sweep.repeats
    each = f"{repeats} repeats of each point, in {run.sweep.order} order" if repeats > 1 else "one repeat of each point"
    workloads = listed(list(dict.fromkeys(step.workload for step in run.steps)))
    total = f"{plural(len(run.steps), 'step')} of {workloads} in {length(last - first)}"
    return joined([what, total if run.sweep.find_max and repeats == 1 else f"{each}: {total}"])


def points_first_last(run: StoredRun) -> tuple[float, float]:
    """The start of the first load and the end of the last, in unix seconds."""
    windows = [step.window for step in run.steps]
    return min(window.load_started_at for window in windows), max(window.load_ended_at for window in windows)


def ratio_words(compared: PointComparison) -> str:
    """``0.82 × (0.78 to 0.86)``."""
    found = compared.difference
    if found is None:
        return "cannot be compared"
    if found.low is None or found.high is None:
        return f"{ratio_only(compared)}, no interval"
    if interval_shown(found.low, found.high) is None and found.low <= 1 <= found.high:
        return f"{ratio_only(compared)} ({TOO_FEW_REPEATS})"
    return f"{ratio_only(compared)} ({found.low:.2f} to {found.high:.2f})"


def ratio_only(compared: PointComparison) -> str:
    """``0.82 ×``, or why there is no ratio."""
    return f"{compared.difference.ratio:.2f} ×" if compared.difference else compared.verdict


def has_interval(compared: PointComparison) -> bool:
    """Whether a comparison has an interval."""
    return compared.difference is not None and compared.difference.low is not None


def judged_words(compared: PointComparison) -> str:
    """``0.82 × (0.78 to 0.86), slower``. Without an interval, only the ratio; without a ratio, the verdict."""
    found = compared.difference
    if found is None:
        return compared.verdict
    return ratio_words(compared) if found.low is None else f"{ratio_words(compared)}, {compared.verdict}"


def how_words(run: StoredRun) -> str:
    """How points were compared: paired or not, and as one family."""
    return "paired by repeat, judged together" if is_paired(run) else "unpaired, judged together"


def differences(run: StoredRun, judged: MetricComparisons) -> list[str]:
    """The results of the planned comparisons, and of the comparisons of the best points with all others."""
    by_parameter: dict[tuple[str, str], list[PlannedComparison]] = {}
    for one in judged.planned:
        workload = one.compared.second.workload if len(judged.strata) > 1 else ""
        by_parameter.setdefault((workload, one.parameter), []).append(one)
    found = []
    for (workload, _), members in by_parameter.items():
        where = f"{workload}: " if workload else ""
        how = f" ({how_words(run)})" if any(has_interval(one.compared) for one in members) else ""
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
    """What was saturated. If nothing was: the utilisation of CPU and heap, and what flows may have waited for."""
    if saturated := [use.evidence for use in uses if use.is_saturated]:
        return "; ".join(saturated)
    seen = [use.evidence for use in uses if use.evidence and use.resource in ("machine", "node CPU", "GC")]
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


def failures(step: StepEntry) -> list[Reason]:
    """Why a step failed. Empty for the steps of a search, which overload the system on purpose."""
    return [] if step.phase != "measure" else [*step.verdict.reasons, *step.thresholds.reasons]


def notes(run: StoredRun) -> list[str]:
    """Why steps failed or are invalid, and the warnings of the valid steps: each reason once, with its steps."""
    found = []
    if run.sweep.quick:
        found.append("Warning: every point was measured only once, for 20 s (--quick): do not quote these values")
    kinds: dict[str, Callable[[StepEntry], Sequence[Reason]]] = {
        "Failed": failures,
        "Invalid": lambda step: step.validity.reasons,
        "Warning": lambda step: step.flags if step.validity.valid else [],
    }
    for title, reasons_of in kinds.items():
        groups: dict[tuple[object, ...], list[tuple[StepEntry, Reason]]] = {}
        for step in run.steps:
            for one in reasons_of(step):
                groups.setdefault(reasons.kind(one), []).append((step, one))
        found += [
            f"{title}: {steps_words([str(step.index) for step, _ in members])}: "
            f"{reasons.sentence([one for _, one in members])}"
            for members in groups.values()
        ]
        found += error_notes(run) if title == "Failed" else []
    return found


def error_notes(run: StoredRun) -> list[str]:
    """The most frequent errors of the failed steps. Empty for a search, which causes errors on purpose."""
    failed = [step for step in run.steps if failures(step)]
    kinds = grouped_errors(error for step in failed for error in step.errors)
    return [f"Failed requests: {error_words(kind)}" for kind in kinds[:SHOWN_MAX]]


def steps_words(indices: list[str]) -> str:
    """``step 3``, ``steps 3, 4 and 7``."""
    unique = list(dict.fromkeys(indices))
    shown_ones = unique if len(unique) <= 12 else [*unique[:11], f"{len(unique) - 11} more"]
    return f"step{'s' if len(unique) > 1 else ''} {listed(shown_ones)}"


def conclude(run: StoredRun, points: Sequence[Point], samples: pl.DataFrame) -> Conclusion:
    """The conclusions of a sweep. ``samples`` has the rows of ``metrics.parquet`` for ``saturation.SERIES``."""
    judged = judge(run, points)
    searches = searched(run, points) if run.sweep.find_max else []
    uses = {point.key: saturation.uses(run, point, samples) for point in points}
    entries = [
        ("Varied", varied(run)),
        *(("Differences", one) for one in ([] if searches else differences(run, judged))),
        ("Why no higher rate", failure_sentence(searches)),
        *(("Limit", one) for one in limits(run, points, judged, searches, uses)),
        ("Validity", validity_words(run)),
    ]
    return Conclusion(
        headline(run, judged, searches),
        [(name, sentence(text)) for name, text in entries if text],
        [sentence(note) for note in notes(run)],
        judged,
        uses,
    )


def validity_words(run: StoredRun) -> str:
    """How many steps are valid, in how many the counts agree, how many requests failed, and which steps were rerun."""
    count = sum(step.validity.valid for step in run.steps)
    agree = sum(step.counts.agree for step in run.steps)
    errors = sum(step.requests.errors for step in run.steps)
    failed = "no request failed" if not errors else f"{plural(errors, 'request')} failed"
    are = "is" if len(run.steps) == 1 else "are"
    found = [f"{count} of {plural(len(run.steps), 'step')} {are} valid", f"the four counts agree in {agree}", failed]
    if count < len(run.steps):
        found.append("invalid steps are drawn as crosses and left out of every mean")
    if again := [str(step.index) for step in run.steps if step.measured_again]:
        found.append(f"{steps_words(again)} {'was' if len(again) == 1 else 'were'} rerun because of the host")
    return joined(found)


def values_of(point: Point) -> dict[str, dict[str, float | str | None]]:
    """Every value of a point with its interval, its number of valid steps and its unit, by metric."""
    return {name: {**vars(point.estimate(name)), "unit": METRICS[name].unit} for name in known_metrics([point])}
