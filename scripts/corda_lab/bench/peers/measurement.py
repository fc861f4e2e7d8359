"""The file of ``lab bench peers``, as models."""

from typing import Literal, Self

from corda_lab.bench.rounds import FlowsMeasurement, RoundsBench

Peer = Literal["direct", "jmeter", "lab"]
"""A direct RPC client; Apache JMeter with a connection per thread; Locust and the bridge."""

PEERS: tuple[Peer, ...] = ("direct", "jmeter", "lab")

PEER_NAMES: dict[Peer, str] = {"direct": "direct RPC client", "jmeter": "JMeter", "lab": "Locust + bridge"}


class Measurement(FlowsMeasurement):
    """One peer under one load, once."""

    peer: Peer
    cpu_seconds: float | None = None
    """CPU time of the peer's containers; None if it is unknown."""
    memory_bytes_max: int | None = None
    """The largest memory of the peer's processes at one moment, without the page cache; None if it is unknown."""
    bridge_cpu_seconds: float | None = None
    """Of the lab: the bridge's part of ``cpu_seconds``."""
    bridge_memory_bytes_max: int | None = None
    """Of the lab: the largest memory of the bridge alone."""

    @property
    def cpu_ms_per_flow(self) -> float | None:
        """CPU time in milliseconds per flow, which is also CPU-seconds per 1,000 flows."""
        return None if self.cpu_seconds is None or not self.flows else 1000 * self.cpu_seconds / self.flows

    @property
    def bridge_cpu_ms_per_flow(self) -> float | None:
        """The bridge's part of ``cpu_ms_per_flow``."""
        return (
            None if self.bridge_cpu_seconds is None or not self.flows else 1000 * self.bridge_cpu_seconds / self.flows
        )

    @property
    def memory_mb_per_1000_flows(self) -> float | None:
        """The largest memory in MB, per 1,000 flows of the window."""
        if self.memory_bytes_max is None or not self.flows:
            return None
        return self.memory_bytes_max / 1e6 / (self.flows / 1000)


class PeersBench(RoundsBench):
    """The content of the file ``<utc>-peers.json``."""

    arguments: str
    """Arguments of the direct client and of JMeter, as JSON. The lab renders those of each flow from the workload."""
    users: tuple[int, ...]
    jmeter_image: str
    """Id of the image that JMeter ran in."""
    measurements: tuple[Measurement, ...] = ()

    def of(self, peer: Peer, users: int) -> tuple[Measurement, ...]:
        """The measurements of a peer under one load, by round."""
        return tuple(each for each in self.measurements if each.peer == peer and each.users == users)

    def joined_with(self, other: Self) -> Self:
        """Return this file with the rounds of the other, which follow its own."""
        measured = (*self.measurements, *self.following(other.measurements))
        return self.model_copy(update={"rounds": self.rounds + other.rounds, "measurements": measured})
