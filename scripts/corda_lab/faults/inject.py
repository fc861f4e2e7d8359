"""Makes the faults of a load at their times, beside the load, and heals each after its time, whatever happens.

A fault is written to a journal, ``.cache/faults-<project>.json``, before it is made, and removed when it is healed. So
whatever kills the command, its guard, or the next command, knows what is left to heal.

The guard is this module as a process of its own, which outlives the command. It reads its standard input, to which
nothing is ever written: the end of it is the end of the command, however that comes about. After a command that has
healed everything itself, it has nothing to do.
"""

import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from pydantic import TypeAdapter, ValidationError

from corda_lab import atomic, locks, paths
from corda_lab.errors import LabError
from corda_lab.faults.model import FaultEntry, known_targets, links_of, problems
from corda_lab.faults.plan import FaultPlan, heal, make, plan_of, settle
from corda_lab.host import interrupts
from corda_lab.lab.docker import Container, NoAnswerError
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings
from corda_lab.text import ui
from lab_workload.faults import FAULTS_FILE, Fault, ShownFault, write_shown
from lab_workload.problems import Problem
from lab_workload.row import ROWS_DIRECTORY

HEAL_TRIES = 5
HEAL_PAUSE_SECONDS = 1.0
GUARD_END_SECONDS_MAX = 10.0
NEW_LAB = "Start a new lab: `scripts/lab down`, then `scripts/lab up`. For a stack, pass both --on PLACEMENT."
TOO_LATE = "the load had ended before"
SHOWN_FILE = f"{ROWS_DIRECTORY}/{FAULTS_FILE}"
"""In the container of the web UI, which no fault has as its target."""
SHOWN_AFTER_SECONDS = 60.0
"""How much longer than it should last a fault is shown, if nobody says that it is healed."""
SHOW_SECONDS_MAX = 5.0
"""No fault may last longer because the engine is slow to show it."""

_PLANS = TypeAdapter(dict[str, FaultPlan])


def check(faults: Sequence[Fault], settings: Settings, hosts: Sequence[str] = ()) -> None:
    """Check that a lab with these settings, on these hosts, can have the faults. Raises LabError with all problems."""
    if wrong := problems_of(faults, settings, hosts):
        raise LabError(problems=wrong)


def problems_of(faults: Sequence[Fault], settings: Settings, hosts: Sequence[str] = ()) -> list[Problem]:
    targets = known_targets(settings.nodes, settings.values.get("DATABASE", ""))
    return problems(faults, targets, links_of(settings.values.get("LINKS", "")), hosts)


class Journal:
    """The faults that are in the lab of a project. Several threads and processes may use it at the same time."""

    def __init__(self, project: str) -> None:
        self.file = paths.CACHE / f"faults-{project}.json"
        self._lock_file = self.file.with_suffix(".lock")

    def note(self, name: str, plan: FaultPlan) -> None:
        """Write that a fault is about to be made. ``name`` tells those of one load apart."""
        with locks.awaited(self._lock_file):
            self._write({**self.left(), name: plan})

    def strike(self, name: str) -> None:
        with locks.awaited(self._lock_file):
            self._write({key: plan for key, plan in self.left().items() if key != name})

    def forget(self) -> None:
        """Write that no fault is left: the lab that had them is gone."""
        with locks.awaited(self._lock_file):
            self._write({})

    def left(self) -> dict[str, FaultPlan]:
        """The faults that are not healed, by name, in the order in which they were made. Raises LabError."""
        try:
            return _PLANS.validate_json(self.file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError):
            # Something may be left in the lab, and nobody knows what.
            raise LabError(f"{self.file}: the journal of faults cannot be read", NEW_LAB, exit_code=1) from None

    def _write(self, left: dict[str, FaultPlan]) -> None:
        if left:
            atomic.write_text(self.file, _PLANS.dump_json(left, indent=2).decode() + "\n")
        else:
            self.file.unlink(missing_ok=True)


def heal_surely(plan: FaultPlan) -> None:
    """Heal a fault, with some tries: a container that is just ending can be in no state at all. Raises LabError."""
    for _ in range(HEAL_TRIES - 1):
        with suppress(LabError):
            return heal(plan)
        time.sleep(HEAL_PAUSE_SECONDS)
    return heal(plan)


def heal_left(project: str) -> None:
    """Heal the faults that an ended command has left, and say so.

    One that cannot be healed stays in the journal. Raises LabError, which names all of these.
    """
    journal = Journal(project)
    failed = []
    for name, plan in reversed(journal.left().items()):
        try:
            if not plan.is_made:
                settle(plan)
            heal_surely(plan)
        except LabError as error:
            failed.append(f"{plan.what}: {error.message}")
            continue
        journal.strike(name)
        ui.warn(f"healed what an ended command has left in the lab: {plan.what}")
    if failed:
        raise LabError(f"A fault of an earlier command cannot be healed: {'; '.join(failed)}", NEW_LAB, exit_code=1)


