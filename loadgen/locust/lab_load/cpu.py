"""How much of its core a process of the generator uses."""

import time

CPU_WINDOW_SECONDS = 5.0
"""The CPU share is taken over windows this long: shorter ones mistake a burst for a limit."""


class CpuMeter:
    """The highest share of one core that this process used over a window, in percent."""

    def __init__(self) -> None:
        self.percent_max: float | None = None
        self._wall, self._cpu = time.monotonic(), time.process_time()

    def sample(self, window_seconds_min: float = CPU_WINDOW_SECONDS) -> None:
        """Close the window when it is long enough."""
        wall, cpu = time.monotonic(), time.process_time()
        if wall - self._wall < max(window_seconds_min, 0.001):
            return
        percent = 100 * (cpu - self._cpu) / (wall - self._wall)
        self.percent_max = max(percent, self.percent_max or 0.0)
        self._wall, self._cpu = wall, cpu

    def close(self) -> float:
        """The maximum, with the last window counted when it was long enough to say something, or the only one."""
        self.sample(0 if self.percent_max is None else 1)
        return round(self.percent_max or 0.0, 1)
