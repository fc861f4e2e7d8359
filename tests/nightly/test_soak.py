"""Ten minutes of load on PostgreSQL: heaps, connections and queues do not grow, and nothing is lost.

It is the sweep ``soak`` with shorter spans. Meanwhile each JVM is asked for a full collection, because what is in
use of a heap is mostly garbage. ``docs/methodology.md`` says what a window can tell.
"""

import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl
import pytest

from corda_lab.analysis import trends
from corda_lab.errors import LabError
from corda_lab.lab import lifecycle
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.paths import CACHE, CONFIGS, ROOT
from corda_lab.profile import jvm
from corda_lab.results import stored
from corda_lab.results.stored import StoredRun
from corda_lab.stats.slope import POINTS_MIN, slope_of
from corda_lab.steps.entry import StepEntry
from support import own_lab

RESULTS = CACHE / "nightly-soak-results"
SWEEP_SECONDS_MAX = 5400.0
SPANS = {
    "warm_up: {min: 30m, max: 30m}": "warm_up: {min: 6m, max: 6m}",
    "measure: 2h": "measure: 10m",
    "for: {min: 2m, max: 4m}": "for: {min: 1m, max: 2m}",
    "measure: 3m": "measure: 1m",
}
HEAP_SECONDS = 45.0
"""Time between two counts of the live objects. During one, a JVM stands still for up to a second."""
GROWTH_PERCENT_MAX = 10.0
"""By how much a value may grow in an hour. Points of ten minutes scatter too much to show less."""
GROWTH_COUNT_MAX = 2.0
FOLLOWS_LOAD = "connections of clients"
"""As many as the most flows that were in flight at once in the last minute. What is left after the load is judged."""

Heaps = dict[str, list[tuple[float, float]]]
"""When the live objects of each JVM were counted (unix seconds), and how many bytes they have."""


@contextmanager
def counting_heaps(settings: Settings) -> Iterator[Heaps]:
    """Count the live objects of the bridge and of the nodes at intervals, while a sweep starts its lab and loads it."""
    found: Heaps = {place: [] for place in (jvm.BRIDGE, *settings.nodes)}
    ended = threading.Event()

    def count() -> None:
        while not ended.wait(HEAP_SECONDS):
            for place, counts in found.items():
                # Also as long as the lab starts. Too few counts fail the test.
                with suppress(LabError, OSError, subprocess.SubprocessError):
                    counts.append((time.time(), jvm.find(place, Compose(settings)).histogram().bytes))

    thread = threading.Thread(target=count, name="heaps")
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()


def shortened(folder: Path) -> Path:
    """The sweep with shorter spans."""
    text = (CONFIGS / "sweeps" / "soak.yaml").read_text(encoding="utf-8")
    for span, short in SPANS.items():
        assert span in text
        text = text.replace(span, short)
    path = folder / "soak.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def soaked(tmp_path_factory: pytest.TempPathFactory) -> tuple[StoredRun, StepEntry, Heaps]:
    """The run of the sweep, its step with the long load, and the heaps meanwhile."""
    sweep = shortened(tmp_path_factory.mktemp("soak"))
    with own_lab.lab_of("soak", RESULTS, {"BRIDGE_OUTCOME_RETENTION_SECONDS": "300"}) as settings:
        shutil.rmtree(RESULTS, ignore_errors=True)
        try:
            lifecycle.down(settings, volumes=True)
            with counting_heaps(settings) as heaps:
                command = [str(ROOT / "scripts" / "lab"), "sweep", str(sweep)]
                subprocess.run(command, stdin=subprocess.DEVNULL, timeout=SWEEP_SECONDS_MAX, check=True)
        finally:
            lifecycle.down(settings, volumes=True)
    run = stored.read(RESULTS / "latest")
    (step,) = (step for step in run.steps if step.point.get("step") == "soak")
    return run, step, heaps


def test_every_request_succeeds_and_the_ledgers_agree(soaked: tuple[StoredRun, StepEntry, Heaps]) -> None:
    run, step, _ = soaked
    assert step.verdict.passed, step.verdict.reasons
    assert run.audits()[step.index].verdict == "passed"


def test_no_heap_grows(soaked: tuple[StoredRun, StepEntry, Heaps]) -> None:
    _, step, heaps = soaked
    grown = {}
    for place, counts in heaps.items():
        within = [one for one in counts if step.window.started_at <= one[0] < step.window.ended_at]
        slope = slope_of([at / 3600 for at, _ in within], [live for _, live in within])
        assert slope is not None, f"{place}: {len(within)} counts, and a slope needs {POINTS_MIN}"
        bound = GROWTH_PERCENT_MAX / 100 * within[0][1]
        if slope.low > bound:
            grown[place] = slope
    assert grown == {}


def test_no_connection_and_no_queue_grows(soaked: tuple[StoredRun, StepEntry, Heaps]) -> None:
    run, step, _ = soaked
    counted = [trend for trend in trends.of_step(run, step) if trend.unit == "count" and trend.name != FOLLOWS_LOAD]
    assert {trend.name for trend in counted} > {"RPC connections", "database connections", "messages in queues"}
    bounds = {trend: max(GROWTH_PERCENT_MAX / 100 * trend.mean, GROWTH_COUNT_MAX) for trend in counted}
    assert [trend for trend, bound in bounds.items() if trend.slope.low > bound] == []


def test_no_connection_of_a_client_is_left(soaked: tuple[StoredRun, StepEntry, Heaps]) -> None:
    run, step, _ = soaked
    is_after = (pl.col("name") == "bridge_connections") & (pl.col("time") > step.window.load_ended_at)
    left = run.table("metrics").filter(is_after)["value"].to_list()
    # The lab itself reads the vaults side by side.
    assert min(left) <= len(step.counts.vaults)
