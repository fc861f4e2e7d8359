"""What a sweep says of one step: whether it keeps the thresholds, and whether a search counts its rate as sustained."""

from typing import Any

from corda_lab.steps.open_load import arrival_problems
from corda_lab.sweeps.schema import FindMaxFields, SweepFields, ThresholdFields
from corda_lab.text.words import judged_latency


def _latency_problems(step: dict[str, Any], limits: dict[str, float | None]) -> list[str]:
    problems = []
    for name, seconds in limits.items():
        if seconds is None:
            continue
        seen = judged_latency(step)[name]
        if seen is None or seen > seconds * 1000:
            shown = "not known" if seen is None else f"{seen:,.0f} ms"
            problems.append(f"{name} is {shown}, more than {seconds * 1000:,.0f} ms")
    return problems


def threshold_problems(step: dict[str, Any], limits: ThresholdFields) -> list[str]:
    """Which thresholds a step does not keep, a sentence each; a step that is not valid shows nothing of the system."""
    if not step["validity"]["valid"]:
        return []
    problems = _latency_problems(step, {"p50": limits.p50_max, "p95": limits.p95_max, "p99": limits.p99_max})
    least, rate = limits.throughput_min, step["throughput_per_second"]
    if least is not None and rate < least:
        problems.append(f"throughput is {rate:.2f} flows/s, less than {least:g}")
    return problems


def failings(step: dict[str, Any], fields: SweepFields) -> list[str]:
    """What a step fails of what its sweep asks for, thresholds or the objective of a search, a sentence each."""
    if fields.find_max is not None:
        return sustained(step, fields.find_max)
    return threshold_problems(step, fields.thresholds)


def sustained(step: dict[str, Any], objective: FindMaxFields) -> list[str]:
    """Why the rate that a step offered was not sustained, a sentence each; nothing when it was.

    A step that is not valid shows nothing, so it does not show that its rate was sustained.
    """
    problems = _latency_problems(step, {"p50": objective.p50_max, "p95": objective.p95_max, "p99": objective.p99_max})
    problems += arrival_problems(step) + step["validity"]["reasons"]
    requests = step["requests"]
    if requests["errors"] > objective.errors_max * requests["total"]:
        problems.append(f"{requests['errors']} of {requests['total']} requests ended in an error")
    return problems
