"""Whose a lab is: every checkout has a Compose project of its own, and a sweep replaces only what a sweep started.

The name of the project is stored in ``compose.override.yaml``, which git ignores. Compose reads that file by itself, so
a ``docker compose`` that is typed in the checkout has the same project. ``COMPOSE_PROJECT_NAME``, in the environment or
in ``.env``, takes precedence for both.

Every start and every stop of the lab first writes a mark: which lab a sweep started, or that no sweep owns the lab. So
nobody loses a ledger.
"""

import hashlib
import json
import os
from pathlib import Path

from corda_lab import atomic, paths
from corda_lab.errors import LabError
from corda_lab.lab.docker import PROJECT_LABEL, SERVICE_LABEL, docker, labelled
from corda_lab.lab.settings import OVERRIDE, PROJECT_DEFAULT, VARIABLE, parse_env_file
from corda_lab.text import ui

STARTING = "starting"
"""Recorded while a sweep starts its lab. If the process is killed then, the containers that it made still belong to the
sweep, and those that a person made with plain Compose since do not: ``sweep_file`` tells them apart."""

VOLUMES = "volumes"
FILES_LABEL = "com.docker.compose.project.config_files"
SWEEP_FILE_TEXT = "# Sweeps start their lab with this file beside compose.yaml. It changes nothing.\nservices: {}\n"


def own_name(checkout: Path) -> str:
    return f"{PROJECT_DEFAULT}-{hashlib.sha256(str(checkout.resolve()).encode()).hexdigest()[:6]}"


def settle(checkout: Path | None = None) -> None:
    """Write the name of the project of a checkout, unless it has one.

    A lab that plain Compose has started here before is called ``corda-lab``, and keeps that name.
    """
    checkout = checkout or paths.ROOT
    override = checkout / OVERRIDE
    if is_chosen(checkout) or override.exists():
        return
    name = PROJECT_DEFAULT if checkout.resolve() in checkouts_of(PROJECT_DEFAULT) else own_name(checkout)
    text = (
        "# Written by scripts/lab: the Compose project of this checkout, so that two checkouts never share a lab.\n"
        "# git ignores this file. You may change the name, or add settings of your own.\n"
        f"name: {name}\n"
    )
    try:
        atomic.write_text(override, text)
    except OSError as error:
        ui.warn(f"{override}: cannot be written ({error.strerror}); set {VARIABLE} if there is another checkout")


def is_chosen(checkout: Path) -> bool:
    if os.environ.get(VARIABLE):
        return True
    try:
        return VARIABLE in parse_env_file((checkout / ".env").read_text(encoding="utf-8"), name=".env")
    except OSError:
        return False


def checkouts_of(project: str) -> set[Path]:
    """Return the checkouts from which the existing containers of a project were started; none without an engine."""
    form = '{{.Label "com.docker.compose.project.working_dir"}}'
    try:
        done = docker("ps", "--all", *labelled(f"{PROJECT_LABEL}={project}"), "--format", form)
    except LabError:
        return set()
    return {Path(line).resolve() for line in done.stdout.splitlines() if line} if done.returncode == 0 else set()


def require_own(project: str) -> None:
    """Raise LabError if the lab is that of another checkout, which exists: nothing may change it from here."""
    others = [path for path in checkouts_of(project) if path != paths.ROOT and (path / "compose.yaml").is_file()]
    if others:
        raise LabError(
            f"The lab {project} belongs to another checkout: {others[0]}",
            f"Write `name: {own_name(paths.ROOT)}` into {OVERRIDE} here, or set {VARIABLE} to another name.",
        )


def mark_file(project: str) -> Path:
    return paths.CACHE / f"sweep-lab-{project}.json"


def sweep_file() -> Path:
    """Return the path of a second Compose file, which changes nothing. Sweeps start their lab with it.

    Compose writes the names of its files on every container, and does not count them as a change of the container.
    """
    return paths.CACHE / "sweep-lab.yaml"


def files_of_start(lab: str | None) -> tuple[Path, ...]:
    """Return the additional Compose files for a start that is recorded as ``lab``, and write them."""
    if lab != STARTING:
        return ()
    atomic.write_text(sweep_file(), SWEEP_FILE_TEXT)
    return (sweep_file(),)


def mark(project: str, lab: str | None) -> None:
    """Record the lab that a sweep started (a value of ``present``); None if the existing lab is not a sweep's."""
    atomic.write_text(mark_file(project), json.dumps({"lab": lab}))


def marked(project: str) -> str | None:
    """Return what was recorded last; None also without a record."""
    try:
        lab = json.loads(mark_file(project).read_text(encoding="utf-8"))["lab"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None if lab is None else str(lab)


def present(project: str) -> str | None:
    """Return what identifies the existing lab: the id of PartyA's container, else that it has volumes; None if none."""
    containers = docker("ps", "--all", "--quiet", "--no-trunc", *_partya(project)).stdout.split()
    volumes = docker("volume", "ls", "--quiet", *labelled(f"{PROJECT_LABEL}={project}")).stdout.split()
    return containers[0] if containers else VOLUMES if volumes else None


def is_replaceable(project: str) -> bool:
    """Return whether a sweep may replace the lab: there is none, or a sweep started it.

    Of a start that was killed, only containers tell whose they are. Volumes alone can be a person's ledger.
    """
    existing, recorded = present(project), marked(project)
    if existing is None or (recorded == existing != VOLUMES):
        return True
    form = f'{{{{.Label "{FILES_LABEL}"}}}}'
    files = docker("ps", "--all", "--no-trunc", "--format", form, *_partya(project)).stdout.split("\n")[0]
    return recorded == STARTING and str(sweep_file()) in files.split(",")


def _partya(project: str) -> list[str]:
    return labelled(f"{PROJECT_LABEL}={project}", f"{SERVICE_LABEL}=partya")
