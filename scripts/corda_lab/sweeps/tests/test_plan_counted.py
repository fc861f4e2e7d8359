"""Steps that end by count, rates that are multiples of the peak, and points that this machine cannot have."""

from itertools import pairwise
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE, WORKLOADS
from corda_lab.runs.preflight import OUTSTANDING_MAX
from corda_lab.sweeps import plan
from corda_lab.sweeps.command import show_plan
from corda_lab.sweeps.estimate import FLOWS_PER_SECOND, estimate, flows_per_second, span_seconds
from corda_lab.sweeps.execute import sweep_manifest
from corda_lab.sweeps.file import SweepFile, quick, read_sweep
from corda_lab.sweeps.lab import admitting
from corda_lab.workloads import resolve


@pytest.fixture
def settings() -> Settings:
    return load_settings(ENV_FILE, {})


HEAD = """\
description: A sweep.
warm_up: {min: 5s, max: 15s}
measure: {min: 10s, max: 30s, precision: 5%}
"""
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


def written(tmp_path: Path, text: str) -> SweepFile:
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    return read_sweep(path)


def sweep_of(tmp_path: Path, text: str) -> SweepFile:
    return written(tmp_path, HEAD + text)


def steps_of(sweep: SweepFile, settings: Settings) -> list[plan.PlannedStep]:
    return plan.plan_sweep(sweep, settings).steps


def restarts(steps: list[plan.PlannedStep]) -> int:
    return sum(one.lab_key("shape") != other.lab_key("shape") for one, other in pairwise(steps)) + 1


def test_bursts_are_counted_and_have_no_warm_up(tmp_path: Path, settings: Settings) -> None:
    step = steps_of(written(tmp_path, BURSTS), settings)[1]
    options = step.options("x")
    assert (options.users, options.arrivals, options.within_seconds, options.bursts) == (40, "burst", 2, 10)
    assert (options.warm_up_seconds, options.stopping) == (0, None)
    assert options.duration_seconds >= 10 * plan.BURST_SECONDS_MAX
    assert plan.PlannedStep.model_validate_json(step.model_dump_json()) == step


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
    assert options.duration_seconds == 402 * plan.FLOW_SECONDS_MAX
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
  - {name: timed, measure: {min: 10s, max: 30s, precision: 5%}}
  - {name: fixed, measure: {min: 10s, max: 30s}}
  - {name: burst, load: {arrivals: burst}, measure: {bursts: 1}}
condition: {load: {arrivals: closed, users: 8}, set: {iouValue: 3}}
"""
    sweep = written(tmp_path, COUNTED + text)
    show_plan(sweep, plan.plan_sweep(sweep, settings), settings)
    printed = capsys.readouterr().out
    for words in ("8 flows after 2, may break", "10s to 30s", "30s", "1 burst", "at 8 flows per second", "iouValue=3"):
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


OVERLOAD = """\
workload: iou
repeats: 3
steps:
  - {name: four times, load: {arrivals: poisson, rate: 4 x peak}}
  - {name: knee, load: {users: 8}, peak: true}
  - {name: few, load: {users: 2}}
"""


def names(steps: list[plan.PlannedStep], repeat: int) -> list[object]:
    return [step.point["step"] for step in steps if step.repeat == repeat]


@pytest.mark.parametrize("order", ["interleaved", "randomised", "listed"])
def test_the_peak_is_measured_before_its_multiples_in_every_repeat(
    tmp_path: Path, settings: Settings, order: str
) -> None:
    steps = steps_of(sweep_of(tmp_path, f"{OVERLOAD}order: {order}\n"), settings)
    for repeat in (1, 2, 3):
        assert names(steps, repeat) == ["knee", "few", "four times"]
    step = next(step for step in steps if step.is_multiple)
    assert [one.point["step"] for one in plan.peak_sources(step, [one for one in steps if one.repeat == 1])] == ["knee"]
    unmarked = steps_of(sweep_of(tmp_path, OVERLOAD.replace(", peak: true", "")), settings)
    sources = plan.peak_sources(step, [one for one in unmarked if one.repeat == 1])
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
    assert [one.point["step"] for one in plan.peak_sources(multiple, steps[:5])] == ["knee of its own"]


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


def test_what_this_machine_cannot_have_is_left_out_by_name(
    tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "workload: iou\nimpossible: skip\nvary: {shape.cores: [0.5, 9999]}\n"
    sweep = sweep_of(tmp_path, text)
    checked = plan.plan_sweep(sweep, settings)
    assert [step.label for step in checked.steps] == ["0.5 cores a node"]
    (one,) = checked.left_out
    assert one.label == "9999 cores a node"
    assert "9999 cores are too many; this machine has" in one.reason
    show_plan(sweep, checked, settings)
    assert "Left out: 9999 cores a node: " in capsys.readouterr().out
    assert sweep_manifest(sweep, None, checked.left_out).left_out == checked.left_out
    with pytest.raises(LabError, match="9999 cores are too many"):
        plan.plan_sweep(sweep_of(tmp_path, text.replace("impossible: skip\n", "")), settings)
    with pytest.raises(LabError, match="9999 cores are too many"):
        plan.plan_sweep(sweep_of(tmp_path, text.replace("0.5, ", "")), settings)


def test_a_workload_for_more_parties_than_the_shape_has_is_left_out(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (WORKLOADS / "iou.yaml").read_text(encoding="utf-8")
    (tmp_path / "pair.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "crowd.yaml").write_text(f"{text}requires: {{parties: 5}}\n", encoding="utf-8")
    monkeypatch.setattr(resolve, "WORKLOADS", tmp_path)
    sweep = sweep_of(tmp_path, "impossible: skip\nvary: {workload: [pair, crowd]}\n")
    checked = plan.plan_sweep(sweep, settings)
    assert [one.label for one in checked.left_out] == ["crowd"]
    assert checked.left_out[0].reason == "the workload crowd needs 5 parties, and the shape has 3"


def test_a_mistake_is_not_left_out(tmp_path: Path, settings: Settings) -> None:
    text = "workload: iou\nimpossible: skip\nvary: {shape.notary: [simple, jpa]}\n"
    with pytest.raises(LabError, match="jpa needs PostgreSQL"):
        plan.plan_sweep(sweep_of(tmp_path, text), settings)


def test_the_pool_of_a_burst_is_admitted(tmp_path: Path, settings: Settings) -> None:
    limited = settings.with_values({OUTSTANDING_MAX: "30"})
    assert admitting(written(tmp_path, BURSTS), limited)[OUTSTANDING_MAX] == "40"
    pooled = written(tmp_path, BURSTS.replace("rest: 5s", "rest: 5s, pool: 25"))
    assert admitting(pooled, limited) is limited


def test_the_short_form_of_bursts_is_planned(tmp_path: Path, settings: Settings) -> None:
    text = BURSTS + "quick: {vary: {load.users: [8]}, measure: {bursts: 2}, fresh: shape}\n"
    steps = steps_of(quick(written(tmp_path, text)), settings)
    assert [(step.bursts, step.repeat) for step in steps] == [(2, 1), (2, 2), (2, 3)]
