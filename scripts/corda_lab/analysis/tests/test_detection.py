"""How many repeats a sweep needs, from the scatter of a simulated one."""

import math
from pathlib import Path

import pytest

from corda_lab.analysis.detection import detections, latest_run_of, pooled
from corda_lab.analysis.points import points
from corda_lab.errors import LabError
from corda_lab.results import stored
from corda_lab.stats.power import power_of
from support.sweeps import SimulatedSweep, store_sweep


def test_the_scatter_is_pooled_over_points() -> None:
    scatter, freedom = pooled([[1.0, 3.0], [5.0], [2.0, 2.0, 2.0]])
    assert scatter == pytest.approx(math.sqrt(2 / 3))
    assert freedom == 3
    assert pooled([[1.0], []]) == (0.0, 0)


def test_more_scatter_and_smaller_differences_need_more_repeats(sweep: Path) -> None:
    run = stored.read(sweep)
    (throughput, *_) = detections(run, 0.05)
    assert throughput.metric == "throughput"
    assert throughput.repeats is not None
    pairs = math.comb(len(points(run)), 2)
    assert power_of(throughput.repeats, throughput.scatter, 0.05, "paired", 1 - 0.05 / pairs) >= 0.8
    smaller = detections(run, 0.02)[0].repeats
    assert smaller is not None
    assert smaller > throughput.repeats


def test_a_sweep_with_one_repeat_shows_no_scatter(tmp_path: Path) -> None:
    run = stored.read(store_sweep(tmp_path, SimulatedSweep(repeats=1)))
    with pytest.raises(LabError, match="has two valid repeats"):
        detections(run, 0.05)


def test_a_sweep_that_never_ran_has_no_scatter(sweep: Path) -> None:
    run = stored.read(sweep)
    assert latest_run_of(run.sweep.name, results=sweep.parent).identity == run.identity
    with pytest.raises(LabError, match="there is no finished run of the sweep 'other'"):
        latest_run_of("other", results=sweep.parent)
