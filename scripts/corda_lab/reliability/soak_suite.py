"""``lab test --suite soak``: two hours of load in one piece, with a count of the live objects of all JVMs meanwhile.

It is not made of pieces: a new start of a node or of the bridge hides what has grown in it, and a slow growth shows
only over a long time. A soak that is interrupted begins again. If only its judgement was missing, the next call does
that.
"""

import csv
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from corda_lab import atomic
from corda_lab.audit import audit_lab
from corda_lab.bench.file import store
from corda_lab.errors import LabError, reason_of
from corda_lab.lab import lifecycle, shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.paths import CACHE
from corda_lab.profile import histogram, jvm
from corda_lab.profile.jvm import Jvm
from corda_lab.reliability import document, soak, stored
from corda_lab.reliability.soak import HEAP_SECONDS, SWEEP, HeapProblem, HeapReading, Heaps
from corda_lab.reliability.soak_file import SoakFile
from corda_lab.results import folders
from corda_lab.results import stored as stored_runs
from corda_lab.results.audits import Audit
from corda_lab.selftest import own_project, suite
from corda_lab.selftest.suite import CommandResult, Totals
from corda_lab.text import ui

SUFFIX = "soak"
RESULTS = CACHE / "soak-results"
HEAPS = "heaps.csv"
"""The file with the counts of live objects, in ``RESULTS``. What could not be counted is in it too, with the reason."""
AUDIT = "audit.json"
"""The file with the audit of the soak, in ``RESULTS``."""
COLUMNS = ("place", "at", "live_bytes", "problem")
SOAK_SECONDS_MAX = 4 * 3600.0
AUDIT_SECONDS_MAX = 1800.0
RETENTION_SECONDS = 300
"""How long nodes keep outcomes here. ``docs/methodology.md`` says why it is not the default of an hour."""


