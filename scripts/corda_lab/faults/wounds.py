"""The commands that make and heal each kind of fault."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from corda_lab.errors import LabError
from corda_lab.faults import hosts
from corda_lab.faults.helpers import Commands, command, helper, routes, text_of
from corda_lab.faults.wound import ENDED, THERE, Command, Wound, docker
from corda_lab.lab.deployed import Deployed, Service
from corda_lab.lab.engine import Container, addresses_in
from corda_lab.lab.replacing import RESTART_SECONDS, is_restarted, replacer_of
from corda_lab.lab.settings import parse_size
from corda_lab.steps.faults import GENERATOR, LINK_KINDS, Fault, FaultKind, links_of

MIB = 1024**2
ROOMS = (1.0, 1.05, 1.15, 1.3)
"""A kernel may refuse a memory limit at what is in use. Then more room is left."""
LINKS = "links"
"""The service with the proxies of the links."""
SILENCE = [{"type": "timeout", "stream": stream, "attributes": {"timeout": 0}} for stream in ("upstream", "downstream")]
"""Toxics with which a link loses everything, and tells nobody."""


@dataclass(frozen=True)
class Target:
    """A fault that is about to be made on a container of a lab."""

    fault: Fault
    container: Container
    compose: Deployed
    services: Sequence[Service]
    generator: Container
    """The container of the load."""

    def on(self, *arguments: str, states: Sequence[str] = ()) -> Command:
        """A command for the container."""
        return command(self.container, *arguments, states=states)

    def other(self, name: str) -> Container:
        """The container of another part."""
        return container_of(name, self.services, self.generator)


def container_of(target: str, services: Sequence[Service], generator: Container) -> Container:
    """The container of a target. ``generator`` is that of the load. Raises LabError if the lab has none."""
    if target == GENERATOR:
        return generator
    for service in services:
        if service.name == target:
            return service.container
    raise LabError(f"the lab has no {target}", "`scripts/lab status` shows its services.", exit_code=1)


def wound_of(fault: Fault, compose: Deployed, generator: Container) -> Wound:
    """How a fault is made and healed. Changes nothing. Raises LabError."""
    services = compose.services()
    if hosts.is_host(fault.target, compose, services):
        return hosts.wound_of(fault, compose, services)
    service = LINKS if fault.kind in LINK_KINDS else fault.ends[0]
    container = container_of(service, services, generator)
    replacer = "" if fault.target == GENERATOR else replacer_of(compose, service)
    seconds = fault.for_seconds
    if fault.kind == "kill" and replacer and is_restarted(replacer):
        seconds = min(seconds, RESTART_SECONDS)
    made, healed = KINDS[fault.kind](Target(fault, container, compose, services, generator))
    # The container of a load stays ended: its rows are all there will be.
    revived = [] if fault.target == GENERATOR else [_start(container, replacer)]
    return Wound(
        what=fault.name,
        seconds=seconds,
        make=tuple(made),
        is_any=fault.kind == "memory-limit",
        ends_or_freezes=fault.kind in ("kill", "restart", "pause"),
        heal=(*healed, *revived),
    )


def _start(container: Container, replacer: str) -> Command:
    """Starts a container that has ended, or lets Swarm make a new one."""
    if not replacer:
        return command(container, "start", container.name, states=ENDED)
    return Command(container=container.name, context=container.engine.name, states=ENDED, replaces=replacer)


def kill(target: Target) -> tuple[Commands, Commands]:
    """End the first process of a container at once, and so all of them."""
    return [target.on("kill", "--signal", "KILL", target.container.name)], []


def restart(target: Target) -> tuple[Commands, Commands]:
    """Let the first process of a container end as after ``docker compose stop``."""
    return [target.on("stop", target.container.name)], []


def pause(target: Target) -> tuple[Commands, Commands]:
    """Freeze all processes of a container."""
    name = target.container.name
    return [target.on("pause", name)], [target.on("unpause", name, states=("paused",))]


def partition(target: Target) -> tuple[Commands, Commands]:
    """Lose all packets between a container and all others, or one; then also those of the link between the two.

    What a link has held back is gone afterwards: its connections are made anew.
    """
    container, ends = target.container, target.fault.ends
    if len(ends) == 1:
        return routes(target.compose, {container: target.compose.neighbours(container)})
    other = target.other(ends[1])
    lost, found = routes(target.compose, {container: addresses_of(other), other: addresses_of(container)})
    links = links_of(target.compose.settings.values.get("LINKS", ""))
    if not any(set(link.split("-")) == set(ends) for link in links):
        return lost, found
    silenced, heard = toxics(target.other(LINKS), target.fault.target, SILENCE)
    return [*lost, *silenced], [*found, *heard]


def addresses_of(container: Container) -> list[str]:
    """The addresses of a container, in all its networks."""
    return addresses_in(_inspected(container, "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}"))


def full_disk(target: Target) -> tuple[Commands, Commands]:
    """Let no process of a container write to a file. Processes that start afterwards, from outside, have no limit."""
    user = _inspected(target.container, "{{.Config.User}}") or "0:0"
    namespace = (f"--pid=container:{target.container.name}", f"--user={user}", "--network=none")
    forbid, allow = (helper(target.compose, target.container, namespace, "files", verb) for verb in ("forbid", "allow"))
    return [forbid], [allow]


def memory_limit(target: Target) -> tuple[Commands, Commands]:
    """Give a container no more memory than it uses, or than the fault says. The kernel ends it if it needs more."""
    container = target.container
    memory, swap = _inspected(container, "{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}}").split()
    if memory == "0":
        raise LabError(f"{container} has no memory limit, so none could be restored")
    used = docker("stats", "--no-stream", "--format", "{{.MemUsage}}", container.name, on=container.engine)
    in_use = parse_size(used.partition("/")[0].strip().replace(" ", ""), option="docker stats")
    if not in_use:
        # A limit of 0 would be none.
        raise LabError(f"the engine does not say how much memory {container} uses")
    wanted = int(target.fault.parameter("megabytes") * MIB)
    sizes = [wanted] if wanted else [int(in_use * room) for room in ROOMS]

    def limit(size: object, with_swap: object, states: Sequence[str] = ()) -> Command:
        limits = ("--memory", str(size), "--memory-swap", str(with_swap))
        return target.on("update", *limits, container.name, states=states)

    return [limit(size, size) for size in sizes], [limit(memory, swap, (*THERE, *ENDED))]


def slow_link(target: Target) -> tuple[Commands, Commands]:
    """Add latency to the round trip of a link, half of it in each direction, and a limit of its bandwidth."""
    fault = target.fault
    half = {name: int(fault.parameter(f"{name}_ms") / 2) for name in ("latency", "jitter")}
    wanted: dict[str, Mapping[str, int]] = {"latency": half}
    if rate := int(fault.parameter("kilobytes_per_second")):
        wanted["bandwidth"] = {"rate": rate}
    return toxics(target.container, fault.target, _both_ways(wanted))


def reset_link(target: Target) -> tuple[Commands, Commands]:
    """Reset the connections of a link."""
    wanted = {"reset_peer": {"timeout": int(target.fault.parameter("after_ms"))}}
    return toxics(target.container, target.fault.target, _both_ways(wanted))


def _both_ways(wanted: Mapping[str, Mapping[str, int]]) -> list[Mapping[str, object]]:
    return [
        {"type": kind, "stream": stream, "attributes": attributes}
        for stream in ("upstream", "downstream")
        for kind, attributes in wanted.items()
    ]


def toxics(links: Container, link: str, wanted: Sequence[Mapping[str, object]]) -> tuple[Commands, Commands]:
    """Add toxics to the proxies of a link. A proxy that was started again has none."""

    def changed(verb: str) -> Command:
        script = ("exec", links.name, "python3", "-c", text_of("toxics"), verb, link, json.dumps(wanted))
        return command(links, *script, states=("running",) if verb == "remove" else ())

    return [changed("add")], [changed("remove")]


def _inspected(container: Container, form: str) -> str:
    """What the engine says of a container, in a format. Raises LabError."""
    return docker("container", "inspect", "--format", form, container.name, on=container.engine)


KINDS: Mapping[FaultKind, Callable[[Target], tuple[Commands, Commands]]] = {
    "kill": kill,
    "restart": restart,
    "pause": pause,
    "partition": partition,
    "slow-link": slow_link,
    "reset-link": reset_link,
    "full-disk": full_disk,
    "memory-limit": memory_limit,
}
"""What makes and what heals each kind. ``wound_of`` adds the start of what has ended."""
