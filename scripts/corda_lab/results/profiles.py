"""Profiles as they are stored: in ``results/profiles/``, or in the folder of the run under whose load they were taken.

The files of a profile share a name: the flame graph (``.html``), the stacks that it shows (``.collapsed``), and the
components (``.json``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from corda_lab import atomic
from corda_lab.results import folders
from corda_lab.results.manifest import ProfileEntry
from corda_lab.text.words import amount, percent, size

FOLDER = "profiles"

TOP = 10
"""Number of components that are shown. The JSON has all."""


class Event(StrEnum):
    CPU = "cpu"
    ALLOC = "alloc"
    LOCK = "lock"
    WALL = "wall"


@dataclass(frozen=True)
class EventKind:
    """How an event is profiled, and how its values are read and shown."""

    options: tuple[str, ...]
    """With which ``asprof`` starts it."""
    engine: str
    """The way of taking samples, in words."""
    counted_in: str
    """What async-profiler counts."""
    factor: float
    """By which a value of async-profiler is multiplied to get seconds or bytes."""
    words: str
    """What the values of a profile add up to."""


CPU_INTERVAL_MS = 5
NANOSECOND = 1e-9
# The kernel's performance counters (perf_events) are not tried. Containers may not use them, and they would make
# profiles of the same load differ between machines.
KINDS: Mapping[Event, EventKind] = {
    Event.CPU: EventKind(
        options=("--event", "ctimer", "--interval", f"{CPU_INTERVAL_MS}ms"),
        engine="ctimer",
        counted_in="samples",
        factor=CPU_INTERVAL_MS / 1000,
        words="CPU time",
    ),
    Event.ALLOC: EventKind(
        options=("--event", "alloc"),
        engine="TLAB events",
        counted_in="bytes",
        factor=1.0,
        words="memory allocated",
    ),
    # Waits are sampled once for each time that their sum passes this. Their value is the whole time waited.
    Event.LOCK: EventKind(
        options=("--event", "lock", "--lock", "10us"),
        engine="contended monitors and locks",
        counted_in="ns",
        factor=NANOSECOND,
        words="time that threads waited for locks",
    ),
    Event.WALL: EventKind(
        options=("--event", "wall", "--interval", "50ms"),
        engine="wall clock",
        counted_in="ns",
        factor=NANOSECOND,
        words="the time of all threads",
    ),
}


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ComponentShare(_Stored):
    name: str
    meaning: str
    share_percent: float
    value: float
    """In seconds, or in bytes if memory is counted."""
    method: str
    """The component's own method in which it spends the most: ``ClassName.method``, or a native function."""
    innermost: str
    """The innermost frame below that method: itself, or what it calls most. Of allocations: the class of the object."""


class Flows(_Stored):
    ended: int
    """Flows that ended, on the node or, of the bridge, on all nodes. They may have been started by other nodes."""
    started: int
    seconds: float

    @property
    def per_second(self) -> float:
        return self.ended / self.seconds

    @property
    def is_idle(self) -> bool:
        return not self.started and not self.ended


class Totals(_Stored):
    """The sums of a profile's stacks."""

    total: float
    """CPU time, bytes, the time of waiting for locks, or of all threads together."""
    idle_percent: float
    """The part of ``total`` in which threads waited for something to do. It belongs to no component."""
    components: tuple[ComponentShare, ...]
    """Largest first. Their shares are of what was not idle."""
    states: dict[str, float]
    """Of the wall clock: share of each state of the threads that were not idle, in percent. Otherwise empty."""


class Profile(Totals):
    """A profile in words. It is stored as JSON beside the flame graph."""

    name: str
    """The name of the files: ``<utc>-<node>-<event>``, or ``<node>-<event>`` in the folder of a run."""
    node: str
    event: Event
    engine: str
    started_at: str
    """UTC, ISO 8601."""
    seconds: float
    flows: Flows | None
    versions: dict[str, str]
    """Of Corda, Java and the shape of the lab."""


def write(folder: Path, profile: Profile, page: str, collapsed: str) -> Path:
    """Write the files of a profile, the JSON last, and return the path of the flame graph."""
    path = folder / f"{profile.name}.html"
    atomic.write_text(path, page)
    atomic.write_text(path.with_suffix(".collapsed"), collapsed)
    atomic.write_text(path.with_suffix(".json"), profile.model_dump_json(indent=2) + "\n")
    return path


def read(folder: Path, entry: ProfileEntry) -> Profile | None:
    """The profile of an entry in the folder of a run; None if it failed. Raises LabError if its file is damaged."""
    if entry.file is None:
        return None
    return folders.read_model((folder / entry.file).with_suffix(".json"), Profile)


def value_words(event: Event, value: float) -> str:
    return size(value) if event is Event.ALLOC else f"{amount(value)} s"


def headline(profile: Profile) -> str:
    counted = f"{value_words(profile.event, profile.total)} of {KINDS[profile.event].words}"
    if not profile.seconds:
        # Its load ended as soon as it began: there is no rate.
        pass
    elif profile.event is Event.CPU:
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
    if flows is None:
        return "load: unknown, because the counters of flows could not be read"
    return f"load: {flows.per_second:.2f} flows/s ({flows.ended} ended in {flows.seconds:.0f} s)"


def rows(profile: Profile) -> Sequence[tuple[str, str, str, str, str]]:
    table = []
    for share in profile.components[:TOP]:
        inner = "" if share.innermost in {"", share.method} else f" → {share.innermost}"
        value = value_words(profile.event, share.value)
        table.append((percent(share.share_percent), share.name, value, share.meaning, f"{share.method}{inner}"))
    return table


def rest_words(profile: Profile) -> str:
    """How many components there are besides those that are shown, and their share; empty if there are none."""
    rest = profile.components[TOP:]
    share = sum(one.share_percent for one in rest)
    return f"{len(rest)} further components: {percent(share)}" if rest else ""
