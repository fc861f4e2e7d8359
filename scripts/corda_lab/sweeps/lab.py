"""The lab of a sweep, started in the shape that the next step needs: on this machine, or on the hosts of a placement.

Each start is on empty ledgers.
"""

import contextlib
import time
from collections.abc import Sequence

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
from corda_lab.runs.running import deployed, machine_only
from corda_lab.swarm import deployment
from corda_lab.swarm import lifecycle as swarm
from corda_lab.swarm.deployment import StackFolder
from corda_lab.swarm.placement import CORES_MAX, NODE_NAMES, find_placement
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.plan import PlannedStep, points_of


class Machine:
    """This machine."""

    cores_max: int | None = None
    """The most cores that a shape may ask for; None for those of this machine."""
    hosts: Sequence[str] = ()
    """The hosts that a fault can cut off; none on one machine."""
    bridge_cores: int | None = None
    """The cores at least of the machine on which the bridge runs; None for those of this machine."""

    def __init__(self, images: lifecycle.ImageChoice | None) -> None:
        self._images = images

    def require_alone(self, settings: Settings) -> None:
        machine_only(settings)

    def require_replaceable(self, settings: Settings) -> None:
        """Raise LabError if there is a lab that no sweep started, because its ledger would be lost."""
        lifecycle.prepare_engine()
        if not project.is_replaceable(settings.project):
            raise LabError(
                "A lab (or its volumes) already exists, but a sweep needs an empty ledger",
                "Remove it with `scripts/lab down --volumes`, or pass --replace.",
            )

    def start(self, settings: Settings) -> None:
        if project.present(settings.project) is not None:
            inject.heal_left(settings.project)
            leftovers.collect_before_removal(Compose(settings))
            by_hand.keep_all(settings)
            lifecycle.down(settings, volumes=True, mark=project.STARTING)
        lifecycle.up(settings, self._images, mark=project.STARTING)

    def restart_bridge(self, settings: Settings) -> None:
        lifecycle.restart_bridge(settings)

    def mark(self, settings: Settings) -> None:
        project.mark(settings.project, project.present(settings.project))


class Swarm:
    """The hosts of a placement."""

    cores_max: int | None = CORES_MAX
    bridge_cores: int | None = 1

    def __init__(self, images: lifecycle.ImageChoice | None, placement: str) -> None:
        self._images = images
        self._placement = placement

    @property
    def hosts(self) -> Sequence[str]:
        """The hosts of the placement, which is checked against each shape when it starts. Raises LabError."""
        hosts = find_placement(self._placement).fields.hosts
        return [name for key, host in hosts.items() for name in (NODE_NAMES if host.each else (key,))]

    def require_alone(self, settings: Settings) -> None:
        lifecycle.require_engine()
        if Compose(settings).running_containers():
            raise LabError(
                f"The lab {settings.project} is up on this machine, but the sweep is to run on several hosts",
                "Stop it with `scripts/lab down`, which keeps its ledgers, or leave out --on.",
            )

    def require_replaceable(self, settings: Settings) -> None:
        """Raise LabError if there is a stack that no sweep started."""
        stack = StackFolder.of(settings.project).stack
        present = _stack_present(settings)
        if present is not None and project.marked(stack) not in (present, project.STARTING):
            raise LabError(
                f"The stack {stack} (or its volumes) already exists, but a sweep needs an empty ledger",
                f"Remove it with `scripts/lab down --on {self._placement} --volumes`, or pass --replace.",
            )

    def start(self, settings: Settings) -> None:
        if _stack_present(settings) is not None:
            if stack := deployment.find(settings):
                inject.heal_left(stack.project)
            if known := stack or deployment.former(settings):
                leftovers.collect_before_removal(known)
            swarm.down(settings, self._placement, volumes=True, mark=project.STARTING)
        swarm.up(settings, self._placement, self._images, mark=project.STARTING)

    def restart_bridge(self, settings: Settings) -> None:
        """Start the services whose knobs differ again: the bridge, and the web UI for a time limit. Raises LabError."""
        swarm.up(settings, self._placement, self._images, mark=project.marked(StackFolder.of(settings.project).stack))

    def mark(self, settings: Settings) -> None:
        project.mark(StackFolder.of(settings.project).stack, _stack_present(settings))


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
        self._environment: Environment | None = None
        self.is_new = False
        """Whether the lab was started for the last step that was prepared."""
        self.started_at = 0.0
        """Unix seconds of the last start of the lab; 0 before the first. Its Prometheus has no older data."""

    def forget(self) -> None:
        self._key = None

    def environment_of(self, step: PlannedStep) -> tuple[Settings, Environment]:
        """Return the settings and the environment of the lab of a step, even if its start failed. Raises LabError."""
        settings = step.settings(self.settings)
        if self._environment is not None and self._key == step.lab_key(self._fresh):
            return settings, self._environment
        return settings, read_environment(deployed(settings))

    def prepare(self, step: PlannedStep) -> tuple[Settings, Environment]:
        """Make sure that a lab with the shape of a step is running. Returns its settings and environment.

        ``is_new`` is true until a step has been prepared on the same lab again. If only knobs of the bridge differ,
        only the bridge starts again, and the lab is not new.
        """
        settings, key = step.settings(self.settings), step.lab_key(self._fresh)
        live = {name: settings[name] for name in LIVE_VARIABLES}
        self.is_new = self._key != key
        if self._environment is None or self.is_new or self._live != live:
            self._key = None
            if self.is_new:
                self._start(settings)
                self.started_at = time.time()
            else:
                self._site.restart_bridge(settings)
            self._environment = read_environment(deployed(settings))
            self._key, self._live = key, live
        return settings, self._environment

    def _start(self, settings: Settings) -> None:
        try:
            self._site.start(settings)
        except LabError as error:
            if not self.started_at and error.exit_code == BAD_INPUT:
                # No step has run yet, so the machine is unchanged and another try would fail in the same way.
                raise FinalError(problems=error.problems) from None
            raise
        finally:
            # Whether the start succeeded or not, what exists now belongs to the sweep.
            with contextlib.suppress(LabError):
                self._site.mark(settings)


def admitting(sweep: SweepFile, settings: Settings, *, cores: int | None = None) -> Settings:
    """Return settings with which the bridge admits all closed load and all bursts of a sweep and of its conditioning.

    A sweep starts its own lab, and its steps must not differ in this, so the largest step decides for all. ``cores``
    are those of the machine on which the bridge runs at least; None for this machine.
    """
    points = points_of(sweep)
    loads = [point.load for point in points] + [point.condition.options for point in points if point.condition]
    users = max((load.places for load in loads if not load.is_open), default=0)
    limit = settings[OUTSTANDING_MAX]
    admitted = int(limit) if limit.isdecimal() else OUTSTANDING_PER_CORE * (cores or machine.cores() or 1)
    return settings if users <= admitted else settings.with_values({OUTSTANDING_MAX: str(users)})
