"""What happens if the greenlets that look after a run break: the run fails, and everybody sees it."""

import os

import pytest

from locust_process import GENERATOR
from testkit import Locust

BREAK = """
import time
import {module} as module

breaks_at = time.monotonic() + 6
whole = module.{name}.{method}


def broken(self, *arguments):
    global breaks_at
    if time.monotonic() > breaks_at:
        breaks_at = float("inf")
        {action}
    return whole(self, *arguments)


module.{name}.{method} = broken
"""
"""Read by Python before Locust: a method that works at first, and then breaks once."""

OPEN = ("--arrivals", "constant", "--rate", "20")


def break_method(locust: Locust, target: str, action: str) -> None:
    """Let a method of the generator, given as ``module.Class.method``, break after some seconds."""
    module, name, method = target.rsplit(".", 2)
    folder = locust.rows_folder.parent / "broken"
    folder.mkdir()
    text = BREAK.format(module=module, name=name, method=method, action=action)
    (folder / "sitecustomize.py").write_text(text, encoding="utf-8")
    locust.environment["PYTHONPATH"] = os.pathsep.join([str(folder), str(GENERATOR)])


@pytest.mark.parametrize(
    ("target", "action", "message", "arguments"),
    [
        ("lab_load.cpu.CpuMeter.sample", "raise ZeroDivisionError('no window')", "ZeroDivisionError: no window", ()),
        (
            "lab_load.cpu.CpuMeter.sample",
            "import gevent; raise gevent.GreenletExit",
            "nothing looks after it any more",
            (),
        ),
        ("lab_load.schedule.Schedule.take", "raise LookupError('no arrival')", "LookupError('no arrival')", OPEN),
    ],
)
def test_a_run_that_nothing_looks_after_fails(
    locust: Locust, target: str, action: str, message: str, arguments: tuple[str, ...]
) -> None:
    break_method(locust, target, action)

    status, output = locust.run_headless(*arguments, "--run-time", "60s", "--stop-timeout", "10")

    assert status == 1, output
    assert "Run test failed: " in output
    assert message in output
    end = locust.whole_end()
    assert end["exit_reason"] == "failed"
    assert len(locust.rows()) == sum(end["rows"].values())
