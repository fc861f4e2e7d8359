"""Runs child processes with time limits, reports their progress, and extracts their last lines."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from corda_lab.text import ui

POLL_SECONDS = 1.0
"""Interval of progress reports. Each must cost almost no CPU time, because it competes with what is starting."""


@contextmanager
def child(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Make sure that a background process ends with the block: it gets SIGINT and, after 10 seconds, SIGKILL."""
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
    process: subprocess.Popen[bytes],
    tell: Callable[[], str],
    *,
    seconds_max: float,
    every_seconds: float,
    is_in_vain: Callable[[], bool] = lambda: False,
) -> int | None:
    """Wait for a background process, and show ``tell()`` as its progress.

    Return its status; None after a timeout, or as soon as ``is_in_vain()`` after a ``tell()``. Then it is ended.
    """
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
                if is_in_vain():
                    return None


def last_line(log: Path) -> str:
    """Return the last line of a log, shortened; "starting" if the log is empty."""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 4096))
        lines = last_lines(stream.read().decode(errors="replace"), 1)
    return shorten_build_line(lines[0]) if lines else "starting"


def shorten_build_line(line: str) -> str:
    """Return a line of BuildKit output without its step number, cache mounts and padding, at most 100 characters."""
    return " ".join(re.sub(r"^#\d+ |--mount=\S+", "", line).split())[:100]


def last_lines(text: str, count: int) -> list[str]:
    """Return the last ``count`` lines of ``text`` that are not blank."""
    return [line.rstrip() for line in text.splitlines() if line.strip()][-count:]
