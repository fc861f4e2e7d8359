"""The rate and counts that are shown while a load is running."""

import time
from collections import deque
from operator import add

from corda_lab.clients.bridge import Bridge
from corda_lab.errors import LabError
from corda_lab.lab.lab import Lab
from corda_lab.node_logs import read as node_logs
from corda_lab.stats import steady
from corda_lab.steps.build import warm_up_found
from corda_lab.text import ui
from corda_lab.text.words import plural
from lab_workload.load import Load
from lab_workload.subject import Subject

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
        return self._in_flight

    @property
    def done(self) -> float:
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


STALL_SECONDS = 30.0
"""How long no flow has to end until it is said. Nearly all flows take less."""
USUAL_TIMES = 2
"""Where flows take long, it has to be so many times as long as between two ends before: reading the logs of nodes takes
something from a load that is measured."""
LOGS_SECONDS_MAX = 20.0


class Stall:
    """Watches whether flows end. It says once that none does."""

    def __init__(self, compose: Lab, began_at: float) -> None:
        """``began_at`` is when the load began, in unix seconds."""
        self._compose = compose
        self._began_at = began_at
        self._ended = 0.0
        self._since = time.monotonic()
        self._longest = 0.0
        """The longest time between two ends so far, in seconds."""
        self._is_said = False

    def note(self, live: LiveRate) -> None:
        now = time.monotonic()
        seconds = now - self._since
        if not live.in_flight:
            self._ended, self._since = live.ended, now
        elif live.ended != self._ended:
            self._ended, self._since, self._longest = live.ended, now, max(self._longest, seconds)
        elif not self._is_said and seconds >= max(STALL_SECONDS, USUAL_TIMES * self._longest):
            self._is_said = True
            self._say(seconds, live.in_flight)

    def _say(self, seconds: float, in_flight: float) -> None:
        ui.warn(f"no flow has ended for {seconds:.0f} s, with {in_flight:.0f} in flight; Ctrl-C ends the load")
        try:
            found = node_logs.errors_since(self._compose, self._began_at, seconds_max=LOGS_SECONDS_MAX)
        except LabError as error:
            ui.note(f"what the nodes have logged cannot be read: {error.message}")
            return
        for node, kind in found:
            ui.note(f"{node} has logged {plural(kind.count, 'time')}: {kind.example}")
        if not found:
            ui.note("the nodes have logged no error since the load began")


class EarlyStop:
    """Decides from the completions so far whether a load may end: only one with ``stopping``, and not by a count."""

    def __init__(self, options: Load) -> None:
        self._options = options
        self._seen: list[tuple[float, float]] = []

    def note(self, elapsed_seconds: float, completed: float) -> None:
        self._seen.append((elapsed_seconds, completed))

    @property
    def enough(self) -> steady.WarmUp | None:
        """The end of the warm-up, if warm-up and measuring window are long enough to end the load; otherwise None."""
        stopping = self._options.stopping
        if stopping is None or self._options.is_counted or len(self._seen) < 2:
            return None
        elapsed = self._seen[-1][0]
        if elapsed < stopping.warm_up_seconds_min + self._options.duration_seconds:
            return None
        times = self._completion_times()
        if not times:
            return None
        if len(times) < stopping.completions_min:
            return None
        # The load began at most one interval before the first reading.
        window = self._options.duration_seconds + steady.LOOK_SECONDS
        warm_up = warm_up_found(self._options, times, 0.0, elapsed, window_seconds=window)
        if stopping.change_percent_max is not None:
            return warm_up if warm_up.found else None
        return warm_up if elapsed - warm_up.cut_seconds >= window else None

    def _completion_times(self) -> list[float]:
        """Return the completion times in seconds, evenly spaced between two readings of the counter."""
        times: list[float] = []
        for (before, counted), (after, now) in zip(self._seen, self._seen[1:], strict=False):
            count = round(now - counted)
            times += [before + (after - before) * (number + 0.5) / count for number in range(count)]
        return times
