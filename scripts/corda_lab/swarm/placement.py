"""Placement files: their fields, the checks of one on its own, and how it fits one shape of the lab."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, PlainValidator, StringConstraints, ValidationError
from pydantic_core import PydanticCustomError

from corda_lab.errors import LabError
from corda_lab.knobs import shape as knobs
from corda_lab.lab.compose import OPTIONAL_SERVICES
from corda_lab.lab.settings import BASE_SERVICES, BOOTSTRAP, NOTARY, PARTIES, parse_size
from corda_lab.paths import CONFIGS
from corda_lab.text import words
from lab_workload.field_problems import field_problem
from lab_workload.names import did_you_mean
from lab_workload.problems import Location, Problem, WorkloadError, in_file_order
from lab_workload.schema import Fields, Text
from lab_workload.yaml_source import Source, read_fields

Service = Mapping[str, Any]
"""The fields of a service of Compose, by name."""
PLACEMENTS = CONFIGS / "placements"
NODES = "nodes"
"""Stands for all nodes that the file does not name."""
EACH_NODE = "node"

NODE_NAMES = (NOTARY.lower(), *(f"{NOTARY.lower()}{number}" for number in (2, 3, 4)), *map(str.lower, PARTIES))
"""The services of all nodes that a network can have."""
PLACEABLE = (NODES, *dict.fromkeys((*NODE_NAMES, *OPTIONAL_SERVICES, *BASE_SERVICES)))
"""What ``services`` of a host may name."""

GENERATOR = "locust"
"""The service from which workers are made."""
CLUSTER = ("notary2", "notary3", "notary4")
"""Members of a notary that is a cluster."""

_HOST = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")

CORES_MAX = 1024
HOSTS_MAX = 64
WORKERS_MAX = 64
"""Workers of one host. More processes than cores only wait for one another."""
LABEL = "corda-lab.host"


def _size(value: Any) -> int:
    if isinstance(value, str) and knobs.is_size(value):
        return parse_size(value, option="")
    raise PydanticCustomError("size", "must be a memory size such as 1536m or 2g")


Cores = Annotated[float, Field(gt=0, le=CORES_MAX)]
Size = Annotated[int, PlainValidator(_size)]
"""Bytes, written as ``1536m`` or ``2g``."""
Label = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]{0,60}[a-z0-9])?$")]
Registry = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[a-z0-9._/-]*[a-z0-9])?$")]


class ReservedFields(Fields):
    """What a host keeps free for one service, whatever else it runs."""

    cores: Cores
    memory: Size


class WorkersFields(ReservedFields):
    """Worker processes of the load generator on one host. Cores and memory are those of each of them."""

    count: Annotated[int, Field(ge=1, le=WORKERS_MAX)]


class HostFields(Fields):
    """One host, or one host for each node, with what it has and what runs on it."""

    each: Literal["node"] | None = None
    """``node`` stands for as many hosts as there are nodes. Each has the name of its node as its label."""
    cores: Cores
    memory: Size
    services: dict[Text, ReservedFields] = Field(default_factory=dict)
    """By the name of the service; ``nodes`` are all nodes that the file does not name."""
    workers: WorkersFields | None = None


class PlacementFields(Fields):
    description: Text
    label: Label = LABEL
    """Label of the Swarm nodes whose value is the name of the host."""
    overlay: Literal["encrypted", "plain"]
    """Whether hosts encrypt what services send to one another."""
    registry: Registry
    """The registry to which the lab pushes its images, and from which every host pulls them: ``host:port/path``."""
    hosts: Annotated[dict[Text, HostFields], Field(min_length=1, max_length=HOSTS_MAX)]

    @property
    def is_encrypted(self) -> bool:
        return self.overlay == "encrypted"


_MODELS: Mapping[str, type[BaseModel]] = {"hosts": HostFields, "services": ReservedFields, "workers": WorkersFields}


@dataclass(frozen=True)
class Placement:
    name: str
    """The file's name without its suffix."""
    fields: PlacementFields
    source: Source


def find_placement(name: str, folder: Path = PLACEMENTS) -> Placement:
    """Read the placement of a name in ``configs/placements/``, or a file of one's own. Raises LabError."""
    if name.endswith((".yaml", ".yml")):
        return read_placement(Path(name))
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    if name not in known:
        raise LabError(
            f"There is no placement {name!r}{did_you_mean(name, known)}",
            f"Choose from {', '.join(known)}, or give the path of a file of your own that ends in .yaml.",
        )
    return read_placement(folder / f"{name}.yaml")


def read_placement(path: Path) -> Placement:
    try:
        return _read(path)
    except WorkloadError as error:
        raise LabError(problems=error.problems, remedy="docs/scale-out.md describes placement files.") from None


def _read(path: Path) -> Placement:
    data, source = read_fields(path)
    try:
        fields = PlacementFields.model_validate(data)
    except ValidationError as error:
        problems = [_reworded(detail, source) for detail in error.errors(include_url=False)]
        raise WorkloadError(in_file_order(problems)) from None
    if problems := [*_host_problems(fields, source), *_service_problems(fields, source)]:
        raise WorkloadError(in_file_order(problems))
    return Placement(path.stem, fields, source)


def _reworded(detail: Any, source: Source) -> Problem:
    location: Location = tuple(detail["loc"])
    if detail["type"] == "string_pattern_mismatch":
        names = "lower-case letters, digits, dots and hyphens"
        meant = "host, host:port or host:port/path" if location[-1] == "registry" else names
        return source.problem(location, f"must be {meant}, but is {detail['input']!r}")
    if detail["type"] in ("model_type", "dict_type"):
        return source.problem(location, "must consist of 'field: value' lines")
    parents = [_MODELS[part] for part in map(str, location[:-1]) if part in _MODELS]
    return field_problem(detail, source, tuple((parents or [PlacementFields])[-1].model_fields))


