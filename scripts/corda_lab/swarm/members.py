"""The nodes of the swarm, as its manager knows them, and which of them is which host of a placement."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corda_lab.errors import LabError
from corda_lab.host.processes import last_words
from corda_lab.lab.engine import run_docker

NO_SWARM = (
    "Run this command on a manager of the swarm. To make one: `docker swarm init --advertise-addr ADDRESS` here, and"
    " the `docker swarm join` that it prints on every other host."
)


@dataclass(frozen=True)
class Member:
    """One node of the swarm."""

    id: str
    hostname: str
    address: str
    """The address at which the manager sees it."""
    state: str
    """``ready`` if its engine keeps in touch with the manager."""
    availability: str
    """``active`` if it takes tasks."""
    labels: Mapping[str, str]
    version: str
    cores: float
    memory: int
    """Bytes that services can reserve."""


def members() -> list[Member]:
    """Return the nodes of the swarm whose manager is this engine. Raises LabError if it is none."""
    listed = run_docker(["node", "ls", "--quiet"])
    ids = listed.stdout.split()
    if listed.returncode != 0 or not ids:
        raise LabError(f"The engine is no manager of a swarm: {last_words(listed.stderr, 2)}", NO_SWARM)
    inspected = run_docker(["node", "inspect", *ids])
    if inspected.returncode != 0:
        raise LabError(f"`docker node inspect` failed: {last_words(inspected.stderr, 2)}", "Run it again.", exit_code=1)
    return parse_members(inspected.stdout)


def parse_members(text: str) -> list[Member]:
    """Read the JSON of ``docker node inspect``."""
    return [_member(one) for one in json.loads(text)]


def _member(one: Mapping[str, Any]) -> Member:
    description = one["Description"]
    resources = description.get("Resources", {})
    return Member(
        id=one["ID"],
        hostname=description["Hostname"],
        # A manager that has not been told its address says 0.0.0.0 of itself.
        address=one.get("ManagerStatus", {}).get("Addr", "").rpartition(":")[0] or one["Status"].get("Addr", ""),
        state=one["Status"]["State"],
        availability=one["Spec"]["Availability"],
        labels=one["Spec"].get("Labels") or {},
        version=description.get("Engine", {}).get("EngineVersion", ""),
        cores=resources.get("NanoCPUs", 0) / 1e9,
        memory=resources.get("MemoryBytes", 0),
    )


@dataclass(frozen=True)
class Located:
    """The node of the swarm that is a host, or why there is none that can run anything."""

    member: Member | None
    trouble: str = ""
    remedy: str = ""


def locate(host: str, label: str, found: Sequence[Member]) -> Located:
    """Find the node with the label of a host. A second one would get the ledgers of the first one's services."""
    named = [member for member in found if member.labels.get(label) == host]
    if not named:
        return Located(
            None,
            f"no node of the swarm has the label {label}={host}",
            f"Choose one of {_names(found)}: `docker node update --label-add {label}={host} NODE`.",
        )
    if len(named) > 1:
        return Located(
            None,
            f"{len(named)} nodes of the swarm have the label {label}={host}: {_names(named)}",
            f"Remove it from all but one: `docker node update --label-rm {label} NODE`.",
        )
    member = named[0]
    if member.state != "ready":
        return Located(
            member,
            f"the manager has lost {member.hostname} ({member.state})",
            f"Start its engine, and let {member.hostname} reach the manager at TCP port 2377.",
        )
    if member.availability != "active":
        return Located(
            member,
            f"{member.hostname} takes no tasks (availability {member.availability})",
            f"`docker node update --availability active {member.hostname}`",
        )
    return Located(member)


def _names(found: Iterable[Member]) -> str:
    return ", ".join(sorted(f"{member.hostname} ({member.id[:12]})" for member in found))
