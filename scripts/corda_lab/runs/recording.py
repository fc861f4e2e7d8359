"""Gathers the evidence of one load: before it, at its end, and if it fails or is interrupted."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from corda_lab import errors
from corda_lab.errors import LabError
from corda_lab.host import interrupts
from corda_lab.lab.lab import Lab
from corda_lab.node_logs import read as node_logs
from corda_lab.node_logs.model import FOLDER as LOGS
from corda_lab.report import page
from corda_lab.results import evidence, files, folders
from corda_lab.results.files import Measured
from corda_lab.results.manifest import Environment, Manifest
from corda_lab.runs.rows_volume import RowsVolume
from corda_lab.text import ui
from corda_lab.text.words import plural
from lab_workload.plan import Plan

Value = TypeVar("Value")


class Recording:
    """The evidence of one load in its folder, of which this process holds the lock once it has begun."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self._stack = stack
        self._load: tuple[Lab, str] | None = None
        self._began_at = 0.0
        """When the load began, in unix seconds."""

    @property
    def rows(self) -> Path:
        return self.folder / evidence.ROWS

    def begin(self, compose: Lab, plan: Plan, environment: Environment) -> None:
        """Create the folder, with everything that is known before the load. Raises LabError if that is impossible."""
        load = evidence.LoadFile(
            id=plan.identity,
            command=files.command_line(),
            began_at=folders.now(),
            workload=plan.load.workload,
            options=plan.load,
            subject=plan.subject,
        )
        text = plan.workload_text
        evidence.begin(self.folder, load, text, environment)
        self._stack.enter_context(folders.in_progress(self.folder))
        self._load = (compose, plan.identity)
        self._began_at = time.time()

    def note(self, name: str, kind: type[Value], value: Value) -> None:
        """Store a value of a type (``kind``) as a JSON file. Raises LabError if that is impossible."""
        try:
            folders.write_json(self.folder / name, TypeAdapter(kind).dump_python(value, mode="json"))
        except OSError as error:
            raise folders.unwritable(self.folder, error) from None

    def fail(self, error: BaseException) -> None:
        """Fetch the rows and the nodes' logs, and store why there is no run. Never raises: ``error`` must be seen."""
        if self._load is None:
            return
        compose, identity = self._load
        outcome: evidence.Outcome = "failed" if isinstance(error, Exception) else "interrupted"
        try:
            # First the reason, since the rows may be out of reach.
            evidence.end(self.folder, outcome, reason_of(error), rows=None)
            volume = RowsVolume(compose)
            volume.fetch(identity, self.rows)
            evidence.sync_rows(self.folder)
            rows = evidence.count_rows(evidence.rows_files(self.folder))
            evidence.end(self.folder, outcome, reason_of(error), rows=rows)
            # The same volume: what could not be fetched stays.
            volume.delete(identity)
            ui.note(f"{outcome}; {plural(rows, 'row')} and all that is known of the load are kept in {self.folder}")
        except (LabError, OSError) as second:
            ui.warn(f"the rows stay in the lab's volume, and the next command collects them: {second}")
        if not (self.folder / LOGS).is_dir():
            node_logs.keep(compose, self.folder, reason_of(error), since=self._began_at)

    def close(self) -> None:
        if self._load is None:
            return
        try:
            evidence.sync_rows(self.folder)
            compose, identity = self._load
            RowsVolume(compose).delete(identity)
        except (LabError, OSError) as error:
            ui.warn(f"the rows stay in the lab's volume until the next command: {error}")


def reason_of(error: BaseException) -> str:
    return errors.reason_of(error) if isinstance(error, Exception) else evidence.INTERRUPTED


@contextmanager
def recorded(folder: Path) -> Iterator[Recording]:
    """Gather the evidence of a load in ``folder``. What an error or an interrupt leaves is completed and kept there.

    If the block succeeds, the folder still exists, and its rows are deleted from the volume of the load generator.
    """
    with ExitStack() as stack:
        recording = Recording(folder, stack)
        try:
            yield recording
        except BaseException as error:
            # A second Ctrl-C must not interrupt the copying of the rows.
            with interrupts.held_back():
                recording.fail(error)
            raise
        with interrupts.held_back():
            recording.close()


def store(manifest: Manifest, measured: Measured, *, results: Path | None = None) -> Path:
    """Write the folder of a run, and return it. Raises LabError if the disk does not take it."""
    parent = results or folders.unfinished_folder().parent
    try:
        with folders.new_run(manifest.id, results=parent) as folder:
            files.write_run(folder, manifest, [measured])
            page.render(folder)
    except OSError as error:
        raise folders.unwritable(parent / manifest.id, error) from None
    return parent / manifest.id
