"""The journal of the faults that are in a lab now, ``.cache/faults-<project>.json``, and the guard that heals them.

A fault is written there before it is made, and removed when it is healed. So whatever kills the command, the guard, or
the next command, knows what is left to heal.

The guard is this module as a process of its own, which outlives the command. It reads its standard input, to which
nothing is ever written: the end of it is the end of the command, however that comes about. After a command that has
healed everything itself, it has nothing to do.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pydantic import TypeAdapter, ValidationError

from corda_lab import atomic, locks, paths
from corda_lab.errors import LabError
from corda_lab.faults.wound import Wound, heal, settle

HEAL_TRIES = 5
HEAL_PAUSE_SECONDS = 1.0
GUARD_END_SECONDS_MAX = 10.0
NEW_LAB = "Start a new lab: `scripts/lab down`, then `scripts/lab up`. For a stack, pass both --on PLACEMENT."

_WOUNDS = TypeAdapter(dict[str, Wound])


class Journal:
    """The faults that are in the lab of a project. Several threads and processes may use it at the same time."""

    def __init__(self, project: str) -> None:
        self.file = paths.CACHE / f"faults-{project}.json"
        self._lock_file = self.file.with_suffix(".lock")

    def note(self, name: str, wound: Wound) -> None:
        """Write that a fault is about to be made. ``name`` tells those of one load apart."""
        with locks.awaited(self._lock_file):
            self._write({**self._read(), name: wound})

    def strike(self, name: str) -> None:
        with locks.awaited(self._lock_file):
            self._write({key: wound for key, wound in self._read().items() if key != name})

    def left(self) -> dict[str, Wound]:
        """The faults that are not healed, by name, in the order in which they were made. Raises LabError."""
        return self._read()

    def forget(self) -> None:
        """Write that no fault is left: the lab that had them is gone."""
        with locks.awaited(self._lock_file):
            self._write({})

    def _read(self) -> dict[str, Wound]:
        try:
            return _WOUNDS.validate_json(self.file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError):
            # Something may be left in the lab, and nobody knows what.
            raise LabError(f"{self.file}: the journal of faults cannot be read", NEW_LAB, exit_code=1) from None

    def _write(self, left: dict[str, Wound]) -> None:
        if left:
            atomic.write_text(self.file, _WOUNDS.dump_json(left, indent=2).decode() + "\n")
        else:
            self.file.unlink(missing_ok=True)


def heal_surely(wound: Wound) -> None:
    """Heal a fault, with some tries: a container that is just ending can be in no state at all. Raises LabError."""
    for _ in range(HEAL_TRIES - 1):
        with suppress(LabError):
            return heal(wound)
        time.sleep(HEAL_PAUSE_SECONDS)
    return heal(wound)


def heal_left(project: str) -> list[str]:
    """Heal the faults that an ended command has left. Returns what was healed, such as ``pause bridge``.

    One that cannot be healed stays in the journal. Raises LabError, which names all of these.
    """
    journal = Journal(project)
    healed, failed = [], []
    for name, wound in reversed(journal.left().items()):
        try:
            if not wound.is_made:
                settle(wound)
            heal_surely(wound)
        except LabError as error:
            failed.append(f"{wound.what}: {error.message}")
            continue
        journal.strike(name)
        healed.append(wound.what)
    if failed:
        raise LabError(f"A fault of an earlier command cannot be healed: {'; '.join(failed)}", NEW_LAB, exit_code=1)
    return healed


@contextmanager
def guarded(project: str) -> Iterator[None]:
    """Keep a guard for the faults that the block makes."""
    guard = subprocess.Popen(
        [sys.executable, "-m", __name__, project],
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
            guard.wait(timeout=GUARD_END_SECONDS_MAX)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    try:
        heal_left(sys.argv[1])
    except LabError as error:
        sys.exit(error.message)
