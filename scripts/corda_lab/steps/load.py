"""Loads as the command line sees them: their options, words for them, and the load that conditions nodes first.

``lab_workload.load.Load`` declares the options.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from corda_lab.errors import LabError
from corda_lab.text.words import plural
from lab_workload.durations import format_duration
from lab_workload.load import FIELDS, OPTIONS, Load, Stopping
from lab_workload.problems import LoadError, Problem

COMMON = ("users", "duration", "warm_up", "arrivals", "rate", "flows", "node", "name")
"""The options that ``lab run`` has as options of its own. All others are set by ``--set``."""

WARM_UP_MAX = "warm_up_max"
"""A key of ``--set``: the longest warm-up. If given, the warm-up lasts until throughput is steady, but at least
``--warm-up``. A sweep file has ``warm_up`` for this."""

COUNTED_SECONDS_MAX = 3600.0
"""The longest time of a load that ends after a number of flows, unless ``--duration`` gives another."""

INITIATORS, ALL = "initiators", "all"
"""What can be profiled besides a node by its name: the nodes that start the flows, or all nodes."""

STEADY_CHANGE_PERCENT_MAX = 10.0
"""A warm-up ends when throughput changes by at most this, in %, between the halves of the window."""


def flag(key: str) -> str:
    """How the command line sets an option: ``--warm-up``, or ``--set late_max``."""
    return f"--{key.replace('_', '-')}" if key in COMMON else f"--set {key}"


def with_flag(problem: Problem) -> Problem:
    """Name the option of ``lab run`` in a problem at the key of a load."""
    key, *rest = problem.location or ("",)
    return replace(problem, location=(flag(str(key)), *rest)) if key in (*OPTIONS, WARM_UP_MAX) else problem


def text_of(key: str, value: Any) -> str:
    """A value of an option as the command line takes it: ``1m30s``, ``PartyA,PartyB``."""
    if FIELDS[key].endswith("_seconds"):
        return format_duration(value)
    if isinstance(value, tuple):
        return ",".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def read_load(given: Mapping[str, Any]) -> Load:
    """Make a load of values by key, which may be texts. Raises LabError with all invalid ones."""
    try:
        return Load.read(given)
    except LoadError as error:
        raise LabError(problems=[with_flag(problem) for problem in error.problems]) from None


def check_load(load: Load) -> None:
    """Check that the options of a load fit together. Raises LabError with all problems."""
    if problems := [with_flag(problem) for problem in load.problems()]:
        raise LabError(problems=problems)


def until_steady(load: Load, warm_up_seconds_max: float) -> Load:
    """Return the load with a warm-up that lasts until throughput is steady. Raises LabError if the limit is too short.

    The measuring window then has its full duration. If throughput is not steady at the limit, it is measured anyway.
    """
    if warm_up_seconds_max < load.warm_up_seconds:
        least, most = format_duration(load.warm_up_seconds), format_duration(warm_up_seconds_max)
        raise LabError(f"{flag(WARM_UP_MAX)}: {most} is less than --warm-up, which is {least}", "Increase it.")
    stopping = Stopping(warm_up_seconds_min=load.warm_up_seconds, change_percent_max=STEADY_CHANGE_PERCENT_MAX)
    return load.updated(warm_up_seconds=warm_up_seconds_max, stopping=stopping)


def with_limit(load: Load, given: Collection[str] = ()) -> Load:
    """Return a load that ends after a number of flows without a warm-up, and with its own longest time.

    Options whose keys are ``given`` stay as they are. Any other load is returned unchanged.
    """
    if not load.is_counted:
        return load
    own = {"duration": COUNTED_SECONDS_MAX, "warm_up": 0.0}
    return load.updated(**{f"{key}_seconds": value for key, value in own.items() if key not in given})


def burst_words(load: Load) -> str:
    """``10 bursts of 70 requests within 1 s, rest 5 s``: a load of bursts."""
    pool = "" if load.pool is None or load.pool >= load.users else f", at most {load.pool} in flight"
    rest = f", rest {load.rest_seconds:g} s" if load.bursts > 1 else ""
    bursts, requests = plural(load.bursts, "burst"), plural(load.users, "request")
    return f"{bursts} of {requests} within {load.within_seconds:g} s{pool}{rest}"


def flows_words(load: Load) -> str:
    """``400 flows after 2``: the number of flows after which a closed load ends."""
    after = f" after {load.flows_after:,}" if load.flows_after else ""
    return plural(load.flows or 0, "flow") + after


CONDITIONING_WINDOW_SECONDS = 45.0
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

    options: Load
    seconds_min: float = SECONDS_MIN
    seconds_max: float = SECONDS_MAX

    @property
    def until_steady(self) -> Load:
        """The load, which lasts until its throughput is steady and the nodes are not cold any more, or to its limit.

        Half of a short limit is its window. The throughput of open load is that of its arrivals, which does not show
        whether the nodes are warm. So open load lasts as long as it may. In place of bursts, and of load that ends
        after a number of flows, there is closed load that goes on.
        """
        load, window = self.options.endless, min(CONDITIONING_WINDOW_SECONDS, self.seconds_max // 2)
        least = max(1.0, (self.seconds_max if load.is_open else self.seconds_min) - window)
        brief = load.updated(stopping=None, faults=(), profile=(), warm_up_seconds=least, duration_seconds=window)
        limited = until_steady(brief, max(least, self.seconds_max - window))
        assert limited.stopping is not None
        return limited.updated(stopping=limited.stopping.model_copy(update={"completions_min": COLD_FLOWS}))
