"""The Compose project as ``docker compose config --format json`` prints it, and what becomes of its fields on Swarm.

A field that is not named here is an error: nobody has decided what becomes of it.
"""

from collections.abc import Collection, Iterator, Mapping
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
LEFT_OUT = ("build", "profiles", "cpu_shares", "security_opt")
"""Images are built before, Compose has chosen the services of the shape, and ``docker stack deploy`` ignores the rest:
the placement keeps cores free, and ``no-new-privileges`` is a setting of the engines."""

Known = Mapping[str, "Known | None"]
"""The fields of a mapping, or of each in a list, with those of their values; None if these may be any."""
EACH = "*"
"""Stands for all names."""
SERVICE: Known = {
    **dict.fromkeys((*CARRIED, *LEFT_OUT)),
    # What ``stack`` puts elsewhere, or refuses.
    **dict.fromkeys(("image", "entrypoint", "command", "depends_on", "restart")),
    **dict.fromkeys(("shm_size", "mem_limit", "cpus", "cpuset", "pids_limit", "tmpfs")),
    "healthcheck": dict.fromkeys(("test", "interval", "timeout", "start_period", "retries")),
    "volumes": {
        **dict.fromkeys(("type", "source", "target", "read_only")),
        "volume": {},
        "bind": {"create_host_path": None},
    },
    "ports": dict.fromkeys(("mode", "host_ip", "target", "published", "protocol")),
    "logging": dict.fromkeys(("driver", "options")),
    "networks": {EACH: {}},
}
PROJECT: Known = {
    "name": None,
    "services": {EACH: SERVICE},
    "networks": {EACH: dict.fromkeys(("name", "driver_opts", "ipam", "internal"))},
    "volumes": {EACH: {"name": None}},
}
UNDECIDED = "Add it to scripts/corda_lab/swarm/project.py, and what becomes of it on Swarm to stack.py beside it."


@dataclass(frozen=True)
class Project:
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
        return replace(self, services={name: service for name, service in self.services.items() if name not in names})


def parse_project(config: Mapping[str, Any]) -> Project:
    """Read the output of ``docker compose config``. Raises LabError that names each field that is not known."""
    # Extensions (x-) are the anchors of compose.yaml, already in their places.
    own = {name: value for name, value in config.items() if not name.startswith("x-")}
    if problems := [*_unknown(("compose.yaml",), own, PROJECT)]:
        raise LabError(problems=in_file_order(problems), remedy=UNDECIDED)
    return Project(config["name"], config["services"], config["networks"])


def _unknown(place: Location, value: Any, known: Known) -> Iterator[Problem]:
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _unknown((*place, index), entry, known)
        return
    for name, inner in (value or {}).items():
        if name not in known and EACH not in known:
            yield Problem("has no rule for Docker Swarm", (*place, name))
        elif (fields := known.get(name, known.get(EACH))) is not None:
            yield from _unknown((*place, name), inner, fields)
