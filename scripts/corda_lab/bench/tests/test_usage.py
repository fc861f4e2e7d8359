"""CPU time and memory of a window, from readings before, in and after it."""

import pytest

from corda_lab.bench.usage import Reading, Readings, Usage
from corda_lab.steps.rows import Window


def readings(*, until: float) -> Readings:
    """A reading every quarter of a second from 100 on: one core is busy, and the memory peaks at 103."""
    count = int((until - 100) * 4) + 1
    moments = [100 + number / 4 for number in range(count)]
    return Readings([Reading(at, at - 90, 500 if at == 103 else 200) for at in moments])


def test_cpu_time_is_interpolated_to_the_ends_of_the_window() -> None:
    usage = readings(until=110).within(Window(101.1, 105.3))
    assert usage.cpu_seconds == pytest.approx(4.2)
    assert usage.memory_bytes_max == 500


def test_memory_outside_the_window_does_not_count() -> None:
    assert readings(until=110).within(Window(104, 108)).memory_bytes_max == 200


def test_a_container_may_end_with_the_window() -> None:
    usage = readings(until=105).within(Window(101, 105.2))
    assert usage.cpu_seconds == pytest.approx(4.0)


@pytest.mark.parametrize("window", [Window(99, 105), Window(101, 112), Window(120, 130)])
def test_usage_is_unknown_if_the_readings_do_not_cover_the_window(window: Window) -> None:
    assert readings(until=110).within(window) == Usage()
    assert Readings().within(window) == Usage()
