"""What a sweep says, in sentences: where throughput was best, what differs, what limited it, and what not to believe."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from corda_lab import points as points_module
from corda_lab import saturation
from corda_lab.charts_sweep import search_outcomes, shown, why
from corda_lab.points import Compared, Point, best, compare_all, group_pairs, grouped, is_paired, value_words, x_name
from corda_lab.saturation import Use
from corda_lab.stored import StoredRun
from corda_lab.words import length, listed, parameter_name, per_second, plural

VALUES_SHOWN_MAX = 8


@dataclass(frozen=True)
class Conclusion:
    """The top of the report: a headline, sentences under it each with what it is about, and what to beware of."""

    headline: str
    sentences: list[tuple[str, str]]
    notes: list[str]
    best: Point | None
    uses: dict[str, list[Use]]
    groups: list[Compared]


def sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def confidence_words(run: StoredRun) -> str:
    return f"{100 * float(run.sweep['confidence']):g} % interval"


def range_words(point: Point, metric: str) -> str:
    """``95 % interval 12.0 to 12.6 from 3 repeats``, or why there is none."""
    found = point.estimate(metric)
    if found.low is None or found.high is None:
        return "from one valid step: no interval"
    low, high = (shown(value, metric).removesuffix(" flows/s") for value in (found.low, found.high))
    return f"{100 * point.confidence:g} % interval {low} to {high}, {plural(found.n, 'repeat')}"


def headline(run: StoredRun, points: Sequence[Point], top: Point | None) -> str:
    """The one sentence."""
    if run.sweep.get("find_max"):
        return search_headline(points)
    if top is None:
        return "No step of this sweep is valid, so it says nothing about throughput."
    rate = per_second(top.estimate("throughput").value)
    others = [point for point in points if point.estimate("throughput").value is not None]
    if len(others) < 2:
        return f"{top.label}: {rate} flows per second ({range_words(top, 'throughput')})."
    rest = [point for point in others if point is not top]
    compared = compare_all([(top, point) for point in rest], "throughput", paired=is_paired(run))
    if all(one.difference and one.difference.verdict == "no difference seen" for one in compared):
        return (
            f"No difference in throughput was seen between {plural(len(others), 'point')}: the highest is {top.label} with "
            f"{rate} flows per second ({range_words(top, 'throughput')})."
        )
    return f"Throughput was best with {top.label}: {rate} flows per second ({range_words(top, 'throughput')})."


def search_headline(points: Sequence[Point]) -> str:
    """What the search found, group by group."""
    told = []
    for name, point in search_outcomes(points).items():
        where = f"with {name} " if name else ""
        told.append(
            f"{where}no rate was confirmed"
            if point is None
            else f"{where}{float(point.x):g} arrivals per second held ({per_second(point.estimate('throughput').value)} "
            "flows per second completed)"
        )
    return sentence("the highest rate: " + "; ".join(told))


def varied(run: StoredRun) -> str:
    """What was varied, how often, in what order, how long."""
    names = []
    for name, values in run.sweep["vary"].items():
        texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
        if len(texts) > VALUES_SHOWN_MAX:
            texts = [*texts[: VALUES_SHOWN_MAX - 1], "…", texts[-1]]
        names.append(f"{parameter_name(name)} ({', '.join(texts)})")
    what = listed(names) or "nothing"
    if run.sweep.get("find_max"):
        what = "the rate, by search" + (f", for each {what}" if names else "")
    first, last = points_first_last(run)
    repeats = run.sweep["repeats"]
    each = f"{plural(repeats, 'repeat')} of each, {run.sweep['order']}; " if repeats > 1 else "once each; "
    workloads = listed(list(dict.fromkeys(step["workload"] for step in run.steps)))
    return f"{what}; {each}{plural(len(run.steps), 'step')} of {workloads} in {length(last - first)}"


def points_first_last(run: StoredRun) -> tuple[float, float]:
    """First start and last end of a load, in unix seconds."""
    windows = [step["window"] for step in run.steps]
    return min(window["load_started_at"] for window in windows), max(window["load_ended_at"] for window in windows)


def ratio_words(compared: Compared) -> str:
    """``0.82 × (0.78 to 0.86)``."""
    found = compared.difference
    if found is None:
        return "cannot be compared"
    if found.low is None or found.high is None:
        return f"{found.ratio:.2f} ×, no interval"
    return f"{found.ratio:.2f} × ({found.low:.2f} to {found.high:.2f})"


def difference_sentence(name: str, base: str, found: Sequence[Compared], paired: bool) -> str:
    """One group against the first, over all x at which both were measured."""
    verdicts: dict[str, list[Compared]] = {}
    for one in found:
        verdicts.setdefault(one.difference.verdict if one.difference else "cannot be compared", []).append(one)
    parts = []
    for verdict, members in verdicts.items():
        if verdict in ("faster", "slower"):
            furthest = max(members, key=lambda one: abs(1 - (one.difference.ratio if one.difference else 1)))
            parts.append(
                f"{verdict} at {len(members)} of {plural(len(found), 'point')}, most at {furthest.second.label}: "
                f"{ratio_words(furthest)}"
            )
        else:
            where = listed([one.second.label for one in members[:4]]) + (" and others" if len(members) > 4 else "")
            parts.append(f"{verdict} at {where}")
    how = "pairs of the same repeat" if paired else "unpaired"
    return f"with {name} instead of {base}: {'; '.join(parts)} ({how}, judged together)"


def differences(run: StoredRun, points: Sequence[Point], top: Point | None) -> tuple[list[str], list[Compared]]:
    """What is shown to differ in throughput and what is not: groups, and the best point against its neighbours."""
    paired = is_paired(run)
    found = compare_all(group_pairs(points), "throughput", paired=paired)
    told = []
    by_group: dict[str, list[Compared]] = {}
    for one in found:
        by_group.setdefault(one.second.group_label, []).append(one)
    for name, members in by_group.items():
        told.append(difference_sentence(name, members[0].first.group_label, members, paired))
    if top is not None and not run.sweep.get("find_max"):
        told += against_best(points, top, paired=paired)
    return told, found


def against_best(points: Sequence[Point], top: Point, *, paired: bool) -> list[str]:
    """Which points of the best one's group cannot be told from it."""
    group = [point for point in grouped(points)[top.group_label] if point is not top and point.valid]
    if not group:
        return []
    compared = compare_all([(top, point) for point in group], "throughput", paired=paired)
    same = [one.second.label for one in compared if one.difference and one.difference.verdict == "no difference seen"]
    unknown = [one for one in compared if one.difference is None or one.difference.low is None]
    if len(unknown) == len(compared):
        return ["one repeat each: which point is best, and by how much, is not shown"]
    if same:
        return [f"no difference seen between {top.label} and {listed(same)}"]
    return [f"{top.label} differs from every other point{' of its group' if top.group_label else ''}"]