def _host_problems(fields: PlacementFields, source: Source) -> Iterator[Problem]:
    for_each = [name for name, host in fields.hosts.items() if host.each]
    for name, host in fields.hosts.items():
        place = ("hosts", name)
        if not _HOST.fullmatch(name):
            yield source.problem(place, "the name of a host must be lower-case letters, digits and hyphens")
        if host.each is None and name in NODE_NAMES and for_each:
            yield source.problem(place, f"is also the name of the host that each: {EACH_NODE} stands for; rename it")
        if not host.services and host.workers is None:
            yield source.problem(
                (*place, "services"), "is missing: nothing runs on this host; add it, or remove the host"
            )
        if host.each and (set(host.services) != {NODES} or host.workers is not None):
            yield source.problem((*place, "each"), f"needs {NODES}, and nothing else, in services")
    if len(for_each) > 1:
        yield source.problem(("hosts", for_each[1], "each"), "is given for a second host; keep one of them")


def _service_problems(fields: PlacementFields, source: Source) -> Iterator[Problem]:
    host_of: dict[str, str] = {}
    for name, host in fields.hosts.items():
        for service in host.services:
            place = ("hosts", name, "services", service)
            if service == BOOTSTRAP:
                yield source.problem(place, "does not run in the stack; remove it")
            elif service not in PLACEABLE:
                hint = did_you_mean(service, PLACEABLE) or f"; choose from {', '.join(PLACEABLE)}"
                yield source.problem(place, f"unknown service{hint}")
            elif service in host_of:
                yield source.problem(place, f"is also on the host {host_of[service]}; remove one of them")
            host_of.setdefault(service, name)


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

    def reserved_on(self, host: str) -> tuple[float, int]:
        """Return the cores and the bytes that are kept free on a host, for services and workers."""
        services = [place for place in self.places.values() if place.host == host]
        cores, memory = sum(place.cores for place in services), sum(place.memory for place in services)
        fields = self.placement.fields.hosts.get(host)
        if fields and fields.workers:
            cores += fields.workers.count * fields.workers.cores
            memory += fields.workers.count * fields.workers.memory
        return cores, memory


def fit(placement: Placement, running: Mapping[str, Service]) -> Fitted:
    """Give every service that keeps running its place. Raises LabError with everything that does not fit."""
    hosts, source = placement.fields.hosts, placement.source
    problems = []
    if any(name in running for name in CLUSTER):
        # The engine makes the name of a service known when its first health check has passed.
        text = "the members of a notary cluster look for one another before Swarm knows their names"
        problems.append(Problem.of("NOTARY", text, "Use simple, validating or jpa."))
    places: dict[str, Place] = {}
    for name, service in running.items():
        if (host_and_entry := _entry_of(name, placement)) is None:
            group = f" ({NODES} for all nodes)" if name in NODE_NAMES else ""
            remedy = f"Add {name}{group} to services of a host, with cores and memory."
            text = f"the service {name} of this shape has no host"
            problems.append(source.problem(("hosts",), text, remedy))
            continue
        host, entry = host_and_entry
        reserved = hosts[host].services[entry]
        places[name] = Place(name if hosts[host].each else host, reserved.cores, reserved.memory)
        # Nodes have the same limits, so one line says it for all of them.
        whose = "each node" if entry == NODES else name
        problems += _limit_problems(whose, service, ("hosts", host, "services", entry), reserved, source)
    fitted = Fitted(placement, places)
    for host, fields in hosts.items():
        if fields.workers is not None and GENERATOR in running:
            # A worker has the limits of the generator.
            where = ("hosts", host, "workers")
            problems += _limit_problems("each worker", running[GENERATOR], where, fields.workers, source)
        # The hosts of nodes have the names of the nodes.
        if fields.each is None:
            cores, memory = fitted.reserved_on(host)
        else:
            cores, memory = fields.services[NODES].cores, fields.services[NODES].memory
        if cores > fields.cores:
            text = f"{cores:g} cores are reserved, but the host has {fields.cores:g}"
            problems.append(source.problem(("hosts", host, "cores"), f"{text}; reserve fewer, or take a larger host"))
        if memory > fields.memory:
            text = f"{words.size(memory)} are reserved, but the host has {words.size(fields.memory)}"
            problems.append(source.problem(("hosts", host, "memory"), f"{text}; reserve less, or take a larger host"))
    if problems:
        raise LabError(problems=in_file_order(problems))
    return fitted


def _entry_of(service: str, placement: Placement) -> tuple[str, str] | None:
    """Return the host of a service, and the name of its entry there; None if it has none."""
    for entry in (service, *((NODES,) if service in NODE_NAMES else ())):
        for host, fields in placement.fields.hosts.items():
            if entry in fields.services:
                return host, entry
    return None


def _limit_problems(
    whose: str, service: Service, where: Location, reserved: ReservedFields, source: Source
) -> Iterator[Problem]:
    """Yield where a service may use more than its host keeps free for it: then its neighbours could take it."""
    limit, cores = int(service.get("mem_limit", 0)), service.get("cpus") or 0
    if limit > reserved.memory:
        text = f"{words.size(reserved.memory)} are reserved, but the limit of {whose} is {words.size(limit)}"
        remedy = f"Reserve {-(-limit // 1024**2)}m, or lower the limit in .env."
        yield source.problem((*where, "memory"), text, remedy)
    if cores > reserved.cores:
        text = f"{reserved.cores:g} cores are reserved, but the limit of {whose} is {cores:g}"
        yield source.problem((*where, "cores"), text, f"Reserve {cores:g}, or lower the limit in .env.")
