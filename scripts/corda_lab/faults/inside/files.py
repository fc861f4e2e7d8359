"""Lets no process of a container write to a file, or lets them again.

It runs in the process namespace of the container, as its user and without any capability. A full disk answers a write
with ENOSPC, and a process at its limit of file sizes with EFBIG. Neither Java's databases nor PostgreSQL tell the two
apart. No disk is filled, so nothing else on the machine can suffer.

    files.py forbid
    files.py allow
"""

import os
import resource
import signal
import sys
from pathlib import Path

ROUNDS_MAX = 20


def limit(process: int, verb: str) -> None:
    """Change the limit of one process. One that has ended, or belongs to another user, is left out."""
    try:
        _, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
        resource.prlimit(process, resource.RLIMIT_FSIZE, (0 if verb == "forbid" else hard, hard))
    except ProcessLookupError:
        pass
    except PermissionError:
        if process == 1:
            sys.exit(f"{verb}: the first process belongs to another user")


def main(verb: str) -> None:
    """Change all processes. A process that starts meanwhile inherits the limit of another, and so is looked for."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    done = {os.getpid()}
    for _ in range(ROUNDS_MAX):
        new = {int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()} - done
        if not new:
            return
        for process in sorted(new):
            limit(process, verb)
        done |= new


if __name__ == "__main__":
    main(*sys.argv[1:])
