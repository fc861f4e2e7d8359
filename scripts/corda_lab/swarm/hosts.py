"""The hosts of a swarm: its nodes as the manager knows them, and their engines as they describe themselves.

An engine is reached by the docker context that has the name of its host: ``docker context create``.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bare.commands import last_words
from corda_lab.errors import LabError
from corda_lab.lab.engine import Engine, output_of, run_docker

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
    return parse_members(output_of(inspected, "`docker node inspect` failed", "Run it again."))


def parse_members(text: str) -> list[Member]:
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
        remedy = f"Choose one of {_names(found)}: `docker node update --label-add {label}={host} NODE`."
        return Located(None, f"no node of the swarm has the label {label}={host}", remedy)
    if len(named) > 1:
        text = f"{len(named)} nodes of the swarm have the label {label}={host}: {_names(named)}"
        return Located(None, text, f"Remove it from all but one: `docker node update --label-rm {label} NODE`.")
    (member,) = named
    name = member.hostname
    if member.state != "ready":
        remedy = f"Start its engine, and let {name} reach the manager at TCP port 2377."
        return Located(member, f"the manager has lost {name} ({member.state})", remedy)
    if member.availability != "active":
        remedy = f"`docker node update --availability active {name}`"
        return Located(member, f"{name} takes no tasks (availability {member.availability})", remedy)
    return Located(member)


def _names(found: Iterable[Member]) -> str:
    return ", ".join(sorted(f"{member.hostname} ({member.id[:12]})" for member in found))


ANSWER_SECONDS_MAX = 30.0
"""How long an engine may take to say what it is. A first connection over ssh takes a few seconds."""


@dataclass(frozen=True)
class Clock:
    """How far the clock of a host is from that of this machine, in seconds: positive if it is ahead."""

    offset_seconds: float
    error_seconds: float
    """The offset may be wrong by this much: half of the time that the answer took."""


@dataclass(frozen=True)
class EngineFacts:
    """What the engine of a host says about itself."""

    version: str
    node: str
    """Its id in the swarm; empty if it is in none."""
    cores: int
    memory: int
    """Bytes."""
    architecture: str
    kernel: str
    clock: Clock


def facts_of(engine: Engine) -> EngineFacts:
    before = time.time()
    text = engine.checked("info", "--format", "{{json .}}", seconds_max=ANSWER_SECONDS_MAX)
    return parse_facts(text, before, time.time())


def parse_facts(text: str, before: float, after: float) -> EngineFacts:
    """Read the JSON of ``docker info``, which was asked for and came at these Unix seconds."""
    facts: dict[str, Any] = json.loads(text)
    now = datetime.fromisoformat(_microseconds(facts["SystemTime"])).timestamp()
    return EngineFacts(
        version=facts["ServerVersion"],
        node=facts.get("Swarm", {}).get("NodeID", ""),
        cores=facts["NCPU"],
        memory=facts["MemTotal"],
        architecture=facts["Architecture"],
        kernel=facts.get("KernelVersion", ""),
        clock=Clock(now - (before + after) / 2, (after - before) / 2),
    )


def _microseconds(time_text: str) -> str:
    """Return an RFC 3339 time of Go, with up to nine digits of a second, with six, which is what Python reads."""
    seconds, _, rest = time_text.partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    return f"{seconds}.{digits[:6]:<06}{rest[len(digits) :]}" if digits else time_text
