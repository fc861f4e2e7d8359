"""The engines of a swarm's hosts. Each is reached by the docker context that has the name of the host.

A context is the docker client's own way to other engines, over ssh, TLS or a socket: ``docker context create``.
"""

import json
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from corda_lab.lab.engine import Engine

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


Host = Engine
"""A host of a placement: its name is the value of its label, and that of its docker context."""


def facts_of(host: Host) -> EngineFacts:
    """Ask the engine of a host what it is. Raises LabError."""
    before = time.time()
    text = host.checked("info", "--format", "{{json .}}", seconds_max=ANSWER_SECONDS_MAX)
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
