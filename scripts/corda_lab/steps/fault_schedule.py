"""Draws the faults of a load at random, from a seed. The same seed and choices always give the same faults."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from corda_lab.steps.faults import (
    BRIDGE,
    GENERATOR,
    KINDS,
    LINK_KINDS,
    POSTGRES,
    PROMETHEUS,
    Fault,
    FaultKind,
    ends_load,
)

FIRST_SECONDS = (12.0, 18.0)
"""When the first fault begins: after some flows, so that there is a throughput to fall back to. The generator also ends
a load of which nothing has succeeded."""
GAP_SECONDS = (25.0, 35.0)
"""Time from the end of a fault to the begin of the next. A node is back some twenty seconds after its start."""
REST_SECONDS = 30.0
"""Time from the end of the last fault to the end of the load."""
LENGTH_SECONDS: dict[FaultKind, tuple[float, float]] = {
    "kill": (0.0, 6.0),
    "pause": (2.0, 15.0),
    "restart": (0.0, 6.0),
    "partition": (5.0, 20.0),
    "slow-link": (5.0, 20.0),
    "reset-link": (2.0, 10.0),
    "full-disk": (2.0, 8.0),
    "memory-limit": (5.0, 15.0),
}
"""How long a fault of each kind lasts: of kill and restart, how long the process is away."""
PARTY = "party"
"""The prefix of the parties' names. All other nodes are the notary's."""
KILL_WEIGHT = 10.0
"""How much more often than any other fault a kill of the notary, of a party, of PostgreSQL or of the bridge is drawn.
The parties share theirs."""


@dataclass(frozen=True)
class Choice:
    """A fault that may be drawn, and how often in comparison with others."""

    kind: FaultKind
    target: str
    weight: float = 1.0


def choices(
    targets: Sequence[str], links: Sequence[str], kinds: Sequence[FaultKind] = KINDS, only: Sequence[str] = ()
) -> list[Choice]:
    """All faults that a lab with these targets and links can have, of these kinds and at only these targets if given.

    Partitions are between one part and all others, and between two nodes.
    """
    nodes = [one for one in targets if one not in (POSTGRES, BRIDGE, GENERATOR, PROMETHEUS)]
    pairs = [f"{one}-{other}" for place, one in enumerate(nodes) for other in nodes[place + 1 :]]
    pairs += [f"{node}-{POSTGRES}" for node in nodes if POSTGRES in targets]
    found = []
    for kind in kinds:
        if kind in LINK_KINDS:
            places = list(links)
        elif kind == "partition":
            places = [*targets, *pairs]
        elif kind == "full-disk":
            places = [*nodes, *(one for one in targets if one in (POSTGRES, PROMETHEUS))]
        else:
            places = list(targets)
        for place in places:
            if only and not set(place.split("-")) <= set(only) and place not in only:
                continue
            found.append(Choice(kind, place, _kill_weight(place, nodes) if kind == "kill" else 1.0))
    return found


def _kill_weight(target: str, nodes: Sequence[str]) -> float:
    if target in (GENERATOR, PROMETHEUS):
        return 1.0
    alike = [node for node in nodes if node.startswith(PARTY) == target.startswith(PARTY)]
    return KILL_WEIGHT / len(alike) if target in nodes else KILL_WEIGHT


def drawn(seed: int, count: int, among: Sequence[Choice]) -> tuple[Fault, ...]:
    """Draw ``count`` faults one after another. One that ends the load can only be the last. Raises ValueError if empty.

    Times are in tenths of a second.
    """
    if not among:
        raise ValueError("there is no fault to choose from")
    chance = random.Random(f"faults/{seed}")
    at, found = chance.uniform(*FIRST_SECONDS), []
    for number in range(count):
        is_last = number == count - 1
        open_to = [one for one in among if is_last or not ends_load(one.kind, one.target)]
        if not open_to:
            break
        (one,) = chance.choices(open_to, weights=[choice.weight for choice in open_to])
        seconds = round(chance.uniform(*LENGTH_SECONDS[one.kind]), 1)
        found.append(Fault(kind=one.kind, target=one.target, at_seconds=round(at, 1), for_seconds=seconds))
        at += seconds + chance.uniform(*GAP_SECONDS)
    return tuple(found)


def load_seconds(faults: Sequence[Fault]) -> int:
    """The length of a load in which there is time to recover from the last fault, in whole seconds."""
    return int(max((one.at_seconds + one.for_seconds for one in faults), default=0.0) + REST_SECONDS) + 1
