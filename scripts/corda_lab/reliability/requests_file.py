"""The file of the bad requests of the suite ``slow``: what the bridge answered, and how it was afterwards."""

from collections.abc import Iterator

from pydantic import Field

from corda_lab.reliability.aftermath import Aftermath
from corda_lab.text.words import plural

KIND = "requests"
UNAVAILABLE = 503
"""The only status from 500 on that is an answer to a bad request: the bridge has no room for it now."""


class RequestsFile(Aftermath):
    """The content of the file."""

    operations: int
    """Operations of the bridge's API that got bad requests."""
    wanted: int
    """Bad requests that have to be answered with an error."""
    answers: dict[int, int] = Field(default_factory=dict)
    """Answers by HTTP status."""
    seconds: float

    @property
    def refused(self) -> int:
        """Answers that are errors."""
        return sum(count for status, count in self.answers.items() if status >= 400)

    def _own_failures(self) -> Iterator[str]:
        if self.refused < self.wanted:
            yield f"{self.refused:,} of {self.wanted:,} requests were answered with an error"
        for status, count in sorted(self.answers.items()):
            if status >= 500 and status != UNAVAILABLE:
                yield f"{plural(count, 'answer')} with the status {status}"
