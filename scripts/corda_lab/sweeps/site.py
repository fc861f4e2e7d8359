"""Where a sweep starts its labs: on this machine, or on the hosts of a placement. Each start is on empty ledgers."""

from corda_lab.errors import LabError
from corda_lab.faults import inject
from corda_lab.lab import lifecycle, ownership
from corda_lab.lab.compose import Compose
from corda_lab.lab.engine import run_docker
from corda_lab.lab.settings import Settings
from corda_lab.runs import by_hand, leftovers
from corda_lab.swarm import deployment
from corda_lab.swarm import lifecycle as swarm
from corda_lab.swarm.folder import StackFolder
from corda_lab.swarm.placement import CORES_MAX, NODE_NAMES, find_placement
from corda_lab.sweeps.plan import HERE, Room


class Machine:
    """This machine."""

    room = HERE
    bridge_cores: int | None = None

    def __init__(self, images: lifecycle.ImageChoice | None) -> None:
        self._images = images

    def require_alone(self, settings: Settings) -> None:
        """Raise LabError if a stack is up."""
        if stack := deployment.find(settings):
            raise LabError(
                f"The stack {stack.project} is up, but the sweep is to run on this machine",
                f"Add --on {stack.known.placement}, or stop it: `scripts/lab down --on {stack.known.placement}`.",
            )

    def require_replaceable(self, settings: Settings) -> None:
        """Raise LabError if there is a lab that no sweep started."""
        lifecycle.prepare_engine()
        if not ownership.is_replaceable(settings.project):
            raise LabError(
                "A lab (or its volumes) already exists, but a sweep needs an empty ledger",
                "Remove it with `scripts/lab down --volumes`, or pass --replace.",
            )

    def start(self, wanted: Settings) -> None:
        """Start a lab in place of the existing one, if any. Raises LabError."""
        if ownership.present(wanted.project) is not None:
            inject.heal_left(wanted.project)
            leftovers.collect_before_removal(Compose(wanted))
            by_hand.keep_all(wanted)
            lifecycle.down(wanted, volumes=True, mark=ownership.STARTING)
        lifecycle.up(wanted, self._images, mark=ownership.STARTING)

    def restart_bridge(self, wanted: Settings) -> None:
        """Start only the bridge again, with other knobs. Raises LabError."""
        lifecycle.restart_bridge(wanted)

    def mark(self, wanted: Settings) -> None:
        """Record that what exists now belongs to the sweep. Raises LabError."""
        ownership.mark(wanted.project, ownership.present(wanted.project))


class Swarm:
    """The hosts of a placement."""

    bridge_cores: int | None = 1

    def __init__(self, images: lifecycle.ImageChoice | None, placement: str) -> None:
        self._images = images
        self._placement = placement

    @property
    def room(self) -> Room:
        """The placement says what its hosts have, and is checked against each shape when it starts. Raises LabError."""
        fields = find_placement(self._placement).fields
        names = [NODE_NAMES if host.each else (name,) for name, host in fields.hosts.items()]
        return Room(CORES_MAX, tuple(name for one in names for name in one))

    def require_alone(self, settings: Settings) -> None:
        """Raise LabError if a lab is up on this machine."""
        lifecycle.require_engine()
        if Compose(settings).running_containers():
            raise LabError(
                f"The lab {settings.project} is up on this machine, but the sweep is to run on several hosts",
                "Stop it with `scripts/lab down`, which keeps its ledgers, or leave out --on.",
            )

    def require_replaceable(self, settings: Settings) -> None:
        """Raise LabError if there is a stack that no sweep started."""
        stack = StackFolder.of(settings.project).stack
        found = stack_present(settings)
        if found is not None and ownership.marked(stack) not in (found, ownership.STARTING):
            raise LabError(
                f"The stack {stack} (or its volumes) already exists, but a sweep needs an empty ledger",
                f"Remove it with `scripts/lab down --on {self._placement} --volumes`, or pass --replace.",
            )

    def start(self, wanted: Settings) -> None:
        """Start a stack in place of the existing one, if any. Raises LabError."""
        if stack_present(wanted) is not None:
            if stack := deployment.find(wanted):
                inject.heal_left(stack.project)
            if known := stack or deployment.former(wanted):
                leftovers.collect_before_removal(known)
            swarm.down(wanted, self._placement, volumes=True, mark=ownership.STARTING)
        swarm.up(wanted, self._placement, self._images, mark=ownership.STARTING)

    def mark(self, wanted: Settings) -> None:
        """Record that what exists now belongs to the sweep. Raises LabError."""
        ownership.mark(StackFolder.of(wanted.project).stack, stack_present(wanted))

    def restart_bridge(self, wanted: Settings) -> None:
        """Start the services whose knobs differ again: the bridge, and the web UI for a time limit. Raises LabError."""
        swarm.up(wanted, self._placement, self._images, mark=ownership.marked(StackFolder.of(wanted.project).stack))


Site = Machine | Swarm


def stack_present(settings: Settings) -> str | None:
    """Return what identifies the existing stack: the id of its overlay, else that its volumes may be there."""
    folder = StackFolder.of(settings.project)
    if folder.known() is None:
        return None
    overlay = run_docker(["network", "inspect", "--format={{.Id}}", folder.overlay])
    return overlay.stdout.strip() or "volumes"
