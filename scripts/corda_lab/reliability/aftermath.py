"""How the bridge and the ledgers were after what hostile clients did: the common part of the files about it."""

from collections.abc import Iterator

from corda_lab.bench.file import BenchFile
from corda_lab.text.words import listed, plural

HEAP_CHANGE_PERCENT_MAX = 10.0
"""How far the heap of the bridge may be from where it was."""
READY_SECONDS_MAX = 5.0
"""How soon after an attack the bridge has to be ready."""


class Aftermath(BenchFile):
    """What was seen afterwards."""

    ready_seconds: float
    """Time until the bridge was ready again."""
    flows_started: int
    """Flows that were started meanwhile."""
    ledgers_changed: list[str] | None = None
    """Nodes whose transactions, states or attachments are not as many as before; None if they were not counted."""
    live_bytes_before: int
    """Live objects of the bridge."""
    live_bytes_after: int

    @property
    def heap_change_percent(self) -> float:
        """How much larger the live objects became."""
        return 100 * (self.live_bytes_after - self.live_bytes_before) / self.live_bytes_before

    @property
    def failures(self) -> tuple[str, ...]:
        """What the bridge did not keep to. Empty if it passed."""
        return (*self._own_failures(), *self._aftermath())

    def _own_failures(self) -> Iterator[str]:
        """What a kind of attack wants besides."""
        yield from ()

    def _aftermath(self) -> Iterator[str]:
        if self.flows_started < 0:
            yield "the bridge ended meanwhile: it counts fewer flows than before"
        elif self.flows_started:
            yield f"{plural(self.flows_started, 'flow')} started"
        if self.ledgers_changed is None:
            yield "the ledgers were not counted"
        elif self.ledgers_changed:
            yield f"the ledgers of {listed(self.ledgers_changed)} changed"
        if self.ready_seconds > READY_SECONDS_MAX:
            yield f"ready again after {self.ready_seconds:.1f} s, and not within {READY_SECONDS_MAX:g} s"
        if abs(self.heap_change_percent) > HEAP_CHANGE_PERCENT_MAX:
            yield f"the heap after collection changed by {self.heap_change_percent:+.1f} %"
