"""Steps of bursts, and steps that end by count: their plan and their time."""

from pathlib import Path

import pytest

from corda_lab.lab.settings import Settings
from corda_lab.runs.preflight import OUTSTANDING_MAX
from corda_lab.sweeps import plan, points
from corda_lab.sweeps.command import show_plan
from corda_lab.sweeps.estimate import FLOWS_PER_SECOND, estimate, flows_per_second, span_seconds
from corda_lab.sweeps.execute import sweep_manifest
from corda_lab.sweeps.file import quick
from corda_lab.sweeps.lab import admitting
from corda_lab.sweeps.planned import PlannedStep
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
    assert options.duration_seconds >= 10 * points.BURST_SECONDS_MAX
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
    assert options.duration_seconds == 402 * points.FLOW_SECONDS_MAX
    before = step.conditioning()
    assert before is not None
    assert (before.options.flows, before.options.users) == (None, 1)
    assert before.until_steady.stopping is not None


def test_the_estimate_counts_bursts_and_flows(tmp_path: Path, settings: Settings) -> None:
    few, many = steps_of(written(tmp_path, BURSTS), settings)
    for step, users in ((few, 8), (many, 40)):
        least, most = span_seconds(step)
        assert least == most == pytest.approx(10 * (2 + users / flows_per_second(users) + 5))
    (counted,) = steps_of(written(tmp_path, COUNTED + "load: {users: 3}\nmeasure: {flows: 8, after: 2}\n"), settings)
    assert span_seconds(counted)[1] == pytest.approx(10 / (FLOWS_PER_SECOND / 2))
    found = estimate([few], settings, fresh="repeat")
    assert found.seconds_max - span_seconds(few)[1] == pytest.approx(
        estimate([many], settings, fresh="repeat").seconds_max - span_seconds(many)[1]
    )


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
        "8 flows after 2, may break",
        "10s",
        "30s",
        "1 burst",
        "at up to 8 flows per second",
        "iouValue=3",
    ):
        assert words in printed


def test_the_number_of_a_named_step_is_a_value_of_its_points_and_in_no_name(tmp_path: Path, settings: Settings) -> None:
    text = "workload: iou\nsteps:\n  - {name: near, at: 0}\n  - {name: far, at: 8}\n"
    sweep = sweep_of(tmp_path, text + "vary: {load.users: [2, 4]}\nx: at\n")
    step = steps_of(sweep, settings)[3]
    assert step.point == {"step": "far", "at": 8, "load.users": 4}
    assert (step.label, step.key) == ("far, 4 users", "step-far_users-4_r1")
    assert sweep_manifest(sweep, None).x == "at"
    # It is the axis without being asked for if nothing else is.
    assert sweep_manifest(sweep_of(tmp_path, text), None).x == "at"
    assert sweep_manifest(sweep_of(tmp_path, text + "vary: {load.users: [2, 4]}\n"), None).x == "load.users"


def test_what_ends_the_steps_is_stored_with_the_run(tmp_path: Path) -> None:
    text = BURSTS.replace("condition:", "steps:\n  - {name: few, measure: {bursts: 2}}\ncondition:")
    found = sweep_manifest(written(tmp_path, text), None)
    assert found.model_dump(mode="json", include={"measure", "warm_up", "own_spans"}) == {
        "measure": {"bursts": 10},
        "warm_up": None,
        "own_spans": {"few": {"warm_up": None, "measure": {"bursts": 2}}},
    }
    assert found.condition is not None
    assert found.condition.set == {"iouValue": 3}
    flows = sweep_manifest(written(tmp_path, COUNTED + "measure: {flows: 8, after: 2}\n"), None)
    assert type(flows).model_validate_json(flows.model_dump_json()) == flows


def test_the_pool_of_a_burst_is_admitted(tmp_path: Path, settings: Settings) -> None:
    limited = settings.with_values({OUTSTANDING_MAX: "30"})
    assert admitting(written(tmp_path, BURSTS), limited)[OUTSTANDING_MAX] == "40"
    pooled = written(tmp_path, BURSTS.replace("rest: 5s", "rest: 5s, pool: 25"))
    assert admitting(pooled, limited) is limited


def test_the_short_form_of_bursts_is_planned(tmp_path: Path, settings: Settings) -> None:
    text = BURSTS + "quick: {vary: {load.users: [8]}, measure: {bursts: 2}, fresh: shape}\n"
    steps = steps_of(quick(written(tmp_path, text)), settings)
    assert [(step.bursts, step.repeat) for step in steps] == [(2, 1), (2, 2), (2, 3)]
