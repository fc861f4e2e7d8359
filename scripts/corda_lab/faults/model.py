"""Faults: what is done to a part of the lab during a load, and when. ``docs/chaos.md`` describes each kind."""

from collections.abc import Iterator, Sequence
from typing import get_args

from pydantic import BaseModel, ConfigDict, RootModel

from lab_workload.faults import GENERATOR, PARAMETERS, Fault, FaultKind
from lab_workload.names import canonical, did_you_mean
from lab_workload.problems import Location, Problem

KINDS: tuple[FaultKind, ...] = get_args(FaultKind)

POSTGRES = "postgres"
BRIDGE = "bridge"
PROMETHEUS = "prometheus"
LINK_KINDS: tuple[FaultKind, ...] = ("slow-link", "reset-link")
"""Kinds whose target is a link of the lab: two nodes, or a node and PostgreSQL."""
HOST_KINDS: tuple[FaultKind, ...] = ("partition", "kill", "restart")
"""Kinds that a whole host can have, if the lab runs on several. A host is restarted as its operator would do it: it is
drained, and takes services again afterwards."""

WITHOUT_DISK = (GENERATOR, BRIDGE)
"""Targets that cannot have a full disk: the rows of the generator are the evidence, and the bridge writes no file."""

FAULTS_MAX = 200


class Part(BaseModel):
    """Base of what is stored of faults: immutable, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class FaultEntry(Fault):
    """A fault and its outcome. Times are in unix seconds, and None if it did not come to that."""

    began_at: float | None = None
    healed_at: float | None = None
    """When it was undone. A process that was started again may not be ready yet."""
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


class FaultEntries(RootModel[tuple[FaultEntry, ...]]):
    """The file ``faults.json`` in the evidence of a load."""


def known_targets(nodes: Sequence[str], database: str) -> list[str]:
    """The parts of a lab that faults can have as a target. ``nodes`` are the names of its nodes."""
    services = [node.lower() for node in nodes]
    return [*services, *([POSTGRES] if database == POSTGRES else []), BRIDGE, GENERATOR, PROMETHEUS]


def links_of(text: str) -> list[str]:
    """The links in the variable LINKS: ``partya-partyb=+8ms partya-postgres=+1ms`` has two."""
    return [word.partition("=")[0] for word in text.split()]


def problems(
    faults: Sequence[Fault], targets: Sequence[str], links: Sequence[str], hosts: Sequence[str] = ()
) -> list[Problem]:
    """What is wrong with the faults of a load on a lab with these targets, links such as ``partya-partyb``, and hosts.

    A host that has the name of a target has its faults with it.
    """
    wrong = []
    if len(faults) > FAULTS_MAX:
        wrong.append(Problem(f"has {len(faults)} faults, more than {FAULTS_MAX}", ("faults",)))
    places = [*targets, *(host for host in hosts if host not in targets)]
    for place, fault in enumerate(faults):
        where: Location = ("faults", place)
        wrong += [Problem(text, (*where, field), remedy) for field, text, remedy in _wrong(fault, places, links)]
        wrong += [
            Problem(f"{fault.name} begins while {other.name} lasts", (*where, "at"), "One target has one at a time.")
            for other in faults[:place]
            if _meet(fault, other)
        ]
        if fault.target in hosts and fault.target not in targets and fault.kind not in HOST_KINDS:
            remedy = "A host can have partition, kill and restart. Or name a service of the host."
            wrong.append(Problem(f"{fault.target} is a host, not a service", (*where, "target"), remedy))
    return wrong


def _meet(one: Fault, other: Fault) -> bool:
    begins_before = one.at_seconds < other.at_seconds + other.for_seconds
    ends_after = one.at_seconds + one.for_seconds > other.at_seconds
    return begins_before and ends_after and bool(set(one.ends) & set(other.ends))


def _wrong(fault: Fault, targets: Sequence[str], links: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """The field, the problem and the remedy of everything that is wrong with one fault."""
    # The name of a host may have a hyphen.
    ends = (fault.target,) if fault.target in targets else fault.ends
    choose = f"Choose from {', '.join(targets)}."
    if fault.kind in LINK_KINDS:
        if not any(set(link.split("-")) == set(ends) for link in links):
            has = f"it has {', '.join(links)}" if links else "it has none"
            remedy = f"Start it with --link {fault.target}=+1ms, or choose another."
            yield "target", f"{fault.target!r} is not a link of the lab; {has}", remedy
    elif len(ends) > 2 or (len(ends) == 2 and (fault.kind != "partition" or ends[0] == ends[1])):
        yield "target", f"{fault.target!r} is not one part of the lab", choose
    else:
        for end in ends:
            if canonical(end, targets) is None:
                yield "target", f"the lab has no {end!r}{did_you_mean(end, targets)}", choose
    if fault.kind == "full-disk" and fault.target in WITHOUT_DISK:
        why = "the rows of the generator are the evidence" if fault.target == GENERATOR else "the bridge writes no file"
        yield "target", f"{fault.target} cannot have a full disk: {why}", "Choose a node, postgres or prometheus."
    known = PARAMETERS.get(fault.kind, {})
    for name, value in fault.parameters.items():
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            yield "parameters", f"{fault.kind} has no {name!r}{did_you_mean(name, known)}; {has}", ""
        elif not known[name][1] <= value <= known[name][2]:
            yield "parameters", f"{name} {value:g} is not from {known[name][1]:g} to {known[name][2]:g}", ""
