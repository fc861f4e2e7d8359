"""Counts the flows of a measuring window by the bridge's own counter.

No part that is switched takes part in this. The counter is read once at the start and once at the end of the window, in
the same way in both states.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from corda_lab.clients.bridge import Bridge
from corda_lab.errors import LabError
from corda_lab.runs.sampling import Timeline
from corda_lab.steps.build import MachineUse
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.rows import Window

START_POLL_SECONDS = 0.25
"""Interval at which the first flow is awaited, before the window."""


@dataclass(frozen=True)
class Reading:
    """The bridge's counters of a node's flows at one moment (Unix seconds), and the start of the bridge."""

    at: float
    started: int
    completed: int
    bridge_started_at: float


@dataclass(frozen=True)
class WindowCount:
    """The flows that were completed in a window, and the utilisation of the host in it."""

    window: Window
    flows: int
    use: MachineUse


def read(bridge: Bridge, node: str) -> Reading:
    """Read the counters of the flows that were started on a node. Raises LabError."""
    before = time.time()
    samples = bridge.metrics()
    totals = {"bridge_flows_started_total": 0.0, "bridge_flows_completed_total": 0.0}
    bridge_started_at = 0.0
    for sample in samples:
        if sample.name in totals and sample.labels.get("node") == node:
            totals[sample.name] += sample.value
        elif sample.name == "process_start_time_seconds":
            bridge_started_at = sample.value
    started, completed = map(int, totals.values())
    return Reading((before + time.time()) / 2, started, completed, bridge_started_at)


def between(first: Reading, last: Reading, use: MachineUse) -> WindowCount:
    """Return the count between two readings. Raises LabError if the bridge was restarted, or nothing was completed."""
    if first.bridge_started_at != last.bridge_started_at:
        raise LabError("The bridge was restarted during the load", exit_code=1)
    if last.completed <= first.completed:
        raise LabError("No flow was completed in the measuring window", "Increase --duration.", exit_code=1)
    return WindowCount(Window(first.at, last.at), last.completed - first.completed, use)


class WindowCounter:
    """Counts the window of a load in a thread, from the first flow that starts after its creation."""

    def __init__(self, bridge: Bridge, node: str, load: LoadOptions) -> None:
        self._bridge = bridge
        self._node = node
        self._load = load
        self._before = read(bridge, node)
        self._load_has_ended = threading.Event()
        self._found: WindowCount | None = None
        self._error: LabError | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread. The load has ended."""
        self._load_has_ended.set()
        self._thread.join()

    def result(self) -> WindowCount:
        """Return the count when the load has ended. Raises LabError if the window was not counted."""
        self.stop()
        if self._error is not None:
            raise self._error
        if self._found is None:
            raise LabError("The load ended before its measuring window", "Check `docker compose logs bridge`.")
        return self._found

    def _run(self) -> None:
        try:
            self._found = self._count()
        except LabError as error:
            self._error = error

    def _count(self) -> WindowCount | None:
        while read(self._bridge, self._node).started <= self._before.started:
            if self._load_has_ended.wait(START_POLL_SECONDS):
                return None
        timeline = Timeline()
        if self._load_has_ended.wait(self._load.warm_up_seconds):
            return None
        first = read(self._bridge, self._node)
        timeline.note()
        if self._load_has_ended.wait(self._load.duration_seconds):
            return None
        timeline.note()
        last = read(self._bridge, self._node)
        return between(first, last, timeline.machine_use(Window(first.at, last.at)))


@contextmanager
def counted(bridge: Bridge, node: str, load: LoadOptions) -> Iterator[WindowCounter]:
    """Count the window of the load that runs in the block. Raises LabError if the bridge does not answer."""
    counter = WindowCounter(bridge, node, load)
    try:
        yield counter
    finally:
        counter.stop()
