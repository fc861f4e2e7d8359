"""Faults: what is done to a part of the lab during a load, and when. ``docs/chaos.md`` describes each kind."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from corda_lab.text.durations import format_duration
from lab_workload.names import canonical, did_you_mean
from lab_workload.problems import Location, Problem

FaultKind = Literal["kill", "pause", "restart", "partition", "slow-link", "reset-link", "full-disk", "memory-limit"]
"""What is done.

kill: SIGKILL, and a start afterwards. pause: frozen, and thawed afterwards. restart: SIGTERM, and a start afterwards.
partition: packets to every other part, or to one, are lost. slow-link: latency and a bandwidth limit between two nodes,
or a node and PostgreSQL. reset-link: connections there are reset. full-disk: no file can be written. memory-limit: no
more memory than is in use.
"""

KINDS: tuple[FaultKind, ...] = get_args(FaultKind)

GENERATOR = "generator"
"""The target whose container generates the load. If it ends, so does the load."""
POSTGRES = "postgres"
BRIDGE = "bridge"
PROMETHEUS = "prometheus"
LINK_KINDS: tuple[FaultKind, ...] = ("slow-link", "reset-link")
"""Kinds whose target is a link of the lab: two nodes, or a node and PostgreSQL."""
ENDING_KINDS: tuple[FaultKind, ...] = ("kill", "restart", "memory-limit")
"""Kinds that end the process of their target, or may."""
HOST_KINDS: tuple[FaultKind, ...] = ("partition", "kill", "restart")
"""Kinds that a whole host can have, if the lab runs on several. A host is restarted as its operator would do it: it is
drained, and takes services again afterwards."""

FAULTS_MAX = 200
PARAMETERS: Mapping[FaultKind, Mapping[str, tuple[float, float, float]]] = {
    "slow-link": {
        "latency_ms": (300.0, 0.0, 60_000.0),
        "jitter_ms": (0.0, 0.0, 60_000.0),
        "kilobytes_per_second": (0.0, 0.0, 1_000_000.0),
    },
    "reset-link": {"after_ms": (0.0, 0.0, 60_000.0)},
    "memory-limit": {"megabytes": (0.0, 0.0, 1_000_000.0)},
}
"""The parameters of a kind: default, least and most. 0 is no limit of bandwidth, or the memory that is in use."""


class Part(BaseModel):
    """Base of what is stored of faults: immutable, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Fault(Part):
    """One fault. ``at_seconds`` counts from the begin of the load. After ``for_seconds``, it is healed."""

    kind: FaultKind
    target: str
    """A service, such as ``partya`` or ``bridge``; ``generator``; or two ends, such as ``partya-partyb``."""
    at_seconds: float
    for_seconds: float
    parameters: dict[str, float] = Field(default_factory=dict)
    """Those that are given. ``parameter`` has the others."""

    @property
    def ends(self) -> tuple[str, ...]:
        """The target, or the two ends of a link or of a partition between two."""
        return tuple(self.target.split("-"))

    @property
    def name(self) -> str:
        """``kill bridge``."""
        return f"{self.kind} {self.target}"

    @property
    def ends_load(self) -> bool:
        return ends_load(self.kind, self.target)

    def parameter(self, name: str) -> float:
        return self.parameters.get(name, PARAMETERS[self.kind][name][0])

    def words(self) -> str:
        """``kill bridge at 10s for 5s``, with the parameters that are given."""
        given = "".join(f", {name} {value:g}" for name, value in self.parameters.items())
        return f"{self.name} at {format_duration(self.at_seconds)} for {format_duration(self.for_seconds)}{given}"


