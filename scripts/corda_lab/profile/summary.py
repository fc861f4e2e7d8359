"""Finds the component of a stack, and what its thread was doing, by the table ``components.yaml``, and adds them up."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from corda_lab.profile.asprof import KINDS, Stack
from corda_lab.results.profiles import ComponentShare, Event, Totals

FILE = Path(__file__).parent / "components.yaml"
STATE_FRAMES_MAX = 8
"""So many innermost frames are searched for a state: the Java method that waits, and the native functions below it."""
C_LIBRARY = "/libc.so.6"
"""A thread without Java frames waits if its innermost frame has no better name than this."""
RUNNING = "running, or waiting for a core"
PARKED = "parked or waiting for another thread"
"""The states of threads that are not in the table, or also without one of its frames."""

_SUFFIX = re.compile(r"_\[[a-z0-9]\]$")


class Component(BaseModel):
    """A component, as an engineer knows it: what it does, and how its frames or its threads begin."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    meaning: str
    frames: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()


JDK = Component(name="other Java code", meaning="code of the JDK that belongs to no component")
NATIVE = Component(name="native code", meaning="code outside Java, without a Java method that called it")


class Table(BaseModel):
    """What ``components.yaml`` says, as beginnings of frames."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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


def summarise(event: Event, stacks: Iterable[Stack]) -> Totals:
    """Add up the stacks of a profile by component, and those of the wall clock also by the state of their threads."""
    methods: dict[Component, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    """Values by component, its method that decided it, and the innermost frame."""
    states: Counter[str] = Counter()
    total = 0
    for stack in stacks:
        total += stack.value
        if not _is_idle(event, stack):
            component, method = place_of(stack.thread, stack.frames)
            innermost = plain(stack.frames[-1]) if stack.frames else ""
            methods[component][method][innermost] += stack.value
            states[state_of(stack.frames)] += stack.value
    working = states.total()
    ordered = sorted(methods, key=lambda component: -_sum(methods[component]))
    by_state = {name: round(100 * value / working, 1) for name, value in states.most_common()}
    return Totals(
        total=total * KINDS[event].factor,
        idle_percent=round(100 * (total - working) / total, 1) if total else 0.0,
        components=tuple(_share(one, methods[one], working, KINDS[event].factor) for one in ordered),
        states=by_state if event is Event.WALL else {},
    )


def _is_idle(event: Event, stack: Stack) -> bool:
    """Whether a thread waits for something to do. Samples of CPU time and of allocations never show that."""
    if event is Event.WALL:
        return state_of(stack.frames) != RUNNING and is_idle(stack.thread, stack.frames)
    return event is Event.LOCK and is_idle(stack.thread, stack.frames)


def _sum(methods: Mapping[str, Counter[str]]) -> int:
    return sum(innermost.total() for innermost in methods.values())


def _share(component: Component, methods: Mapping[str, Counter[str]], working: int, factor: float) -> ComponentShare:
    value = _sum(methods)
    hottest = max(methods, key=lambda method: methods[method].total())
    return ComponentShare(
        name=component.name,
        meaning=component.meaning,
        share_percent=round(100 * value / working, 2),
        value=round(value * factor, 6),
        method=short_frame(hottest),
        innermost=short_frame(methods[hottest].most_common(1)[0][0]),
    )


def short_frame(frame: str) -> str:
    """Return a frame without its package or folder: ``net/corda/Node.run`` becomes ``Node.run``."""
    return frame.rpartition("/")[2] if is_java(frame) or frame.startswith("/") else frame
