"""The Compose project as ``docker compose config --format json`` prints it, and what becomes of its fields on Swarm.

A field that is not named here is an error: nobody has decided what becomes of it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from corda_lab.errors import LabError
from corda_lab.lab.settings import BOOTSTRAP
from lab_workload.problems import Location, Problem, in_file_order

Service = Mapping[str, Any]
"""The fields of a service, by name."""

CARRIED = (
    *("hostname", "labels", "environment", "dns", "stop_grace_period"),
    *("user", "read_only", "cap_drop", "logging"),
)
"""Fields of services that Swarm has, too."""
TRANSLATED = (
    *("image", "entrypoint", "command", "volumes", "ports", "networks", "depends_on", "healthcheck", "restart"),
    *("shm_size", "mem_limit", "cpus", "cpuset", "pids_limit", "tmpfs"),
)
"""Fields of services that ``stack`` puts elsewhere, or refuses."""
LEFT_OUT = ("build", "profiles", "cpu_shares", "security_opt")
"""Images are built before, Compose has chosen the services of the shape, and ``docker stack deploy`` ignores the rest:
the placement keeps cores free, and ``no-new-privileges`` is a setting of the engines."""
SERVICE_FIELDS = (*CARRIED, *TRANSLATED, *LEFT_OUT)

INNER_FIELDS: Mapping[str, Collection[str]] = {
    "healthcheck": ("test", "interval", "timeout", "start_period", "retries"),
    "volumes": ("type", "source", "target", "read_only", "volume", "bind"),
    "ports": ("mode", "host_ip", "target", "published", "protocol"),
    "logging": ("driver", "options"),
}
"""What fields of services may consist of."""
NETWORK_FIELDS = ("name", "driver_opts", "ipam", "internal")
UNDECIDED = "Add it to scripts/corda_lab/swarm/project.py, and what becomes of it on Swarm to stack.py beside it."


@dataclass(frozen=True)
class Project:
    """The whole project, in one shape."""

    name: str
    services: Mapping[str, Service]
    networks: Mapping[str, Mapping[str, Any]]

    @property
    def running(self) -> dict[str, Service]:
        """The services that keep running: all but the one that creates the network."""
        return {name: service for name, service in self.services.items() if name != BOOTSTRAP}

    @property
    def bootstrapped(self) -> dict[str, str]:
        """The volumes that the bootstrapper writes → their places in its container."""
        mounts = self.services[BOOTSTRAP]["volumes"] if BOOTSTRAP in self.services else ()
        return {mount["source"]: mount["target"] for mount in mounts if mount["type"] == "volume"}

    def without(self, names: Collection[str]) -> "Project":
        return replace(self, services={name: one for name, one in self.services.items() if name not in names})


def parse_project(config: Mapping[str, Any]) -> Project:
    """Read the output of ``docker compose config``. Raises LabError that names each field that is not known."""
    problems = [*_unknown(config)]
    if problems:
        raise LabError(problems=in_file_order(problems), remedy=UNDECIDED)
    return Project(config["name"], config["services"], config["networks"])


def _unknown(config: Mapping[str, Any]) -> Iterator[Problem]:
    # Extensions (x-) are the anchors of compose.yaml, already in their places.
    own = [name for name in config if not name.startswith("x-")]
    yield from _beyond((), own, ("name", "services", "networks", "volumes"))
    for name, network in config["networks"].items():
        yield from _beyond(("networks", name), network, NETWORK_FIELDS)
    for name, volume in config["volumes"].items():
        yield from _beyond(("volumes", name), volume, ("name",))
    for name, service in config["services"].items():
        yield from _unknown_of(("services", name), service)


def _unknown_of(place: Location, service: Service) -> Iterator[Problem]:
    yield from _beyond(place, service, SERVICE_FIELDS)
    for name, known in INNER_FIELDS.items():
        value = service.get(name)
        if isinstance(value, list):
            for index, one in enumerate(value):
                yield from _beyond((*place, name, index), one, known)
        else:
            yield from _beyond((*place, name), value or (), known)
    for name, options in (service.get("networks") or {}).items():
        yield from _beyond((*place, "networks", name), options or (), ())
    for index, mount in enumerate(service.get("volumes") or ()):
        yield from _beyond((*place, "volumes", index, "volume"), mount.get("volume") or (), ())
        yield from _beyond((*place, "volumes", index, "bind"), mount.get("bind") or (), ("create_host_path",))


def _beyond(place: Location, fields: Iterable[str], known: Collection[str]) -> Iterator[Problem]:
    for name in fields:
        if name not in known:
            yield Problem("has no rule for Docker Swarm", ("compose.yaml", *place, name))
