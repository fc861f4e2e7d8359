"""Readings of this machine during a load."""

import time
from dataclasses import dataclass, field

from corda_lab.host import machine
from corda_lab.steps.build import MachineUse
from corda_lab.steps.rows import Window


@dataclass
class Timeline:
    """Readings of the host during the load, as (Unix seconds, reading)."""

    cpu: list[tuple[float, machine.CpuTime]] = field(default_factory=list)
    swapped: list[tuple[float, int]] = field(default_factory=list)

    def note(self) -> None:
        """Take a reading now."""
        now, pages = time.time(), machine.swapped_pages()
        self.cpu.append((now, machine.cpu_time()))
        if pages is not None:
            self.swapped.append((now, pages))

    def machine_use(self, window: Window) -> MachineUse:
        """Return CPU utilisation, CPU steal and swapping of the host over the window."""
        cpu = self.cpu_between(window)
        return MachineUse(
            machine.busy_percent(*cpu), machine.stolen_percent(*cpu), self.swapped_pages(window), machine.cores()
        )

    def swapped_pages(self, window: Window) -> int | None:
        """Return the pages that the host swapped in and out over the window; None without two readings in it."""
        within = [pages for at, pages in self.swapped if window.started_at <= at <= window.ended_at]
        return within[-1] - within[0] if len(within) > 1 else None

    def cpu_between(self, window: Window) -> tuple[machine.CpuTime | None, machine.CpuTime | None]:
        """Return the first and the last reading of the host's CPU time in the window; None without two readings."""
        within = [reading for at, reading in self.cpu if window.started_at <= at <= window.ended_at]
        return (within[0], within[-1]) if len(within) > 1 else (None, None)
