"""Makes and heals each kind of fault.

Everything is done with the client of the engine, by the names of containers: as a user could do it, without root, and
without a container that is privileged or has the socket of the engine. Healing is possible at any time, any number of
times, and by another process than the one that made the fault.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from corda_lab.errors import LabError
from corda_lab.faults import hosts
from corda_lab.faults.wound import HELPER_SECONDS_MAX, STOP_SECONDS_MAX, Wound, docker, inspected, state_of
from corda_lab.host.processes import come_true, last_words
from corda_lab.lab.deployed import Deployed, Service
from corda_lab.lab.engine import Container, Engine, addresses_in
from corda_lab.lab.replacing import RESTART_SECONDS, is_restarted, replace_ended, replacer_of
from corda_lab.lab.settings import parse_size
from corda_lab.steps.faults import GENERATOR, LINK_KINDS, Fault, FaultKind, links_of

MIB = 1024**2
ROOMS = (1.0, 1.05, 1.15, 1.3)
"""A kernel may refuse a memory limit at what is in use. Then more room is left."""
LINKS = "links"
"""The service with the proxies of the links."""
QUIET_SECONDS = 2.0
"""So long no helper may be seen: its client may still be about to ask for it."""
HELPER = "org.cordalab.fault"
"""The label of the containers that change a namespace. Each runs for less than a second."""


@dataclass(frozen=True)
class Treatment:
    """How faults of a kind are made and healed. ``look`` reads what healing will need, and changes nothing."""

    look: Callable[[Fault, Container, Deployed], Mapping[str, str]]
    make: Callable[[Wound, Fault], None]
    heal: Callable[[Wound], None]


def container_of(target: str, services: Sequence[Service], generator: Container) -> Container:
    """The container of a target. ``generator`` is that of the load. Raises LabError if the lab has none."""
    if target == GENERATOR:
        return generator
    for service in services:
        if service.name == target:
            return service.container
    raise LabError(f"the lab has no {target}", "`scripts/lab status` shows its services.", exit_code=1)


_SILENCE = [
    {"type": "timeout", "stream": stream, "attributes": {"timeout": 0}} for stream in ("upstream", "downstream")
]
"""Toxics with which a link loses everything, and tells nobody."""


def wound_of(fault: Fault, compose: Deployed, generator: Container) -> Wound:
    """What a fault is about to change. Changes nothing. Raises LabError."""
    services = compose.services()
    if hosts.is_host(fault.target, compose, services):
        return hosts.wound_of(fault, compose, services)
    place = LINKS if fault.kind in LINK_KINDS else fault.ends[0]
    container = container_of(place, services, generator)
    notes = dict(TREATMENTS[fault.kind].look(fault, container, compose))
    if len(fault.ends) == 2 and fault.kind == "partition":
        other = container_of(fault.ends[1], services, generator)
        notes["addresses"] = " ".join(addresses_of(other))
        notes["back"] = " ".join(addresses_of(container))
        notes |= note_of("other", other)
        if is_linked(fault, compose):
            notes |= note_of("links", container_of(LINKS, services, generator)) | {"toxics": json.dumps(_SILENCE)}
    return Wound(
        kind=fault.kind,
        target=fault.target,
        container=container.name,
        context=container.engine.name,
        replacer="" if fault.target == GENERATOR else replacer_of(compose, place),
        image=compose.helper_image,
        notes=notes,
    )


def note_of(name: str, container: Container) -> dict[str, str]:
    """The notes with which ``Wound.noted`` finds a container."""
    context = {f"{name}_context": container.engine.name} if container.engine.name else {}
    return {name: container.name, **context}


def seconds_of(wound: Wound, fault: Fault) -> float:
    """How long a fault lasts: as long as it is meant to, unless Swarm starts its service again. Raises LabError."""
    if wound.kind == "kill" and wound.replacer and is_restarted(wound.replacer):
        return min(fault.for_seconds, RESTART_SECONDS)
    return fault.for_seconds


def _treatment_of(wound: Wound) -> Treatment:
    return HOST_TREATMENTS[wound.kind] if wound.is_of_host else TREATMENTS[wound.kind]


def make(wound: Wound, fault: Fault) -> None:
    """Make a fault. Raises LabError."""
    _treatment_of(wound).make(wound, fault)


def heal(wound: Wound) -> None:
    """Undo what a fault has changed, and start its containers again that have ended. Raises LabError.

    What is as before already stays so.
    """
    if wound.is_of_host:
        _treatment_of(wound).heal(wound)
    elif state_of(wound.place) != "gone":
        _treatment_of(wound).heal(wound)
        revive(wound)


def settle(wound: Wound) -> None:
    """Let the engine end what a command that was killed meanwhile has asked of it. Raises LabError.

    Otherwise it would make the fault after the healing. A container that has not ended or stopped yet is made to now.
    """
    again = {"kill": kill, "restart": stop, "pause": pause}.get(wound.kind)
    if again and not wound.is_of_host and state_of(wound.place) == "running":
        again(wound)
    engines = {container.engine for container in (*wound.places, *_others(wound))}
    quiet_since = time.monotonic()

    def is_quiet() -> bool:
        nonlocal quiet_since
        if any(map(_has_helper, engines)):
            quiet_since = time.monotonic()
        return time.monotonic() - quiet_since >= QUIET_SECONDS

    if not come_true(is_quiet, seconds_max=HELPER_SECONDS_MAX):
        raise LabError(f"a helper that makes {wound.kind} {wound.target} does not end")


def _has_helper(engine: Engine) -> bool:
    """Whether an engine has a helper, also one that it has made and not started yet."""
    states = ("--filter", "status=created", "--filter", "status=running")
    return bool(docker("ps", "--quiet", "--filter", f"label={HELPER}", *states, on=engine))


def _others(wound: Wound) -> list[Container]:
    return [wound.noted("other")] if "other" in wound.notes else []


def revive(wound: Wound) -> None:
    """Start a container that has ended. That of a load stays ended: its rows are all there will be. Raises LabError."""
    if wound.target == GENERATOR or state_of(wound.place) not in ("exited", "dead"):
        return
    if wound.replacer:
        replace_ended(wound.replacer)
    else:
        docker("start", wound.container, on=wound.place.engine, seconds_max=STOP_SECONDS_MAX)


def nothing(_fault: Fault, _container: Container, _compose: Deployed) -> Mapping[str, str]:
    """Healing needs to know nothing."""
    return {}


def kill(wound: Wound, _fault: Fault | None = None) -> None:
    """End the first process of a container at once, and so all of them."""
    docker("kill", "--signal", "KILL", wound.container, on=wound.place.engine)


def stop(wound: Wound, _fault: Fault | None = None) -> None:
    """Let the first process of a container end as after ``docker compose stop``."""
    docker("stop", wound.container, on=wound.place.engine, seconds_max=STOP_SECONDS_MAX)


def started_again(_wound: Wound) -> None:
    """``heal`` starts what has ended."""


def pause(wound: Wound, _fault: Fault | None = None) -> None:
    """Freeze all processes of a container."""
    docker("pause", wound.container, on=wound.place.engine)


def thaw(wound: Wound) -> None:
    """Let a frozen container go on."""
    if state_of(wound.place) == "paused":
        docker("unpause", wound.container, on=wound.place.engine)


def addresses_of(container: Container) -> list[str]:
    """The addresses of a container, in all its networks."""
    form = "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}"
    return addresses_in(inspected(container, form))


def is_linked(fault: Fault, compose: Deployed) -> bool:
    """Whether the two ends of a partition reach each other through a link, and not directly."""
    links = links_of(compose.settings.values.get("LINKS", ""))
    return any(set(link.split("-")) == set(fault.ends) for link in links)


def neighbours_of(fault: Fault, container: Container, compose: Deployed) -> Mapping[str, str]:
    """The addresses of everything in the networks of a container, and their gateways."""
    return {} if len(fault.ends) == 2 else {"addresses": " ".join(compose.neighbours(container))}


def part(wound: Wound, _fault: Fault) -> None:
    """Lose all packets between a container and others, and those of the link of two."""
    _routes(wound, "lose")
    if "links" in wound.notes:
        _toxics(wound.noted("links"), wound, "add")


def join(wound: Wound) -> None:
    """Let packets pass again. What a link has held back is gone: its connections are made anew."""
    _routes(wound, "find")
    if "links" in wound.notes and state_of(wound.noted("links")) == "running":
        _toxics(wound.noted("links"), wound, "remove")


def _routes(wound: Wound, verb: str) -> None:
    ends = dict.fromkeys(wound.places, wound.notes["addresses"])
    if "other" in wound.notes:
        ends[wound.noted("other")] = wound.notes["back"]
    for container, addresses in ends.items():
        # A container that has ended meanwhile has lost its namespace, and with it what was changed there.
        if state_of(container) in ("running", "paused"):
            namespace = (f"--network=container:{container}", "--user=0:0", "--cap-add=NET_ADMIN")
            helper(wound.image, container.engine, namespace, "routes", verb, *addresses.split())


def user_of(_fault: Fault, container: Container, _compose: Deployed) -> Mapping[str, str]:
    """The user of a container, who may change the limits of its processes."""
    return {"user": inspected(container, "{{.Config.User}}") or "0:0"}


def forbid_files(wound: Wound, _fault: Fault) -> None:
    """Let no process of a container write to a file."""
    _files(wound, "forbid")


def allow_files(wound: Wound) -> None:
    """Let them write again. Processes that started meanwhile, from outside, have no limit."""
    _files(wound, "allow")


def _files(wound: Wound, verb: str) -> None:
    if state_of(wound.place) in ("running", "paused"):
        namespace = (f"--pid=container:{wound.container}", f"--user={wound.notes['user']}", "--network=none")
        helper(wound.image, wound.place.engine, namespace, "files", verb)


def memory_of(_fault: Fault, container: Container, _compose: Deployed) -> Mapping[str, str]:
    """The limits of a container, and the memory that it uses."""
    form = "{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}}"
    memory, swap = inspected(container, form).split()
    if memory == "0":
        raise LabError(f"{container} has no memory limit, so none could be restored")
    used = docker("stats", "--no-stream", "--format", "{{.MemUsage}}", container.name, on=container.engine)
    in_use = parse_size(used.partition("/")[0].strip().replace(" ", ""), option="docker stats")
    if not in_use:
        # A limit of 0 would be none.
        raise LabError(f"the engine does not say how much memory {container} uses")
    return {"memory": memory, "swap": swap, "used": str(in_use)}


def limit_memory(wound: Wound, fault: Fault) -> None:
    """Give a container no more memory than it uses, or than the fault says. The kernel ends it if it needs more."""
    wanted = int(fault.parameter("megabytes") * MIB)
    for room in ROOMS:
        size = str(wanted or int(int(wound.notes["used"]) * room))
        done = wound.place.engine.run("update", "--memory", size, "--memory-swap", size, wound.container)
        if done.returncode == 0:
            return
        if wanted:
            break
    raise LabError(f"the kernel refuses the memory limit: {last_words(done.stderr)}")


def free_memory(wound: Wound) -> None:
    """Give a container its former limits."""
    limits = ("--memory", wound.notes["memory"], "--memory-swap", wound.notes["swap"])
    docker("update", *limits, wound.container, on=wound.place.engine)


def toxics_of(fault: Fault, _container: Container, _compose: Deployed) -> Mapping[str, str]:
    """The toxics of a link. Latency is added to the round trip, half of it in each direction."""
    found: list[dict[str, object]] = []
    for stream in ("upstream", "downstream"):
        if fault.kind == "reset-link":
            attributes = {"timeout": int(fault.parameter("after_ms"))}
            found.append({"type": "reset_peer", "stream": stream, "attributes": attributes})
            continue
        half = {"latency": int(fault.parameter("latency_ms") / 2), "jitter": int(fault.parameter("jitter_ms") / 2)}
        found.append({"type": "latency", "stream": stream, "attributes": half})
        if rate := int(fault.parameter("kilobytes_per_second")):
            found.append({"type": "bandwidth", "stream": stream, "attributes": {"rate": rate}})
    return {"toxics": json.dumps(found)}


def poison(wound: Wound, _fault: Fault) -> None:
    """Add the toxics of a link."""
    _toxics(wound.place, wound, "add")


def cure(wound: Wound) -> None:
    """Remove the toxics of a link. A proxy that was started again has none."""
    if state_of(wound.place) == "running":
        _toxics(wound.place, wound, "remove")


def _toxics(links: Container, wound: Wound, verb: str) -> None:
    command = ("python3", "-c", text_of("toxics"), verb, wound.target, wound.notes["toxics"])
    docker("exec", links.name, *command, on=links.engine)


def text_of(script: str) -> str:
    """The text of a script of ``inside``."""
    return resources.files("corda_lab.faults.inside").joinpath(f"{script}.py").read_text(encoding="utf-8")


def helper(image: str, engine: Engine, namespace: Sequence[str], script: str, *arguments: str) -> None:
    """Run a script of ``inside`` on an engine, in a namespace of another container, with only what it needs there."""
    common: tuple[str, ...] = (
        "run",
        "--rm",
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges:true",
        "--read-only",
        "--memory=64m",
    )
    common += ("--pids-limit=16", f"--label={HELPER}=1", "--entrypoint=python3")
    docker(*common, *namespace, image, "-c", text_of(script), *arguments, on=engine)


TREATMENTS: Mapping[FaultKind, Treatment] = {
    "kill": Treatment(nothing, kill, started_again),
    "restart": Treatment(nothing, stop, started_again),
    "pause": Treatment(nothing, pause, thaw),
    "partition": Treatment(neighbours_of, part, join),
    "slow-link": Treatment(toxics_of, poison, cure),
    "reset-link": Treatment(toxics_of, poison, cure),
    "full-disk": Treatment(user_of, forbid_files, allow_files),
    "memory-limit": Treatment(memory_of, limit_memory, free_memory),
}
HOST_TREATMENTS: Mapping[FaultKind, Treatment] = {
    "kill": Treatment(nothing, hosts.kill, hosts.start_again),
    "restart": Treatment(nothing, hosts.drain, hosts.activate),
    "partition": Treatment(nothing, part, join),
}
"""Those of a whole host. What healing needs, ``hosts.wound_of`` has read."""
