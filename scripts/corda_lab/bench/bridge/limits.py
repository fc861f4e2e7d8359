"""The ratio of the lab to the direct client at each place of the grid, and what limits the lab there, in words."""

import statistics
from collections.abc import Callable

from corda_lab.bench.bridge.measurement import BridgeBench, GridMeasurement, Side
from corda_lab.bench.peers.compare import Estimate
from corda_lab.stats.difference import paired

SATURATED_SHARE_MIN = 0.9
"""Share of the machine's CPU time from which the machine is saturated."""

GENERATOR_CORES_MAX = 0.9
"""Cores from which a generator of one process is saturated."""

RATIO_WANTED = 0.95
"""Throughput of the lab ÷ direct client's from which the nodes are the only limit."""


def mean_of(
    bench: BridgeBench, side: Side, users: int, connections: int, value: Callable[[GridMeasurement], float | None]
) -> float | None:
    """Return the mean of a value over the rounds; None if no round has it."""
    found = [value(each) for each in bench.of(side, users, connections).values()]
    known = [each for each in found if each is not None]
    return statistics.fmean(known) if known else None


def ratio(bench: BridgeBench, users: int, connections: int) -> Estimate | None:
    """Return the geometric mean of the lab's flows/s ÷ direct client's, paired by round. None without a pair.

    The direct client has as many connections.
    """
    theirs, ours = (
        {
            number: each.flows_per_second
            for number, each in bench.of(side, users, connections).items()
            if each.flows_per_second > 0
        }
        for side in ("direct", "lab")
    )
    if not theirs.keys() & ours.keys():
        return None
    found = paired(theirs, ours, higher_is="faster")
    return Estimate(found.ratio, found.low, found.high, found.n_a)


def limit(bench: BridgeBench, users: int, connections: int) -> str:
    """Return what limits the lab: ``CPU of the machine (nodes 78 %, bridge 9 %, generator 8 %)``, for example."""
    machine = mean_of(bench, "lab", users, connections, lambda each: each.shares.busy_share)
    generator = mean_of(bench, "lab", users, connections, lambda each: each.shares.generator)
    if machine is None or generator is None:
        return "unknown: CPU time cannot be read here"
    if machine >= SATURATED_SHARE_MIN:
        return f"CPU of the machine ({shares_in_words(bench, users, connections)})"
    if generator >= GENERATOR_CORES_MAX:
        return "the generator, whose only process is saturated"
    found = ratio(bench, users, connections)
    if users == 1:
        return "the duration of one flow"
    if found is not None and found.high is not None and found.high < RATIO_WANTED:
        return "the bridge or the generator: the direct client is faster, and CPU is left"
    return "the nodes, without their CPU: the direct client is no faster, and CPU is left"


def shares_in_words(bench: BridgeBench, users: int, connections: int) -> str:
    """Return the share of each part in the machine's CPU time: ``nodes 78 %, bridge 9 %, generator 8 %``."""
    cores = next((each.shares.cores for each in bench.measurements if each.shares.cores), None)
    parts: dict[str, Callable[[GridMeasurement], float | None]] = {
        "nodes": lambda each: each.shares.nodes,
        "bridge": lambda each: each.shares.bridge,
        "generator": lambda each: each.shares.generator,
    }
    means = {name: mean_of(bench, "lab", users, connections, value) for name, value in parts.items()}
    return ", ".join(
        f"{name} {'–' if value is None or not cores else f'{100 * value / cores:.0f} %'}"
        for name, value in means.items()
    )
