"""What the generator and the command line have to agree on: models of load, limits, and how a request can end."""

from typing import Literal, get_args

Arrivals = Literal["closed", "constant", "poisson"]
"""When requests start: closed, when a user's last one has ended; constant and poisson, at the times of an open load."""
ARRIVALS: tuple[Arrivals, ...] = get_args(Arrivals)

PARTIES_MAX = 10
"""Parties of the largest network."""

SEED_DEFAULT = 1
RATE_MAX = 100_000.0
"""Arrivals per second."""
PACING_SECONDS_MAX = 3600.0
LATE_MAX_SECONDS_DEFAULT = 1.0
"""An arrival of open load that is later than this is dropped, where nobody says otherwise."""
LATE_MAX_SECONDS_LIMIT = 60.0
"""The most that this may be set to."""

SAME_FAILURE_REQUESTS_MIN = 20
"""A run ends early when the first so many requests of each of its processes have failed, and all others too, in the same way."""
SAME_FAILURE_SECONDS_MIN = 10.0
"""It does not end so before this time: what fails at first may recover."""
ALL_FAILED = "all_failed"
"""The end file's ``exit_reason`` of such a run."""

Outcome = Literal["ok", "expected", "error"]
"""How a request can end: with success, with the failure that its workload is about, with any other failure."""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
