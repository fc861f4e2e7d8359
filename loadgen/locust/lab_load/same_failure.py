"""Detects that all requests of a run fail in the same way, so that more requests would show nothing new."""

from lab_load.answer import Answer
from lab_workload.load import SAME_FAILURE_REQUESTS_MIN


class SameFailure:
    """Watches the requests of one process, which are numbered from 1 in the order of their start.

    The first requests must have failed, not only the first answers: a node that is busy with the first requests may
    reject later ones immediately, and still work correctly.
    """

    def __init__(self) -> None:
        self._first_ended = 0
        self._kind: str | None = None
        self._differs = False

    def note(self, ordinal: int, failure: Answer | None) -> None:
        """Record that a request has ended. ``failure`` is its answer if it is an error, otherwise None."""
        if self._differs:
            return
        found = failure.kind if failure else None
        self._differs = found is None or self._kind not in (None, found)
        self._kind = found
        self._first_ended += ordinal <= SAME_FAILURE_REQUESTS_MIN

    @property
    def kind(self) -> str | None:
        """How all requests have failed; None if they have not, or if it is too early to know."""
        is_known = not self._differs and self._first_ended >= SAME_FAILURE_REQUESTS_MIN
        return self._kind if is_known else None
