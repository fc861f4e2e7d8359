"""What can be profiled, and with which engines and options of async-profiler."""

from collections.abc import Mapping
from dataclasses import dataclass

from corda_lab.errors import LabError, chosen
from corda_lab.results.profiles import Event, Unit

SECONDS_MIN, SECONDS_MAX = 1, 600
"""How long samples can be taken."""


def find_event(name: str) -> Event:
    return Event(chosen("--event: unknown event", name, [event.value for event in Event]))


def check_seconds(seconds: int) -> int:
    if not SECONDS_MIN <= seconds <= SECONDS_MAX:
        raise LabError(f"--seconds: {seconds} is out of range", f"Use {SECONDS_MIN} to {SECONDS_MAX}.")
    return seconds


@dataclass(frozen=True)
class Engine:
    """One way of taking samples: its name, and the options with which ``asprof`` starts it."""

    name: str
    options: tuple[str, ...]


NANOSECOND = 1e-9


@dataclass(frozen=True)
class EventKind:
    """How an event is profiled, and how its values are read and shown."""

    engines: tuple[Engine, ...]
    """In the order in which they are tried. The next one is tried if the JVM does not support one."""
    unit: Unit
    per_sample: float | None
    """The value of one sample; None if async-profiler counts the value itself, in nanoseconds or bytes."""

    @property
    def factor(self) -> float:
        """By which a value of async-profiler is multiplied to get one in the unit."""
        return self.per_sample or (NANOSECOND if self.unit is Unit.SECONDS else 1.0)

    @property
    def counted_in(self) -> str:
        return "samples" if self.per_sample else "ns" if self.unit is Unit.SECONDS else "bytes"


CPU_INTERVAL_MS = 5
WALL_INTERVAL_MS = 50
LOCK_THRESHOLD = "10us"
"""Waits are sampled once for each time that their sum passes this. Their value is the whole time waited."""

# The kernel's performance counters (perf_events) are not tried. Containers may not use them, and they would make
# profiles of the same load differ between machines.
KINDS: Mapping[Event, EventKind] = {
    Event.CPU: EventKind(
        engines=tuple(
            Engine(name, ("--event", name, "--interval", f"{CPU_INTERVAL_MS}ms")) for name in ("ctimer", "itimer")
        ),
        unit=Unit.SECONDS,
        per_sample=CPU_INTERVAL_MS / 1000,
    ),
    Event.ALLOC: EventKind(
        engines=(Engine("TLAB events", ("--event", "alloc")),),
        unit=Unit.BYTES,
        per_sample=None,
    ),
    Event.LOCK: EventKind(
        engines=(Engine("contended monitors and locks", ("--event", "lock", "--lock", LOCK_THRESHOLD)),),
        unit=Unit.SECONDS,
        per_sample=None,
    ),
    Event.WALL: EventKind(
        engines=(Engine("wall clock", ("--event", "wall", "--interval", f"{WALL_INTERVAL_MS}ms")),),
        unit=Unit.SECONDS,
        per_sample=None,
    ),
}
