"""When a load ends whose warm-up lasts until it is steady."""

import random
from bisect import bisect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corda_lab.runs.live import EarlyStop
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.load import COLD_FLOWS, Conditioning, until_steady
from lab_workload.load import Load, Stopping
from support import simulation
from support.runs import measured_of, plan_of


def ended_after(options: Load, rate: Callable[[float], float], *, limit: float = 600.0) -> float | None:
    """Seconds after which a load whose completions come at ``rate`` is ended; None when it never is."""
    watch, source, completed, at = EarlyStop(options), random.Random(3), 0.0, 0.0
    while at < limit:
        watch.note(at, completed)
        if watch.enough:
            return at
        step = source.uniform(2.9, 3.3)
        completed += round(rate(at) * step * source.uniform(0.95, 1.05))
        at += step
    return None


OPTIONS = Load(
    workload="iou", users=8, duration_seconds=60, warm_up_seconds=120, stopping=Stopping(warm_up_seconds_min=10)
)


def steady_rate(at: float) -> float:
    return 20.0


FIXED = Load(workload="iou", users=8, duration_seconds=60, warm_up_seconds=15)
UNTIL_STEADY = until_steady(FIXED.updated(warm_up_seconds=30), 180)


@pytest.mark.parametrize(
    ("options", "rate", "span"),
    [
        pytest.param(OPTIONS, steady_rate, (50, 90), id="steady"),
        pytest.param(OPTIONS, lambda at: 20.0 if at > 30 else 5.0, (90, 115), id="warms up for half a minute"),
        pytest.param(OPTIONS, lambda at: 1 + at / 3, (179, 187), id="never steady"),
        pytest.param(OPTIONS, lambda at: 0.0, None, id="nothing ends"),
        pytest.param(OPTIONS.updated(flows=100_000), steady_rate, None, id="ends after a number of flows"),
        pytest.param(FIXED, steady_rate, None, id="has fixed times"),
        pytest.param(UNTIL_STEADY, steady_rate, (85, 105), id="steady after its shortest warm-up"),
        pytest.param(UNTIL_STEADY, lambda at: 20.0 if at > 80 else 5.0 + at / 6, (130, 200), id="gets faster for long"),
        pytest.param(UNTIL_STEADY, lambda at: 1 + at / 10, None, id="gets faster all the time"),
    ],
)
def test_a_load_is_ended_when_it_was_measured_for_long_enough(
    options: Load, rate: Callable[[float], float], span: tuple[float, float] | None
) -> None:
    limit = options.total_seconds if options is UNTIL_STEADY else 600.0
    ended = ended_after(options, rate, limit=limit)
    assert (ended is None) == (span is None)
    assert ended is None or span is None or span[0] <= ended <= span[1]


def cold_load(folder: Path, options: Load, seed: int) -> StepEntry:
    """The step that a cold lab gives, its load ended as soon as it may be."""

    def rows(seconds: float) -> list[dict[str, Any]]:
        return simulation.closed_rows(options.users, seconds, simulation.cold(0.16, seed))

    ends = sorted(row["ended_at"] - simulation.ORIGIN for row in rows(options.total_seconds))
    watch, at = EarlyStop(options), 0.0
    while at < options.total_seconds and not watch.enough:
        watch.note(at, bisect(ends, at))
        at += 3.1
    stopped = rows(min(at, options.total_seconds))
    end = simulation.end_words(stopped, options.users, min(at, options.total_seconds))
    return measured_of(folder, plan_of(options), stopped, end, warm_up=watch.enough).step


@pytest.mark.parametrize("seed", range(5))
def test_a_cold_lab_gives_a_clean_first_number_when_its_load_warms_up_until_it_is_steady(
    tmp_path: Path, seed: int
) -> None:
    early = cold_load(tmp_path, FIXED, seed)
    assert {"throughput_changed"} <= {one.code for one in (*early.flags, *early.validity.reasons)}
    step = cold_load(tmp_path, UNTIL_STEADY, seed)
    assert (step.flags, step.validity.valid, step.littles_law_holds) == ([], True, True)
    assert step.warm_up.found
    assert 30 < step.warm_up.cut_seconds < 180
    assert 60 <= step.window.seconds < 70


def test_nodes_that_do_the_same_work_for_a_while_are_conditioned_only_after_enough_flows() -> None:
    wanted = Conditioning(FIXED).until_steady
    quick, slow = ended_after(wanted, steady_rate), ended_after(wanted, lambda at: 3.0)
    assert quick is not None
    assert slow is not None
    assert 60 <= quick < 80
    assert slow >= COLD_FLOWS / 3.0 * 0.9
