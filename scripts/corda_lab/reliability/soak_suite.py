"""``lab test --suite soak``: two hours of load in one piece, with a count of the live objects of all JVMs meanwhile.

It is not made of pieces: a new start of a node or of the bridge hides what has grown in it, and a slow growth shows
only over a long time. A soak that is interrupted begins again.
"""

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
from corda_lab.errors import LabError
from corda_lab.lab import lifecycle, shape
from corda_lab.lab.settings import Settings
from corda_lab.paths import CACHE
from corda_lab.profile import jvm
from corda_lab.profile.jvm import Jvm
from corda_lab.profile.live_heap import live_heap_bytes
from corda_lab.reliability import document, soak, stored
from corda_lab.reliability.soak import SWEEP, HeapReading
from corda_lab.reliability.soak_file import SoakFile
from corda_lab.results import stored as stored_runs
from corda_lab.results.audits import Audit
from corda_lab.selftest import matrix, suite
from corda_lab.selftest.suite import CommandResult, Totals
from corda_lab.text import ui

SUFFIX = "soak"
RESULTS = CACHE / "soak-results"
SOAK_SECONDS_MAX = 4 * 3600.0
AUDIT_SECONDS_MAX = 1800.0
HEAP_SECONDS = 300.0
"""Time between two counts of the live objects. During one, a JVM stands still for up to a second."""
RETENTION_SECONDS = 300
"""How long nodes keep outcomes here. With the default, an hour, the ids on a node would rise for half of the soak."""


class HeapWatch:
    """Counts the live objects of the nodes and of the bridge at intervals, while a lab is up. A thread of its own."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heap-watch", daemon=True)
        self._found: dict[str, Jvm] = {}
        self.readings: list[HeapReading] = []
        self.problems: dict[str, str] = {}
        """The last problem of each place."""

    @contextmanager
    def watching(self) -> Iterator["HeapWatch"]:
        """Count while the block runs."""
        self._thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(HEAP_SECONDS):
            for place in (*self._settings.nodes, jvm.BRIDGE):
                self._read(place)

    def _read(self, place: str) -> None:
        if self._ended.is_set():
            return
        try:
            # To find a JVM takes more of the machine than to ask it.
            found = self._found.get(place) or jvm.find(place, self._settings)
            began = time.time()
            self.readings.append(HeapReading(place, began, live_heap_bytes(found)))
            self._found[place] = found
        except LabError as error:
            # Also as long as the lab starts.
            self.problems[place] = error.message
            self._found.pop(place, None)


def run(totals: Totals, images: lifecycle.ImageChoice | None) -> None:
    """Run the sweep on a lab of its own, judge it, and store the result. Raises LabError."""
    shutil.rmtree(RESULTS, ignore_errors=True)
    knobs = {"BRIDGE_OUTCOME_RETENTION_SECONDS": str(RETENTION_SECONDS)}
    lifecycle.prepare_engine()
    with matrix.own_project(SUFFIX, RESULTS, knobs) as settings:
        try:
            lifecycle.down(settings, volumes=True)
            with ui.phase("Soak, two and a half hours"):
                suite.record(totals, "soak", lambda: soaked(settings, images))
        finally:
            lifecycle.down(settings, volumes=True)


def soaked(settings: Settings, images: lifecycle.ImageChoice | None) -> CommandResult:
    """Run the sweep and judge it. Every value is a test, and so is the soak as a whole."""
    command = [sys.executable, "-m", "corda_lab", "sweep", SWEEP, *(("--images", images) if images else ())]
    with HeapWatch(settings).watching() as watch:
        status, output = suite.execute(command, seconds_max=SOAK_SECONDS_MAX)
    for place, problem in watch.problems.items():
        ui.note(f"last problem with the heap of {place}: {problem}")
    finished = sorted(path.parent for path in RESULTS.glob(f"*-{SWEEP}/run.json"))
    if not finished:
        return CommandResult(0, 1, f"{output}\nthe sweep left no result, and ended with exit status {status}")
    keep(watch.readings)
    file = soak.judged(stored_runs.read(finished[-1]), watch.readings, audited(settings, finished[-1]))
    publish(file)
    return CommandResult(
        sum(one.verdict == "within" for one in file.growths) + int(not file.problems),
        sum(one.verdict != "within" for one in file.growths) + int(bool(file.problems)),
        "\n".join([output, *file.failures]),
    )


def audited(settings: Settings, run: Path) -> Audit:
    """Audit the ledgers of the soak. The audit at the end of a step has no time for so many transactions."""
    with ui.phase("Auditing the ledgers"):
        try:
            found = audit_lab(shape.of_running(settings), run, AUDIT_SECONDS_MAX)
        except LabError as error:
            found = Audit(verdict="cannot tell", reasons=(error.message,))
        ui.note(found.summary)
    return found


def keep(readings: list[HeapReading]) -> None:
    """Write the counts beside the runs of the suite, for whoever wants to judge them in another way."""
    lines = ["place,at,live_bytes", *(f"{one.place},{one.at:.1f},{one.live_bytes}" for one in readings)]
    atomic.write_text(RESULTS / "heaps.csv", "\n".join(lines) + "\n")


def publish(file: SoakFile) -> None:
    """Store the result, and write the document again."""
    store(file, RESULTS / stored.STAGED)
    if stored.adopt(RESULTS):
        document.publish()
