"""The options of a load, each declared once, and their checks."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, get_args, get_type_hints

from corda_lab.errors import LabError
from corda_lab.knobs.options import Kind, Option
from corda_lab.stats.intervals import CONFIDENCE
from corda_lab.steps.entry import DatabaseSize, LoadEntry
from corda_lab.text.words import listed, plural
from lab_workload.load import (
    ARRIVALS,
    LATE_MAX_SECONDS_DEFAULT,
    LATE_MAX_SECONDS_LIMIT,
    PACING_SECONDS_MAX,
    RATE_MAX,
    SEED_DEFAULT,
    Arrivals,
)

USERS_MAX = 10_000
WORKERS_MAX = 16
SEED_LIMIT = 2**63 - 1
"""The largest 64-bit integer."""
SPAWN_SECONDS_MAX = 5
IDLE_AFTER_SECONDS_MAX = 600

LoadModel = Literal["open", "closed"]
"""Open load: requests start at intended times. Closed load: a request starts when its user is free."""

_MODEL_REMEDIES: Mapping[LoadModel, str] = {
    "open": "Add --arrivals constant or --arrivals poisson.",
    "closed": "Leave it out: --rate says how often requests start.",
}


@dataclass(frozen=True)
class Stopping:
    """When a load may end early. Its warm-up and duration are then upper limits. All times are in seconds.

    The warm-up ends when the throughput is steady, but not before ``warm_up_seconds_min``. The measuring window ends
    when the mean throughput is known to ``precision`` (a share; None: never early) at ``confidence``, but not before
    ``duration_seconds_min``.

    With ``change_percent_max``, the warm-up also lasts until the throughput of the window's halves differs by no more
    than that, and until ``completions_min`` requests are done. The window then has its full duration.
    """

    warm_up_seconds_min: float
    duration_seconds_min: float
    precision: float | None
    confidence: float
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
    """The only model of load that has the option; None if both have it."""
    stored: str = ""
    """The name of its field in ``LoadEntry``."""
    is_swept: bool = True
    """Whether it is a field of ``load`` in a sweep file. A sweep file has other fields for the rest."""
    is_generators: bool = False
    """Whether the load generator has an option of the same name. The generator takes durations in seconds."""
    label: Callable[[Any], str] | None = None
    """Describes a value in words."""

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
        """Return whether the value differs from the default."""
        return bool(getattr(options, self.attribute) != getattr(LoadOptions, self.attribute))


@dataclass(frozen=True)
class LoadOptions:
    """A load. All times are in seconds.

    In closed load (``arrivals`` is "closed"), each of the ``users`` has one request in flight. In open load, requests
    start at the intended times of a schedule of ``rate`` per second, and ``users`` is the size of the pool: the maximum
    number of requests in flight.

    Each option is declared only here. The options of ``lab run``, the fields of ``load`` in a sweep file, the arguments
    of the generator and the ``lab run`` command in reports are derived from these declarations.
    """

    workload: str
    users: Annotated[
        int,
        LoadOption(
            kind=Kind.COUNT,
            help="Users; each has one flow in flight. In open load: maximum number of requests in flight.",
            at_least=1,
            at_most=USERS_MAX,
            stored="users",
            label=lambda users: plural(users, "user"),
        ),
    ] = 20
    duration_seconds: Annotated[
        float,
        LoadOption(
            kind=Kind.DURATION,
            help="Length of the measuring window, which follows the warm-up: 60s, 2m.",
            at_least=1,
            is_swept=False,
        ),
    ] = 60.0
    warm_up_seconds: Annotated[
        float,
        LoadOption(
            kind=Kind.DURATION,
            help="Length of the load before the measuring window. Its rows are stored, but not measured.",
            is_swept=False,
        ),
    ] = 15.0
    arrivals: Annotated[
        Arrivals,
        LoadOption(
            kind=Kind.CHOICE,
            choices=ARRIVALS,
            help="When requests start. closed: users wait for answers. constant, poisson: open load at --rate.",
            is_generators=True,
            label=lambda arrivals: "closed load" if arrivals == "closed" else f"{arrivals} arrivals",
        ),
    ] = "closed"
    rate: Annotated[
        float | None,
        LoadOption(
            kind=Kind.NUMBER,
            help="Open load: arrivals per second.",
            above=0,
            at_most=RATE_MAX,
            model="open",
            stored="rate_per_second",
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
            stored="late_max_seconds",
            is_generators=True,
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
            stored="pacing_seconds",
            is_generators=True,
        ),
    ] = 0.0
    workers: Annotated[
        int | None,
        LoadOption(
            kind=Kind.COUNT,
            help="Worker processes of the generator, at most one per user. Default: a single process without workers.",
            at_least=1,
            at_most=WORKERS_MAX,
            stored="workers",
            label=lambda workers: plural(workers, "worker"),
        ),
    ] = None
    node: Annotated[
        str | None,
        LoadOption(kind=Kind.TEXT, help="Node that starts the flows. Default: from the workload."),
    ] = None
    counterparty: Annotated[
        str | None,
        LoadOption(kind=Kind.TEXT, help="The other party. Default: from the workload.", is_generators=True),
    ] = None
    name: Annotated[
        str | None,
        LoadOption(kind=Kind.TEXT, help="Name of the run. Default: that of the workload.", is_swept=False),
    ] = None
    seed: Annotated[
        int,
        LoadOption(
            kind=Kind.COUNT,
            help="Seed for the workload's random values and for Poisson arrivals.",
            at_least=-SEED_LIMIT,
            at_most=SEED_LIMIT,
            stored="seed",
            is_swept=False,
            is_generators=True,
        ),
    ] = SEED_DEFAULT
    idle_after_seconds: Annotated[
        float | None,
        LoadOption(
            kind=Kind.DURATION,
            help="Watch the lab at rest for so long after the load; 60s shows if memory is given back. Default: 0s.",
            at_least=0,
            at_most=IDLE_AFTER_SECONDS_MAX,
            stored="idle_after_seconds",
        ),
    ] = None
    database_size: Annotated[
        DatabaseSize | None,
        LoadOption(
            kind=Kind.CHOICE,
            choices=get_args(DatabaseSize),
            help="How the size of H2 databases is read: of their files, or of compacted copies of them. Default: file.",
            stored="database_size",
        ),
    ] = None
    overrides: Mapping[str, str] = field(default_factory=dict)
    stopping: Stopping | None = None

    @property
    def is_open(self) -> bool:
        """Whether this is open load, in which requests start at intended times."""
        return self.arrivals != "closed"

    @property
    def model(self) -> LoadModel:
        """The model of load: open or closed."""
        return "open" if self.is_open else "closed"

    @property
    def total_seconds(self) -> int:
        """Duration of the whole load: warm-up and measuring window."""
        return int(self.warm_up_seconds + self.duration_seconds)

    @property
    def spawn_per_second(self) -> int:
        """Users that start per second. All users start within five seconds, or within a shorter warm-up."""
        return math.ceil(self.users / max(1.0, min(SPAWN_SECONDS_MAX, self.warm_up_seconds_min)))

    @property
    def is_conditioning(self) -> bool:
        """Whether this load conditions nodes, so nothing of it is measured."""
        return self.stopping is not None and self.stopping.completions_min > 0

    @property
    def warm_up_seconds_min(self) -> float:
        """Minimum duration of the warm-up."""
        return self.stopping.warm_up_seconds_min if self.stopping else self.warm_up_seconds

    def entry(self) -> LoadEntry:
        """Return the load as stored in ``steps.json`` and ``run.json``. Options of the other model are None."""
        return LoadEntry(
            model=self.model,
            arrivals=None if self.arrivals == "closed" else self.arrivals,
            spawn_per_second=None if self.is_open else self.spawn_per_second,
            overrides=dict(self.overrides),
            **{option.stored: option.value(self) for option in LOAD_OPTIONS.values() if option.stored},
        )

    def generator_arguments(self) -> list[str]:
        """Return the generator's command-line arguments for the options that have the same name there."""
        words = []
        for option in LOAD_OPTIONS.values():
            value = option.value(self) if option.is_generators else None
            if value is not None:
                words += [option.flag, f"{value:g}" if isinstance(value, float) else str(value)]
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
        raise LabError(f"--warm-up-max: {most} is less than --warm-up, which is {least}", "Increase it.")
    stopping = Stopping(
        warm_up_seconds_min=options.warm_up_seconds,
        duration_seconds_min=options.duration_seconds,
        precision=None,
        confidence=CONFIDENCE,
        change_percent_max=STEADY_CHANGE_PERCENT_MAX,
    )
    return replace(options, warm_up_seconds=warm_up_seconds_max, stopping=stopping)


def attributes_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of ``LoadOptions`` for the given options. None means that an option is not given."""
    return {LOAD_OPTIONS[name].attribute: value for name, value in given.items() if value is not None}


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
            f"--workers: {options.workers} is more than the number of users", "Reduce it, or increase --users."
        )
    if options.is_open and options.rate is None:
        raise LabError(f"--rate: is missing; {options.arrivals} arrivals need it", "For example: --rate 20")


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
