"""The fixed piece of work, on the real cores of this machine."""

import os

from corda_lab.host import calibration


def test_every_core_is_timed_and_the_process_may_use_all_of_them_afterwards() -> None:
    allowed = os.sched_getaffinity(0)
    found = calibration.calibrate()
    assert set(found.core_ms) == allowed
    assert all(0.1 < value < 1000 for value in found.core_ms.values())
    assert os.sched_getaffinity(0) == allowed
    assert found.work.startswith("zlib ")
