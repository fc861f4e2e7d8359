"""Placement files: their fields, and the checks of one on its own. ``fit`` checks how it fits a shape of the lab."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, Field, PlainValidator, StringConstraints, ValidationError
from pydantic_core import PydanticCustomError

from corda_lab.errors import LabError
from corda_lab.knobs import checks
from corda_lab.lab.compose import OPTIONAL_SERVICES
from corda_lab.lab.settings import BASE_SERVICES, BOOTSTRAP, NOTARY, PARTIES, parse_size
from corda_lab.paths import CONFIGS
from corda_lab.text import words
from lab_workload.field_problems import field_problem
from lab_workload.names import did_you_mean
from lab_workload.problems import Location, Problem, WorkloadError, in_file_order
from lab_workload.schema import Fields, Text
from lab_workload.yaml_source import Source, read_fields

PLACEMENTS = CONFIGS / "placements"
NODES = "nodes"
"""Stands for all nodes that the file does not name."""
EACH_NODE = "node"

NODE_NAMES = (NOTARY.lower(), *(f"{NOTARY.lower()}{number}" for number in (2, 3, 4)), *map(str.lower, PARTIES))
"""The services of all nodes that a network can have."""
PLACEABLE = (NODES, *dict.fromkeys((*NODE_NAMES, *OPTIONAL_SERVICES, *BASE_SERVICES)))
"""What ``services`` of a host may name."""

_HOST = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")

CORES_MAX = 1024
HOSTS_MAX = 64
WORKERS_MAX = 64
"""Workers of one host. More processes than cores only wait for one another."""
LABEL = "corda-lab.host"


def _size(value: Any) -> int:
    if isinstance(value, str) and checks.is_size(value):
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
    """A whole placement file."""

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


class Reserved(Protocol):
    """Anything that keeps cores, and memory in bytes, free on a host."""

    @property
    def cores(self) -> float: ...

    @property
    def memory(self) -> int: ...


@dataclass(frozen=True)
class Placement:
    """A valid placement file."""

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
    problems = [*_host_problems(fields, source), *_service_problems(fields, source), *_room_problems(fields, source)]
    if problems:
        raise WorkloadError(in_file_order(problems))
    return Placement(path.stem, fields, source)


def _reworded(detail: Any, source: Source) -> Problem:
    location: Location = tuple(detail["loc"])
    if detail["type"] == "string_pattern_mismatch":
        meant = (
            "host, host:port or host:port/path"
            if location[-1] == "registry"
            else "lower-case letters, digits, dots and hyphens"
        )
        return source.problem(location, f"must be {meant}, but is {detail['input']!r}")
    if detail["type"] in ("model_type", "dict_type"):
        return source.problem(location, "must consist of 'field: value' lines")
    return field_problem(detail, source, _known_fields(location[:-1]))


def _known_fields(parents: Location) -> Collection[str]:
    model: type[BaseModel] = PlacementFields
    for part in parents:
        model = _MODELS.get(str(part), model)
    return tuple(model.model_fields)


def _host_problems(fields: PlacementFields, source: Source) -> Iterator[Problem]:
    for name, host in fields.hosts.items():
        place = ("hosts", name)
        if not _HOST.fullmatch(name):
            yield source.problem(place, "the name of a host must be lower-case letters, digits and hyphens")
        if host.each is None and name in NODE_NAMES and _is_for_each(fields):
            yield source.problem(place, f"is also the name of the host that each: {EACH_NODE} stands for; rename it")
        if not host.services and host.workers is None:
            yield source.problem(
                (*place, "services"), "is missing: nothing runs on this host; add it, or remove the host"
            )
        if host.each and (set(host.services) != {NODES} or host.workers is not None):
            yield source.problem((*place, "each"), f"needs {NODES}, and nothing else, in services")
    if sum(host.each is not None for host in fields.hosts.values()) > 1:
        again = [name for name, host in fields.hosts.items() if host.each][1]
        yield source.problem(("hosts", again, "each"), "is given for a second host; keep one of them")


def _is_for_each(fields: PlacementFields) -> bool:
    return any(host.each for host in fields.hosts.values())


def _service_problems(fields: PlacementFields, source: Source) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for name, host in fields.hosts.items():
        for service in host.services:
            place = ("hosts", name, "services", service)
            if service == BOOTSTRAP:
                yield source.problem(place, "does not run in the stack; remove it")
            elif service not in PLACEABLE:
                hint = did_you_mean(service, PLACEABLE) or f"; choose from {', '.join(PLACEABLE)}"
                yield source.problem(place, f"unknown service{hint}")
            elif service in seen:
                yield source.problem(place, f"is also on the host {seen[service]}; remove one of them")
            seen.setdefault(service, name)


def _room_problems(fields: PlacementFields, source: Source) -> Iterator[Problem]:
    """Yield what is too much for a host whatever the shape. ``nodes`` count once: there is at least one."""
    for name, host in fields.hosts.items():
        yield from over_room(host, host.services.values(), ("hosts", name), source)


def over_room(host: HostFields, services: Iterable[Reserved], place: Location, source: Source) -> Iterator[Problem]:
    """Yield a problem for cores, and one for memory, if a host has less than its services and workers reserve."""
    reserved: list[Reserved] = [*services]
    reserved += [host.workers] * host.workers.count if host.workers else []
    cores = sum(one.cores for one in reserved)
    memory = sum(one.memory for one in reserved)
    if cores > host.cores:
        text = f"{cores:g} cores are reserved, but the host has {host.cores:g}; reserve fewer, or take a larger host"
        yield source.problem((*place, "cores"), text)
    if memory > host.memory:
        has = words.size(host.memory)
        text = f"{words.size(memory)} are reserved, but the host has {has}; reserve less, or take a larger host"
        yield source.problem((*place, "memory"), text)
