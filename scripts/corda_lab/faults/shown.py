"""Shows the faults that a lab has now on its dashboards, through the metrics page of its load generator."""

import shlex
from collections.abc import Sequence
from contextlib import suppress

from corda_lab.errors import LabError
from corda_lab.lab.deployed import Deployed
from corda_lab.steps.faults import FaultEntry
from lab_workload.row import ROWS_DIRECTORY
from lab_workload.shown_faults import FILE_NAME, ShownFault, write_shown

FILE = f"{ROWS_DIRECTORY}/{FILE_NAME}"
"""In the container of the web UI, which no fault has as its target."""
HEAL_SECONDS = 60.0
"""How much longer than it should last a fault is shown, if nobody says that it is healed."""
SHOW_SECONDS_MAX = 5.0
"""No fault may last longer because the engine is slow to show it."""


def show(compose: Deployed, faults: Sequence[FaultEntry]) -> None:
    """Show these faults, which were made and are not healed, and no others.

    A lab that does not take it is no reason to end a load: the file of the run has the faults.
    """
    lines = write_shown(
        ShownFault((one.began_at or 0.0) + one.for_seconds + HEAL_SECONDS, one.kind, one.target) for one in faults
    )
    # A file that is renamed is never read half.
    script = f"printf %s {shlex.quote(lines)} > {FILE}.part && mv {FILE}.part {FILE}"
    with suppress(LabError):
        compose.run("exec", "-T", "locust", "sh", "-c", script, check=False, seconds_max=SHOW_SECONDS_MAX)
