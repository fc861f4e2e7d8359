"""The options of a load, each declared once, their checks, and the load that conditions nodes before another."""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, get_args, get_type_hints

from corda_lab.errors import LabError
from corda_lab.faults.model import Fault
from corda_lab.knobs.options import Kind, Option
from corda_lab.text.words import listed, plural
from lab_workload.load import (
    ARRIVALS,
    BURST_REQUESTS_MAX,
    BURSTS_MAX,
    FLOWS_MAX,
    LATE_MAX_SECONDS_DEFAULT,
    LATE_MAX_SECONDS_LIMIT,
    PACING_SECONDS_MAX,
    PARTIES_MAX,
    RATE_MAX,
    REST_SECONDS_DEFAULT,
    REST_SECONDS_MAX,
    SEED_DEFAULT,
    TRACE_EVERY_MAX,
    WITHIN_SECONDS_DEFAULT,
    WITHIN_SECONDS_MAX,
    Arrivals,
)
from lab_workload.names import names_in

USERS_MAX = 10_000
WORKERS_MAX = 16
SEED_LIMIT = 2**63 - 1
"""The largest 64-bit integer."""
SPAWN_SECONDS_MAX = 5
IDLE_AFTER_SECONDS_MAX = 600

COUNTED_SECONDS_MAX = 3600.0
"""The longest time of a load that ends after a number of flows, unless ``--duration`` gives another."""

DatabaseSize = Literal["file", "compacted"]
"""How the size of an H2 database is read: that of its file, or of a compacted copy of it."""

TraceKeep = Literal["all", "slow"]
"""Of which traced requests a run keeps the spans. slow: failed, the slowest tenth, and the tenth around the median."""

LoadModel = Literal["open", "closed", "burst"]
"""Open load: requests start at the times of an endless schedule. Closed load: a request starts when its user is free.
Burst: a number of requests start within a short time, and again after a rest.
"""

_MODEL_REMEDIES: Mapping[LoadModel, str] = {
    "open": "Add --arrivals constant or --arrivals poisson.",
    "closed": "Leave it out, or leave out --arrivals.",
    "burst": "Add --arrivals burst.",
}

_MODELS: Mapping[Arrivals, LoadModel] = {"closed": "closed", "burst": "burst"}

_ARRIVAL_LABELS: Mapping[Arrivals, str] = {"closed": "closed load", "burst": "bursts"}

INITIATORS, ALL = "initiators", "all"
"""What can be profiled besides a node by its name: the nodes that start the flows, or all nodes."""


@dataclass(frozen=True)
class Stopping:
    """When the warm-up of a load ends, whose length is then an upper limit in seconds.

    It ends when the throughput is steady, but not before ``warm_up_seconds_min``. With ``change_percent_max``, it also
    lasts until the throughput of the window's halves differs by no more than that, and until ``completions_min``
    requests are done.
    """

    warm_up_seconds_min: float
    change_percent_max: float | None = None
    completions_min: int = 0


@dataclass(frozen=True, kw_only=True)
class LoadOption(Option):
    """An option of a load, declared at the attribute of ``LoadOptions`` that it sets."""

    name: str = ""
    attribute: str = ""
    default: Any = None
    """The value if the option is not given, unless it is the attribute's default. Durations are in seconds."""
    model: LoadModel | None = None
    """The only model of load that has the option; None if all have it."""
    is_swept: bool = True
    """Whether it is a field of ``load`` in a sweep file. A sweep file has other fields for the rest."""
    is_generators: bool = False
    """Whether the load generator has an option of the same name. The generator takes durations in seconds."""
    label: Callable[[Any], str] | None = None

    @property
    def usage(self) -> str:
        """The help text on the command line, with the default value."""
        return self.help if self.default is None else f"{self.help} Default: {self.text(self.default)}."

    def value(self, options: "LoadOptions") -> Any:
        """Return the effective value; None if the model of load does not have the option."""
        if self.model not in (None, options.model):
            return None
        given = getattr(options, self.attribute)
        return self.default if given is None else given

    def is_given(self, options: "LoadOptions") -> bool:
        return bool(getattr(options, self.attribute) != getattr(LoadOptions, self.attribute))


