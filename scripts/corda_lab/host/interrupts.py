"""Interrupts: what they do, and operations that must not be cut off in the middle.

A closed terminal sends SIGHUP. It ends a command like Ctrl-C, so that no load keeps running that nobody sees. A command
that was started with ``nohup`` ignores it, as its user wants.
"""

import os
import signal
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def handled() -> tuple[signal.Signals, ...]:
    """Return the signals that interrupt this process: all, but not SIGHUP if its parent made it ignore that.

    SIGINT is always one of them: a shell starts its background jobs with SIGINT ignored, and they stop cleanly too.
    """
    ignores_hang_up = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return tuple(number for number in SIGNALS if number is not signal.SIGHUP or not ignores_hang_up)


def interrupt(number: int, _frame: FrameType | None) -> None:
    """Turn a signal into KeyboardInterrupt, so that all of them clean up in the same way."""
    if number == signal.SIGHUP:
        forget_terminal()
    raise KeyboardInterrupt


def raise_interrupts() -> None:
    """Make the signals of ``handled`` raise KeyboardInterrupt in this process."""
    for number in handled():
        signal.signal(number, interrupt)


def forget_terminal() -> None:
    """Discard further output that goes to no file. A write to a closed terminal would break off the cleaning up."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            target = stream.fileno()
            if not stat.S_ISREG(os.fstat(target).st_mode):
                discard = os.open(os.devnull, os.O_WRONLY)
                os.dup2(discard, target)
                os.close(discard)


@contextmanager
def held_back() -> Iterator[None]:
    """Defer interrupts until the end of the block, and then raise KeyboardInterrupt.

    Only for operations of a few seconds: a user who presses Ctrl-C waits for them.
    """
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        if number == signal.SIGHUP:
            forget_terminal()

    previous = {number: signal.signal(number, note) for number in handled()}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt
