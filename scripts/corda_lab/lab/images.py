"""Third-party images: from a registry, or stand-ins of the same names built from Debian's packages.

A stand-in is built where no registry can be reached. It keeps the promises of the official image that this project
relies on (paths, user, programs), carries the label ``org.cordalab.standin=true`` and trusts what the host trusts.
"""

import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Literal

from corda_lab.host import processes
from corda_lab.host.standins import STAND_INS, build, checked, present_images
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.text import ui

Source = Literal["present", "registry", "local"]
"""Where images come from; ``present`` when all of them are there already."""

GRAFANA_VARIABLE = "GRAFANA_IMAGE"

REGISTRY_SECONDS_MAX = 20
PULL_SECONDS_MAX = 1200

IMAGES_OF_SERVICES = {
    "postgres": "POSTGRES_IMAGE",
    "postgres-exporter": "POSTGRES_EXPORTER_IMAGE",
    "links": "TOXIPROXY_IMAGE",
}
"""Images that only a lab with the service needs."""


def image_names(settings: Settings) -> dict[str, str]:
    """Every third-party image that a lab of this shape needs: variable of ``.env`` → name."""
    unneeded = {variable for service, variable in IMAGES_OF_SERVICES.items() if service not in settings.extra_services}
    variables = [*(stand_in.variable for stand_in in STAND_INS), GRAFANA_VARIABLE]
    return {variable: settings[variable] for variable in variables if variable not in unneeded}


def standins_present(settings: Settings) -> tuple[str, ...]:
    """Names of the third-party images that are stand-ins here, for a run's manifest."""
    present = present_images(image_names(settings).values())
    return tuple(sorted(name for name, is_stand_in in present.items() if is_stand_in))


def grafana_present() -> bool:
    """Whether Grafana's image is there; it has no stand-in, so without a registry the lab runs without it."""
    return bool(present_images([load_settings()[GRAFANA_VARIABLE]]))


def decide(names: Mapping[str, str], present: Mapping[str, bool]) -> Source | None:
    """The source that follows from the images alone; None when a registry has to be asked.

    Once a stand-in is in use the choice stays local, so that two runs do not silently differ in what they ran on.
    """
    if all(name in present for name in names.values()):
        return "present"
    if any(present.get(name) for name in names.values()):
        return "local"
    return None


def choose_source(names: Mapping[str, str], forced: Literal["registry", "local"] | None = None) -> Source:
    """Where these images come from: as forced, or as found (already there, a registry, else local), and say so."""
    if forced is not None:
        ui.note(f"images: {forced}, as asked for")
        return forced
    present = present_images(names.values())
    source = decide(names, present)
    if source is None:
        missing = next(name for name in names.values() if name not in present)
        reason = registry_problem(missing)
        source = "local" if reason else "registry"
        ui.note(f"images: local, since no registry can be reached ({reason})" if reason else "images: registry")
    elif source == "local":
        ui.note("images: local, as before; `--images registry` replaces stand-ins by the official images")
    else:
        ui.note(f"images: all are there, {sum(present.values())} of {len(present)} are stand-ins")
    return source


def registry_problem(image: str) -> str:
    """Why the engine cannot pull ``image``; empty when it can.

    The pull is a real one, by the engine with its own proxy and mirrors, and is cut off at its first sign of success.
    """
    process = subprocess.Popen(
        ["docker", "pull", image],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
    )
    killer = threading.Timer(REGISTRY_SECONDS_MAX, process.kill)
    killer.start()
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        if process.stdout.readline():
            return ""
        words = processes.last_words(process.stderr.read(), 1)
        return words or f"no answer within {REGISTRY_SECONDS_MAX} s"
    finally:
        killer.cancel()
        process.kill()
        process.communicate()


def ensure_images(source: Source, by_variable: Mapping[str, str]) -> None:
    """Pull or build those of these third-party images, variable of ``.env`` → name, that are not there yet.

    From a registry, stand-ins are replaced too. Locally, an official image that is there is used as it is.
    """
    present = present_images(by_variable.values())
    if source == "registry":
        _pull([name for name in by_variable.values() if present.get(name) is not False])
    elif source == "local":
        missing = {variable: name for variable, name in by_variable.items() if name not in present}
        grafana = missing.pop(GRAFANA_VARIABLE, None)
        if missing:
            build(missing)
        if grafana:
            ui.warn("Grafana is left out: it has no stand-in and no registry is in use. Prometheus and reports work.")


def _pull(names: Sequence[str]) -> None:
    for name in names:
        started = time.monotonic()
        checked(
            ["docker", "pull", "--quiet", name],
            seconds_max=PULL_SECONDS_MAX,
            what=f"Pulling {name}",
            remedy="Check the engine's network and proxy, or build stand-ins with `--images local`.",
        )
        ui.note(f"{name} pulled in {time.monotonic() - started:.0f} s")
