"""The file of ``lab bench bridge``: every measurement, and everything on which it depends, as models."""

from typing import Literal, Self

from corda_lab.bench.rounds import FlowsMeasurement, RoundsBench
from corda_lab.bench.shares import CpuShares

Side = Literal["direct", "lab"]
"""A direct RPC client; Locust and the bridge."""


class GridMeasurement(FlowsMeasurement):
    """One side with one number of flows in flight, once."""

    side: Side
    connections: int
    """RPC connections of the side to each node."""
    shares: CpuShares = CpuShares()


class BridgeBench(RoundsBench):
    """The content of the file."""

    arguments: str
    """Arguments of the direct client, as JSON. The lab renders those of each flow from the workload."""
    users: tuple[int, ...]
    connections: tuple[int, ...]
    measurements: tuple[GridMeasurement, ...] = ()

    def of(self, side: Side, users: int, connections: int) -> dict[int, GridMeasurement]:
        """The measurements of a side at one place of the grid that did not fail, by round."""
        return {
            each.round: each
            for each in self.measurements
            if (each.side, each.users, each.connections) == (side, users, connections) and each.problem is None
        }

    def joined_with(self, other: Self) -> Self:
        """Return this file with the rounds of the other, which follow its own."""
        measured = (*self.measurements, *self.following(other.measurements))
        return self.model_copy(update={"rounds": self.rounds + other.rounds, "measurements": measured})
