"""Compares the lab with its peers, round by round, and checks the results against what the lab promises.

A ratio or difference pairs two measurements of the same round and load. Its interval is that of Student's t: for ratios
on logarithms. Rounds in which one of the two failed are left out.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from corda_lab.bench.peers.measurement import Measurement, Peer, PeersBench
from corda_lab.stats.difference import paired
from corda_lab.stats.intervals import CONFIDENCE, around_mean

Verdict = Literal["met", "missed", "cannot be told"]
Value = Callable[[Measurement], float | None]

THROUGHPUT_WORKLOADS = ("iou", "cash-issue-and-pay")
LATENCY_WORKLOAD = "empty"

DIRECT_RATIO_MIN = 0.98
DIRECT_RATIO_LOW_MIN = 0.95
JMETER_RATIO_MIN = 1.05
JMETER_USERS = (20, 100)
LATENCY_USERS = 1
LATENCY_P50_MS_MAX = 2.0
LATENCY_P99_MS_MAX = 10.0
COST_USERS = 100
COST_RATIO_MAX = 0.25

FLOWS_PER_USER_MIN = 5
"""Flows that every user should have time for in a window. With fewer, a window has a whole burst of flows more or less,
because all users began together."""


@dataclass(frozen=True)
class Estimate:
    """A mean over ``pairs`` rounds with its 95 % interval, which a single pair does not have."""

    value: float
    low: float | None
    high: float | None
    pairs: int


@dataclass(frozen=True)
class Check:
    """A promise of the lab, and whether a bench shows that it is kept."""

    what: str
    wanted: str
    estimate: Estimate | None
    verdict: Verdict


def flows_per_second(measurement: Measurement) -> float | None:
    return measurement.flows_per_second


def cpu_ms_per_flow(measurement: Measurement) -> float | None:
    return measurement.cpu_ms_per_flow


def bridge_cpu_ms_per_flow(measurement: Measurement) -> float | None:
    return measurement.bridge_cpu_ms_per_flow


def bridge_memory_bytes(measurement: Measurement) -> float | None:
    return measurement.bridge_memory_bytes_max


def memory_bytes(measurement: Measurement) -> float | None:
    return measurement.memory_bytes_max


def memory_per_flow(measurement: Measurement) -> float | None:
    return measurement.memory_mb_per_1000_flows


def p50_ms(measurement: Measurement) -> float | None:
    return measurement.latency.p50_ms if measurement.latency else None


def p99_ms(measurement: Measurement) -> float | None:
    return measurement.latency.p99_ms if measurement.latency else None


def short_windows(bench: PeersBench) -> list[int]:
    """Return the loads at which a user had time for too few flows in a window, by the direct client's median."""
    found = []
    for users in bench.users:
        p50 = mean(list(values_of(bench, "direct", users, p50_ms).values()))
        if p50 is not None and bench.duration_seconds < FLOWS_PER_USER_MIN * p50 / 1000:
            found.append(users)
    return found


def values_of(bench: PeersBench, peer: Peer, users: int, value: Value) -> dict[int, float]:
    """Return the values of a peer under one load, by round. Measurements that failed have none."""
    found = {each.round: value(each) for each in bench.of(peer, users) if each.problem is None}
    return {number: known for number, known in found.items() if known is not None}


def ratio(bench: PeersBench, peer: Peer, users: int, value: Value) -> Estimate | None:
    """Return the geometric mean of the lab's values ÷ the peer's. None if no round has both."""
    theirs, ours = (
        {number: one for number, one in values_of(bench, side, users, value).items() if one > 0}
        for side in (peer, "lab")
    )
    if not theirs.keys() & ours.keys():
        return None
    found = paired(theirs, ours, higher_is="faster")
    return Estimate(found.ratio, found.low, found.high, found.n_a)


