"""Takes a profile of a running JVM, and stores its flame graph, its stacks and what they say in words."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.host import interrupts
from corda_lab.lab import lifecycle
from corda_lab.lab.deployed import Deployed
from corda_lab.paths import RESULTS
from corda_lab.profile import jvm
from corda_lab.profile.session import Session
from corda_lab.results.folders import run_id
from corda_lab.results.profiles import FOLDER, Event, Profile

PROGRESS_SECONDS = 1.0


def take(name: str, event: Event, seconds: int, compose: Deployed, tell: Callable[[str], None]) -> tuple[Path, Profile]:
    """Profile a node or the bridge. Returns the path of the flame graph, and the profile in words.

    ``tell`` is given the progress in words. Raises LabError if the JVM cannot be profiled. If the profile is
    interrupted, it is stopped, and nothing is stored.
    """
    lifecycle.require_engine()
    settings = compose.settings
    name = jvm.find_name(name, settings)
    folder = _require_writable(RESULTS / FOLDER)
    found = jvm.find(name, compose)
    identity = run_id(f"{name.lower()}-{event.value}", at=datetime.now(UTC))
    tell(f"attaching to {name}")
    session = Session(found, event, settings)
    with _whole(session, folder, identity):
        # An interrupt while it starts must not leave it running.
        with interrupts.held_back():
            session.start(seconds)
        _wait(session.began + seconds, lambda left: tell(f"profiling {name}: {seconds - left:.0f} s of {seconds} s"))
        # Reading takes a few seconds, and leaves files in the container if it is cut off.
        with interrupts.held_back():
            session.stop()
            tell(f"reading the profile of {name}")
            profile = session.store(folder, identity)
    return folder / f"{identity}.html", profile


@contextmanager
def _whole(session: Session, folder: Path, identity: str) -> Iterator[None]:
    """End the session, and delete its files, if the block fails or is interrupted."""
    try:
        yield
    except BaseException:
        with interrupts.held_back():
            session.abandon()
            for path in folder.glob(f"{identity}.*"):
                path.unlink()
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
