"""Measures how much of a CPU core a process of the generator uses."""

import time

CPU_WINDOW_SECONDS = 5.0
"""Length of the windows. In a shorter window, a short burst would look like saturation."""


class CpuMeter:
    """Records the highest CPU utilisation of this process over a window, in percent of one core."""

    def __init__(self) -> None:
        self.percent_max: float | None = None
        self._wall, self._cpu = time.monotonic(), time.process_time()

    def sample(self, window_seconds_min: float = CPU_WINDOW_SECONDS) -> None:
        """End the current window if it is long enough."""
        wall, cpu = time.monotonic(), time.process_time()
        if wall - self._wall < max(window_seconds_min, 0.001):
            return
        percent = 100 * (cpu - self._cpu) / (wall - self._wall)
        self.percent_max = max(percent, self.percent_max or 0.0)
        self._wall, self._cpu = wall, cpu

    def close(self) -> float:
        """Return the maximum. The last window is included if it lasted a second, or if it is the only one."""
        self.sample(0 if self.percent_max is None else 1)
        return round(self.percent_max or 0.0, 1)