def difference(bench: PeersBench, peer: Peer, users: int, value: Value) -> Estimate | None:
    """Return the mean of the lab's values − the peer's. None if no round has both."""
    theirs, ours = values_of(bench, peer, users, value), values_of(bench, "lab", users, value)
    pairs = [ours[number] - theirs[number] for number in sorted(theirs.keys() & ours.keys())]
    if not pairs:
        return None
    if len(pairs) == 1:
        return Estimate(pairs[0], None, None, 1)
    low, mean, high = around_mean(pairs, CONFIDENCE)
    return Estimate(mean, low, high, len(pairs))


def mean(values: Sequence[float]) -> float | None:
    """Return the arithmetic mean; None of nothing."""
    return statistics.fmean(values) if values else None


def at_least(estimate: Estimate | None, wanted: float, *, low_min: float | None = None) -> Verdict:
    """Judge a value that must be at least ``wanted``.

    It is met if the whole interval is at least ``wanted``. With ``low_min``, it is enough that the mean is, and that
    the interval begins at or above ``low_min``. It is missed if the whole interval is below ``wanted``.
    """
    if estimate is None or estimate.low is None or estimate.high is None:
        return "cannot be told"
    if estimate.high < wanted:
        return "missed"
    enough = estimate.low >= (wanted if low_min is None else low_min)
    return "met" if enough and estimate.value >= wanted else "cannot be told"


def at_most(estimate: Estimate | None, wanted: float) -> Verdict:
    """Judge a value that must be at most ``wanted``: met or missed if the whole interval is on one side of it."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return "cannot be told"
    if estimate.low > wanted:
        return "missed"
    return "met" if estimate.high <= wanted else "cannot be told"


def checks(bench: PeersBench) -> list[Check]:
    """Return the promises about the workload and the loads of a bench, judged."""
    return [*_throughput_checks(bench), *_latency_checks(bench), *_cost_checks(bench)]


def _throughput_checks(bench: PeersBench) -> list[Check]:
    if bench.workload not in THROUGHPUT_WORKLOADS:
        return []
    found = []
    for users in bench.users:
        direct = ratio(bench, "direct", users, flows_per_second)
        found.append(
            Check(
                f"flows/s ÷ direct client's, {users} in flight",
                f"≥ {DIRECT_RATIO_MIN}, interval from ≥ {DIRECT_RATIO_LOW_MIN}",
                direct,
                at_least(direct, DIRECT_RATIO_MIN, low_min=DIRECT_RATIO_LOW_MIN),
            )
        )
    for users in (each for each in bench.users if each in JMETER_USERS):
        jmeter = ratio(bench, "jmeter", users, flows_per_second)
        what = f"flows/s ÷ JMeter's, {users} in flight"
        found.append(Check(what, f"≥ {JMETER_RATIO_MIN}", jmeter, at_least(jmeter, JMETER_RATIO_MIN)))
    return found


def _latency_checks(bench: PeersBench) -> list[Check]:
    if bench.workload != LATENCY_WORKLOAD or LATENCY_USERS not in bench.users:
        return []
    limits = (("p50", p50_ms, LATENCY_P50_MS_MAX), ("p99", p99_ms, LATENCY_P99_MS_MAX))
    found = []
    for name, value, limit in limits:
        added = difference(bench, "direct", LATENCY_USERS, value)
        what = f"{name} − direct client's in ms, {LATENCY_USERS} in flight"
        found.append(Check(what, f"≤ {limit:g}", added, at_most(added, limit)))
    return found


def _cost_checks(bench: PeersBench) -> list[Check]:
    if COST_USERS not in bench.users:
        return []
    found = []
    for name, value in (("CPU time", cpu_ms_per_flow), ("memory", memory_per_flow)):
        cost = ratio(bench, "jmeter", COST_USERS, value)
        what = f"{name} per flow ÷ JMeter's, {COST_USERS} in flight"
        found.append(Check(what, f"≤ {COST_RATIO_MAX}", cost, at_most(cost, COST_RATIO_MAX)))
    return found
