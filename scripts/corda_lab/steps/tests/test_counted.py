"""Loads that end after a number of flows: which of them are measured, and from when to when."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.steps.reasons import reason, sentences
from corda_lab.steps.rows import Window, counted, read_rows, span
from corda_lab.steps.validity import invalidity
from support import simulation
from support.entries import changed, step_of


def test_the_first_flows_are_in_no_value_and_the_window_is_that_of_the_others(
    stored_counted_run: Callable[..., Path],
) -> None:
    step = step_of(stored_counted_run())
    assert (step.requests.total, step.requests.window_ok, step.latency_ms.count) == (45, 40, 40)
    assert step.window.started_at == pytest.approx(simulation.ORIGIN + 0.5)
    assert step.window.warm_up_seconds == pytest.approx(0.5)
    assert step.value("total_seconds") == step.window.seconds == pytest.approx(4.0)
    assert step.throughput_per_second == pytest.approx(10)
    assert step.counts.generator == 45, "the counts are of all flows"
    assert (step.verdict.passed, step.validity.valid, sentences(step.flags)) == (True, True, [])


def test_flows_that_started_before_the_others_do_not_count_when_they_end_with_them(
    stored_counted_run: Callable[..., Path],
) -> None:
    step = step_of(stored_counted_run(users=4))
    assert (step.requests.total, step.requests.window_ok, step.latency_ms.count) == (45, 40, 40)
    assert step.parts[0].requests == step.requests
    assert step.stages.flows[0].rows == 40
    assert step.node_latency_ms is not None
    assert step.node_latency_ms.count == 40


def test_the_time_in_the_node_is_that_of_the_spans(stored_run: Callable[..., Path]) -> None:
    step = step_of(stored_run())
    assert step.node_latency_ms is not None
    assert step.node_latency_ms.count == step.requests.window_ok
    assert step.node_latency_ms.mean == pytest.approx((step.latency_ms.mean or 0.0) - 2, abs=0.5)


def test_a_load_that_ran_out_of_time_is_invalid_and_says_how_far_it_came(
    stored_counted_run: Callable[..., Path],
) -> None:
    step = step_of(stored_counted_run(exit_reason="out_of_time"))
    assert step.validity.reasons == [reason("out_of_time", started=45, wanted=45)]
    said = str(reason("out_of_time", started=45, wanted=402))
    assert said == "the load had started only 45 of its 402 flows when its time was over"


@pytest.mark.parametrize("exit_reason", ["stopped", "interrupted"])
def test_a_load_that_was_stopped_before_its_last_flow_is_invalid(
    stored_counted_run: Callable[..., Path], exit_reason: str
) -> None:
    step = step_of(stored_counted_run(exit_reason=exit_reason))
    assert [str(one) for one in step.validity.reasons] == [
        "the load was stopped when it had started 45 of its 45 flows"
    ]


def test_a_load_by_time_never_runs_out_of_it(stored_run: Callable[..., Path]) -> None:
    step = step_of(stored_run())
    assert step.load.flows_max is None
    assert step.value("total_seconds") is None
    assert invalidity(changed(step, {"generator.exit_reason": "out_of_time"})) == []


def test_flows_count_in_the_order_of_their_starts(tmp_path: Path) -> None:
    rows = simulation.closed_rows(1, 1.0, simulation.fixed(0.1))[:10]
    frame = read_rows([simulation.write_rows(tmp_path / "more.ndjson", rows)])
    assert counted(frame, 4)["request_id"].to_list() == [5, 6, 7, 8, 9, 10]
    assert counted(frame, None) is frame
    assert counted(frame, 0) is frame


def test_the_window_of_rows_has_their_last_end_in_it(tmp_path: Path) -> None:
    frame = read_rows(
        [
            simulation.write_rows(
                tmp_path / "rows.ndjson",
                [simulation.row(1, 1.5, 4.0, intended=1.0), simulation.row(2, 2.0, 3.0, intended=1.5)],
            )
        ]
    )
    last = simulation.ORIGIN + 4.0
    assert span(frame) == Window(simulation.ORIGIN + 1.0, math.nextafter(last, math.inf))
    with pytest.raises(LabError, match="ended before the first flow that is measured"):
        span(frame.head(0))
