"""The hosts of a swarm: its nodes as the manager knows them, their engines, and the checks of both before a start.

An engine is reached by the docker context that has the name of its host: ``docker context create``.
"""

import json
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from packaging.version import Version

from bare.commands import last_words
from corda_lab.errors import LabError
from corda_lab.host.engine import parse_version
from corda_lab.lab.docker import ask, docker, outcomes
from corda_lab.lab.doctor import Check, engine_exposures, failure, ok, warning
from corda_lab.results.manifest import CLOCKS_APART_SECONDS_MAX
from corda_lab.swarm.placement import Fitted
from corda_lab.text import words

NO_SWARM = (
    "Run this command on a manager of the swarm. To make one: `docker swarm init --advertise-addr ADDRESS` here, and"
    " the `docker swarm join` that it prints on every other host."
)


ANSWER_SECONDS_MAX = 30.0
"""How long an engine may take to say what it is. A first connection over ssh takes a few seconds."""
ENGINE_MIN = Version("20.10")
CLOCK_SECONDS_MAX = 0.05
"""Clocks that differ by more are a warning: rows of the generator and metrics of nodes are put on one axis of time."""
SYNCHRONISE = "Let chrony or systemd-timesyncd set the clock of every host, from the same servers."
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
class Member:
    id: str
    hostname: str
    address: str
    """The address at which the manager sees it."""
    state: str
    """``ready`` if its engine keeps in touch with the manager."""
    availability: str
    """``active`` if it takes tasks."""
    labels: Mapping[str, str]
    cores: float
    memory: int
    """Bytes that services can reserve."""


def members() -> list[Member]:
    """Return the nodes of the swarm whose manager is this engine. Raises LabError if it is none."""
    listed = docker("node", "ls", "--quiet")
    ids = listed.stdout.split()
    if listed.returncode != 0 or not ids:
        raise LabError(f"The engine is no manager of a swarm: {last_words(listed.stderr, 2)}", NO_SWARM)
    return [parse_member(entry) for entry in json.loads(ask("node", "inspect", *ids))]


def parse_member(entry: Mapping[str, Any]) -> Member:
    description = entry["Description"]
    resources = description.get("Resources", {})
    return Member(
        id=entry["ID"],
        hostname=description["Hostname"],
        # A manager that has not been told its address says 0.0.0.0 of itself.
        address=entry.get("ManagerStatus", {}).get("Addr", "").rpartition(":")[0] or entry["Status"].get("Addr", ""),
        state=entry["Status"]["State"],
        availability=entry["Spec"]["Availability"],
        labels=entry["Spec"].get("Labels") or {},
        cores=resources.get("NanoCPUs", 0) / 1e9,
        memory=resources.get("MemoryBytes", 0),
    )


def locate(host: str, label: str, known: Sequence[Member]) -> Member:
    """Return the node with the label of a host. Raises LabError if there is none that can run anything.

    A second one would get the ledgers of the first one's services.
    """
    named = [member for member in known if member.labels.get(label) == host]
    if not named:
        remedy = f"Choose one of {_names(known)}: `docker node update --label-add {label}={host} NODE`."
        raise LabError(f"no node of the swarm has the label {label}={host}", remedy)
    if len(named) > 1:
        text = f"{len(named)} nodes of the swarm have the label {label}={host}: {_names(named)}"
        raise LabError(text, f"Remove it from all but one: `docker node update --label-rm {label} NODE`.")
    (member,) = named
    name = member.hostname
    if member.state != "ready":
        remedy = f"Start its engine, and let {name} reach the manager at TCP port 2377."
        raise LabError(f"the manager has lost {name} ({member.state})", remedy)
    if member.availability != "active":
        remedy = f"`docker node update --availability active {name}`"
        raise LabError(f"{name} takes no tasks (availability {member.availability})", remedy)
    return member


def _names(known: Iterable[Member]) -> str:
    return ", ".join(sorted(f"{member.hostname} ({member.id[:12]})" for member in known))


@dataclass(frozen=True)
class EngineFacts:
    version: str
    node: str
    """Its id in the swarm; empty if it is in none."""
    cores: int
    memory: int
    """Bytes."""
    architecture: str
    kernel: str
    clock_offset_seconds: float
    """How far its clock is from that of this machine: positive if it is ahead."""
    clock_error_seconds: float
    """The offset may be wrong by this much: half of the time that the answer took."""


def facts_of(host: str) -> EngineFacts:
    before = time.time()
    text = ask("info", "--format", "{{json .}}", on=host, seconds_max=ANSWER_SECONDS_MAX)
    return parse_facts(text, before, time.time())


