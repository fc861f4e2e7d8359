"""Finds the highest rate that a system sustains, and judges steps: is a rate sustained, is a threshold missed?

``question`` says which rate to offer next. *Probes* double the rate until one is not sustained. Then they halve the gap
on a geometric scale (the next rate is √(low × high)) until the edges are no further apart than the precision. A single
wrong answer must not decide: both edges are probed again until two answers agree, best of three. If an edge falls, the
search continues on that side. Then the lower edge is *confirmed* by a longer step. If that fails, the rate is lowered
by the precision and confirmed again, at most ``CONFIRMATIONS_MAX`` times.

Everything is derived from the answers so far, so a search can be repeated from the steps that are stored.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from corda_lab.results.sweep import SearchAnswer, SearchOutcome, SweepFields
from corda_lab.results.sweep_parts import FindMaxFields, LatencyFields, ThresholdFields
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.open_load import arrival_problems
from corda_lab.steps.reasons import Reason, reason
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.plan import RATE_DIGITS, PlannedStep

Phase = Literal["probe", "confirm"]
Answers = Sequence[SearchAnswer]
Sustains = Callable[[PlannedStep], bool | None]
"""Returns whether the rate of a step is sustained; None if that is not known, which stops the search."""

CONFIRMATIONS_MAX = 4
AGREEING = 2
"""Number of equal answers that decide an edge."""


def find_max(sweep: SweepFile, point: PlannedStep, number: int, sustains: Sustains) -> SearchOutcome:
    """Search for the highest rate that a point sustains, as far as there are answers. ``number`` is that of the point.

    Each step follows from the answers to those before. The same answers always lead to the same steps.
    """
    asked = sweep.fields.find_max
    assert asked is not None
    answers: list[SearchAnswer] = []
    while not isinstance(following := question(asked, answers), str):
        (rate, phase), count = following, len(answers) + 1
        # If a rate is offered again, its arrivals must differ.
        step = point.at_rate(rate).numbered(number * 100 + count, point.load.seed + count - 1, kind=phase)
        load = step.load.updated(duration_seconds=asked.confirm) if phase == "confirm" else step.load
        key = f"{point.key}_{count:02d}-{phase}"
        sustained = sustains(step.model_copy(update={"key": key, "load": load}))
        if sustained is None:
            break
        answers.append(SearchAnswer(rate=rate, sustained=sustained, phase=phase))
    return outcome(asked, answers)


def question(asked: FindMaxFields, answers: Answers) -> tuple[float, Phase] | str:
    """Return the rate to offer next and its purpose, or the sentence with which the search ends.

    It takes at most ``steps_max`` steps, of which the last is reserved for a confirmation.
    """
    if not answers:
        return asked.rate_min, "probe"
    if answers[-1].phase == "confirm":
        return _after_confirmation(asked, answers)
    low, _ = _edges(answers)
    probe = _probe(asked, answers)
    if probe is not None and len(answers) < asked.steps_max - 1:
        return probe, "probe"
    if low is not None:
        return low, "confirm"
    if probe is not None:
        return f"No rate was sustained within the limit of {asked.steps_max} steps."
    return f"Not even the lowest rate, {asked.rate_min:g}, was sustained."


def outcome(asked: FindMaxFields, answers: Answers) -> SearchOutcome:
    """Return the outcome of a search, or what is known so far if it has not ended."""
    end = question(asked, answers)
    why = end if isinstance(end, str) else f"The search stopped after {len(answers)} steps."
    low, high = _edges(answers)
    confirmed = (answer.rate for answer in answers if answer.phase == "confirm" and answer.sustained)
    return SearchOutcome(rate=next(confirmed, None), low=low, high=high, reason=why, answers=list(answers))


def _counts(answers: Answers, rate: float) -> tuple[int, int]:
    """Return how many probes of this rate were sustained, and how many were not."""
    probes = [answer.sustained for answer in answers if answer.phase == "probe" and answer.rate == rate]
    return sum(probes), len(probes) - sum(probes)


def _edges(answers: Answers) -> tuple[float | None, float | None]:
    """Return the highest rate that was sustained in probes, and the lowest above it that was not.

    If the answers for a rate disagree, it is decided before any other rate is probed. So the answers are ordered.
    """
    rates = {answer.rate for answer in answers if answer.phase == "probe"}
    lead = {rate: sustained - failed for rate in rates for sustained, failed in [_counts(answers, rate)]}
    low = max((rate for rate in rates if lead[rate] > 0), default=None)
    high = min((rate for rate in rates if lead[rate] < 0 and (low is None or rate > low)), default=None)
    return low, high


def _probe(asked: FindMaxFields, answers: Answers) -> float | None:
    """Return the rate to probe; None if no further probe is useful."""
    last = answers[-1].rate
    sustained, failed = _counts(answers, last)
    if sustained == failed:
        return last
    low, high = _edges(answers)
    if low is not None and high is None and low < asked.rate_max:
        return min(2 * low, asked.rate_max)
    if low is not None and high is not None and high / low > 1 + asked.precision:
        return _rounded(math.sqrt(low * high))
    edges = (rate for rate in (high, low) if rate is not None)
    return next((rate for rate in edges if max(_counts(answers, rate)) < AGREEING), None)


def _after_confirmation(asked: FindMaxFields, answers: Answers) -> tuple[float, Phase] | str:
    last = answers[-1]
    low, high = _edges(answers)
    if last.sustained:
        if high is None:
            return f"{last.rate:g} was confirmed. It is the maximum of the search, so the limit may be higher."
        if low is not None and high / low > 1 + asked.precision:
            return (
                f"{last.rate:g} was confirmed, but the search ended after {asked.steps_max} steps: the limit may be"
                f" anywhere up to {high:g}."
            )
        return f"{last.rate:g} was confirmed; {high:g} was not sustained."
    lower = _rounded(last.rate / (1 + asked.precision))
    failed = sum(answer.phase == "confirm" for answer in answers)
    if failed < CONFIRMATIONS_MAX and len(answers) < asked.steps_max and lower >= asked.rate_min:
        return lower, "confirm"
    return (
        f"No rate was confirmed: {low:g} was sustained in probes, but not in {failed} longer steps down to"
        f" {last.rate:g}."
    )


def _rounded(rate: float) -> float:
    return float(f"{rate:.{RATE_DIGITS}g}")


def failings(step: StepEntry, fields: SweepFields) -> list[Reason]:
    """Return the thresholds that a step misses or, in a search, why its rate was not sustained."""
    return sustained(step, fields.find_max) if fields.find_max else threshold_problems(step, fields.thresholds)


def sustained(step: StepEntry, limits: FindMaxFields) -> list[Reason]:
    """Return why the rate of a step was not sustained; empty if it was. An invalid step does not show that it was."""
    problems = [*_latency_problems(step, limits), *arrival_problems(step), *step.validity.reasons, *step.unsteady]
    requests = step.requests
    if requests.unwanted > limits.errors_max * requests.total:
        problems.append(reason("requests_not_done", count=requests.unwanted, total=requests.total))
    return problems


def threshold_problems(step: StepEntry, limits: ThresholdFields) -> list[Reason]:
    """Return the thresholds that a step misses. One that is invalid or broke has no values, so it misses none."""
    if not step.validity.valid or step.outcome == "broke":
        return []
    problems = list(_latency_problems(step, limits))
    least, rate = limits.throughput_min, step.throughput_per_second
    if least is not None and rate < least:
        problems.append(reason("throughput_below", seen=rate, limit=least))
    return problems


def _latency_problems(step: StepEntry, limits: LatencyFields) -> Iterator[Reason]:
    latency = step.judged_latency
    for name, seconds in (("p50", limits.p50_max), ("p95", limits.p95_max), ("p99", limits.p99_max)):
        if seconds is None:
            continue
        measured_ms, limit_ms = latency.quantile(name), seconds * 1000
        if measured_ms is None:
            yield reason("latency_unknown", name=name, limit_ms=limit_ms)
        elif math.isinf(measured_ms):
            unanswered = {"unanswered": latency.unanswered, "count": latency.count}
            yield reason("latency_endless", name=name, limit_ms=limit_ms, **unanswered)
        elif measured_ms > limit_ms:
            yield reason("latency_above", name=name, seen_ms=measured_ms, limit_ms=limit_ms)
