"""A load under which nodes are profiled: starts and stops the profilers in the measuring window, and stores the files.

What costs most is done outside of the load: the library is loaded before it, and what was sampled is read when
everything has been counted. The samples themselves are taken by a thread, because the load is waited for meanwhile.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.host import interrupts
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings
from corda_lab.profile import jvm
from corda_lab.profile.session import Session
from corda_lab.results import profiles
from corda_lab.results.manifest import ProfileEntry
from corda_lab.results.profiles import Event
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.load import ALL, INITIATORS
from corda_lab.steps.reasons import Reason, reason
from corda_lab.text import ui
from corda_lab.text.words import listed, plural
from lab_workload.load import Load
from lab_workload.plan import Plan

OPTION = "--profile"
PROFILED_MAX = 8
"""The most JVMs that are profiled under one load. Each costs CPU time that the others then lack."""

SECONDS_MAX = 60
"""The longest time for which samples are taken. More would change no share of a component, and cost more."""
MARGIN_SECONDS = 1.0
"""Samples begin so long after the expected begin of the measuring window, and end as long before its expected end."""


@dataclass(frozen=True)
class Span:
    """When samples are taken, in seconds after the generator was told to begin."""

    after: float
    seconds: int


def span_of(options: Load) -> Span:
    """Return when the measuring window of a load is profiled, or a part of it.

    A load that ends after a number of flows is profiled from its beginning, and no longer than it lasts. The window of
    a load whose warm-up lasts until throughput is steady may begin later than expected. So only the second half of the
    earliest window is taken, which is most likely to be in the real one.
    """
    if options.is_counted:
        return Span(0.0, SECONDS_MAX)
    stopping, window = options.stopping, options.duration_seconds
    if stopping is not None and stopping.change_percent_max is not None:
        begin, window = stopping.warm_up_seconds_min + window / 2, window / 2
    else:
        begin = options.warm_up_seconds
    return Span(begin + MARGIN_SECONDS, max(1, min(SECONDS_MAX, int(window - 2 * MARGIN_SECONDS))))


def targets(options: Load, initiators: Sequence[str], settings: Settings) -> list[str]:
    """Return the names of the JVMs to profile, each once. Raises LabError for an unknown one, or for too many."""
    names: dict[str, None] = {}
    for word in options.profile:
        if word.casefold() == INITIATORS:
            names |= dict.fromkeys(initiators)
        elif word.casefold() == ALL:
            names |= dict.fromkeys(settings.nodes)
        else:
            names[jvm.find_name(word, settings, option=OPTION)] = None
    if len(names) > PROFILED_MAX:
        raise LabError(
            f"{OPTION}: {len(names)} nodes are more than {PROFILED_MAX}",
            "Name fewer: every profile costs CPU time that the other nodes then lack.",
        )
    return list(names)


def check(options: Load, compose: Lab) -> None:
    """Check what can be checked before anything is put on the lab. Raises LabError if a JVM cannot be profiled."""
    for name in targets(options, (), compose.settings):
        jvm.find(name, compose)


@dataclass
class Profiling:
    """The profiles of one load. Without sessions, nothing of it does anything."""

    sessions: Sequence[Session]
    span: Span
    problems: dict[str, str] = field(default_factory=dict)
    """Why a JVM could not be profiled, by its name."""
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def begin(self) -> None:
        """Note that the load begins, and take samples at their time."""
        if self.sessions:
            due = time.monotonic() + self.span.after
            self._thread = threading.Thread(target=self._run, args=(due,), name="profiles", daemon=True)
            self._thread.start()

    def end(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, due: float) -> None:
        if self._ended.wait(max(0.0, due - time.monotonic())):
            why = "the load ended before its measuring window could be profiled"
            self.problems |= {session.jvm.node: why for session in self.sessions}
            return
        until = time.monotonic() + self.span.seconds
        for session in self.sessions:
            self._try(session, lambda one: one.start(self.span.seconds))
        self._ended.wait(max(0.0, until - time.monotonic()))
        for session in self.sessions:
            self._try(session, Session.stop)

    def _try(self, session: Session, action: Callable[[Session], object]) -> None:
        """Do something with a session that has no problem yet. A thread has nobody to raise an error to."""
        if session.jvm.node in self.problems:
            return
        try:
            action(session)
        except (LabError, OSError, ValueError) as error:
            words = error.message if isinstance(error, LabError) else str(error)
            self.problems[session.jvm.node] = " ".join(words.split()).removeprefix(f"{session.jvm.node}: ")

    def store(self, folder: Path) -> tuple[ProfileEntry, ...]:
        """Read what was sampled, and write the files into ``profiles`` in this folder. Never raises LabError."""
        if not self.sessions:
            return ()
        target = folder / profiles.FOLDER
        target.mkdir(exist_ok=True)
        with ui.phase("Reading the profiles"):
            return tuple(self._stored(session, target) for session in self.sessions)

    def _stored(self, session: Session, target: Path) -> ProfileEntry:
        node, name = session.jvm.node, f"{session.jvm.node.lower()}-{session.event.value}"
        # Files in the container must not be left there.
        with interrupts.held_back():
            self._try(session, lambda one: one.store(target, name))
        problem, file = self.problems.get(node), None
        if problem:
            ui.warn(f"{node}: {problem}")
        if (target / f"{name}.json").is_file():
            file = f"{profiles.FOLDER}/{name}.html"
            ui.note(f"{node}: {session.seconds:.0f} s of CPU samples")
        seconds = round(session.seconds, 1)
        return ProfileEntry(node=node, file=file, began_at=session.began_at, seconds=seconds, problem=problem)

    def close(self) -> None:
        """Stop whatever still runs, and leave nothing in the containers."""
        self.end()
        for session in self.sessions:
            # If the engine does not answer, the JVM stops by itself.
            with suppress(LabError):
                session.abandon()


@contextmanager
def prepared(lab: Lab, plan: Plan) -> Iterator[Profiling]:
    """Get ready to profile the nodes of a planned load. After the block, no profiler runs. Raises LabError."""
    options = plan.load
    if not options.profile:
        yield Profiling((), Span(0.0, 0))
        return
    with ui.phase("Loading the profiler"):
        sessions = []
        for name in targets(options, plan.subject.nodes, lab.settings):
            sessions.append(Session(jvm.find(name, lab), Event.CPU, lab.settings))
            sessions[-1].jvm.attach()
        span = span_of(options)
        ui.note(f"{listed([one.jvm.node for one in sessions])}, for up to {plural(span.seconds, 'second')}")
    profiling = Profiling(tuple(sessions), span)
    try:
        yield profiling
    finally:
        with interrupts.held_back():
            profiling.close()


def within(entries: Sequence[ProfileEntry], step: StepEntry) -> tuple[ProfileEntry, ...]:
    """The profiles under the load of a step, each with how much of it was in the measuring window."""
    profiles_within = []
    for entry in entries:
        began, seconds = entry.began_at, 0.0
        if began is not None:
            ended = began + entry.seconds
            seconds = max(0.0, min(step.window.ended_at, ended) - max(step.window.started_at, began))
        profiles_within.append(entry.model_copy(update={"window_seconds": round(seconds, 1)}))
    return tuple(profiles_within)


def warnings(entries: Sequence[ProfileEntry]) -> list[Reason]:
    """The warnings that a load was profiled, which costs it CPU time, and that a profile failed."""
    failed = [reason("profile_failed", node=one.node, why=one.problem) for one in entries if one.problem]
    sampled = {one.node: one.window_seconds for one in entries if one.began_at is not None}
    if not sampled:
        return failed
    return [reason("profiled", nodes=listed([*sampled]), seconds=max(sampled.values())), *failed]
