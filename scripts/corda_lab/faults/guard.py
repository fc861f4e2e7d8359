"""Heals the faults of a command that is killed: a process of its own, which outlives it.

It reads its standard input, to which nothing is ever written. The end of it is the end of the command, however that
comes about. Then it heals what the journal has; after a command that has healed everything itself, that is nothing.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from corda_lab.errors import LabError
from corda_lab.faults import journal

END_SECONDS_MAX = 10.0


@contextmanager
def guarded(project: str) -> Iterator[None]:
    """Keep a guard for the faults that the block makes."""
    guard = subprocess.Popen(
        [sys.executable, "-m", "corda_lab.faults.guard", project],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        # Ctrl-C and the end of a terminal reach a whole group or session of processes.
        start_new_session=True,
    )
    assert guard.stdin is not None
    try:
        yield
    finally:
        guard.stdin.close()
        # A guard that still has something to heal goes on without this process.
        with suppress(subprocess.TimeoutExpired):
            guard.wait(timeout=END_SECONDS_MAX)


def main(project: str) -> int:
    """Wait for the end of the command, and heal. Returns the exit status."""
    sys.stdin.buffer.read()
    try:
        journal.heal_left(project)
    except LabError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
