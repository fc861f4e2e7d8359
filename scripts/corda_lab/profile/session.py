"""One profile of one JVM, from its start to its files: the flame graph, its stacks and what they say in words."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from corda_lab.clients.bridge import Bridge, parse_metrics
from corda_lab.errors import LabError
from corda_lab.host import interrupts
from corda_lab.lab import lifecycle
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings
from corda_lab.paths import RESULTS
from corda_lab.profile import jvm, stacks
from corda_lab.profile.jvm import Jvm
from corda_lab.results import folders, profiles
from corda_lab.results.profiles import FOLDER, KINDS, Event, Flows, Profile

PROGRESS_SECONDS = 1.0
SHAPE = ("CORDA_VERSION", "DATABASE", "NODE_PRESET", "NOTARY")
"""The knobs that a profile names, because the components depend on them."""
STARTED = ("corda_flows_started_total", "bridge_flows_started_total")
ENDED = ("corda_flows_finished_total", "bridge_flows_completed_total", "bridge_flows_failed_total")
"""The counters of flows of a node, and those of the bridge."""


@dataclass(frozen=True)
class Reading:
    """The counters of flows at one moment."""

    at: float
    started: int
    ended: int


@dataclass
class Session:
    """A profile of a JVM. Its methods raise LabError if the JVM does not do what they ask for.

    They do not hold interrupts back, because a thread cannot. Whoever starts a session ends it with ``abandon``, unless
    it was stored.
    """

    jvm: Jvm
    event: Event
    settings: Settings

    began_at: float | None = None
    """When samples began, in unix seconds."""
    began: float = 0.0
    """The same moment by the monotonic clock."""
    seconds: float = 0.0
    """How long samples were taken."""
    _left: Literal["nothing", "samples", "files"] = "nothing"
    """What it has left in the container: a profiler that runs, or what that has written."""
    _before: Reading | None = None
    _flows: Flows | None = None
    _collapsed: str = ""

    def start(self, seconds: int) -> None:
        """Start to take samples. The JVM stops by itself some time after so many seconds."""
        self.jvm.start(self.event, seconds)
        self._left = "samples"
        self.began_at, self.began = time.time(), time.monotonic()
        self._before = read_flows(self.jvm, self.settings)

    def stop(self) -> None:
        """Take no more samples. What was sampled stays in the JVM until its next profile."""
        after = read_flows(self.jvm, self.settings)
        self.seconds = time.monotonic() - self.began
        self._flows = flows_between(self._before, after)
        self._collapsed = self.jvm.stop(self.event)
        self._left = "files"

    def store(self, folder: Path, name: str) -> Profile:
        """Read what was sampled, and write the files of the profile. Nothing of it stays in the container."""
        kind, names = KINDS[self.event], self.jvm.thread_names()
        page = self.jvm.flame_graph(self.event, f"{self.jvm.node}, {self.event.value}")
        sampled = list(stacks.parse(self._collapsed, names))
        shape = {name: self.settings.values.get(name, "") for name in SHAPE}
        profile = Profile(
            name=name,
            node=self.jvm.node,
            event=self.event,
            engine=kind.engine,
            started_at=datetime.fromtimestamp(self.began_at or 0.0, UTC).isoformat(timespec="seconds"),
            seconds=round(self.seconds, 1),
            flows=self._flows,
            versions={"async-profiler": self.jvm.profiler_version, **shape},
            **dict(stacks.summarise(self.event, sampled)),
        )
        page = stacks.with_names(page, names, kind.counted_in)
        profiles.write(folder, profile, page, stacks.collapse(sampled))
        self._left = "nothing"
        return profile

    def abandon(self) -> None:
        """Stop what still runs, and remove what lies in the container. Does nothing after ``store``."""
        left, self._left = self._left, "nothing"
        if left == "samples":
            self.jvm.discard()
        if left != "nothing":
            self.jvm.clean()


def read_flows(profiled: Jvm, settings: Settings) -> Reading | None:
    """Read the counters; None if they cannot be read. They are of all flows: initiators, responders, notarisations."""
    with suppress(LabError):
        if profiled.node == jvm.BRIDGE:
            samples = Bridge(settings.bridge_url, settings.bridge_token).metrics()
        else:
            command = ("bash", "-c", jvm.script("read_flows.sh"), "flows", STARTED[0], ENDED[0])
            # The page follows the headers of the answer.
            samples = parse_metrics(profiled.container.inside(*command).stdout.partition("\n\n")[2])
        started, ended = ([one.value for one in samples if one.name in names] for names in (STARTED, ENDED))
        if started and ended:
            return Reading(time.time(), int(sum(started)), int(sum(ended)))
    return None


def flows_between(first: Reading | None, last: Reading | None) -> Flows | None:
    """Return the flows between two readings; None if one is missing, or if the JVM has restarted in between."""
    if first is None or last is None or last.ended < first.ended or last.started < first.started:
        return None
    return Flows(ended=last.ended - first.ended, started=last.started - first.started, seconds=last.at - first.at)


def take(name: str, event: Event, seconds: int, compose: Lab, tell: Callable[[str], None]) -> tuple[Path, Profile]:
    """Profile a node or the bridge. Returns the path of the flame graph, and the profile in words.

    ``tell`` is given the progress in words. Raises LabError if the JVM cannot be profiled. If the profile is
    interrupted, it is stopped, and nothing is stored.
    """
    lifecycle.require_engine()
    name = jvm.find_name(name, compose.settings)
    # Now, and not after the profile.
    folders.require_writable()
    folder = RESULTS / FOLDER
    folder.mkdir(exist_ok=True)
    session = Session(jvm.find(name, compose), event, compose.settings)
    identity = folders.run_id(f"{name.lower()}-{event.value}", at=datetime.now(UTC))
    tell(f"attaching to {name}")
    try:
        # An interrupt while it starts must not leave it running.
        with interrupts.held_back():
            session.start(seconds)
        while (left := session.began + seconds - time.monotonic()) > 0:
            tell(f"profiling {name}: {seconds - left:.0f} s of {seconds} s")
            time.sleep(min(PROGRESS_SECONDS, left))
        # Reading takes a few seconds, and leaves files in the container if it is cut off.
        with interrupts.held_back():
            session.stop()
            tell(f"reading the profile of {name}")
            profile = session.store(folder, identity)
    except BaseException:
        with interrupts.held_back():
            session.abandon()
            for path in folder.glob(f"{identity}.*"):
                path.unlink()
        raise
    return folder / f"{identity}.html", profile
