"""Finds the JVM of a node or of the bridge in its container, and lets it profile itself and count its heap.

The bootstrapper puts async-profiler into the volume `network`, which every node and the bridge mount. Its launcher,
`asprof`, attaches to the JVM from inside the container, so nothing on this machine needs access to the process. The
images have no JDK, so neither `jmap` nor `jcmd`: the launcher sends the same requests.
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from bare.commands import last_words
from corda_lab.errors import LabError, chosen
from corda_lab.lab.docker import Container, output_of
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings
from corda_lab.results.profiles import KINDS, Event

BRIDGE = "bridge"
BRIDGE_MAIN = "[o]rg.cordalab.bridge.Main"
NODE_MAIN = "[n]et.corda.node.Corda"
"""Main classes, as patterns that do not match the command line in which they are searched for."""
ASPROF = "/network/bin/asprof"
LIBRARY = "/network/bin/libasyncProfiler.so"
STOP_AFTER_SECONDS = 60
"""The JVM stops a profile by itself after so much more than its time, in case this process is killed."""
CLEAN = "rm -f /tmp/asprof.* /tmp/asprof-log.*"
"""`asprof` removes its temporary files itself, unless it was cut off."""
LOCKS = ("java.util.concurrent.locks.Reentrant*", "java.util.concurrent.Semaphore*")
"""Locks whose waits are left out of all other events. Compiled code of Java 8 reports them in every later profile too,
once one of locks has been taken."""

LIVE = "GC.class_histogram"
"""Collects all garbage, then counts what is left."""
ALL = f"{LIVE} -all"
"""Counts everything that is on the heap, garbage too. It collects nothing."""
SKIPPED = "pre-dump GC was skipped"
"""What a JVM warns of if a thread is in native code that holds an array on the heap, such as that of compression. It
then counts without a collection before, and says so only in its log."""
COUNTS_MAX = 5
"""How often live objects are counted until a collection comes before."""

_DUMPED = re.compile(r'^"(?P<name>.*)" .*\bnid=(?P<tid>0x[0-9a-f]+|\d+)', re.MULTILINE)
_TOTAL = re.compile(r"^Total\s+(\d+)\s+(\d+)\s*$", re.MULTILINE)
_LINE = re.compile(r"^\s*\d+:\s+(?P<instances>\d+)\s+(?P<bytes>\d+)\s+(?P<name>\S+)", re.MULTILINE)
_ARRAY = re.compile(r"(?P<depth>\[+)(?:L(?P<of>[^;]+);|(?P<kind>[BCDFIJSZ]))")
_KINDS = {"B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long", "S": "short", "Z": "boolean"}


def script(name: str) -> str:
    """A script that runs inside a container."""
    return (Path(__file__).parent / "inside" / name).read_text(encoding="utf-8")


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


@dataclass(frozen=True)
class Jvm:
    """A running JVM of the lab. Methods raise LabError if it does not do what it is asked for."""

    node: str
    """Name of the node, or `bridge`."""
    container: Container
    pid: int
    """Inside the container."""
    profiler_version: str

    def attach(self) -> None:
        """Load the profiler, which takes seconds of CPU time the first time."""
        if "is running" in self._asprof("status"):
            raise self._already_profiled()

    def start(self, event: Event, seconds: int) -> None:
        """Start a profile. The JVM stops it by itself some time after so many seconds."""
        self._asprof("start", *KINDS[event].options, "--threads", "--timeout", str(seconds + STOP_AFTER_SECONDS))

    def stop(self, event: Event) -> str:
        """Stop a profile, and return its stacks. They stay in the JVM until the next profile starts."""
        return self._asprof("stop", "-o", "collapsed", *_output_options(event))

    def flame_graph(self, event: Event, title: str) -> str:
        return self._asprof("dump", "-o", "flamegraph", "--title", title, *_output_options(event))

    def thread_names(self) -> dict[int, str]:
        """The names of all threads by their ids; none if it does not say."""
        done = self.container.inside(ASPROF, "threaddump", str(self.pid))
        return names_in(done.stdout) if done.returncode == 0 else {}

    def discard(self) -> None:
        """Stop a profile whose result nobody wants, if it still runs."""
        output = ("-o", "collapsed", "-f", "/dev/null")
        self.container.inside(ASPROF, "stop", *output, "--libpath", LIBRARY, str(self.pid))

    def clean(self) -> None:
        """Remove what a profile has left in the container."""
        self.container.inside("sh", "-c", CLEAN)

    def histogram(self, request: str = LIVE) -> Histogram:
        """Count the objects by class. ``request`` is ``LIVE`` or ``ALL``.

        What a node has in use at some moment is mostly garbage, and what an ordinary collection leaves still has some.
        So the JVM is asked to collect everything before it counts. It stands still meanwhile, for a second or less. If
        it collected nothing, it counts again.
        """
        for _ in range(COUNTS_MAX):
            began = self.container.now() if request == LIVE else ""
            # The status is 0 also if the command could not do what it was asked for.
            done = self.container.inside(ASPROF, "jcmd", str(self.pid), request)
            total = _TOTAL.search(done.stdout)
            if done.returncode != 0 or total is None:
                launchers = r"^(Connected to (the )?remote JVM|JVM response code = .*)$"
                words = re.sub(launchers, "", done.stderr or done.stdout, flags=re.MULTILINE)
                says = last_words(words) or "nothing"
                raise LabError(f"{self.node}: its JVM does not count its objects, and says: {says}", exit_code=1)
            if request != LIVE or SKIPPED not in self.container.logged(began):
                classes = tuple(
                    ClassCount(readable(line["name"]), int(line["instances"]), int(line["bytes"]))
                    for line in _LINE.finditer(done.stdout)
                )
                return Histogram(self.node, request == LIVE, int(total[1]), int(total[2]), classes)
        raise LabError(
            f"{self.node}: its JVM collected nothing at {COUNTS_MAX} counts, because native code held objects on the"
            " heap",
            "Try again, or count with --all what is on the heap, garbage too.",
            exit_code=1,
        )

    def _asprof(self, *arguments: str) -> str:
        done = self.container.inside(ASPROF, *arguments, "--libpath", LIBRARY, str(self.pid))
        if done.returncode == 0:
            return done.stdout
        output = f"{done.stderr}\n{done.stdout}"
        own = re.search(r"\[ERROR\] (.*)", output)
        words = own[1] if own else last_words(output)
        if "already started" in words:
            raise self._already_profiled()
        if "No AllocTracer symbols" in words:
            raise LabError(
                f"{self.node}: its allocations cannot be profiled, because its JVM's library has no symbols",
                "Use an image whose Java 8 has them, or rebuild the stand-in for it (docs/operations.md, A bare "
                "machine).",
            )
        if re.search(r"is not running|No such container|Process not found|No such process", words):
            problem = f"{self.node} ended while it was profiled"
            raise LabError(problem, "`scripts/lab status` shows its state.", exit_code=1)
        raise LabError(
            f"{self.node}: async-profiler refused `{shlex.join(arguments)}`: {words}",
            "docs/operations.md lists what can be profiled where.",
            exit_code=1,
        )

    def _already_profiled(self) -> LabError:
        problem = f"{self.node}: another profile of it is running"
        return LabError(problem, "Wait until it has ended. A node takes one at a time.")


def _output_options(event: Event) -> tuple[str, ...]:
    """The options for reading a profile: what is added up, and what does not belong to the event."""
    total = () if KINDS[event].counted_in == "samples" else ("--total",)
    return total if event is Event.LOCK else (*total, *(word for lock in LOCKS for word in ("-X", lock)))


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


def names_in(dump: str) -> dict[int, str]:
    """The names of all threads in a thread dump, by thread id, with those of the JIT compilers and collectors.

    Java 8 does not give its own threads names that the operating system sees, so async-profiler calls them all `java`.
    """
    return {int(match["tid"], 0): match["name"] for match in _DUMPED.finditer(dump)}


def readable(name: str) -> str:
    """The name of a class as in Java: ``[[C`` becomes ``char[][]``, ``[Ljava.lang.String;`` ``java.lang.String[]``."""
    match = _ARRAY.fullmatch(name)
    return name if match is None else (match["of"] or _KINDS[match["kind"]]) + "[]" * len(match["depth"])
