"""What async-profiler writes: collapsed stacks, and flame graphs. Both get the names of threads from a thread dump."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from corda_lab.errors import LabError

THREAD = re.compile(r"\[(?:(?P<name>.*) )?tid=(?P<tid>\d+)\]")
"""The first frame of a stack: ``[Node thread-1 tid=57]``, or ``[tid=57]`` if the thread has no name."""

_DUMPED = re.compile(r'^"(?P<name>.*)" .*\bnid=(?P<tid>0x[0-9a-f]+|\d+)', re.MULTILINE)

_POOL = re.compile(r"(?<=const cpool = \[\n)(?P<names>.*?)(?=\n\];)", re.DOTALL)
_SAMPLE = " samples'"
_ONE_SAMPLE = "'1 sample'"


@dataclass(frozen=True)
class Stack:
    """One stack of a profile, with the value of all its samples."""

    thread: str
    """Name of the thread; empty if it has none."""
    frames: tuple[str, ...]
    """The frames, from the outermost call to the innermost: ``net/corda/Node.run``, or a native function."""
    value: int


def thread_names(dump: str) -> dict[int, str]:
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
    """Return the page with the name of every thread that has one in ``names``.

    The page lists each name of a frame as the number of leading characters that it shares with the one before it,
    written as a character, and the rest. A page of another form is returned as it is.
    """
    pool = _POOL.search(page)
    if pool is None:
        return page
    first, *rest = pool["names"].split("\n")
    lines = [first, *(f"' {_named(name, names)}'," for name in _unpacked(first, rest))]
    return page[: pool.start()] + "\n".join(lines) + page[pool.end() :]


def with_unit(page: str, unit: str) -> str:
    """Return the page with the name of a unit where it says samples."""
    return page.replace(_ONE_SAMPLE, f"'1 {unit}'").replace(_SAMPLE, f" {unit}'")


def _unpacked(first: str, rest: list[str]) -> Iterator[str]:
    """Yield all names but the first in full. Quotes and backslashes stay escaped, as they were."""
    last = _plain(first)
    for line in rest:
        packed = _plain(line)
        last = last[: ord(packed[0]) - ord(" ")] + packed[1:]
        yield last


def _plain(line: str) -> str:
    """The text of a line such as ``' java/lang/Thread.run',``, without the escapes of JavaScript."""
    return re.sub(r"\\(.)", r"\1", line.strip().removesuffix(",")[1:-1])


def _named(frame: str, names: Mapping[int, str]) -> str:
    match = THREAD.fullmatch(frame)
    if match is not None and (name := names.get(int(match["tid"]))):
        frame = f"[{name} tid={match['tid']}]"
    return frame.replace("\\", "\\\\").replace("'", "\\'")
