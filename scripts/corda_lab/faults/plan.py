"""The commands that make and heal each kind of fault: of a container, of a link, and of a whole host of a stack."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from corda_lab.errors import LabError
from corda_lab.faults.wound import ENDED, GONE, HELPER, THERE, Command, Wound, docker
from corda_lab.lab.deployed import Deployed, Service, hosts_of
from corda_lab.lab.engine import Container, addresses_in
from corda_lab.lab.replacing import RESTART_SECONDS, is_restarted, replacer_of
from corda_lab.lab.settings import parse_size
from corda_lab.steps.faults import GENERATOR, LINK_KINDS, Fault, FaultKind, links_of

MIB = 1024**2
ROOMS = (1.0, 1.05, 1.15, 1.3)
"""A kernel may refuse a memory limit at what is in use. Then more room is left."""
LINKS = "links"
"""The service with the proxies of the links."""
DIRECTIONS = ("upstream", "downstream")
SILENCE = {"timeout": {"timeout": 0}}
"""The toxic with which a link loses everything, and tells nobody."""

Commands = Sequence[Command]
Treatment = tuple[Commands, Commands]
"""What makes a fault, and what heals it."""


def command(container: Container, *arguments: str, states: Sequence[str] = (), replaces: str = "") -> Command:
    return Command(
        container=container.name,
        context=container.engine.name,
        states=tuple(states),
        arguments=arguments,
        replaces=replaces,
    )


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
        return command(self.container, *arguments, states=states)

    def other(self, name: str) -> Container:
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
    is_part = fault.target == GENERATOR or any(service.name == fault.target for service in services)
    if fault.target in hosts_of(compose) and not is_part:
        made, healed = of_host(fault, compose, services)
        return Wound(what=fault.name, seconds=fault.for_seconds, make=tuple(made), heal=tuple(healed))
    service = LINKS if fault.kind in LINK_KINDS else fault.ends[0]
    container = container_of(service, services, generator)
    replacer = "" if fault.target == GENERATOR else replacer_of(compose, service)
    seconds = fault.for_seconds
    if fault.kind == "kill" and replacer and is_restarted(replacer):
        seconds = min(seconds, RESTART_SECONDS)
    made, healed = KINDS[fault.kind](Target(fault, container, compose, services, generator))
    start = () if replacer else ("start", container.name)
    # The container of a load stays ended: its rows are all there will be.
    is_load = fault.target == GENERATOR
    revived = () if is_load else (command(container, *start, states=ENDED, replaces=replacer),)
    return Wound(
        what=fault.name,
        seconds=seconds,
        make=tuple(made),
        is_any=fault.kind == "memory-limit",
        ends_or_freezes=fault.kind in ("kill", "restart", "pause"),
        heal=(*healed, *revived),
    )


def kill(target: Target) -> Treatment:
    return [target.on("kill", "--signal", "KILL", target.container.name)], []


def restart(target: Target) -> Treatment:
    """Let the first process of a container end as after ``docker compose stop``."""
    return [target.on("stop", target.container.name)], []


def pause(target: Target) -> Treatment:
    name = target.container.name
    return [target.on("pause", name)], [target.on("unpause", name, states=("paused",))]


def partition(target: Target) -> Treatment:
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
    return addresses_in(_inspected(container, "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}"))


def full_disk(target: Target) -> Treatment:
    """Let no process of a container write to a file. Processes that start afterwards, from outside, have no limit."""
    user = _inspected(target.container, "{{.Config.User}}") or "0:0"
    namespace = (f"--pid=container:{target.container.name}", f"--user={user}", "--network=none")
    forbid, allow = (helper(target.compose, target.container, namespace, "files", verb) for verb in ("forbid", "allow"))
    return [forbid], [allow]


def memory_limit(target: Target) -> Treatment:
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


def slow_link(target: Target) -> Treatment:
    """Add latency to the round trip of a link, half of it in each direction, and a limit of its bandwidth."""
    fault = target.fault
    half = {name: int(fault.parameter(f"{name}_ms") / 2) for name in ("latency", "jitter")}
    rate = int(fault.parameter("kilobytes_per_second"))
    return toxics(target.container, fault.target, {"latency": half} | ({"bandwidth": {"rate": rate}} if rate else {}))


def reset_link(target: Target) -> Treatment:
    after = {"timeout": int(target.fault.parameter("after_ms"))}
    return toxics(target.container, target.fault.target, {"reset_peer": after})


KINDS: Mapping[FaultKind, Callable[[Target], Treatment]] = {
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


def of_host(fault: Fault, compose: Deployed, services: Sequence[Service]) -> Treatment:
    """A whole host: cut off, killed with everything on it, or drained as its operator would do it.

    Raises LabError if nothing of the lab runs there.
    """
    running = [one for one in services if one.container.engine.name == fault.target and one.state == "running"]
    inside = [one.container for one in running]
    cut = cut_off(fault.target, compose) if fault.kind == "partition" else None
    if not (cut[0] if cut else inside):
        raise LabError(f"no container of the lab runs on the host {fault.target}", exit_code=1)
    if cut:
        return cut
    # Swarm makes a new container of each service that has ended, unless it is about to.
    replaced = [
        command(one.container, states=(*ENDED, GONE), replaces=replacer_of(compose, one.name)) for one in running
    ]
    if fault.kind == "kill":
        names = (container.name for container in inside)
        return [command(inside[0], "kill", "--signal", "KILL", *names)], replaced
    made, activate = drain(inside)
    return made, [activate, *replaced]


def cut_off(host: str, compose: Deployed) -> Treatment:
    """Let each container on a host, those of a load too, lose the addresses that are elsewhere."""
    known = compose.addresses()
    inside = sorted((one for one in known if one.engine.name == host), key=lambda one: one.name)
    elsewhere = sorted({address for one in known if one.engine.name != host for address in known[one]})
    return routes(compose, dict.fromkeys(inside, elsewhere))


def drain(inside: Sequence[Container]) -> tuple[list[Command], Command]:
    """Let Swarm end all services of a host as they should end, and place nothing there until it is active again."""
    first = inside[0]
    node = docker("info", "--format", "{{.Swarm.NodeID}}", on=first.engine)

    def availability(wanted: str) -> Command:
        # This machine is a manager of the swarm.
        update = ("node", "update", "--availability", wanted, node)
        return Command(container=first.name, context=first.engine.name, arguments=update, is_local=True)

    awaited = [command(container, "wait", container.name, states=THERE) for container in inside]
    return [availability("drain"), *awaited], availability("active")


def toxics(links: Container, link: str, wanted: Mapping[str, Mapping[str, int]]) -> Treatment:
    """Add toxics, kind → attributes, to the proxies of a link, both ways. A proxy that was started again has none."""
    entries = json.dumps(
        [
            {"type": kind, "stream": direction, "attributes": attributes}
            for direction in DIRECTIONS
            for kind, attributes in wanted.items()
        ]
    )

    def changed(verb: str) -> Command:
        script = ("exec", links.name, "python3", "-c", text_of("toxics"), verb, link, entries)
        return command(links, *script, states=("running",) if verb == "remove" else ())

    return [changed("add")], [changed("remove")]


def routes(compose: Deployed, lost: Mapping[Container, Sequence[str]]) -> Treatment:
    """Lose what containers send to some addresses, and what comes from there."""

    def changed(verb: str) -> Iterator[Command]:
        for container, addresses in lost.items():
            namespace = (f"--network=container:{container}", "--user=0:0", "--cap-add=NET_ADMIN")
            yield helper(compose, container, namespace, "routes", verb, *addresses)

    return list(changed("lose")), list(changed("find"))


def helper(compose: Deployed, container: Container, namespace: Sequence[str], script: str, *arguments: str) -> Command:
    """Runs a script of ``inside`` in a namespace of a container, with only what it needs there."""
    rights = ("--cap-drop=ALL", "--security-opt=no-new-privileges:true", "--read-only")
    bounds = ("--rm", *rights, "--memory=64m", "--pids-limit=16", f"--label={HELPER}=1", "--entrypoint=python3")
    image = (compose.helper_image, "-c", text_of(script))
    return command(container, "run", *bounds, *namespace, *image, *arguments, states=THERE)


def text_of(script: str) -> str:
    return resources.files("corda_lab.faults.inside").joinpath(f"{script}.py").read_text(encoding="utf-8")


def _inspected(container: Container, form: str) -> str:
    return docker("container", "inspect", "--format", form, container.name, on=container.engine)
