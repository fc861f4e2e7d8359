"""The file of the suite ``soak``: what grew over a long load, as models."""

from pydantic import Field

from corda_lab.bench.file import BenchFile
from corda_lab.reliability.growth import Growth

KIND = "soak"


class SoakFile(BenchFile):
    """The content of the file. Times are in seconds."""

    workload: str
    run: str
    """The id of the sweep, which has the peak and the soak as steps."""
    peak_per_second: float
    """The highest throughput, of closed load on the same lab before."""
    rate_per_second: float
    """What was offered."""
    throughput_per_second: float
    window_seconds: float
    warm_up_seconds: float
    outcomes: dict[str, int]
    """Requests of the whole load by outcome."""
    growths: tuple[Growth, ...] = ()
    ledger_bytes_per_flow: dict[str, float] = Field(default_factory=dict)
    """What one flow adds to the database of each node. A ledger grows by design, so this has no verdict."""
    connections_left: int | None = None
    """Connections of clients after the load, at the lowest. None if nobody knows, and in files of earlier versions."""
    warnings: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """Why the soak does not count: the step is invalid, or its ledgers are wrong. Empty if it does."""

    @property
    def failures(self) -> tuple[str, ...]:
        """Why the soak failed: its problems, and every value that grew, was not measured, or has to be told."""
        return (*self.problems, *(_told(one) for one in self.growths if one.fails))

    @property
    def untold(self) -> tuple[str, ...]:
        """The values whose slope cannot be told and need not be, with the reasons."""
        return tuple(_told(one) for one in self.growths if one.verdict == "cannot tell" and not one.fails)


def _told(one: Growth) -> str:
    return f"{one.title}: {one.verdict}{f': {one.reason}' if one.reason else ''}"