def limit_sentence(run: StoredRun, points: Sequence[Point], top: Point | None, uses: dict[str, list[Use]]) -> str:
    """What limited the best point, or that nothing that is watched did."""
    if top is None:
        return ""
    used_up = [use for use in uses[top.key] if use.is_used_up]
    where = f"at {top.label} " if len(points) > 1 else ""
    if used_up:
        return f"{where}{'; '.join(use.evidence for use in used_up)}"
    seen = [use.evidence for use in uses[top.key] if use.evidence and use.resource in ("machine", "node CPU", "GC")]
    text = f"nothing that the lab watches was used up {where}({'; '.join(seen)})"
    if is_still_rising(points, top):
        return f"{text}; throughput was best at the largest {parameter_name(x_name(run) or '')}, so the limit may lie beyond"
    return f"{text}; flows waited for one another, for a disk or for the network"


def is_still_rising(points: Sequence[Point], top: Point) -> bool:
    """Whether the best point is the last of its curve, which has others."""
    numbers = [point.x for point in grouped(points)[top.group_label] if isinstance(point.x, int | float)]
    return len(numbers) > 1 and top.x == max(numbers)


def failure_sentence(points: Sequence[Point]) -> str:
    """Of a search: why the lowest rate of each group that did not hold did not."""
    told = []
    for name, members in grouped(points).items():
        failed = [step for point in members for step in point.steps if step["phase"] == "probe" and why(step)]
        if failed:
            first = min(failed, key=lambda step: float(step["load"]["rate_per_second"]))
            where = f"with {name}, " if name else ""
            told.append(f"{where}{first['load']['rate_per_second']:g} arrivals per second did not hold: {why(first)}")
    return "; ".join(told)


