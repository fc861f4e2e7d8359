"""Sixty thousand rows a minute from ten workers, on stub nodes: none is lost, and memory stays within its bounds."""

import json
import resource
from collections.abc import Iterator

import polars as pl
import pytest

from corda_lab.lab import project
from corda_lab.lab.settings import load_settings, parse_size
from corda_lab.steps.rows import Window
from lab_workload.load import Load
from pipeline.cases import Case, fixed, stratified
from pipeline.measure import WORKLOAD, measure_load
from pipeline.stub_lab import StubLab, own_settings

pytestmark = pytest.mark.nightly

WORKERS = 10
RATE = 1100
"""Arrivals per second: more than are asked for, so that those are taken in on a machine that is late with some."""
WARM_UP_SECONDS, SECONDS = 10, 60
FLOW_MS = 50
ROWS_MIN = 60_000
"""What has to be taken in within a minute."""
GROWTH_MAX = 1.10
"""Memory of the generators in the last ten seconds of the window, beside the first ten."""
COMMAND_BYTES_MAX = 1024**3
"""The most memory of the process that reads the rows and computes the values of the run."""
EDGE_SECONDS = 10


@pytest.fixture
def stub_lab() -> Iterator[StubLab]:
    """A lab of stub nodes, whose flows all take the same time, and of which none fails."""
    flows = RATE * (WARM_UP_SECONDS + SECONDS + 10)
    case = Case("ten-workers", "every flow takes 50 ms", stratified(fixed(FLOW_MS), flows, seed=19))
    project.settle()
    lab = StubLab(own_settings(load_settings()))
    try:
        lab.build(case)
        lab.start(case)
        yield lab
    finally:
        lab.stop()


def mean_bytes(samples: pl.DataFrame, part: str, span: Window) -> float:
    """The mean memory of a part of the lab in a span of time."""
    within = samples.filter((pl.col("container") == part) & pl.col("time").is_between(span.started_at, span.ended_at))
    mean = within["memory_bytes"].mean()
    assert isinstance(mean, float), f"no samples of {part}"
    return mean


def test_ten_workers_lose_no_row_and_their_memory_is_bounded(stub_lab: StubLab) -> None:
    seen, step = measure_load(
        stub_lab,
        Load(
            workload=WORKLOAD,
            users=150 * WORKERS,
            duration_seconds=SECONDS,
            warm_up_seconds=WARM_UP_SECONDS,
            arrivals="constant",
            rate=RATE,
            workers=WORKERS,
            name="ten-workers",
        ),
    )
    requests, end = seen.seen.requests, seen.seen.end
    written = requests.group_by("worker").len()
    assert {str(worker): count for worker, count in written.iter_rows()} == end.rows
    assert len(end.rows) == WORKERS
    window = step.window
    per_minute = 60 * step.throughput_per_second
    about = json.dumps({"values": step.values, "per minute": per_minute})
    assert per_minute >= ROWS_MIN, about
    assert step.requests.failed == step.requests.unknown == 0, about
    assert step.counts.agree, step.counts.disagreements
    assert step.counts.generator == step.counts.bridge == step.counts.node == requests.height

    samples = seen.seen.samples
    first = Window(window.started_at, window.started_at + EDGE_SECONDS)
    last = Window(window.ended_at - EDGE_SECONDS, window.ended_at)
    before, after = mean_bytes(samples, "locust", first), mean_bytes(samples, "locust", last)
    assert after <= GROWTH_MAX * before, f"{before:,.0f} bytes became {after:,.0f}"
    limit = parse_size(stub_lab.settings["LOCUST_MEMORY"], option="LOCUST_MEMORY")
    assert after < (WORKERS + 1) * limit / 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 < COMMAND_BYTES_MAX
