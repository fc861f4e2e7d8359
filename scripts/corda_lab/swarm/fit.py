"""Checks how a placement fits one shape of the lab, and gives every service its host."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from corda_lab.errors import LabError
from corda_lab.swarm.placement import NODE_NAMES, NODES, HostFields, Placement, ReservedFields, over_room
from corda_lab.swarm.project import Project, Service
from corda_lab.text import words
from lab_workload.problems import Location, Problem, in_file_order
from lab_workload.yaml_source import Source

GENERATOR = "locust"
"""The service from which workers are made."""
CLUSTER = ("notary2", "notary3", "notary4")
"""Members of a notary that is a cluster."""


@dataclass(frozen=True)
class Place:
    """Where one service runs, and what the host keeps free for it."""

    host: str
    """The value of the label of its host."""
    cores: float
    memory: int
    """Bytes."""


@dataclass(frozen=True)
class Fitted:
    """A placement that fits a project."""

    placement: Placement
    places: Mapping[str, Place]
    """The place of each service of the stack."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names of all hosts, in the order of the file, each once. Those on which nothing runs are left out."""
        used = {place.host for place in self.places.values()}
        fields = self.placement.fields.hosts
        used |= {name for name, host in fields.items() if host.workers is not None}
        nodes = [place.host for place in self.places.values() if place.host not in fields]
        return (*nodes, *(name for name in fields if name in used))

    @property
    def workers(self) -> tuple[str, ...]:
        """The host of each worker of the load generator, in the order of the file."""
        fields = self.placement.fields.hosts
        return tuple(name for name, host in fields.items() if host.workers for _ in range(host.workers.count))

    def fields_of(self, host: str) -> HostFields:
        fields = self.placement.fields.hosts
        return fields[host] if host in fields else next(one for one in fields.values() if one.each)


def fit(placement: Placement, project: Project) -> Fitted:
    """Give every service of a project its place. Raises LabError with everything that does not fit."""
    running = project.running
    problems = [*_cluster_problems(running)]
    places: dict[str, Place] = {}
    for name, service in running.items():
        found = _entry_of(name, placement)
        if found is None:
            problems.append(_unplaced(name, placement))
            continue
        host, where, reserved = found
        is_for_each = placement.fields.hosts[host].each is not None
        places[name] = Place(name if is_for_each else host, reserved.cores, reserved.memory)
        problems += _limit_problems(name, service, where, reserved, placement.source)
    problems += _worker_problems(placement, running)
    problems += _room_problems(placement, places)
    if problems:
        raise LabError(problems=in_file_order(problems))
    return Fitted(placement, places)


def _entry_of(service: str, placement: Placement) -> tuple[str, Location, ReservedFields] | None:
    """Return the host of a service, and its entry with its place in the file; None if it has none."""
    for wanted in (service, *((NODES,) if service in NODE_NAMES else ())):
        for name, host in placement.fields.hosts.items():
            if wanted in host.services:
                return name, ("hosts", name, "services", wanted), host.services[wanted]
    return None


def _unplaced(service: str, placement: Placement) -> Problem:
    group = f" ({NODES} for all nodes)" if service in NODE_NAMES else ""
    remedy = f"Add {service}{group} to services of a host, with cores and memory."
    return placement.source.problem(("hosts",), f"the service {service} of this shape has no host", remedy)


def _limit_problems(
    name: str, service: Service, where: Location, reserved: ReservedFields, source: Source
) -> Iterator[Problem]:
    """Yield where a service may use more than its host keeps free for it: then its neighbours could take it."""
    # Nodes have the same limits, so one line says it for all of them.
    whose = "each node" if where[-1] == NODES else name
    limit, cores = int(service.get("mem_limit", 0)), service.get("cpus") or 0
    if limit > reserved.memory:
        text = f"{words.size(reserved.memory)} are reserved, but the limit of {whose} is {words.size(limit)}"
        remedy = f"Reserve {-(-limit // 1024**2)}m, or lower the limit in .env."
        yield source.problem((*where, "memory"), text, remedy)
    if cores > reserved.cores:
        text = f"{reserved.cores:g} cores are reserved, but the limit of {whose} is {cores:g}"
        yield source.problem((*where, "cores"), text, f"Reserve {cores:g}, or lower the limit in .env.")


def _worker_problems(placement: Placement, running: Mapping[str, Service]) -> Iterator[Problem]:
    """Yield where a worker may use more than its host keeps free for it. It has the limits of the generator."""
    for name, host in placement.fields.hosts.items():
        if host.workers is not None and GENERATOR in running:
            where = ("hosts", name, "workers")
            yield from _limit_problems("each worker", running[GENERATOR], where, host.workers, placement.source)


def _cluster_problems(running: Mapping[str, Service]) -> Iterator[Problem]:
    if any(name in running for name in CLUSTER):
        # The engine makes the name of a service known when its first health check has passed.
        text = "the members of a notary cluster look for one another before Swarm knows their names"
        yield Problem.of("NOTARY", text, "Use simple, validating or jpa.")


def _room_problems(placement: Placement, places: Mapping[str, Place]) -> Iterator[Problem]:
    for name, host in placement.fields.hosts.items():
        if host.each is None:
            here = [place for place in places.values() if place.host == name]
            yield from over_room(host, here, ("hosts", name), placement.source)
