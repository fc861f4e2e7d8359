"""The file of ``lab bench overload``: every measurement, and everything on which it depends, as models."""

from corda_lab.bench.rounds import RoundsBench, WindowMeasurement
from corda_lab.bench.shares import CpuShares


class LevelMeasurement(WindowMeasurement):
    """Closed load with one number of flows outstanding, once. Round 0 is the search for the knee."""

    users: int
    """Flows outstanding."""
    flows_per_second: float = 0.0


class OverloadMeasurement(WindowMeasurement):
    """Open load at a multiple of the peak, with one limit, once. All rates are per second of the window.

    ``latency`` is that of the flows that count as goodput, from the start of the request.
    """

    multiple: int
    """The offered rate ÷ the peak."""
    limit: int | None
    """The largest number of outstanding flows that the bridge admits; None if it admits all."""
    rate: float
    """Arrivals per second that the schedule has."""
    goodput: float = 0.0
    """Flows that completed within the time limit of their callers."""
    rejected: float = 0.0
    """Starts that the bridge rejected at once (HTTP 429)."""
    late: float = 0.0
    """Requests that were not answered within the time limit, and answers that came after it."""
    failed: float = 0.0
    """Requests that ended in any other way."""
    dropped: float = 0.0
    """Arrivals that the generator did not send, because every place of its pool was taken."""
    drain_seconds: float | None = None
    """Time from the end of the load until no flow was in flight; None if flows were left at the time limit."""
    shares: CpuShares = CpuShares()


class OverloadBench(RoundsBench):
    """The content of the file."""

    levels: tuple[int, ...]
    """The numbers of outstanding flows of the search for the knee."""
    multiples: tuple[int, ...]
    limits: tuple[int | None, ...]
    time_limit_seconds: float
    """How long a caller waits for its flow."""
    searched: tuple[LevelMeasurement, ...] = ()
    """The search for the knee, and the peak of every round."""
    measurements: tuple[OverloadMeasurement, ...] = ()

    def of(self, multiple: int, limit: int | None) -> tuple[OverloadMeasurement, ...]:
        """The measurements of one multiple with one limit that did not fail."""
        return tuple(
            each
            for each in self.measurements
            if (each.multiple, each.limit) == (multiple, limit) and each.problem is None
        )
