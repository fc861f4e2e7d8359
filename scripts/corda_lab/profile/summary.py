"""What a profile says in words: the largest components, with the method in which each spends the most."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from corda_lab.profile import places
from corda_lab.profile.components import RUNNING, Component
from corda_lab.profile.events import KINDS, Event, Unit
from corda_lab.profile.stacks import Stack
from corda_lab.text.words import amount, percent, size

TOP = 10
"""Number of components that are shown. The JSON has all."""

SCHEMA = 1
"""Version of the format of a profile's JSON file."""


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ComponentShare(_Stored):
    """One component of a profile."""

    name: str
    meaning: str
    share_percent: float
    value: float
    """In the unit of the profile."""
    method: str
    """The component's own method in which it spends the most: ``ClassName.method``, or a native function."""
    innermost: str
    """The innermost frame below that method: itself, or what it calls most. Of allocations: the class of the object."""


class Flows(_Stored):
    """The load on the JVM while it was profiled."""

    ended: int
    """Flows that ended, on the node or, of the bridge, on all nodes. They may have been started by other nodes."""
    started: int
    seconds: float
    """Time between the two readings of the counters, while samples were taken."""

    @property
    def per_second(self) -> float:
        """Flows that ended per second."""
        return self.ended / self.seconds

    @property
    def is_idle(self) -> bool:
        """Whether no flow started or ended."""
        return not self.started and not self.ended


class Profile(_Stored):
    """A profile in words. It is stored as JSON beside the flame graph."""

    schema_version: int = SCHEMA
    name: str
    """``<utc>-<node>-<event>``, the name of the files."""
    node: str
    event: Event
    engine: str
    started_at: str
    """UTC, ISO 8601."""
    seconds: float
    """How long samples were taken."""
    flows: Flows | None
    """None if the counters could not be read."""
    unit: Unit
    total: float
    """The sum of all values, in ``unit``. Seconds of CPU time, of waiting for locks, or of all threads together."""
    idle_percent: float
    """The part of ``total`` in which threads waited for something to do. It belongs to no component."""
    components: tuple[ComponentShare, ...]
    """Largest first. Their shares are of what was not idle."""
    states: dict[str, float]
    """Of the wall clock: share of each state of the threads that were not idle, in percent. Otherwise empty."""
    versions: dict[str, str]
    """Of Corda, Java and the shape of the lab."""


@dataclass(frozen=True)
class Totals:
    """The sums of a profile's stacks."""

    total: float
    idle_percent: float
    components: tuple[ComponentShare, ...]
    states: dict[str, float]


def summarise(event: Event, stacks: Iterable[Stack]) -> Totals:
    """Add up the stacks of a profile by component, and those of the wall clock also by the state of their threads."""
    values: Counter[Component] = Counter()
    methods: dict[Component, Counter[tuple[str, str]]] = defaultdict(Counter)
    states: Counter[str] = Counter()
    total = 0
    for stack in stacks:
        total += stack.value
        if _is_idle(event, stack):
            continue
        place = places.place_of(stack.thread, stack.frames)
        innermost = places.plain(stack.frames[-1]) if stack.frames else ""
        values[place.component] += stack.value
        methods[place.component][(place.frame, innermost)] += stack.value
        states[places.state_of(stack.frames).name] += stack.value
    working = sum(values.values())
    factor = KINDS[event].factor
    shares = tuple(
        _share(component, value * factor, 100 * value / working, methods[component])
        for component, value in values.most_common()
    )
    by_state = {name: round(100 * value / working, 1) for name, value in states.most_common()}
    idle_percent = round(100 * (total - working) / total, 1) if total else 0.0
    return Totals(total * factor, idle_percent, shares, by_state if event is Event.WALL else {})


def _is_idle(event: Event, stack: Stack) -> bool:
    """Whether a stack shows a thread that waits for something to do. No thread that uses CPU time or allocates does."""
    if event is Event.WALL:
        return places.state_of(stack.frames) is not RUNNING and places.is_idle(stack.thread, stack.frames)
    return event is Event.LOCK and places.is_idle(stack.thread, stack.frames)


