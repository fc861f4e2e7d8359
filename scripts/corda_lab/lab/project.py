"""Gives every checkout a Compose project of its own, so that two checkouts on one machine never share a lab.

The name is stored in ``compose.override.yaml``, which git ignores. Compose reads that file by itself, so a
``docker compose`` that is typed in the checkout has the same project. ``COMPOSE_PROJECT_NAME``, in the environment or
in ``.env``, takes precedence for both.
"""

import hashlib
import os
import re
from pathlib import Path

from corda_lab import atomic, paths
from corda_lab.errors import LabError
from corda_lab.lab import ownership
from corda_lab.lab.engine import run_docker
from corda_lab.lab.settings import OVERRIDE, PROJECT_DEFAULT, VARIABLE, parse_env_file, project_in
from corda_lab.text import ui

_CHECKOUT = re.compile(r"^x-corda-lab-checkout: '(.*)'$", re.MULTILINE)


def own_name(checkout: Path) -> str:
    """Return the name that follows from the path of a checkout."""
    return f"{PROJECT_DEFAULT}-{hashlib.sha256(str(checkout.resolve()).encode()).hexdigest()[:6]}"


def settle(checkout: Path | None = None) -> None:
    """Write the name of the project of a checkout, unless it has one.

    A lab that this checkout started under the name of earlier versions, or by plain Compose, keeps that name. A copy of
    a checkout gets a name of its own; one that was moved keeps its name.
    """
    checkout = checkout or paths.ROOT
    override = checkout / OVERRIDE
    if is_chosen(checkout) or (override.exists() and not is_copied(checkout)):
        return
    name = PROJECT_DEFAULT if not override.exists() and has_default_lab(checkout) else own_name(checkout)
    text = (
        "# Written by scripts/lab: the Compose project of this checkout, so that two checkouts never share a lab.\n"
        "# git ignores this file. You may change the name, or add settings of your own.\n"
        f"name: {name}\n"
        f"x-corda-lab-checkout: '{checkout.resolve()}'\n"
    )
    try:
        atomic.write_text(override, text)
    except OSError as error:
        ui.warn(f"{override}: cannot be written ({error.strerror}); set {VARIABLE} if there is another checkout")


def is_chosen(checkout: Path) -> bool:
    """Return whether the user has chosen the project, in the environment or in ``.env``."""
    if os.environ.get(VARIABLE):
        return True
    try:
        return VARIABLE in parse_env_file((checkout / ".env").read_text(encoding="utf-8"), name=".env")
    except OSError:
        return False


def is_copied(checkout: Path) -> bool:
    """Return whether the override file came with a copy of another checkout, which still has the same name."""
    text = (checkout / OVERRIDE).read_text(encoding="utf-8", errors="replace")
    found = _CHECKOUT.search(text)
    if found is None or Path(found[1]) == checkout.resolve():
        return False
    return project_in(Path(found[1])) == project_in(checkout)


def has_default_lab(checkout: Path) -> bool:
    """Return whether a lab with the default name is of this checkout.

    Its containers say so. Volumes do not: then, and without an engine, our own record of the last start decides.
    """
    was_here = ownership.mark_file(PROJECT_DEFAULT).is_file()
    owners = checkouts_of(PROJECT_DEFAULT)
    if owners is None:
        return was_here
    return checkout.resolve() in owners if owners else was_here and ownership.present(PROJECT_DEFAULT) is not None


def checkouts_of(project: str) -> set[Path] | None:
    """Return the checkouts from which the existing containers of a project were started; None without an engine."""
    form = '{{.Label "com.docker.compose.project.working_dir"}}'
    try:
        done = run_docker(["ps", "--all", "--filter", f"label=com.docker.compose.project={project}", "--format", form])
    except LabError:
        return None
    return {Path(line).resolve() for line in done.stdout.splitlines() if line} if done.returncode == 0 else None


def require_own(project: str) -> None:
    """Raise LabError if the lab is that of another checkout, which exists: nothing may change it from here."""
    others = [path for path in checkouts_of(project) or () if path != paths.ROOT and (path / "compose.yaml").is_file()]
    if not others:
        return
    own = own_name(paths.ROOT)
    remedy = (
        f"Set {VARIABLE} to another name." if is_chosen(paths.ROOT) else f"Write `name: {own}` into {OVERRIDE} here."
    )
    raise LabError(f"The lab {project} belongs to another checkout: {others[0]}", remedy)


def name_former(project: str) -> None:
    """Warn of a lab that this checkout started under the default name, if its lab has another name now."""
    if project == PROJECT_DEFAULT or is_chosen(paths.ROOT):
        return
    if paths.ROOT in (checkouts_of(PROJECT_DEFAULT) or ()):
        ui.warn(
            f"an earlier lab of this checkout exists as the project {PROJECT_DEFAULT}. To use it, write"
            f" `name: {PROJECT_DEFAULT}` into {OVERRIDE}; to delete it: docker compose --project-name"
            f" {PROJECT_DEFAULT} --profile '*' down --volumes"
        )
