"""Records one step of a run: before its load, at its end, and if it fails or is interrupted."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import TypeAdapter

from corda_lab import errors
from corda_lab.errors import LabError
from corda_lab.host import interrupts
from corda_lab.lab.lab import Lab
from corda_lab.node_logs import read as node_logs
from corda_lab.node_logs.model import FOLDER as LOGS
from corda_lab.results import folders, store, stored
from corda_lab.results.manifest import Environment, Manifest
from corda_lab.results.store import Measured
from corda_lab.results.stored import RUN_STEP, StepFile
from corda_lab.runs.rows_volume import RowsVolume
from corda_lab.text import ui
from corda_lab.text.words import plural
from lab_workload.plan import Plan

Value = TypeVar("Value")

CONDITION = "condition"
"""Key and kind of a step that conditions the nodes for another, whose index it has."""


class Recording:
    """One step of a run in its folder, of which this process holds the lock once its load is about to begin."""

    def __init__(self, folder: Path, step: StepFile, stack: ExitStack) -> None:
        self.folder = folder
        self._step = step
        self._stack = stack
        self._load: tuple[Lab, str] | None = None
        self._began_at = 0.0
        """When the load began, in unix seconds."""

    @property
    def rows(self) -> Path:
        return self.folder / stored.EVIDENCE

    def begin(self, lab: Lab, plan: Plan, environment: Environment) -> None:
        """Create the folder, with everything that is known before the load. Raises LabError if that is impossible."""
        self._step = self._step.model_copy(update={"began_at": folders.now()})
        store.begin_step(self.folder, self._step, plan, environment)
        self._stack.enter_context(folders.in_progress(self.folder))
        self._load = (lab, plan.identity)
        self._began_at = time.time()

    def note(self, name: str, kind: type[Value], value: Value) -> None:
        """Store a value of a type (``kind``) as a JSON file of the evidence. Raises LabError if that is impossible."""
        self._write(self.rows / name, TypeAdapter(kind).dump_python(value, mode="json"))

    def note_environment(self, environment: Environment) -> None:
        """Store the environment again, when the images of the load generator are known. Raises LabError."""
        self._write(self.folder / stored.ENVIRONMENT, environment.model_dump(mode="json"))

    def _write(self, path: Path, content: object) -> None:
        try:
            folders.write_json(path, content)
        except OSError as error:
            raise folders.unwritable(self.folder, error) from None

    def done(self) -> None:
        """Note that a step has ended that has no values."""
        store.end_step(self.folder, self._step.model_copy(update={"state": "done"}))

    def fail(self, error: BaseException) -> None:
        """Fetch the rows and the nodes' logs, and store why it has no values. Never raises: ``error`` must be seen."""
        if self._load is None:
            return
        with suppress(LabError):
            if stored.read_step(self.folder).is_measured:
                # An interrupt that came while it was stored.
                return
        lab, identity = self._load
        state: Literal["failed", "interrupted"] = "failed" if isinstance(error, Exception) else "interrupted"
        step = self._step.model_copy(update={"state": state, "why": reason_of(error)})
        try:
            # First the reason, since the rows may be out of reach.
            store.end_step(self.folder, step)
            volume = RowsVolume(lab)
            volume.fetch(identity, self.rows)
            store.sync_rows(self.folder)
            rows = store.count_rows(self.folder)
            store.end_step(self.folder, step.model_copy(update={"rows": rows}))
            # The same volume: what could not be fetched stays.
            volume.delete(identity)
            ui.note(f"{state}; {plural(rows, 'row')} and all that is known of the load are kept in {self.folder}")
        except (LabError, OSError) as second:
            ui.warn(f"the rows stay in the lab's volume, and the next command collects them: {second}")
        if not (self.folder / LOGS).is_dir():
            node_logs.keep(lab, self.folder, reason_of(error), since=self._began_at)

    def close(self) -> None:
        if self._load is None:
            return
        try:
            if self.rows.is_dir():
                store.sync_rows(self.folder)
            lab, identity = self._load
            RowsVolume(lab).delete(identity)
        except (LabError, OSError) as error:
            ui.warn(f"the rows stay in the lab's volume until the next command: {error}")


def reason_of(error: BaseException) -> str:
    return errors.reason_of(error) if isinstance(error, Exception) else stored.INTERRUPTED


@contextmanager
def recorded(folder: Path, step: StepFile = RUN_STEP) -> Iterator[Recording]:
    """Record a step in ``folder``. What an error or an interrupt leaves is completed and kept there.

    If the block succeeds, the rows are deleted from the volume of the load generator, and the step is to be kept.
    """
    with ExitStack() as stack:
        recording = Recording(folder, step, stack)
        try:
            yield recording
        except BaseException as error:
            # A second Ctrl-C must not interrupt the copying of the rows.
            with interrupts.held_back():
                recording.fail(error)
            raise
        with interrupts.held_back():
            recording.close()


@contextmanager
def begun(run: Manifest, *, results: Path | None = None) -> Iterator[Path]:
    """Begin a run of one load, and hold its lock. Its folder is deleted if the block fails before the load begins."""
    folder = store.begin(run, results=results)
    with folders.in_progress(folder):
        try:
            yield folder
        except BaseException:
            if not stored.read_steps(folder):
                folders.remove(folder)
            raise


def keep(place: Path, measured: Measured) -> None:
    """Store a measured step in its folder. Raises LabError."""
    try:
        with interrupts.held_back():
            store.keep(place, measured)
    except OSError as error:
        raise folders.unwritable(place, error) from None
