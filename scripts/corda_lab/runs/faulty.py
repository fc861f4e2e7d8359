"""A load with faults: makes them, stores what became of them, and brings the lab back to where it can be counted."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from bare.commands import come_true
from corda_lab.errors import LabError
from corda_lab.faults import inject
from corda_lab.faults.inject import Injection
from corda_lab.faults.model import FaultEntries
from corda_lab.lab.docker import Container
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import BOOTSTRAP, GRAFANA
from corda_lab.runs import counters, node_metrics
from corda_lab.runs.recording import Recording
from corda_lab.text import ui
from corda_lab.text.words import listed
from lab_workload.plan import Plan

FAULTS = "faults.json"
"""In the evidence of a load."""
BACK_SECONDS = 120.0
"""How long all parts of the lab may take to be ready after the last fault is healed, before nodes are started again."""
BACK_SECONDS_MAX = 300.0
"""How long they may take after that."""
REST_SECONDS_MAX = 90.0
"""How long flows may stay in flight before their nodes are started again. A node retries what a fault has interrupted,
but some of it only after its own restart: flows that lost their database are parked until then."""
POLL_SECONDS = 1.0


@dataclass(frozen=True)
class Settled:
    """The nodes that were started again until the lab came to rest after faults, and whether it did."""

    restarted: tuple[str, ...] = ()
    is_at_rest: bool = True


@contextmanager
def injecting(lab: Lab, plan: Plan, generator: Container, recording: Recording) -> Iterator[Injection]:
    """Make the faults of a load while the block runs, and store them with its evidence, however the block ends."""
    planned = plan.load.faults

    def note(injection: Injection) -> None:
        recording.note(FAULTS, FaultEntries, FaultEntries(injection.entries))

    if planned:
        note(Injection(lab, planned, generator))
    with inject.injecting(lab, planned, generator) as injection:
        try:
            yield injection
        finally:
            if planned:
                # What was made by now. The rest is healed after the block.
                injection.end()
                note(injection)
    for entry in injection.entries:
        if entry.problem:
            ui.warn(f"{entry.name}: {entry.problem}")


def settle(lab: Lab) -> Settled:
    """Wait until all parts of the lab are ready again and no flow is in flight.

    What has ended is started again. If flows stay in flight, their nodes are started again too, once. Raises LabError
    if a part does not become ready.
    """
    stuck: list[str] = []
    try:
        await_back(lab, BACK_SECONDS)
    except LabError:
        stuck = nodes_away(lab)
        if stuck:
            ui.note(f"{listed(stuck)} did not come back: started again, as an operator would")
        restart(lab, stuck)
    is_at_rest = _await_rest(lab)
    if not is_at_rest:
        parked = nodes_in_flight(lab)
        ui.note(f"flows stay in flight on {listed(parked)}: started again, as an operator would")
        restart(lab, parked)
        stuck = sorted({*stuck, *parked})
        is_at_rest = _await_rest(lab)
    return Settled(tuple(stuck), is_at_rest)


def _await_rest(lab: Lab) -> bool:
    return come_true(lambda: not counters.awaited(lab), seconds_max=REST_SECONDS_MAX)


def await_back(lab: Lab, seconds_max: float) -> None:
    """Wait until every service is healthy, and every node answers the bridge and tells its metrics.

    What has ended is started again. Raises LabError after ``seconds_max``.
    """
    deadline = time.monotonic() + seconds_max
    while time.monotonic() < deadline:
        with suppress(LabError):
            is_healthy = revive(lab)
            if is_healthy and lab.bridge.is_ready() and node_metrics.read(lab).keys() >= lab.bridge.nodes().keys():
                return
        time.sleep(POLL_SECONDS)
    raise LabError(
        f"The lab was not back {seconds_max:.0f} s after its last fault was healed",
        f"`scripts/lab status` shows what is missing, and `{lab.logs_command()}` of it why.",
        exit_code=1,
    )


def revive(lab: Lab) -> bool:
    """Start what has ended of the lab, and return whether all of it is healthy."""
    needed = {*lab.settings.services} - {BOOTSTRAP, GRAFANA}
    services = [service for service in lab.services() if service.name in needed]
    for service in services:
        if service.state in ("exited", "dead"):
            ui.note(f"{service.name} had ended with exit status {service.exit_code}: started again")
            with suppress(LabError):
                lab.start_again(service)
    # While Swarm replaces a container, there may be none.
    is_whole = lab.is_here or {service.name for service in services} == needed
    return is_whole and all(service.is_ready for service in services)


def nodes_in_flight(lab: Lab) -> list[str]:
    """The nodes with flows in flight, as the bridge or the nodes themselves say."""
    nodes = {node.name for node in lab.bridge.nodes().values() if node.outstanding_flows}
    nodes |= {node for node, count in node_metrics.in_flight(node_metrics.read(lab)).items() if count}
    return sorted(nodes)


def nodes_away(lab: Lab) -> list[str]:
    """The nodes that do not answer the bridge; all if the bridge does not say."""
    with suppress(LabError):
        return sorted(node.name for node in lab.bridge.nodes().values() if not node.is_ready)
    return sorted(lab.settings.nodes)


def restart(lab: Lab, nodes: Sequence[str]) -> None:
    """Let nodes end as they should, start them again, and wait until the lab is back. Raises LabError."""
    for service in lab.services():
        if service.name in {node.lower() for node in nodes}:
            lab.restart(service)
    await_back(lab, BACK_SECONDS_MAX)
