"""Finds the JVM of a node or of the bridge in its container, and controls async-profiler in it.

The bootstrapper puts async-profiler into the volume `network`, which every node and the bridge mount. Its launcher,
`asprof`, attaches to the JVM from inside the container, so nothing on this machine needs access to the process.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from subprocess import CompletedProcess

from bare.commands import last_words
from corda_lab.errors import LabError, chosen
from corda_lab.lab.docker import Container, output_of
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings
from corda_lab.profile.events import KINDS, Engine
from corda_lab.results.profiles import Event

BRIDGE = "bridge"
BRIDGE_MAIN = "[o]rg.cordalab.bridge.Main"
NODE_MAIN = "[n]et.corda.node.Corda"
"""Main classes, as patterns that do not match the command line in which they are searched for."""

ASPROF = "/network/bin/asprof"
LIBRARY = "/network/bin/libasyncProfiler.so"

STOP_AFTER_SECONDS = 60
"""The JVM stops a profile by itself after so much more than its time, in case this process is killed."""

LOCKS = ("java.util.concurrent.locks.Reentrant*", "java.util.concurrent.Semaphore*")
"""Locks whose waits are left out of all other events. Compiled code of Java 8 reports them in every later profile too,
once one of locks has been taken."""

FIND = f"""
if [ ! -x {ASPROF} ]; then echo missing; exit; fi
{ASPROF} --version
grep --files-with-matches --line-regexp --null-data "$1" /proc/[0-9]*/cmdline 2> /dev/null
exit 0
"""
"""Prints the version of async-profiler and the path of each JVM's command line."""

CLEAN = "rm -f /tmp/asprof.* /tmp/asprof-log.*"
"""`asprof` removes its temporary files itself, unless it was cut off."""


class AlreadyProfiledError(LabError):
    """Another profile of the same JVM is running."""


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
    service = name.lower()
    states = {one.name: one for one in compose.services()}
    if not states:
        raise LabError("The lab is not up", "Start it with `scripts/lab up`.")
    if service not in states or states[service].state != "running":
        condition = states[service].condition if service in states else "not started"
        raise LabError(f"{name} is not running: {condition}", "`scripts/lab status` shows the state of every service.")
    container = states[service].container
    done = container.inside("bash", "-c", FIND, "profile", BRIDGE_MAIN if name == BRIDGE else NODE_MAIN)
    version, *paths = output_of(done, f"{name}: the container does not answer").splitlines()
    if version == "missing":
        raise LabError(
            f"{name} has no async-profiler in its container",
            "Run `scripts/lab up` to update the lab. That restarts its nodes and keeps their ledgers.",
        )
    if not paths:
        raise LabError(f"{name}: there is no Java process in its container", "It may be starting; try again.")
    return Jvm(name, container, int(paths[-1].split("/")[2]), " ".join(version.split()[1:2]))


def jcmd(jvm: Jvm, command: str) -> CompletedProcess[str]:
    """Run a diagnostic command of a JVM, such as ``GC.class_histogram -all``, which ``jcmd`` of a JDK would run.

    The status is 0 also if the command could not do what it was asked for, so look for what it prints then.
    """
    return jvm.container.inside(ASPROF, "jcmd", str(jvm.pid), command)


def said(done: CompletedProcess[str]) -> str:
    """The last words of a diagnostic command, for an error message: without what the launcher prints of its own."""
    own = r"^(Connected to (the )?remote JVM|JVM response code = .*)$"
    return last_words(re.sub(own, "", done.stderr or done.stdout, flags=re.MULTILINE)) or "nothing"


def asprof(jvm: Jvm, *arguments: str) -> str:
    done = jvm.container.inside(ASPROF, *arguments, "--libpath", LIBRARY, str(jvm.pid))
    if done.returncode != 0:
        raise _error(jvm, arguments, f"{done.stderr}\n{done.stdout}")
    return done.stdout


def _error(jvm: Jvm, arguments: Sequence[str], output: str) -> LabError:
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
        f"{jvm.node}: async-profiler refused `{shlex.join(arguments)}`: {words}",
        "docs/operations.md lists what can be profiled where.",
        exit_code=1,
    )


def attach(jvm: Jvm) -> None:
    """Load the library, which takes seconds of CPU time the first time. Raises LabError if a profile is running."""
    if "is running" in asprof(jvm, "status"):
        raise _already_profiled(jvm)


def _already_profiled(jvm: Jvm) -> AlreadyProfiledError:
    return AlreadyProfiledError(
        f"{jvm.node}: another profile of it is running", "Wait until it has ended. A node takes one at a time."
    )


def start(jvm: Jvm, event: Event, seconds: int) -> Engine:
    """Start a profile, with the first engine that the JVM supports, and return that engine. Raises LabError."""
    engines = KINDS[event].engines
    for engine in engines:
        try:
            asprof(jvm, "start", *engine.options, "--threads", "--timeout", str(seconds + STOP_AFTER_SECONDS))
        except AlreadyProfiledError:
            raise
        except LabError:
            if engine is engines[-1]:
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


def thread_dump(jvm: Jvm) -> str:
    done = jvm.container.inside(ASPROF, "threaddump", str(jvm.pid))
    return done.stdout if done.returncode == 0 else ""


def _output_options(event: Event) -> tuple[str, ...]:
    """The options for reading a profile: what is added up, and what does not belong to the event."""
    total = ("--total",) if KINDS[event].per_sample is None else ()
    return total if event is Event.LOCK else (*total, *(word for lock in LOCKS for word in ("-X", lock)))
