"""A fault of a load: what is done to a part of the lab while the load runs. ``docs/chaos.md`` describes each kind."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from lab_workload.durations import format_duration

FaultKind = Literal["kill", "pause", "restart", "partition", "slow-link", "reset-link", "full-disk", "memory-limit"]
"""What is done.

kill: SIGKILL, and a start afterwards. pause: frozen, and thawed afterwards. restart: SIGTERM, and a start afterwards.
partition: packets to every other part, or to one, are lost. slow-link: latency and a bandwidth limit between two nodes,
or a node and PostgreSQL. reset-link: connections there are reset. full-disk: no file can be written. memory-limit: no
more memory than is in use.
"""

GENERATOR = "generator"
"""The target whose container generates the load. If it ends, so does the load."""
ENDING_KINDS: tuple[FaultKind, ...] = ("kill", "restart", "memory-limit")
"""Kinds that end the process of their target, or may."""
PARAMETERS: Mapping[FaultKind, Mapping[str, tuple[float, float, float]]] = {
    "slow-link": {
        "latency_ms": (300.0, 0.0, 60_000.0),
        "jitter_ms": (0.0, 0.0, 60_000.0),
        "kilobytes_per_second": (0.0, 0.0, 1_000_000.0),
    },
    "reset-link": {"after_ms": (0.0, 0.0, 60_000.0)},
    "memory-limit": {"megabytes": (0.0, 0.0, 1_000_000.0)},
}
"""The parameters of a kind: default, least and most. 0 is no limit of bandwidth, or the memory that is in use."""


class Fault(BaseModel):
    """One fault. ``at_seconds`` counts from the begin of the load. After ``for_seconds``, it is healed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: FaultKind
    target: Annotated[str, StringConstraints(to_lower=True)]
    """A service, such as ``partya`` or ``bridge``; ``generator``; or two ends, such as ``partya-partyb``."""
    at_seconds: float
    for_seconds: float
    parameters: dict[str, float] = Field(default_factory=dict)
    """Those that are given. ``parameter`` has the others."""

    @property
    def ends(self) -> tuple[str, ...]:
        """The target, or the two ends of a link or of a partition between two."""
        return tuple(self.target.split("-"))

    @property
    def name(self) -> str:
        """``kill bridge``."""
        return f"{self.kind} {self.target}"

    @property
    def ends_load(self) -> bool:
        """Whether it ends the generator, and the load with it."""
        return self.target == GENERATOR and self.kind in ENDING_KINDS

    def parameter(self, name: str) -> float:
        return self.parameters.get(name, PARAMETERS[self.kind][name][0])

    @property
    def given(self) -> str:
        """``latency_ms 200, jitter_ms 5``: the parameters that are given."""
        return ", ".join(f"{name} {value:g}" for name, value in self.parameters.items())

    def words(self) -> str:
        """``kill bridge at 10s for 5s``, with the parameters that are given."""
        at, lasts = format_duration(self.at_seconds), format_duration(self.for_seconds)
        return f"{self.name} at {at} for {lasts}{', ' if self.given else ''}{self.given}"


FAULTS_FILE = ".faults"
"""The file in the folder of the rows in which the command line shows the generator which faults the lab has now. Files
of runs have other names."""


@dataclass(frozen=True)
class ShownFault:
    """A fault that lasts. If the command line is killed, nobody removes it, so it also says when it is over."""

    until: float
    """When it is over at the latest, in Unix seconds."""
    kind: str
    target: str


def write_shown(faults: Iterable[ShownFault]) -> str:
    """Return the content of the file: a line for each fault, without spaces in its words."""
    return "".join(f"{fault.until:.3f} {fault.kind} {fault.target}\n" for fault in faults)


def read_shown(text: str) -> Iterator[ShownFault]:
    """Yield the faults of the file. A line that is none, such as one that is just being written, is left out."""
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3 and words[0].replace(".", "", 1).isdecimal():
            yield ShownFault(float(words[0]), words[1], words[2])
