"""Makes the faults of a load at their times, beside the load, and heals each after its time."""

import shlex
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from corda_lab.errors import LabError
from corda_lab.faults import journal, wounds
from corda_lab.faults.journal import Journal
from corda_lab.faults.wound import make, settle
from corda_lab.host import interrupts
from corda_lab.lab.docker import Container, NoAnswerError
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings
from corda_lab.steps.faults import HOST_KINDS, Fault, FaultEntry, known_targets, links_of, problems
from corda_lab.text import ui
from corda_lab.text.words import listed
from lab_workload.faults import FAULTS_FILE, ShownFault, write_shown
from lab_workload.problems import Problem
from lab_workload.row import ROWS_DIRECTORY

TOO_LATE = "the load had ended before"
SHOWN_FILE = f"{ROWS_DIRECTORY}/{FAULTS_FILE}"
"""In the container of the web UI, which no fault has as its target."""
SHOWN_AFTER_SECONDS = 60.0
"""How much longer than it should last a fault is shown, if nobody says that it is healed."""
SHOW_SECONDS_MAX = 5.0
"""No fault may last longer because the engine is slow to show it."""


def check(faults: Sequence[Fault], settings: Settings, hosts: Sequence[str] = ()) -> None:
    """Check that a lab with these settings, on these hosts, can have the faults. Raises LabError with all problems."""
    if found := problems_of(faults, settings, hosts):
        raise LabError(problems=found)


def problems_of(faults: Sequence[Fault], settings: Settings, hosts: Sequence[str] = ()) -> list[Problem]:
    """What is wrong with the faults of a load on a lab with these settings, on these hosts if there are several."""
    targets = known_targets(settings.nodes, settings.values.get("DATABASE", ""))
    # A host that has the name of a node has its faults with it.
    others = [name for name in hosts if name not in targets]
    found = problems(faults, [*targets, *others], links_of(settings.values.get("LINKS", "")))
    for place, fault in enumerate(faults):
        if fault.target in others and fault.kind not in HOST_KINDS:
            remedy = f"A host can have {listed([*HOST_KINDS])}. Or name a service of the host."
            found.append(Problem(f"{fault.target} is a host, not a service", ("faults", place, "target"), remedy))
    return found


@dataclass
class Injection:
    """The faults of a load while it runs. Each has a thread of its own."""

    compose: Lab
    faults: Sequence[Fault]
    generator: Container
    """The container of the load."""
    began_at: float = field(default_factory=time.time)
    """When the load began, in unix seconds."""
    _journal: Journal = field(init=False)
    _ended: threading.Event = field(default_factory=threading.Event)
    _made: dict[int, FaultEntry] = field(default_factory=dict)
    _threads: list[threading.Thread] = field(default_factory=list)
    _showing: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._journal = Journal(self.compose.project)

    @property
    def entries(self) -> tuple[FaultEntry, ...]:
        """The faults, and what has become of each by now."""
        return tuple(
            self._made.get(place, FaultEntry(**fault.model_dump(), problem=TOO_LATE))
            for place, fault in enumerate(self.faults)
        )

    def start(self) -> None:
        for place, fault in enumerate(self.faults):
            thread = threading.Thread(target=self._run, args=(place, fault), name=f"fault-{place}", daemon=True)
            self._threads.append(thread)
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
            wound = wounds.wound_of(fault, self.compose, self.generator)
            self._journal.note(name, wound)
            make(wound)
        except (LabError, OSError, ValueError, KeyError) as error:
            # Also what the engine may answer in a form that is not known here: a thread has nobody to tell it to.
            self._enter(place, problem=f"it could not be made: {error}")
            self._heal(place, name, may_come=isinstance(error, NoAnswerError))
            return
        began_at = time.time()
        self._enter(place, began_at=began_at)
        try:
            self._journal.note(name, wound.model_copy(update={"is_made": True}))
        except (LabError, OSError) as error:
            self._enter(place, problem=f"the journal: {error}")
        then = ", then Swarm starts it" if wound.seconds < fault.for_seconds else ""
        ui.note(f"{fault.name}, for {wound.seconds:g} s{then}")
        self._show()
        self._ended.wait(wound.seconds - (time.time() - began_at))
        self._heal(place, name)
        self._show()

    def _enter(self, place: int, **values: object) -> None:
        """Note what has become of a fault."""
        entry = self._made.get(place, FaultEntry(**self.faults[place].model_dump()))
        self._made[place] = entry.model_copy(update=values)

    def _show(self) -> None:
        """Show on the dashboards which faults there are now, one after another: what was shown last is the newest."""
        with self._showing:
            show(self.compose, [one for one in list(self._made.values()) if one.was_made and not one.healed_at])

    def _heal(self, place: int, name: str, *, may_come: bool = False) -> None:
        """Heal a fault. ``may_come``: the engine did not answer, so it may be about to make it."""
        try:
            wound = self._journal.left().get(name)
            if wound is None:
                return
            if may_come:
                settle(wound)
            journal.heal_surely(wound)
            self._journal.strike(name)
        except (LabError, OSError) as error:
            problems = filter(None, (self._made[place].problem, f"it could not be healed: {error}"))
            self._enter(place, problem="; ".join(problems), is_left=True)
            return
        self._enter(place, healed_at=time.time())


def show(compose: Lab, faults: Sequence[FaultEntry]) -> None:
    """Show these faults, and no others, on the dashboards, through the metrics page of the load generator.

    A lab that does not take it is no reason to end a load: the file of the run has the faults.
    """
    lines = write_shown(
        ShownFault((one.began_at or 0.0) + one.for_seconds + SHOWN_AFTER_SECONDS, one.kind, one.target)
        for one in faults
    )
    # A file that is renamed is never read half.
    script = f"printf %s {shlex.quote(lines)} > {SHOWN_FILE}.part && mv {SHOWN_FILE}.part {SHOWN_FILE}"
    with suppress(LabError):
        compose.exec("locust", "sh", "-c", script, check=False, seconds_max=SHOW_SECONDS_MAX)


@contextmanager
def injecting(compose: Lab, faults: Sequence[Fault], generator: Container) -> Iterator[Injection]:
    """Make faults while the block runs, which is a load that has just begun. After it, all are healed.

    That is so too after an error, an interrupt, and a kill of this process. ``generator`` is the container of the load.
    """
    injection = Injection(compose, tuple(faults), generator)
    if not faults:
        yield injection
        return
    with journal.guarded(compose.project):
        injection.start()
        try:
            yield injection
        finally:
            # A second Ctrl-C must not leave a part of the lab frozen or cut off.
            with interrupts.held_back():
                injection.end()


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


def heal_left(project: str) -> None:
    """Heal the faults that an ended command has left, and say so. Raises LabError if one cannot be healed."""
    for what in journal.heal_left(project):
        ui.warn(f"healed what an ended command has left in the lab: {what}")
