"""What the files of benches have in common that measure loads in turns, round by round."""

from collections.abc import Iterable
from typing import TypeVar

from corda_lab.bench.file import BenchFile, BenchPart
from corda_lab.bench.latency import Latency


class WindowMeasurement(BenchPart):
    """One load, once. All values are those of its window, except ``problem``."""

    round: int
    window_started_at: float | None = None
    """In Unix seconds. None if the load did not begin."""
    window_seconds: float
    latency: Latency | None = None
    """None if no flow returned."""
    problem: str | None = None
    """Why this measurement does not count: what failed. None if nothing did."""


class FlowsMeasurement(WindowMeasurement):
    """Closed load with one number of flows in flight, once."""

    users: int
    """Flows in flight."""
    flows: int = 0
    """Flows that returned in the window."""
    flows_per_second: float = 0.0


M = TypeVar("M", bound=WindowMeasurement)


class RoundsBench(BenchFile):
    """What was measured, how often and for how long."""

    workload: str
    flow: str
    node: str
    seed: int
    rounds: int
    warm_up_seconds: float
    duration_seconds: float

    def following(self, measurements: Iterable[M]) -> tuple[M, ...]:
        """Return the measurements of another file, with numbers of rounds that follow those of this one."""
        return tuple(each.model_copy(update={"round": each.round + self.rounds}) for each in measurements)
