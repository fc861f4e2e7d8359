"""The objects on the heap of a running JVM, by class.

What a node has in use at some moment is mostly garbage, and what an ordinary collection leaves still has some. So the
JVM is asked to collect everything before it counts. It stands still meanwhile, for a second or less.

The images have no JDK, so neither `jmap` nor `jcmd`. The launcher of async-profiler sends the same request to the JVM.
"""

import re
from dataclasses import dataclass
from subprocess import CompletedProcess

from corda_lab.errors import LabError
from corda_lab.profile.jvm import Jvm, jcmd, said

LIVE = "GC.class_histogram"
"""Collects all garbage, then counts what is left."""
ALL = f"{LIVE} -all"
"""Counts everything that is on the heap, garbage too. It collects nothing."""

SKIPPED = "pre-dump GC was skipped"
"""What a JVM warns of if a thread is in native code that holds an array on the heap, such as that of compression. It
then counts without a collection before, and says so only in its log."""
COUNTS_MAX = 5
"""How often live objects are counted until a collection comes before."""

_TOTAL = re.compile(r"^Total\s+(\d+)\s+(\d+)\s*$", re.MULTILINE)
_LINE = re.compile(r"^\s*\d+:\s+(?P<instances>\d+)\s+(?P<bytes>\d+)\s+(?P<name>\S+)", re.MULTILINE)
_ARRAY = re.compile(r"(?P<depth>\[+)(?:L(?P<of>[^;]+);|(?P<kind>[BCDFIJSZ]))")
_KINDS = {
    "B": "byte",
    "C": "char",
    "D": "double",
    "F": "float",
    "I": "int",
    "J": "long",
    "S": "short",
    "Z": "boolean",
}


@dataclass(frozen=True)
class ClassCount:
    """The objects of one class."""

    name: str
    """As in Java: ``java.lang.String``, ``char[]``."""
    instances: int
    bytes: int
    """Of the objects themselves, without what they refer to."""


@dataclass(frozen=True)
class Histogram:
    """The objects on a heap."""

    node: str
    is_live: bool
    """Whether garbage was collected before."""
    instances: int
    bytes: int
    classes: tuple[ClassCount, ...]
    """Those with the most bytes first."""


def count(jvm: Jvm, request: str = LIVE) -> Histogram:
    """Count the objects of a JVM. ``request`` is ``LIVE`` or ``ALL``. The JVM stands still meanwhile.

    If it collected nothing before it counted live objects, they are counted again. Raises LabError if the JVM does not
    say, and if it never collects.
    """
    if request != LIVE:
        return _counted(jvm, request, jcmd(jvm, request))
    for _ in range(COUNTS_MAX):
        began = jvm.container.now()
        done = jcmd(jvm, request)
        if SKIPPED not in jvm.container.logged(began):
            return _counted(jvm, request, done)
    raise LabError(
        f"{jvm.node}: its JVM collected nothing at {COUNTS_MAX} counts, because native code held objects on the heap",
        "Try again, or count with --all what is on the heap, garbage too.",
        exit_code=1,
    )


def _counted(jvm: Jvm, request: str, done: CompletedProcess[str]) -> Histogram:
    total = _TOTAL.search(done.stdout)
    if done.returncode != 0 or total is None:
        raise LabError(f"{jvm.node}: its JVM does not count its objects, and says: {said(done)}", exit_code=1)
    classes = tuple(
        ClassCount(readable(line["name"]), int(line["instances"]), int(line["bytes"]))
        for line in _LINE.finditer(done.stdout)
    )
    return Histogram(jvm.node, request == LIVE, int(total[1]), int(total[2]), classes)


def readable(name: str) -> str:
    """The name of a class as in Java: ``[[C`` becomes ``char[][]``, ``[Ljava.lang.String;`` ``java.lang.String[]``."""
    match = _ARRAY.fullmatch(name)
    if match is None:
        return name
    return (match["of"] or _KINDS[match["kind"]]) + "[]" * len(match["depth"])
