"""Whether every request of a run has failed in the same way, so that more of them would show nothing."""

from lab_load.answer import Answer
from lab_workload.load import SAME_FAILURE_REQUESTS_MIN


class SameFailure:
    """Watches the requests of one process, numbered from 1 in the order of their start.

    Its first requests must all have failed, not the first answers: a node that is busy with those that it took refuses the
    later ones at once, and does well.
    """

    def __init__(self) -> None:
        self._first_ended = 0
        self._kind: str | None = None
        self._differs = False

    def note(self, ordinal: int, failure: Answer | None) -> None:
        """A request has ended: with an answer that is an error, or as its workload wants (None)."""
        if self._differs:
            return
        found = failure.kind if failure else None
        self._differs = found is None or self._kind not in (None, found)
        self._kind = found
        self._first_ended += ordinal <= SAME_FAILURE_REQUESTS_MIN

    @property
    def kind(self) -> str | None:
        """How all have failed; None while that is not so, or not known yet."""
        is_known = not self._differs and self._first_ended >= SAME_FAILURE_REQUESTS_MIN
        return self._kind if is_known else None
