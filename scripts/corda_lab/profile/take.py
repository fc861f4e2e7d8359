"""Takes a profile of a running JVM, and stores its flame graph, its stacks and what they say in words."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.host import interrupts
from corda_lab.lab import lifecycle, shape
from corda_lab.lab.settings import Settings
from corda_lab.paths import RESULTS
from corda_lab.profile import flame, jvm, load, stacks, summary
from corda_lab.profile.events import KINDS, Engine, Event
from corda_lab.profile.jvm import Jvm
from corda_lab.profile.summary import Flows, Profile
from corda_lab.results.folders import run_id

FOLDER = "profiles"
PROGRESS_SECONDS = 1.0
SHAPE = ("CORDA_VERSION", "DATABASE", "NODE_PRESET", "NOTARY")
"""The knobs that a profile names, because the components depend on them."""


def take(
    name: str, event: Event, seconds: int, settings: Settings, tell: Callable[[str], None]
) -> tuple[Path, Profile]:
    """Profile a node or the bridge. Returns the path of the flame graph, and the profile in words.

    ``tell`` is given the progress in words. Raises LabError if the JVM cannot be profiled. If the profile is
    interrupted, it is stopped, and nothing is stored.
    """
    lifecycle.require_engine()
    settings = shape.of_running(settings)
    name = jvm.find_name(name, settings)
    folder = _require_writable(RESULTS / FOLDER)
    found = jvm.find(name, settings)
    started_at = datetime.now(UTC)
    identity = run_id(f"{name.lower()}-{event.value}", at=started_at)
    tell(f"attaching to {name}")
    sampled = _sample(found, event, seconds, settings, tell)
    names = stacks.thread_names(sampled.thread_dump)
    parsed = list(stacks.parse(sampled.collapsed, names))
    totals = summary.summarise(event, parsed)
    profile = Profile(
        name=identity,
        node=name,
        event=event,
        engine=sampled.engine.name,
        started_at=started_at.isoformat(timespec="seconds"),
        seconds=round(sampled.seconds, 1),
        flows=sampled.flows,
        unit=summary.unit_of(event),
        total=totals.total,
        idle_percent=totals.idle_percent,
        components=totals.components,
        states=totals.states,
        versions={
            "async-profiler": found.profiler_version,
            **{name: settings.values.get(name, "") for name in SHAPE},
        },
    )
    page = flame.with_unit(flame.with_thread_names(sampled.page, names), KINDS[event].counted_in)
    return _store(folder, profile, page, stacks.collapse(parsed)), profile


@dataclass(frozen=True)
class _Sampled:
    """What async-profiler and the JVM delivered."""

    engine: Engine
    seconds: float
    flows: Flows | None
    collapsed: str
    page: str
    thread_dump: str


def _sample(found: Jvm, event: Event, seconds: int, settings: Settings, tell: Callable[[str], None]) -> _Sampled:
    """Take samples for so long, and read them. Afterwards nothing runs or lies in the container."""
    with _running(found, event, seconds) as engine:
        began = time.monotonic()
        before = load.read(found, settings)
        _wait(began + seconds, lambda left: tell(f"profiling {found.node}: {seconds - left:.0f} s of {seconds} s"))
        after = load.read(found, settings)
        # Reading takes a few seconds, and leaves files in the container if it is cut off.
        with interrupts.held_back():
            passed = time.monotonic() - began
            text = jvm.stop(found, event)
            tell(f"reading the profile of {found.node}")
            page = jvm.flame_graph(found, event, f"{found.node}, {event.value}")
            return _Sampled(engine, passed, load.between(before, after), text, page, jvm.thread_dump(found))


@contextmanager
def _running(found: Jvm, event: Event, seconds: int) -> Iterator[Engine]:
    """Start a profile, which the block stops. If the block fails or is interrupted, it is stopped here."""
    # An interrupt while it starts must not leave it running.
    is_started = False
    try:
        with interrupts.held_back():
            engine = jvm.start(found, event, seconds)
            is_started = True
        yield engine
    except BaseException:
        if is_started:
            with interrupts.held_back():
                jvm.abandon(found)
        raise


def _wait(until: float, tell: Callable[[float], None]) -> None:
    """Let the time of a profile pass, and show its progress. ``until`` is a time of the monotonic clock."""
    while (left := until - time.monotonic()) > 0:
        tell(left)
        time.sleep(min(PROGRESS_SECONDS, left))


def _require_writable(folder: Path) -> Path:
    """Create the folder of the profiles. Raises LabError now, and not after the profile, if it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(f"{folder}: cannot be created ({error.strerror})", "Make its parent writable.") from None
    if not os.access(folder, os.W_OK):
        raise LabError(f"{folder}: cannot be written", "Make it writable for you.")
    return folder


def _store(folder: Path, profile: Profile, page: str, collapsed: str) -> Path:
    """Write the files of a profile, the JSON last, and return the path of the flame graph."""
    path = folder / f"{profile.name}.html"
    atomic.write_text(path, page)
    atomic.write_text(path.with_suffix(".collapsed"), collapsed)
    atomic.write_text(path.with_suffix(".md"), summary.markdown(profile))
    atomic.write_text(path.with_suffix(".json"), profile.model_dump_json(indent=2) + "\n")
    return path
