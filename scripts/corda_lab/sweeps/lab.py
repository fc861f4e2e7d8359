"""The lab of a sweep, which is started in the shape that the next step needs."""

import contextlib
import time

from corda_lab.errors import BAD_INPUT, FinalError, LabError
from corda_lab.host import machine
from corda_lab.knobs.shape import LIVE_VARIABLES
from corda_lab.lab.environment import read_environment
from corda_lab.lab.settings import Settings
from corda_lab.results.manifest import Environment
from corda_lab.runs.preflight import OUTSTANDING_MAX, OUTSTANDING_PER_CORE
from corda_lab.runs.running import deployed
from corda_lab.sweeps import plan
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.planned import PlannedStep
from corda_lab.sweeps.points import points_of
from corda_lab.sweeps.schema import Fresh
from corda_lab.sweeps.site import Site


class Lab:
    """The lab on which the steps run. It is started again, with an empty ledger, as often as the sweep requests."""

    def __init__(self, settings: Settings, site: Site, *, fresh: Fresh) -> None:
        self.settings = settings
        self._site = site
        self._fresh = fresh
        self._key: tuple[object, ...] | None = None
        self._live: dict[str, str] = {}
        """The knobs that are changed on the running lab."""
        self._environment: Environment | None = None
        self.is_new = False
        """Whether the lab was started for the last step that was prepared."""
        self.starts = 0
        self.started_at = 0.0
        """Unix seconds of the last start of the lab. Its Prometheus has no older data."""

    def require_alone(self) -> None:
        """Raise LabError if a lab is up elsewhere. ``--replace`` changes nothing about that."""
        self._site.require_alone(self.settings)

    def require_replaceable(self) -> None:
        """Raise LabError if there is a lab that no sweep started, because its ledger would be lost."""
        self._site.require_replaceable(self.settings)

    def forget(self) -> None:
        """Make the next step start the lab again."""
        self._key = None

    def environment_of(self, step: PlannedStep) -> tuple[Settings, Environment]:
        """Return the settings and the environment of the lab of a step, even if its start failed. Raises LabError."""
        wanted = plan.settings_of(step.variables, self.settings)
        if self._environment is not None and self._key == step.lab_key(self._fresh):
            return wanted, self._environment
        return wanted, read_environment(deployed(wanted))

    def prepare(self, step: PlannedStep) -> tuple[Settings, Environment]:
        """Make sure that a lab with the shape of a step is running. Returns its settings and environment.

        ``is_new`` is true until a step has been prepared on the same lab again. If only knobs of the bridge differ,
        only the bridge starts again, and the lab is not new.
        """
        wanted = plan.settings_of(step.variables, self.settings)
        key = step.lab_key(self._fresh)
        self.is_new = self._environment is None or self._key != key
        if self._environment is None or self.is_new:
            self._key = None
            self._start(wanted)
            self.starts += 1
            self.started_at = time.time()
            self._environment = read_environment(deployed(wanted))
            self._key, self._live = key, live_of(wanted)
        elif self._live != live_of(wanted):
            self._key = None
            self._site.restart_bridge(wanted)
            self._environment = read_environment(deployed(wanted))
            self._key, self._live = key, live_of(wanted)
        return wanted, self._environment

    def _start(self, wanted: Settings) -> None:
        """Start a lab in place of the existing one, if any."""
        try:
            self._site.start(wanted)
        except LabError as error:
            if self.starts == 0 and error.exit_code == BAD_INPUT:
                # No step has run yet, so the machine is unchanged and another try would fail in the same way.
                raise FinalError(problems=error.problems) from None
            raise
        finally:
            # Whether the start succeeded or not, what exists now belongs to the sweep.
            with contextlib.suppress(LabError):
                self._site.mark(wanted)


def live_of(settings: Settings) -> dict[str, str]:
    """Return the knobs that a sweep changes on a running lab."""
    return {name: settings[name] for name in LIVE_VARIABLES}


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
