"""What a sweep says, in sentences: where it was best, what differs, what limited it, and what not to believe."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from corda_lab.analysis import saturation
from corda_lab.analysis.points import METRICS, Found, Point, grouped, known_metrics, searched, value_words, x_name
from corda_lab.analysis.saturation import Use
from corda_lab.analysis.significance import (
    CANNOT_COMPARE,
    NOTHING_COMPLETED,
    Compared,
    Judged,
    Planned,
    is_paired,
    judge,
)
from corda_lab.analysis.values import TOO_FEW_REPEATS, interval_shown, interval_words, shown, why
from corda_lab.results.stored import StoredRun
from corda_lab.steps import reasons
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.failures import SHOWN_MAX, error_words, grouped_errors
from corda_lab.steps.open_load import arrival_problems
from corda_lab.steps.reasons import Reason
from corda_lab.text.words import length, listed, parameter_name, per_second, plural

VALUES_SHOWN_MAX = 8
LABELS_SHOWN_MAX = 4


@dataclass(frozen=True)
class Conclusion:
    """The top of the report: a headline, sentences under it each with what it is about, and what to beware of."""

    headline: str
    sentences: list[tuple[str, str]]
    notes: list[str]
    judged: Judged
    uses: dict[str, list[Use]]

    def is_top(self, point: Point) -> bool:
        """Whether a point is the best of those that it may be compared with."""
        return any(top is point for top in self.judged.tops)


def sentence(text: str) -> str:
    """With a capital letter, unless it begins with a name such as ``numberOfStatesPerTx``, and a full stop."""
    word = text.partition(" ")[0]
    start = text[:1].upper() if word[1:].islower() or len(word) == 1 else text[:1]
    return start + text[1:] + ("" if text.endswith(".") else ".")


def confidence_words(run: StoredRun) -> str:
    return f"{100 * float(run.sweep.confidence):g} % interval"


def range_words(point: Point, metric: str) -> str:
    """``95 % interval 12.0 to 12.6, 3 repeats``, or why there is none."""
    found = point.estimate(metric)
    if found.low is None or found.high is None:
        return "from one valid step: no interval"
    if interval_shown(found.low, found.high) is None:
        return TOO_FEW_REPEATS
    return f"{100 * point.confidence:g} % interval {interval_words(found, metric)}, {plural(found.n, 'repeat')}"


def value_only(point: Point, metric: str) -> str:
    """``12.3 flows per second``."""
    return shown(point.estimate(metric).value, metric).replace("/s", " per second")


def figure_words(point: Point, metric: str) -> str:
    """``12.3 flows per second (95 % interval …)``."""
    return f"{value_only(point, metric)} ({range_words(point, metric)})"


def metric_words(judged: Judged) -> str:
    """What is judged, in words."""
    title = METRICS[judged.metric].title
    is_open = any(step.open_load for top in judged.tops for step in top.steps)
    return f"{title} from the intended start" if is_open and METRICS[judged.metric].unit == "ms" else title


def headline(run: StoredRun, judged: Judged, searches: Sequence[Found]) -> str:
    """The one sentence; one for each workload where there are several."""
    if searches:
        return search_headline(searches)
    if not judged.tops:
        return "No step of this sweep is valid, so it says nothing about throughput."
    told = [sentence(best_words(judged, top)) for top in judged.tops]
    if all(is_unknown(judged, top) for top in judged.tops):
        told.append(f"With {too_few(judged)} no point is shown to be the best.")
    return " ".join(told)


def is_unknown(judged: Judged, top: Point) -> bool:
    """Whether there are others that a best point cannot be told from for want of repeats."""
    return {one.verdict for one in judged.against(top)} == {"cannot tell"}


def too_few(judged: Judged) -> str:
    """Why nothing can be told: repeats that were not planned, or that are not valid."""
    is_single = all(len(point.steps) == 1 for stratum in judged.strata for point in stratum)
    return "one repeat each" if is_single else "fewer than two valid repeats to compare"


def name_of(judged: Judged, point: Point) -> str:
    """A point where its workload has been said, as it has where there are several."""
    if len(judged.strata) == 1:
        return point.label
    return ", ".join(part for part in point.label.split(", ") if part != point.workload) or point.label


def best_words(judged: Judged, top: Point) -> str:
    """What may be said of the best point: it is the best only if every other one is shown to be worse."""
    figure, others = figure_words(top, judged.metric), judged.against(top)
    whose = f" of {top.workload}" if len(judged.strata) > 1 else ""
    what, name = metric_words(judged) + whose, name_of(judged, top)
    if top.collapsed and len(top.collapsed) == len(top.valid):
        return f"no flow{whose} was completed while it was measured"
    if not others:
        return f"{top.label}: {figure}"
    extreme = "highest" if METRICS[judged.metric].higher_is_better else "lowest"
    if not judged.sees_difference(judged.stratum_of(top)) and {one.verdict for one in others} == {"no difference seen"}:
        return (
            f"No difference in {what} was seen between {plural(len(others) + 1, 'point')}: the {extreme} is {name} with "
            f"{figure}"
        )
    equals = [name_of(judged, one.second) for one in others if not one.is_worse]
    if not equals:
        return f"{what} was best with {name}: {figure}"
    first = f"the {extreme} {what} was measured with {name}"
    if is_unknown(judged, top):
        return f"{first}: {value_only(top, judged.metric) if len(top.valid) == 1 else figure}"
    return f"{first}: {figure}; not shown to be better than {some(equals)}"


def some(labels: Sequence[str]) -> str:
    """A few labels, and how many more there are; labels that have a comma themselves stand between semicolons."""
    told = list(labels)
    if len(told) > LABELS_SHOWN_MAX:
        told[LABELS_SHOWN_MAX - 1 :] = [f"{len(told) - LABELS_SHOWN_MAX + 1} others"]
    return "; ".join(told) if any("," in label for label in told) else listed(told)


def search_headline(searches: Sequence[Found]) -> str:
    """What the search found, group by group."""
    told = []
    for found in searches:
        where = f"with {found.group_label} " if found.group_label else ""
        if found.rate is None:
            told.append(f"{where}no rate was confirmed")
            continue
        completed = found.confirmed.estimate("throughput").value if found.confirmed else None
        done = f" ({per_second(completed)} flows per second completed)" if completed is not None else ""
        told.append(f"{where}{found.rate:g} arrivals per second held{done}")
    return sentence("the highest rate: " + "; ".join(told))


def varied(run: StoredRun) -> str:
    """What was varied, how often, in what order, how long."""
    names = []
    for name, values in run.sweep.vary.items():
        texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
        if len(texts) > VALUES_SHOWN_MAX + 1:
            texts = [*texts[: VALUES_SHOWN_MAX - 1], "…", texts[-1]]
        names.append(f"{parameter_name(name)} ({', '.join(texts)})")
    what = listed(names) or "nothing"
    if run.sweep.find_max:
        what = "the rate, by search" + (f", for each {what}" if names else "")
    first, last = points_first_last(run)
    repeats = run.sweep.repeats
    each = f"{plural(repeats, 'repeat')} of each, {run.sweep.order}; " if repeats > 1 else "once each; "
    workloads = listed(list(dict.fromkeys(step.workload for step in run.steps)))
    return f"{what}; {each}{plural(len(run.steps), 'step')} of {workloads} in {length(last - first)}"


def points_first_last(run: StoredRun) -> tuple[float, float]:
    """First start and last end of a load, in unix seconds."""
    windows = [step.window for step in run.steps]
    return min(window.load_started_at for window in windows), max(window.load_ended_at for window in windows)


def ratio_words(compared: Compared) -> str:
    """``0.82 × (0.78 to 0.86)``."""
    found = compared.difference
    if found is None:
        return "cannot be compared"
    if found.low is None or found.high is None:
        return f"{ratio_only(compared)}, no interval"
    if interval_shown(found.low, found.high) is None and found.low <= 1 <= found.high:
        return f"{ratio_only(compared)} ({TOO_FEW_REPEATS})"
    return f"{ratio_only(compared)} ({found.low:.2f} to {found.high:.2f})"


def ratio_only(compared: Compared) -> str:
    """``0.82 ×``, or why there is no ratio."""
    return f"{compared.difference.ratio:.2f} ×" if compared.difference else compared.verdict


def has_interval(compared: Compared) -> bool:
    """Whether there is enough to judge by."""
    return compared.difference is not None and compared.difference.low is not None


def judged_words(compared: Compared) -> str:
    """``0.82 × (0.78 to 0.86), slower``; without an interval the ratio, and without a ratio why there is none."""
    found = compared.difference
    if found is None:
        return compared.verdict
    return ratio_words(compared) if found.low is None else f"{ratio_words(compared)}, {compared.verdict}"


def how_words(run: StoredRun) -> str:
    """How points were compared."""
    return "in pairs of the same repeat, judged together" if is_paired(run) else "unpaired, judged together"


def differences(run: StoredRun, judged: Judged) -> list[str]:
    """What is shown to differ and what is not: as planned, and the best point against all that it may be compared with."""
    by_parameter: dict[tuple[str, str], list[Planned]] = {}
    for one in judged.planned:
        workload = one.compared.second.workload if len(judged.strata) > 1 else ""
        by_parameter.setdefault((workload, one.parameter), []).append(one)
    told = []
    for (workload, _), members in by_parameter.items():
        where = f"of {workload}, " if workload else ""
        how = f" ({how_words(run)})" if any(has_interval(one.compared) for one in members) else ""
        told += [f"{where}{text}{how}" for text in planned_words(judged, members)]
    # Of several workloads with one repeat each the same is to be said.
    return told + list(dict.fromkeys(text for top in judged.tops if (text := against_best(judged, top))))


def planned_words(judged: Judged, members: Sequence[Planned]) -> list[str]:
    """What the planned comparisons of one parameter say, value by value."""
    by_value: dict[tuple[str, str], list[Planned]] = {}
    for one in members:
        first, second = (point.values[one.parameter] for point in (one.compared.first, one.compared.second))
        names = (value_words(one.parameter, first), value_words(one.parameter, second))
        by_value.setdefault(names, []).append(one)
    judged_ones = any(has_interval(one.compared) for one in members)
    words, without = (judged_words, "") if judged_ones else (ratio_only, ", without intervals")
    if all(len(found) == 1 for found in by_value.values()) and len({first for first, _ in by_value}) == 1:
        base = next(first for first, _ in by_value)
        each = "; ".join(f"{second} {words(found[0].compared)}" for (_, second), found in by_value.items())
        return [f"against {base}{without}: {each}"]
    return [
        f"with {second} instead of {first}{without}: "
        + (
            over_points(judged, found)
            if judged_ones
            else "; ".join(f"{ratio_only(one.compared)} at {place(judged, one)}" for one in found)
        )
        for (first, second), found in by_value.items()
    ]


def place(judged: Judged, planned: Planned) -> str:
    """Where two points that differ in one parameter were compared: what they share."""
    told = {planned.parameter} | ({"workload"} if len(judged.strata) > 1 else set())
    shared = [value_words(name, value) for name, value in planned.compared.second.values.items() if name not in told]
    return ", ".join(shared) or planned.compared.second.label


def over_points(judged: Judged, found: Sequence[Planned]) -> str:
    """One value against another, over all points at which both were measured."""
    verdicts: dict[str, list[Planned]] = {}
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
        elif verdict == "cannot tell":
            ratios = [f"{place(judged, one)} ({ratio_words(one.compared)})" for one in members]
            parts.append(f"{verdict} at {some(ratios)}")
        else:
            parts.append(f"{verdict} at {some([place(judged, one) for one in members])}")
    return "; ".join(parts)


def distance(compared: Compared) -> float:
    """How far a ratio is from one."""
    return abs(math.log(compared.difference.ratio)) if compared.difference else 0.0


def against_best(judged: Judged, top: Point) -> str:
    """Which points cannot be told from the best one; empty where there is no other."""
    compared = judged.against(top)
    if not compared:
        return ""
    verdicts: dict[str, list[str]] = {}
    for one in compared:
        verdicts.setdefault(one.verdict, []).append(one.second.label)
    if set(verdicts) == {"cannot tell"}:
        return f"{too_few(judged)}, so none is shown"
    differing = sum(len(verdicts.get(verdict, [])) for verdict in ("slower", "faster", NOTHING_COMPLETED))
    if differing == len(compared):
        return f"{top.label} differs from every other point"
    parts = [f"{top.label} differs from {plural(differing, 'point')}"] if differing else []
    if same := verdicts.get("no difference seen"):
        parts.append(f"no difference seen between {top.label} and {some(same)}")
    if unknown := verdicts.get("cannot tell", []) + verdicts.get(CANNOT_COMPARE, []):
        parts.append(f"whether {top.label} differs from {some(unknown)} cannot be told")
    return "; ".join(parts)


def limits(
    run: StoredRun, points: Sequence[Point], judged: Judged, searches: Sequence[Found], uses: dict[str, list[Use]]
) -> list[str]:
    """What limited the sweep where it came to a limit, or that nothing that is watched was used up."""
    if searches:
        return [search_limit(found, uses) for found in searches]
    measured = [point for point in points if point.valid]
    if measured and all(step.open_load for point in measured for step in point.valid):
        return [open_limit(measured, uses)]
    return [closed_limit(run, points, top, uses) for top in judged.tops]


def search_limit(found: Found, uses: dict[str, list[Use]]) -> str:
    """What was used up at the lowest rate that did not hold."""
    where = f"with {found.group_label}, " if found.group_label else ""
    if found.failed is None and found.high is not None:
        return f"{where}at {found.high:g} arrivals per second the lab broke, so there is no step to look at"
    if found.failed is None:
        return f"{where}every rate that was tried held, so nothing was the limit" if found.rate is not None else ""
    return f"{where}at {float(found.failed.x):g} arrivals per second, which did not hold, {evidence(uses[found.failed.key])}"


def open_limit(measured: Sequence[Point], uses: dict[str, list[Use]]) -> str:
    """What was used up at the first point that did not keep its rate."""
    behind = [point for point in measured if not keeps_rate(point)]
    if not behind:
        where = "" if len(measured) == 1 else " at every point"
        return f"the rate was kept{where}; nothing was the limit"
    return f"at {behind[0].label}, where the rate was not kept, {evidence(uses[behind[0].key])}"


def keeps_rate(point: Point) -> bool:
    """Whether open load achieved what it offered in every valid step."""
    return not any(arrival_problems(step) for step in point.valid)


def closed_limit(run: StoredRun, points: Sequence[Point], top: Point, uses: dict[str, list[Use]]) -> str:
    """What was used up at the best point of a closed load."""
    where = f"at {top.label} " if len(points) > 1 else ""
    text = where + evidence(uses[top.key])
    if not any(use.is_used_up for use in uses[top.key]) and is_still_rising(points, top):
        return f"{text}; it was best at the largest {parameter_name(x_name(run) or '')}, so the limit may lie beyond"
    return text


def evidence(uses: Sequence[Use]) -> str:
    """What was used up; else how much of the processors was used, and what flows may have waited for."""
    if used_up := [use.evidence for use in uses if use.is_used_up]:
        return "; ".join(used_up)
    seen = [use.evidence for use in uses if use.evidence and use.resource in ("machine", "node CPU", "GC")]
    detail = f" ({'; '.join(seen)})" if seen else ""
    waiting = "flows may have waited for one another, for a disk or for the network"
    return f"nothing that the lab watches was used up{detail}; {waiting}"


def is_still_rising(points: Sequence[Point], top: Point) -> bool:
    """Whether the best point is the last of its curve, which has others."""
    numbers = [point.x for point in grouped(points)[top.group_label] if isinstance(point.x, int | float)]
    return len(numbers) > 1 and top.x == max(numbers)


def failure_sentence(searches: Sequence[Found]) -> str:
    """Of a search: why the lowest rate above the confirmed one did not hold, group by group."""
    told = []
    for found in searches:
        if found.failed is None:
            continue
        where = f"with {found.group_label}, " if found.group_label else ""
        step = next(step for step in found.failed.steps if why(step))
        longer = " in a longer run" if step.phase == "confirm" else ""
        told.append(f"{where}{float(found.failed.x):g} arrivals per second did not hold{longer}: {why(step)}")
    return "; ".join(told)


def failures(step: StepEntry) -> list[Reason]:
    """Why a step has failed. Those of a search are meant to break the system; its objective says what counts."""
    return [] if step.phase != "measure" else [*step.verdict.reasons, *step.thresholds.reasons]


def notes(run: StoredRun) -> list[str]:
    """Why steps failed or are invalid, and the warnings of the others: each reason once, with its steps."""
    found = []
    if run.sweep.quick:
        found.append("Warning: every point was measured once and for 20 s (--quick): look at it, do not quote it")
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
    """The most frequent errors of the steps that failed. A search is meant to cause some; its steps have their own lists."""
    failed = [step for step in run.steps if failures(step)]
    kinds = grouped_errors(error for step in failed for error in step.errors)
    return [f"Failed requests: {error_words(kind)}" for kind in kinds[:SHOWN_MAX]]


def steps_words(indices: list[str]) -> str:
    """``step 3``, ``steps 3, 4 and 7``."""
    unique = list(dict.fromkeys(indices))
    shown_ones = unique if len(unique) <= 12 else [*unique[:11], f"{len(unique) - 11} more"]
    return f"step{'s' if len(unique) > 1 else ''} {listed(shown_ones)}"


def conclude(run: StoredRun, points: Sequence[Point], samples: pl.DataFrame) -> Conclusion:
    """The conclusion of a sweep. ``samples`` are the series of ``saturation.SERIES``."""
    judged = judge(run, points)
    searches = searched(run, points) if run.sweep.find_max else []
    uses = {point.key: saturation.uses(run, point, samples) for point in points}
    entries = [
        ("Varied", varied(run)),
        *(("Differences", one) for one in ([] if searches else differences(run, judged))),
        ("Why no higher rate", failure_sentence(searches)),
        *(("What limited it", one) for one in limits(run, points, judged, searches, uses)),
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
    """How many steps can be believed."""
    count = sum(step.validity.valid for step in run.steps)
    agree = sum(step.counts.agree for step in run.steps)
    errors = sum(step.requests.errors for step in run.steps)
    failed = "no request failed" if not errors else f"{plural(errors, 'request')} failed"
    found = f"{count} of {plural(len(run.steps), 'step')} are valid; the four counts agree in {agree}; {failed}"
    if count < len(run.steps):
        found += "; what is invalid is drawn as a cross and is in no average"
    if again := [str(step.index) for step in run.steps if step.measured_again]:
        found += f"; {steps_words(again)} {'was' if len(again) == 1 else 'were'} rerun because of the host"
    return found


def values_of(point: Point) -> dict[str, dict[str, float | str | None]]:
    """Every value of a point with its interval, for programs."""
    return {name: {**vars(point.estimate(name)), "unit": METRICS[name].unit} for name in known_metrics([point])}
