"""Definitions that the generator and the command line share: models of load, limits and outcomes of a request."""

from typing import Literal, get_args

Arrivals = Literal["closed", "constant", "poisson", "burst"]
"""When requests start. closed: after the user's previous one has ended. constant, poisson: open load, on a schedule.
burst: all within a short time, after a rest."""
ARRIVALS: tuple[Arrivals, ...] = get_args(Arrivals)

Recording = Literal["rows", "none"]
"""What the generator writes about single requests. none: nothing, to measure what the rows cost."""
RECORDINGS: tuple[Recording, ...] = get_args(Recording)

PARTIES_MAX = 10
"""Number of parties in the largest network."""

SEED_DEFAULT = 1
RATE_MAX = 100_000.0
"""Arrivals per second."""
PACING_SECONDS_MAX = 3600.0
LATE_MAX_SECONDS_DEFAULT = 1.0
"""Default of ``--late-max``: arrivals of open load that would start later than this are dropped."""
LATE_MAX_SECONDS_LIMIT = 60.0
"""Maximum of ``--late-max``."""
LATE_SECONDS = 0.010
"""A request of open load is late if it starts more than this after its intended time."""

BURSTS_MAX = 1000
FLOWS_MAX = 100_000
"""Maximum number of flows after which a load ends."""

SAME_FAILURE_REQUESTS_MIN = 20
"""A run ends early if all requests have failed in the same way, among them the first this many of each process."""
SAME_FAILURE_SECONDS_MIN = 10.0
"""A run does not end early before this time, because the system may recover."""
ALL_FAILED = "all_failed"
"""``exit_reason`` of such a run in the end file."""

Outcome = Literal["ok", "expected", "failed", "unknown"]
"""How a request ended, as the generator saw it.

ok: with success. expected: with the failure that its workload expects. failed: with another failure, after which it is
certain that the flow did not succeed. unknown: without an answer that says whether the flow succeeded.
"""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
UNWANTED: tuple[Outcome, ...] = ("failed", "unknown")
"""Outcomes that no workload asks for."""
