"""Recovers the H2 database of a node that cannot be opened."""

from corda_lab.errors import LabError
from corda_lab.host.processes import last_words
from corda_lab.lab.compose import Compose
from corda_lab.lab.engine import HERE
from corda_lab.lab.settings import Settings
from corda_lab.text import ui
from corda_lab.text.words import plural

LEDGER = "/opt/corda/persistence"
RECOVERY_SECONDS_MAX = 600.0


def require_node(settings: Settings, node: str) -> None:
    """Raise LabError if the lab has no such node, or none on H2."""
    if node not in settings.nodes:
        raise LabError(f"--recover: there is no node {node}", f"The nodes are {', '.join(settings.nodes)}.")
    if settings.values.get("DATABASE") == "postgres":
        raise LabError("--recover: the nodes of this lab are on PostgreSQL", "It recovers the files of H2 only.")


def recover(settings: Settings, node: str) -> None:
    """Go back to the last whole state of a node's H2 file, and keep the damaged file beside it. Raises LabError.

    The node must have stopped. If nothing can be recovered, nothing is changed.
    """
    compose = Compose(settings)
    if node.lower() in compose.running_containers():
        raise LabError(f"--recover: {node} runs, so its database can be opened", "Leave the option out.")
    volume = f"{settings.project}_{node.lower()}-persistence"
    with ui.phase(f"Recovering the database of {node}"):
        done = HERE.run(
            *("run", "--rm", "--network=none", "--user=1000:1000", "--cap-drop=ALL"),
            *("--security-opt=no-new-privileges:true", "--pids-limit=256", "--memory=1g"),
            *(f"--volume={volume}:{LEDGER}", "--entrypoint=recover-ledger", settings.own_node_image, LEDGER),
            seconds_max=RECOVERY_SECONDS_MAX,
        )
        if done.returncode != 0:
            raise LabError(
                f"The database of {node} was not recovered: {last_words(done.stderr)}",
                "Start a new network: `scripts/lab down --volumes`, then `scripts/lab up`.",
                exit_code=1,
            )
        damaged, count = done.stdout.split()
        ui.note(f"{plural(int(count), 'transaction')} recovered; the damaged file is {damaged} in the volume {volume}")
        ui.note("`scripts/lab audit RUN` says whether a transaction of a run was lost")