@dataclass(frozen=True)
class LoadOptions:
    """A load. All times are in seconds.

    In closed load (``arrivals`` is "closed"), each of the ``users`` has one request in flight. In open load, requests
    start at the intended times of a schedule of ``rate`` per second, and ``users`` is the size of the pool: the maximum
    number of requests in flight. In a burst, ``users`` requests start evenly spread over ``within_seconds``, of which
    at most ``pool`` are in flight; there are ``bursts`` of them, with a rest of at least ``rest_seconds`` in between.

    Bursts end after a number of requests, and so does closed load with ``flows``. Such a load has no warm-up, and its
    duration is only a limit.

    Each option is declared only here. The options of ``lab run``, the fields of ``load`` in a sweep file, the arguments
    of the generator and the ``lab run`` command in reports are derived from these declarations.
    """

    workload: str
    users: Annotated[
        int,
        LoadOption(
            is_common=True,
            kind=Kind.COUNT,
            help="Users; each has one flow in flight. In open load: maximum number of requests in flight. In a burst: "
            "its requests.",
            at_least=1,
            at_most=USERS_MAX,
            label=lambda users: plural(users, "user"),
        ),
    ] = 20
    duration_seconds: Annotated[
        float,
        LoadOption(
            is_common=True,
            kind=Kind.DURATION,
            help="Length of the measuring window, which follows the warm-up: 60s, 2m. The longest time of a load that "
            "ends after a number of flows, for which the default is 1h.",
            at_least=1,
            is_swept=False,
        ),
    ] = 60.0
    warm_up_seconds: Annotated[
        float,
        LoadOption(
            is_common=True,
            kind=Kind.DURATION,
            help="Length of the load before the measuring window. Its rows are stored, but not measured.",
            is_swept=False,
        ),
    ] = 15.0
    arrivals: Annotated[
        Arrivals,
        LoadOption(
            is_common=True,
            kind=Kind.CHOICE,
            choices=ARRIVALS,
            help="When requests start. closed: users wait for answers. constant, poisson: open load at --rate. "
            "burst: --users requests within a time, as often as `bursts` says.",
            is_generators=True,
            label=lambda arrivals: _ARRIVAL_LABELS.get(arrivals, f"{arrivals} arrivals"),
        ),
    ] = "closed"
    rate: Annotated[
        float | None,
        LoadOption(
            is_common=True,
            kind=Kind.NUMBER,
            help="Open load: arrivals per second.",
            above=0,
            at_most=RATE_MAX,
            model="open",
            is_generators=True,
            label="{:g}/s".format,
        ),
    ] = None
    late_max_seconds: Annotated[
        float | None,
        LoadOption(
            kind=Kind.DURATION,
            help="Open load: an arrival is dropped if it would start later than this after its intended time.",
            default=LATE_MAX_SECONDS_DEFAULT,
            at_least=0,
            at_most=LATE_MAX_SECONDS_LIMIT,
            model="open",
            is_generators=True,
            label="at most {:g} s late".format,
        ),
    ] = None
    pacing_seconds: Annotated[
        float,
        LoadOption(
            kind=Kind.DURATION,
            help="Closed load: minimum time between two starts of the same user.",
            at_least=0,
            at_most=PACING_SECONDS_MAX,
            model="closed",
            is_generators=True,
            label="pacing of {:g} s".format,
        ),
    ] = 0.0
    within_seconds: Annotated[
        float,
        LoadOption(
            kind=Kind.DURATION,
            help="Burst: the time over which its requests start, evenly spread.",
            above=0,
            at_most=WITHIN_SECONDS_MAX,
            model="burst",
            is_generators=True,
            label="started within {:g} s".format,
        ),
    ] = WITHIN_SECONDS_DEFAULT
    pool: Annotated[
        int | None,
        LoadOption(
            kind=Kind.COUNT,
            help="Burst: maximum number of requests in flight. The others wait. Default: all of them.",
            at_least=1,
            at_most=BURST_REQUESTS_MAX,
            model="burst",
            label=lambda pool: f"pool of {pool}",
        ),
    ] = None
    bursts: Annotated[
        int,
        LoadOption(
            kind=Kind.COUNT,
            help="Burst: number of bursts, after which the load ends.",
            at_least=1,
            at_most=BURSTS_MAX,
            model="burst",
            is_swept=False,
            is_generators=True,
        ),
    ] = 1
    rest_seconds: Annotated[
        float,
        LoadOption(
            kind=Kind.DURATION,
            help="Burst: shortest pause between two bursts, from the end of the last flow on.",
            at_least=0,
            at_most=REST_SECONDS_MAX,
            model="burst",
            is_generators=True,
            label="rest of {:g} s".format,
        ),
    ] = REST_SECONDS_DEFAULT
    flows: Annotated[
        int | None,
        LoadOption(
            is_common=True,
            kind=Kind.COUNT,
            help="Closed load: the number of flows that are measured, after which the load ends.",
            at_least=1,
            at_most=FLOWS_MAX,
            model="closed",
            is_swept=False,
            is_generators=True,
        ),
    ] = None
    flows_after: Annotated[
        int | None,
        LoadOption(
            kind=Kind.COUNT,
            help="With flows: so many flows come first and are not measured. Default: 0.",
            at_least=0,
            at_most=FLOWS_MAX,
            model="closed",
            is_swept=False,
            is_generators=True,
        ),
    ] = None
    workers: Annotated[
        int | None,
        LoadOption(
            kind=Kind.COUNT,
            help="Worker processes of the generator, at most one per user. Default: a single process without workers.",
            at_least=1,
            at_most=WORKERS_MAX,
            label=lambda workers: plural(workers, "worker"),
        ),
    ] = None
    node: Annotated[
        str | None,
        LoadOption(is_common=True, kind=Kind.TEXT, help="Node that starts the flows. Default: from the workload."),
    ] = None
    nodes: Annotated[
        tuple[str, ...] | None,
        LoadOption(
            kind=Kind.WORDS,
            help="Several nodes that start the flows in turn, instead of --node: PartyA,PartyB.",
            label=lambda nodes: f"flows of {listed(list(names_in(nodes)))}",
        ),
    ] = None
    counterparty: Annotated[
        str | None,
        LoadOption(kind=Kind.TEXT, help="The other party. Default: from the workload.", is_generators=True),
    ] = None
    name: Annotated[
        str | None,
        LoadOption(
            is_common=True, kind=Kind.TEXT, help="Name of the run. Default: that of the workload.", is_swept=False
        ),
    ] = None
    seed: Annotated[
        int,
        LoadOption(
            kind=Kind.COUNT,
            help="Seed for the workload's random values and for Poisson arrivals.",
            at_least=-SEED_LIMIT,
            at_most=SEED_LIMIT,
            is_swept=False,
            is_generators=True,
        ),
    ] = SEED_DEFAULT
    trace_every: Annotated[
        int,
        LoadOption(
            kind=Kind.COUNT,
            help="One request in this many is traced on all nodes; 0: none.",
            at_least=0,
            at_most=TRACE_EVERY_MAX,
            is_generators=True,
        ),
    ] = 1
    trace_keep: Annotated[
        TraceKeep,
        LoadOption(
            kind=Kind.CHOICE,
            choices=get_args(TraceKeep),
            help="Of which traced requests the run keeps the spans: all; or slow: the slowest tenth, the tenth around "
            "the median, and those that failed.",
        ),
    ] = "all"
    idle_after_seconds: Annotated[
        float | None,
        LoadOption(
            kind=Kind.DURATION,
            help="Watch the lab at rest for so long after the load; 60s shows if memory is given back. Default: 0s.",
            at_least=0,
            at_most=IDLE_AFTER_SECONDS_MAX,
        ),
    ] = None
    database_size: Annotated[
        DatabaseSize | None,
        LoadOption(
            kind=Kind.CHOICE,
            choices=get_args(DatabaseSize),
            help="How the size of H2 databases is read: of their files, or of compacted copies of them. Default: file.",
        ),
    ] = None
    overrides: Mapping[str, str] = field(default_factory=dict)
    stopping: Stopping | None = None
    faults: tuple[Fault, ...] = ()
    profile: tuple[str, ...] = ()
    """The JVMs that are profiled in the measuring window: names of nodes, ``bridge``, ``INITIATORS`` or ``ALL``."""

    @property
    def is_open(self) -> bool:
        return self.model == "open"

    @property
    def is_burst(self) -> bool:
        return self.model == "burst"

    @property
    def is_counted(self) -> bool:
        """Whether the load ends after a number of flows, and not after a time."""
        return self.is_burst or self.flows is not None

    @property
    def model(self) -> LoadModel:
        return _MODELS.get(self.arrivals, "open")

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
    def endless(self) -> "LoadOptions":
        """The closed load that goes on as this one begins: without a number of flows, and in place of a burst."""
        if not self.is_counted:
            return self
        users = min(self.places, LoadOptions.users) if self.is_burst else self.users
        names = [name for name, option in LOAD_OPTIONS.items() if option.model == "burst"]
        own = {LOAD_OPTIONS[name].attribute: LOAD_OPTIONS[name].default for name in (*names, "flows", "flows_after")}
        return replace(self, arrivals="closed", users=users, **own)

    @property
    def total_seconds(self) -> int:
        return int(self.warm_up_seconds + self.duration_seconds)

    @property
    def spawn_per_second(self) -> int:
        """Users that start per second. All users start within five seconds, or within a shorter warm-up."""
        return math.ceil(self.users / max(1.0, min(SPAWN_SECONDS_MAX, self.warm_up_seconds_min)))

    @property
    def is_conditioning(self) -> bool:
        return self.stopping is not None and self.stopping.completions_min > 0

    @property
    def warm_up_seconds_min(self) -> float:
        return self.stopping.warm_up_seconds_min if self.stopping else self.warm_up_seconds

    def generator_arguments(self) -> list[str]:
        """Return the generator's command-line arguments for the options that have the same name there."""
        words = []
        for name, option in LOAD_OPTIONS.items():
            value = option.value(self) if option.is_generators else None
            if value is not None:
                words += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
        return words


