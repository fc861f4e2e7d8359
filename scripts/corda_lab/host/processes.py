"""Child processes: bounded, followed while they run, their last lines kept."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from corda_lab.text import ui

COMMAND_SECONDS_MAX = 30.0


def run_bounded(command: Sequence[str], *, seconds_max: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command quietly; one that hangs counts as failed with status 124 and a word about it on stderr."""
    seconds_max = COMMAND_SECONDS_MAX if seconds_max is None else seconds_max
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds_max,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"no answer within {seconds_max:g} s")


POLL_SECONDS = 1.0
"""How often a wait says how it goes. What is asked then must cost next to nothing: it takes processor time from what starts."""


@contextmanager
def child(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """A background command that never outlives the block: on Ctrl-C it is asked to end, then ended."""
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def follow(
    process: subprocess.Popen[bytes], tell: Callable[[], str], *, seconds_max: float, every_seconds: float
) -> int | None:
    """Wait for a background command and say how it goes; None when it did not end within the limit."""
    started = time.monotonic()
    with child(process), ui.Ticker(every_seconds=every_seconds) as ticker:
        while True:
            try:
                return process.wait(timeout=POLL_SECONDS)
            except subprocess.TimeoutExpired:
                elapsed = time.monotonic() - started
                if elapsed > seconds_max:
                    return None
                ticker.show(f"{elapsed:.0f} s: {tell()}")


def last_line(log: Path) -> str:
    """What the last line of a log says; "starting" while there is none."""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 4096))
        lines = last_lines(stream.read().decode(errors="replace"), 1)
    return shorten_build_line(lines[0]) if lines else "starting"


def shorten_build_line(line: str) -> str:
    """What a line of the builder says, without its number, cache mounts and padding."""
    return " ".join(re.sub(r"^#\d+ |--mount=\S+", "", line).split())[:100]


def last_lines(text: str, count: int) -> list[str]:
    """The last ``count`` lines of ``text`` that are not blank."""
    return [line.rstrip() for line in text.splitlines() if line.strip()][-count:]


def last_words(text: str, count: int = 5) -> str:
    """The last lines of ``text`` in one line, for an error message."""
    return " | ".join(line.strip() for line in last_lines(text, count))
