"""A run's plan, its figures and its verdict; the load itself is tested on the real lab."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab import host, simulation
from corda_lab.counts import Counts
from corda_lab.errors import LabError
from corda_lab.paths import WORKLOADS
from corda_lab.rows import Window
from corda_lab.run import LoadOptions, Timeline, check_options, flags, mean_in_window, measuring_window, read_workload

OPTIONS = LoadOptions("iou", users=20, duration_seconds=60, warm_up_seconds=15)


def step_of(run: Path) -> dict[str, Any]:
    step: dict[str, Any] = json.loads((run / "steps.json").read_text(encoding="utf-8"))["steps"][0]
    return step


def test_users_start_within_five_seconds_or_a_shorter_warm_up() -> None:
    assert OPTIONS.spawn_per_second == 4
    assert replace(OPTIONS, warm_up_seconds=0).spawn_per_second == 20
    assert replace(OPTIONS, users=1).spawn_per_second == 1
    assert OPTIONS.total_seconds == 75


@pytest.mark.parametrize(
    ("change", "option"),
    [
        ({"users": 0}, "--users"),
        ({"users": 10_001}, "--users"),
        ({"duration_seconds": 1.5}, "--duration"),
        ({"warm_up_seconds": 0.5}, "--warm-up"),
        ({"seed": 2**63}, "--seed"),
    ],
)
def test_names_the_option_that_is_wrong(change: dict[str, Any], option: str) -> None:
    with pytest.raises(LabError, match=f"^{option}: "):
        check_options(replace(OPTIONS, **change))


def test_names_an_unknown_workload_and_what_was_probably_meant() -> None:
    with pytest.raises(LabError, match="unknown workload 'iuo', did you mean 'iou'") as caught:
        read_workload(replace(OPTIONS, workload="iuo"))
    assert caught.value.exit_code == 2


def test_every_workload_of_the_repository_can_be_read() -> None:
    for path in WORKLOADS.glob("*.yaml"):
        assert read_workload(replace(OPTIONS, workload=path.stem)).name == path.stem


def test_a_steady_run_without_loss_passes(stored_run: Callable[..., Path]) -> None:
    step = step_of(stored_run())
    assert step["verdict"] == {"passed": True, "reasons": []}
    assert step["window"]["seconds"] == pytest.approx(60)
    assert step["littles_law"]["bridge_in_flight_mean"] == pytest.approx(20, rel=0.05)
    assert set(step["resources"]["node_cpu_cores"]) == set(simulation.NODES)
    assert set(step["resources"]["lab_cpu_cores"]) == {"bridge", "locust", "prometheus"}


def test_errors_and_counts_that_differ_fail_a_run(stored_run: Callable[..., Path]) -> None:
    counted = Counts(generator=10, bridge=10, node=9, vaults={"PartyA": 10})
    step = step_of(stored_run(error_every=100, counted=counted))
    errors = step["requests"]["errors"]
    assert step["verdict"]["reasons"] == [
        f"{errors} requests ended in an error",
        "the counts do not agree: node 9, generator 10",
    ]


def test_doubtful_figures_are_flagged(stored_run: Callable[..., Path]) -> None:
    step = step_of(stored_run())
    assert flags(step) == step["flags"]
    step["generator"]["cpu_percent_max"] = 97.0
    step["steadiness"]["change_percent"] = 45.0
    step["littles_law"].update(holds=False, deviation_percent=-12.0)
    step["window"]["spawned_at"] = step["window"]["started_at"] + 1
    words = " ".join(flags(step))
    for part in ("-12.0 %", "97 % of its core", "+45 %", "still starting"):
        assert part in words


def test_the_window_begins_after_the_warm_up_and_ends_with_the_load() -> None:
    end = {"started_at": 100.0, "stop_at": 175.0}
    assert measuring_window(end, 15) == Window(115.0, 175.0)
    with pytest.raises(LabError, match="before the warm-up was over"):
        measuring_window({"started_at": 100.0, "stop_at": 110.0}, 15)


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
    assert mean_in_window(metrics, "cpu", Window(10, 20)) == {"PartyA": 1.5, "PartyB": 7.0}


def test_the_host_s_load_is_that_of_the_window() -> None:
    readings = [
        (0.0, host.CpuTime(0, 0)),
        (10.0, host.CpuTime(1, 20)),
        (20.0, host.CpuTime(19, 40)),
        (30.0, host.CpuTime(19, 60)),
    ]
    assert Timeline(readings).busy_percent(Window(10, 20)) == pytest.approx(90)
    assert Timeline([]).busy_percent(Window(10, 20)) is None
