"""What the command line prints: phases with their time, notes and warnings."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

console = Console(highlight=False, soft_wrap=True)
"""Progress and results, on standard output."""

error_console = Console(stderr=True, highlight=False, soft_wrap=True)


def note(text: str) -> None:
    """Print one line of progress below the current phase."""
    console.print(f"    {text}", markup=False)


def warn(text: str) -> None:
    """Print one line that the user should not overlook."""
    console.print(f"    warning: {text}", style="yellow", markup=False)


@contextmanager
def phase(title: str) -> Iterator[None]:
    """Print ``title`` when a phase begins and its elapsed seconds when it ends, also when it fails."""
    console.print(f"==> {title}", style="bold", markup=False)
    started = time.monotonic()
    outcome = "failed after"
    try:
        yield
        outcome = "done in"
    finally:
        console.print(f"    {outcome} {time.monotonic() - started:.1f} s", style="dim", markup=False)