def is_left(project: str) -> bool:
    return bool(Journal(project).left())


@contextmanager
def removing(project: str) -> Iterator[None]:
    """Heal what an ended command has left, and run the block, which removes the lab.

    What cannot be healed is said, and ends with the containers of the lab.
    """
    try:
        if is_left(project):
            heal_left(project)
    except LabError as error:
        ui.warn(error.message)
    yield
    Journal(project).forget()


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


class Injection:
    """The faults of a load while it runs. Each has a thread of its own. ``generator`` is the container of the load."""

    def __init__(self, compose: Lab, faults: Sequence[Fault], generator: Container) -> None:
        self.began_at = time.time()
        """When the load began, in unix seconds."""
        self._compose = compose
        self._generator = generator
        self._journal = Journal(compose.project)
        self._entries = [FaultEntry(**fault.model_dump(), problem=TOO_LATE) for fault in faults]
        self._ended = threading.Event()
        self._showing = threading.Lock()
        self._threads = [
            threading.Thread(target=self._run, args=(place, fault), name=f"fault-{place}", daemon=True)
            for place, fault in enumerate(faults)
        ]

    @property
    def entries(self) -> tuple[FaultEntry, ...]:
        """The faults, and what has become of each by now."""
        return tuple(self._entries)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Make no further fault, and heal those that are there. Returns when they are healed."""
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _run(self, place: int, fault: Fault) -> None:
        if self._ended.wait(max(0.0, self.began_at + fault.at_seconds - time.time())):
            return
        name = f"{place} {fault.name}"
        try:
            plan = plan_of(fault, self._compose, self._generator)
            self._journal.note(name, plan)
            make(plan)
        except (LabError, OSError, ValueError, KeyError) as error:
            # Also what the engine may answer in a form that is not known here: a thread has nobody to tell it to.
            self._note(place, problem=f"it could not be made: {error}")
            self._heal(place, name, may_come=isinstance(error, NoAnswerError))
            return
        began_at = time.time()
        self._note(place, began_at=began_at, problem=None)
        try:
            self._journal.note(name, plan.model_copy(update={"is_made": True}))
        except (LabError, OSError) as error:
            self._note(place, problem=f"the journal: {error}")
        then = ", then Swarm starts it" if plan.seconds < fault.for_seconds else ""
        ui.note(f"{fault.name}, for {plan.seconds:g} s{then}")
        self._show()
        self._ended.wait(plan.seconds - (time.time() - began_at))
        self._heal(place, name)
        self._show()

    def _note(self, place: int, **values: object) -> None:
        self._entries[place] = self._entries[place].model_copy(update=values)

    def _heal(self, place: int, name: str, *, may_come: bool = False) -> None:
        """Heal a fault. ``may_come``: the engine did not answer, so it may be about to make it."""
        try:
            plan = self._journal.left().get(name)
            if plan is None:
                return
            if may_come:
                settle(plan)
            heal_surely(plan)
            self._journal.strike(name)
        except (LabError, OSError) as error:
            reasons = filter(None, (self._entries[place].problem, f"it could not be healed: {error}"))
            self._note(place, problem="; ".join(reasons), is_left=True)
            return
        self._note(place, healed_at=time.time())

    def _show(self) -> None:
        """Show the faults that there are now, and no others, on the dashboards, by the metrics of the load generator.

        A lab that does not take it is no reason to end a load: the file of the run has the faults.
        """
        # One after another: what was shown last is the newest.
        with self._showing:
            lines = write_shown(
                ShownFault((one.began_at or 0.0) + one.for_seconds + SHOWN_AFTER_SECONDS, one.kind, one.target)
                for one in self.entries
                if one.was_made and not one.healed_at
            )
            # A file that is renamed is never read half.
            script = f"printf %s {shlex.quote(lines)} > {SHOWN_FILE}.part && mv {SHOWN_FILE}.part {SHOWN_FILE}"
            with suppress(LabError):
                self._compose.exec("locust", "sh", "-c", script, check=False, seconds_max=SHOW_SECONDS_MAX)


@contextmanager
def injecting(compose: Lab, faults: Sequence[Fault], generator: Container) -> Iterator[Injection]:
    """Make faults while the block runs, which is a load that has just begun. After it, all are healed.

    That is so too after an error, an interrupt, and a kill of this process.
    """
    injection = Injection(compose, faults, generator)
    if not faults:
        yield injection
        return
    with guarded(compose.project):
        injection.start()
        try:
            yield injection
        finally:
            # A second Ctrl-C must not leave a part of the lab frozen or cut off.
            with interrupts.held_back():
                injection.end()


if __name__ == "__main__":
    sys.stdin.buffer.read()
    try:
        heal_left(sys.argv[1])
    except LabError as error:
        sys.exit(error.message)
