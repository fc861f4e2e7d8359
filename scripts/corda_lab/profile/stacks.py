"""Collapsed stacks, as async-profiler writes them, and the names of threads in a thread dump of the JVM."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from corda_lab.errors import LabError

THREAD = re.compile(r"\[(?:(?P<name>.*) )?tid=(?P<tid>\d+)\]")
"""The first frame of a stack: ``[Node thread-1 tid=57]``, or ``[tid=57]`` if the thread has no name."""

_DUMPED = re.compile(r'^"(?P<name>.*)" .*\bnid=(?P<tid>0x[0-9a-f]+|\d+)', re.MULTILINE)


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
