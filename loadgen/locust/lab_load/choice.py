"""What a run was asked for, and what is wrong with it whatever the workload."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from lab_load.generator_settings import RUN_ID, GeneratorSettings
from lab_workload.load import LATE_MAX_SECONDS_DEFAULT, LATE_MAX_SECONDS_LIMIT, PACING_SECONDS_MAX, RATE_MAX, Arrivals
from lab_workload.names import canonical
from lab_workload.problems import Problem


@dataclass(frozen=True)
class Choice:
    """What a person or the command line asked for; an empty node or counterparty is the workload's own."""

    workload: str
    node: str
    counterparty: str
    pacing_seconds: float
    """Closed load: time from one start of a user to its next; 0 starts the next as soon as the last has ended."""
    run_id: str
    seed: int
    bridge_url: str
    arrivals: Arrivals = "closed"
    rate: float = 0.0
    """Open load: arrivals per second."""
    late_max_seconds: float = LATE_MAX_SECONDS_DEFAULT
    """Open load: an arrival that is later than this is dropped."""
    overrides: Mapping[str, str] = field(default_factory=dict)
    """Values that take the place of the workload file's."""

    @property
    def is_open(self) -> bool:
        """Whether requests start at intended times."""
        return self.arrivals != "closed"


@dataclass(frozen=True)
class Extent:
    """How much load there will be."""

    users: int
    """Users of closed load, places in the pool of open load."""
    seconds: float | None
    """How long it goes on; None when nobody has said."""
    workers: int = 1

    @property
    def places(self) -> int:
        """Users with those that make every worker have as many."""
        return math.ceil(self.users / self.workers) * self.workers


def choice_problems(choice: Choice, settings: GeneratorSettings) -> list[Problem]:
    """What is wrong with a choice whatever the workload and the network."""
    problems: list[Problem] = []
    for label, name in (("node", choice.node), ("counterparty", choice.counterparty)):
        if name and canonical(name, settings.party_names) is None:
            text = f"unknown node {name!r}; choose from {', '.join(settings.party_names)}"
            problems.append(Problem.of(label, text))
    if not math.isfinite(choice.pacing_seconds) or not 0 <= choice.pacing_seconds <= PACING_SECONDS_MAX:
        problems.append(
            Problem.of("pacing", f"must be 0 to {PACING_SECONDS_MAX:.0f} seconds, is {choice.pacing_seconds:g}")
        )
    if not RUN_ID.fullmatch(choice.run_id):
        problems.append(Problem.of("run id", f"{choice.run_id!r} is not 1 to 100 letters, digits, '.', '_' or '-'"))
    if not choice.is_open:
        if choice.rate:
            problems.append(
                Problem.of("rate", "is only for open load; leave it at 0, or choose constant or poisson arrivals")
            )
        return problems
    if not 0 < choice.rate <= RATE_MAX:
        problems.append(
            Problem.of(
                "rate", f"{choice.arrivals} arrivals need above 0 to {RATE_MAX:.0f} per second, is {choice.rate:g}"
            )
        )
    if not 0 <= choice.late_max_seconds <= LATE_MAX_SECONDS_LIMIT:
        problems.append(
            Problem.of("late-max", f"must be 0 to {LATE_MAX_SECONDS_LIMIT:.0f} seconds, is {choice.late_max_seconds:g}")
        )
    if choice.pacing_seconds:
        problems.append(
            Problem.of(
                "pacing", "is only for closed load; leave it at 0, because the rate sets how often requests start"
            )
        )
    return problems
