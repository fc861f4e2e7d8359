"""Recovers the H2 database of a node that cannot be opened."""

from corda_lab.errors import LabError, chosen
from corda_lab.lab.compose import Compose
from corda_lab.lab.engine import HERE, output_of
from corda_lab.lab.settings import Settings
from corda_lab.text import ui
from corda_lab.text.words import plural

LEDGER = "/opt/corda/persistence"
RECOVERY_SECONDS_MAX = 600.0
INTACT, LOST = 3, 4
"""Exit statuses of ``recover-ledger``: the database is not damaged, or nothing whole was found in it."""


def node_of(settings: Settings, name: str) -> str:
    """Return the node that ``name`` names. Raises LabError if the lab has no such node, or none on H2."""
    node = chosen("--recover: unknown node", name, settings.nodes)
    if settings.values.get("DATABASE") == "postgres":
        raise LabError("--recover: the nodes of this lab are on PostgreSQL", "It recovers the files of H2 only.")
    return node


def recover(settings: Settings, node: str) -> None:
    """Go back to the last whole state of a node's H2 file, and keep the damaged file beside it. Raises LabError.

    The node must have stopped. A file that is not damaged, or of which nothing can be recovered, stays as it is.
    """
    if node.lower() in Compose(settings).running_containers():
        raise LabError(f"--recover: {node} runs", "Stop it first, or leave the option out.")
    volume = f"{settings.project}_{node.lower()}-persistence"
    if HERE.run("volume", "inspect", volume).returncode != 0:
        raise LabError(f"--recover: {node} has no ledger yet", "Leave the option out.")
    container = f"{settings.project}-recover-{node.lower()}"
    with ui.phase(f"Recovering the database of {node}"):
        try:
            done = HERE.run(
                *("run", "--rm", f"--name={container}", "--network=none", "--user=1000:1000", "--cap-drop=ALL"),
                *("--security-opt=no-new-privileges:true", "--pids-limit=256", "--memory=1g"),
                *(f"--volume={volume}:{LEDGER}", "--entrypoint=recover-ledger", settings.own_node_image, LEDGER),
                seconds_max=RECOVERY_SECONDS_MAX,
            )
        finally:
            # An interrupted command leaves its container, which must not replace the file of a node that runs again.
            HERE.run("rm", "--force", container)
        if done.returncode == INTACT:
            ui.note(f"nothing to recover: H2 opens all of the database of {node}")
        elif done.returncode == LOST:
            raise LabError(
                f"No whole state was found in the database of {node}",
                "Its ledger is lost. Start a new network: `scripts/lab down --volumes`, then `scripts/lab up`.",
                exit_code=1,
            )
        else:
            damaged, count = output_of(done, f"The database of {node} was not recovered").split()
            ui.note(f"{plural(int(count), 'transaction')} recovered; the damaged file is {damaged} in {volume}")
            ui.note("`scripts/lab audit RUN` says whether a transaction of a run was lost")
