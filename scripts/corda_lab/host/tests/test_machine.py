"""Readings of the machine."""

import os
import sys

import pytest

from corda_lab.host import machine
from corda_lab.host.machine import CpuTime, busy_percent, stolen_percent, sum_cpu_time

LINUX = {
    "user": 1.0,
    "nice": 0.2,
    "system": 0.8,
    "idle": 7.0,
    "iowait": 1.0,
    "irq": 0.0,
    "softirq": 0.1,
    "steal": 0.4,
    "guest": 0.05,
    "guest_nice": 0.0,
}
MACOS = {"user": 1.0, "nice": 0.0, "system": 0.5, "idle": 8.5}


def test_waiting_and_idling_are_not_busy_but_stolen_time_is() -> None:
    # Guest time is part of user time and is not added again.
    reading = sum_cpu_time(LINUX)
    assert (reading.busy_seconds, reading.total_seconds) == pytest.approx((2.5, 10.5))
    assert reading.stolen_seconds == 0.4


def test_a_system_that_does_not_count_stolen_time_has_none() -> None:
    reading = sum_cpu_time(MACOS)
    assert reading == CpuTime(busy_seconds=1.5, total_seconds=10.0, stolen_seconds=None)
    later = CpuTime(busy_seconds=3.5, total_seconds=20.0, stolen_seconds=None)
    assert stolen_percent(reading, later) is None
    assert busy_percent(reading, later) == pytest.approx(20)


def test_busy_is_a_share_of_all_processors() -> None:
    assert busy_percent(CpuTime(10, 100, 1), CpuTime(19, 110, 3)) == pytest.approx(90)
    assert stolen_percent(CpuTime(10, 100, 1), CpuTime(19, 110, 3)) == pytest.approx(20)
    assert busy_percent(None, CpuTime(1, 1, 0)) is None
    assert busy_percent(CpuTime(1, 1, 0), CpuTime(1, 1, 0)) is None


def test_reads_the_time_of_this_machine() -> None:
    before = machine.cpu_time()
    sum(range(3_000_000))
    after = machine.cpu_time()
    assert before.busy_seconds < after.busy_seconds < after.total_seconds
    assert (after.stolen_seconds is not None) == (sys.platform == "linux")


def test_describes_this_machine() -> None:
    assert (machine.cores() or 0) >= 1
    assert machine.cpu_model()
    assert (machine.memory_total_bytes() or 0) > 2**28


def test_every_core_is_timed_and_the_process_may_use_all_of_them_afterwards() -> None:
    allowed = os.sched_getaffinity(0)
    found = machine.calibrate()
    assert set(found.core_ms) == allowed
    assert all(0.1 < value < 1000 for value in found.core_ms.values())
    assert os.sched_getaffinity(0) == allowed
    assert found.work.startswith("zlib ")
