"""Faults of a whole host of a stack: cut off, killed with everything on it, or drained as its operator would do it."""

from collections.abc import Sequence

from corda_lab.errors import LabError
from corda_lab.faults.helpers import Commands, command, routes
from corda_lab.faults.wound import ENDED, GONE, THERE, Command, Wound, docker
from corda_lab.lab.deployed import Deployed, Service, hosts_of
from corda_lab.lab.engine import Container
from corda_lab.lab.replacing import replacer_of
from corda_lab.steps.faults import GENERATOR, Fault


def is_host(target: str, compose: Deployed, services: Sequence[Service]) -> bool:
    """Whether a target is a host. One that has the name of a part of the lab is that part."""
    is_part = target == GENERATOR or any(service.name == target for service in services)
    return target in hosts_of(compose) and not is_part


def wound_of(fault: Fault, compose: Deployed, services: Sequence[Service]) -> Wound:
    """How a fault of a host is made and healed. Changes nothing. Raises LabError if the host has no container."""
    if fault.kind == "partition":
        made, healed = cut_off(fault.target, compose)
    else:
        running = [one for one in services if one.container.engine.name == fault.target and one.state == "running"]
        inside = [one.container for one in running]
        replaced = [replace(one, compose) for one in running]
        if not inside:
            made, healed = [], []
        elif fault.kind == "kill":
            names = (container.name for container in inside)
            made, healed = [command(inside[0], "kill", "--signal", "KILL", *names)], replaced
        else:
            made, activate = drain(inside)
            healed = [activate, *replaced]
    if not made:
        raise LabError(f"no container of the lab runs on the host {fault.target}", exit_code=1)
    return Wound(what=fault.name, seconds=fault.for_seconds, make=tuple(made), heal=tuple(healed))


def cut_off(host: str, compose: Deployed) -> tuple[Commands, Commands]:
    """Let each container on a host, those of a load too, lose the addresses that are elsewhere."""
    found = compose.addresses()
    inside = sorted((one for one in found if one.engine.name == host), key=lambda one: one.name)
    elsewhere = sorted({address for one in found if one.engine.name != host for address in found[one]})
    return routes(compose, dict.fromkeys(inside, elsewhere))


def replace(service: Service, compose: Deployed) -> Command:
    """Lets Swarm make a new container of a service that has ended, unless it is about to."""
    container, states = service.container, (*ENDED, GONE)
    replacer = replacer_of(compose, service.name)
    return Command(container=container.name, context=container.engine.name, states=states, replaces=replacer)


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
