"""Finds the component of a stack, and what its thread was doing, by the table ``components.yaml``, and adds them up."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from corda_lab.profile.events import KINDS
from corda_lab.profile.stacks import Stack
from corda_lab.results.profiles import ComponentShare, Event

FILE = Path(__file__).parent / "components.yaml"
STATE_FRAMES_MAX = 8
"""So many innermost frames are searched for a state: the Java method that waits, and the native functions below it."""
C_LIBRARY = "/libc.so.6"
"""A thread without Java frames waits if its innermost frame has no better name than this."""
RUNNING = "running, or waiting for a core"
PARKED = "parked or waiting for another thread"
"""The states of threads that are not in the table, or also without one of its frames."""

_SUFFIX = re.compile(r"_\[[a-z0-9]\]$")


class _Fields(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Component(_Fields):
    """A component, as an engineer knows it: what it does, and how its frames or its threads begin."""

    name: str
    meaning: str
    frames: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()


JDK = Component(name="other Java code", meaning="code of the JDK that belongs to no component")
NATIVE = Component(name="native code", meaning="code outside Java, without a Java method that called it")


class Table(_Fields):
    """What ``components.yaml`` says, as beginnings of frames."""

    components: tuple[Component, ...]
    idle_frames: tuple[str, ...]
    idle_threads: tuple[str, ...]
    states: dict[str, tuple[str, ...]]
    general: tuple[str, ...]


@lru_cache(maxsize=1)
def table() -> Table:
    return Table.model_validate(yaml.safe_load(FILE.read_text(encoding="utf-8")))


def plain(frame: str) -> str:
    """Return a frame without the suffix of its kind: ``byte[]_[i]`` becomes ``byte[]``."""
    return _SUFFIX.sub("", frame)


def is_java(frame: str) -> bool:
    """Return whether a frame is a Java method, not a native function or an allocated class."""
    return "/" in frame and not frame.startswith("/") and "::" not in frame and "." in frame.rpartition("/")[2]


@lru_cache(maxsize=4096)
def of_thread(thread: str) -> Component | None:
    """Return the component to which a thread belongs with every stack; None if its frames decide."""
    return next((one for one in table().components if one.threads and thread.startswith(one.threads)), None)


@lru_cache(maxsize=65536)
def of_frame(frame: str) -> Component | None:
    """Return the component of a frame; None if it belongs to none."""
    fitting = [
        (len(beginning), number)
        for number, component in enumerate(table().components)
        for beginning in component.frames
        if frame.startswith(beginning)
    ]
    return table().components[max(fitting)[1]] if fitting else None


def place_of(thread: str, frames: Sequence[str]) -> tuple[Component, str]:
    """Return the component of a stack, and the frame that decided it. Code of none is a component by its package."""
    innermost = plain(frames[-1]) if frames else "[no frames]"
    if owner := of_thread(thread):
        return owner, innermost
    for frame in reversed(frames):
        if component := of_frame(frame):
            return component, plain(frame)
    java = [frame for frame in frames if is_java(frame)]
    if not java:
        return NATIVE, innermost
    for frame in reversed(java):
        if not frame.startswith(table().general):
            package = "/".join(frame.split("/")[:3]).partition(".")[0].replace("/", ".")
            return Component(name=package, meaning="a library, or a CorDapp of your own"), plain(frame)
    return JDK, plain(java[-1])


def state_of(frames: Sequence[str]) -> str:
    for frame in reversed(frames[-STATE_FRAMES_MAX:]):
        for name, beginnings in table().states.items():
            if frame.startswith(beginnings):
                return name
    if frames and frames[-1].endswith(C_LIBRARY) and not any(map(is_java, frames)):
        return PARKED
    return RUNNING


def is_idle(thread: str, frames: Sequence[str]) -> bool:
    """Return whether a stack in which a thread waits, or waited for a lock, shows one that has nothing to do."""
    if thread in table().idle_threads or of_thread(thread) is not None or not any(map(is_java, frames)):
        return True
    return any(frame.startswith(table().idle_frames) for frame in frames)


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
        component, frame = place_of(stack.thread, stack.frames)
        innermost = plain(stack.frames[-1]) if stack.frames else ""
        values[component] += stack.value
        methods[component][(frame, innermost)] += stack.value
        states[state_of(stack.frames)] += stack.value
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
    """Whether a thread waits for something to do. Samples of CPU time and of allocations never show that."""
    if event is Event.WALL:
        return state_of(stack.frames) != RUNNING and is_idle(stack.thread, stack.frames)
    return event is Event.LOCK and is_idle(stack.thread, stack.frames)


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
    return frame.rpartition("/")[2] if is_java(frame) or frame.startswith("/") else frame
