"""Rates that are multiples of the peak: measured after it, in every repeat."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.settings import Settings
from corda_lab.sweeps.step import PlannedStep
from support.sweep_files import steps_of, sweep_of

OVERLOAD = """\
workload: iou
repeats: 3
steps:
  - {name: four times, load: {arrivals: poisson, rate: 4 x peak}}
  - {name: knee, load: {users: 8}, peak: true}
  - {name: few, load: {users: 2}}
"""


def names(steps: list[PlannedStep], repeat: int) -> list[object]:
    return [step.point["step"] for step in steps if step.repeat == repeat]


def test_the_peak_is_measured_first_in_every_repeat(tmp_path: Path, settings: Settings) -> None:
    steps = steps_of(sweep_of(tmp_path, OVERLOAD), settings)
    assert names(steps, 1) == ["knee", "four times", "few"]
    assert names(steps, 2) == ["knee", "few", "four times"]
    step = next(step for step in steps if step.peak_factor is not None)
    assert [(one.point["step"], one.repeat) for one in step.peaks(steps)] == [("knee", 1)]


def test_every_shape_has_the_peak_of_its_own(tmp_path: Path, settings: Settings) -> None:
    steps = steps_of(sweep_of(tmp_path, OVERLOAD + "vary: {shape.database: [h2, postgres]}\n"), settings)
    for step in (step for step in steps if step.peak_factor is not None):
        (peak,) = step.peaks(steps)
        assert peak.shape_key == step.shape_key
        assert peak.index < step.index


def test_a_multiple_becomes_a_rate(tmp_path: Path, settings: Settings) -> None:
    text = OVERLOAD.replace("rate: 4 x peak", "rate: 2.5 x peak")
    step = next(step for step in steps_of(sweep_of(tmp_path, text), settings) if step.peak_factor is not None)
    offered = step.at_peak(8.43217)
    assert (step.peak_factor, offered.options("x").rate, offered.peak_factor is not None) == (2.5, 21.08, False)
    assert offered.condition is not None
    assert offered.condition.load["rate"] == 21.08
    assert (offered.key, offered.label) == (step.key, "four times")


def test_a_multiple_needs_a_peak_of_its_own_workload(tmp_path: Path, settings: Settings) -> None:
    text = OVERLOAD.replace("{name: four times,", "{name: four times, workload: empty,")
    with pytest.raises(LabError, match="4 x peak needs a peak of the workload empty on the same shape"):
        steps_of(sweep_of(tmp_path, text), settings)
