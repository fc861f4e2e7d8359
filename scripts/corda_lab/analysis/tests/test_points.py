"""The points of a sweep: their names, their intervals, and what a search found."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from corda_lab.analysis import points, values
from corda_lab.results import stored
from corda_lab.steps.entry import VerdictEntry
from corda_lab.steps.reasons import reason
from support.sweeps import SimulatedSweep, store_sweep


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (1.0, 10.0, (1.0, 10.0)),
        (1.0, 10.1, (None, None)),
        (0.0, 5.0, (None, None)),
        (0.0, 0.0, (0.0, 0.0)),
        (None, None, (None, None)),
    ],
)
def test_an_interval_is_shown_up_to_a_factor_of_ten(
    low: float | None, high: float | None, shown: tuple[float | None, float | None]
) -> None:
    assert values.interval_shown(low, high) == shown


def test_a_search_tells_the_lowest_rate_above_the_confirmed_one(search: Path) -> None:
    run = stored.read(search)
    for found in points.searched(run, points.points(run)):
        assert found.rate is not None
        assert found.failed is not None
        assert found.rate < found.failed.x == found.high
    # A longer run that does not hold is told too, though every probe of its rate held.
    missed = VerdictEntry(passed=False, reasons=[reason("latency_above", name="p99", seen_ms=3000, limit_ms=2000)])
    confirmation = next(step for step in run.steps if step.phase == "confirm")
    steps = [step.updated(thresholds=missed) if step is confirmation else step for step in run.steps]
    sweep = run.sweep.model_copy(update={"outcomes": {}})
    broken_off = stored.StoredRun(run.folder, run.manifest.model_copy(update={"sweep": sweep}), steps)
    found = points.searched(broken_off, points.points(broken_off))[0]
    assert (found.rate, found.low) == (None, confirmation.load.rate)
    assert found.failed is not None


def test_points_of_a_search_are_told_apart_by_their_rate(search: Path) -> None:
    labels = [point.label for point in points.points(stored.read(search)) if point.phase == "probe"]
    assert len(labels) == len(set(labels))
    assert labels[0] == "4/s, H2"


def test_a_group_and_a_comparison_have_the_words_of_the_point_s_label(tmp_path: Path) -> None:
    varied = SimulatedSweep(vary={"load.users": [2, 8], "load.workers": [1, 2], "set.n": [10]}, repeats=1)
    first, *_ = points.points(stored.read(store_sweep(tmp_path, varied)))
    assert (first.label, first.group_label) == ("2 users, 1 worker, n=10", "1 worker, n=10")


def numbered(folder: Path, steps: Sequence[tuple[str, float, str]]) -> stored.StoredRun:
    """A run of named steps: the name, the number and the workload of each. The axis is their number."""
    users = list(range(1, len(steps) + 1))
    run = stored.read(store_sweep(folder, SimulatedSweep(vary={"load.users": users}, repeats=1)))
    sweep = run.sweep.model_copy(update={"x": "at", "vary": {"step": [name for name, _, _ in steps]}})
    entries = [
        step.updated(point={"step": name, "at": number}, workload=workload)
        for step, (name, number, workload) in zip(run.steps, steps, strict=True)
    ]
    return stored.StoredRun(run.folder, run.manifest.model_copy(update={"sweep": sweep}), entries)


@pytest.mark.parametrize(
    ("steps", "curves"),
    [
        ([("near", 0, "iou"), ("far", 8, "iou")], {"": [0, 8]}),
        (
            [("a 1", 1, "iou"), ("a 2", 2, "iou"), ("b 1", 1, "empty"), ("b 2", 2, "empty")],
            {"iou": [1, 2], "empty": [1, 2]},
        ),
        ([("shared", 4, "iou"), ("left open", 4, "iou")], {"shared": [4], "left open": [4]}),
    ],
)
def test_named_steps_with_different_numbers_form_a_curve(
    tmp_path: Path, steps: Sequence[tuple[str, float, str]], curves: dict[str, list[float]]
) -> None:
    groups = points.grouped(points.points(numbered(tmp_path, steps)))
    assert {name: [point.x for point in members] for name, members in groups.items()} == curves


def test_a_point_that_broke_has_no_values_and_is_not_invalid(tmp_path: Path) -> None:
    run = stored.read(store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [1, 2]}, repeats=2)))
    broke = [step.updated(state="broke", why="PartyA ended") if step.repeat == 2 else step for step in run.steps]
    for point in points.points(stored.StoredRun(run.folder, run.manifest, broke)):
        assert (len(point.valid), len(point.broken), point.estimate("throughput").n) == (1, 1, 1)
    ended = [step.updated(state="broke", why="PartyA ended") for step in run.steps]
    for point in points.points(stored.StoredRun(run.folder, run.manifest, ended)):
        assert (point.estimate("throughput").value, values.interval_words(point, "throughput")) == (None, "broke")
    assert points.best(points.points(stored.StoredRun(run.folder, run.manifest, ended))) is None
