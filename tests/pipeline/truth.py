"""What the lab must find: the values of a load, from what the stub nodes did and not from what the lab saw."""

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.cases import LATE_MAX_SECONDS, RATE, Case

QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}


@dataclass(frozen=True)
class TrueFlow:
    """One flow of the log of the stub nodes. Times are in Unix seconds; ``ended_at`` is when it was due to end."""

    request: int
    started_at: float
    ended_at: float
    has_succeeded: bool
    timer_error_ms: float
    """How much later than due it truly ended."""


@dataclass(frozen=True)
class Truth:
    """The true values of a load. Latencies run from the intended start, in milliseconds; infinite if not answered."""

    throughput_per_second: float
    latency_ms: Mapping[str, float]
    succeeded: int
    failed: int
    unknown: int
    resolved_ok: int
    dropped_share: float
    timer_error_ms: float
    start_delay_ms: float = 0.0
    """How much later than intended the flows of the window started, at p99.9: the generator's timers and the way to the
    node. 0 if it is not known, as with a pool that is too small."""


def read_flow(line: Mapping[str, Any]) -> TrueFlow:
    """Read a line of the log of the stub nodes."""
    late_ns = line["endedMonotonicNs"] - line["dueMonotonicNs"]
    return TrueFlow(
        request=int(str(line["clientId"]).rpartition("-")[2]),
        started_at=float(line["startedAt"]),
        ended_at=float(line["startedAt"]) + (line["dueMonotonicNs"] - line["startedMonotonicNs"]) / 1e9,
        has_succeeded=line["outcome"] == "completed",
        timer_error_ms=late_ns / 1e6,
    )


def nearest_rank(values: Iterable[float], quantile: float) -> float:
    """The smallest value that at least a share ``quantile`` does not exceed. The code under test has its own."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(round(quantile * len(ordered), 9)) - 1)]


def _timer_error_ms(flows: Iterable[TrueFlow], window: tuple[float, float]) -> float:
    """By how much the timers of flows due in a window (Unix seconds) were late, at p99.9, the highest value checked."""
    start, end = window
    return nearest_rank((flow.timer_error_ms for flow in flows if start <= flow.ended_at < end), QUANTILES["p999"])


def of_open_load(case: Case, flows: Sequence[TrueFlow], window: tuple[float, float]) -> Truth:
    """The truth of a load in which every arrival started at its intended time. The window is in Unix seconds.

    The schedule began when the flow with the shortest way to its node must have been meant to start, counted back to
    the first arrival. It ended with the last request that is known.
    """
    start, end = window
    began = min(flow.started_at - (flow.request - 1) / RATE for flow in flows)
    last = max(*(flow.request for flow in flows), *case.dropped, 0)
    intended = {number: began + (number - 1) / RATE for number in range(1, last + 1)}
    by_request = {flow.request: flow for flow in flows}
    latencies = []
    for number, at in intended.items():
        if not start <= at < end:
            continue
        flow = by_request.get(number)
        is_answered = flow is not None and flow.has_succeeded and number not in case.lost | case.dropped
        latencies.append((flow.ended_at - at) * 1000 if flow and is_answered else math.inf)
    delays_ms = [
        (flow.started_at - intended[flow.request]) * 1000 for flow in flows if start <= intended[flow.request] < end
    ]
    answered = [flow for flow in flows if flow.has_succeeded and flow.request not in case.lost]
    return Truth(
        throughput_per_second=sum(start <= flow.ended_at < end for flow in answered) / (end - start),
        latency_ms={name: nearest_rank(latencies, quantile) for name, quantile in QUANTILES.items()},
        succeeded=sum(flow.has_succeeded for flow in flows),
        failed=sum(not flow.has_succeeded and flow.request not in case.lost for flow in flows),
        unknown=len(case.dropped) + len(case.lost),
        resolved_ok=sum(flow.has_succeeded for flow in flows if flow.request in case.lost),
        dropped_share=0.0,
        timer_error_ms=_timer_error_ms(flows, window),
        start_delay_ms=nearest_rank(delays_ms, QUANTILES["p999"]),
    )


def of_full_pool(case: Case, flows: Sequence[TrueFlow], began: float, window: tuple[float, float]) -> Truth:
    """The truth of a load whose pool is too small, by simulating the schedule, the pool and the known delays.

    ``began`` and the window are in Unix seconds. The load ended with the window.
    """
    start, end = window[0] - began, window[1] - began
    places: list[float] = []
    latencies, ended, dropped, started = [], [], 0, 0
    offered = round(end * RATE)
    for number in range(offered):
        intended = number / RATE
        while places and places[0] <= intended:
            heapq.heappop(places)
        begin = intended if len(places) < case.pool else heapq.heappop(places)
        # An arrival that still waits at the end of the load is never sent.
        is_dropped = begin - intended > LATE_MAX_SECONDS or begin >= end
        if is_dropped:
            heapq.heappush(places, begin)
            dropped += 1
        else:
            done = begin + case.delays_ms[started] / 1000
            started += 1
            heapq.heappush(places, done)
            ended.append(done)
        if start <= intended < end:
            latencies.append(math.inf if is_dropped else (ended[-1] - intended) * 1000)
    return Truth(
        throughput_per_second=sum(start <= at < end for at in ended) / (end - start),
        latency_ms={name: nearest_rank(latencies, quantile) for name, quantile in QUANTILES.items()},
        succeeded=sum(flow.has_succeeded for flow in flows),
        failed=0,
        unknown=0,
        resolved_ok=0,
        dropped_share=dropped / offered,
        timer_error_ms=_timer_error_ms(flows, window),
    )
