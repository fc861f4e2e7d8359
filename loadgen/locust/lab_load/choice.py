"""The options of a run, and the checks that do not depend on the workload."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from lab_load.generator_settings import RUN_ID, GeneratorSettings
from lab_workload.load import (
    BURST_REQUESTS_MAX,
    BURSTS_MAX,
    FLOWS_MAX,
    LATE_MAX_SECONDS_DEFAULT,
    LATE_MAX_SECONDS_LIMIT,
    PACING_SECONDS_MAX,
    RATE_MAX,
    REST_SECONDS_DEFAULT,
    REST_SECONDS_MAX,
    TRACE_EVERY_MAX,
    WITHIN_SECONDS_DEFAULT,
    WITHIN_SECONDS_MAX,
    Arrivals,
    Recording,
)
from lab_workload.names import canonical
from lab_workload.problems import Problem


@dataclass(frozen=True)
class Choice:
    """The options of a run. If the node or counterparty is empty, the workload chooses it."""

    workload: str
    node: str
    counterparty: str
    pacing_seconds: float
    """Closed load: minimum time between two starts of the same user. 0: the next starts when the last has ended."""
    run_id: str
    seed: int
    bridge_url: str
    arrivals: Arrivals = "closed"
    rate: float = 0.0
    """Open load: arrivals per second."""
    late_max_seconds: float = LATE_MAX_SECONDS_DEFAULT
    """Open load: arrivals that would start later than this are dropped."""
    overrides: Mapping[str, str] = field(default_factory=dict)
    """Values that replace those in the workload file, by key."""
    recording: Recording = "rows"
    requests: int = 0
    """Burst: requests in each burst; 0: as many as users."""
    within_seconds: float = WITHIN_SECONDS_DEFAULT
    """Burst: the requests start evenly spread over this time."""
    bursts: int = 1
    """Burst: number of bursts, after which the load ends."""
    rest_seconds: float = REST_SECONDS_DEFAULT
    """Burst: shortest pause between the last end of a burst and the start of the next."""
    flows: int = 0
    """Closed load: the load ends after this many requests, those of ``flows_after`` not counted; 0: after its time."""
    flows_after: int = 0
    """Closed load that ends after ``flows``: so many requests more come first, as a warm-up."""
    trace_every: int = 1
    """One request in this many is traced; 0: none."""
    nodes: tuple[str, ...] = ()
    """Several nodes that start the flows in turn, in place of ``node``."""

    @property
    def is_open(self) -> bool:
        """Whether this is open load, whose requests start at the times of an endless schedule."""
        return self.arrivals in ("constant", "poisson")

    @property
    def is_burst(self) -> bool:
        """Whether the requests start in bursts."""
        return self.arrivals == "burst"

    @property
    def has_pool(self) -> bool:
        """Whether requests start at intended times, so that the users are the places of a pool."""
        return self.arrivals != "closed"

    @property
    def is_counted(self) -> bool:
        """Whether the load ends after a number of requests."""
        return self.is_burst or self.flows > 0


@dataclass(frozen=True)
class Extent:
    """The size of the load."""

    users: int
    """Number of users in closed load, size of the pool in open load and in a burst."""
    seconds: float | None
    """Duration of the load; None if it is not limited."""
    workers: int = 1

    @property
    def places(self) -> int:
        """Number of users, rounded up so that every worker has the same number."""
        return math.ceil(self.users / self.workers) * self.workers


def choice_problems(choice: Choice, settings: GeneratorSettings) -> list[Problem]:
    """Return the problems of the options that do not depend on the workload or the network."""
    problems: list[Problem] = []
    named = [("node", choice.node), ("counterparty", choice.counterparty), *(("nodes", name) for name in choice.nodes)]
    for label, name in named:
        if name and canonical(name, settings.party_names) is None:
            text = f"unknown node {name!r}; choose from {', '.join(settings.party_names)}"
            problems.append(Problem.of(label, text))
    if choice.node and choice.nodes:
        problems.append(Problem.of("nodes", "cannot be combined with node; leave out one of them"))
    problems += _range("pacing", choice.pacing_seconds, 0, PACING_SECONDS_MAX, " seconds")
    if not RUN_ID.fullmatch(choice.run_id):
        problems.append(
            Problem.of("run id", f"{choice.run_id!r} is invalid; use 1 to 100 letters, digits, '.', '_', '-'")
        )
    return [*problems, *_model_problems(choice)]


def _model_problems(choice: Choice) -> list[Problem]:
    """Return the problems of the options that only some arrivals have."""
    problems: list[Problem] = []
    if choice.rate and not choice.is_open:
        text = "is only for open load; leave it at 0, or choose constant or poisson arrivals"
        problems.append(Problem.of("rate", text))
    if choice.has_pool and choice.pacing_seconds:
        text = "is only for closed load; leave it at 0, because requests start at intended times"
        problems.append(Problem.of("pacing", text))
    if choice.has_pool and choice.flows:
        problems.append(Problem.of("flows", "is only for closed load; leave it at 0"))
    if choice.flows_after and not choice.flows:
        problems.append(Problem.of("flows-after", "needs flows: the number of requests that follow"))
    problems += _range("flows", choice.flows, 0, FLOWS_MAX)
    problems += _range("flows-after", choice.flows_after, 0, FLOWS_MAX)
    problems += _range("trace-every", choice.trace_every, 0, TRACE_EVERY_MAX)
    if choice.is_open:
        problems += _open_problems(choice)
    if choice.is_burst:
        problems += _burst_problems(choice)
    return problems


def _open_problems(choice: Choice) -> list[Problem]:
    problems = []
    if not 0 < choice.rate <= RATE_MAX:
        text = (
            f"must be above 0 and at most {RATE_MAX:.0f} per second for {choice.arrivals} arrivals,"
            f" but is {choice.rate:g}"
        )
        problems.append(Problem.of("rate", text))
    return problems + _range("late-max", choice.late_max_seconds, 0, LATE_MAX_SECONDS_LIMIT, " seconds")


def _burst_problems(choice: Choice) -> list[Problem]:
    problems = []
    if not 0 < choice.within_seconds <= WITHIN_SECONDS_MAX:
        text = f"must be above 0 and at most {WITHIN_SECONDS_MAX:.0f} seconds, but is {choice.within_seconds:g}"
        problems.append(Problem.of("within", text))
    problems += _range("requests", choice.requests, 0, BURST_REQUESTS_MAX)
    problems += _range("bursts", choice.bursts, 1, BURSTS_MAX)
    return problems + _range("rest", choice.rest_seconds, 0, REST_SECONDS_MAX, " seconds")


def _range(name: str, value: float, low: int, high: float, unit: str = "") -> list[Problem]:
    if low <= value <= high:
        return []
    return [Problem.of(name, f"must be {low} to {high:.0f}{unit}, but is {value:g}")]
