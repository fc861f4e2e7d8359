"""Collects what a killed command or a crashed machine left: rows in the volume, and containers that still send load.

The caller holds the lock of the lab, so the command that started these loads no longer exists.
"""

import time
from datetime import datetime
from pathlib import Path

from bare.commands import last_words
from corda_lab import locks
from corda_lab.errors import LabError
from corda_lab.faults import inject
from corda_lab.host import engine
from corda_lab.lab import lifecycle, project
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import docker, outcomes, problems_of
from corda_lab.lab.lab import RUN_LABEL, Lab
from corda_lab.lab.settings import Settings
from corda_lab.node_logs import read as node_logs
from corda_lab.node_logs.model import FOLDER as LOGS
from corda_lab.results import store, stored
from corda_lab.results.stored import RUN_STEP, StepFile
from corda_lab.runs import rows_volume
from corda_lab.runs.containers import FLUSH_SECONDS
from corda_lab.runs.rows_volume import RowsVolume
from corda_lab.steps import rows
from corda_lab.text import ui
from corda_lab.text.words import listed, plural


def start_lab(settings: Settings, images: lifecycle.ImageChoice | None, *, recover: str | None = None) -> None:
    """Start this machine's lab, without what ended commands left. ``recover`` is a node with a damaged database."""
    if inject.is_left(settings.project):
        # A part that is frozen or cut off would never become healthy.
        lifecycle.prepare_engine()
        inject.heal_left(settings.project)
    # Containers of a killed command must not send load to nodes that are starting. Without an engine, there are none.
    if engine.probe().state is engine.EngineState.READY:
        stop_loads(Compose(settings))
    lifecycle.up(settings, images, recover=recover)
    collect(Compose(settings))


def collect(compose: Lab) -> list[str]:
    """Stop orphaned loads, and move their rows to the folders of their runs. What is impossible is a warning.

    Returns the ids of the runs whose rows could not be moved. Raises LabError if the lab is that of another checkout.
    """
    project.require_own(compose.project)
    left: list[str] = []
    try:
        stop_orphans(compose)
        volume = RowsVolume(compose)
        for identity in volume.identities():
            try:
                collect_one(compose, volume, identity)
            except (LabError, OSError) as error:
                ui.warn(f"the rows of {identity} are still in the lab's volume: {error}")
                left.append(identity)
    except (LabError, OSError) as error:
        ui.warn(f"rows of an earlier run may still be in the lab's volume: {error}")
    return left


def collect_before_removal(compose: Lab) -> None:
    """Collect what the volumes of a lab have, which are about to be deleted. Raises LabError if rows could be lost."""
    if left := collect(compose):
        volume = rows_volume.name_of(compose.project)
        raise LabError(
            f"Rows of {listed(left)} could not be moved to results, and would be deleted with the volumes of the lab",
            "Mend what the warning says, and try again. Or give these rows up: `scripts/lab down`, then "
            f"`docker volume rm {volume}`, then this command.",
            exit_code=1,
        )


def stop_loads(compose: Lab) -> None:
    """Stop orphaned loads before the lab starts again. What is impossible now is tried again by ``collect``."""
    try:
        project.require_own(compose.project)
        stop_orphans(compose)
    except LabError as error:
        ui.note(f"no look for what killed commands left: {error.message}")


def stop_orphans(compose: Lab) -> None:
    """Remove the containers whose command has ended, whether there is a folder of their run or not.

    The folder may be gone, or be in another folder of results than the one of this command. A host that does not
    answer is a warning. Raises LabError if no engine answers.
    """
    found = outcomes(compose.contexts, lambda context: _stop_on(context, compose.load_label))
    errors = [one for one in found.values() if isinstance(one, LabError)]
    if len(errors) == len(found):
        raise errors[0]
    for problem in problems_of(found):
        ui.warn(f"containers of killed commands may be left: {problem.finding}")


def _stop_on(context: str, label: str) -> None:
    """Remove the containers with a label whose command has ended. Raises LabError if the engine does not answer."""
    form = f'{{{{.ID}}}} {{{{.Label "{RUN_LABEL}"}}}}'
    filters = (f"label={label}", f"label={RUN_LABEL}")
    listing = ("ps", "--all", *(word for each in filters for word in ("--filter", each)), "--format", form)
    done = docker(*listing, on=context)
    if done.returncode != 0:
        where = f"{context}: " if context else ""
        raise LabError(f"{where}the engine did not list the containers: {last_words(done.stderr)}")
    for line in done.stdout.splitlines():
        container, _, identity = line.partition(" ")
        folder = store.find_step(identity)
        if folder is None or not locks.is_locked(folder):
            ui.warn(f"removed a container of {identity}, whose command has ended")
            docker("stop", "-t", str(FLUSH_SECONDS), container, on=context)
            docker("rm", "--force", "--volumes", container, on=context)


def collect_one(compose: Lab, volume: RowsVolume, identity: str) -> None:
    """Move the rows of a load to the folder of its step, which is created if it is gone, with the logs of the nodes."""
    folder = store.find_step(identity)
    if folder is None:
        run = store.begin(store.manifest(identity, command=""))
        folder = store.new_step(run, RUN_STEP.index, RUN_STEP.key)
        store.end_step(folder, RUN_STEP)
    if locks.is_locked(folder):
        return
    step = stored.read_step(folder)
    if step.is_measured or step.state == "done":
        volume.delete(identity)
        return
    volume.fetch(identity, folder / stored.EVIDENCE)
    store.sync_rows(folder)
    count = store.count_rows(folder)
    store.end_step(folder, step.model_copy(update={"rows": count}))
    volume.delete(identity)
    ui.note(f"collected {plural(count, 'row')} of {identity}, which has no results: {folder}")
    keep_logs(compose, folder, step)


def keep_logs(compose: Lab, folder: Path, step: StepFile) -> None:
    """Keep what the nodes have logged during a load whose command was killed, as far as they still have it."""
    if (folder / LOGS).is_dir() or step.began_at is None:
        return
    began_at = datetime.fromisoformat(step.began_at).timestamp()
    until = last_answer(folder)
    if until is None:
        timeout = float(compose.settings["BRIDGE_FLOW_TIMEOUT_SECONDS"])
        until = min(time.time(), began_at + store.read_plan(folder).load.total_seconds + timeout)
    node_logs.keep(compose, folder, step.why, since=began_at, until=until)


def last_answer(folder: Path) -> float | None:
    """When the last request of a load was answered, in unix seconds; None if no row says so."""
    try:
        found = rows.read_rows(store.rows_files(folder))["ended_at"].max()
    except (LabError, ValueError):
        return None
    return found if isinstance(found, float) else None
