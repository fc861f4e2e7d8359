"""The file of the bad requests of the suite ``slow``: what the bridge answered, and how it was afterwards."""

from collections.abc import Iterator

from pydantic import Field

from corda_lab.bench.file import BenchFile
from corda_lab.text.words import listed, plural

KIND = "requests"
HEAP_CHANGE_PERCENT_MAX = 10.0
"""How far the heap of the bridge may be from where it was."""
READY_SECONDS_MAX = 5.0
"""How soon after an attack the bridge has to be ready."""
UNAVAILABLE = 503
"""The only status from 500 on that is an answer to a bad request: the bridge has no room for it now."""


class RequestsFile(BenchFile):
    """The content of the file."""

    operations: int
    """Operations of the bridge's API that got bad requests."""
    wanted: int
    """Bad requests that have to be answered with an error."""
    answers: dict[int, int] = Field(default_factory=dict)
    """Answers by HTTP status."""
    seconds: float
    ready_seconds: float
    """Time from the last request until the bridge was ready."""
    flows_started: int
    """Flows that were started meanwhile."""
    ledgers_changed: list[str] | None = None
    """Nodes whose transactions, states or attachments are not as many as before; None if they were not counted."""
    live_bytes_before: int
    """Live objects of the bridge."""
    live_bytes_after: int

    @property
    def refused(self) -> int:
        """Answers that are errors."""
        return sum(count for status, count in self.answers.items() if status >= 400)

    @property
    def heap_change_percent(self) -> float:
        """How much larger the live objects became."""
        return 100 * (self.live_bytes_after - self.live_bytes_before) / self.live_bytes_before

    @property
    def failures(self) -> tuple[str, ...]:
        """What the bridge did not keep to. Empty if it passed."""
        return tuple(self._failures())

    def _failures(self) -> Iterator[str]:
        if self.refused < self.wanted:
            yield f"{self.refused:,} of {self.wanted:,} requests were answered with an error"
        for status, count in sorted(self.answers.items()):
            if status >= 500 and status != UNAVAILABLE:
                yield f"{plural(count, 'answer')} with the status {status}"
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
