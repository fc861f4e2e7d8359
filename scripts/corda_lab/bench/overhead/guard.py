"""Runs commands when this process has ended, however it ends, so that no switch stays off.

A shell reads from a pipe whose other end only this process has. When the process ends, the operating system closes the
pipe, also after ``kill -9``. The shell then runs the commands. It uses no CPU time before.
"""

import shlex
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from corda_lab.errors import LabError

COMMANDS_SECONDS_MAX = 60.0


@contextmanager
def guarded(commands: Sequence[Sequence[str]]) -> Iterator[None]:
    """Run all ``commands`` after the block, or when this process ends in it. Their output and status are ignored."""
    script = "; ".join(["cat > /dev/null", *map(shlex.join, commands)])
    shell = subprocess.Popen(
        ["sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # A process group of its own, so that Ctrl-C does not end it.
        start_new_session=True,
    )
    assert shell.stdin is not None
    try:
        yield
    finally:
        shell.stdin.close()
        try:
            shell.wait(timeout=COMMANDS_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            raise LabError(
                f"The commands that switch everything on did not end within {COMMANDS_SECONDS_MAX:.0f} s",
                f"Run them by hand: {'; '.join(map(shlex.join, commands))}",
                exit_code=1,
            ) from None
