"""The stacks of a profile as async-profiler writes them, and the component to which each belongs.

``components.yaml`` has the components, and what shows that a thread waits. A stack belongs to the component of its
innermost frame that has one.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from corda_lab.errors import LabError
from corda_lab.results.profiles import KINDS, ComponentShare, Event, Totals

FILE = Path(__file__).parent / "components.yaml"
STATE_FRAMES_MAX = 8
"""So many innermost frames are searched for a state: the Java method that waits, and the native functions below it."""
C_LIBRARY = "/libc.so.6"
"""A thread without Java frames waits if its innermost frame has no better name than this."""
RUNNING = "running, or waiting for a core"
PARKED = "parked or waiting for another thread"
"""The states of threads that are not in the table, or also without one of its frames."""

THREAD = re.compile(r"\[(?:(?P<name>.*) )?tid=(?P<tid>\d+)\]")
"""The first frame of a stack: ``[Node thread-1 tid=57]``, or ``[tid=57]`` if the thread has no name."""
_POOL = re.compile(r"(?<=const cpool = \[\n)(?P<names>.*?)(?=\n\];)", re.DOTALL)
_SUFFIX = re.compile(r"_\[[a-z0-9]\]$")


@dataclass(frozen=True)
class Stack:
    """One stack of a profile, with the value of all its samples."""

    thread: str
    """Name of the thread; empty if it has none."""
    frames: tuple[str, ...]
    """The frames, from the outermost call to the innermost: ``net/corda/Node.run``, or a native function."""
    value: int


def parse(text: str, names: Mapping[int, str]) -> Iterator[Stack]:
    """Yield the stacks in collapsed form. ``names`` takes precedence over the names that the stacks have.

    Raises LabError if a line is not a stack with its value.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        words, _, value = line.rpartition(" ")
        if not words or not value.isdecimal():
            raise LabError(f"Line {number} of the profile is not a stack: {line[:80]!r}", exit_code=1)
        first, *rest = words.split(";")
        match = THREAD.fullmatch(first)
        if match is None:
            yield Stack("", (first, *rest), int(value))
        else:
            yield Stack(names.get(int(match["tid"]), match["name"] or ""), tuple(rest), int(value))


def collapse(stacks: Iterable[Stack]) -> str:
    """Return stacks in collapsed form, sorted, with the name of the thread as the first frame.

    Stacks that differ only in the id of the thread become one, so two profiles can be compared line by line.
    """
    values: Counter[str] = Counter()
    for stack in stacks:
        values[";".join((f"[{stack.thread or 'no name'}]", *stack.frames))] += stack.value
    return "".join(f"{line} {value}\n" for line, value in sorted(values.items()))


def with_names(page: str, names: Mapping[int, str], unit: str) -> str:
    """Return a flame graph with the names of its threads, and of the unit where it says samples.

    The page lists each name of a frame as the number of leading characters that it shares with the one before it,
    written as a character, and the rest. A page of another form keeps its names.
    """
    page = page.replace("'1 sample'", f"'1 {unit}'").replace(" samples'", f" {unit}'")
    pool = _POOL.search(page)
    if pool is None:
        return page
    first, *packed_lines = pool["names"].split("\n")
    lines, last = [first], _plain(first)
    for packed in map(_plain, packed_lines):
        last = last[: ord(packed[0]) - ord(" ")] + packed[1:]
        frame, match = last, THREAD.fullmatch(last)
        if match is not None and (name := names.get(int(match["tid"]))):
            frame = f"[{name} tid={match['tid']}]"
        escaped = frame.replace("\\", "\\\\").replace("'", "\\'")
        lines.append(f"' {escaped}',")
    return page[: pool.start()] + "\n".join(lines) + page[pool.end() :]


def _plain(line: str) -> str:
    """The text of a line such as ``' java/lang/Thread.run',``, without the escapes of JavaScript."""
    return re.sub(r"\\(.)", r"\1", line.strip().removesuffix(",")[1:-1])


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
    """Return the component of a frame, which is that of its longest beginning; None if it belongs to none."""
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


def is_idle(event: Event, stack: Stack) -> bool:
    """Whether a thread waits for something to do. Samples of CPU time and of allocations never show that."""
    if event not in (Event.WALL, Event.LOCK) or (event is Event.WALL and state_of(stack.frames) == RUNNING):
        return False
    if stack.thread in table().idle_threads or of_thread(stack.thread) or not any(map(is_java, stack.frames)):
        return True
    return any(frame.startswith(table().idle_frames) for frame in stack.frames)


def summarise(event: Event, stacks: Iterable[Stack]) -> Totals:
    """Add up the stacks of a profile by component, and those of the wall clock also by the state of their threads."""
    values: Counter[Component] = Counter()
    methods: dict[Component, Counter[str]] = defaultdict(Counter)
    innermost: dict[tuple[Component, str], Counter[str]] = defaultdict(Counter)
    """Of each component and its method that decided: the values by innermost frame."""
    states: Counter[str] = Counter()
    total = 0
    for stack in stacks:
        total += stack.value
        if is_idle(event, stack):
            continue
        component, method = place_of(stack.thread, stack.frames)
        values[component] += stack.value
        methods[component][method] += stack.value
        innermost[component, method][plain(stack.frames[-1]) if stack.frames else ""] += stack.value
        states[state_of(stack.frames)] += stack.value
    working, factor = states.total(), KINDS[event].factor
    components = []
    for component, value in values.most_common():
        ((hottest, _),) = methods[component].most_common(1)
        ((inner, _),) = innermost[component, hottest].most_common(1)
        components.append(
            ComponentShare(
                name=component.name,
                meaning=component.meaning,
                share_percent=round(100 * value / working, 2),
                value=round(value * factor, 6),
                method=short_frame(hottest),
                innermost=short_frame(inner),
            )
        )
    by_state = {name: round(100 * value / working, 1) for name, value in states.most_common()}
    return Totals(
        total=total * factor,
        idle_percent=round(100 * (total - working) / total, 1) if total else 0.0,
        components=tuple(components),
        states=by_state if event is Event.WALL else {},
    )


def short_frame(frame: str) -> str:
    """Return a frame without its package or folder: ``net/corda/Node.run`` becomes ``Node.run``."""
    return frame.rpartition("/")[2] if is_java(frame) or frame.startswith("/") else frame