def _declared() -> Mapping[str, LoadOption]:
    """Return the declared options by name. Each gets its name and default from its attribute."""
    named = {}
    for attribute, hint in get_type_hints(LoadOptions, include_extras=True).items():
        for option in getattr(hint, "__metadata__", ()):
            name = attribute.removesuffix("_seconds")
            default = getattr(LoadOptions, attribute) if option.default is None else option.default
            named[name] = replace(option, name=name, attribute=attribute, default=default)
    return named


LOAD_OPTIONS = _declared()
"""All options of a load by name, in the order of help and printed commands."""

WARM_UP_MAX = LoadOption(
    name="warm_up_max",
    kind=Kind.DURATION,
    help="Longest warm-up. If given, the warm-up lasts until throughput is steady, but at least --warm-up.",
    at_least=0,
)
"""An option that makes the warm-up last ``until_steady``. A sweep file has ``warm_up`` for this."""

RUN_OPTIONS = tuple(
    shown
    for option in LOAD_OPTIONS.values()
    for shown in ((option, WARM_UP_MAX) if option.name == "warm_up" else (option,))
)
"""All options of ``lab run``, in the order of its help."""

STEADY_CHANGE_PERCENT_MAX = 10.0
"""A warm-up ends when throughput changes by at most this, in %, between the halves of the window."""


