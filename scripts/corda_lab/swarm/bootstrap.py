"""Runs the bootstrapper once for a stack, and copies what it has written to this machine.

The bootstrapper knows itself whether the network exists already and fits the shape. It has a Compose project of the
stack's name, so that identities and ledgers of a lab on this machine are never touched.
"""

import shutil
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.engine import output_of, run_docker
from corda_lab.lab.settings import BOOTSTRAP, Settings
from corda_lab.paths import ROOT
from corda_lab.swarm.folder import StackFolder
from corda_lab.swarm.shared_files import NetworkFiles
from corda_lab.text import ui

OVERRIDE = ROOT / "deploy" / "swarm" / "bootstrap.yaml"
SECONDS_MAX = 300.0
COPY_SECONDS_MAX = 60.0
PLACES = ("/network", "/nodes", "/secrets")
"""The folders of its container in which the bootstrapper writes what services read."""


def container_of(stack: str) -> str:
    return f"{stack}-{BOOTSTRAP}"


def run(settings: Settings, folder: StackFolder) -> NetworkFiles:
    """Make the network of the stack, unless it exists, and return a copy of its files. Raises LabError."""
    folder.create()
    compose = Compose(replace(settings, project=folder.stack), files=[OVERRIDE])
    compose.environment["LAB_NODE_IMAGE"] = settings.own_node_image
    container = container_of(folder.stack)
    # A command that was killed may have left one.
    _remove(container)
    try:
        done = compose.run(
            "run", "--no-deps", "--no-TTY", "--name", container, BOOTSTRAP, check=False, seconds_max=SECONDS_MAX
        )
        for line in done.stdout.splitlines():
            ui.note(f"| {line}")
        remedy = "Mend what it names, or delete stack and ledgers: `scripts/lab down --on PLACEMENT --volumes`."
        output_of(done, "The bootstrapper failed", remedy)
        _copy(container, folder)
    finally:
        _remove(container)
    return NetworkFiles(folder.network)


def _copy(container: str, folder: StackFolder) -> None:
    """Replace the copy of the network's files by those of a container, which has ended. Raises LabError."""
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=folder.root))
    try:
        for place in PLACES:
            done = run_docker(["cp", f"{container}:{place}", str(partial)], seconds_max=COPY_SECONDS_MAX)
            output_of(done, f"Copying {place} of the bootstrapper failed", "Run it again.")
        if folder.network.exists():
            shutil.rmtree(folder.network)
        partial.rename(folder.network)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _remove(container: str) -> None:
    # An engine that does not answer is the error of the command before.
    with suppress(LabError):
        run_docker(["rm", "--force", container])
