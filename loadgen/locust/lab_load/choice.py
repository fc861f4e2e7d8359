"""What a run was asked for: read from Locust's options or from its web form, and what is wrong with it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from locust.util.timespan import parse_timespan

from lab_load.generator_settings import RUN_ID, GeneratorSettings
from lab_workload import overrides
from lab_workload.load import (
    LATE_MAX_SECONDS_DEFAULT,
    LATE_MAX_SECONDS_LIMIT,
    PACING_SECONDS_MAX,
    RATE_MAX,
    Arrivals,
)
from lab_workload.names import canonical
from lab_workload.problems import LoadError, Problem

USERS_DEFAULT = 1
"""Locust's own, where nobody says how many."""


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


def choice_from(values: Mapping[str, Any], run_id: str, settings: GeneratorSettings) -> Choice:
    """The choice in ``values``, by the arguments' names.

    Raises ``LoadError`` for what is no number, and for a host other than the bridge.
    """
    settings_of_file, problems = overrides.parse(list(values.get("set") or ()))
    pacing_seconds = _number(values, "pacing", problems)
    rate = _number(values, "rate", problems)
    late_max_seconds = _number(values, "late_max", problems)
    # Locust lets its form and its command line name any other server.
    if (values.get("host") or settings.bridge_url).rstrip("/") != settings.bridge_url:
        problems.append(Problem.of("host", f"load goes to {settings.bridge_url} only; the variable BRIDGE_URL sets it"))
    if problems:
        raise LoadError(problems)
    return Choice(
        workload=values["workload"],
        node=values["node"],
        counterparty=values["counterparty"],
        pacing_seconds=pacing_seconds,
        run_id=run_id,
        seed=values["seed"],
        bridge_url=settings.bridge_url,
        arrivals=values["arrivals"],
        rate=rate,
        late_max_seconds=late_max_seconds,
        overrides=settings_of_file,
    )


def extent_from(values: Mapping[str, Any]) -> Extent:
    """How much load ``values`` ask for; what cannot be read Locust itself reports."""
    try:
        users = int(values.get("user_count") or values.get("num_users") or USERS_DEFAULT)
    except ValueError:
        users = USERS_DEFAULT
    workers = int(values.get("expect_workers") or 1) if values.get("master") else 1
    return Extent(max(1, users), seconds_of(values.get("run_time")), workers)


def seconds_of(run_time: Any) -> float | None:
    """Locust's notation of a run time; what cannot be read Locust itself reports."""
    try:
        return float(parse_timespan(str(run_time))) if run_time else None
    except ValueError:
        return None


def choice_problems(choice: Choice, settings: GeneratorSettings) -> list[Problem]:
    """What is wrong with a choice whatever the workload and the network."""
    problems: list[Problem] = []
    for label, name in (("node", choice.node), ("counterparty", choice.counterparty)):
        if name and canonical(name, settings.party_names) is None:
            text = f"unknown node {name!r}; there are {', '.join(settings.party_names)}"
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
                Problem.of("rate", "belongs to open load; leave it 0, or choose constant or poisson arrivals")
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
            Problem.of("pacing", "belongs to closed load; leave it 0, the rate says how often requests start")
        )
    return problems


def _number(values: Mapping[str, Any], name: str, problems: list[Problem]) -> float:
    value = values[name]
    try:
        return float(value or 0)
    except ValueError:
        unit = "per second" if name == "rate" else "of seconds"
        problems.append(Problem.of(name.replace("_", "-"), f"{value!r} is not a number {unit}"))
        return 0.0
