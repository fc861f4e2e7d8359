"""Overlays that the lab makes itself, for containers that are in no service. Those of a stack are in its file."""

import time

from corda_lab.errors import LabError
from corda_lab.host.processes import last_words
from corda_lab.lab.engine import run_docker

LABEL = "org.cordalab.stack"
"""Label of what the lab makes for a stack with the engine alone; its value is the name of the stack."""
GONE_SECONDS_MAX = 60.0
"""How long hosts may take to let go of an overlay, once no container is in it."""
POLL_SECONDS = 0.5


def create(name: str, stack: str, *, encrypted: bool) -> None:
    """Create an internal overlay to which containers of every host can be attached, unless it exists. Raises LabError.

    An overlay that exists with the other kind of ``encrypted`` is an error: containers are in it.
    """
    if is_of_kind(name, encrypted=encrypted):
        return
    options = ["--driver=overlay", "--attachable", "--internal", f"--label={LABEL}={stack}"]
    options += ["--opt=encrypted=true"] if encrypted else []
    done = run_docker(["network", "create", *options, name])
    if done.returncode != 0:
        raise LabError(f"The overlay {name} could not be created: {last_words(done.stderr)}", exit_code=1)


def remove(name: str) -> None:
    """Remove an overlay, as soon as no host uses it any more. Raises LabError after GONE_SECONDS_MAX."""
    deadline = time.monotonic() + GONE_SECONDS_MAX
    while run_docker(["network", "inspect", name]).returncode == 0:
        done = run_docker(["network", "rm", name])
        if done.returncode != 0 and time.monotonic() > deadline:
            raise LabError(
                f"The overlay {name} was not removed: {last_words(done.stderr)}",
                f"`docker network inspect --verbose {name}` shows what still uses it.",
                exit_code=1,
            )
        time.sleep(POLL_SECONDS)


def is_of_kind(name: str, *, encrypted: bool) -> bool:
    """Return whether an overlay exists. Raises LabError if it is not of the kind that the placement wants."""
    form = '{{if index .Options "encrypted"}}encrypted{{else}}plain{{end}}'
    found = run_docker(["network", "inspect", "--format", form, name])
    if found.returncode != 0:
        return False
    wanted = "encrypted" if encrypted else "plain"
    if found.stdout.strip() != wanted:
        raise LabError(
            f"overlay: the placement says {wanted}, but the overlay {name} exists and is {found.stdout.strip()}",
            "Remove the stack first, `scripts/lab down --on swarm`. Ledgers are kept.",
        )
    return True
