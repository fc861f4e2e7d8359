"""Records which lab a sweep started. A sweep may replace only that lab, so that nobody loses a ledger.

Every start and every stop of the lab first writes a record. A start by the user records that no sweep owns the lab.
"""

import json
from pathlib import Path

from corda_lab import atomic, paths
from corda_lab.errors import LabError
from corda_lab.lab.compose import run_docker

STARTING = "starting"
"""Recorded while a sweep starts its lab. If the process is killed then, what it started still belongs to the sweep."""


def mark_file(project: str) -> Path:
    """Return the path of the record of a Compose project."""
    return paths.CACHE / f"sweep-lab-{project}.json"


def mark(project: str, lab: str | None) -> None:
    """Record the lab that a sweep started (a value of ``present``); None if the existing lab is not a sweep's."""
    atomic.write_text(mark_file(project), json.dumps({"lab": lab}))


def marked(project: str) -> str | None:
    """Return the lab that was recorded last."""
    try:
        found = json.loads(mark_file(project).read_text(encoding="utf-8"))["lab"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None if found is None else str(found)


def present(project: str) -> str | None:
    """Return what identifies the existing lab: the id of PartyA's container, else its volumes; None without a lab."""
    label = f"label=com.docker.compose.project={project}"
    service = "label=com.docker.compose.service=partya"
    containers = run_docker(["ps", "--all", "--quiet", "--no-trunc", "--filter", label, "--filter", service])
    if containers.stdout.split():
        return containers.stdout.split()[0]
    volumes = sorted(run_docker(["volume", "ls", "--quiet", "--filter", label]).stdout.split())
    if not volumes:
        return None
    # The volumes of the next lab have the same names, so their creation times identify them too.
    told = run_docker(["volume", "inspect", "--format", "{{.Name}} {{.CreatedAt}}", *volumes])
    if told.returncode != 0:
        raise LabError(f"The lab's volumes cannot be inspected: {told.stderr.strip()}", "Try again.", exit_code=1)
    return told.stdout.strip()


def is_replaceable(project: str) -> bool:
    """Return whether a sweep may replace the lab: there is none, or a sweep started it."""
    found = present(project)
    return found is None or marked(project) in (found, STARTING)
