"""Definitions that the generator and the command line share: models of load, limits and outcomes of a request."""

from typing import Literal, get_args

Arrivals = Literal["closed", "constant", "poisson", "burst"]
"""When requests start. closed: after the user's previous one has ended. constant, poisson: open load, on a schedule.
burst: so many within so many seconds, and again after a rest.
"""
ARRIVALS: tuple[Arrivals, ...] = get_args(Arrivals)

Recording = Literal["rows", "none"]
"""What the generator writes about single requests. none: nothing, to measure what the rows cost."""
RECORDINGS: tuple[Recording, ...] = get_args(Recording)

PARTIES_MAX = 11
"""Number of parties in the largest network: ten that own something, and one at which they meet."""

SEED_DEFAULT = 1
RATE_MAX = 100_000.0
"""Arrivals per second."""
PACING_SECONDS_MAX = 3600.0
LATE_MAX_SECONDS_DEFAULT = 1.0
"""Default of ``--late-max``: arrivals of open load that would start later than this are dropped."""
LATE_MAX_SECONDS_LIMIT = 60.0
"""Maximum of ``--late-max``."""
LATE_SECONDS = 0.010
"""A request of open load or of a burst is late if it starts more than this after its intended time."""

BURST_REQUESTS_MAX = 300
"""Maximum number of requests in a burst."""
BURSTS_MAX = 1000
WITHIN_SECONDS_DEFAULT = 1.0
"""Default of ``--within``: the time over which the requests of a burst start."""
WITHIN_SECONDS_MAX = 600.0
REST_SECONDS_DEFAULT = 5.0
"""Default of ``--rest``: the shortest pause between two bursts."""
REST_SECONDS_MAX = 3600.0
FLOWS_MAX = 100_000
"""Maximum number of flows after which a load ends."""

TRACE_EVERY_MAX = 1_000_000

SAME_FAILURE_REQUESTS_MIN = 20
"""A run ends early if all requests have failed in the same way, among them the first this many of each process."""
SAME_FAILURE_SECONDS_MIN = 10.0
"""A run does not end early before this time, because the system may recover."""
ALL_FAILED = "all_failed"
"""``exit_reason`` of such a run in the end file."""
OUT_OF_TIME = "out_of_time"
"""``exit_reason`` of a load that was to end after a number of requests, and had not when its time was over."""

Outcome = Literal["ok", "expected", "failed", "unknown"]
"""How a request ended, as the generator saw it.

ok: with success. expected: with the failure that its workload expects. failed: with another failure, after which it is
certain that the flow did not succeed. unknown: without an answer that says whether the flow succeeded.
"""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
UNWANTED: tuple[Outcome, ...] = ("failed", "unknown")
"""Outcomes that no workload asks for."""
