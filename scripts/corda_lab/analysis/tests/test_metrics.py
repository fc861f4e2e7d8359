"""The named values of a step, their totals over nodes, and their table in the documentation."""

from collections.abc import Callable
from pathlib import Path

import pytest

from corda_lab.analysis.metrics import METRICS, metric
from corda_lab.analysis.values import shown
from corda_lab.errors import LabError
from corda_lab.paths import ROOT
from corda_lab.results import stored
from corda_lab.steps.entry import NodeValues, StepEntry
from lab_workload.load import Load
from support.entries import changed, with_values

BURST = Load(workload="iou", arrivals="burst")
BY_NODE = {"Notary": 10.0, "PartyA": 80.0, "PartyB": 40.0, "PostgreSQL": 70.0, "bridge": 30.0}


@pytest.fixture
def step(stored_run: Callable[..., Path]) -> StepEntry:
    return stored.read(stored_run()).steps[0]


def value(step: StepEntry, name: str) -> float | None:
    return metric(name).of(step)


def test_the_documentation_has_the_rows_of_all_values_in_their_order() -> None:
    text = (ROOT / "docs" / "methodology.md").read_text(encoding="utf-8")
    section = text.partition("\n## Values by name\n")[2].partition("\n### ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert rows == [one.reference for one in METRICS.values()]


def test_without_a_node_a_value_is_that_of_all_corda_nodes(step: StepEntry) -> None:
    names = ("cpu_percent", "cpu_percent_max", "rpc_queue_depth", "cpu_seconds_per_flow")
    seen = with_values(step, **dict.fromkeys(names, BY_NODE))
    assert value(seen, "cpu_percent") == 130.0
    assert value(seen, "cpu_seconds_per_flow") == 130.0
    assert value(seen, "cpu_percent_max") == 80.0
    assert value(seen, "rpc_queue_depth") == 80.0


@pytest.mark.parametrize(
    ("name", "expected"),
    [("PartyA", 80.0), ("partya", 80.0), ("notary", 10.0), ("postgresql", 70.0), ("bridge", 30.0), ("PartyJ", None)],
)
def test_a_value_of_one_part_of_the_lab_has_its_name(step: StepEntry, name: str, expected: float | None) -> None:
    assert value(with_values(step, cpu_percent=BY_NODE), f"cpu_percent.{name}") == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("throughputs", "throughputs: there is no such value"),
        ("p95.PartyA", "p95.PartyA: p95 has no values by node"),
        ("cpu_percent.PartA", "cpu_percent.PartA: 'PartA' is no part of the lab"),
        ("cpu_percent.", "cpu_percent.: '' is no part of the lab"),
    ],
)
def test_names_a_value_that_does_not_exist(name: str, message: str) -> None:
    with pytest.raises(LabError) as raised:
        metric(name)
    assert raised.value.message == message


def test_a_value_of_bursts_is_the_mean_over_them(step: StepEntry) -> None:
    seen = with_values(
        step.updated(load=BURST),
        burst_ok={"1": 10, "2": 10, "3": 0},
        burst_total_seconds={"1": 4.0, "2": 2.0, "3": 3.0},
        burst_last_started_seconds={"1": 1.0, "2": 0.5, "3": 0.0},
        burst_throughput_per_second={"1": 2.5, "2": 5.0, "3": 0.0},
        burst_latency_mean_ms={"1": 900.0, "2": 500.0},
    )
    assert value(seen, "burst_total") == pytest.approx(3.0)
    assert value(seen, "burst_throughput") == pytest.approx(2.5)
    assert value(seen, "latency_mean") == pytest.approx(700.0), "a burst without an answer has no latency"
    assert value(seen, "burst_last_started_throughput") == pytest.approx(15.0)
    assert value(seen, "goodput") == pytest.approx(2.5)
    assert value(seen, "rpc_latency_mean") is None
    assert value(step, "latency_mean") == step.latency_ms.mean


