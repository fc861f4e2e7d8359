"""Says during a load that no flow ends any more, and what the nodes have logged about it.

Corda keeps a flow that fails in a way it cannot judge in its flow hospital, where it waits for an operator. Callers see
only that nothing comes, until their time limits.
"""

import time

from corda_lab.errors import LabError
from corda_lab.lab.deployed import Deployed
from corda_lab.runs import node_logs
from corda_lab.runs.live import LiveRate
from corda_lab.text import ui
from corda_lab.text.words import plural

STALL_SECONDS = 30.0
"""How long no flow has to end until it is said. Nearly all flows take less."""
USUAL_TIMES = 2
"""Where flows take long, it has to be so many times as long as between two ends before: reading the logs of nodes takes
something from a load that is measured."""
LOGS_SECONDS_MAX = 20.0
"""How long reading the logs of the nodes may take."""


class Stall:
    """Watches whether flows end. It says once that none does."""

    def __init__(self, compose: Deployed, began_at: float) -> None:
        """``began_at`` is when the load began, in unix seconds."""
        self._compose = compose
        self._began_at = began_at
        self._ended = 0.0
        self._since = time.monotonic()
        self._longest = 0.0
        """The longest time between two ends so far, in seconds."""
        self._is_said = False

    def note(self, live: LiveRate) -> None:
        """Take what the bridge said last, and say it if no flow has ended for long although some are in flight."""
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
