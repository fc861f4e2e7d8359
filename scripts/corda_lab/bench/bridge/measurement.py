"""The file of ``lab bench bridge``: every measurement, and everything on which it depends, as models."""

from typing import Literal

from corda_lab.bench.file import BenchFile, BenchPart
from corda_lab.bench.latency import Latency
from corda_lab.bench.shares import CpuShares

Side = Literal["direct", "lab"]
"""A direct RPC client; Locust and the bridge."""


class GridMeasurement(BenchPart):
    """One side with one number of flows in flight, once."""

    side: Side
    users: int
    """Flows in flight."""
    connections: int
    """RPC connections of the side to each node."""
    round: int
    window_started_at: float | None = None
    """In Unix seconds. None if the load did not begin."""
    window_seconds: float
    flows: int = 0
    """Flows that returned in the window."""
    flows_per_second: float = 0.0
    latency: Latency | None = None
    """None if no flow returned."""
    shares: CpuShares = CpuShares()
    problem: str | None = None
    """Why this measurement does not count: what failed. None if nothing did."""


class BridgeBench(BenchFile):
    """The content of the file."""

    workload: str
    flow: str
    node: str
    arguments: str
    """Arguments of the direct client, as JSON. The lab renders those of each flow from the workload."""
    seed: int
    users: tuple[int, ...]
    connections: tuple[int, ...]
    rounds: int
    warm_up_seconds: float
    duration_seconds: float
    measurements: tuple[GridMeasurement, ...] = ()

    def of(self, side: Side, users: int, connections: int) -> dict[int, GridMeasurement]:
        """The measurements of a side at one place of the grid that did not fail, by round."""
        return {
            each.round: each
            for each in self.measurements
            if (each.side, each.users, each.connections) == (side, users, connections) and each.problem is None
        }
