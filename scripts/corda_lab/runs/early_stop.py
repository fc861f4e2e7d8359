"""Decides during a load whether it has been measured for long enough."""

from corda_lab.stats import steady
from corda_lab.stats.intervals import t_quantile
from corda_lab.steps.load import LoadOptions, Stopping


class EarlyStop:
    """Decides from the completions so far whether the load may end.

    A load without ``stopping``, or that ends after a number of flows, never ends early.
    """

    def __init__(self, options: LoadOptions) -> None:
        self._options = options
        self._seen: list[tuple[float, float]] = []
        if options.stopping is not None and options.stopping.precision is not None:
            # Import scipy during the warm-up. Otherwise the first check would import it within the measuring window.
            t_quantile(options.stopping.confidence, 1)

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
        if elapsed < stopping.warm_up_seconds_min + stopping.duration_seconds_min:
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
        if measured >= self._options.duration_seconds:
            return warm_up
        if stopping.precision is None or measured < stopping.duration_seconds_min:
            return None
        series = steady.completions_per_bin(
            times, started_at=warm_up.cut_seconds, stopped_at=elapsed, bin_seconds=steady.LOOK_SECONDS
        )
        may_end = steady.may_end(
            series, stopping.precision, bin_seconds=steady.LOOK_SECONDS, confidence=stopping.confidence
        )
        return warm_up if may_end else None

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
