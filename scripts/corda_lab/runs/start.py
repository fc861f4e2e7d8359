"""Starts the lab of this machine, without what ended commands have left in it."""

from corda_lab.faults import inject
from corda_lab.host import engine
from corda_lab.lab import lifecycle
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.runs import leftovers


def start(settings: Settings, images: lifecycle.ImageChoice | None, *, recover: str | None = None) -> None:
    """Heal faults and end loads of commands that have ended, start the lab, and collect rows. Raises LabError.

    ``recover`` is a node whose database is damaged.
    """
    if inject.is_left(settings.project):
        # A part that is frozen or cut off would never become healthy.
        lifecycle.prepare_engine()
        inject.heal_left(settings.project)
    # Containers of a killed command must not send load to nodes that are starting. Without an engine, there are none.
    if engine.probe().state is engine.EngineState.READY:
        leftovers.stop_loads(Compose(settings))
    lifecycle.up(settings, images, recover=recover)
    leftovers.collect(Compose(settings))
