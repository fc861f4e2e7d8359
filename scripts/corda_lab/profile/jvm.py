"""Finds the JVM of a node or of the bridge in its container, and lets it run diagnostic commands.

The bootstrapper puts async-profiler into the volume `network`, which every node and the bridge mount. Its launcher,
`asprof`, attaches to the JVM from inside the container, so nothing on this machine needs access to the process. The
images have no JDK, so neither `jmap` nor `jcmd`: the launcher sends the same requests.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

from bare.commands import last_words
from corda_lab.errors import LabError, chosen
from corda_lab.lab.docker import Container, output_of
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings

BRIDGE = "bridge"
BRIDGE_MAIN = "[o]rg.cordalab.bridge.Main"
NODE_MAIN = "[n]et.corda.node.Corda"
"""Main classes, as patterns that do not match the command line in which they are searched for."""
ASPROF = "/network/bin/asprof"

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
_KINDS = {"B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long", "S": "short", "Z": "boolean"}


def script(name: str) -> str:
    """A script that runs inside a container."""
    return (Path(__file__).parent / "inside" / name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Jvm:
    """A running JVM of the lab."""

    node: str
    """Name of the node, or `bridge`."""
    container: Container
    pid: int
    """Inside the container."""
    profiler_version: str

    @property
    def is_bridge(self) -> bool:
        return self.node == BRIDGE


def find_name(name: str, settings: Settings, *, option: str = "NODE") -> str:
    """Return the name of a node, or `bridge`, ignoring case.

    Raises LabError, which names the ``option``, with the choices if there is none.
    """
    return chosen(f"{option}: unknown node", name, (*settings.nodes, BRIDGE))


def find(name: str, compose: Lab) -> Jvm:
    """Return the JVM of a node or of the bridge. Raises LabError if it is not running, or has no async-profiler."""
    services = {service.name: service for service in compose.services()}
    if not services:
        raise LabError("The lab is not up", "Start it with `scripts/lab up`.")
    service = services.get(name.lower())
    if service is None or service.state != "running":
        condition = service.condition if service else "not started"
        raise LabError(f"{name} is not running: {condition}", "`scripts/lab status` shows the state of every service.")
    main = BRIDGE_MAIN if name == BRIDGE else NODE_MAIN
    done = service.container.inside("bash", "-c", script("find_jvm.sh"), "profile", ASPROF, main)
    version, *paths = output_of(done, f"{name}: the container does not answer").splitlines()
    if version == "missing":
        raise LabError(
            f"{name} has no async-profiler in its container",
            "Run `scripts/lab up` to update the lab. That restarts its nodes and keeps their ledgers.",
        )
    if not paths:
        raise LabError(f"{name}: there is no Java process in its container", "It may be starting; try again.")
    return Jvm(name, service.container, int(paths[-1].split("/")[2]), " ".join(version.split()[1:2]))


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


def histogram(jvm: Jvm, request: str = LIVE) -> Histogram:
    """Count the objects of a JVM by class. ``request`` is ``LIVE`` or ``ALL``.

    What a node has in use at some moment is mostly garbage, and what an ordinary collection leaves still has some. So
    the JVM is asked to collect everything before it counts. It stands still meanwhile, for a second or less. If it
    collected nothing, it counts again. Raises LabError if the JVM does not say, and if it never collects.
    """
    for _ in range(COUNTS_MAX):
        began = jvm.container.now() if request == LIVE else ""
        # The status is 0 also if the command could not do what it was asked for.
        done = jvm.container.inside(ASPROF, "jcmd", str(jvm.pid), request)
        if request != LIVE or SKIPPED not in jvm.container.logged(began):
            return _counted(jvm, request, done)
    raise LabError(
        f"{jvm.node}: its JVM collected nothing at {COUNTS_MAX} counts, because native code held objects on the heap",
        "Try again, or count with --all what is on the heap, garbage too.",
        exit_code=1,
    )


def _counted(jvm: Jvm, request: str, done: CompletedProcess[str]) -> Histogram:
    total = _TOTAL.search(done.stdout)
    if done.returncode != 0 or total is None:
        launchers = r"^(Connected to (the )?remote JVM|JVM response code = .*)$"
        words = last_words(re.sub(launchers, "", done.stderr or done.stdout, flags=re.MULTILINE)) or "nothing"
        raise LabError(f"{jvm.node}: its JVM does not count its objects, and says: {words}", exit_code=1)
    classes = tuple(
        ClassCount(readable(line["name"]), int(line["instances"]), int(line["bytes"]))
        for line in _LINE.finditer(done.stdout)
    )
    return Histogram(jvm.node, request == LIVE, int(total[1]), int(total[2]), classes)


def readable(name: str) -> str:
    """The name of a class as in Java: ``[[C`` becomes ``char[][]``, ``[Ljava.lang.String;`` ``java.lang.String[]``."""
    match = _ARRAY.fullmatch(name)
    return name if match is None else (match["of"] or _KINDS[match["kind"]]) + "[]" * len(match["depth"])
