"""Looks at a load while it runs and says when it has been seen for long enough."""

from corda_lab.stats import steady
from corda_lab.stats.intervals import t_quantile
from corda_lab.steps.load import LoadOptions, Stopping


class EarlyStop:
    """Decides from the completions so far whether the load may end; a load of fixed times is never ended early."""

    def __init__(self, options: LoadOptions) -> None:
        self._options = options
        self._seen: list[tuple[float, float]] = []
        if options.stopping is not None and options.stopping.precision is not None:
            # Imports scipy while the load warms up. The first look would otherwise do so within the measuring window.
            t_quantile(options.stopping.confidence, 1)

    def note(self, elapsed_seconds: float, completed: float) -> None:
        """Take note of how many requests had been completed at a moment after the load's begin."""
        self._seen.append((elapsed_seconds, completed))

    @property
    def enough(self) -> steady.WarmUp | None:
        """Where the warm-up ended, once it and the measuring have taken as long as they have to; None before."""
        stopping = self._options.stopping
        if stopping is None or len(self._seen) < 2:
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
        """The warm-up, if a measuring window of the whole duration after it is steady."""
        found = steady.steady_window(
            times,
            started_at=0.0,
            stopped_at=elapsed,
            # The load began within a look of the first one.
            window_seconds=self._options.duration_seconds + steady.LOOK_SECONDS,
            seconds_min=stopping.warm_up_seconds_min,
            seconds_max=self._options.warm_up_seconds,
            change_percent_max=change_percent_max,
            bin_seconds=steady.bin_seconds_for(elapsed),
        )
        return found if found.found else None

    def _completion_times(self) -> list[float]:
        """When each request was completed, as far as the counter shows: evenly between two looks."""
        times: list[float] = []
        for (before, counted), (after, now) in zip(self._seen, self._seen[1:], strict=False):
            count = round(now - counted)
            times += [before + (after - before) * (number + 0.5) / count for number in range(count)]
        return times
