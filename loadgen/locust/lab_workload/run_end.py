"""The end file: how a run ended, which the generator writes and the command line reads."""

from dataclasses import asdict, dataclass
from typing import Any

from pydantic import TypeAdapter

from lab_workload.load import Arrivals


@dataclass(frozen=True)
class PreparedStep:
    """What became of a step of the set-up."""

    name: str
    items: int
    seconds: float


@dataclass(frozen=True)
class WorkerEnd:
    """What the end file says of one process."""

    index: int
    cpu_percent_max: float
    rows: int


@dataclass(frozen=True)
class RunEnd:
    """The content of the end file. Times are Unix seconds; what closed load does not have is None."""

    started_at: float
    spawned_at: float | None
    stop_at: float
    ended_at: float
    model: Arrivals
    rate: float | None
    users: int
    requests: int
    errors: int
    expected: int
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

    def as_dict(self) -> dict[str, Any]:
        """For the file."""
        return asdict(self)

    @classmethod
    def read(cls, text: str) -> "RunEnd":
        """From the file. Raises pydantic's ValidationError, a ValueError, for anything else."""
        return TypeAdapter(cls).validate_json(text)
