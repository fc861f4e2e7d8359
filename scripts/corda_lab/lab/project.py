"""Gives every checkout a Compose project of its own, so that two checkouts on one machine never share a lab.

The name is stored in ``compose.override.yaml``, which git ignores. Compose reads that file by itself, so a
``docker compose`` that is typed in the checkout has the same project. ``COMPOSE_PROJECT_NAME``, in the environment or
in ``.env``, takes precedence for both.
"""

import hashlib
import os
from pathlib import Path

from corda_lab import atomic, paths
from corda_lab.errors import LabError
from corda_lab.lab.engine import run_docker
from corda_lab.lab.settings import OVERRIDE, PROJECT_DEFAULT, VARIABLE, parse_env_file
from corda_lab.text import ui


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
        done = run_docker(["ps", "--all", "--filter", f"label=com.docker.compose.project={project}", "--format", form])
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