class HeapWatch:
    """Counts the live objects of the nodes and of the bridge at intervals, while a lab is up. A thread of its own.

    What it counts is written at once, so that it outlives this process.
    """

    def __init__(self, settings: Settings, file: Path) -> None:
        self._settings = settings
        self._file = file
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heap-watch", daemon=True)
        self._found: dict[str, Jvm] = {}

    @contextmanager
    def watching(self) -> Iterator["HeapWatch"]:
        """Count while the block runs."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
        self._thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            self._thread.join()

    def _run(self) -> None:
        due = time.monotonic() + HEAP_SECONDS
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            due += HEAP_SECONDS
            # Each count stops a JVM, and flows pile up: of the bridge's heap, what they take is not to be counted.
            for place in (jvm.BRIDGE, *self._settings.nodes):
                self._read(place)

    def _read(self, place: str) -> None:
        if self._ended.is_set():
            return
        try:
            # To find a JVM takes more of the machine than to ask it.
            found = self._found.get(place) or jvm.find(place, Compose(self._settings))
            began = time.time()
            live = histogram.count(found).bytes
        except Exception as error:
            # Also as long as the lab starts. The next count may succeed, and too few of them fail the soak.
            self._found.pop(place, None)
            self._note(place, time.time(), problem=reason_of(error))
            return
        self._found[place] = found
        self._note(place, began, live=str(live))

    def _note(self, place: str, at: float, *, live: str = "", problem: str = "") -> None:
        try:
            with self._file.open("a", encoding="utf-8", newline="") as file:
                csv.writer(file).writerow((place, f"{at:.1f}", live, problem))
        except OSError as error:
            ui.warn(f"{self._file} cannot be written: {error.strerror}")


def heaps_of(file: Path) -> Heaps:
    """What a ``HeapWatch`` has counted; nothing without its file."""
    if not file.is_file():
        return Heaps()
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return Heaps(
        [HeapReading(row["place"], float(row["at"]), int(row["live_bytes"])) for row in rows if row["live_bytes"]],
        [HeapProblem(row["place"], float(row["at"]), row["problem"]) for row in rows if row["problem"]],
    )


def run(totals: Totals, images: lifecycle.ImageChoice | None) -> None:
    """Run the sweep on a lab of its own, judge it, and store the result. Raises LabError.

    If there is a finished sweep that was not judged, only that is done. If its ledgers were not audited either, the
    soak is made again: its lab is gone.
    """
    knobs = {"BRIDGE_OUTCOME_RETENTION_SECONDS": str(RETENTION_SECONDS)}
    # The lock of the project comes first: what is there may be that of a soak that still runs.
    with own_project.lab_of(SUFFIX, RESULTS, knobs) as settings:
        if is_left_judged(totals):
            return
        shutil.rmtree(RESULTS, ignore_errors=True)
        lifecycle.prepare_engine()
        try:
            lifecycle.down(settings, volumes=True)
            with ui.phase("Soak, two hours and three quarters"):
                suite.record(totals, "soak", lambda: soaked(settings, images))
        finally:
            lifecycle.down(settings, volumes=True)


def is_left_judged(totals: Totals) -> bool:
    """Judge a finished sweep whose suite ended before that, if there is one, and return whether that was possible."""
    if (left := unjudged()) is None:
        return False
    with ui.phase(f"Judging {left.name}, whose suite ended before that"):
        try:
            audit = stored_audit(left)
            suite.record(totals, "soak", lambda: judged(left, audit, ""))
        except LabError as error:
            ui.warn(f"{left.name} cannot be judged, and is made again: {error.message}")
            return False
    return True


def soaked(settings: Settings, images: lifecycle.ImageChoice | None) -> CommandResult:
    """Run the sweep and judge it."""
    command = [sys.executable, "-m", "corda_lab", "sweep", SWEEP, *(("--images", images) if images else ())]
    with HeapWatch(settings, RESULTS / HEAPS).watching():
        status, output = suite.execute(command, seconds_max=SOAK_SECONDS_MAX)
    found = unjudged()
    if found is None:
        return CommandResult(0, 1, f"{output}\nthe sweep left no result, and ended with exit status {status}")
    return judged(found, audited(settings, found), output)


def unjudged() -> Path | None:
    """The folder of the last finished sweep of the suite, unless its result is in ``docs/reliability/``."""
    known = {file.run for file in stored.read_all() if isinstance(file, SoakFile)}
    finished = sorted(path.parent for path in RESULTS.glob(f"*-{SWEEP}/run.json"))
    return finished[-1] if finished and finished[-1].name not in known else None


def judged(run: Path, audit: Audit, output: str) -> CommandResult:
    """Judge a finished sweep, and store the result. Every value is a test, and so is the soak as a whole.

    A value that the scatter hides, and that need not be told, is no failure; it is said.
    """
    file = soak.judged(stored_runs.read(run), heaps_of(RESULTS / HEAPS), audit)
    publish(file)
    for line in file.untold:
        ui.note(line)
    return CommandResult(
        sum(not one.fails for one in file.growths) + int(not file.problems),
        sum(one.fails for one in file.growths) + int(bool(file.problems)),
        "\n".join([output, *file.failures]),
    )


def audited(settings: Settings, run: Path) -> Audit:
    """Audit the ledgers of the soak, and store what was found: if the judgement is interrupted, the lab is gone.

    The audit at the end of a step may have no time for so many transactions.
    """
    with ui.phase("Auditing the ledgers"):
        try:
            found = audit_lab(Compose(shape.of_running(settings)), run, AUDIT_SECONDS_MAX)
        except LabError as error:
            found = Audit(verdict="cannot tell", reasons=(error.message,))
        ui.note(found.summary)
    atomic.write_text(RESULTS / AUDIT, found.model_dump_json(indent=1))
    return found


def stored_audit(run: Path) -> Audit:
    """The audit of a soak whose lab is gone: that of the suite, or that at the end of the step if it passed.

    Raises LabError if there is none.
    """
    if (RESULTS / AUDIT).is_file():
        return folders.read_model(RESULTS / AUDIT, Audit)
    audits = stored_runs.read(run).audits()
    found = audits[max(audits)] if audits else None
    if found is None or found.verdict != "passed":
        raise LabError("its ledgers were not audited")
    return found


def publish(file: SoakFile) -> None:
    """Store the result, and write the document again."""
    store(file, RESULTS / stored.STAGED)
    if stored.adopt(RESULTS / stored.STAGED):
        document.publish()
