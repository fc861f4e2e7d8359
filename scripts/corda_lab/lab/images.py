"""The names of the third-party images: official ones, or the stand-ins that ``scripts/bare`` has built.

``compose.yaml`` gets the name of a stand-in through the variable of the image, so no other project on this machine
takes it for the official image.
"""

from bare import prepare
from bare.commands import run
from bare.standins import STAND_INS
from corda_lab.lab.settings import Settings, load_settings

GRAFANA_VARIABLE = "GRAFANA_IMAGE"

IMAGES_OF_SERVICES = {
    "postgres": "POSTGRES_IMAGE",
    "postgres-exporter": "POSTGRES_EXPORTER_IMAGE",
    "links": "TOXIPROXY_IMAGE",
    "registry": "REGISTRY_IMAGE",
}
"""Images that are needed only if the lab has the service: service → variable in ``.env``. No lab has a registry:
tests of several hosts start one."""


def image_names(settings: Settings) -> dict[str, str]:
    """Return the third-party images that a lab of this shape needs: variable in ``.env`` → name."""
    unneeded = {variable for service, variable in IMAGES_OF_SERVICES.items() if service not in settings.extra_services}
    variables = [*(stand_in.variable for stand_in in STAND_INS), GRAFANA_VARIABLE]
    return {variable: settings[variable] for variable in variables if variable not in unneeded}


def in_use(settings: Settings) -> dict[str, str]:
    """Return the stand-ins that this checkout uses: variable in ``.env`` → name of the stand-in.

    A variable whose value has changed since is not among them: then the user has chosen another image.
    """
    known = prepare.stand_ins_in_use().items()
    return {variable: name for variable, (name, official) in known if settings.values.get(variable) == official}


def image_name(settings: Settings, variable: str) -> str:
    """Return the name of the image that takes the place of a variable in ``.env``: a stand-in, or the value itself."""
    return in_use(settings).get(variable) or settings[variable]


def official_name(settings: Settings, image: str) -> str:
    officials = {own: settings[variable] for variable, own in in_use(settings).items()}
    return officials.get(image, image)


def standins_present(settings: Settings) -> tuple[str, ...]:
    """Return the official names of the images in whose place this lab uses stand-ins. Every manifest lists them."""
    needed = image_names(settings)
    return tuple(sorted(needed[variable] for variable in in_use(settings) if variable in needed))


def grafana_present() -> bool:
    """Return whether Grafana's image exists. It has no stand-in, so without a registry the lab runs without Grafana."""
    return run(["docker", "image", "inspect", load_settings()[GRAFANA_VARIABLE]]).returncode == 0
