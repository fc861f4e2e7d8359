"""Judges one step of a sweep: whether it meets the thresholds, and whether a search counts its rate as sustained."""

import math

from corda_lab.steps.entry import StepEntry
from corda_lab.steps.open_load import arrival_problems
from corda_lab.steps.reasons import Reason, reason
from corda_lab.sweeps.schema import FindMaxFields, SweepFields, ThresholdFields


def _latency_problems(step: StepEntry, limits: dict[str, float | None]) -> list[Reason]:
    problems = []
    for name, seconds in limits.items():
        if seconds is None:
            continue
        seen, limit = step.judged_latency.quantile(name), seconds * 1000
        if seen is None:
            problems.append(reason("latency_unknown", name=name, limit_ms=limit))
        elif math.isinf(seen):
            latency = step.judged_latency
            problems.append(
                reason("latency_endless", name=name, unanswered=latency.unanswered, count=latency.count, limit_ms=limit)
            )
        elif seen > limit:
            problems.append(reason("latency_above", name=name, seen_ms=seen, limit_ms=limit))
    return problems


def threshold_problems(step: StepEntry, limits: ThresholdFields) -> list[Reason]:
    """Return the thresholds that a step misses.

    An invalid step shows nothing about the system, and a step that broke has no values, so neither misses any.
    """
    if not step.validity.valid or step.outcome == "broke":
        return []
    problems = _latency_problems(step, {"p50": limits.p50_max, "p95": limits.p95_max, "p99": limits.p99_max})
    least, rate = limits.throughput_min, step.throughput_per_second
    if least is not None and rate < least:
        problems.append(reason("throughput_below", seen=rate, limit=least))
    return problems


def failings(step: StepEntry, fields: SweepFields) -> list[Reason]:
    """Return the thresholds that a step misses or, in a search, why its rate was not sustained."""
    if fields.find_max is not None:
        return sustained(step, fields.find_max)
    return threshold_problems(step, fields.thresholds)


def sustained(step: StepEntry, objective: FindMaxFields) -> list[Reason]:
    """Return why the rate of a step was not sustained; empty if it was.

    An invalid step shows nothing, so it does not show that its rate was sustained.
    """
    problems = _latency_problems(step, {"p50": objective.p50_max, "p95": objective.p95_max, "p99": objective.p99_max})
    problems += arrival_problems(step) + step.validity.reasons + step.unsteady
    requests = step.requests
    if requests.unwanted > objective.errors_max * requests.total:
        problems.append(reason("requests_not_done", count=requests.unwanted, total=requests.total))
    return problems