def _share(
    component: Component, value: float, share_percent: float, methods: Counter[tuple[str, str]]
) -> ComponentShare:
    by_method: Counter[str] = Counter()
    for (method, _), count in methods.items():
        by_method[method] += count
    hottest = by_method.most_common(1)[0][0]
    below = Counter({frame: count for (method, frame), count in methods.items() if method == hottest})
    return ComponentShare(
        name=component.name,
        meaning=component.meaning,
        share_percent=round(share_percent, 2),
        value=round(value, 6),
        method=short_frame(hottest),
        innermost=short_frame(below.most_common(1)[0][0]),
    )


def short_frame(frame: str) -> str:
    """Return a frame without its package or folder: ``net/corda/Node.run`` becomes ``Node.run``."""
    return frame.rpartition("/")[2] if places.is_java(frame) or frame.startswith("/") else frame


def unit_of(event: Event) -> Unit:
    """The unit of the values of an event."""
    return KINDS[event].unit


def value_words(unit: Unit, value: float) -> str:
    """A value of a profile with its unit."""
    return size(value) if unit is Unit.BYTES else f"{amount(value)} s"


def hottest_words(share: ComponentShare) -> str:
    """The hottest method of a component, and what it spends most of that time in."""
    return share.method if share.innermost in {"", share.method} else f"{share.method} → {share.innermost}"


def headline(profile: Profile) -> str:
    """What was profiled, and how much there was, in one line."""
    counted = f"{value_words(profile.unit, profile.total)} of {KINDS[profile.event].counts}"
    if profile.event is Event.CPU:
        counted += f" ({amount(profile.total / profile.seconds)} cores)"
    elif profile.event is Event.ALLOC:
        counted += f" ({size(profile.total / profile.seconds)} per second)"
    elif profile.event is Event.WALL:
        counted += f" ({profile.total / profile.seconds:.0f} threads)"
    return f"{profile.node}, {profile.event.value} for {profile.seconds:.0f} s by {profile.engine}: {counted}"


def waiting_words(profile: Profile) -> str:
    """How much of the profile was idle, and the states of the other threads; empty if the event has no idle threads."""
    if not profile.total:
        return "nothing was sampled"
    if profile.event not in {Event.WALL, Event.LOCK}:
        return ""
    words = f"idle: {percent(profile.idle_percent)}, by threads that wait for something to do; shares are of the rest"
    if profile.states:
        states = ", ".join(f"{percent(share)} {name}" for name, share in profile.states.items())
        words += f", which was {states}"
    return words


def load_words(flows: Flows | None) -> str:
    """The load while the profile was taken."""
    if flows is None:
        return "load: unknown, because the counters of flows could not be read"
    return f"load: {flows.per_second:.2f} flows/s ({flows.ended} ended in {flows.seconds:.0f} s)"


def rows(profile: Profile) -> Sequence[tuple[str, str, str, str]]:
    """The rows of the table of the largest components: share, name, value, hottest method."""
    return [
        (percent(one.share_percent), one.name, value_words(profile.unit, one.value), hottest_words(one))
        for one in profile.components[:TOP]
    ]


def markdown(profile: Profile) -> str:
    """The profile in words, as Markdown."""
    lines = [f"# {profile.name}", "", f"{headline(profile)}.", "", f"{load_words(profile.flows).capitalize()}.", ""]
    if waiting := waiting_words(profile):
        lines += [f"{waiting.capitalize()}.", ""]
    lines += ["| share | component | value | what it does | hottest method |", "|---|---|---|---|---|"]
    for (share, name, value, method), one in zip(rows(profile), profile.components, strict=False):
        lines.append(f"| {share} | {name} | {value} | {one.meaning} | `{method}` |")
    rest = profile.components[TOP:]
    if rest:
        lines += ["", f"{len(rest)} further components: {percent(sum(one.share_percent for one in rest))}."]
    lines += ["", ", ".join(f"{name} {value}" for name, value in profile.versions.items() if value)]
    return "\n".join(lines) + "\n"