def test_goodput_of_open_load_is_of_what_was_meant_for_the_window(stored_open_run: Callable[..., Path]) -> None:
    step = stored.read(stored_open_run()).steps[0]
    offered = step.latency_intended_ms.count
    assert value(step, "goodput") == pytest.approx(offered / step.window.seconds)
    lost = changed(step, {"latency_intended_ms.unanswered": offered // 2})
    assert value(lost, "goodput") == pytest.approx((offered - offered // 2) / step.window.seconds)


def test_goodput_of_closed_load_leaves_out_what_failed_as_expected(step: StepEntry) -> None:
    seen = changed(step, {"requests.window_ok": 30, "requests.window_expected": 30})
    assert value(seen, "goodput") == pytest.approx(30 / step.window.seconds)


def test_the_flows_that_wait_follow_from_their_rate_and_the_time_of_their_stage(step: StepEntry) -> None:
    (table,) = step.stages.flows
    (wait,) = (line.mean_ms for line in table.stages if line.stage == "wait")
    assert wait is not None
    assert value(step, "flows_waiting_stage") == pytest.approx(step.throughput_per_second * wait / 1000)
    assert value(changed(step, {"stages.reason": "none", "stages.flows": []}), "flows_waiting_stage") is None


def test_the_flows_past_the_wait_are_those_in_the_node_without_those_that_wait(step: StepEntry) -> None:
    assert step.node_latency_ms is not None
    mean = step.node_latency_ms.mean
    assert mean is not None
    waiting = value(step, "flows_waiting_stage")
    assert waiting is not None
    assert value(step, "flows_past_wait") == pytest.approx(step.throughput_per_second * mean / 1000 - waiting)
    assert value(changed(step, {"stages.reason": "none", "stages.flows": []}), "flows_past_wait") is None
    # One flow after the other, each of 100 ms, all started at once: ten in a second, 5.5 of them on average.
    (table,) = step.stages.flows
    lines = [one.model_copy(update={"mean_ms": 450.0}) if one.stage == "wait" else one for one in table.stages]
    stages = step.stages.model_copy(update={"flows": [table.model_copy(update={"stages": lines})]})
    serial = with_values(
        step.updated(stages=stages, load=BURST),
        burst_ok={"1": 10},
        burst_node_throughput_per_second={"1": 10.0},
        burst_node_latency_mean_ms={"1": 550.0},
    )
    assert value(serial, "flows_past_wait") == pytest.approx(1.0)


def test_memory_after_the_load_is_compared_with_its_highest(step: StepEntry) -> None:
    after, highest = {"PartyA": 600.0, "PartyB": 100.0}, {"PartyA": 800.0, "PartyB": 200.0, "Notary": 900.0}
    seen = with_values(step, resident_after_bytes=after, resident_max_bytes=highest)
    assert value(seen, "resident_after_ratio") == pytest.approx(0.7)
    assert value(seen, "resident_after_ratio.PartyA") == pytest.approx(0.75)
    assert value(seen, "resident_max_bytes") == 900.0


@pytest.mark.parametrize(("read", "expected"), [("compacted", 120.0), ("server", 120.0), ("file", None), (None, None)])
def test_the_file_of_a_database_that_was_not_compacted_says_nothing(
    step: StepEntry, read: str | None, expected: float | None
) -> None:
    stored_bytes = {"PartyA": 80.0, "PartyB": 40.0}
    seen = changed(with_values(step, database_bytes_per_flow=stored_bytes), {"database_read": read})
    assert value(seen, "database_bytes_per_flow") == expected


def test_the_throughput_of_a_node_is_that_of_the_flows_it_started(step: StepEntry) -> None:
    assert value(step, "throughput.PartyA") == step.throughput_per_second
    assert value(step, "throughput.PartyB") is None
    several = (
        NodeValues(node="PartyA", throughput_per_second=4.0, latency_ms=step.latency_ms),
        NodeValues(node="PartyB", throughput_per_second=3.0, latency_ms=step.latency_ms),
    )
    assert value(step.updated(by_node=several), "throughput.PartyB") == 3.0


@pytest.mark.parametrize(
    ("name", "number", "text"),
    [
        ("throughput", 12.3, "12.30 flows/s"),
        ("latency_mean", 45.6, "45.6 ms"),
        ("burst_total", 14.34, "14.34 s"),
        ("cpu_seconds_per_flow", 0.0123, "12.3 ms"),
        ("cpu_percent.PartyA", 141.0, "141 %"),
        ("resident_bytes", 946.4 * 1024**2, "946 MiB"),
        ("cpu_peaks", 4.0, "4"),
        ("total_seconds", None, "–"),
        ("throughput", None, "–"),
    ],
)
def test_a_value_is_written_with_its_unit(name: str, number: float | None, text: str) -> None:
    assert shown(number, name) == text
