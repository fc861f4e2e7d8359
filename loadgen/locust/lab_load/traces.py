"""Which requests are traced, and the W3C trace context with which each says so to the bridge and the nodes."""

import random
from dataclasses import dataclass
from uuid import uuid4

from lab_workload.load import Load
from lab_workload.prepared import Share


@dataclass(frozen=True, slots=True)
class Trace:
    """The trace of one request."""

    id: str
    """32 hexadecimal digits, not all zero."""
    is_sampled: bool
    """Whether its spans are kept."""

    @property
    def header(self) -> str:
        """The header ``traceparent``. The span of the request has the last 16 digits of the trace's id."""
        return f"00-{self.id}-{self.id[16:]}-{'01' if self.is_sampled else '00'}"


class Traces:
    """Draws one request in ``trace_every`` at random, so that no rhythm of the load is in what is traced."""

    def __init__(self, load: Load, share: Share) -> None:
        self._every = load.trace_every
        self._random = random.Random(f"traces/{load.seed}/{share.worker}")

    def next(self) -> Trace:
        return Trace(uuid4().hex, self._every > 0 and self._random.randrange(self._every) == 0)
