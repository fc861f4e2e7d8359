"""Third-party images: pulled from a registry, or stand-ins that are built from Debian packages.

Stand-ins are built if no registry can be reached. A stand-in has the paths, user and programs of the official image
that this project relies on, but a name of its own. ``compose.yaml`` gets that name through the variable of the image,
so no other project on this machine takes a stand-in for the official image. A stand-in has the label
``org.cordalab.standin=true``, and trusts the host's certificates.
"""

import json
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Literal

from corda_lab import atomic
from corda_lab.host import processes
from corda_lab.host.processes import checked, run_bounded
from corda_lab.host.standins import OWN_NAMES, STAND_INS, build, present_images, remove_false_names
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import CACHE, ROOT
from corda_lab.text import ui

Source = Literal["present", "registry", "local"]
"""Where images come from; ``present`` means that all of them exist already."""

IN_USE = CACHE / "stand-ins.json"
"""The stand-ins that this checkout uses: variable in ``.env`` → the official image whose place it takes."""

IN_USE_VARIABLES = CACHE / "stand-ins.env"
"""The same for a ``docker compose`` that is typed by hand: variable → name of the stand-in."""

GRAFANA_VARIABLE = "GRAFANA_IMAGE"

REGISTRY_SECONDS_MAX = 20
PULL_SECONDS_MAX = 1200

IMAGES_OF_SERVICES = {
    "postgres": "POSTGRES_IMAGE",
    "postgres-exporter": "POSTGRES_EXPORTER_IMAGE",
    "links": "TOXIPROXY_IMAGE",
    "registry": "REGISTRY_IMAGE",
}
"""Images that are needed only if the lab has the service: service → variable in ``.env``. Only a stack of Docker Swarm
has a registry."""


def image_names(settings: Settings) -> dict[str, str]:
    """Return the third-party images that a lab of this shape needs: variable in ``.env`` → name."""
    unneeded = {variable for service, variable in IMAGES_OF_SERVICES.items() if service not in settings.extra_services}
    variables = [*(stand_in.variable for stand_in in STAND_INS), GRAFANA_VARIABLE]
    return {variable: settings[variable] for variable in variables if variable not in unneeded}


def in_use(settings: Settings) -> dict[str, str]:
    """Return the stand-ins that this checkout uses: variable in ``.env`` → name of the stand-in.

    A variable whose value has changed since is not among them: then the user has chosen another image.
    """
    return {name: OWN_NAMES[name] for name, official in _recorded().items() if settings.values.get(name) == official}


def image_name(settings: Settings, variable: str) -> str:
    """Return the name of the image that takes the place of a variable in ``.env``: a stand-in, or the value itself."""
    return in_use(settings).get(variable) or settings[variable]


def official_name(settings: Settings, image: str) -> str:
    """Return the official name of an image in use, under which manifests list it."""
    officials = {own: settings[variable] for variable, own in in_use(settings).items()}
    return officials.get(image, image)


def standins_present(settings: Settings) -> tuple[str, ...]:
    """Return the official names of the images in whose place this lab uses stand-ins. Every manifest lists them."""
    needed = image_names(settings)
    return tuple(sorted(needed[variable] for variable in in_use(settings) if variable in needed))


def digests(settings: Settings) -> dict[str, str]:
    """Return the digests of the official images that this lab uses: name → ``sha256:…`` in its registry.

    Images without a digest, which were built on this machine, are left out.
    """
    stand_ins, found = in_use(settings), {}
    for variable, name in image_names(settings).items():
        if variable in stand_ins:
            continue
        done = run_bounded(["docker", "image", "inspect", "--format", "{{json .RepoDigests}}", name])
        listed = json.loads(done.stdout) if done.returncode == 0 else None
        if listed:
            found[name] = str(listed[0]).partition("@")[2]
    return found


def _recorded() -> dict[str, str]:
    """Return the stand-ins in use with the official images of which they took the place."""
    try:
        content = json.loads(IN_USE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    known = content.items() if isinstance(content, dict) else ()
    return {name: official for name, official in known if name in OWN_NAMES and isinstance(official, str)}


def _record(officials: Mapping[str, str]) -> None:
    """Store the stand-ins in use: variable → official image."""
    atomic.write_text(IN_USE, json.dumps(officials, indent=2, sort_keys=True) + "\n")
    atomic.write_text(IN_USE_VARIABLES, "".join(f"{name}={OWN_NAMES[name]}\n" for name in sorted(officials)))


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
    """Choose the source of the images (variable in ``.env`` → official name), and print it.

    Without ``forced``, the order is: already present, a registry, local stand-ins.
    """
    for name in remove_false_names():
        ui.note(f"removed the name {name} from a stand-in, to which an earlier version of the lab gave it")
    if forced is not None:
        ui.note(f"images: {forced}, as requested")
        return forced
    used = {**names, **_chosen(names)}
    present = present_images(used.values())
    source = decide(used, present)
    if source is None:
        missing = next(name for name in names.values() if name not in present)
        if _built_elsewhere(names, present):
            ui.note("images: local, as in another checkout; `--images registry` uses the official images")
            return "local"
        reason = registry_problem(missing)
        source = "local" if reason else "registry"
        ui.note(f"images: local, because no registry can be reached ({reason})" if reason else "images: registry")
    elif source == "local":
        ui.note("images: local, as before; `--images registry` replaces stand-ins with the official images")
    else:
        ui.note(f"images: all present, {sum(present.values())} of {len(present)} are stand-ins")
    return source


def _chosen(names: Mapping[str, str]) -> dict[str, str]:
    """Return the stand-ins in use for these images: variable → name of the stand-in."""
    recorded = _recorded()
    return {name: OWN_NAMES[name] for name, official in names.items() if recorded.get(name) == official}


def _built_elsewhere(names: Mapping[str, str], present: Mapping[str, bool]) -> bool:
    """Return whether there are stand-ins for these images, and none of the images themselves."""
    return not present and bool(present_images(OWN_NAMES[name] for name in names if name in OWN_NAMES))


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

    With the source ``registry``, stand-ins are no longer used. With ``local``, existing official images are kept.
    """
    present = present_images(by_variable.values())
    if source == "registry":
        _pull([name for name in by_variable.values() if name not in present])
        if _recorded():
            _record({})
    elif source == "local":
        missing = {variable: name for variable, name in by_variable.items() if name not in present}
        grafana = missing.pop(GRAFANA_VARIABLE, None)
        _stand_in({**{name: by_variable[name] for name in _chosen(by_variable)}, **missing})
        if grafana:
            ui.warn("The lab runs without Grafana, which has no stand-in. Prometheus and the reports still work.")


def _stand_in(officials: Mapping[str, str]) -> None:
    """Use stand-ins in the place of these images (variable → official name), and build those that are missing."""
    built = present_images(OWN_NAMES[variable] for variable in officials)
    missing = [variable for variable in officials if OWN_NAMES[variable] not in built]
    if missing:
        build(missing)
    recorded = _recorded()
    if not officials.items() <= recorded.items():
        _record({**recorded, **officials})
        ui.note(
            "for a `docker compose` of your own, the variables with their names are in"
            f" {IN_USE_VARIABLES.relative_to(ROOT)}: export COMPOSE_ENV_FILES=.env,{IN_USE_VARIABLES.relative_to(ROOT)}"
        )


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
