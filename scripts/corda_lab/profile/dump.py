"""Heap dumps: every object of a JVM with its content, in a file that Eclipse Memory Analyzer and VisualVM open.

The node stands still while its JVM writes the file. The dump holds everything that the node has in memory: keys,
passwords and the ledger. So nobody but the user can read it, and no copy stays in the container.
"""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.host import interrupts
from corda_lab.profile import disk
from corda_lab.profile.histogram import Histogram
from corda_lab.profile.jvm import Jvm, jcmd, said
from corda_lab.text.words import size

MODE = 0o600
FOLDER = "lab-heap"
FILE = "heap.hprof"

DUMP_SECONDS_MAX = 600.0
BYTES_PER_BYTE_MAX = 2
"""A dump is at most so many times as large as the heap: it writes references with 8 bytes, which take 4 on the heap,
and headers of objects with 25, which take 12 and are rounded up."""
BYTES_BESIDES = 64 * 1024**2
"""Room for the names of classes and methods, and for the stacks of all threads."""

WARNING = "holds the node's keys and passwords, and what is on its ledger: do not share it, and delete it when done"


def require_target(target: Path) -> None:
    """Raise LabError if a dump cannot be written to a file: it exists, or its folder cannot be written."""
    try:
        if target.exists() or target.is_symlink():
            raise LabError(f"--dump: {target} exists already", "Choose another name, or delete it.")
        if not target.parent.is_dir():
            raise LabError(f"--dump: there is no folder {target.parent}", "Create it, or choose another.")
    except OSError as error:
        raise _unwritable(target, error.strerror) from None
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise _unwritable(target, os.strerror(errno.EACCES))


def _unwritable(target: Path, why: str | None) -> LabError:
    return LabError(f"--dump: {target} cannot be written ({why})", "Choose another folder, or make it writable.")


def room_bytes(counted: Histogram) -> int:
    """The most bytes that a dump of these objects can take."""
    return BYTES_PER_BYTE_MAX * counted.bytes + BYTES_BESIDES


def write(jvm: Jvm, counted: Histogram, target: Path, tell: Callable[[str], None]) -> int:
    """Dump the objects that ``counted`` has counted, or all if it has counted garbage too. Returns the size in bytes.

    ``tell`` is given the progress in words. Raises LabError if there is no room, here or in the node's volume, or if
    the JVM writes no dump. Whatever happens, nothing is left in the container.
    """
    disk.require_disk(jvm.is_bridge, "--dump")
    require_target(target)
    needed = room_bytes(counted)
    _require_free(target, needed)
    try:
        folder = disk.prepare(jvm, FOLDER, needed)
        tell(f"{jvm.node} stands still while it writes at most {size(needed)}")
        options = "" if counted.is_live else "-all "
        done = jcmd(jvm, f"GC.heap_dump {options}{folder}/{FILE}", seconds_max=DUMP_SECONDS_MAX)
        if "Heap dump file created" not in done.stdout:
            raise LabError(f"{jvm.node}: its JVM writes no heap dump, and says: {said(done)}", exit_code=1)
        tell("copying it out of the container")
        return _copy(jvm, f"{folder}/{FILE}", target)
    finally:
        # A second Ctrl-C must not leave the keys of the node in its volume.
        with interrupts.held_back():
            disk.remove(jvm, FOLDER)


def _require_free(target: Path, needed: int) -> None:
    free = shutil.disk_usage(target.parent).free
    if free < needed:
        raise LabError(
            f"--dump: only {size(free)} are free in {target.parent}, but {size(needed)} may be needed",
            "Free some disk space, or choose a folder on another disk.",
        )


def _copy(jvm: Jvm, path: str, target: Path) -> int:
    """Copy a dump to the file, which appears whole or not at all, and never in place of another."""
    try:
        with atomic.whole_file(target, mode=MODE) as partial:
            written = disk.copy_out(jvm, path, partial)
            require_target(target)
    except OSError as error:
        raise _unwritable(target, error.strerror) from None
    return written
