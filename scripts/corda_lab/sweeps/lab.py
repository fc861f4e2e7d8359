"""The lab of a sweep: started in the shape that the next step needs."""

import contextlib
import time

from corda_lab.errors import BAD_INPUT, FinalError, LabError
from corda_lab.lab import environment as manifest
from corda_lab.lab import lifecycle, ownership, shape
from corda_lab.lab.settings import Settings
from corda_lab.results.manifest import Environment
from corda_lab.sweeps import plan
from corda_lab.sweeps.plan import PlannedStep
from corda_lab.sweeps.schema import Fresh


class Lab:
    """The lab that steps run on: started anew, with an empty ledger, as often as the sweep asks for."""

    def __init__(self, settings: Settings, images: lifecycle.ImageChoice | None, *, fresh: Fresh) -> None:
        self._settings = settings
        self._images = images
        self._fresh = fresh
        self._key: tuple[object, ...] | None = None
        self._environment: Environment | None = None
        self.starts = 0
        self.started_at = 0.0
        """When the lab that runs now was started, unix seconds: its Prometheus knows nothing from before."""

    def require_replaceable(self) -> None:
        """Raises LabError when there is a lab that no sweep started: its ledger would be lost."""
        lifecycle.prepare_engine()
        if not ownership.is_replaceable(self._settings.project):
            raise LabError(
                "There is a lab already, or its volumes, and a sweep starts from an empty ledger",
                "Forget it with `scripts/lab down --volumes`, or let the sweep do that: --replace",
            )

    def forget(self) -> None:
        """Have the next step start the lab anew."""
        self._key = None

    def prepare(self, step: PlannedStep) -> tuple[Settings, Environment]:
        """The settings and the environment of a running lab that has the shape of a step."""
        wanted = plan.settings_of(step.variables, self._settings)
        key = step.lab_key(self._fresh)
        if self._environment is None or self._key != key:
            self._key = None
            self._start(wanted)
            self.starts += 1
            self.started_at = time.time()
            self._environment = manifest.environment(shape.of_running(wanted))
            self._key = key
        return wanted, self._environment

    def _start(self, wanted: Settings) -> None:
        """Start a lab in the place of whatever is there."""
        try:
            if ownership.present(wanted.project) is not None:
                lifecycle.down(wanted, volumes=True, mark=ownership.STARTING)
            lifecycle.up(wanted, self._images, mark=ownership.STARTING)
        except LabError as error:
            if self.starts == 0 and error.exit_code == BAD_INPUT:
                # No step has done anything to this machine yet, so another try finds it as it is.
                raise FinalError(error.message, error.remedy) from None
            raise
        finally:
            # However the start ended, what is there now is the sweep's, and nothing that comes later.
            with contextlib.suppress(LabError):
                ownership.mark(wanted.project, ownership.present(wanted.project))
