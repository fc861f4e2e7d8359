"""Steps of bursts, and steps that end by count: their plan and their time."""

from pathlib import Path

import pytest

from corda_lab.lab.settings import Settings
from corda_lab.results.sweep import SweepPlan
from corda_lab.results.sweep_parts import BurstCount
from corda_lab.runs.preflight import OUTSTANDING_MAX
from corda_lab.sweeps import plan
from corda_lab.sweeps.command import show_plan
from corda_lab.sweeps.execute import sweep_plan
from corda_lab.sweeps.file import quick
from corda_lab.sweeps.lab import admitting
from corda_lab.sweeps.step import BURST_SECONDS_MAX, FLOW_SECONDS_MAX, PlannedStep
from support.sweep_files import steps_of, sweep_of, written

COUNTED = """\
description: A sweep.
workload: iou
"""
BURSTS = f"""\
{COUNTED}load: {{arrivals: burst, within: 2s, rest: 5s}}
condition: {{load: {{arrivals: closed, users: 20}}, for: 2m, set: {{iouValue: 3}}}}
measure: {{bursts: 10}}
vary: {{load.users: [8, 40]}}
"""


def test_bursts_are_counted_and_have_no_warm_up(tmp_path: Path, settings: Settings) -> None:
    step = steps_of(written(tmp_path, BURSTS), settings)[1]
    options = step.options("x")
    assert (options.users, options.arrivals, options.within_seconds, options.bursts) == (40, "burst", 2, 10)
    assert (options.warm_up_seconds, options.stopping) == (0, None)
    assert options.duration_seconds >= 10 * BURST_SECONDS_MAX
    assert PlannedStep.model_validate_json(step.model_dump_json()) == step


def test_closed_load_with_its_own_arguments_conditions_the_nodes_for_bursts(tmp_path: Path, settings: Settings) -> None:
    before = steps_of(written(tmp_path, BURSTS), settings)[0].conditioning()
    assert before is not None
    options = before.options
    assert (options.users, options.arrivals, options.bursts, options.within_seconds) == (20, "closed", 1, 1)
    assert options.overrides == {"iouValue": "3"}
    assert (before.seconds_min, before.seconds_max, before.until_steady.total_seconds) == (120, 120, 120)


def test_a_step_that_ends_by_count_says_so_to_the_generator(tmp_path: Path, settings: Settings) -> None:
    text = COUNTED + "load: {users: 1}\nmeasure: {flows: 400, after: 2}\n"
    (step,) = steps_of(written(tmp_path, text), settings)
    options = step.options("x")
    assert (options.flows, options.flows_after, options.stopping) == (400, 2, None)
    assert options.duration_seconds == 402 * FLOW_SECONDS_MAX
    before = step.conditioning()
    assert before is not None
    assert (before.options.flows, before.options.users) == (None, 1)
    assert before.until_steady.stopping is not None


def test_bursts_and_flows_take_as_long_as_the_file_says(tmp_path: Path, settings: Settings) -> None:
    for text in (BURSTS, COUNTED + "load: {users: 3}\nmeasure: {flows: 8, after: 2}\n"):
        for beside, seconds in (("", 0), ("beside: 90s\n", 90)):
            step, *_ = steps_of(written(tmp_path, text + beside), settings)
            assert plan.step_seconds(step) == (seconds, seconds)


def test_the_plan_shows_what_ends_each_step(
    tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """\
measure: {flows: 8, after: 2}
warm_up: {min: 5s, max: 15s}
steps:
  - {name: counted, may_break: true}
  - {name: timed, measure: 10s}
  - {name: fixed, measure: 30s}
  - {name: burst, load: {arrivals: burst}, measure: {bursts: 1}}
condition: {load: {arrivals: closed, users: 8}, set: {iouValue: 3}}
"""
    sweep = written(tmp_path, COUNTED + text)
    show_plan(sweep, plan.plan_sweep(sweep, settings), settings)
    printed = capsys.readouterr().out
    for words in (
        "8 flows, after 2 that do",
        "10 s",
        "30 s",
        "1 burst",
        "without the loads of 2 steps that end by count",
        "iouValue=3",
    ):
        assert words in printed


def test_the_number_of_a_named_step_is_a_value_of_its_points_and_in_no_name(tmp_path: Path, settings: Settings) -> None:
    text = "workload: iou\nsteps:\n  - {name: near, at: 0}\n  - {name: far, at: 8}\n"
    sweep = sweep_of(tmp_path, text + "vary: {load.users: [2, 4]}\nx: at\n")
    step = steps_of(sweep, settings)[3]
    assert step.point == {"step": "far", "at": 8, "load.users": 4}
    assert (step.label, step.key) == ("far, 4 users", "step-far_users-4_r1")
    assert sweep_plan(sweep).axis == "at"
    # It is the axis without being asked for if nothing else is.
    assert sweep_plan(sweep_of(tmp_path, text)).axis == "at"
    assert sweep_plan(sweep_of(tmp_path, text + "vary: {load.users: [2, 4]}\n")).axis == "load.users"


def test_what_ends_the_steps_is_stored_with_the_run(tmp_path: Path) -> None:
    text = BURSTS.replace("condition:", "steps:\n  - {name: few, measure: {bursts: 2}}\ncondition:")
    found = sweep_plan(written(tmp_path, text))
    assert (found.measure, found.warm_up) == (BurstCount(bursts=10), None)
    assert [step.measure for step in found.steps or ()] == [BurstCount(bursts=2)]
    assert found.condition != "none"
    assert found.condition.set == {"iouValue": 3}
    flows = sweep_plan(written(tmp_path, COUNTED + "measure: {flows: 8, after: 2}\n"))
    assert SweepPlan.model_validate_json(flows.model_dump_json(by_alias=True)) == flows


def test_the_pool_of_a_burst_is_admitted(tmp_path: Path, settings: Settings) -> None:
    limited = settings.with_values({OUTSTANDING_MAX: "30"})
    assert admitting(written(tmp_path, BURSTS), limited)[OUTSTANDING_MAX] == "40"
    pooled = written(tmp_path, BURSTS.replace("rest: 5s", "rest: 5s, pool: 25"))
    assert admitting(pooled, limited) is limited


def test_the_short_form_of_bursts_is_planned(tmp_path: Path, settings: Settings) -> None:
    text = BURSTS + "quick: {vary: {load.users: [8]}, measure: {bursts: 2}, fresh: shape}\n"
    steps = steps_of(quick(written(tmp_path, text)), settings)
    assert [(step.measure, step.repeat) for step in steps] == [(BurstCount(bursts=2), one) for one in (1, 2, 3)]