def parse_facts(text: str, before: float, after: float) -> EngineFacts:
    """Read the JSON of ``docker info``, which was asked for and came at these Unix seconds."""
    facts: dict[str, Any] = json.loads(text)
    now = datetime.fromisoformat(facts["SystemTime"]).timestamp()
    return EngineFacts(
        version=facts["ServerVersion"],
        node=facts.get("Swarm", {}).get("NodeID", ""),
        cores=facts["NCPU"],
        memory=facts["MemTotal"],
        architecture=facts["Architecture"],
        kernel=facts.get("KernelVersion", ""),
        clock_offset_seconds=now - (before + after) / 2,
        clock_error_seconds=(after - before) / 2,
    )


@dataclass(frozen=True)
class Host:
    """A host of a placement, as the swarm and its engine say."""

    member: Member
    facts: EngineFacts


def ask_hosts(fitted: Fitted, known: Sequence[Member]) -> dict[str, Host | LabError]:
    """Return every host, or what is wrong with it, by its name."""
    label = fitted.placement.fields.label
    return outcomes(fitted.hosts, lambda name: Host(locate(name, label, known), facts_of(name)))


def examine(fitted: Fitted, hosts: Mapping[str, Host | LabError]) -> Iterator[Check]:
    """Check every host: the swarm knows it, its engine answers, and it has what is reserved on it."""
    for name, host in hosts.items():
        if isinstance(host, LabError):
            yield failure(f"host {name}", host.message.removeprefix(f"{name}: "), host.remedy)
        else:
            yield from _host_checks(name, host.member, host.facts, fitted)
    answered = {name: host.facts for name, host in hosts.items() if isinstance(host, Host)}
    yield from _versions(answered)
    for name, facts in answered.items():
        yield _clock_check(name, facts.clock_offset_seconds, facts.clock_error_seconds)


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
    services += [words.plural(count, "worker")] if (count := fitted.workers.count(name)) else []
    yield ok(f"host {name}", f"{about}: {words.listed(services)}")
    if short := lacking(member, *fitted.reserved_on(name)):
        yield failure(
            f"room of {name}", short, "Reserve less in the placement, or use a larger host: Swarm would start nothing."
        )
    if not is_open(member.address, GOSSIP_PORT):
        yield failure(
            f"port {GOSSIP_PORT} of {name}", f"this machine cannot connect to {member.address}:{GOSSIP_PORT}", OPEN
        )


def lacking(member: Member, cores: float, memory: int) -> str:
    """Return what a node of the swarm does not have of the cores and bytes that are reserved on it."""
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
    by_version = _grouped({name: engine.version for name, engine in facts.items()})
    for version, names in by_version.items():
        number = parse_version(version)
        if number and number < ENGINE_MIN:
            yield failure(f"engine {version}", f"on {names}", f"Install Docker {ENGINE_MIN} or newer there.")
        yield from engine_exposures(version)
    if len(by_version) > 1:
        which = "; ".join(f"{version} on {names}" for version, names in by_version.items())
        yield warning("engines", f"they differ: {which}", "Install the same version on all hosts.")
    by_architecture = _grouped({name: engine.architecture for name, engine in facts.items()})
    if len(by_architecture) > 1:
        which = "; ".join(f"{kind} on {names}" for kind, names in by_architecture.items())
        yield failure("architecture", f"the images run on one only: {which}", "Use hosts of the same kind.")


def _grouped(by_name: Mapping[str, str]) -> dict[str, str]:
    """Return the names of each value, as one text."""
    names: dict[str, list[str]] = {}
    for name, value in by_name.items():
        names.setdefault(value, []).append(name)
    return {value: ", ".join(names[value]) for value in names}


def _clock_check(name: str, offset: float, error: float) -> Check:
    """``offset`` and ``error`` are in seconds."""
    finding = f"{offset * 1000:+.1f} ms from this machine's (± {error * 1000:.1f} ms)"
    # It is known only to its error.
    apart = abs(offset) - error
    if apart <= CLOCK_SECONDS_MAX:
        return ok(f"clock of {name}", finding)
    bad = failure if apart > CLOCKS_APART_SECONDS_MAX else warning
    return bad(f"clock of {name}", finding, SYNCHRONISE)


def examine_registry(registry: str, hosts: Sequence[str]) -> Iterator[Check]:
    image = f"{registry}/corda-lab/reached:none"
    for name, done in outcomes(hosts, lambda host: docker("pull", "--quiet", image, on=host)).items():
        check = f"registry from {name}"
        if isinstance(done, LabError):
            yield failure(check, done.message, REGISTRY_REMEDY)
        elif done.returncode == 0 or any(words in done.stderr.lower() for words in REACHED):
            yield ok(check, f"{registry} answers")
        else:
            yield failure(check, last_words(done.stderr, 2), REGISTRY_REMEDY)
