"""Starts the bridge again with other knobs, and in the end with its own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from corda_lab.bench.job import BenchJob
from corda_lab.host import interrupts
from corda_lab.lab import lifecycle
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.runs import preflight


class BridgeKnobs:
    """The knobs of the running bridge. Only its container is started again, so the nodes stay as they are."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def use(self, values: Mapping[str, str]) -> Compose:
        """Run the bridge with these variables, and all others as in the settings. Raises LabError.

        Returns the project with them, from which containers of the same image get them too.
        """
        return lifecycle.restart_bridge(self._settings.with_values(values))


@contextmanager
def changed(settings: Settings) -> Iterator[BridgeKnobs]:
    """Let the block change the knobs. After it, the bridge has those of the settings again."""
    knobs = BridgeKnobs(settings)
    try:
        yield knobs
    finally:
        with interrupts.held_back():
            knobs.use({})


@contextmanager
def admitting(users: int, job: BenchJob, settings: Settings) -> Iterator[BenchJob]:
    """Let the bridge admit so many outstanding flows within the block, if it admits fewer."""
    if users <= job.bridge.outstanding_max(job.plan.subject.node):
        yield job
        return
    with changed(settings) as knobs:
        yield replace(job, compose=knobs.use({preflight.OUTSTANDING_MAX: str(users)}))
