"""A load: what the command line, a sweep file or the web UI asks of the generator, and how it is stored.

``Load`` is the declaration of its options. A new one is a field with a description there: the help text of the command
line, the keys of ``--set``, the fields of ``load`` in a sweep file, and what is stored are all made from it. Only the
form of the web UI lists which of them it shows, and in what order (``lab_load.form``).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from lab_workload.durations import SECONDS_MAX, format_duration, seconds_in
from lab_workload.faults import Fault
from lab_workload.field_problems import field_words
from lab_workload.names import names_in
from lab_workload.problems import LoadError, Problem

Arrivals = Literal["closed", "constant", "poisson", "burst"]
"""When requests start. closed: after the user's previous one has ended. constant, poisson: open load, on a schedule.
burst: so many within so many seconds, and again after a rest.
"""

LoadModel = Literal["open", "closed", "burst"]
"""Open load: requests start at the times of an endless schedule. Closed load: a request starts when its user is free.
Burst: a number of requests start within a short time, and again after a rest.
"""

DatabaseSize = Literal["file", "compacted"]
"""How the size of an H2 database is read: that of its file, or of a compacted copy of it."""

TraceKeep = Literal["all", "slow"]
"""Of which traced requests a run keeps the spans. slow: failed, the slowest tenth, and the tenth around the median."""

PARTIES_MAX = 11
"""Number of parties in the largest network: ten that own something, and one at which they meet."""
USERS_MAX = 10_000
WORKERS_MAX = 16
BURST_REQUESTS_MAX = 300
"""Maximum number of requests in a burst."""
BURSTS_MAX = 1000
FLOWS_MAX = 100_000
"""Maximum number of flows after which a load ends."""
RATE_MAX = 100_000.0
"""Arrivals per second."""
SEED_LIMIT = 2**63 - 1
"""The largest 64-bit integer."""
SPAWN_SECONDS_MAX = 5

LATE_SECONDS = 0.010
"""A request of open load or of a burst is late if it starts more than this after its intended time."""
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


def read_seconds(value: Any) -> float:
    """Read a duration that is a number of seconds, or a text such as ``2m``. Raises ``PydanticCustomError``."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds: float | None = float(value)
    else:
        seconds = seconds_in(value) if isinstance(value, str) else None
    if seconds is None or not 0 <= seconds < math.inf:
        raise PydanticCustomError("duration", "must be a duration such as 30s or 2m")
    if seconds > SECONDS_MAX and isinstance(value, str):
        raise PydanticCustomError("duration", f"must be at most {format_duration(SECONDS_MAX)}")
    return seconds


def _names(value: Any) -> Any:
    return names_in(value) if isinstance(value, (str, list, tuple)) else value


Seconds = Annotated[float, BeforeValidator(read_seconds)]
"""A duration in seconds, also written as ``30s`` or ``2m``."""
Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
"""Several names, also written as ``PartyA,PartyB``."""


@dataclass(frozen=True)
class Only:
    """Says of a field that only one model of load has it."""

    model: LoadModel


