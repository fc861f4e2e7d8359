"""The CPU time that each part of the lab used in a window: nodes, bridge, generator, and the whole machine."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from corda_lab.bench.file import BenchPart
from corda_lab.bench.usage import Readings, recorded
from corda_lab.lab.compose import Compose
from corda_lab.runs.sampling import Timeline
from corda_lab.steps.rows import Window

INTERVAL_SECONDS = 0.5


class CpuShares(BenchPart):
    """The mean number of cores that were busy in a window. None if it is unknown."""

    nodes: float | None = None
    bridge: float | None = None
    generator: float | None = None
    """What drives the load: Locust, or the direct RPC client."""
    machine: float | None = None
    """All of it, with everything else that ran on this machine, and what the hypervisor gave to other VMs."""
    cores: int | None = None
    """The number of cores of the machine."""

    @property
    def busy_share(self) -> float | None:
        """The share of the machine's CPU time that was not idle."""
        return None if self.machine is None or not self.cores else self.machine / self.cores

    @property
    def nodes_percent(self) -> float | None:
        """The part of the machine's CPU time that the nodes used."""
        return None if self.nodes is None or not self.cores else 100 * self.nodes / self.cores


def container_names(compose: Compose) -> tuple[list[str], str]:
    """Return the containers of all nodes, and that of the bridge."""
    by_service = {service.name: service.container.name for service in compose.services()}
    nodes = [by_service[node.lower()] for node in compose.settings.nodes if node.lower() in by_service]
    return nodes, by_service["bridge"]


class Watch:
    """The readings of a load."""

    def __init__(self, nodes: Readings, bridge: Readings, timeline: Timeline) -> None:
        self._nodes, self._bridge, self._timeline = nodes, bridge, timeline

    def within(self, window: Window, *, generator_cpu_seconds: float | None) -> CpuShares:
        """Return the shares in a window. Containers that drive the load are read by whoever starts them."""
        machine = self._timeline.machine_use(window)
        busy, cores = machine.busy_percent, machine.cores
        return CpuShares(
            nodes=_cores(self._nodes.within(window).cpu_seconds, window),
            bridge=_cores(self._bridge.within(window).cpu_seconds, window),
            generator=_cores(generator_cpu_seconds, window),
            machine=None if busy is None or cores is None else busy / 100 * cores,
            cores=cores,
        )


def _cores(cpu_seconds: float | None, window: Window) -> float | None:
    return None if cpu_seconds is None else cpu_seconds / window.seconds


@contextmanager
def watched(compose: Compose) -> Iterator[Watch]:
    """Read the CPU time of nodes, bridge and machine during the block."""
    nodes, bridge = container_names(compose)
    timeline, done = Timeline(), threading.Event()

    def note() -> None:
        while not done.wait(INTERVAL_SECONDS):
            timeline.note()

    thread = threading.Thread(target=note, daemon=True)
    with recorded(nodes) as of_nodes, recorded([bridge]) as of_bridge:
        thread.start()
        try:
            yield Watch(of_nodes, of_bridge, timeline)
        finally:
            done.set()
            thread.join()
