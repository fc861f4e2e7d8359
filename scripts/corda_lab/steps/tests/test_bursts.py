"""Bursts: their values on three clocks, and what a step of bursts says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corda_lab.results import stored
from corda_lab.steps.bursts import CLOCKS, bursts_values, rows_of_bursts
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.open_load import generator_was_limit, lag_values, with_lag
from corda_lab.steps.reasons import reason, sentences
from corda_lab.steps.rows import distribution
from corda_lab.steps.spans import stage_rows
from corda_lab.steps.validity import invalidity, unsteadiness, warnings
from lab_workload.load import Load
from support import simulation
from support.entries import changed, step_of, step_with, with_values

CLOCK_VALUES = ("total_seconds", "throughput_per_second", "latency_mean_ms")


def values_of(
    tmp_path: Path, content: list[dict[str, Any]], *, size: int, pool: int | None = None, with_stages: bool = True
) -> StepEntry:
    """As much of a step of bursts as they make."""
    rows = simulation.frame(tmp_path, content)
    stages = stage_rows(simulation.spans(tmp_path, simulation.spans_of(content)), rows) if with_stages else None
    load = Load(workload="iou", users=size, arrivals="burst", pool=pool)
    timed = with_lag(rows, load.places)
    values = bursts_values(rows, stages, load) | lag_values(timed)
    return step_with(values=values, lag_ms=distribution(timed["lag_ms"]), load=load)


def of_burst(step: StepEntry, number: int = 1) -> dict[str, float | None]:
    """The values of one burst of a step."""
    return {name.removeprefix("burst_"): of.get(str(number)) for name, of in step.values.items()}


def test_a_burst_lasts_from_its_first_intended_start_to_its_last_end(tmp_path: Path) -> None:
    content = simulation.burst_rows(4, 2, simulation.fixed(1.0), rest_seconds=3.0)
    found = values_of(tmp_path, content, size=4)
    first, second = of_burst(found, 1), of_burst(found, 2)
    assert (first["ok"], first["failed"], first["unknown"]) == (4, 0, 0)
    assert [first["total_seconds"], first["throughput_per_second"]] == pytest.approx([4.0, 1.0])
    assert first["last_started_seconds"] == pytest.approx(0.75)
    assert first["latency_mean_ms"] == pytest.approx(2125)
    assert (second["started_at"] or 0.0) - (first["started_at"] or 0.0) == pytest.approx(7.0)
    assert second["total_seconds"] == pytest.approx(4.0)


def test_what_waits_for_the_pool_is_late_and_its_latency_has_the_wait(tmp_path: Path) -> None:
    content = simulation.burst_rows(4, 1, simulation.fixed(1.0), pool=1)
    found = values_of(tmp_path, content, size=4, pool=1)
    assert found.value("burst_last_started_seconds", "1") == pytest.approx(3.0)
    assert found.value("burst_latency_mean_ms", "1") == pytest.approx(2125)
    assert found.lag_ms.max == pytest.approx(2250)
    assert generator_was_limit(found) is None, "the requests waited for the system"


def test_the_other_clocks_see_the_flows_from_within(tmp_path: Path) -> None:
    # The simulated bridge sees 2 ms less than the generator, and a node 1 ms less on each side.
    content = simulation.burst_rows(4, 1, simulation.fixed(1.0))
    burst = of_burst(values_of(tmp_path, content, size=4))
    for clock in ("rpc", "node"):
        total, rate, latency = (burst[f"{clock}_{name}"] for name in CLOCK_VALUES)
        assert total == pytest.approx(3.998, abs=1e-5)
        assert rate == pytest.approx(4 / 3.998, abs=1e-4)
        assert latency == pytest.approx(2123, abs=0.01)


def test_without_stage_rows_the_clock_of_the_node_is_not_known(tmp_path: Path) -> None:
    content = simulation.burst_rows(4, 2, simulation.fixed(0.1))
    found = values_of(tmp_path, content, size=4, with_stages=False)
    assert {clock: {found.mean(name) is None for name in names} for clock, names in CLOCKS.items()} == {
        "generator": {False},
        "RPC client": {False},
        "node": {True},
    }


def test_of_a_sampled_burst_the_node_s_time_is_not_known_but_its_latency_is(tmp_path: Path) -> None:
    content = simulation.burst_rows(4, 1, simulation.fixed(1.0))
    rows = simulation.frame(tmp_path, content)
    table = stage_rows(simulation.spans(tmp_path, simulation.spans_of(content[::2])), rows)
    found = bursts_values(rows, table, Load(workload="iou", users=4, arrivals="burst"))
    assert {"burst_node_total_seconds", "burst_node_throughput_per_second"}.isdisjoint(found)
    assert {"burst_node_latency_mean_ms", "burst_rpc_total_seconds"} <= found.keys()


def test_failures_are_in_the_total_time_and_in_no_throughput(tmp_path: Path) -> None:
    content = simulation.burst_rows(4, 1, simulation.fixed(1.0))
    failed = {"outcome": "failed", "status": 502, "error": "flow-failed: no", "tx_id": None, "bridge_flow_ms": None}
    content[3].update(failed)
    burst = of_burst(values_of(tmp_path, content, size=4))
    assert (burst["ok"], burst["failed"]) == (3, 1)
    assert burst["total_seconds"] == pytest.approx(4.0)
    assert burst["throughput_per_second"] == pytest.approx(0.75)
    assert burst["latency_mean_ms"] == pytest.approx((1000 + 1750 + 2500) / 3)
    assert burst["rpc_total_seconds"] == pytest.approx(2.998, abs=1e-5)


def test_a_burst_in_which_nothing_succeeds_has_no_latency(tmp_path: Path) -> None:
    content = simulation.burst_rows(4, 1, simulation.fixed(1.0))
    for one in content:
        one.update({"outcome": "failed", "status": 502, "error": "flow-failed: no", "bridge_flow_ms": None})
    found = values_of(tmp_path, content, size=4)
    assert found.value("burst_throughput_per_second", "1") == 0.0
    assert {"burst_latency_mean_ms", "burst_rpc_total_seconds", "burst_rpc_latency_mean_ms"}.isdisjoint(found.values)


def test_rows_belong_to_their_burst_however_late_they_started(tmp_path: Path) -> None:
    content = simulation.burst_rows(4, 3, simulation.fixed(0.5), pool=1)
    rows = simulation.frame(tmp_path, content).sample(fraction=1.0, shuffle=True)
    found = [set(part["request_id"]) for part in rows_of_bursts(rows, 4)]
    assert found == [{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}]
    assert [part.height for part in rows_of_bursts(rows.head(0), 4)] == []


def test_lag_behind_a_free_place_is_the_generator_s(tmp_path: Path) -> None:
    content = simulation.burst_rows(20, 1, simulation.fixed(0.001), lag_seconds=0.03)
    found = values_of(tmp_path, content, size=20)
    assert generator_was_limit(found) == reason(
        "generator_late", late=20, requests=20, allowed_ms=found.value("generator_lag_ms_max") or 0.0
    )


def test_the_values_of_a_step_are_those_within_its_bursts(stored_burst_run: Callable[..., Path]) -> None:
    step = step_of(stored_burst_run(bursts=4))
    assert list(step.by_part("burst_ok")) == ["1", "2", "3", "4"]
    assert step.throughput_per_second == pytest.approx(step.mean("burst_throughput_per_second"))
    assert step.throughput_per_second == pytest.approx(20, rel=0.06)
    assert step.parts[0].throughput_per_second == pytest.approx(step.throughput_per_second)
    assert (step.value("requests_per_second") or 0) < step.throughput_per_second / 3, "that is over the rests too"
    assert step.littles_law_holds
    assert step.judged_latency_column == "latency_intended_ms"
    assert step.latency_intended_ms.count == step.requests.window_ok == step.requests.total == 80
    assert (step.value("offered"), step.value("total_seconds")) == (None, None)
    assert step.value("first_half_per_second") == pytest.approx(step.value("second_half_per_second"), rel=0.001)
    assert (step.verdict.passed, step.validity.valid, sentences(step.flags)) == (True, True, [])


def test_bursts_that_did_not_come_make_a_step_invalid(stored_burst_run: Callable[..., Path]) -> None:
    step = changed(step_of(stored_burst_run(bursts=2, exit_reason="out_of_time")), {"load.bursts": 3})
    assert invalidity(step) == [reason("out_of_time", started=40, wanted=60)]


def test_bursts_that_become_faster_are_a_warning_and_not_unsteady(stored_burst_run: Callable[..., Path]) -> None:
    step = with_values(step_of(stored_burst_run()), first_half_per_second=5.0, second_half_per_second=20.0)
    assert [str(one) for one in warnings(step)] == [
        "throughput changed by +300 % from the first to the second half of the measuring window"
    ]
    assert unsteadiness(step) == []


def test_means_are_of_the_bursts_that_have_a_value(tmp_path: Path) -> None:
    content = simulation.burst_rows(2, 2, simulation.fixed(1.0))
    content[0]["outcome"] = content[1]["outcome"] = "failed"
    found = values_of(tmp_path, content, size=2)
    assert found.by_part("burst_latency_mean_ms") == {"2": pytest.approx(1250)}
    assert found.mean("burst_latency_mean_ms") == pytest.approx(1250)
    assert found.mean("burst_throughput_per_second") == pytest.approx(0.5)


def test_a_step_of_bursts_is_stored_and_read_as_it_was(stored_burst_run: Callable[..., Path]) -> None:
    run = stored_burst_run(pool=5)
    step = step_of(run)
    assert StepEntry.model_validate(step.model_dump(mode="json")) == step
    assert (step.load.model, step.load.users, step.load.pool) == ("burst", 20, 5)
    assert stored.read(run).table("requests")["intended_at"].null_count() == 0
