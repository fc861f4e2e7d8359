"""Finds the component of a stack, and what its thread was doing, by the table of components."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from corda_lab.profile.components import (
    C_LIBRARY,
    COMPONENTS,
    GENERAL,
    IDLE_FRAMES,
    IDLE_THREADS,
    JDK,
    NATIVE,
    PARKED,
    RUNNING,
    STATE_FRAMES_MAX,
    STATES,
    Component,
    State,
)

_SUFFIX = re.compile(r"_\[[a-z0-9]\]$")


@dataclass(frozen=True)
class Place:
    """The component of a stack, and the frame that decided it."""

    component: Component
    frame: str


def plain(frame: str) -> str:
    """Return a frame without the suffix of its kind: ``byte[]_[i]`` becomes ``byte[]``."""
    return _SUFFIX.sub("", frame)


def is_java(frame: str) -> bool:
    """Return whether a frame is a Java method, not a native function or an allocated class."""
    return "/" in frame and not frame.startswith("/") and "::" not in frame and "." in frame.rpartition("/")[2]


@lru_cache(maxsize=4096)
def of_thread(thread: str) -> Component | None:
    """Return the component to which a thread belongs with every stack; None if its frames decide."""
    return next((one for one in COMPONENTS if one.threads and re.fullmatch(one.threads, thread)), None)


@lru_cache(maxsize=65536)
def of_frame(frame: str) -> Component | None:
    """Return the component of a frame; None if it belongs to none."""
    fitting = [
        (len(beginning), number)
        for number, component in enumerate(COMPONENTS)
        for beginning in component.frames
        if frame.startswith(beginning)
    ]
    return COMPONENTS[max(fitting)[1]] if fitting else None


def place_of(thread: str, frames: Sequence[str]) -> Place:
    """Return the component of a stack. One that fits no component is named after its code."""
    innermost = plain(frames[-1]) if frames else "[no frames]"
    owner = of_thread(thread)
    if owner is not None:
        return Place(owner, innermost)
    for frame in reversed(frames):
        component = of_frame(frame)
        if component is not None:
            return Place(component, plain(frame))
    return _unknown(frames, innermost)


def _unknown(frames: Sequence[str], innermost: str) -> Place:
    java = [frame for frame in frames if is_java(frame)]
    if not java:
        return Place(NATIVE, innermost)
    for frame in reversed(java):
        if not frame.startswith(GENERAL):
            package = "/".join(frame.split("/")[:3]).partition(".")[0].replace("/", ".")
            return Place(Component(package, "a library, or a CorDapp of your own"), plain(frame))
    return Place(JDK, plain(java[-1]))


def state_of(frames: Sequence[str]) -> State:
    """Return what the thread of a stack was doing."""
    for frame in reversed(frames[-STATE_FRAMES_MAX:]):
        for state in STATES:
            if frame.startswith(state.frames):
                return state
    if frames and frames[-1].endswith(C_LIBRARY) and not any(map(is_java, frames)):
        return PARKED
    return RUNNING


def is_idle(thread: str, frames: Sequence[str]) -> bool:
    """Return whether a stack in which a thread waits, or waited for a lock, shows one that has nothing to do."""
    if IDLE_THREADS.fullmatch(thread) or of_thread(thread) is not None or not any(map(is_java, frames)):
        return True
    return any(frame.startswith(IDLE_FRAMES) for frame in frames)
