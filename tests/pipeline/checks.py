"""Compares what the lab measured with the truth, value by value."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from corda_lab.steps.entry import Distribution, StepEntry
from pipeline.cases import DURATION_SECONDS, Case
from pipeline.truth import Truth

TIMER_ERROR_MS_MAX = 8.0
"""The stub nodes' own timers may be late by this much (p99.9): 2 % of the shortest latency that is checked. If they are
later, the machine did something else: a flow ended as much later than is known, and its answer was on its way back for
as much longer than usual as others were late on their way to the node."""
THROUGHPUT_SHARE_MAX = 0.01
LATENCY_SHARE_MAX = 0.02
DROPPED_POINTS_MAX = 0.01
"""How far the share of dropped arrivals may be off, as a share of all arrivals."""


@dataclass(frozen=True)
class Check:
    """One value that the lab measured, beside its true value.

    ``tolerance`` is a share of it; 0 means exactly. ``doubt``, in the unit of the value, is how uncertain the truth is.
    """

    case: str
    name: str
    truth: float
    found: float
    tolerance: float
    doubt: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether the value is within its tolerance. Two latencies that were not answered are equal."""
        if math.isinf(self.truth) or math.isinf(self.found):
            return self.truth == self.found
        return abs(self.found - self.truth) <= self.tolerance * abs(self.truth) + 1e-9

    @property
    def cannot_be_told(self) -> bool:
        """Whether the value is out of its tolerance by no more than the truth is uncertain."""
        if self.holds or math.isinf(self.truth):
            return False
        return abs(self.found - self.truth) <= self.tolerance * abs(self.truth) + self.doubt

    @property
    def fails(self) -> bool:
        """Whether the value is wrong, even if the truth is as uncertain as the timers were late."""
        return not self.holds and not self.cannot_be_told

    @property
    def off(self) -> str:
        """``+0.4 %``: how far the value is off. Empty if it has to be exact, or if there is no ratio."""
        if not self.tolerance or not self.truth or math.isinf(self.truth) or math.isinf(self.found):
            return ""
        return f"{100 * (self.found - self.truth) / self.truth:+.2f} %"


def quantile_of(latency: Distribution, name: str) -> float:
    """A percentile in ms; NaN if it is not known."""
    found = latency.quantile(name)
    return math.nan if found is None else found


def checks_of(case: Case, truth: Truth, step: StepEntry) -> list[Check]:
    """Every check of one load."""
    return list(_checks(case, truth, step))


def _checks(case: Case, truth: Truth, step: StepEntry) -> Iterator[Check]:
    def check(name: str, expected: float, found: float, tolerance: float = 0.0, doubt: float = 0.0) -> Check:
        return Check(case.name, name, expected, found, tolerance, doubt)

    is_disturbed = truth.timer_error_ms > TIMER_ERROR_MS_MAX
    late_ms = truth.timer_error_ms + truth.start_delay_ms if is_disturbed else 0.0
    requests, counted, resolved = step.requests, step.counts, step.resolved
    yield check("length of the window", DURATION_SECONDS, step.window.seconds, THROUGHPUT_SHARE_MAX)
    yield check("throughput", truth.throughput_per_second, step.throughput_per_second, THROUGHPUT_SHARE_MAX)
    for name, value in truth.latency_ms.items():
        yield check(name, value, quantile_of(step.latency_intended_ms, name), LATENCY_SHARE_MAX, late_ms)
    yield check("failed", truth.failed, requests.failed)
    yield check("unknown outcomes", truth.unknown, requests.unknown)
    yield check("unknown outcomes that had succeeded", truth.resolved_ok, resolved.ok)
    yield check("unknown outcomes that stay so", 0, resolved.unknown)
    yield check("flows counted by the generator", truth.succeeded, counted.generator)
    yield check("flows counted by the bridge", truth.succeeded, counted.bridge or 0)
    yield check("flows counted by the node", truth.succeeded, counted.node or 0)
    for vault in counted.vault_states:
        yield check(f"states in the vault of {vault.node}", truth.succeeded, vault.counted or 0)
    for found in counted.transactions:
        yield check(f"transactions missing at {found.node}", 0, found.missing)
    offered = step.value("offered")
    dropped = (step.value("dropped") or 0) / offered if offered else 0.0
    # A tolerance of a share of all arrivals, so that it does not shrink with the share that was dropped.
    share = DROPPED_POINTS_MAX / truth.dropped_share if truth.dropped_share else 0.0
    yield check("share of dropped arrivals", truth.dropped_share, dropped, share)
