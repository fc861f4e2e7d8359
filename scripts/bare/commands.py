"""Runs commands with time limits, and says what is going on."""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"

COMMAND_SECONDS_MAX = 30.0
POLL_SECONDS = 0.2
ALONE_SECONDS_MAX = 1800.0
"""How long one preparation of the machine waits for another."""
PREPARATION_LOG = CACHE / "prepare.log"
"""What the preparation says that scripts/lab begins beside the Python environment."""


class PreparationError(Exception):
    """What the machine lacks or what has failed, and the remedy."""

    def __init__(self, message: str, remedy: str) -> None:
        self.message = message
        self.remedy = remedy
        super().__init__(message)


def note(text: str) -> None:
    print(f"    {text}", flush=True)


@contextmanager
def alone() -> Iterator[None]:
    """Wait until no other command of this checkout prepares the machine, such as the one that scripts/lab begins.

    Raises PreparationError after ``ALONE_SECONDS_MAX``.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "prepare.lock").open("w") as lock:

        def is_free() -> bool:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        if not is_free():
            minutes, log = ALONE_SECONDS_MAX / 60, PREPARATION_LOG.relative_to(ROOT)
            note(f"another command prepares this machine; waiting for it, at most {minutes:.0f} min (log: {log})")
            if not come_true(is_free, seconds_max=ALONE_SECONDS_MAX):
                raise PreparationError(
                    f"Another command has prepared this machine for over {minutes:.0f} min",
                    f"See {log}, end that command, and run this one again.",
                )
        yield


def warn(text: str) -> None:
    note(f"warning: {text}")


def run(
    command: Sequence[str],
    *,
    seconds_max: float | None = None,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> CompletedProcess[str]:
    """Run a command and capture its output. After a timeout, the status is 124; without such a program, 127."""
    seconds_max = COMMAND_SECONDS_MAX if seconds_max is None else seconds_max
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds_max,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
            cwd=cwd,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return CompletedProcess(command, 124, "", f"no answer within {seconds_max:g} s")
    except OSError as error:
        return CompletedProcess(command, 127, "", f"{command[0]} could not start: {error}")


def checked(command: Sequence[str], *, seconds_max: float, what: str, remedy: str) -> str:
    """Run a command and return its output. Raises PreparationError with its last lines if it fails."""
    done = run(command, seconds_max=seconds_max)
    if done.returncode != 0:
        raise PreparationError(f"{what} failed: {last_words(done.stderr or done.stdout, 8)}", remedy)
    return done.stdout


def come_true(condition: Callable[[], object], *, seconds_max: float) -> bool:
    """Poll ``condition`` until it is true. Return False if it does not become true within the time."""
    deadline = time.monotonic() + seconds_max
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def last_words(text: str, count: int = 5) -> str:
    """Return the last lines of ``text`` that are not blank, joined into one line."""
    return " | ".join([line.strip() for line in text.splitlines() if line.strip()][-count:])


def write_whole(path: Path, text: str) -> None:
    """Replace a text file, so that nobody reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".partial-{os.getpid()}-{path.name}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def has_terminal() -> bool:
    """Return whether somebody can answer. Python has no ``sys.stdin`` where it was closed."""
    return sys.stdin is not None and sys.stdin.isatty()
