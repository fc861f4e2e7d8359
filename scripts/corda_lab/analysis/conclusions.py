"""What the stored values of a run show: points, comparisons, saturation, trends, a headline and notes, each once."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import polars as pl

from corda_lab.analysis import points as all_points
from corda_lab.analysis import saturation, trends
from corda_lab.analysis.metrics import METRICS
from corda_lab.analysis.points import Point, SearchResult, searched
from corda_lab.analysis.saturation import Utilisation
from corda_lab.analysis.significance import MetricComparisons, judge
from corda_lab.analysis.trends import Trend
from corda_lab.analysis.values import shown, with_interval
from corda_lab.results.audits import Audit
from corda_lab.results.stored import StoredRun
from corda_lab.stats.difference import TOO_FEW
from corda_lab.steps import reasons
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.load import burst_words
from corda_lab.steps.reasons import Reason
from corda_lab.steps.rows import ERRORS_SHOWN_MAX, error_words, grouped_errors
from corda_lab.text.words import listed, milliseconds, plural, short

Kind = Literal["failed", "error", "invalid", "warning"]
"""Why a step failed, the errors of failed requests, why a step is invalid, and what a reader should know."""

TITLES: Mapping[Kind, str] = {
    "failed": "Failed",
    "error": "Failed requests",
    "invalid": "Invalid",
    "warning": "Warning",
}
LABELS_SHOWN_MAX = 4
STEPS_SHOWN_MAX = 12


@dataclass(frozen=True)
class Note:
    """What a reader has to know, with the code of its reason. ``steps`` is empty if it is about the whole run."""

    kind: Kind
    code: str
    text: str
    steps: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        return TITLES[self.kind]

    def __str__(self) -> str:
        """``steps 3 and 4: no flow was completed``."""
        return f"{steps_words(self.steps)}: {self.text}" if self.steps else self.text


class Analysis:
    """The analysis of a stored run. Each of its parts is computed when a writer asks for it the first time."""

    def __init__(self, run: StoredRun) -> None:
        self.run = run

    @cached_property
    def points(self) -> list[Point]:
        return all_points.points(self.run)

    @cached_property
    def searches(self) -> list[SearchResult]:
        """The results of a search; empty for any other sweep."""
        return searched(self.run, self.points) if self.run.sweep.find_max else []

    @cached_property
    def judged(self) -> MetricComparisons:
        return judge(self.run, self.points)

    @cached_property
    def metrics(self) -> pl.DataFrame:
        return self.run.table("metrics")

    @cached_property
    def requests(self) -> pl.DataFrame:
        return self.run.table("requests")

    @cached_property
    def spans(self) -> pl.DataFrame:
        return self.run.spans()

    @cached_property
    def uses(self) -> dict[str, list[Utilisation]]:
        """The utilisation of each resource, by the key of the point."""
        samples = self.metrics.filter(pl.col("name").is_in(saturation.SERIES))
        return {point.key: saturation.uses(self.run, point, samples) for point in self.points}

    @cached_property
    def trends(self) -> dict[int, list[Trend]]:
        """The trends of each step that is long enough to have some, by its index."""
        return {step.index: known for step in self.run.steps if (known := trends.of_step(self.run, step))}

    @cached_property
    def audits(self) -> dict[int, Audit]:
        """What the ledgers prove, by the index of the step."""
        return self.run.audits()

    @cached_property
    def headline(self) -> str:
        """What was achieved, in a sentence for each workload."""
        if not self.run.is_sweep:
            return step_headline(self.run.steps[0])
        if self.searches:
            return f"Highest confirmed rate: {'; '.join(map(_rate_words, self.searches))}."
        if not self.judged.tops:
            return "No step of this sweep is valid, so it shows nothing about throughput."
        return " ".join(f"{self._best_words(top)}." for top in self.judged.tops)

    def _best_words(self, top: Point) -> str:
        """The words on the best point. It is called the best only if every other point is shown to be worse."""
        judged = self.judged
        metric, value = METRICS[judged.metric], with_interval(top, judged.metric)
        workload = f"{top.workload}: " if len(judged.strata) > 1 else ""
        if top.collapsed and len(top.collapsed) == len(top.valid):
            return f"{workload}No flow was completed in the measuring window"
        since = " from the intended start" if metric.unit == "ms" and top.steps[0].has_intended_starts else ""
        others = judged.against(top)
        if not others:
            return f"{workload}{top.label}: {value}"
        equals = [pair.second.label for pair in others if not pair.is_worse]
        if not equals:
            return f"{workload}{metric.title.capitalize()}{since} was best with {top.label}: {value}"
        extreme = "Highest" if metric.higher_is_better else "Lowest"
        words = f"{workload}{extreme} {metric.title}{since} with {top.label}: {value}"
        if {pair.verdict for pair in others} == {TOO_FEW}:
            return f"{words}; {TOO_FEW} which point is best"
        return f"{words}; not shown to be better than {some(equals)}"

    @cached_property
    def limits(self) -> dict[str, str]:
        """What was saturated at each of the best points, with its evidence, by the label of the point.

        Of a search, at the lowest rate that was not sustained.
        """
        # The only point of a run has its limit even if its step is invalid.
        met = self.judged.tops or ([] if self.run.is_sweep else self.points)
        if self.searches:
            met = [search.failed for search in self.searches if search.failed is not None]
        return {point.label: self._limit_at(point) for point in met}

    def _limit_at(self, point: Point) -> str:
        if point.valid and point.keeps_rate and all(step.load.is_open for step in point.valid):
            return "none, because the system kept up with the offered rate"
        saturated = [f"{use.resource} ({use.text})" for use in self.uses[point.key] if use.is_saturated]
        return ", ".join(saturated) or "no monitored resource was saturated"

    @cached_property
    def notes(self) -> list[Note]:
        """Why steps failed or are invalid, and the warnings of the valid steps: each reason once, with its steps."""
        return [
            *self._sweep_notes(),
            *self._reasons("failed", failures),
            *self._errors(),
            *self._reasons("invalid", lambda step: step.validity.reasons),
            *self._reasons("warning", lambda step: step.flags if self._is_in_values(step) else []),
        ]

    def _is_in_values(self, step: StepEntry) -> bool:
        """Whether a step is in a value, so that its warnings matter: an invalid step of a sweep is in none."""
        return step.validity.valid or not self.run.is_sweep

    def _sweep_notes(self) -> Iterator[Note]:
        sweep = self.run.sweep
        if sweep.is_quick:
            yield Note("warning", "quick", "this is the short form of the sweep (--quick), with fewer or shorter steps")
        for left_out in sweep.left_out:
            text = f"{left_out.label} was left out, because this machine cannot have it: {left_out.reason}"
            yield Note("warning", "left_out", text)
        for point in self.points:
            if point.broken:
                why = "; ".join(dict.fromkeys(step.broke for step in point.broken if step.broke))
                count = f"{len(point.broken)} of {plural(len(point.steps), 'repeat')}"
                yield Note("warning", "broke", f"{point.label} broke in {count}: {why}")

    def _errors(self) -> Iterator[Note]:
        """The most frequent errors of the steps that failed."""
        failed = [step for step in self.run.steps if failures(step)]
        kinds = grouped_errors(error for step in failed for error in [*step.failures, *step.unknown_outcomes])
        for kind in kinds[:ERRORS_SHOWN_MAX]:
            yield Note("error", "requests", error_words(kind))

    def _reasons(self, kind: Kind, reasons_of: Callable[[StepEntry], Iterable[Reason]]) -> Iterator[Note]:
        groups: dict[tuple[object, ...], list[tuple[int, Reason]]] = {}
        for step in self.run.steps:
            for reason in reasons_of(step):
                groups.setdefault(reasons.kind(reason), []).append((step.index, reason))
        for members in groups.values():
            steps = tuple(dict.fromkeys(index for index, _ in members)) if self.run.is_sweep else ()
            yield Note(kind, members[0][1].code, reasons.sentence([reason for _, reason in members]), steps)


def failures(step: StepEntry) -> list[Reason]:
    """Why a step failed. Empty for the steps of a search, which overload the system on purpose."""
    return [] if step.phase != "measure" else [*step.verdict.reasons, *step.thresholds.reasons]


def step_headline(step: StepEntry) -> str:
    """The load, the achieved rate, the flows, the nodes and the latency of a single step."""
    load, latency = step.load, step.judged_latency
    flows = listed(list(dict.fromkeys(short(part.flow) for part in step.parts)))
    place = f"on {step.node}" + (f" with {step.counterparty}" if step.counterparty else "")
    asked = plural(load.users, "user") if load.rate is None else f"{load.rate:g} {load.arrivals} arrivals/s"
    asked = burst_words(load) if load.is_burst else asked
    text = f"{asked}: {step.throughput_per_second:,.2f} {flows} flows/s {place}"
    if latency.p50 is None:
        return f"{text}: no flow was completed in the measuring window."
    # p99 of fewer than 100 requests is the slowest of them.
    slow = f"p99 {milliseconds(latency.p99)}" if latency.count >= 100 else f"slowest {milliseconds(latency.max)}"
    since = " from the intended start" if step.has_intended_starts else ""
    return f"{text}. Latency{since}: p50 {milliseconds(latency.p50)}, {slow}."


def _rate_words(search: SearchResult) -> str:
    """``21.3/s with H2 (21.1 flows/s completed)``."""
    where = f" with {search.members[0].group_label}" if search.group else ""
    if search.rate is None:
        return f"none{where}"
    completed = search.confirmed.estimate("throughput").value if search.confirmed else None
    return f"{search.rate:g}/s{where}" + (f" ({shown(completed, 'throughput')} completed)" if completed else "")


def some(labels: Sequence[str], count_max: int = LABELS_SHOWN_MAX) -> str:
    """A list of at most so many entries, the last of which counts the labels that are left out.

    Labels that contain commas are separated by semicolons.
    """
    entries = list(labels)
    if len(entries) > count_max:
        entries[count_max - 1 :] = [f"{len(entries) - count_max + 1} others"]
    return "; ".join(entries) if any("," in label for label in entries) else listed(entries)


def steps_words(indices: Collection[int]) -> str:
    """``step 3``, ``steps 3, 4 and 7``."""
    return f"step{'s' if len(indices) > 1 else ''} {some([str(index) for index in indices], STEPS_SHOWN_MAX)}"
