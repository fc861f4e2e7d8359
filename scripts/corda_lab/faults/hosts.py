"""Faults of a whole host of a stack: cut off, killed with everything on it, or drained as its operator would do it."""

from collections.abc import Sequence

from corda_lab.errors import LabError
from corda_lab.faults.wound import STOP_SECONDS_MAX, Wound, docker, state_of
from corda_lab.host.processes import come_true
from corda_lab.lab.deployed import Deployed, Service, hosts_of
from corda_lab.lab.engine import Container
from corda_lab.lab.replacing import replace_ended, replacer_of
from corda_lab.steps.faults import GENERATOR, Fault

HAS_ENDED = ("exited", "dead", "gone")


def is_host(target: str, compose: Deployed, services: Sequence[Service]) -> bool:
    """Whether a target is a host. One that has the name of a part of the lab is that part."""
    is_part = target == GENERATOR or any(service.name == target for service in services)
    return target in hosts_of(compose) and not is_part


def wound_of(fault: Fault, compose: Deployed, services: Sequence[Service]) -> Wound:
    """What a fault of a host is about to change. Changes nothing. Raises LabError if the host has no container."""
    if fault.kind == "partition":
        inside, notes = _cut_off(fault.target, compose)
    else:
        running = [one for one in services if one.container.engine.name == fault.target and one.state == "running"]
        inside = [one.container for one in running]
        notes = {"services": " ".join(replacer_of(compose, one.name) for one in running)}
    if not inside:
        raise LabError(f"no container of the lab runs on the host {fault.target}", exit_code=1)
    engine = inside[0].engine
    if fault.kind == "restart":
        notes["node"] = docker("info", "--format", "{{.Swarm.NodeID}}", on=engine)
    return Wound(
        kind=fault.kind,
        target=fault.target,
        container=inside[0].name,
        context=engine.name,
        image=compose.helper_image,
        notes={"containers": " ".join(one.name for one in inside), **notes},
    )


def _cut_off(host: str, compose: Deployed) -> tuple[list[Container], dict[str, str]]:
    """The containers on a host, those of a load too, and the addresses elsewhere that each of them is to lose."""
    found = compose.addresses()
    inside = sorted((one for one in found if one.engine.name == host), key=lambda one: one.name)
    elsewhere = sorted({address for one in found if one.engine.name != host for address in found[one]})
    return inside, {"addresses": " ".join(elsewhere)}


def kill(wound: Wound, _fault: Fault) -> None:
    """End all services of a host at once."""
    docker("kill", "--signal", "KILL", *(one.name for one in wound.places), on=wound.place.engine)


def drain(wound: Wound, _fault: Fault) -> None:
    """Let Swarm end all services of a host as they should end, and place nothing there. Wait until they have ended."""
    _set_availability(wound, "drain")
    if not come_true(lambda: _have_ended(wound), seconds_max=STOP_SECONDS_MAX):
        raise LabError(f"the services of {wound.target} did not end within {STOP_SECONDS_MAX:.0f} s")


def activate(wound: Wound) -> None:
    """Let Swarm place services on a host again, and start those that have ended."""
    _set_availability(wound, "active")
    start_again(wound)


def start_again(wound: Wound) -> None:
    """Let Swarm make new containers of the services of a host that have ended, unless it is about to."""
    for container, service in zip(wound.places, wound.notes["services"].split(), strict=True):
        if state_of(container) in HAS_ENDED:
            replace_ended(service)


def _set_availability(wound: Wound, availability: str) -> None:
    docker("node", "update", "--availability", availability, wound.notes["node"])


def _have_ended(wound: Wound) -> bool:
    return all(state_of(one) in HAS_ENDED for one in wound.places)
