"""Three engines on this machine with the images of the lab: what the tests of several hosts need."""

from collections.abc import Iterator
from contextlib import contextmanager

from corda_lab.host import engine
from corda_lab.lab import images, lifecycle
from corda_lab.lab.settings import Settings
from corda_lab.paths import CACHE
from corda_lab.swarm import lifecycle as swarm_lifecycle
from corda_lab.text import ui
from support import own_lab
from swarm import engines

SUFFIX = "swarm-test"
RESULTS = CACHE / "swarm-test-results"
HOSTS = ("one", "two", "three")
"""The hosts of placement.yaml. The first is the manager."""
REGISTRY = "REGISTRY_IMAGE"
"""The variable with the image of the registry, which stands for that of a user."""


@contextmanager
def ready(preset: str, forced: lifecycle.ImageChoice | None) -> Iterator[list[str]]:
    """Start three engines. Yields the beginning of a command that runs on the first of them. Raises LabError."""
    with own_lab.lab_of(SUFFIX, RESULTS, {"NODE_PRESET": preset, "PARTIES": "3"}) as settings:
        names = {**images.image_names(settings), **{name: settings[name] for name in ("TOXIPROXY_IMAGE", REGISTRY)}}
        engine.ensure_images(names, forced)
        swarm_lifecycle.build(settings)
        with engines.swarm(HOSTS) as (found, environment):
            manager = found[0]
            with ui.phase("Copying the images to the manager"):
                manager.load(image_names(settings))
            with own_lab.environment(environment):
                yield manager.enter


def image_names(settings: Settings) -> list[str]:
    """Return the images that the manager needs: those of all services, and those of what runs beside them."""
    project = swarm_lifecycle.project_of(settings)
    names = [service["image"] for service in project.running.values()]
    names += [settings.own_node_image, settings.own_image(swarm_lifecycle.LINKS)]
    return [*dict.fromkeys([*names, images.image_name(settings, REGISTRY)])]
