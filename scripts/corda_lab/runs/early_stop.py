"""Decides during a load when its warm-up is over, and whether its measuring window is over too."""

from corda_lab.stats import steady
from corda_lab.steps.load import LoadOptions, Stopping


class EarlyStop:
    """Decides from the completions so far whether the load may end.

    A load without ``stopping``, or that ends after a number of flows, never ends early.
    """

    def __init__(self, options: LoadOptions) -> None:
        self._options = options
        self._seen: list[tuple[float, float]] = []

    def note(self, elapsed_seconds: float, completed: float) -> None:
        """Record the number of completed requests at a time after the start of the load."""
        self._seen.append((elapsed_seconds, completed))

    @property
    def enough(self) -> steady.WarmUp | None:
        """The end of the warm-up, if warm-up and measuring window are long enough to end the load; otherwise None."""
        stopping = self._options.stopping
        if stopping is None or self._options.is_counted or len(self._seen) < 2:
            return None
        elapsed = self._seen[-1][0]
        if elapsed < stopping.warm_up_seconds_min + self._options.duration_seconds:
            return None
        times = self._completion_times()
        if not times:
            return None
        if stopping.change_percent_max is not None:
            return self._steady(times, elapsed, stopping, stopping.change_percent_max)
        warm_up = steady.warm_up_end(
            times,
            started_at=0.0,
            stopped_at=elapsed,
            seconds_min=stopping.warm_up_seconds_min,
            seconds_max=self._options.warm_up_seconds,
            bin_seconds=steady.bin_seconds_for(elapsed),
        )
        measured = elapsed - warm_up.cut_seconds - steady.LOOK_SECONDS
        return warm_up if measured >= self._options.duration_seconds else None

    def _steady(
        self, times: list[float], elapsed: float, stopping: Stopping, change_percent_max: float
    ) -> steady.WarmUp | None:
        """Return the warm-up, if a measuring window of the full duration after it is steady; otherwise None."""
        if len(times) < stopping.completions_min:
            return None
        found = steady.steady_window(
            times,
            started_at=0.0,
            stopped_at=elapsed,
            # The load began at most one interval before the first reading.
            window_seconds=self._options.duration_seconds + steady.LOOK_SECONDS,
            seconds_min=stopping.warm_up_seconds_min,
            seconds_max=self._options.warm_up_seconds,
            change_percent_max=change_percent_max,
            bin_seconds=steady.bin_seconds_for(elapsed),
        )
        return found if found.found else None

    def _completion_times(self) -> list[float]:
        """Return the completion times in seconds, evenly spaced between two readings of the counter."""
        times: list[float] = []
        for (before, counted), (after, now) in zip(self._seen, self._seen[1:], strict=False):
            count = round(now - counted)
            times += [before + (after - before) * (number + 0.5) / count for number in range(count)]
        return times
