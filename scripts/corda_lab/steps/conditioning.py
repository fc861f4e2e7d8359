"""The load that conditions nodes, which brings them to where they stay. ``runs.conditioning`` runs it."""

from dataclasses import dataclass, replace

from corda_lab.steps.load import LoadOptions, until_steady

WINDOW_SECONDS = 30.0
"""The nodes are conditioned when throughput was steady for this time."""
SECONDS_MIN = 45.0
SECONDS_MAX = 150.0
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
        """The load, which lasts until its throughput is steady. Half of a short limit is its window.

        The throughput of open load is that of its arrivals, which does not show whether the nodes are warm. So open
        load lasts as long as it may.
        """
        window = min(WINDOW_SECONDS, self.seconds_max // 2)
        least = max(1.0, (self.seconds_max if self.options.is_open else self.seconds_min) - window)
        brief = replace(self.options, warm_up_seconds=least, duration_seconds=window, stopping=None)
        return until_steady(brief, max(least, self.seconds_max - window))
