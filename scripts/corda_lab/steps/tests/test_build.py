"""The values, the warnings and the verdict of a step."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from corda_lab.errors import LabError
from corda_lab.host import machine
from corda_lab.runs.sampling import Timeline
from corda_lab.stats.steady import WarmUp
from corda_lab.steps import costs, usage
from corda_lab.steps.build import (
    generator_entry,
    measuring_window,
    others_cpu_cores,
    warm_up_of,
)
from corda_lab.steps.counts import judged
from corda_lab.steps.entry import CountsEntry, FlowCount, StepEntry, VaultCount
from corda_lab.steps.reasons import Reason, reason, sentences
from corda_lab.steps.rows import Window
from corda_lab.steps.validity import has_node_trouble, invalidity, slower_than, unsteadiness, verdict, warnings
from lab_workload.load import Load, Stopping
from lab_workload.run_end import WorkerEnd
from support import simulation
from support.entries import changed, run_end, step_of, with_values

IOU = "org.cordalab.flows.Iou"


def words_of(step: StepEntry) -> str:
    """The warnings of a step, worked out again."""
    return " ".join(sentences(warnings(step)))


def test_a_steady_run_without_loss_passes(stored_run: Callable[..., Path]) -> None:
    step = step_of(stored_run())
    assert (step.verdict.passed, step.verdict.reasons) == (True, [])
    assert step.window.seconds == pytest.approx(60)
    assert step.value("bridge_in_flight_mean") == pytest.approx(20, rel=0.05)
    assert set(step.by_part("node_cpu_cores")) == set(simulation.NODES)
    assert set(step.by_part("lab_cpu_cores")) == {"bridge", "locust", "prometheus"}


def test_errors_and_counts_that_differ_fail_a_run(stored_run: Callable[..., Path]) -> None:
    vault = VaultCount(state=simulation.IOU_STATE, node="PartyA", counted=10, expected=10)
    flow = FlowCount(flow=IOU, generator=10, bridge=10, node=9)
    counted = judged(CountsEntry(flows=[flow], vault_states=[vault]))
    step = step_of(stored_run(error_every=100, counted=counted))
    assert step.verdict.reasons == [
        reason("requests_failed", errors=step.requests.failed, total=step.requests.total),
        reason("count_differs", observer="node", count=9, flow="Iou", generator=10),
    ]
    assert str(step.verdict.reasons[1]) == "the counts differ: the node counted 9 Iou, the generator 10"


def test_a_step_has_warnings(stored_run: Callable[..., Path]) -> None:
    step = step_of(stored_run())
    assert warnings(step) == step.flags
    changes = {"generator.cpu_percent_max": 97.0, "window.spawned_at": step.window.started_at + 1}
    table = {"littles_law_percent": -12.0, "first_half_per_second": 10.0, "second_half_per_second": 14.5}
    words = words_of(with_values(changed(step, changes), **table))
    for part in ("-12.0 %", "97 % of its core", "+45 %", "still starting"):
        assert part in words


def test_the_window_begins_after_the_warm_up_and_ends_with_the_load() -> None:
    end = run_end(started_at=100.0, stop_at=175.0)
    assert measuring_window(end, 15) == Window(115.0, 175.0)
    with pytest.raises(LabError, match="before the warm-up was over"):
        measuring_window(run_end(started_at=100.0, stop_at=110.0), 15)


def test_what_others_did_on_the_machine_is_told(
    stored_run: Callable[..., Path],
) -> None:
    step = with_values(
        step_of(stored_run()),
        host_cores=4,
        host_busy_percent=100.0,
        host_stolen_percent=10.0,
        node_cpu_cores={"PartyA": 1.0, "PartyB": 0.8},
        lab_cpu_cores={"bridge": 0.2},
        cpu_seconds_per_flow={costs.DATABASE: 0.05},
    )
    others = others_cpu_cores(step.values, 10.0)
    assert others == pytest.approx(1.1)
    words = words_of(with_values(step, others_cpu_cores=others))
    assert "other processes on this machine used 1.1 of its 4 cores" in words
    assert "CPU steal was 10 %" in words
    assert others_cpu_cores(with_values(step, host_busy_percent=None).values, 10.0) is None


@pytest.mark.parametrize(
    ("resources", "reasons"),
    [
        ({"host_stolen_percent": 25.0, "host_swapped_pages": 256}, []),
        (
            {"host_stolen_percent": 61.0},
            [reason("cpu_steal", percent=61.0)],
        ),
        ({"host_swapped_pages": 257}, [reason("swapped", pages=257)]),
    ],
)
def test_a_step_on_a_machine_that_did_something_else_is_not_valid(
    stored_run: Callable[..., Path], resources: dict[str, float], reasons: list[Reason]
) -> None:
    assert invalidity(with_values(step_of(stored_run()), **resources)) == reasons


def test_the_logs_of_the_nodes_may_explain_what_they_did_and_not_what_the_machine_did(
    stored_run: Callable[..., Path],
) -> None:
    step = step_of(stored_run())
    assert not has_node_trouble(step)
    assert has_node_trouble(changed(step, {"verdict.passed": False}))
    swapped, unfinished = reason("swapped", pages=300), reason("out_of_time", started=1, wanted=2)
    invalid = {"validity.valid": False, "validity.machine": [swapped]}
    assert not has_node_trouble(changed(step, {**invalid, "validity.reasons": [swapped]}))
    assert has_node_trouble(changed(step, {**invalid, "validity.reasons": [swapped, unfinished]}))


def test_a_window_that_begins_with_nothing_is_not_steady(stored_run: Callable[..., Path]) -> None:
    step = with_values(step_of(stored_run()), first_half_per_second=0.0, second_half_per_second=5.0)
    assert unsteadiness(step) == [reason("throughput_began_late")]
    assert invalidity(step) == [], "a stall is a result: the step stays in the mean"
    assert "no flow was completed in the first half of the measuring window" in words_of(step)
    assert unsteadiness(with_values(step, second_half_per_second=0.0)) == []


def test_unknown_outcomes_fail_a_run_and_say_what_became_of_them(stored_run: Callable[..., Path]) -> None:
    step = step_of(stored_run())
    unknown = {"requests.unknown": 8, "resolved": {"ok": 6, "failed": 1, "not_started": 0, "unknown": 1, "seconds": 2}}
    said, left = verdict(changed(step, unknown))
    assert str(said) == (
        f"8 of {step.requests.total:,} requests got no answer about their outcome; 2.0 s after the load the node said:"
        " 6 succeeded, 1 failed, 0 never started"
    )
    assert str(left) == "the outcome of 1 of these 8 requests stays unknown"
    assert len(verdict(changed(step, unknown | {"resolved.ok": 7}))) == 1


def test_a_counter_that_was_restarted_is_not_compared(stored_run: Callable[..., Path]) -> None:
    flow = FlowCount(flow=IOU, generator=1, bridge=None, node=1)
    counted = judged(CountsEntry(flows=[flow], restarted=["bridge"]))
    step = step_of(stored_run(counted=counted))
    assert (step.counts.bridge, step.counts.node, step.counts.agree) == (None, 1, True)
    assert "bridge was restarted during the load, so its count of flows is not known" in words_of(step)


def test_a_load_that_was_ended_early_is_cut_where_that_was_decided() -> None:
    options = Load(
        workload="iou", users=8, duration_seconds=180, warm_up_seconds=120, stopping=Stopping(warm_up_seconds_min=20)
    )
    end = run_end(started_at=100.0, stop_at=200.0)
    found = warm_up_of(options, pl.DataFrame({"ended_at": [], "outcome": []}), end, WarmUp(35.0, True))
    assert (found.cut_seconds, found.found) == (35.0, True)


def test_means_are_of_the_window_only() -> None:
    metrics = pl.DataFrame(
        {
            "name": ["cpu"] * 4 + ["other"],
            "node": ["PartyA", "PartyA", "PartyA", "PartyB", "PartyA"],
            "labels": ["{}"] * 5,
            "time": [5.0, 10.0, 20.0, 10.0, 10.0],
            "value": [99.0, 1.0, 2.0, 7.0, 50.0],
        }
    )
    assert usage.mean_in_window(metrics, "cpu", Window(10, 20)) == {"PartyA": 1.5, "PartyB": 7.0}


def test_the_host_s_load_is_that_of_the_window() -> None:
    readings = [
        (0.0, machine.CpuTime(0, 0, 0)),
        (10.0, machine.CpuTime(1, 20, 0.5)),
        (20.0, machine.CpuTime(19, 40, 3.5)),
        (30.0, machine.CpuTime(19, 60, 3.5)),
    ]
    assert machine.busy_percent(*Timeline(readings).cpu_between(Window(10, 20))) == pytest.approx(90)
    assert machine.stolen_percent(*Timeline(readings).cpu_between(Window(10, 20))) == pytest.approx(15)
    assert Timeline([]).cpu_between(Window(10, 20)) == (None, None)


def test_the_busiest_worker_is_the_generator_s_processor() -> None:
    workers = [WorkerEnd(1, 40.0, 10), WorkerEnd(2, 95.0, 10)]
    assert generator_entry(run_end(cpu_percent_max=12.0, workers=workers)).cpu_percent_max == 95.0


def test_expected_failures_alone_pass(stored_run: Callable[..., Path]) -> None:
    step = step_of(stored_run(error_every=1, failure="expected"))
    assert step.verdict.passed
    assert step.requests.ok == 0
    assert step.throughput_per_second > 0


def test_an_open_load_that_the_system_carries_has_no_warning(stored_open_run: Callable[..., Path]) -> None:
    step = step_of(stored_open_run(rate=10, service_seconds=0.05))
    assert step.flags == []
    assert step.value("offered") == 750
    assert step.load.model == "open"


def test_a_generator_that_starts_late_is_named_as_the_limit(stored_open_run: Callable[..., Path]) -> None:
    step = step_of(stored_open_run(rate=10, service_seconds=0.05, lag_seconds=0.05))
    assert "the generator was the limit" in " ".join(sentences([*step.validity.reasons, *step.flags]))


def test_a_system_that_does_not_keep_up_is_not_blamed_on_the_generator(stored_open_run: Callable[..., Path]) -> None:
    step = step_of(stored_open_run(rate=20, service_seconds=0.1, pool=5))
    words = " ".join(sentences(step.flags))
    assert "the system did not keep up" in words
    assert "the generator was the limit" not in words
    assert (step.value("dropped") or 0) > 0


def test_a_load_that_was_ended_because_all_failed_is_a_failed_step_and_all_of_it_the_window(failed_run: Path) -> None:
    step = step_of(failed_run)
    assert step.window.seconds == pytest.approx(11)
    assert step.warm_up.cut_seconds == 0.0
    assert (step.throughput_per_second, step.requests.failed) == (0.0, 220)
    assert (step.validity.valid, step.flags) == (True, [])
    assert step.verdict.reasons == [reason("all_failed", errors=220, total=220, seconds=step.window.seconds)]
    assert [(kind.status, kind.count) for kind in step.failures] == [(400, 220)]


def test_a_processor_that_slows_down_is_a_warning(stored_run: Callable[..., Path]) -> None:
    timed = {"work": "zlib", "before": {0: 2.0, 1: 2.0}, "after": {0: 2.4, 1: 2.2, 2: 9.0}}
    step = changed(step_of(stored_run()), {"calibration": timed})
    assert "the CPU slowed down: the same work took 1.15 times as long after the load as before it" in words_of(step)
    steady = changed(step, {"calibration.after": {0: 2.1, 1: 2.2}})
    assert "the CPU slowed down" not in words_of(steady)

    later = changed(steady, {"calibration.before": {0: 3.0, 1: 3.0}})
    assert slower_than(steady, later) == [reason("cpu_slower_than_first", factor=1.5)]
    assert slower_than(later, steady) == []
    assert slower_than(steady, changed(later, {"calibration.work": "another"})) == []
