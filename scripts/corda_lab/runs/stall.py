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
        self._is_said = False

    def note(self, live: LiveRate) -> None:
        """Take what the bridge said last, and say it if no flow has ended for long although some are in flight."""
        now = time.monotonic()
        if not live.in_flight or live.ended != self._ended:
            self._ended, self._since = live.ended, now
        elif not self._is_said and now - self._since >= STALL_SECONDS:
            self._is_said = True
            self._say(now - self._since, live.in_flight)

    def _say(self, seconds: float, in_flight: float) -> None:
        ui.warn(f"no flow has ended for {seconds:.0f} s, and {in_flight:.0f} in flight; Ctrl-C ends the load")
        try:
            found = node_logs.errors_since(self._compose, self._began_at, seconds_max=LOGS_SECONDS_MAX)
        except LabError as error:
            ui.note(f"what the nodes have logged cannot be read: {error.message}")
            return
        for node, kind in found:
            ui.note(f"{node} has logged {plural(kind.count, 'time')}: {kind.example}")
        if not found:
            ui.note("the nodes have logged no error since the load began")
