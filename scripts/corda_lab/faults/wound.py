"""What makes and heals a fault: commands for the client of the engine, which a journal keeps before the first is run.

So what healing needs is in the commands, and any process can run them, any number of times. They are what a user could
type: without root, and without a container that is privileged or has the socket of the engine.
"""

import time

from bare.commands import come_true, last_words
from corda_lab.errors import LabError
from corda_lab.lab.docker import HERE, Container, output_of, replace_ended
from corda_lab.lab.docker import docker as client
from corda_lab.steps.faults import Part

STOP_SECONDS_MAX = 150.0
"""Longer than the longest time that a service gets to stop."""
HELPER_SECONDS_MAX = 60.0
SLOW = ("start", "stop", "wait")
"""The docker commands that may take as long as a service."""
QUIET_SECONDS = 2.0
"""So long no helper may be seen: its client may still be about to ask for it."""
HELPER = "org.cordalab.fault"
"""The label of the containers that change a namespace. Each runs for less than a second."""
GONE = "gone"
THERE = ("running", "paused")
"""A container that has ended has lost its namespaces, and with them what was changed there."""
ENDED = ("exited", "dead")


class Command(Part):
    """One command. If it has ``states``, it does nothing unless its container is in one of them."""

    container: str
    """The container that it is about."""
    context: str = ""
    """The docker context of the container's engine; empty for the engine of this machine."""
    states: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    """What follows ``docker`` on the command line."""
    is_local: bool = False
    """Whether it is for the engine of this machine, wherever the container is."""
    replaces: str = ""
    """In place of the arguments: the service of Swarm that has to make a new container."""

    @property
    def place(self) -> Container:
        return Container(self.container, self.context)

    def run(self) -> None:
        if self.states and state_of(self.place) not in self.states:
            return
        if self.replaces:
            replace_ended(self.replaces)
        else:
            seconds_max = STOP_SECONDS_MAX if self.arguments[0] in SLOW else HELPER_SECONDS_MAX
            docker(*self.arguments, on=HERE if self.is_local else self.context, seconds_max=seconds_max)

    def run_if(self, *states: str) -> None:
        self.model_copy(update={"states": states}).run()


class Wound(Part):
    """A fault in a lab: how it is made and healed."""

    what: str
    """``pause partya``."""
    seconds: float
    """How long it lasts."""
    make: tuple[Command, ...]
    is_any: bool = False
    """Whether the first of the commands that succeeds makes it. Otherwise, all of them do."""
    ends_or_freezes: bool = False
    """Whether it is made by the end or the stop of a process, which shows in the state of a container."""
    heal: tuple[Command, ...]
    is_made: bool = False
    """Whether the engine has done what makes the fault. Of a killed command, it may be about to."""


def make(wound: Wound) -> None:
    refused: LabError | None = None
    for command in wound.make:
        try:
            command.run()
        except LabError as error:
            if not wound.is_any:
                raise
            refused = error
            continue
        if wound.is_any:
            return
    if refused is not None:
        raise refused


def heal(wound: Wound) -> None:
    """Undo what a fault has changed, and start its containers again that have ended. Raises LabError.

    What is as before already stays so.
    """
    for command in wound.heal:
        command.run()


def settle(wound: Wound) -> None:
    """Let the engine end what a command that was killed meanwhile has asked of it. Raises LabError.

    Otherwise it would make the fault after the healing. A container that has not ended or stopped yet is made to now.
    """
    for command in wound.make if wound.ends_or_freezes else ():
        command.run_if("running")
    contexts = {command.context for command in (*wound.make, *wound.heal)}
    quiet_since = time.monotonic()

    def is_quiet() -> bool:
        nonlocal quiet_since
        if any(map(_has_helper, contexts)):
            quiet_since = time.monotonic()
        return time.monotonic() - quiet_since >= QUIET_SECONDS

    if not come_true(is_quiet, seconds_max=HELPER_SECONDS_MAX):
        raise LabError(f"a helper that makes {wound.what} does not end")


def _has_helper(context: str) -> bool:
    """Whether an engine has a helper, also one that it has made and not started yet."""
    states = ("--filter", "status=created", "--filter", "status=running")
    return bool(docker("ps", "--quiet", "--filter", f"label={HELPER}", *states, on=context))


def docker(*arguments: str, on: str = HERE, seconds_max: float = HELPER_SECONDS_MAX) -> str:
    """Run the client of an engine, and return what it printed. Raises LabError if it fails."""
    where = f"{on}: " if on else ""
    done = client(*arguments, on=on, seconds_max=seconds_max)
    return output_of(done, f"{where}`docker {' '.join(arguments[:2])}` failed").strip()


def state_of(container: Container) -> str:
    """The state of a container: ``running``, ``paused``, ``exited``; ``gone`` if it does not exist. Raises LabError."""
    form = "{{.State.Status}}"
    done = client("container", "inspect", "--format", form, container.name, on=container.context)
    if done.returncode == 0:
        return done.stdout.strip()
    if "no such container" in done.stderr.lower():
        return GONE
    raise LabError(f"the engine does not say how {container} is: {last_words(done.stderr)}")
