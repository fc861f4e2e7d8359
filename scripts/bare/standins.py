"""Builds stand-ins for official images from Debian packages, for machines that cannot reach a registry.

A stand-in has the paths, user and programs of the official image that the lab relies on, but a name of its own,
``corda-lab/standin-…``. So nothing else on this machine takes it for the official image. It trusts the host's
certificates.
"""

import os
import time
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bare import standin_base
from bare.commands import checked, note, run
from bare.standin_base import (
    BASE_IMAGE,
    BASE_SUITE,
    BUILD_SECONDS_MAX,
    REVISION,
    REVISION_LABEL,
    STANDIN_LABEL,
)

RECIPES = Path(__file__).parent / "images"
PACKAGES_IMAGE = f"corda-lab/standin-packages:{BASE_SUITE}"


@dataclass(frozen=True)
class StandIn:
    """The stand-in for an image variable of ``.env``: the folder of its Dockerfile, and the stand-in it builds on."""

    variable: str
    folder: str
    parent: "StandIn | None" = None

    @property
    def own_tag(self) -> str:
        return f"corda-lab/standin-{self.folder}:{BASE_SUITE}"


_JAVA21 = StandIn("JAVA21_IMAGE", "java21")

STAND_INS = (
    StandIn("JAVA8_IMAGE", "java8"),
    _JAVA21,
    StandIn("MAVEN_IMAGE", "maven", parent=_JAVA21),
    StandIn("PYTHON_IMAGE", "python"),
    StandIn("PROMETHEUS_IMAGE", "prometheus"),
    StandIn("POSTGRES_IMAGE", "postgres"),
    StandIn("POSTGRES_EXPORTER_IMAGE", "postgres-exporter"),
    StandIn("TOXIPROXY_IMAGE", "toxiproxy"),
    StandIn("REGISTRY_IMAGE", "registry"),
)
OWN_NAMES = {stand_in.variable: stand_in.own_tag for stand_in in STAND_INS}
"""The name of each stand-in, by the variable in ``.env`` of the image whose place it takes."""


def present_images(names: Iterable[str]) -> set[str]:
    """Return which of these images exist. A stand-in of an earlier recipe does not count: it has to be built again."""
    form = f'{{{{index .Config.Labels "{STANDIN_LABEL}"}}}} {{{{index .Config.Labels "{REVISION_LABEL}"}}}}'
    present = set()
    for name in names:
        done = run(["docker", "image", "inspect", "--format", form, name])
        is_stand_in, _, revision = done.stdout.strip().partition(" ")
        if done.returncode == 0 and (is_stand_in != "true" or revision == REVISION):
            present.add(name)
    return present


def build_order(variables: Collection[str]) -> list[StandIn]:
    """Return the stand-ins to build for these variables of ``.env``, parents first."""
    parents = {s.parent for s in STAND_INS if s.variable in variables and s.parent}
    return sorted(
        (s for s in STAND_INS if s.variable in variables or s in parents),
        key=lambda stand_in: stand_in.parent is not None,
    )


def build(variables: Collection[str]) -> None:
    """Build the stand-ins for these variables of ``.env`` in parallel. Each waits for the stand-in it builds on."""
    if not variables:
        return
    started = time.monotonic()
    note(f"building {len(variables)} stand-ins from Debian packages; this takes a few minutes")
    if not present_images([BASE_IMAGE]):
        standin_base.build()
        note(f"{BASE_IMAGE} built in {time.monotonic() - started:.0f} s")
    _build_packages()
    order = build_order(variables)
    jobs: dict[StandIn | None, Future[None]] = {}
    with ThreadPoolExecutor(max_workers=len(order)) as pool:
        for stand_in in order:
            jobs[stand_in] = pool.submit(_build_one, stand_in, jobs.get(stand_in.parent))
    for job in jobs.values():
        job.result()
    note(f"stand-ins ready in {time.monotonic() - started:.0f} s")


def _build_packages() -> None:
    """Build the image with fresh package lists. A rolling archive deletes packages that older lists name."""
    before = run(["docker", "image", "inspect", "--format", "{{.Id}}", PACKAGES_IMAGE]).stdout.strip()
    _docker_build("packages", PACKAGES_IMAGE, ["--no-cache"])
    if before:
        run(["docker", "image", "rm", before])


def _build_one(stand_in: StandIn, parent: "Future[None] | None") -> None:
    if parent is not None:
        parent.result()
    started = time.monotonic()
    _docker_build(stand_in.folder, stand_in.own_tag)
    note(f"{stand_in.own_tag} built in {time.monotonic() - started:.0f} s")


def _docker_build(folder: str, tag: str, options: Sequence[str] = ()) -> None:
    # Pass on the proxies that are set. Docker keeps these arguments out of the image's history.
    proxies = [name for name in os.environ if name.lower() in {"http_proxy", "https_proxy", "no_proxy", "ftp_proxy"}]
    checked(
        [
            *("docker", "buildx", "build", "--load", "--progress", "plain", "--tag", tag, *options),
            *(word for proxy in proxies for word in ("--build-arg", proxy)),
            str(RECIPES / folder),
        ],
        seconds_max=BUILD_SECONDS_MAX,
        what=f"Building the stand-in {tag}",
        remedy="Check that containers can reach the Debian archive.",
    )
