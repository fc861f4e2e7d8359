"""Locks on files and folders, which the operating system releases when the process ends, however it ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of an existing file or folder. Raises BlockingIOError if another process holds it, or OSError.

    The lock follows a file or folder that is renamed. Commands that this process starts do not inherit it.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def is_locked(path: Path) -> bool:
    """Return whether another process holds the lock. A path that does not exist is not locked."""
    try:
        with locked(path):
            return False
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