def notes(run: StoredRun) -> list[str]:
    """Steps that are not valid, and what is doubtful about the others, each reason once with its steps."""
    invalid: dict[str, list[str]] = {}
    doubtful: dict[str, list[str]] = {}
    for step in run.steps:
        for reason in step["validity"]["reasons"]:
            invalid.setdefault(general(reason), []).append(str(step["index"]))
        if step["validity"]["valid"]:
            for flag in step["flags"]:
                doubtful.setdefault(general(flag), []).append(str(step["index"]))
    told = [f"Invalid: {steps_words(steps)}: {reason}" for reason, steps in invalid.items()]
    return told + [f"Doubtful: {steps_words(steps)}: {reason}" for reason, steps in doubtful.items()]


def general(reason: str) -> str:
    """A reason without its figures, so that steps with the same one stand together; the table of steps has the figures."""
    return reason.partition(":")[0] if len(reason) > 120 else reason


def steps_words(indices: list[str]) -> str:
    """``step 3``, ``steps 3, 4 and 7``."""
    unique = list(dict.fromkeys(indices))
    shown_ones = unique if len(unique) <= 12 else [*unique[:11], f"{len(unique) - 11} more"]
    return f"step{'s' if len(unique) > 1 else ''} {listed(shown_ones)}"


def conclude(run: StoredRun, points: Sequence[Point], samples: pl.DataFrame) -> Conclusion:
    """The conclusion of a sweep. ``samples`` are the series of ``saturation.SERIES``."""
    top = best(points)
    uses = {point.key: saturation.uses(run, point, samples) for point in points}
    told, compared = differences(run, points, top)
    entries = [
        ("Varied", varied(run)),
        *(("Differences", one) for one in told),
        ("Why no higher rate", failure_sentence(points) if run.sweep.get("find_max") else ""),
        ("What limited it", limit_sentence(run, points, top, uses)),
        ("Validity", validity_words(run)),
    ]
    return Conclusion(
        headline(run, points, top),
        [(name, sentence(text)) for name, text in entries if text],
        [sentence(note) for note in notes(run)],
        top,
        uses,
        compared,
    )


def validity_words(run: StoredRun) -> str:
    """How many steps can be believed."""
    count = sum(step["validity"]["valid"] for step in run.steps)
    agree = sum(step["counts"]["agree"] for step in run.steps)
    errors = sum(step["requests"]["errors"] for step in run.steps)
    failed = "no request failed" if not errors else f"{plural(errors, 'request')} failed"
    return f"{count} of {plural(len(run.steps), 'step')} are valid; the four counts agree in {agree}; {failed}" + (
        "" if count == len(run.steps) else "; what is invalid is drawn as a cross and is in no average"
    )


def group_names(point: Point) -> list[str]:
    """The varied values of a point in words."""
    return [value_words(name, value) for name, value in point.values.items()]


def figures_of(point: Point) -> dict[str, Any]:
    """Every figure of a point with its interval, for programs."""
    return {name: vars(point.estimate(name)) | {"unit": metric.unit} for name, metric in points_module.METRICS.items()}
