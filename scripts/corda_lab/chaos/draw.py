"""Draws the faults of a trial from a seed, among those that a lab can have."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from corda_lab.errors import LabError, chosen
from corda_lab.faults.model import (
    BRIDGE,
    KINDS,
    LINK_KINDS,
    POSTGRES,
    PROMETHEUS,
    WITHOUT_DISK,
    known_targets,
    links_of,
)
from corda_lab.lab.settings import Settings
from lab_workload.faults import ENDING_KINDS, GENERATOR, Fault, FaultKind
from lab_workload.load import Load
from lab_workload.names import canonical, did_you_mean, names_in

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
WARM_UP_SECONDS = 2.0
NAME = "chaos"


@dataclass(frozen=True)
class Choice:
    """A fault that may be drawn, and how often in comparison with others."""

    kind: FaultKind
    target: str
    weight: float = 1.0


def choices_of(settings: Settings, kinds: str = "", targets: str = "") -> list[Choice]:
    """The faults that may be drawn on a lab. Without kinds and targets, they are all that it can have.

    Raises LabError if a name is unknown, or if there are none.
    """
    known = known_targets(settings.nodes, settings.values.get("DATABASE", ""))
    links = links_of(settings.values.get("LINKS", ""))
    asked = {chosen("--kinds: there is no fault", name, KINDS) for name in names_in(kinds)}
    only = [name.lower() for name in names_in(targets)]
    for name in only:
        if canonical(name, [*known, *links]) is None and any(end not in known for end in name.split("-")):
            hint = did_you_mean(name, [*known, *links])
            raise LabError(f"--targets: the lab has no {name!r}{hint}", f"Choose from {', '.join(known)}.")
    choices = choices_among(known, links, [kind for kind in KINDS if kind in asked or not asked], only)
    if not choices:
        raise LabError(
            f"--targets: {targets} can have none of the faults {kinds or 'there are'}",
            "Leave out --kinds or --targets. Links need a lab that has some: lab up --link partya-partyb=+1ms.",
        )
    return choices


def choices_among(
    targets: Sequence[str], links: Sequence[str], kinds: Sequence[FaultKind] = KINDS, only: Sequence[str] = ()
) -> list[Choice]:
    """All faults that a lab with these targets and links can have, of these kinds and at only these targets if given.

    Partitions are between one part and all others, and between two nodes.
    """
    nodes = [target for target in targets if target not in (POSTGRES, BRIDGE, GENERATOR, PROMETHEUS)]
    pairs = [f"{node}-{other}" for place, node in enumerate(nodes) for other in nodes[place + 1 :]]
    pairs += [f"{node}-{POSTGRES}" for node in nodes if POSTGRES in targets]
    choices = []
    for kind in kinds:
        places = [*links] if kind in LINK_KINDS else [*targets]
        if kind == "partition":
            places += pairs
        elif kind == "full-disk":
            places = [target for target in targets if target not in WITHOUT_DISK]
        for place in places:
            if not only or place in only or set(place.split("-")) <= set(only):
                choices.append(Choice(kind, place, _kill_weight(place, nodes) if kind == "kill" else 1.0))
    return choices


def _kill_weight(target: str, nodes: Sequence[str]) -> float:
    if target in (GENERATOR, PROMETHEUS):
        return 1.0
    alike = [node for node in nodes if node.startswith(PARTY) == target.startswith(PARTY)]
    return KILL_WEIGHT / len(alike) if target in nodes else KILL_WEIGHT


def drawn(seed: int, count: int, among: Sequence[Choice]) -> tuple[Fault, ...]:
    """Draw ``count`` faults one after another. One that ends the load can only be the last. There is one at least.

    Times are in tenths of a second.
    """
    chance = random.Random(f"faults/{seed}")
    at, faults = chance.uniform(*FIRST_SECONDS), list[Fault]()
    for number in range(count):
        is_last = number == count - 1
        open_to = [choice for choice in among if is_last or not _ends_load(choice)]
        if not open_to:
            break
        (choice,) = chance.choices(open_to, weights=[choice.weight for choice in open_to])
        seconds = round(chance.uniform(*LENGTH_SECONDS[choice.kind]), 1)
        faults.append(Fault(kind=choice.kind, target=choice.target, at_seconds=round(at, 1), for_seconds=seconds))
        at += seconds + chance.uniform(*GAP_SECONDS)
    return tuple(faults)


def _ends_load(choice: Choice) -> bool:
    return choice.target == GENERATOR and choice.kind in ENDING_KINDS


def with_faults(load: Load, seed: int, count: int, among: Sequence[Choice]) -> Load:
    """A load with the faults that a seed draws, long enough to recover from them."""
    faults = drawn(seed, count, among)
    seconds = int(max((fault.at_seconds + fault.for_seconds for fault in faults), default=0.0) + REST_SECONDS) + 1
    return load.updated(
        seed=seed,
        name=NAME,
        warm_up_seconds=WARM_UP_SECONDS,
        duration_seconds=seconds - WARM_UP_SECONDS,
        faults=faults,
    )
