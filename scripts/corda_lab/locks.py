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


@contextmanager
def awaited(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which is created if it does not exist, as soon as nobody else holds it.

    Only for files that are held for a moment. Threads of one process exclude each other too.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDONLY | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
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
