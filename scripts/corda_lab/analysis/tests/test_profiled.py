"""The point of a sweep that is worth a profile."""

from pathlib import Path

import polars as pl

from corda_lab.analysis import points, profiled, saturation
from corda_lab.analysis.profiled import Choice
from corda_lab.results import stored
from corda_lab.results.stored import StoredRun
from support.entries import changed
from support.sweeps import SimulatedSweep, store_sweep


def chosen(run: StoredRun) -> Choice | None:
    samples = run.table("metrics").filter(pl.col("name").is_in(saturation.SERIES))
    return profiled.choose(run, points.points(run), samples)


def with_steps(run: StoredRun, changes: dict[str, object]) -> StoredRun:
    """The same run with a change in all steps."""
    return StoredRun(run.folder, run.manifest, [changed(step, changes) for step in run.steps])


def test_it_is_the_best_of_the_saturated_points(tmp_path: Path) -> None:
    found = chosen(stored.read(store_sweep(tmp_path, SimulatedSweep(busy_percent=110))))
    assert found is not None
    assert found.point.label == "16 users, H2"
    assert found.reason.startswith("the machine was ")


def test_it_is_the_best_point_if_nothing_was_saturated(tmp_path: Path) -> None:
    found = chosen(stored.read(store_sweep(tmp_path, SimulatedSweep(busy_percent=50))))
    assert found is not None
    assert found.point.label == "16 users, H2"
    assert found.reason.startswith("no point was saturated, and this is the best: no monitored resource was saturated")


def test_a_point_at_which_only_the_generator_was_saturated_is_not_saturated(tmp_path: Path) -> None:
    run = stored.read(store_sweep(tmp_path, SimulatedSweep(busy_percent=50)))
    found = chosen(with_steps(run, {"generator.cpu_percent_max": 99.0}))
    assert found is not None
    assert found.reason.startswith("no point was saturated")


def test_a_sweep_without_a_valid_step_has_no_such_point(tmp_path: Path) -> None:
    run = stored.read(store_sweep(tmp_path, SimulatedSweep(busy_percent=110)))
    assert chosen(with_steps(run, {"validity.valid": False})) is None


def test_a_search_has_such_a_rate_too(search: Path) -> None:
    found = chosen(stored.read(search))
    assert found is not None
    assert found.point.valid
    assert found.point.x is not None
