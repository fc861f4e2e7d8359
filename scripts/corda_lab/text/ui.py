"""Terminal output of the command line: phases with their duration, progress, warnings and errors."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby

from rich.console import Console
from rich.rule import Rule
from rich.status import Status
from rich.text import Text

from corda_lab.errors import LabError

WIDTH_WITHOUT_TERMINAL = 10_000
"""The line width, in characters, for output to a file or a pipe."""

RULE_WIDTH = 100
"""The width of a rule there. Text is not wrapped, but a rule is as wide as the line."""

console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)

error_console = Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str | Text, style: str | None = None) -> None:
    """Print text as it is: square brackets are no markup."""
    console.print(text, style=style, markup=False)


def complain(text: str, style: str | None = None) -> None:
    """As ``say``, on standard error."""
    error_console.print(text, style=style, markup=False)


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2))


def note(text: str) -> None:
    say(f"    {text}")


def warn(text: str) -> None:
    say(f"    warning: {text}", "yellow")


def print_error(error: LabError) -> None:
    """Print the problems of an error, and each remedy once below the consecutive problems that share it.

    Every line has the indentation of the first. If there are several problems, the remedies are indented further.
    """
    lead, indent = "error: ", "       "
    below = indent if len(error.problems) == 1 else f"{indent}  "
    for remedy, problems in groupby(error.problems, key=lambda problem: problem.remedy):
        for problem in problems:
            error_console.print(f"{lead}{_indented(problem.finding, indent)}", style="red", markup=False)
            lead = indent
        if remedy:
            error_console.print(f"{below}{_indented(remedy, below)}", markup=False)


def _indented(text: str, indent: str) -> str:
    return text.replace("\n", f"\n{indent}")


def rule(title: str) -> None:
    width = None if console.is_terminal else RULE_WIDTH
    console.print(Rule(Text(title)), width=width)


phase_seconds: dict[str, float] = {}
"""Seconds that each phase of this process took, in order, for the manifest and the summary of quickstart."""


@contextmanager
def phase(title: str) -> Iterator[None]:
    """Print ``title`` when a phase begins, and the elapsed seconds when it ends or fails."""
    say(f"==> {title}", "bold")
    started = time.monotonic()
    outcome = "failed after"
    try:
        yield
        outcome = "done in"
    except KeyboardInterrupt:
        outcome = "interrupted after"
        raise
    finally:
        seconds = time.monotonic() - started
        phase_seconds[title] = round(seconds, 1)
        say(f"    {outcome} {seconds:.1f} s", "dim")


class Ticker:
    """One line of progress. A terminal shows it all the time; other outputs get a line every ``every_seconds``."""

    def __init__(self, *, every_seconds: float) -> None:
        self._status = Status("", console=console) if console.is_terminal else None
        self._every_seconds = every_seconds
        self._printed_at = time.monotonic()

    def __enter__(self) -> "Ticker":
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def show(self, text: str) -> None:
        if self._status:
            self._status.update(f"  {text}".replace("[", r"\["))
        elif time.monotonic() - self._printed_at >= self._every_seconds:
            self._printed_at = time.monotonic()
            note(text)
