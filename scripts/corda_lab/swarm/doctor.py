"""Checks the hosts of a placement before a stack is deployed. Each check reports its finding and the remedy."""

import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from corda_lab.errors import LabError
from corda_lab.host.probe import parse_version
from corda_lab.lab import exposure
from corda_lab.lab.checks import Check, failure, ok, unknown, warning
from corda_lab.lab.engine import outcomes
from corda_lab.swarm.fit import Fitted, Place
from corda_lab.swarm.hosts import EngineFacts, Host, facts_of
from corda_lab.swarm.measure import Measured, NetworkPath
from corda_lab.swarm.members import Located, Member, locate
from corda_lab.swarm.registry import own_port
from corda_lab.swarm.schema import WorkersFields
from corda_lab.text import words

ENGINE_MIN = "20.10"
CLOCK_SECONDS_MAX = 0.05
"""Clocks that differ by more are a warning: rows of the generator and metrics of nodes are put on one axis of time."""
CONNECT_SECONDS_MAX = 3.0
GOSSIP_PORT = 7946
"""The port at which engines of a swarm tell one another what is where. They connect by TCP and UDP."""
OPEN = (
    "Let the hosts reach one another at TCP and UDP 7946, UDP 4789, and the manager at TCP 2377. An encrypted overlay"
    " also needs the IP protocol 50 (ESP), and a kernel that has it (CONFIG_INET_ESP, the module esp4)."
)


@dataclass(frozen=True)
class SwarmHosts:
    """The hosts of a placement, as the swarm and their engines say."""

    located: Mapping[str, Located]
    facts: Mapping[str, EngineFacts | LabError]

    @classmethod
    def ask(cls, fitted: Fitted, members: Sequence[Member]) -> "SwarmHosts":
        """Find all hosts of a placement in the swarm, and ask their engines."""
        label = fitted.placement.fields.label
        located = {name: locate(name, label, members) for name in fitted.hosts}
        return cls(located, outcomes([Host(name) for name in fitted.hosts], facts_of))

    @property
    def node_names(self) -> dict[str, str]:
        """Ids of nodes of the swarm → names of hosts."""
        return {found.member.id: name for name, found in self.located.items() if found.member}


def examine(fitted: Fitted, hosts: SwarmHosts) -> list[Check]:
    """Check every host: the swarm knows it, its engine answers, and it has what is reserved on it."""
    checks = []
    for name in fitted.hosts:
        found, facts = hosts.located[name], hosts.facts[name]
        if found.trouble:
            checks.append(failure(f"host {name}", found.trouble, found.remedy))
        elif isinstance(facts, LabError):
            checks.append(failure(f"host {name}", facts.message.removeprefix(f"{name}: "), facts.remedy))
        elif found.member:
            checks += _host_checks(name, found.member, facts, fitted)
    answered = {name: one for name, one in hosts.facts.items() if isinstance(one, EngineFacts)}
    return [*checks, *_versions(answered), *_clocks(answered), _registry(fitted.placement.fields.registry)]


def _host_checks(name: str, member: Member, facts: EngineFacts, fitted: Fitted) -> Iterator[Check]:
    if facts.node != member.id:
        yield failure(
            f"host {name}",
            f"the docker context {name} leads to another engine than that of {member.hostname}, which has its label",
            f"See `docker context inspect {name}` and `docker node inspect {member.hostname}`; mend one of them.",
        )
        return
    yield ok(
        f"host {name}", f"{member.hostname}, engine {facts.version}, {facts.cores} cores, {words.size(facts.memory)}"
    )
    if short := lacking(member, (*places_on(name, fitted), *workers_on(name, fitted))):
        yield failure(
            f"room of {name}", short, "Reserve less in the placement, or use a larger host: Swarm would start nothing."
        )
    if not is_open(member.address, GOSSIP_PORT):
        yield failure(
            f"port {GOSSIP_PORT} of {name}", f"this machine cannot connect to {member.address}:{GOSSIP_PORT}", OPEN
        )


def places_on(host: str, fitted: Fitted) -> list[Place]:
    """Return the places of the services on a host."""
    return [place for place in fitted.places.values() if place.host == host]


def workers_on(host: str, fitted: Fitted) -> list[WorkersFields]:
    """Return what the workers of the load generator reserve on a host, each of them."""
    workers = fitted.fields_of(host).workers
    return [workers] * workers.count if workers else []


def lacking(member: Member, reserved: Iterable[Place | WorkersFields]) -> str:
    """Return what a node of the swarm does not have of what is reserved on it; empty if it has all."""
    known = list(reserved)
    cores, memory = sum(one.cores for one in known), sum(one.memory for one in known)
    short = []
    if cores > member.cores:
        short.append(f"{cores:g} cores are reserved, and it has {member.cores:g}")
    if memory > member.memory:
        short.append(f"{words.size(memory)} of memory are reserved, and it has {words.size(member.memory)}")
    return "; ".join(short)


