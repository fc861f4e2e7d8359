"""What a person asked for: the shape of a load, checked, and the arguments that tell the generator of it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from corda_lab.errors import LabError
from corda_lab.steps.entry import LoadEntry
from lab_workload.load import LATE_MAX_SECONDS_DEFAULT, LATE_MAX_SECONDS_LIMIT, RATE_MAX, Arrivals

USERS_MAX = 10_000
WORKERS_MAX = 16
SPAWN_SECONDS_MAX = 5


@dataclass(frozen=True)
class Stopping:
    """When a load may end before its time, all times in seconds; its warm-up and duration are then the most there may be.

    The warm-up ends when the throughput is steady, not before ``warm_up_seconds_min``. The measuring ends when the mean
    throughput is known to ``precision`` (a share; None: never early) at ``confidence``, not before ``duration_seconds_min``.
    """

    warm_up_seconds_min: float
    duration_seconds_min: float
    precision: float | None
    confidence: float


@dataclass(frozen=True)
class LoadOptions:
    """The shape of a load, all times in seconds.

    In closed load (``arrivals`` "closed") ``users`` each have one request in flight. In open load requests start at the
    intended times of a schedule of ``rate`` per second, and ``users`` is the pool: how many may be in flight at once.
    ``workers`` is None for one generator process, otherwise the number of processes beside their master.
    """

    workload: str
    users: int
    duration_seconds: float
    warm_up_seconds: float
    pacing_seconds: float = 0.0
    node: str | None = None
    counterparty: str | None = None
    name: str | None = None
    seed: int = 1
    arrivals: Arrivals = "closed"
    rate: float | None = None
    late_max_seconds: float | None = None
    workers: int | None = None
    overrides: Mapping[str, str] = field(default_factory=dict)
    stopping: Stopping | None = None

    @property
    def is_open(self) -> bool:
        """Whether requests start at intended times."""
        return self.arrivals != "closed"

    @property
    def late_limit_seconds(self) -> float:
        """How late an arrival of open load may start before it is dropped."""
        return LATE_MAX_SECONDS_DEFAULT if self.late_max_seconds is None else self.late_max_seconds

    @property
    def total_seconds(self) -> int:
        """How long load is generated: the warm-up, then the time that is measured."""
        return int(self.warm_up_seconds + self.duration_seconds)

    @property
    def spawn_per_second(self) -> int:
        """Users that start per second: all within five seconds, or within the warm-up when that is shorter."""
        return math.ceil(self.users / max(1.0, min(SPAWN_SECONDS_MAX, self.warm_up_seconds_min)))

    @property
    def warm_up_seconds_min(self) -> float:
        """How long the warm-up takes at least."""
        return self.stopping.warm_up_seconds_min if self.stopping else self.warm_up_seconds

    def entry(self) -> LoadEntry:
        """The load as ``steps.json`` and ``run.json`` name it; what a model does not have is None."""
        return LoadEntry(
            model="open" if self.is_open else "closed",
            arrivals=None if self.arrivals == "closed" else self.arrivals,
            rate_per_second=self.rate,
            late_max_seconds=self.late_limit_seconds if self.is_open else None,
            users=self.users,
            workers=self.workers,
            pacing_seconds=None if self.is_open else self.pacing_seconds,
            spawn_per_second=None if self.is_open else self.spawn_per_second,
            seed=self.seed,
            overrides=dict(self.overrides),
        )


def check_options(options: LoadOptions) -> None:
    """What can be wrong with the numbers on the command line. Raises LabError."""
    if not 1 <= options.users <= USERS_MAX:
        raise LabError(f"--users: {options.users} is out of range", f"Give a number from 1 to {USERS_MAX}.")
    for option, seconds in (("--duration", options.duration_seconds), ("--warm-up", options.warm_up_seconds)):
        if seconds != int(seconds):
            raise LabError(
                f"{option}: {seconds:g}s is not a whole number of seconds", "Locust counts in whole seconds."
            )
    if not -(2**63) <= options.seed < 2**63:
        raise LabError(f"--seed: {options.seed} is out of range", "Give a whole number of at most 18 digits.")
    if options.workers is not None and not 1 <= options.workers <= min(WORKERS_MAX, options.users):
        raise LabError(
            f"--workers: {options.workers} is out of range",
            f"Give a number from 1 to {WORKERS_MAX}, and not more than there are users.",
        )
    check_arrivals(options)


def check_arrivals(options: LoadOptions) -> None:
    """Options that belong to one model of load only. Raises LabError."""
    if not options.is_open:
        for option, value in (("--rate", options.rate), ("--late-max", options.late_max_seconds)):
            if value is not None:
                raise LabError(f"{option}: belongs to open load", "Add --arrivals constant or --arrivals poisson.")
        return
    if options.rate is None:
        raise LabError(f"--rate: is missing; {options.arrivals} arrivals need one", "For example: --rate 20")
    if not 0 < options.rate <= RATE_MAX:
        raise LabError(
            f"--rate: {options.rate:g} is out of range", f"Give arrivals per second, above 0 and at most {RATE_MAX:g}."
        )
    if options.late_max_seconds is not None and not 0 <= options.late_max_seconds <= LATE_MAX_SECONDS_LIMIT:
        raise LabError(
            f"--late-max: {options.late_max_seconds:g} s is out of range",
            f"Give 0 to {LATE_MAX_SECONDS_LIMIT:g} seconds.",
        )
    if options.pacing_seconds:
        raise LabError("--pacing: belongs to closed load", "Leave it out: --rate says how often requests start.")


def parse_overrides(settings: list[str]) -> dict[str, str]:
    """``key=value`` of every --set, each key once. Raises LabError."""
    overrides: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise LabError(f"--set: {setting!r} is not key=value", "For example: --set numberOfStatesPerTx=10")
        if key.strip() in overrides:
            raise LabError(f"--set: {key.strip()} is given twice", "Leave one of the two out.")
        overrides[key.strip()] = value
    return overrides
