"""Readings of the machine."""

import pytest

from corda_lab.host import machine
from corda_lab.host.machine import CpuTime, busy_percent, parse_cpu_time, stolen_percent

STAT = "cpu  100 20 80 700 100 0 10 40 5 0\ncpu0 1 2 3\n"


def test_waiting_and_idling_are_not_busy_but_stolen_time_is() -> None:
    reading = parse_cpu_time(STAT, ticks_per_second=100)
    # Guest time is part of user time and is not added again.
    assert reading == CpuTime(busy_seconds=2.5, total_seconds=10.5, stolen_seconds=0.4)


def test_busy_is_a_share_of_all_processors() -> None:
    assert busy_percent(CpuTime(10, 100), CpuTime(19, 110)) == pytest.approx(90)
    assert stolen_percent(CpuTime(10, 100, 1), CpuTime(19, 110, 3)) == pytest.approx(20)
    assert busy_percent(None, CpuTime(1, 1)) is None
    assert busy_percent(CpuTime(1, 1), CpuTime(1, 1)) is None


def test_describes_this_machine() -> None:
    found = machine.describe()
    assert found["cpu_count"] >= 1
    assert found["cpu_model"]
    assert found["memory_bytes"] > 2**28
    assert machine.disk_free_bytes() > 0
