"""Records which lab a sweep started. A sweep may replace only that lab, so that nobody loses a ledger.

Every start and every stop of the lab first writes a record. A start by the user records that no sweep owns the lab.
"""

import json
from pathlib import Path

from corda_lab import atomic, paths
from corda_lab.errors import LabError
from corda_lab.lab.engine import run_docker

STARTING = "starting"
"""Recorded while a sweep starts its lab. If the process is killed then, the containers that it made still belong to the
sweep, and those that a person made with plain Compose since do not: ``sweep_file`` tells them apart."""

FILES_LABEL = "com.docker.compose.project.config_files"
SWEEP_FILE_TEXT = "# Sweeps start their lab with this file beside compose.yaml. It changes nothing.\nservices: {}\n"


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
    try:
        found = json.loads(mark_file(project).read_text(encoding="utf-8"))["lab"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None if found is None else str(found)


def present(project: str) -> str | None:
    """Return what identifies the existing lab: the id of PartyA's container, else its volumes; None without a lab."""
    containers = run_docker(["ps", "--all", "--quiet", "--no-trunc", *_partya(project)])
    if containers.stdout.split():
        return containers.stdout.split()[0]
    label = f"label=com.docker.compose.project={project}"
    volumes = sorted(run_docker(["volume", "ls", "--quiet", "--filter", label]).stdout.split())
    if not volumes:
        return None
    # The volumes of the next lab have the same names, so their creation times identify them too.
    told = run_docker(["volume", "inspect", "--format", "{{.Name}} {{.CreatedAt}}", *volumes])
    if told.returncode != 0:
        raise LabError(f"The lab's volumes cannot be inspected: {told.stderr.strip()}", "Try again.", exit_code=1)
    return told.stdout.strip()


def is_replaceable(project: str) -> bool:
    """Return whether a sweep may replace the lab: there is none, or a sweep started it.

    Of a start that was killed, only containers tell whose they are. Volumes alone can be a person's ledger.
    """
    found = present(project)
    lab = marked(project)
    return found is None or lab == found or (lab == STARTING and _is_made_by_sweep(project))


def _is_made_by_sweep(project: str) -> bool:
    form = f'{{{{.Label "{FILES_LABEL}"}}}}'
    made = run_docker(["ps", "--all", "--no-trunc", "--format", form, *_partya(project)]).stdout.split("\n")
    return str(sweep_file()) in made[0].split(",")


def _partya(project: str) -> list[str]:
    labels = (f"com.docker.compose.project={project}", "com.docker.compose.service=partya")
    return [word for label in labels for word in ("--filter", f"label={label}")]
