"""The file of ``lab bench overhead``: every measurement, and everything on which it depends, as models."""

from typing import Literal, Self

from corda_lab.bench.file import BenchFile, BenchPart
from corda_lab.steps.entry import CalibrationEntry
from corda_lab.steps.reasons import Reason, reason
from corda_lab.steps.validity import SLOWDOWN_MAX, STOLEN_PERCENT_MAX, SWAPPED_PAGES_MAX

Part = Literal["recording", "monitoring", "stages"]
"""What can be switched: the generator's rows; Prometheus and the watch over the load; the timing of stages."""

Switchable = Literal["recording", "monitoring", "stages", "everything"]
"""What a block of measurements switches: one part, or all of them together."""

State = Literal["on", "off"]

PARTS: dict[Switchable, frozenset[Part]] = {
    "recording": frozenset({"recording"}),
    "monitoring": frozenset({"monitoring"}),
    "stages": frozenset({"stages"}),
    "everything": frozenset({"recording", "monitoring", "stages"}),
}
"""The parts that each subject switches. All others stay on."""

SUBJECTS: tuple[Switchable, ...] = tuple(PARTS)

SUBJECT_NAMES: dict[Switchable, str] = {
    "recording": "recording",
    "monitoring": "monitoring",
    "stages": "stage timing",
    "everything": "all three",
}

MEASUREMENTS_PER_BLOCK = 4


class OverheadMeasurement(BenchPart):
    """One subject in one state, once. All values are those of the window, except where another time is named."""

    subject: Switchable
    state: State
    block: int
    """The number of the block, from 1."""
    place: int
    """Its place in the block, from 1 to ``MEASUREMENTS_PER_BLOCK``."""
    window_started_at: float | None = None
    """In Unix seconds. None if the window was not counted."""
    window_seconds: float = 0.0
    flows: int = 0
    """Flows that the bridge completed in the window, by its own counter."""
    flows_per_second: float = 0.0
    rows: int | None = None
    """Rows that the generator wrote during the load. This and the next two show which parts were on."""
    scrapes: int | None = None
    """Scrapes that Prometheus made in the window, of all targets."""
    stage_rows: int | None = None
    """Stage rows that the nodes wrote during the load."""
    host_busy_percent: float | None = None
    host_stolen_percent: float | None = None
    host_swapped_pages: int | None = None
    calibration: CalibrationEntry | None = None
    problem: str | None = None
    """Why this measurement does not count: what failed. None if nothing did."""

    @property
    def pair(self) -> int:
        """The number of its pair in the whole bench: two neighbours in a block, one on and one off."""
        return (self.block * MEASUREMENTS_PER_BLOCK + self.place - 1) // 2

    @property
    def switched_off(self) -> frozenset[Part]:
        """The parts that were to be off."""
        return PARTS[self.subject] if self.state == "off" else frozenset()

    @property
    def warnings(self) -> list[Reason]:
        """What a reader should know about the machine, by the limits for the steps of a run."""
        found = []
        pages, stolen = self.host_swapped_pages, self.host_stolen_percent
        if pages is not None and pages > SWAPPED_PAGES_MAX:
            found.append(reason("swapped", pages=pages))
        if stolen is not None and stolen > STOLEN_PERCENT_MAX:
            found.append(reason("cpu_steal", percent=stolen))
        factor = self.calibration.slowdown if self.calibration else None
        if factor is not None and factor > SLOWDOWN_MAX:
            found.append(reason("cpu_slowed", factor=factor))
        return found


class OverheadBench(BenchFile):
    """The content of the file."""

    workload: str
    node: str
    """The node that starts the flows."""
    users: int
    """Flows in flight."""
    seed: int
    subjects: tuple[Switchable, ...]
    blocks: int
    warm_up_seconds: float
    duration_seconds: float
    measurements: tuple[OverheadMeasurement, ...] = ()

    def of(self, subject: Switchable, state: State) -> tuple[OverheadMeasurement, ...]:
        """The measurements of a subject in one state, in the order of time."""
        return tuple(each for each in self.measurements if (each.subject, each.state) == (subject, state))

    def joined_with(self, other: Self) -> Self:
        """Return this file with the blocks of the other, which follow its own."""
        following = (each.model_copy(update={"block": each.block + self.blocks}) for each in other.measurements)
        return self.model_copy(
            update={"blocks": self.blocks + other.blocks, "measurements": (*self.measurements, *following)}
        )