def is_open(address: str, port: int) -> bool:
    """Return whether this machine can connect to a port."""
    try:
        with socket.create_connection((address, port), timeout=CONNECT_SECONDS_MAX):
            return True
    except OSError:
        return False


def _versions(facts: Mapping[str, EngineFacts]) -> Iterator[Check]:
    by_version = grouped({name: one.version for name, one in facts.items()})
    minimum = parse_version(ENGINE_MIN)
    for version, names in by_version.items():
        number = parse_version(version)
        if number and minimum and number < minimum:
            yield failure(f"engine {version}", f"on {names}", f"Install Docker {ENGINE_MIN} or newer there.")
        yield from exposure.examine_engine(version)
    if len(by_version) > 1:
        which = "; ".join(f"{version} on {names}" for version, names in by_version.items())
        yield warning("engines", f"they differ: {which}", "Install the same version on all hosts.")
    by_architecture = grouped({name: one.architecture for name, one in facts.items()})
    if len(by_architecture) > 1:
        which = "; ".join(f"{one} on {names}" for one, names in by_architecture.items())
        yield failure("architecture", f"the images run on one only: {which}", "Use hosts of the same kind.")


def grouped(by_name: Mapping[str, str]) -> dict[str, str]:
    """Return the names that share a value: value → names in words."""
    found: dict[str, list[str]] = {}
    for name, value in by_name.items():
        found.setdefault(value, []).append(name)
    return {value: ", ".join(names) for value, names in found.items()}


def _clocks(facts: Mapping[str, EngineFacts]) -> Iterator[Check]:
    for name, one in facts.items():
        yield clock_check(name, one.clock.offset_seconds, one.clock.error_seconds, "this machine's")


def clock_check(name: str, offset_seconds: float, error_seconds: float, whose: str) -> Check:
    """Judge the difference of two clocks. It is known only to its error."""
    finding = f"{offset_seconds * 1000:+.1f} ms from {whose} (± {error_seconds * 1000:.1f} ms)"
    if abs(offset_seconds) - error_seconds > CLOCK_SECONDS_MAX:
        return warning(f"clock of {name}", finding, "Let chrony or systemd-timesyncd set the clock of every host.")
    return ok(f"clock of {name}", finding)


def _registry(registry: str) -> Check:
    if own_port(registry) is not None:
        return ok("registry", f"{registry}: the lab provides it")
    address, _, port = registry.partition(":")
    if is_open(address, int(port or 443)):
        return ok("registry", f"{registry} answers")
    remedy = "Start it, or leave `registry` out of the placement: then the lab provides one."
    return failure("registry", f"this machine cannot connect to {registry}", remedy)


def not_measured(reason: str, remedy: str = "Run `scripts/lab up --placement NAME` first.") -> Check:
    """Return the check of a network between hosts that could not be measured."""
    return unknown("network between hosts", f"not measured: {reason}", remedy)


def not_possible(error: LabError, *, encrypted: bool) -> Check:
    """Return the check of a network between hosts on which nothing could even be started."""
    return failure("network between hosts", error.message, remedy_of_network(encrypted=encrypted))


def remedy_of_network(*, encrypted: bool) -> str:
    """Say what an overlay needs."""
    return f"{OPEN} Or set overlay: plain in the placement." if encrypted else OPEN


def examine_network(measured: Measured, *, encrypted: bool) -> list[Check]:
    """Judge what was measured between hosts."""
    kind = "encrypted" if encrypted else "plain"
    if measured.is_cut:
        finding = f"nothing passes on an overlay that is {kind}"
        return [failure("network between hosts", finding, remedy_of_network(encrypted=encrypted))]
    checks = []
    for host, paths in measured.paths.items():
        for path in paths:
            if path.trouble:
                checks.append(failure(f"{host} to {path.target}", path.trouble, OPEN))
            else:
                checks.append(ok(f"{host} to {path.target}", _path_words(path)))
    first, *_ = measured.paths
    for path in measured.paths[first]:
        if path.clock_ms is not None and path.clock_error_ms is not None:
            checks.append(
                clock_check(path.target, path.clock_ms / 1000, path.clock_error_ms / 1000, f"that of {first}")
            )
    return [ok("overlay", kind), *checks]


def _path_words(path: NetworkPath) -> str:
    found = [f"round trip {path.round_trip_ms:.2f} ms"] if path.round_trip_ms is not None else []
    if path.megabits_per_second is not None:
        found.append(f"{path.megabits_per_second:.0f} Mbit/s in one connection")
    return ", ".join(found)
