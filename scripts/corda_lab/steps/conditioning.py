"""The load that conditions nodes, which brings them to where they stay. ``runs.conditioning`` runs it."""

from dataclasses import dataclass, replace

from corda_lab.steps.load import LoadOptions, until_steady

WINDOW_SECONDS = 45.0
"""The nodes are conditioned when throughput was steady for this time."""
COLD_FLOWS = 300
"""A node that has completed fewer flows since its start is still warming up."""
SECONDS_MIN = 60.0
SECONDS_MAX = 240.0
SECONDS_LEAST = 4.0
"""The shortest limit that can be set. It leaves two seconds before the window and two in it."""


@dataclass(frozen=True)
class Conditioning:
    """A load that is to condition the nodes, and its shortest and longest duration in seconds."""

    options: LoadOptions
    seconds_min: float = SECONDS_MIN
    seconds_max: float = SECONDS_MAX

    @property
    def until_steady(self) -> LoadOptions:
        """The load, which lasts until its throughput is steady and the nodes are not cold any more, or to its limit.

        Half of a short limit is its window. The throughput of open load is that of its arrivals, which does not show
        whether the nodes are warm. So open load lasts as long as it may. In place of bursts, and of load that ends
        after a number of flows, there is closed load that goes on.
        """
        options, window = self.options.endless.unprofiled, min(WINDOW_SECONDS, self.seconds_max // 2)
        least = max(1.0, (self.seconds_max if options.is_open else self.seconds_min) - window)
        brief = replace(options, warm_up_seconds=least, duration_seconds=window, stopping=None, faults=())
        limited = until_steady(brief, max(least, self.seconds_max - window))
        return replace(limited, stopping=limited.stopping and replace(limited.stopping, completions_min=COLD_FLOWS))
