"""Defers interrupts during operations that must not be cut off in the middle."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_back() -> Iterator[None]:
    """Defer SIGINT and SIGTERM until the end of the block, and then raise KeyboardInterrupt.

    Only for operations of a few seconds: a user who presses Ctrl-C waits for them.
    """
    came: list[int] = []
    previous = {
        number: signal.signal(number, lambda received, _frame: came.append(received))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt
