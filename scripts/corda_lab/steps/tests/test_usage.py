"""What nodes used in the window, from samples of their containers and from scrapes."""

import math
from collections.abc import Iterable

import polars as pl
import pytest

from corda_lab.clients.prometheus import METRICS_SCHEMA
from corda_lab.steps import usage
from corda_lab.steps.entry import WHOLE
from corda_lab.steps.rows import Window

WINDOW = Window(100.0, 120.0)
NO_METRICS = pl.DataFrame(schema=METRICS_SCHEMA)
MIB = 1024 * 1024


def samples_of(container: str, percent: Iterable[float], memory: float = 0, *, start: float = 99.0) -> pl.DataFrame:
    """Samples each second of a container with this CPU in the second before each."""
    rows, seconds = [], 0.0
    for number, each in enumerate(percent):
        seconds += each / 100
        rows.append((container, start + number, seconds, int(memory * MIB)))
    return pl.DataFrame(rows, schema=usage.SAMPLES_SCHEMA, orient="row")


def scrapes(name: str, node: str, values: dict[float, float]) -> pl.DataFrame:
    rows = [{"name": name, "node": node, "labels": "{}", "time": at, "value": value} for at, value in values.items()]
    return pl.DataFrame(rows, schema=METRICS_SCHEMA)


def test_the_highest_second_is_seen_where_scrapes_show_a_mean() -> None:
    busy = [180.0 if 8 <= second < 10 else 20.0 for second in range(22)]
    found = usage.usage_values(samples_of("PartyA", busy), NO_METRICS, WINDOW, 120.0)
    assert found["cpu_percent_max"] == {"PartyA": pytest.approx(180.0)}
    assert found["cpu_percent"] == {"PartyA": pytest.approx((18 * 20 + 2 * 180) / 20)}
    assert found["cpu_peaks"] == {"PartyA": 1, WHOLE: 1}


def test_without_samples_the_means_come_from_scrapes_and_nothing_is_said_of_single_seconds() -> None:
    metrics = pl.concat(
        [
            scrapes("node_cpu_seconds_total", "PartyA", {101: 10.0, 111: 15.0}),
            scrapes("node_resident_bytes", "PartyA", {101: 300.0, 111: 500.0, 130: 900.0}),
        ]
    )
    found = usage.usage_values(usage.NO_SAMPLES, metrics, WINDOW, 120.0)
    assert found["cpu_percent"] == {"PartyA": pytest.approx(50.0)}
    assert found["cpu_percent_max"] == {}
    assert (found["resident_bytes"], found["resident_max_bytes"]) == ({"PartyA": 400.0}, {"PartyA": 500.0})
    assert (found["cpu_peaks"], found["resident_after_bytes"]) == ({}, {})


def test_samples_count_before_scrapes() -> None:
    metrics = scrapes("node_resident_bytes", "PartyA", {101: 300.0, 111: 500.0})
    found = usage.usage_values(samples_of("PartyA", [10.0] * 22, memory=2), metrics, WINDOW, 120.0)
    assert found["resident_bytes"] == {"PartyA": 2 * MIB}


def test_a_container_that_starts_again_counts_from_its_start() -> None:
    restarted = pl.concat(
        [samples_of("PartyA", [50.0] * 10, start=100.0), samples_of("PartyA", [70.0] * 10, start=110.0)]
    )
    rates = usage.cpu_rates(restarted, WINDOW)["percent"].to_list()
    assert rates == pytest.approx([50.0] * 9 + [70.0] * 9)
    assert usage.usage_values(restarted, NO_METRICS, WINDOW, 120.0)["cpu_percent"]["PartyA"] > 50


@pytest.mark.parametrize(
    ("percent", "count"),
    [
        ([5.0] * 5 + [150.0] * 10 + [5.0] * 5, 1),
        (([5.0] * 5 + [150.0] * 10) * 4 + [5.0] * 5, 4),
        # A load without a pause is one peak, however much it varies.
        ([100.0 + 40 * math.sin(second) for second in range(60)], 1),
        # A dip above a quarter of the highest belongs to the same peak.
        ([150.0] * 8 + [60.0] * 6 + [150.0] * 8, 1),
        # A single quiet second too.
        ([150.0] * 8 + [0.0] + [150.0] * 8, 1),
        ([0.0] * 10, 0),
        ([], 0),
    ],
)
def test_peaks_are_separate_if_the_cpu_rests_in_between(percent: list[float], count: int) -> None:
    assert usage.peaks(percent) == count


def test_the_peaks_of_all_nodes_leave_out_the_other_parts_of_the_lab() -> None:
    burst = [5.0] * 4 + [150.0] * 6 + [5.0] * 5 + [150.0] * 6
    other = [200.0 if 9 < second < 15 else 5.0 for second in range(21)]
    together = pl.concat([samples_of("PartyA", burst), samples_of("PartyB", burst), samples_of("PostgreSQL", other)])
    found = usage.usage_values(together, NO_METRICS, WINDOW, 120.0)
    assert found["cpu_peaks"] == {WHOLE: 2, "PartyA": 2, "PartyB": 2, "PostgreSQL": 1}


def test_the_heap_floor_is_the_least_of_the_second_half_of_the_window() -> None:
    kept: dict[float, float] = {101: 90.0, 106: 20.0, 111: 80.0, 116: 60.0, 121: 10.0}
    metrics = pl.concat(
        [
            scrapes("node_heap_kept_bytes", "PartyA", kept),
            scrapes("node_heap_used_bytes", "PartyA", {101: 400.0, 111: 700.0, 125: 800.0}),
        ]
    )
    found = usage.usage_values(usage.NO_SAMPLES, metrics, WINDOW, 120.0)
    assert (found["heap_floor_bytes"], found["heap_used_max_bytes"]) == ({"PartyA": 60.0}, {"PartyA": 700.0})


def test_collections_and_the_rpc_broker_are_those_of_the_window() -> None:
    metrics = pl.concat(
        [
            scrapes("node_gc_seconds_total", "PartyA", {95: 0.0, 101: 1.0, 111: 1.5, 121: 9.0}),
            scrapes("node_rpc_connections", "PartyA", {101: 2, 106: 102, 111: 52}),
            scrapes("node_rpc_queue_messages", "PartyB", {101: 0, 111: 7, 121: 50}),
        ]
    )
    found = usage.usage_values(usage.NO_SAMPLES, metrics, WINDOW, 120.0)
    assert found["gc_percent"] == {"PartyA": pytest.approx(5.0)}
    assert (found["rpc_connections"], found["rpc_queue_depth"]) == ({"PartyA": 102}, {"PartyB": 7})


def test_memory_is_read_again_a_minute_after_the_load_if_it_was_watched_so_long() -> None:
    loaded = samples_of("PartyA", [50.0] * 22, memory=900)
    after = samples_of("PartyA", [1.0] * 62, memory=600, start=121.0)
    found = usage.usage_values(pl.concat([loaded, after]), NO_METRICS, WINDOW, 120.0)
    assert found["resident_max_bytes"] == {"PartyA": 900 * MIB}
    assert found["resident_after_bytes"] == {"PartyA": 600 * MIB}
    assert usage.memory_after(loaded, 120.0) == {}
    assert usage.memory_after(usage.NO_SAMPLES, 120.0) == {}
