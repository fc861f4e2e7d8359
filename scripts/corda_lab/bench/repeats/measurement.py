"""The file of ``lab bench repeats``, as models."""

from corda_lab.bench.file import BenchFile, BenchPart
from corda_lab.steps.entry import LoadEntry


class Repeat(BenchPart):
    """One repeat of the load. It is a run of its own, with a report. All values are those of its window."""

    number: int
    run: str
    """The id of the run; empty if it left none."""
    flows_per_second: float | None = None
    """None, as all values, if the run failed."""
    p50_ms: float | None = None
    p99_ms: float | None = None
    """None also if the rank falls among requests that were not answered."""
    window_seconds: float | None = None
    host_busy_percent: float | None = None
    stolen_percent: float | None = None
    """CPU steal."""
    calibration_ms: float | None = None
    """Time of the fixed piece of work before the load, on average over the cores."""
    warnings: tuple[str, ...] = ()
    """The warnings of the run."""
    problem: str | None = None
    """Why this repeat does not count: why the run is invalid, or failed. None if it counts."""


class RepeatsBench(BenchFile):
    """The content of the file."""

    workload: str
    flow: str
    node: str
    load: LoadEntry
    """The load of the first repeat. Every further one adds 1 to the seed."""
    warm_up_seconds: float
    duration_seconds: float
    repeats: int
    measurements: tuple[Repeat, ...] = ()

    @property
    def counted(self) -> tuple[Repeat, ...]:
        """The repeats that count."""
        return tuple(each for each in self.measurements if each.problem is None)
