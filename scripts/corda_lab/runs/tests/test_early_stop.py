"""When a load may end before its time."""

import random
from collections.abc import Callable

import pytest

from corda_lab.runs.early_stop import EarlyStop
from corda_lab.steps.load import LoadOptions, Stopping


def ended_after(options: LoadOptions, rate: Callable[[float], float], *, limit: float = 600.0) -> float | None:
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


def options(*, precision: float | None = None, measure: tuple[float, float] = (60, 240)) -> LoadOptions:
    return LoadOptions("iou", 8, measure[1], 120, stopping=Stopping(10, measure[0], precision, 0.95))


def steady_rate(at: float) -> float:
    return 20.0


def test_a_load_of_which_nothing_was_seen_to_end_goes_on_to_its_limit() -> None:
    assert ended_after(options(precision=0.05), lambda at: 0.0) is None


def test_a_load_of_fixed_times_is_never_ended() -> None:
    assert ended_after(LoadOptions("iou", 8, 60, 15), steady_rate) is None


def test_a_steady_load_ends_when_its_throughput_is_known_well_enough() -> None:
    found = ended_after(options(precision=0.05), steady_rate)
    assert found is not None
    assert 70 <= found < 160


def test_without_a_precision_it_ends_after_the_longest_measuring_from_the_end_of_its_warm_up() -> None:
    found = ended_after(options(measure=(60, 60)), steady_rate)
    assert found == pytest.approx(70, abs=20)


def test_a_load_that_warms_up_for_half_a_minute_is_measured_after_that() -> None:
    found = ended_after(options(measure=(60, 60)), lambda at: 20.0 if at > 30 else 5.0)
    assert found is not None
    assert 90 <= found <= 115


def test_a_load_that_never_gets_steady_is_ended_by_its_limits() -> None:
    found = ended_after(options(measure=(30, 60)), lambda at: 1 + at / 3)
    assert found == pytest.approx(183, abs=4)
