"""The rate and counts that are shown while a load is running."""

import time
from collections import deque
from operator import add

from corda_lab.clients.bridge import Bridge
from corda_lab.errors import LabError
from corda_lab.steps.plan import Subject

RATE_SECONDS = 5


class LiveRate:
    """Completed and failed flows, as counted by the bridge, for the progress line of a run.

    If the workload ``expects_failures``, failed flows also count as done.
    """

    def __init__(self, bridge: Bridge, subject: Subject, *, expects_failures: bool) -> None:
        self._bridge = bridge
        self._subject = subject
        self._expects_failures = expects_failures
        self._seen: deque[tuple[float, float]] = deque()
        self._first: tuple[float, float] | None = None
        self._read_last: tuple[float, ...] = (0.0, 0.0)
        self._carried: tuple[float, ...] = (0.0, 0.0)
        self._in_flight = 0.0

    def _read(self) -> tuple[float, float, float]:
        totals = {"bridge_flows_completed_total": 0.0, "bridge_flows_failed_total": 0.0, "bridge_flows_in_flight": 0.0}
        for sample in self._bridge.metrics():
            if sample.name in totals and sample.labels.get("node") in self._subject.nodes:
                totals[sample.name] += sample.value
            elif sample.name == "bridge_flows_rejected_total":
                totals["bridge_flows_failed_total"] += sample.value
        completed, failed, in_flight = totals.values()
        if completed < self._read_last[0] or failed < self._read_last[1]:
            # The bridge was restarted, so its counters began again at 0.
            self._carried = tuple(map(add, self._carried, self._read_last))
        self._read_last, self._in_flight = (completed, failed), in_flight
        return completed + self._carried[0], failed + self._carried[1], in_flight

    @property
    def ended(self) -> float:
        """Flows that have ended at the last reading, however they did, since the bridge was first read."""
        return sum(self._read_last) + sum(self._carried)

    @property
    def in_flight(self) -> float:
        """Flows in flight at the last reading."""
        return self._in_flight

    @property
    def done(self) -> float:
        """Flows that were done between the first and the last reading."""
        return self._seen[-1][1] - self._done(*self._first) if self._first else 0.0

    def _done(self, completed: float, failed: float) -> float:
        return completed + failed if self._expects_failures else completed

    def tell(self) -> str:
        """Read the counters, and return the progress line: recent rate, completed, failed and in-flight flows."""
        try:
            completed, failed, in_flight = self._read()
        except LabError:
            return "no progress: the bridge is not answering"
        now = time.monotonic()
        self._first = self._first or (completed, failed)
        self._seen.append((now, self._done(completed, failed)))
        while now - self._seen[0][0] > RATE_SECONDS and len(self._seen) > 2:
            self._seen.popleft()
        seconds = now - self._seen[0][0]
        rate = (self._seen[-1][1] - self._seen[0][1]) / seconds if seconds > 0 else 0.0
        successes, failures = completed - self._first[0], failed - self._first[1]
        return f"{rate:5.1f} flows/s, {successes:.0f} completed, {failures:.0f} failed, {in_flight:.0f} in flight"
