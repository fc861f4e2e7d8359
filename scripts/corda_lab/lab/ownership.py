"""Whose lab it is: a sweep replaces the one that a sweep started last, and no other, for that would lose somebody's ledger.

Every start and every stop of the lab leaves a mark before it begins. Those of a person say that the lab is nobody's to replace.
"""

import json
from pathlib import Path

from corda_lab import atomic, paths
from corda_lab.errors import LabError
from corda_lab.lab.compose import run_docker

STARTING = "starting"
"""Stands for the lab while a sweep starts it: what a process that was killed then left behind is the sweep's."""


def mark_file(project: str) -> Path:
    """Where the mark of a Compose project is kept."""
    return paths.CACHE / f"sweep-lab-{project}.json"


def mark(project: str, lab: str | None) -> None:
    """Note which lab of a project a sweep started, as ``present`` tells it; None: whatever is there is not a sweep's."""
    atomic.write_text(mark_file(project), json.dumps({"lab": lab}))


def marked(project: str) -> str | None:
    """The lab that was noted last."""
    try:
        found = json.loads(mark_file(project).read_text(encoding="utf-8"))["lab"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None if found is None else str(found)


def present(project: str) -> str | None:
    """What tells the lab that is there from any other: the container of PartyA, else its volumes; None when nothing is."""
    label = f"label=com.docker.compose.project={project}"
    service = "label=com.docker.compose.service=partya"
    containers = run_docker(["ps", "--all", "--quiet", "--no-trunc", "--filter", label, "--filter", service])
    if containers.stdout.split():
        return containers.stdout.split()[0]
    volumes = sorted(run_docker(["volume", "ls", "--quiet", "--filter", label]).stdout.split())
    if not volumes:
        return None
    # Those of the next lab have the same names.
    told = run_docker(["volume", "inspect", "--format", "{{.Name}} {{.CreatedAt}}", *volumes])
    if told.returncode != 0:
        raise LabError(f"The volumes of the lab cannot be looked at: {told.stderr.strip()}", "Try again.", exit_code=1)
    return told.stdout.strip()


def is_replaceable(project: str) -> bool:
    """Whether nothing is there, or what a sweep started."""
    found = present(project)
    return found is None or marked(project) in (found, STARTING)
