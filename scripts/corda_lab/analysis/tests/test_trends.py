"""Trends of long loads: what grows is seen, and what a load does to values that do not is not taken for growth."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from corda_lab.analysis import trends
from corda_lab.analysis.conclusions import Analysis
from corda_lab.analysis.trends import WATCHED, Trend
from corda_lab.clients.prometheus import METRICS_SCHEMA, SERIES
from corda_lab.report import page, tables
from corda_lab.results import folders, stored
from lab_workload.load import Load
from support import runs, simulation
from support.runs import step_file

SECONDS = 1200
MIB = 1024**2


def sampled(
    name: str, began: float, values: Iterator[float], node: str | None = None, labels: str = "{}"
) -> pl.DataFrame:
    """One sample of a series each five seconds."""
    rows = [
        {"name": name, "node": node, "labels": labels, "time": began + 5.0 * number, "value": value}
        for number, value in zip(range(SECONDS // 5), values, strict=False)
    ]
    return pl.DataFrame(rows, schema=METRICS_SCHEMA)


def repeated(*values: float) -> Iterator[float]:
    while True:
        yield from values


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of twenty minutes, with a heap that grows and other values that do not."""
    options = Load(workload="iou", users=2, duration_seconds=float(SECONDS), warm_up_seconds=0.0)
    rows = simulation.closed_rows(2, SECONDS, simulation.fixed(0.5))
    end = simulation.end_words(rows, 2, SECONDS)
    folder = runs.store(tmp_path_factory.mktemp("trends"), runs.plan_of(options), rows, end)
    window = stored.read(folder).steps[0].window
    began = window.started_at
    samples = [
        sampled(
            "node_heap_kept_bytes", began, ((300 + number / 10 + number % 3) * MIB for number in range(240)), "PartyA"
        ),
        sampled("node_heap_kept_bytes", began, repeated(300 * MIB, 303 * MIB, 301 * MIB), "PartyB"),
        sampled("artemis_queue_messages", began, repeated(9, 4, 0, 31), "PartyA"),
        sampled("node_rpc_connections", began, repeated(2), "PartyA"),
        sampled("node_rpc_connections", began, repeated(3), "PartyA", '{"kind": "other"}'),
        sampled("bridge_connections", began, repeated(24)),
        sampled("lab_resident_bytes", began, repeated(100 * MIB), labels='{"job": "bridge"}'),
    ]
    table = pl.concat(samples).with_columns(pl.lit(1, pl.Int32).alias("step"))
    columns = stored.read(folder).table("metrics").columns
    table.select(columns).write_parquet(step_file(folder).with_name("metrics.parquet"))
    return folder


@pytest.fixture(scope="module")
def found(folder: Path) -> dict[tuple[str, str], Trend]:
    run = stored.read(folder)
    return {(trend.name, trend.place): trend for trend in trends.of_step(run, run.steps[0])}


def test_what_grows_is_told_from_what_only_scatters_or_empties(found: dict[tuple[str, str], Trend]) -> None:
    grows, scatters = (found["heap after collection", node] for node in ("PartyA", "PartyB"))
    assert (grows.direction, scatters.direction) == ("grows", "none seen")
    assert grows.slope.estimate / MIB == pytest.approx(72, rel=0.02), "a tenth of a MiB each five seconds"
    assert set(found["messages in queues", "PartyA"].values) == {0.0}
    assert set(found["RPC connections", "PartyA"].values) == {5.0}, "the series of a place are added up"
    assert set(found["connections of clients", ""].values) == {24.0}
    assert set(found["memory", "bridge"].values) == {100.0 * MIB}
    assert "memory" not in {name for name, place in found if place == "locust"}, "it was not measured"


def test_latencies_have_a_point_for_each_part_of_the_window(found: dict[tuple[str, str], Trend]) -> None:
    for name in ("latency, p50", "latency, p95"):
        assert len(found[name, ""].values) == SECONDS // 60
        assert found[name, ""].values[0] == pytest.approx(1000.0), "two users of one server"
        assert found[name, ""].direction == "none seen"


def test_a_short_load_has_no_trends(folder: Path) -> None:
    run = stored.read(folder)
    window = run.steps[0].window
    short = window.model_copy(update={"ended_at": window.started_at + 599.0, "seconds": 599.0})
    assert trends.of_step(run, run.steps[0].updated(window=short)) == []


def test_the_report_and_the_summaries_have_them(folder: Path) -> None:
    page.render(folder)
    assert "heap after collection" in (folder / "report.html").read_text(encoding="utf-8")
    run = stored.read(folder)
    assert "| heap after collection | PartyA | 20 | " in tables.markdown(Analysis(run))
    data = folders.read_object(folder / "summary.json")["trends"]
    assert {one["direction"] for one in data if one["place"] == "PartyA" and one["unit"] == "bytes"} == {"grows"}


def test_only_series_that_are_stored_are_watched() -> None:
    assert {one.series for one in WATCHED} <= set(SERIES)
