"""The file of the bad requests of the suite ``slow``: what the bridge answered, and how it was afterwards."""

from pydantic import Field

from corda_lab.bench.file import BenchFile

KIND = "requests"
HEAP_CHANGE_PERCENT_MAX = 10.0
"""How far the heap of the bridge may be from where it was."""


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