class FaultEntry(Fault):
    """A fault, and what became of it. Times are in unix seconds, and None if it did not come to that."""

    began_at: float | None = None
    healed_at: float | None = None
    """When what it had changed was as before. A process that was started again may not be ready yet."""
    problem: str | None = None
    """Why it could not be made or healed, or why the load had ended before."""
    is_left: bool = False
    """Whether it could not be healed. One that could not be made either may be there in part."""
    before_per_second: float | None = None
    """Flows per second before it; None if the load was too short to tell."""
    recovery_seconds: float | None = None
    """Time from its begin until throughput was back; None if that was not seen before the load ended."""
    lost_flows: float | None = None
    """Flows that would have been completed meanwhile, and were not."""

    @property
    def was_made(self) -> bool:
        return self.began_at is not None

    @property
    def fault(self) -> Fault:
        return Fault(**{name: getattr(self, name) for name in Fault.model_fields})


def ends_load(kind: FaultKind, target: str) -> bool:
    return target == GENERATOR and kind in ENDING_KINDS


def known_targets(nodes: Sequence[str], database: str) -> list[str]:
    """The parts of a lab that faults can have as a target. ``nodes`` are the names of its nodes."""
    own = [node.lower() for node in nodes]
    return [*own, *([POSTGRES] if database == POSTGRES else []), BRIDGE, GENERATOR, PROMETHEUS]


def normalised(fault: Fault) -> Fault:
    return fault.model_copy(update={"target": fault.target.lower()})


def problems(faults: Sequence[Fault], targets: Sequence[str], links: Sequence[str]) -> list[Problem]:
    """What is wrong with the faults of a load on a lab with these targets and links, such as ``partya-partyb``."""
    found = []
    if len(faults) > FAULTS_MAX:
        found.append(Problem(f"has {len(faults)} faults, more than {FAULTS_MAX}", ("faults",)))
    for place, fault in enumerate(faults):
        where: Location = ("faults", place)
        found += [Problem(text, (*where, field), remedy) for field, text, remedy in _wrong(fault, targets, links)]
        found += [
            Problem(f"{fault.name} begins while {other.name} lasts", (*where, "at"), "One target has one at a time.")
            for other in faults[:place]
            if _meet(fault, other)
        ]
    return found


def _meet(one: Fault, other: Fault) -> bool:
    together = one.at_seconds < other.at_seconds + other.for_seconds and other.at_seconds < (
        one.at_seconds + one.for_seconds
    )
    return together and bool(set(one.ends) & set(other.ends))


def _wrong(fault: Fault, targets: Sequence[str], links: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """The field, the problem and the remedy of everything that is wrong with one fault."""
    pairs = {"-".join(sorted(link.split("-"))) for link in links}
    # The name of a host may have a hyphen.
    ends = (fault.target,) if fault.target in targets else fault.ends
    if fault.kind in LINK_KINDS:
        if "-".join(sorted(ends)) not in pairs:
            has = f"it has {', '.join(links)}" if links else "it has none"
            remedy = f"Start it with --link {fault.target}=+1ms, or choose another."
            yield "target", f"{fault.target!r} is not a link of the lab; {has}", remedy
    elif len(ends) > 2 or (len(ends) == 2 and (fault.kind != "partition" or ends[0] == ends[1])):
        yield "target", f"{fault.target!r} is not one part of the lab", f"Choose from {', '.join(targets)}."
    else:
        for end in ends:
            if canonical(end, targets) is None:
                hint = did_you_mean(end, targets)
                yield "target", f"the lab has no {end!r}{hint}", f"Choose from {', '.join(targets)}."
    if fault.kind == "full-disk" and fault.target in (GENERATOR, BRIDGE):
        why = "the rows of the generator are the evidence" if fault.target == GENERATOR else "the bridge writes no file"
        yield "target", f"{fault.target} cannot have a full disk: {why}", "Choose a node, postgres or prometheus."
    known = PARAMETERS.get(fault.kind, {})
    for name, value in fault.parameters.items():
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            yield "parameters", f"{fault.kind} has no {name!r}{did_you_mean(name, known)}; {has}", ""
        elif not known[name][1] <= value <= known[name][2]:
            yield "parameters", f"{name} {value:g} is not from {known[name][1]:g} to {known[name][2]:g}", ""


def links_of(text: str) -> list[str]:
    """The links in the variable LINKS: ``partya-partyb=+8ms partya-postgres=+1ms`` has two."""
    return [word.partition("=")[0] for word in text.split()]


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