class Stopping(BaseModel):
    """When the warm-up of a load ends, whose length is then an upper limit in seconds.

    It ends when the throughput is steady, but not before ``warm_up_seconds_min``. With ``change_percent_max``, it also
    lasts until the throughput of the window's halves differs by no more than that, and until ``completions_min``
    requests are done.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    warm_up_seconds_min: float
    change_percent_max: float | None = None
    completions_min: int = 0


def key_of(name: str) -> str:
    """The key of a field in ``--set`` and in files. It has no unit, because a value may have one: ``pacing: 100ms``."""
    return name.removesuffix("_seconds")


class Load(BaseModel):
    """A load. All times are in seconds.

    In closed load (``arrivals`` is "closed"), each of the ``users`` has one request in flight. In open load, requests
    start at the intended times of a schedule of ``rate`` per second, and ``users`` is the size of the pool: the maximum
    number of requests in flight. In a burst, ``users`` requests start evenly spread over ``within_seconds``, of which
    at most ``pool`` are in flight; there are ``bursts`` of them, with a rest of at least ``rest_seconds`` in between.

    Bursts end after a number of requests, and so does closed load with ``flows``. Such a load has no warm-up, and its
    duration is only a limit.

    A field with a description is an option. It is stored by its name, and given by its key (``key_of``) or its name.
    ``problems`` says what of a valid load does not fit together.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        alias_generator=key_of,
        validate_by_name=True,
        validate_by_alias=True,
    )

    workload: str
    users: int = Field(
        20,
        ge=1,
        le=USERS_MAX,
        description="Users; each has one flow in flight. In open load: maximum number of requests in flight. In a "
        "burst: its requests.",
    )
    duration_seconds: Seconds = Field(
        60.0,
        gt=0,
        description="Length of the measuring window, which follows the warm-up: 60s, 2m. The longest time of a load "
        "that ends after a number of flows, for which the default is 1h.",
    )
    warm_up_seconds: Seconds = Field(
        15.0,
        description="Length of the load before the measuring window. Its rows are stored, but not measured.",
    )
    arrivals: Arrivals = Field(
        "closed",
        description="When requests start. closed: users wait for answers. constant, poisson: open load at --rate. "
        "burst: --users requests within a time, as often as `bursts` says.",
    )
    rate: Annotated[float | None, Only("open")] = Field(
        None, gt=0, le=RATE_MAX, description="Open load: arrivals per second."
    )
    late_max_seconds: Annotated[Seconds, Only("open")] = Field(
        1.0,
        le=60,
        description="Open load: an arrival is dropped if it would start later than this after its intended time.",
    )
    pacing_seconds: Annotated[Seconds, Only("closed")] = Field(
        0.0, le=3600, description="Closed load: minimum time between two starts of the same user."
    )
    within_seconds: Annotated[Seconds, Only("burst")] = Field(
        1.0, gt=0, le=600, description="Burst: the time over which its requests start, evenly spread."
    )
    pool: Annotated[int | None, Only("burst")] = Field(
        None,
        ge=1,
        le=BURST_REQUESTS_MAX,
        description="Burst: maximum number of requests in flight. The others wait. Default: all of them.",
    )
    bursts: Annotated[int, Only("burst")] = Field(
        1, ge=1, le=BURSTS_MAX, description="Burst: number of bursts, after which the load ends."
    )
    rest_seconds: Annotated[Seconds, Only("burst")] = Field(
        5.0,
        le=3600,
        description="Burst: shortest pause between two bursts, from the end of the last flow on.",
    )
    flows: Annotated[int | None, Only("closed")] = Field(
        None,
        ge=1,
        le=FLOWS_MAX,
        description="Closed load: the number of flows that are measured, after which the load ends.",
    )
    flows_after: Annotated[int | None, Only("closed")] = Field(
        None,
        ge=0,
        le=FLOWS_MAX,
        description="With flows: so many flows come first and are not measured. Default: 0.",
    )
    workers: int | None = Field(
        None,
        ge=1,
        le=WORKERS_MAX,
        description="Worker processes of the generator, at most one per user. Default: a single process without "
        "workers.",
    )
    node: str | None = Field(None, description="Node that starts the flows. Default: from the workload.")
    nodes: Names | None = Field(
        None,
        min_length=1,
        max_length=PARTIES_MAX,
        description="Several nodes that start the flows in turn, instead of --node: PartyA,PartyB.",
    )
    counterparty: str | None = Field(None, description="The other party. Default: from the workload.")
    name: str | None = Field(None, description="Name of the run. Default: that of the workload.")
    seed: int = Field(
        1,
        ge=-SEED_LIMIT,
        le=SEED_LIMIT,
        description="Seed for the workload's random values and for Poisson arrivals.",
    )
    trace_every: int = Field(
        1, ge=0, le=1_000_000, description="One request in this many is traced on all nodes; 0: none."
    )
    trace_keep: TraceKeep = Field(
        "all",
        description="Of which traced requests the run keeps the spans: all; or slow: the slowest tenth, the tenth "
        "around the median, and those that failed.",
    )
    idle_after_seconds: Seconds | None = Field(
        None,
        le=600,
        description="Watch the lab at rest for so long after the load; 60s shows if memory is given back. Default: 0s.",
    )
    database_size: DatabaseSize | None = Field(
        None,
        description="How the size of H2 databases is read: of their files, or of compacted copies of them. Default: "
        "file.",
    )
    overrides: dict[str, str] = Field(default_factory=dict)
    """Values that replace those in the workload file, by key."""
    stopping: Stopping | None = None
    faults: tuple[Fault, ...] = ()
    profile: tuple[str, ...] = ()
    """The JVMs that are profiled in the measuring window: names of nodes, ``bridge``, or words for several of them."""

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Self:
        """Make a load of values by key, which may be texts. Raises ``LoadError`` with the problems, each at its key."""
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            details = error.errors(include_url=False)
            raise LoadError(
                [Problem.of(key_of(str(detail["loc"][0])), field_words(detail, OPTIONS)) for detail in details]
            ) from None

    def updated(self, **changes: Any) -> Self:
        """The load with other values for these fields. Raises pydantic's ValidationError if one is invalid."""
        return type(self).model_validate({**dict(self), **changes})

    def of_model(self, name: str) -> Any:
        """The value of a field; None if the model of this load does not have it."""
        return getattr(self, name) if model_of(name) in (None, self.model) else None

    @property
    def model(self) -> LoadModel:
        return "open" if self.arrivals in ("constant", "poisson") else self.arrivals  # type: ignore[return-value]

    @property
    def is_open(self) -> bool:
        return self.model == "open"

    @property
    def is_burst(self) -> bool:
        return self.model == "burst"

    @property
    def has_pool(self) -> bool:
        """Whether requests start at intended times, so that the users are the places of a pool."""
        return self.model != "closed"

    @property
    def is_counted(self) -> bool:
        """Whether the load ends after a number of flows, and not after a time."""
        return self.is_burst or self.flows is not None

    @property
    def places(self) -> int:
        """The maximum number of requests in flight."""
        return self.users if not self.is_burst or self.pool is None else min(self.pool, self.users)

    @property
    def flows_max(self) -> int | None:
        """The number of flows after which the load ends; None if it ends after a time."""
        if self.is_burst:
            return self.bursts * self.users
        return None if self.flows is None else self.flows + (self.flows_after or 0)

    @property
    def endless(self) -> Self:
        """The closed load that goes on as this one begins: without a number of flows, and in place of a burst."""
        if not self.is_counted:
            return self
        users = min(self.places, type(self).model_fields["users"].default) if self.is_burst else self.users
        own = [name for name in type(self).model_fields if model_of(name) == "burst"]
        defaults = {name: type(self).model_fields[name].default for name in (*own, "flows", "flows_after")}
        return self.updated(arrivals="closed", users=users, **defaults)

    @property
    def total_seconds(self) -> int:
        return int(self.warm_up_seconds + self.duration_seconds)

    @property
    def spawn_per_second(self) -> int:
        """Users that start per second: all within five seconds or a shorter warm-up; those of a pool at once."""
        if self.has_pool:
            # The schedule begins when the whole pool is running.
            return self.places
        return math.ceil(self.users / max(1.0, min(SPAWN_SECONDS_MAX, self.warm_up_seconds_min)))

    @property
    def is_conditioning(self) -> bool:
        return self.stopping is not None and self.stopping.completions_min > 0

    @property
    def warm_up_seconds_min(self) -> float:
        return self.stopping.warm_up_seconds_min if self.stopping else self.warm_up_seconds

    def problems(self) -> Iterator[Problem]:
        """Yield what does not fit together, each at the key of a field."""
        for name, field in type(self).model_fields.items():
            model = model_of(name)
            if model not in (None, self.model) and getattr(self, name) != field.default:
                yield Problem.of(key_of(name), f"is only for {model} load", _MODEL_REMEDIES[model])
        for name in ("duration_seconds", "warm_up_seconds"):
            seconds = getattr(self, name)
            if seconds != int(seconds):
                yield Problem.of(key_of(name), f"{seconds:g}s is not a whole number of seconds")
        if self.is_open and self.rate is None:
            yield Problem.of("rate", f"is missing; {self.arrivals} arrivals need it", "For example: rate 20.")
        if self.workers is not None and self.workers > self.users:
            text = f"{self.workers} is more than the number of users"
            yield Problem.of("workers", text, "Reduce it, or increase users.")
        if self.is_counted:
            yield from self._counted_problems()
        elif self.flows_after is not None and not self.has_pool:
            yield Problem.of("flows_after", "needs flows, the number of flows that follow", "For example: flows 100.")
        if self.node is not None and self.nodes is not None:
            yield Problem.of("nodes", "cannot be combined with node", "Leave out one of them.")
        for place, fault in enumerate(self.faults):
            if fault.at_seconds >= self.total_seconds:
                text = (
                    f"{fault.name} begins at {fault.at_seconds:g} s, when the load of {self.total_seconds} s has ended"
                )
                yield Problem(text, ("faults", place, "at"), "Begin it earlier, or make the load longer.")

    def _counted_problems(self) -> Iterator[Problem]:
        what = "bursts" if self.is_burst else "a load that ends after a number of flows"
        if self.workers is not None:
            yield Problem.of("workers", f"is not for {what}", "Leave it out: a single process makes such a load.")
        if self.warm_up_seconds:
            remedy = "Leave it out, or use --condition." if self.is_burst else "Leave it out: flows_after is one."
            yield Problem.of("warm_up", f"is not for {what}", remedy)
        if self.is_burst and self.users > BURST_REQUESTS_MAX:
            text = f"{self.users} is out of range for a burst"
            yield Problem.of("users", text, f"It must be at most {BURST_REQUESTS_MAX}.")


def model_of(name: str) -> LoadModel | None:
    """The only model of load that has a field; None if all have it."""
    return next((one.model for one in Load.model_fields[name].metadata if isinstance(one, Only)), None)


OPTIONS: Mapping[str, FieldInfo] = {
    key_of(name): field for name, field in Load.model_fields.items() if field.description
}
"""The fields of a load that are options, by key, in the order of help and printed commands."""
FIELDS: Mapping[str, str] = {key_of(name): name for name in Load.model_fields}
"""The names of the fields by key."""

_MODEL_REMEDIES: Mapping[LoadModel | None, str] = {
    "open": "Set arrivals to constant or poisson.",
    "closed": "Leave it out, or leave out arrivals.",
    "burst": "Set arrivals to burst.",
}
