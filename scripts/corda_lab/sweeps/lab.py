"""The lab of a sweep, started in the shape that the next step needs: on this machine, or on the hosts of a placement.

Each start is on empty ledgers.
"""

import contextlib
import time

from corda_lab.errors import BAD_INPUT, FinalError, LabError
from corda_lab.faults import inject
from corda_lab.host import machine
from corda_lab.knobs.shape import LIVE_VARIABLES
from corda_lab.lab import lifecycle, project
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import docker
from corda_lab.lab.environment import read_environment
from corda_lab.lab.settings import Settings
from corda_lab.results.manifest import Environment
from corda_lab.results.sweep import Fresh
from corda_lab.runs import by_hand, leftovers
from corda_lab.runs.preflight import OUTSTANDING_MAX, OUTSTANDING_PER_CORE
from corda_lab.runs.running import deployed
from corda_lab.swarm import deployment
from corda_lab.swarm import lifecycle as swarm
from corda_lab.swarm.folder import StackFolder
from corda_lab.swarm.placement import CORES_MAX, NODE_NAMES, find_placement
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.plan import HERE, Room, settings_of
from corda_lab.sweeps.step import PlannedStep, points_of


class Machine:
    """This machine."""

    room = HERE
    bridge_cores: int | None = None
    """The cores at least of the machine on which the bridge runs; None for those of this machine."""

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
        """Raise LabError if there is a lab that no sweep started, because its ledger would be lost."""
        lifecycle.prepare_engine()
        if not project.is_replaceable(settings.project):
            raise LabError(
                "A lab (or its volumes) already exists, but a sweep needs an empty ledger",
                "Remove it with `scripts/lab down --volumes`, or pass --replace.",
            )

    def start(self, wanted: Settings) -> None:
        """Start a lab in place of the existing one, if any. Raises LabError."""
        if project.present(wanted.project) is not None:
            inject.heal_left(wanted.project)
            leftovers.collect_before_removal(Compose(wanted))
            by_hand.keep_all(wanted)
            lifecycle.down(wanted, volumes=True, mark=project.STARTING)
        lifecycle.up(wanted, self._images, mark=project.STARTING)

    def restart_bridge(self, wanted: Settings) -> None:
        """Start only the bridge again, with other knobs. Raises LabError."""
        lifecycle.restart_bridge(wanted)

    def mark(self, wanted: Settings) -> None:
        """Record that what exists now belongs to the sweep. Raises LabError."""
        project.mark(wanted.project, project.present(wanted.project))


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
        found = _stack_present(settings)
        if found is not None and project.marked(stack) not in (found, project.STARTING):
            raise LabError(
                f"The stack {stack} (or its volumes) already exists, but a sweep needs an empty ledger",
                f"Remove it with `scripts/lab down --on {self._placement} --volumes`, or pass --replace.",
            )

    def start(self, wanted: Settings) -> None:
        """Start a stack in place of the existing one, if any. Raises LabError."""
        if _stack_present(wanted) is not None:
            if stack := deployment.find(wanted):
                inject.heal_left(stack.project)
            if known := stack or deployment.former(wanted):
                leftovers.collect_before_removal(known)
            swarm.down(wanted, self._placement, volumes=True, mark=project.STARTING)
        swarm.up(wanted, self._placement, self._images, mark=project.STARTING)

    def restart_bridge(self, wanted: Settings) -> None:
        """Start the services whose knobs differ again: the bridge, and the web UI for a time limit. Raises LabError."""
        swarm.up(wanted, self._placement, self._images, mark=project.marked(StackFolder.of(wanted.project).stack))

    def mark(self, wanted: Settings) -> None:
        """Record that what exists now belongs to the sweep. Raises LabError."""
        project.mark(StackFolder.of(wanted.project).stack, _stack_present(wanted))


Site = Machine | Swarm
"""Where a sweep starts its labs."""


def _stack_present(settings: Settings) -> str | None:
    """Return what identifies the existing stack: the id of its overlay, else that its volumes may be there."""
    folder = StackFolder.of(settings.project)
    if folder.known() is None:
        return None
    overlay = docker("network", "inspect", "--format={{.Id}}", folder.overlay)
    return overlay.stdout.strip() or "volumes"


class Lab:
    """The lab on which the steps run. It is started again, with an empty ledger, as often as the sweep requests."""

    def __init__(self, settings: Settings, site: Site, *, fresh: Fresh) -> None:
        self.settings = settings
        self._site = site
        self._fresh = fresh
        self._key: tuple[object, ...] | None = None
        """What the steps have in common for which it was started; None if it has to be started again."""
        self._live: dict[str, str] = {}
        """The knobs that are changed on the running lab."""
        self._environment: Environment | None = None
        self.is_new = False
        """Whether the lab was started for the last step that was prepared."""
        self.started_at = 0.0
        """Unix seconds of the last start of the lab; 0 before the first. Its Prometheus has no older data."""

    def forget(self) -> None:
        """Make the next step start the lab again."""
        self._key = None

    def environment_of(self, step: PlannedStep) -> tuple[Settings, Environment]:
        """Return the settings and the environment of the lab of a step, even if its start failed. Raises LabError."""
        wanted = settings_of(step.variables, self.settings)
        if self._environment is not None and self._key == step.lab_key(self._fresh):
            return wanted, self._environment
        return wanted, read_environment(deployed(wanted))

    def prepare(self, step: PlannedStep) -> tuple[Settings, Environment]:
        """Make sure that a lab with the shape of a step is running. Returns its settings and environment.

        ``is_new`` is true until a step has been prepared on the same lab again. If only knobs of the bridge differ,
        only the bridge starts again, and the lab is not new.
        """
        wanted, key = settings_of(step.variables, self.settings), step.lab_key(self._fresh)
        live = {name: wanted[name] for name in LIVE_VARIABLES}
        self.is_new = self._key != key
        if self._environment is None or self.is_new or self._live != live:
            self._key = None
            if self.is_new:
                self._start(wanted)
                self.started_at = time.time()
            else:
                self._site.restart_bridge(wanted)
            self._environment = read_environment(deployed(wanted))
            self._key, self._live = key, live
        return wanted, self._environment

    def _start(self, wanted: Settings) -> None:
        """Start a lab in place of the existing one, if any."""
        try:
            self._site.start(wanted)
        except LabError as error:
            if not self.started_at and error.exit_code == BAD_INPUT:
                # No step has run yet, so the machine is unchanged and another try would fail in the same way.
                raise FinalError(problems=error.problems) from None
            raise
        finally:
            # Whether the start succeeded or not, what exists now belongs to the sweep.
            with contextlib.suppress(LabError):
                self._site.mark(wanted)


def admitting(sweep: SweepFile, settings: Settings, *, cores: int | None = None) -> Settings:
    """Return settings with which the bridge admits all closed load and all bursts of a sweep and of its conditioning.

    A sweep starts its own lab, and its steps must not differ in this, so the largest step decides for all. ``cores``
    are those of the machine on which the bridge runs at least; None for this machine.
    """
    steps = points_of(sweep)
    conditioning = [step.conditioning() for step in steps]
    loads = [*(step.options("x") for step in steps), *(one.options for one in conditioning if one)]
    users = max((load.places for load in loads if not load.is_open), default=0)
    limit = settings[OUTSTANDING_MAX]
    admitted = int(limit) if limit.isdecimal() else OUTSTANDING_PER_CORE * (cores or machine.cores() or 1)
    return settings if users <= admitted else settings.with_values({OUTSTANDING_MAX: str(users)})
