"""The options of a run, and the checks that do not depend on the workload."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from lab_load.generator_settings import RUN_ID, GeneratorSettings
from lab_workload.load import (
    LATE_MAX_SECONDS_DEFAULT,
    LATE_MAX_SECONDS_LIMIT,
    PACING_SECONDS_MAX,
    RATE_MAX,
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
    nodes: tuple[str, ...] = ()
    """Several nodes that start the flows in turn, in place of ``node``."""

    @property
    def is_open(self) -> bool:
        """Whether this is open load, in which requests start at intended times."""
        return self.arrivals != "closed"


@dataclass(frozen=True)
class Extent:
    """The size of the load."""

    users: int
    """Number of users in closed load, size of the pool in open load."""
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
    if not math.isfinite(choice.pacing_seconds) or not 0 <= choice.pacing_seconds <= PACING_SECONDS_MAX:
        problems.append(
            Problem.of("pacing", f"must be 0 to {PACING_SECONDS_MAX:.0f} seconds, but is {choice.pacing_seconds:g}")
        )
    if not RUN_ID.fullmatch(choice.run_id):
        problems.append(
            Problem.of("run id", f"{choice.run_id!r} is invalid; use 1 to 100 letters, digits, '.', '_', '-'")
        )
    if not choice.is_open:
        if choice.rate:
            problems.append(
                Problem.of("rate", "is only for open load; leave it at 0, or choose constant or poisson arrivals")
            )
        return problems
    if not 0 < choice.rate <= RATE_MAX:
        problems.append(
            Problem.of(
                "rate",
                f"must be above 0 and at most {RATE_MAX:.0f} per second for {choice.arrivals} arrivals,"
                f" but is {choice.rate:g}",
            )
        )
    if not 0 <= choice.late_max_seconds <= LATE_MAX_SECONDS_LIMIT:
        problems.append(
            Problem.of(
                "late-max", f"must be 0 to {LATE_MAX_SECONDS_LIMIT:.0f} seconds, but is {choice.late_max_seconds:g}"
            )
        )
    if choice.pacing_seconds:
        problems.append(
            Problem.of(
                "pacing", "is only for closed load; leave it at 0, because the rate sets how often requests start"
            )
        )
    return problems
