"""Sweep files of tests, and the steps that are planned from them."""

from itertools import pairwise
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.settings import Settings
from corda_lab.sweeps import plan
from corda_lab.sweeps.check import checked
from corda_lab.sweeps.file import SweepFile, read_sweep
from corda_lab.sweeps.plan import PlannedStep

HEAD = """\
description: A sweep.
warm_up: {min: 5s, max: 15s}
measure: 30s
"""
SOUND = """\
description: A sweep.
workload: iou
warm_up: {min: 5s, max: 15s}
measure: 15s
"""
COUNTED = """\
description: A sweep.
workload: iou
"""
BURSTS = f"""\
{COUNTED}load: {{arrivals: burst, within: 1s, rest: 5s, pool: 8}}
condition: {{load: {{arrivals: closed, users: 8}}}}
measure: {{bursts: 10}}
"""


def written(tmp_path: Path, text: str) -> SweepFile:
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    return read_sweep(path)


def sweep_of(tmp_path: Path, text: str) -> SweepFile:
    return written(tmp_path, HEAD + text)


def mistakes(tmp_path: Path, text: str) -> list[str]:
    """What is wrong with a file, a line each, without its folder."""
    with pytest.raises(LabError) as caught:
        written(tmp_path, text)
    assert caught.value.exit_code == 2
    return [line.strip().removeprefix(f"{tmp_path}/") for line in caught.value.message.splitlines()]


def steps_of(sweep: SweepFile, settings: Settings) -> list[PlannedStep]:
    return plan.steps_of(checked(sweep, settings))


def keys(steps: list[PlannedStep]) -> list[str]:
    return [step.key for step in steps]


def restarts(steps: list[PlannedStep]) -> int:
    return sum(one.lab_key("shape") != other.lab_key("shape") for one, other in pairwise(steps)) + 1
