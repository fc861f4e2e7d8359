"""What a sweep says of one step: whether it keeps the thresholds, and whether a search counts its rate as sustained."""

from typing import Any

from corda_lab.sweeps.schema import FindMaxFields, ThresholdFields

ACHIEVED_SHARE_MIN = 0.95
"""Least share of the offered rate that has to be achieved; the ends of a window cost a little."""

DROPPED_SHARE_MAX = 0.001


def latency_of(step: dict[str, Any]) -> dict[str, Any]:
    """The latency that counts: in open load from the intended start."""
    found: dict[str, Any] = step["latency_intended_ms"] if step["open_load"] else step["latency_ms"]
    return found


def _latency_problems(step: dict[str, Any], limits: dict[str, float | None]) -> list[str]:
    problems = []
    for name, seconds in limits.items():
        if seconds is None:
            continue
        seen = latency_of(step)[name]
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


def sustained(step: dict[str, Any], objective: FindMaxFields) -> list[str]:
    """Why the rate that a step offered was not sustained, a sentence each; nothing when it was."""
    problems = _latency_problems(step, {"p50": objective.p50_max, "p95": objective.p95_max, "p99": objective.p99_max})
    offered, achieved = step["load"]["rate_per_second"], step["throughput_per_second"]
    if achieved < ACHIEVED_SHARE_MIN * offered:
        problems.append(f"achieved {achieved:.2f} of {offered:g} per second")
    arrivals = step["open_load"]
    if arrivals["dropped"] > DROPPED_SHARE_MAX * arrivals["offered"]:
        problems.append(f"{arrivals['dropped']} of {arrivals['offered']} arrivals were dropped")
    problems += [reason for reason in step["validity"]["reasons"] if reason.startswith("the generator")]
    requests = step["requests"]
    if requests["errors"] > objective.errors_max * requests["total"]:
        problems.append(f"{requests['errors']} of {requests['total']} requests ended in an error")
    return problems
