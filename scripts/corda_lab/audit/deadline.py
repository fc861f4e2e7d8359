"""The time that an audit may take for reading."""

import time


class Deadline:
    """The time by which reading has to end."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until then, never less than zero."""
        return max(0.0, self._ends - time.monotonic())
