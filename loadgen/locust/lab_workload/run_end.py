"""The end file, which says how a run ended. The generator writes it, and the command line reads it."""

from dataclasses import dataclass
from typing import Any, Self

from pydantic import TypeAdapter

from lab_workload.load import Arrivals, Outcome


class JsonFile:
    """A dataclass that is the content of a JSON file."""

    def as_dict(self) -> dict[str, Any]:
        content: dict[str, Any] = TypeAdapter(type(self)).dump_python(self, mode="json")
        return content

    @classmethod
    def read(cls, text: str) -> Self:
        """Parse the text of the file. Raises pydantic's ValidationError (a ValueError) if it is not valid."""
        return TypeAdapter(cls).validate_json(text)


@dataclass(frozen=True)
class PreparedStep:
    """The result of a step of the set-up."""

    name: str
    items: int
    seconds: float


@dataclass(frozen=True)
class WorkerEnd:
    """The part of the end file about one process. The index of a single process is 0."""

    index: int
    cpu_percent_max: float
    """Highest CPU utilisation over a window, in percent of one core; see ``CpuMeter``."""
    rows: int


@dataclass(frozen=True)
class RunEnd(JsonFile):
    """The content of the end file. Times are in Unix seconds. Values that closed load does not have are None."""

    started_at: float
    spawned_at: float | None
    """Since when all ``users`` were running; None if they were still starting or stopping at the end."""
    stop_at: float
    """When the generator stopped starting requests."""
    ended_at: float
    model: Arrivals
    rate: float | None
    users: int
    """The number of users. If it was changed while the load ran, the last one."""
    requests: int
    outcomes: dict[Outcome, int]
    """Number of requests by outcome."""
    offered: int | None
    late: int | None
    dropped: int | None
    lag_p99_ms: float | None
    pool_free_min: int | None
    setup: list[PreparedStep]
    rows: dict[str, int]
    """Number of rows by worker."""
    cpu_percent_max: float
    workers: list[WorkerEnd]
    exit_reason: str
    users_changed: bool = False
    """Whether the number of users was changed in the web UI while the load ran."""
