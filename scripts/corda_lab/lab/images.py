"""Third-party images: pulled from a registry, or stand-ins of the same names that are built from Debian packages.

Stand-ins are built if no registry can be reached. A stand-in has the paths, user and programs of the official image
that this project relies on. It has the label ``org.cordalab.standin=true``, and trusts the host's certificates.
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
"""Where images come from; ``present`` means that all of them exist already."""

GRAFANA_VARIABLE = "GRAFANA_IMAGE"

REGISTRY_SECONDS_MAX = 20
PULL_SECONDS_MAX = 1200

IMAGES_OF_SERVICES = {
    "postgres": "POSTGRES_IMAGE",
    "postgres-exporter": "POSTGRES_EXPORTER_IMAGE",
    "links": "TOXIPROXY_IMAGE",
}
"""Images that are needed only if the lab has the service: service → variable in ``.env``."""


def image_names(settings: Settings) -> dict[str, str]:
    """Return the third-party images that a lab of this shape needs: variable in ``.env`` → name."""
    unneeded = {variable for service, variable in IMAGES_OF_SERVICES.items() if service not in settings.extra_services}
    variables = [*(stand_in.variable for stand_in in STAND_INS), GRAFANA_VARIABLE]
    return {variable: settings[variable] for variable in variables if variable not in unneeded}


def standins_present(settings: Settings) -> tuple[str, ...]:
    """Return the names of the third-party images that are stand-ins on this machine. Every manifest lists them."""
    present = present_images(image_names(settings).values())
    return tuple(sorted(name for name, is_stand_in in present.items() if is_stand_in))


def grafana_present() -> bool:
    """Return whether Grafana's image exists. It has no stand-in, so without a registry the lab runs without Grafana."""
    return bool(present_images([load_settings()[GRAFANA_VARIABLE]]))


def decide(names: Mapping[str, str], present: Mapping[str, bool]) -> Source | None:
    """Return the source that follows from the existing images; None if a registry has to be tried.

    Once a stand-in is in use, the source stays local, so that the images do not change silently between two runs.
    """
    if all(name in present for name in names.values()):
        return "present"
    if any(present.get(name) for name in names.values()):
        return "local"
    return None


def choose_source(names: Mapping[str, str], forced: Literal["registry", "local"] | None = None) -> Source:
    """Choose the source of the images, and print it.

    Without ``forced``, the order is: already present, a registry, local stand-ins.
    """
    if forced is not None:
        ui.note(f"images: {forced}, as requested")
        return forced
    present = present_images(names.values())
    source = decide(names, present)
    if source is None:
        missing = next(name for name in names.values() if name not in present)
        reason = registry_problem(missing)
        source = "local" if reason else "registry"
        ui.note(f"images: local, because no registry can be reached ({reason})" if reason else "images: registry")
    elif source == "local":
        ui.note("images: local, as before; `--images registry` replaces stand-ins with the official images")
    else:
        ui.note(f"images: all present, {sum(present.values())} of {len(present)} are stand-ins")
    return source


def registry_problem(image: str) -> str:
    """Return why the engine cannot pull ``image``; empty if it can.

    The test is a real pull by the engine, with its proxy and mirrors. It is cancelled at the first sign of success.
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
    """Pull or build the third-party images that do not exist yet. ``by_variable``: variable in ``.env`` → name.

    With the source ``registry``, stand-ins are also replaced. With ``local``, existing official images are kept.
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
            ui.warn("The lab runs without Grafana, which has no stand-in. Prometheus and the reports still work.")


def _pull(names: Sequence[str]) -> None:
    for name in names:
        started = time.monotonic()
        checked(
            ["docker", "pull", "--quiet", name],
            seconds_max=PULL_SECONDS_MAX,
            what=f"Pulling {name}",
            remedy="Check the engine's network and proxy, or build stand-ins: pass `--images local`.",
        )
        ui.note(f"{name} pulled in {time.monotonic() - started:.0f} s")
