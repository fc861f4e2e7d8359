"""How each kind of fault is made and healed: by commands for the client of the engine.

A journal keeps them before the first is run. So what healing needs is in the commands, and any process can run them,
any number of times. They are what a user could type: without root, and without a container that is privileged or has
the socket of the engine.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bare.commands import come_true, last_words
from corda_lab.errors import LabError
from corda_lab.faults.model import LINK_KINDS, Part, links_of
from corda_lab.lab.docker import (
    HERE,
    RESTART_SECONDS,
    Container,
    addresses_in,
    ask,
    docker,
    is_restarted,
    output_of,
    replace_ended,
)
from corda_lab.lab.lab import Lab, Service
from corda_lab.lab.settings import parse_size
from lab_workload.faults import GENERATOR, Fault, FaultKind

STOP_SECONDS_MAX = 150.0
"""Longer than the longest time that a service gets to stop."""
HELPER_SECONDS_MAX = 60.0
SLOW = ("start", "stop", "wait")
"""The docker commands that may take as long as a service."""
QUIET_SECONDS = 2.0
"""So long no helper may be seen: its client may still be about to ask for it."""
HELPER = "org.cordalab.fault"
"""The label of the containers that change a namespace. Each runs for less than a second."""
GONE = "gone"
THERE = ("running", "paused")
"""A container that has ended has lost its namespaces, and with them what was changed there."""
ENDED = ("exited", "dead")
MIB = 1024**2
ROOMS = (1.0, 1.05, 1.15, 1.3)
"""A kernel may refuse a memory limit at what is in use. Then more room is left."""
LINKS = "links"
"""The service with the proxies of the links."""


class Command(Part):
    """One command. If it has ``states``, it does nothing unless its container is in one of them."""

    place: Container
    """The container that it is about."""
    arguments: tuple[str, ...] = ()
    """What follows ``docker`` on the command line."""
    states: tuple[str, ...] = ()
    is_local: bool = False
    """Whether it is for the engine of this machine, wherever the container is."""
    replaces: str = ""
    """In place of the arguments: the service of Swarm that has to make a new container."""

    def run(self) -> None:
        if self.states and state_of(self.place) not in self.states:
            return
        if self.replaces:
            replace_ended(self.replaces)
        else:
            seconds_max = STOP_SECONDS_MAX if self.arguments[0] in SLOW else HELPER_SECONDS_MAX
            on = HERE if self.is_local else self.place.context
            done = docker(*self.arguments, on=on, seconds_max=seconds_max)
            # The text of a script may follow.
            output_of(done, f"{on + ': ' if on else ''}`docker {' '.join(self.arguments[:2])}` failed")


class FaultPlan(Part):
    """A fault in a lab: how it is made and healed."""

    what: str
    """``kill bridge``."""
    seconds: float
    """How long it lasts."""
    make: tuple[Command, ...]
    is_any: bool = False
    """Whether the first of the commands that succeeds makes it. Otherwise, all of them do."""
    ends_or_freezes: bool = False
    """Whether it ends or stops a process, which shows in the state of a container."""
    heal: tuple[Command, ...]
    is_made: bool = False
    """Whether the engine has done what makes the fault. Of a killed command, it may be about to."""


def make(plan: FaultPlan) -> None:
    """Make a fault. Raises LabError."""
    for command in plan.make:
        try:
            command.run()
        except LabError:
            if not plan.is_any or command is plan.make[-1]:
                raise
        else:
            if plan.is_any:
                return


def heal(plan: FaultPlan) -> None:
    """Undo what a fault has changed, and start its containers again that have ended. Raises LabError.

    What is as before already stays so.
    """
    for command in plan.heal:
        command.run()


def settle(plan: FaultPlan) -> None:
    """Let the engine end what a command that was killed meanwhile has asked of it. Raises LabError.

    Otherwise it would make the fault after the healing. A container that has not ended or stopped yet is made to now.
    """
    for command in plan.make if plan.ends_or_freezes else ():
        command.model_copy(update={"states": ("running",)}).run()
    contexts = {command.place.context for command in (*plan.make, *plan.heal)}
    # Also one that the engine has made and not started yet.
    filters = (f"label={HELPER}", "status=created", "status=running")
    listing = ("ps", "--quiet", *(word for each in filters for word in ("--filter", each)))
    quiet_since = time.monotonic()

    def is_quiet() -> bool:
        nonlocal quiet_since
        if any(ask(*listing, on=context).strip() for context in contexts):
            quiet_since = time.monotonic()
        return time.monotonic() - quiet_since >= QUIET_SECONDS

    if not come_true(is_quiet, seconds_max=HELPER_SECONDS_MAX):
        raise LabError(f"a helper that makes {plan.what} does not end")


def state_of(container: Container) -> str:
    """The state of a container: ``running``, ``paused``, ``exited``; ``gone`` if it does not exist. Raises LabError."""
    form = "{{.State.Status}}"
    done = docker("container", "inspect", "--format", form, container.name, on=container.context)
    if done.returncode == 0:
        return done.stdout.strip()
    if "no such container" in done.stderr.lower():
        return GONE
    raise LabError(f"the engine does not say how {container} is: {last_words(done.stderr)}")


Treatment = tuple[Sequence[Command], Sequence[Command]]
"""What makes a fault, and what heals it."""


@dataclass(frozen=True)
class Target:
    """A fault that is about to be made on a container of a lab."""

    fault: Fault
    compose: Lab
    services: Sequence[Service]
    generator: Container
    """The container of the load."""

    @property
    def container(self) -> Container:
        return self.container_of(LINKS if self.fault.kind in LINK_KINDS else self.fault.ends[0])

    def container_of(self, name: str) -> Container:
        """The container of a service, or of the load. Raises LabError if the lab has none."""
        if name == GENERATOR:
            return self.generator
        for service in self.services:
            if service.name == name:
                return service.container
        raise LabError(f"the lab has no {name}", "`scripts/lab status` shows its services.", exit_code=1)

    def on(self, *arguments: str, states: tuple[str, ...] = ()) -> Command:
        return Command(place=self.container, arguments=arguments, states=states)


def plan_of(fault: Fault, compose: Lab, generator: Container) -> FaultPlan:
    """How a fault is made and healed. ``generator`` is the container of the load. Changes nothing. Raises LabError."""
    target = Target(fault, compose, compose.services(), generator)
    if fault.target in compose.hosts and fault.target not in {GENERATOR, *(one.name for one in target.services)}:
        made, healed = of_host(target)
        return FaultPlan(what=fault.name, seconds=fault.for_seconds, make=tuple(made), heal=tuple(healed))
    made, healed = KINDS[fault.kind](target)
    seconds = fault.for_seconds
    # The container of a load stays ended: its rows are all there will be.
    if fault.target != GENERATOR:
        service = LINKS if fault.kind in LINK_KINDS else fault.ends[0]
        replacer = compose.replacer(service)
        if fault.kind == "kill" and replacer and is_restarted(replacer):
            seconds = min(seconds, RESTART_SECONDS)
        start = () if replacer else ("start", target.container.name)
        healed = [*healed, Command(place=target.container, arguments=start, states=ENDED, replaces=replacer)]
    return FaultPlan(
        what=fault.name,
        seconds=seconds,
        make=tuple(made),
        is_any=fault.kind == "memory-limit",
        ends_or_freezes=fault.kind in ("kill", "restart", "pause"),
        heal=tuple(healed),
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
    compose, ends = target.compose, target.fault.ends
    if len(ends) == 1:
        return routes(compose, {target.container: compose.neighbours(target.container)})
    one, other = (target.container_of(end) for end in ends)
    lost, restored = routes(compose, {one: addresses_of(other), other: addresses_of(one)})
    if not any(set(link.split("-")) == set(ends) for link in links_of(compose.settings.values.get("LINKS", ""))):
        return lost, restored
    # A link that loses everything tells nobody.
    silenced, opened = toxics(target.container_of(LINKS), target.fault.target, {"timeout": {"timeout": 0}})
    return [*lost, *silenced], [*restored, *opened]


def addresses_of(container: Container) -> list[str]:
    return addresses_in(inspected(container, "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}"))


def full_disk(target: Target) -> Treatment:
    """Let no process of a container write to a file. Processes that start afterwards, from outside, have no limit."""
    user = inspected(target.container, "{{.Config.User}}").strip() or "0:0"
    namespace = (f"--pid=container:{target.container.name}", f"--user={user}", "--network=none")
    forbid, allow = (helper(target.compose, target.container, namespace, "files", verb) for verb in ("forbid", "allow"))
    return [forbid], [allow]


def memory_limit(target: Target) -> Treatment:
    """Give a container no more memory than it uses, or than the fault says. The kernel ends it if it needs more."""
    container = target.container
    memory, swap = inspected(container, "{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}}").split()
    if memory == "0":
        raise LabError(f"{container} has no memory limit, so none could be restored")
    used = ask("stats", "--no-stream", "--format", "{{.MemUsage}}", container.name, on=container.context)
    in_use = parse_size(used.partition("/")[0].strip().replace(" ", ""), option="docker stats")
    if not in_use:
        # A limit of 0 would be none.
        raise LabError(f"the engine does not say how much memory {container} uses")
    given = int(target.fault.parameter("megabytes") * MIB)
    sizes = [given] if given else [int(in_use * room) for room in ROOMS]

    def limit(size: object, with_swap: object, states: tuple[str, ...] = ()) -> Command:
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
"""What makes and what heals each kind. ``plan_of`` adds the start of what has ended."""


def of_host(target: Target) -> Treatment:
    """A whole host: cut off, killed with everything on it, or drained as its operator would do it.

    Raises LabError if nothing of the lab runs there.
    """
    host, kind, compose = target.fault.target, target.fault.kind, target.compose
    running = [one for one in target.services if one.container.context == host and one.state == "running"]
    inside = [one.container for one in running]
    if kind == "partition":
        # Each container on the host, those of a load too, loses the addresses that are elsewhere.
        known = compose.addresses()
        inside = sorted((one for one in known if one.context == host), key=lambda one: one.name)
        elsewhere = sorted({address for one in known if one.context != host for address in known[one]})
    if not inside:
        raise LabError(f"no container of the lab runs on the host {host}", exit_code=1)
    if kind == "partition":
        return routes(compose, dict.fromkeys(inside, elsewhere))
    # Swarm makes a new container of each service that has ended, unless it is about to.
    replaced = [
        Command(place=one.container, states=(*ENDED, GONE), replaces=compose.replacer(one.name)) for one in running
    ]
    if kind == "kill":
        kill_all = ("kill", "--signal", "KILL", *(one.name for one in inside))
        return [Command(place=inside[0], arguments=kill_all)], replaced
    # Swarm ends all services of the host as they should end, and places nothing there until it is active again.
    node = ask("info", "--format", "{{.Swarm.NodeID}}", on=inside[0].context).strip()
    # This machine is a manager of the swarm.
    drain, activate = (
        Command(place=inside[0], arguments=("node", "update", "--availability", to, node), is_local=True)
        for to in ("drain", "active")
    )
    awaited = [Command(place=one, arguments=("wait", one.name), states=THERE) for one in inside]
    return [drain, *awaited], [activate, *replaced]


def toxics(links: Container, link: str, kinds: Mapping[str, Mapping[str, int]]) -> Treatment:
    """Add toxics, kind → attributes, to the proxies of a link, both ways. A proxy that was started again has none."""
    entries = [
        {"type": kind, "stream": direction, "attributes": attributes}
        for direction in ("upstream", "downstream")
        for kind, attributes in kinds.items()
    ]

    def changed(verb: str, *states: str) -> Command:
        script = ("exec", links.name, "python3", "-c", text_of("toxics"), verb, link, json.dumps(entries))
        return Command(place=links, arguments=script, states=states)

    return [changed("add")], [changed("remove", "running")]


def routes(compose: Lab, lost: Mapping[Container, Sequence[str]]) -> Treatment:
    """Lose what containers send to some addresses, and what comes from there."""

    def changed(verb: str) -> Iterator[Command]:
        for container, addresses in lost.items():
            namespace = (f"--network=container:{container}", "--user=0:0", "--cap-add=NET_ADMIN")
            yield helper(compose, container, namespace, "routes", verb, *addresses)

    return list(changed("lose")), list(changed("find"))


def helper(compose: Lab, container: Container, namespace: Sequence[str], script: str, *arguments: str) -> Command:
    """Runs a script of ``inside`` in a namespace of a container, with only what it needs there."""
    rights = ("--cap-drop=ALL", "--security-opt=no-new-privileges:true", "--read-only")
    bounds = ("--rm", *rights, "--memory=64m", "--pids-limit=16", f"--label={HELPER}=1", "--entrypoint=python3")
    image = (compose.helper_image, "-c", text_of(script))
    return Command(place=container, arguments=("run", *bounds, *namespace, *image, *arguments), states=THERE)


def text_of(script: str) -> str:
    return (Path(__file__).parent / "inside" / f"{script}.py").read_text(encoding="utf-8")


def inspected(container: Container, form: str) -> str:
    return ask("container", "inspect", "--format", form, container.name, on=container.context).strip()
