"""Builds stand-ins for official images from Debian packages, for machines that cannot reach a registry.

A stand-in has a name of its own, ``corda-lab/standin-…``. So nothing else on this machine takes it for the official
image. It contains the list of its packages with their hashes.
"""

import os
import time
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from corda_lab.host import image_files, standin_base
from corda_lab.host.fetched import parse_hashes
from corda_lab.host.processes import checked, run_bounded
from corda_lab.host.standin_base import (
    BASE_IMAGE,
    BASE_SUITE,
    BUILD_SECONDS_MAX,
    PACKAGES_FILE,
    REVISION,
    REVISION_LABEL,
    STANDIN_LABEL,
)
from corda_lab.paths import ROOT
from corda_lab.text import ui

OFFLINE = ROOT / "scripts" / "offline"
PACKAGES_IMAGE = f"corda-lab/standin-packages:{BASE_SUITE}"


@dataclass(frozen=True)
class StandIn:
    """The stand-in for an image variable of ``.env``: the repository of the official image, the folder of its
    Dockerfile, and the stand-in it builds on."""

    variable: str
    official: str
    folder: str
    parent: "StandIn | None" = None

    @property
    def own_tag(self) -> str:
        """The name of the stand-in, which no official image has."""
        return f"corda-lab/standin-{self.folder}:{BASE_SUITE}"


_JAVA21 = StandIn("JAVA21_IMAGE", "eclipse-temurin", "java21")

STAND_INS = (
    StandIn("JAVA8_IMAGE", "eclipse-temurin", "java8"),
    _JAVA21,
    StandIn("MAVEN_IMAGE", "maven", "maven", parent=_JAVA21),
    StandIn("PYTHON_IMAGE", "python", "python"),
    StandIn("PROMETHEUS_IMAGE", "prom/prometheus", "prometheus"),
    StandIn("POSTGRES_IMAGE", "postgres", "postgres"),
    StandIn("POSTGRES_EXPORTER_IMAGE", "prometheuscommunity/postgres-exporter", "postgres-exporter"),
    StandIn("TOXIPROXY_IMAGE", "ghcr.io/shopify/toxiproxy", "toxiproxy"),
    StandIn("REGISTRY_IMAGE", "registry", "registry"),
)
OWN_NAMES = {stand_in.variable: stand_in.own_tag for stand_in in STAND_INS}
"""The name of each stand-in, by the variable in ``.env`` of the image whose place it takes."""


def present_images(names: Iterable[str]) -> dict[str, bool]:
    """Return which of these images exist: name → whether it is a stand-in.

    A stand-in that was built by an earlier recipe counts as missing, because it has to be built again.
    """
    form = f'{{{{index .Config.Labels "{STANDIN_LABEL}"}}}} {{{{index .Config.Labels "{REVISION_LABEL}"}}}}'
    present: dict[str, bool] = {}
    for name in names:
        done = run_bounded(["docker", "image", "inspect", "--format", form, name])
        if done.returncode != 0:
            continue
        is_stand_in, _, revision = done.stdout.strip().partition(" ")
        if is_stand_in != "true":
            present[name] = False
        elif revision == REVISION:
            present[name] = True
    return present


def remove_false_names() -> list[str]:
    """Remove the official names from stand-ins, which earlier versions of the lab gave them. Returns the names.

    Only names with the lab's label and the repository of an official image are removed: images that somebody built on
    a stand-in inherit its label. Containers that run keep running.
    """
    label = f"label={STANDIN_LABEL}=true"
    listed = run_bounded(["docker", "image", "ls", "--filter", label, "--format", "{{.Repository}}:{{.Tag}}"])
    repositories = {stand_in.official for stand_in in STAND_INS}
    false = [name for name in listed.stdout.split() if name.rpartition(":")[0] in repositories]
    return [name for name in false if run_bounded(["docker", "image", "rm", "--no-prune", name]).returncode == 0]


def packages_of(name: str) -> dict[str, str]:
    """Return the Debian packages and Go modules of a stand-in: file or module with its version → hash.

    The list is in the image. It is read once for each image. Raises LabError if the image does not exist.
    """
    remedy = "Run `scripts/lab up`, which builds what is missing."
    return parse_hashes(image_files.read(name, PACKAGES_FILE, folder="packages", remedy=remedy))


def build_order(variables: Collection[str]) -> list[StandIn]:
    """Return the stand-ins to build for these variables of ``.env``, parents first."""
    parents = {s.parent for s in STAND_INS if s.variable in variables and s.parent}
    return sorted(
        (s for s in STAND_INS if s.variable in variables or s in parents),
        key=lambda stand_in: stand_in.parent is not None,
    )


def build(variables: Collection[str]) -> None:
    """Build the stand-ins for these variables of ``.env`` in parallel. Each waits for the stand-in it builds on."""
    started = time.monotonic()
    ui.note(f"building {len(variables)} stand-ins from Debian packages; this takes a few minutes")
    if not present_images([BASE_IMAGE]):
        standin_base.build()
        ui.note(f"{BASE_IMAGE} built in {time.monotonic() - started:.0f} s")
    _build_packages()
    order = build_order(variables)
    jobs: dict[StandIn | None, Future[None]] = {}
    with ThreadPoolExecutor(max_workers=len(order)) as pool:
        for stand_in in order:
            jobs[stand_in] = pool.submit(_build_one, stand_in, jobs.get(stand_in.parent))
    for job in jobs.values():
        job.result()
    ui.note(f"stand-ins ready in {time.monotonic() - started:.0f} s")


def _build_packages() -> None:
    """Build the image with fresh package lists. A rolling archive deletes packages that older lists name."""
    before = run_bounded(["docker", "image", "inspect", "--format", "{{.Id}}", PACKAGES_IMAGE]).stdout.strip()
    _docker_build("packages", PACKAGES_IMAGE, ["--no-cache"])
    if before:
        run_bounded(["docker", "image", "rm", before])


def _build_one(stand_in: StandIn, parent: "Future[None] | None") -> None:
    """Build one stand-in, after the one that it builds on."""
    if parent is not None:
        parent.result()
    started = time.monotonic()
    _docker_build(stand_in.folder, stand_in.own_tag)
    ui.note(f"{stand_in.own_tag} built in {time.monotonic() - started:.0f} s")


def _docker_build(folder: str, tag: str, options: Sequence[str] = ()) -> None:
    # Pass on the proxies that are set. Docker keeps these arguments out of the image's history.
    proxies = [name for name in os.environ if name.lower() in {"http_proxy", "https_proxy", "no_proxy", "ftp_proxy"}]
    checked(
        [
            *("docker", "buildx", "build", "--load", "--progress", "plain", "--tag", tag, *options),
            *(word for proxy in proxies for word in ("--build-arg", proxy)),
            str(OFFLINE / folder),
        ],
        seconds_max=BUILD_SECONDS_MAX,
        what=f"Building the stand-in {tag}",
        remedy="Check that containers can reach the Debian archive.",
    )
