"""Interrupts, held back where a step must not be torn in two."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_back() -> Iterator[None]:
    """Let the block run to its end; an interrupt that came meanwhile is raised behind it.

    For steps of a few seconds only: a person who presses Ctrl-C waits for them.
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
