"""Rates that are multiples of the peak: measured after it, in every repeat."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.settings import Settings
from corda_lab.sweeps.planned import PlannedStep, peak_sources
from support.sweep_files import restarts, steps_of, sweep_of

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


@pytest.mark.parametrize("order", ["interleaved", "randomised", "listed"])
def test_the_peak_is_measured_before_its_multiples_in_every_repeat(
    tmp_path: Path, settings: Settings, order: str
) -> None:
    steps = steps_of(sweep_of(tmp_path, f"{OVERLOAD}order: {order}\n"), settings)
    for repeat in (1, 2, 3):
        assert names(steps, repeat) == ["knee", "few", "four times"]
    step = next(step for step in steps if step.is_multiple)
    assert [one.point["step"] for one in peak_sources(step, [one for one in steps if one.repeat == 1])] == ["knee"]
    unmarked = steps_of(sweep_of(tmp_path, OVERLOAD.replace(", peak: true", "")), settings)
    sources = peak_sources(step, [one for one in unmarked if one.repeat == 1])
    assert {one.point["step"] for one in sources} == {"knee", "few"}


def test_a_shape_that_needs_the_peak_of_another_comes_after_it(tmp_path: Path, settings: Settings) -> None:
    limited = "  - {name: on PostgreSQL, shape: {database: postgres}, load: {arrivals: poisson, rate: 2 x peak}}\n"
    steps = steps_of(sweep_of(tmp_path, OVERLOAD + limited), settings)
    for repeat in (1, 2, 3):
        assert names(steps, repeat)[0] == "knee"
        assert names(steps, repeat)[-1] == "on PostgreSQL"
    assert restarts(steps) == 6
    own = "  - {name: knee of its own, peak: true, shape: {database: postgres}}\n"
    steps = steps_of(sweep_of(tmp_path, OVERLOAD + limited + own), settings)
    multiple = next(step for step in steps if step.point["step"] == "on PostgreSQL")
    assert [one.point["step"] for one in peak_sources(multiple, steps[:5])] == ["knee of its own"]


def test_a_multiple_becomes_a_rate(tmp_path: Path, settings: Settings) -> None:
    text = OVERLOAD.replace("rate: 4 x peak", "rate: 2.5 x peak")
    step = next(step for step in steps_of(sweep_of(tmp_path, text), settings) if step.is_multiple)
    offered = step.at_peak(8.43217)
    assert (step.peak_factor, offered.options("x").rate, offered.is_multiple) == (2.5, 21.08, False)
    assert offered.condition is not None
    assert offered.condition.load["rate"] == 21.08
    assert (offered.key, offered.label) == (step.key, "four times")


def test_a_multiple_needs_a_peak_of_its_own_workload(tmp_path: Path, settings: Settings) -> None:
    text = OVERLOAD.replace("{name: four times,", "{name: four times, workload: empty,")
    with pytest.raises(LabError, match="4 x peak needs a point of the workload empty whose rate is no multiple"):
        steps_of(sweep_of(tmp_path, text), settings)
