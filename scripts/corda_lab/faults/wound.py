"""What a fault changes in a lab, as far as healing needs it. It is written to a file before anything is changed."""

from pydantic import Field

from corda_lab.errors import LabError
from corda_lab.host.processes import last_words
from corda_lab.lab.engine import HERE, Container, Engine
from corda_lab.steps.faults import FaultKind, Part

STOP_SECONDS_MAX = 150.0
"""Longer than the longest time that a service gets to stop."""
HELPER_SECONDS_MAX = 60.0


class Wound(Part):
    """A fault on certain containers of a lab. ``notes`` has what the kind needs to heal, as texts by name.

    If it is a whole host that has the fault, they name all of its containers, of which ``container`` is the first.
    """

    kind: FaultKind
    target: str
    container: str
    context: str = ""
    """The docker context of the container's engine; empty for the engine of this machine."""
    replacer: str = ""
    """The service of Swarm that makes a new container when this one has ended; empty if the engine starts it again."""
    image: str
    """The image of the helper, which has Python and is on every engine of the lab."""
    notes: dict[str, str] = Field(default_factory=dict)
    is_made: bool = False
    """Whether the engine has done what makes the fault. Of a killed command, it may be about to."""

    @property
    def is_of_host(self) -> bool:
        """Whether a whole host has the fault."""
        return "containers" in self.notes

    @property
    def places(self) -> list[Container]:
        """All containers that have the fault, on their engine."""
        return [Container(name, self.place.engine) for name in self.notes.get("containers", self.container).split()]

    @property
    def place(self) -> Container:
        """The container, on its engine."""
        return Container(self.container, Engine(self.context))

    def noted(self, name: str) -> Container:
        """Another container, of which ``note_of`` has written the name and the context into the notes."""
        return Container(self.notes[name], Engine(self.notes.get(f"{name}_context", "")))


def docker(*arguments: str, on: Engine = HERE, seconds_max: float = HELPER_SECONDS_MAX) -> str:
    """Run the client of an engine, and return what it printed. Raises LabError if it fails."""
    done = on.run(*arguments, seconds_max=seconds_max)
    if done.returncode != 0:
        where = f"{on.name}: " if on.name else ""
        raise LabError(f"{where}`docker {' '.join(arguments[:2])}` failed: {last_words(done.stderr or done.stdout)}")
    return done.stdout.strip()


def state_of(container: Container) -> str:
    """The state of a container: ``running``, ``paused``, ``exited``; ``gone`` if it does not exist. Raises LabError."""
    done = container.engine.run("container", "inspect", "--format", "{{.State.Status}}", container.name)
    if done.returncode == 0:
        return done.stdout.strip()
    if "no such container" in done.stderr.lower():
        return "gone"
    raise LabError(f"the engine does not say how {container} is: {last_words(done.stderr)}")


def inspected(container: Container, form: str) -> str:
    """What the engine says of a container, in a format. Raises LabError."""
    return docker("container", "inspect", "--format", form, container.name, on=container.engine)
