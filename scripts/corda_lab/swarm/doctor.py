"""Checks the hosts of a placement before a stack is deployed. Each check reports its finding and the remedy."""

import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bare.commands import last_words
from corda_lab.errors import LabError
from corda_lab.host.engine import parse_version
from corda_lab.lab.checks import Check, engine_exposures, failure, ok, unknown, warning
from corda_lab.lab.engine import READER, Engine, outcomes
from corda_lab.results.manifest import CLOCKS_APART_SECONDS_MAX
from corda_lab.swarm.fit import Fitted, Place
from corda_lab.swarm.hosts import EngineFacts, Located, Member, facts_of, locate
from corda_lab.swarm.placement import WorkersFields
from corda_lab.text import words

ENGINE_MIN = "20.10"
CLOCK_SECONDS_MAX = 0.05
"""Clocks that differ by more are a warning: rows of the generator and metrics of nodes are put on one axis of time."""
SYNCHRONISE = "Let chrony or systemd-timesyncd set the clock of every host, from the same servers."
READ_CLOCK = """
import ctypes, struct
read = ctypes.create_string_buffer(512)
state = ctypes.CDLL(None).adjtimex(read)
print(state, *struct.unpack_from("=q", read, 24))
"""
"""Prints what the kernel says of its clock, the state and the largest error in microseconds, as ``man adjtimex``."""
TIME_ERROR = 5
"""The state of a clock that is not synchronised."""
REACHED = ("not found", "manifest unknown", "name unknown", "denied", "unauthorized")
"""What engines say of an image that the registry does not have, or does not show to everybody."""
REGISTRY_REMEDY = (
    "Let this host reach it. An engine needs a certificate that it knows, or `insecure-registries` in its daemon.json."
)
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
        label = fitted.placement.fields.label
        located = {name: locate(name, label, members) for name in fitted.hosts}
        return cls(located, outcomes([Engine(name) for name in fitted.hosts], facts_of))

    @property
    def node_names(self) -> dict[str, str]:
        return {found.member.id: name for name, found in self.located.items() if found.member}


def examine(fitted: Fitted, hosts: SwarmHosts) -> Iterator[Check]:
    """Check every host: the swarm knows it, its engine answers, and it has what is reserved on it."""
    for name in fitted.hosts:
        found, facts = hosts.located[name], hosts.facts[name]
        if found.trouble:
            yield failure(f"host {name}", found.trouble, found.remedy)
        elif isinstance(facts, LabError):
            yield failure(f"host {name}", facts.message.removeprefix(f"{name}: "), facts.remedy)
        elif found.member:
            yield from _host_checks(name, found.member, facts, fitted)
    answered = {name: one for name, one in hosts.facts.items() if isinstance(one, EngineFacts)}
    yield from _versions(answered)
    yield from _clocks(answered)


def _host_checks(name: str, member: Member, facts: EngineFacts, fitted: Fitted) -> Iterator[Check]:
    if facts.node != member.id:
        yield failure(
            f"host {name}",
            f"the docker context {name} leads to another engine than that of {member.hostname}, which has its label",
            f"See `docker context inspect {name}` and `docker node inspect {member.hostname}`; mend one of them.",
        )
        return
    about = f"{member.hostname}, engine {facts.version}, {facts.cores} cores, {words.size(facts.memory)}"
    services = [service for service, place in fitted.places.items() if place.host == name]
    services += [words.plural(workers[0].count, "worker")] if (workers := workers_on(name, fitted)) else []
    yield ok(f"host {name}", f"{about}: {words.listed(services)}")
    if short := lacking(member, (*places_on(name, fitted), *workers_on(name, fitted))):
        yield failure(
            f"room of {name}", short, "Reserve less in the placement, or use a larger host: Swarm would start nothing."
        )
    if not is_open(member.address, GOSSIP_PORT):
        yield failure(
            f"port {GOSSIP_PORT} of {name}", f"this machine cannot connect to {member.address}:{GOSSIP_PORT}", OPEN
        )


def places_on(host: str, fitted: Fitted) -> list[Place]:
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
        yield from engine_exposures(version)
    if len(by_version) > 1:
        which = "; ".join(f"{version} on {names}" for version, names in by_version.items())
        yield warning("engines", f"they differ: {which}", "Install the same version on all hosts.")
    by_architecture = grouped({name: one.architecture for name, one in facts.items()})
    if len(by_architecture) > 1:
        which = "; ".join(f"{one} on {names}" for one, names in by_architecture.items())
        yield failure("architecture", f"the images run on one only: {which}", "Use hosts of the same kind.")


def grouped(by_name: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for name, value in by_name.items():
        found.setdefault(value, []).append(name)
    return {value: ", ".join(names) for value, names in found.items()}


def _clocks(facts: Mapping[str, EngineFacts]) -> Iterator[Check]:
    for name, one in facts.items():
        offset, error = one.clock.offset_seconds, one.clock.error_seconds
        finding = f"{offset * 1000:+.1f} ms from this machine's (± {error * 1000:.1f} ms)"
        # It is known only to its error.
        apart = abs(offset) - error
        if apart > CLOCKS_APART_SECONDS_MAX:
            yield failure(f"clock of {name}", finding, SYNCHRONISE)
        elif apart > CLOCK_SECONDS_MAX:
            yield warning(f"clock of {name}", finding, SYNCHRONISE)
        else:
            yield ok(f"clock of {name}", finding)


def examine_kernel_clocks(engines: Sequence[Engine], image: str | None) -> Iterator[Check]:
    """Check that the kernel of every host says that its clock is kept synchronised. ``image`` is one with Python."""
    remedy = "Run `scripts/lab up` with this placement first: it brings an image with Python to every host."
    if image is None:
        yield unknown("synchronised clocks", "not read: the hosts have no image of the lab yet", remedy)
        return
    read = ("run", "--rm", "--pull=never", *READER, "--entrypoint=python3", image, "-c", READ_CLOCK)
    for name, said in outcomes(engines, lambda engine: engine.checked(*read)).items():
        check = f"synchronised clock of {name}"
        if isinstance(said, LabError):
            yield unknown(check, f"not read: {said.message}", remedy)
            continue
        state, microseconds = map(int, said.split())
        if state == TIME_ERROR:
            yield warning(check, "nothing keeps it synchronised", SYNCHRONISE)
        else:
            yield ok(check, f"at most {microseconds / 1000:.1f} ms off")


def examine_registry(registry: str, engines: Sequence[Engine]) -> Iterator[Check]:
    image = f"{registry}/corda-lab/reached:none"
    for name, done in outcomes(engines, lambda engine: engine.run("pull", "--quiet", image)).items():
        check = f"registry from {name}"
        if isinstance(done, LabError):
            yield failure(check, done.message, REGISTRY_REMEDY)
        elif done.returncode == 0 or any(words in done.stderr.lower() for words in REACHED):
            yield ok(check, f"{registry} answers")
        else:
            yield failure(check, last_words(done.stderr, 2), REGISTRY_REMEDY)
