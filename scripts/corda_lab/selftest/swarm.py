"""``lab test --suite swarm``: the lab on several hosts, on three engines of this machine."""

from corda_lab.errors import LabError
from corda_lab.lab import images, lifecycle
from corda_lab.lab.settings import Settings
from corda_lab.paths import CACHE
from corda_lab.selftest import engines, own_project
from corda_lab.selftest.suite import TEST_PRESET, Totals, ensure_tools, record, run_pytest
from corda_lab.swarm import lifecycle as swarm_lifecycle
from corda_lab.text import ui

SUFFIX = "swarm-test"
TESTS = "tests/swarm"
HOSTS = ("one", "two", "three")
"""The hosts of tests/swarm/placement.yaml. The first is the manager."""
SECONDS_MAX = 4800.0
REGISTRY = "REGISTRY_IMAGE"
"""The setting with the image of the registry, which stands for that of a user."""


def run(totals: Totals, forced: lifecycle.ImageChoice | None) -> None:
    """Start three engines, and run the tests on the first. If they do not start, that counts as one failure."""
    ensure_tools()
    results = CACHE / "swarm-test-results"
    with own_project.lab_of(SUFFIX, results, {"NODE_PRESET": TEST_PRESET, "PARTIES": "3"}) as settings:
        names = {**images.image_names(settings), **{name: settings[name] for name in ("TOXIPROXY_IMAGE", REGISTRY)}}
        images.ensure_images(images.choose_source(names, forced), names)
        swarm_lifecycle.build(settings)
        try:
            with engines.swarm(HOSTS) as (found, environment):
                manager = found[0]
                with ui.phase("Copying the images to the manager"):
                    manager.load(image_names(settings))
                with own_project.environment(environment), ui.phase("Tests on three engines"):
                    record(
                        totals,
                        "pytest",
                        lambda: run_pytest("swarm", [TESTS], seconds_max=SECONDS_MAX, within=manager.enter),
                    )
        except LabError as error:
            ui.print_error(error)
            totals.add(0, 1)


def image_names(settings: Settings) -> list[str]:
    """Return the images that the manager needs: those of all services, and those of what runs beside them."""
    project = swarm_lifecycle.project_of(settings)
    names = [service["image"] for service in project.running.values()]
    names += [settings.own_node_image, settings.own_image(swarm_lifecycle.LINKS)]
    return [*dict.fromkeys([*names, images.image_name(settings, REGISTRY)])]
