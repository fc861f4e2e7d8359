"""Controls async-profiler in a JVM, and reads what it writes: collapsed stacks and flame graphs."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bare.commands import last_words
from corda_lab.errors import LabError
from corda_lab.profile.jvm import ASPROF, Jvm
from corda_lab.results.profiles import Event, Unit

LIBRARY = "/network/bin/libasyncProfiler.so"
STOP_AFTER_SECONDS = 60
"""The JVM stops a profile by itself after so much more than its time, in case this process is killed."""
CLEAN = "rm -f /tmp/asprof.* /tmp/asprof-log.*"
"""`asprof` removes its temporary files itself, unless it was cut off."""
LOCKS = ("java.util.concurrent.locks.Reentrant*", "java.util.concurrent.Semaphore*")
"""Locks whose waits are left out of all other events. Compiled code of Java 8 reports them in every later profile too,
once one of locks has been taken."""

NANOSECOND = 1e-9
CPU_INTERVAL_MS = 5
WALL_INTERVAL_MS = 50
LOCK_THRESHOLD = "10us"
"""Waits are sampled once for each time that their sum passes this. Their value is the whole time waited."""


@dataclass(frozen=True)
class EventKind:
    """How an event is profiled, and how its values are read and shown."""

    engines: Mapping[str, tuple[str, ...]]
    """The ways of taking samples by name, with the options with which ``asprof`` starts them. The next one is tried if
    the JVM does not support one."""
    unit: Unit
    counted_in: str
    """What async-profiler counts."""
    factor: float
    """By which a value of async-profiler is multiplied to get one in the unit."""


# The kernel's performance counters (perf_events) are not tried. Containers may not use them, and they would make
# profiles of the same load differ between machines.
KINDS: Mapping[Event, EventKind] = {
    Event.CPU: EventKind(
        {name: ("--event", name, "--interval", f"{CPU_INTERVAL_MS}ms") for name in ("ctimer", "itimer")},
        Unit.SECONDS,
        "samples",
        CPU_INTERVAL_MS / 1000,
    ),
    Event.ALLOC: EventKind({"TLAB events": ("--event", "alloc")}, Unit.BYTES, "bytes", 1.0),
    Event.LOCK: EventKind(
        {"contended monitors and locks": ("--event", "lock", "--lock", LOCK_THRESHOLD)}, Unit.SECONDS, "ns", NANOSECOND
    ),
    Event.WALL: EventKind(
        {"wall clock": ("--event", "wall", "--interval", f"{WALL_INTERVAL_MS}ms")}, Unit.SECONDS, "ns", NANOSECOND
    ),
}


class AlreadyProfiledError(LabError):
    """Another profile of the same JVM is running."""


def attach(jvm: Jvm) -> None:
    """Load the library, which takes seconds of CPU time the first time. Raises LabError if a profile is running."""
    if "is running" in asprof(jvm, "status"):
        raise _already_profiled(jvm)


def start(jvm: Jvm, event: Event, seconds: int) -> str:
    """Start a profile, with the first engine that the JVM supports, and return that engine. Raises LabError."""
    *others, last = KINDS[event].engines
    for engine in (*others, last):
        options = KINDS[event].engines[engine]
        try:
            asprof(jvm, "start", *options, "--threads", "--timeout", str(seconds + STOP_AFTER_SECONDS))
        except LabError as error:
            if engine == last or isinstance(error, AlreadyProfiledError):
                raise
        else:
            return engine
    raise AssertionError(event)


def stop(jvm: Jvm, event: Event) -> str:
    """Stop a profile, and return its stacks in collapsed form. They stay in the JVM until the next profile starts."""
    return asprof(jvm, "stop", "-o", "collapsed", *_output_options(event))


def abandon(jvm: Jvm) -> None:
    """Stop a profile whose result nobody wants, if it still runs, and remove what it has left in the container."""
    jvm.container.inside(ASPROF, "stop", "-o", "collapsed", "-f", "/dev/null", "--libpath", LIBRARY, str(jvm.pid))
    clean(jvm)


def clean(jvm: Jvm) -> None:
    jvm.container.inside("sh", "-c", CLEAN)


def flame_graph(jvm: Jvm, event: Event, title: str) -> str:
    return asprof(jvm, "dump", "-o", "flamegraph", "--title", title, *_output_options(event))


def thread_names(jvm: Jvm) -> dict[int, str]:
    done = jvm.container.inside(ASPROF, "threaddump", str(jvm.pid))
    return names_in(done.stdout) if done.returncode == 0 else {}


def asprof(jvm: Jvm, *arguments: str) -> str:
    done = jvm.container.inside(ASPROF, *arguments, "--libpath", LIBRARY, str(jvm.pid))
    if done.returncode != 0:
        raise _error(jvm, shlex.join(arguments), f"{done.stderr}\n{done.stdout}")
    return done.stdout


def _output_options(event: Event) -> tuple[str, ...]:
    """The options for reading a profile: what is added up, and what does not belong to the event."""
    total = () if KINDS[event].counted_in == "samples" else ("--total",)
    return total if event is Event.LOCK else (*total, *(word for lock in LOCKS for word in ("-X", lock)))


def _error(jvm: Jvm, arguments: str, output: str) -> LabError:
    own = re.search(r"\[ERROR\] (.*)", output)
    words = own[1] if own else last_words(output)
    if "already started" in words:
        return _already_profiled(jvm)
    if "No AllocTracer symbols" in words:
        return LabError(
            f"{jvm.node}: its allocations cannot be profiled, because its JVM's library has no symbols",
            "Use an image whose Java 8 has them, or rebuild the stand-in for it (docs/operations.md, A bare machine).",
        )
    if re.search(r"is not running|No such container|Process not found|No such process", words):
        return LabError(f"{jvm.node} ended while it was profiled", "`scripts/lab status` shows its state.", exit_code=1)
    return LabError(
        f"{jvm.node}: async-profiler refused `{arguments}`: {words}",
        "docs/operations.md lists what can be profiled where.",
        exit_code=1,
    )


def _already_profiled(jvm: Jvm) -> AlreadyProfiledError:
    return AlreadyProfiledError(
        f"{jvm.node}: another profile of it is running", "Wait until it has ended. A node takes one at a time."
    )


THREAD = re.compile(r"\[(?:(?P<name>.*) )?tid=(?P<tid>\d+)\]")
"""The first frame of a stack: ``[Node thread-1 tid=57]``, or ``[tid=57]`` if the thread has no name."""
_DUMPED = re.compile(r'^"(?P<name>.*)" .*\bnid=(?P<tid>0x[0-9a-f]+|\d+)', re.MULTILINE)
_POOL = re.compile(r"(?<=const cpool = \[\n)(?P<names>.*?)(?=\n\];)", re.DOTALL)


@dataclass(frozen=True)
class Stack:
    """One stack of a profile, with the value of all its samples."""

    thread: str
    """Name of the thread; empty if it has none."""
    frames: tuple[str, ...]
    """The frames, from the outermost call to the innermost: ``net/corda/Node.run``, or a native function."""
    value: int


def names_in(dump: str) -> dict[int, str]:
    """Return the names of all threads in a thread dump, by thread id, with those of the JIT compilers and collectors.

    Java 8 does not give its own threads names that the operating system sees, so async-profiler calls them all `java`.
    """
    return {int(match["tid"], 0): match["name"] for match in _DUMPED.finditer(dump)}


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
    values: dict[str, int] = {}
    for stack in stacks:
        line = ";".join((f"[{stack.thread or 'no name'}]", *stack.frames))
        values[line] = values.get(line, 0) + stack.value
    return "".join(f"{line} {value}\n" for line, value in sorted(values.items()))


def with_thread_names(page: str, names: Mapping[int, str]) -> str:
    """Return a flame graph with the name of every thread that has one in ``names``.

    The page lists each name of a frame as the number of leading characters that it shares with the one before it,
    written as a character, and the rest. A page of another form is returned as it is.
    """
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


def with_unit(page: str, unit: str) -> str:
    """Return a flame graph with the name of a unit where it says samples."""
    return page.replace("'1 sample'", f"'1 {unit}'").replace(" samples'", f" {unit}'")