def until_steady(options: LoadOptions, warm_up_seconds_max: float) -> LoadOptions:
    """Return the load with a warm-up that lasts until throughput is steady. Raises LabError if the limit is too short.

    The measuring window then has its full duration. If throughput is not steady at the limit, it is measured anyway.
    """
    if warm_up_seconds_max < options.warm_up_seconds:
        least, most = WARM_UP_MAX.text(options.warm_up_seconds), WARM_UP_MAX.text(warm_up_seconds_max)
        raise LabError(f"{WARM_UP_MAX.flag}: {most} is less than --warm-up, which is {least}", "Increase it.")
    stopping = Stopping(options.warm_up_seconds, STEADY_CHANGE_PERCENT_MAX)
    return replace(options, warm_up_seconds=warm_up_seconds_max, stopping=stopping)


def attributes_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of ``LoadOptions`` for the given options. None means that an option is not given."""
    return {
        option.attribute: names_in(value) if option.kind is Kind.WORDS else value
        for option, value in ((LOAD_OPTIONS[name], value) for name, value in given.items())
        if value is not None
    }


def with_limit(options: LoadOptions, given: Collection[str]) -> LoadOptions:
    """Return a load that ends after a number of flows without a warm-up, and with its own longest time.

    Options whose names are ``given`` stay as they are. Any other load is returned unchanged.
    """
    if not options.is_counted:
        return options
    own = {"duration": COUNTED_SECONDS_MAX, "warm_up": 0.0}
    return replace(options, **attributes_of({name: value for name, value in own.items() if name not in given}))


def burst_words(load: LoadOptions) -> str:
    """``10 bursts of 70 requests within 1 s, rest 5 s``: a load of bursts."""
    pool = "" if load.pool is None or load.pool >= load.users else f", at most {load.pool} in flight"
    rest = f", rest {load.rest_seconds:g} s" if load.bursts > 1 else ""
    bursts, requests = plural(load.bursts, "burst"), plural(load.users, "request")
    return f"{bursts} of {requests} within {load.within_seconds:g} s{pool}{rest}"


def flows_words(load: LoadOptions) -> str:
    """``400 flows after 2``: the number of flows after which a closed load ends."""
    after = f" after {load.flows_after:,}" if load.flows_after else ""
    return plural(load.flows or 0, "flow") + after


def check_options(options: LoadOptions) -> None:
    """Check the options of a load. Raises LabError for the first problem."""
    for option in LOAD_OPTIONS.values():
        if option.model is not None and option.model != options.model and option.is_given(options):
            raise LabError(f"{option.flag}: is only for {option.model} load", _MODEL_REMEDIES[option.model])
        _check_range(option, option.value(options))
    for option in (LOAD_OPTIONS["duration"], LOAD_OPTIONS["warm_up"]):
        seconds = option.value(options)
        if seconds != int(seconds):
            raise LabError(
                f"{option.flag}: {seconds:g}s is not a whole number of seconds", "Locust counts in whole seconds."
            )
    if options.workers is not None and options.workers > options.users:
        raise LabError(
            f"--set workers: {options.workers} is more than the number of users", "Reduce it, or increase --users."
        )
    if options.is_counted:
        _check_counted(options)
    elif options.flows_after is not None:
        raise LabError("--set flows_after: needs --flows, the number of flows that follow", "For example: --flows 100")
    if options.node is not None and options.nodes is not None:
        raise LabError("--set nodes: cannot be combined with --node", "Leave out one of them.")
    if options.nodes is not None and not 1 <= len(options.nodes) <= PARTIES_MAX:
        raise LabError(
            f"--set nodes: {len(options.nodes)} nodes are out of range", f"Name 1 to {PARTIES_MAX}: PartyA,PartyB."
        )
    for place, fault in enumerate(options.faults):
        if fault.at_seconds >= options.total_seconds:
            raise LabError(
                f"faults[{place}].at: {fault.name} begins at {fault.at_seconds:g} s, when the load of "
                f"{options.total_seconds} s has ended",
                "Begin it earlier, or make the load longer.",
            )
    if options.is_open and options.rate is None:
        raise LabError(f"--rate: is missing; {options.arrivals} arrivals need it", "For example: --rate 20")


def _check_counted(options: LoadOptions) -> None:
    """Check a load that ends after a number of flows. Raises LabError."""
    what = "bursts" if options.is_burst else "a load that ends after --flows"
    if options.workers is not None:
        raise LabError(f"--set workers: is not for {what}", "Leave it out: a single process makes such a load.")
    if options.warm_up_seconds:
        remedy = "Leave it out, or use --condition." if options.is_burst else "Leave it out: flows_after is one."
        raise LabError(f"--warm-up: is not for {what}", remedy)
    if options.is_burst and options.users > BURST_REQUESTS_MAX:
        raise LabError(
            f"--users: {options.users} is out of range for a burst", f"It must be at most {BURST_REQUESTS_MAX}."
        )


def _check_range(option: LoadOption, value: Any) -> None:
    """Raise LabError if a number is too small or too large."""
    if value is None or option.kind not in (Kind.COUNT, Kind.NUMBER, Kind.DURATION):
        return
    low, high = option.at_least, option.at_most
    fits = (low is None or value >= low) and (option.above is None or value > option.above)
    if fits and (high is None or value <= high):
        return
    bounds = [
        f"above {option.above:g}" if option.above is not None else "",
        f"at least {_bound(option, low)}" if low is not None else "",
        f"at most {_bound(option, high)}" if high is not None else "",
    ]
    raise LabError(
        f"{option.flag}: {option.text(value)} is out of range", f"It must be {listed(list(filter(None, bounds)))}."
    )


def _bound(option: LoadOption, value: float) -> str:
    return option.text(value) if option.kind is Kind.DURATION or isinstance(value, int) else f"{value:g}"


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

    options: LoadOptions
    seconds_min: float = SECONDS_MIN
    seconds_max: float = SECONDS_MAX

    @property
    def until_steady(self) -> LoadOptions:
        """The load, which lasts until its throughput is steady and the nodes are not cold any more, or to its limit.

        Half of a short limit is its window. The throughput of open load is that of its arrivals, which does not show
        whether the nodes are warm. So open load lasts as long as it may. In place of bursts, and of load that ends
        after a number of flows, there is closed load that goes on.
        """
        options, window = self.options.endless, min(CONDITIONING_WINDOW_SECONDS, self.seconds_max // 2)
        least = max(1.0, (self.seconds_max if options.is_open else self.seconds_min) - window)
        plain = replace(options, stopping=None, faults=(), profile=())
        brief = replace(plain, warm_up_seconds=least, duration_seconds=window)
        limited = until_steady(brief, max(least, self.seconds_max - window))
        return replace(limited, stopping=limited.stopping and replace(limited.stopping, completions_min=COLD_FLOWS))
