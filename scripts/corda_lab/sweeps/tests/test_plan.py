"""From a file to steps: which, in what order, on which lab."""

from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.settings import Settings
from corda_lab.results import folders
from corda_lab.results.sweep import Fresh
from corda_lab.runs.preflight import OUTSTANDING_MAX
from corda_lab.sweeps import plan
from corda_lab.sweeps.command import SWEEPS, show_plan
from corda_lab.sweeps.file import read_sweep
from corda_lab.sweeps.lab import admitting
from corda_lab.sweeps.plan import run_time
from corda_lab.sweeps.step import KEY_LENGTH_MAX, PlannedStep, points_of
from lab_workload.load import Load
from support.sweep_files import keys, restarts, steps_of, sweep_of


@pytest.mark.parametrize("path", sorted(SWEEPS.glob("*.yaml")), ids=lambda path: str(path.stem))
def test_every_sweep_of_the_repository_can_be_planned(path: Path, settings: Settings) -> None:
    sweep = read_sweep(path)
    points = points_of(sweep)
    assert points
    # What this machine is too small for, or has no image for, is told when it is planned, and no mistake of the file.
    large = settings.with_values({"NODE_CORES": "0", "CORDA_IMAGE": "example/enterprise:${CORDA_VERSION}"})
    assert [point.label for point in points] == list(dict.fromkeys(point.label for point in points))
    if all(point.variables.get("NODE_CORES", "0") == "0" for point in points):
        plan.check_points(sweep, points, large)


def test_everything_that_varies_is_combined(tmp_path: Path, settings: Settings) -> None:
    text = "workload: iou\nvary:\n  shape.database: [h2, postgres]\n  load.users: [2, 8]\n"
    steps = steps_of(sweep_of(tmp_path, text), settings)
    assert keys(steps) == [
        "database-h2_users-2_r1",
        "database-h2_users-8_r1",
        "database-postgres_users-2_r1",
        "database-postgres_users-8_r1",
    ]
    assert [step.label for step in steps][1:3] == ["H2, 8 users", "PostgreSQL, 2 users"]
    assert steps[1].options("x").users == 8
    assert plan.settings_of(steps[2].variables, settings)["DATABASE"] == "postgres"
    assert [step.index for step in steps] == [1, 2, 3, 4]


def test_named_steps_lie_over_the_whole_sweep(tmp_path: Path, settings: Settings) -> None:
    text = """\
workload: iou
load: {users: 4}
steps:
  - {name: stock}
  - {name: tuned, shape: {preset: tuned}, load: {users: 6}, set: {iouValue: 7}}
vary: {load.pacing: [0s, 100ms]}
"""
    steps = steps_of(sweep_of(tmp_path, text), settings)
    assert [step.label for step in steps][:2] == ["stock, pacing=0s", "stock, pacing=100ms"]
    tuned = steps[3].options("x")
    assert (tuned.users, tuned.pacing_seconds, tuned.overrides) == (6, 0.1, {"iouValue": "7"})
    assert steps[3].variables == {"NODE_PRESET": "tuned"}


def test_repeats_go_forwards_and_backwards_in_turn(tmp_path: Path, settings: Settings) -> None:
    vary = "vary:\n  shape.database: [h2, postgres]\n  load.users: [2, 8]\n"
    steps = steps_of(sweep_of(tmp_path, f"workload: iou\nrepeats: 2\n{vary}"), settings)
    forwards = ["h2-2", "h2-8", "postgres-2", "postgres-8"]
    found = ["-".join(str(value) for value in step.point.values()) for step in steps]
    assert found == forwards + forwards[::-1]


def test_repeats_have_seeds_of_their_own_and_share_them_between_points(tmp_path: Path, settings: Settings) -> None:
    steps = steps_of(sweep_of(tmp_path, "workload: iou\nseed: 5\nrepeats: 2\nvary: {load.users: [1, 2]}\n"), settings)
    assert {(step.repeat, step.seed) for step in steps} == {(1, 5), (2, 6)}


def test_what_cannot_be_is_told_of_every_point_before_anything_starts(tmp_path: Path, settings: Settings) -> None:
    text = """\
workload: settlement
set: {participants: 4}
vary:
  shape.parties: [3, 5]
  shape.notary: [simple, jpa]
"""
    with pytest.raises(LabError) as caught:
        steps_of(sweep_of(tmp_path, text), settings)
    lines = [str(problem) for problem in caught.value.problems]
    assert ["3 parties, simple notary" in line for line in lines] == [True, False, False, False]
    assert "needs 5 parties, but the shape has 3" in lines[0]
    assert ["Add --database postgres." in line for line in lines] == [False, True, False, True]


def test_a_workload_of_another_cordapp_needs_a_shape_that_has_it(tmp_path: Path, settings: Settings) -> None:
    text = "workload: finance-issue\nvary: {shape.cordapp: [lab, finance]}\n"
    with pytest.raises(LabError) as caught:
        steps_of(sweep_of(tmp_path, text), settings)
    (problem,) = caught.value.problems
    assert "needs the CorDapp finance. Set shape.cordapp: finance." in str(problem)
    (step,) = steps_of(sweep_of(tmp_path, text.replace("[lab, finance]", "[finance]")), settings)
    assert (step.label, step.variables["CORDAPP"]) == ("with R3's finance CorDapp", "finance")


@pytest.mark.parametrize("nodes", ["[PartyA, PartyB]", "'PartyA,PartyB'"])
def test_flows_of_several_nodes_are_a_load_and_can_vary(tmp_path: Path, settings: Settings, nodes: str) -> None:
    first, second = steps_of(sweep_of(tmp_path, f"workload: iou\nvary: {{load.nodes: [PartyA, {nodes}]}}\n"), settings)
    assert (first.options("x").nodes, second.options("x").nodes) == (("PartyA",), ("PartyA", "PartyB"))
    assert (first.label, second.label) == ("flows of PartyA", "flows of PartyA and PartyB")
    fixed = steps_of(sweep_of(tmp_path, f"workload: iou\nload: {{nodes: {nodes}}}\n"), settings)
    assert fixed[0].options("x").nodes == ("PartyA", "PartyB")


def test_nodes_that_the_shape_does_not_have_cannot_start_flows(tmp_path: Path, settings: Settings) -> None:
    text = "workload: iou\nload: {nodes: [PartyA, PartyD]}\nvary: {shape.parties: [3, 4]}\n"
    with pytest.raises(LabError) as caught:
        steps_of(sweep_of(tmp_path, text), settings)
    (problem,) = caught.value.problems
    assert "load.nodes names PartyD, but the parties are PartyA, PartyB, PartyC" in str(problem)


def test_a_step_survives_being_stored(tmp_path: Path, settings: Settings) -> None:
    (step,) = steps_of(sweep_of(tmp_path, "workload: iou\nload: {arrivals: poisson, rate: 5}\n"), settings)
    assert PlannedStep.model_validate_json(step.model_dump_json()) == step
    options = step.options("x")
    assert (options.rate, options.users, options.warm_up_seconds_min, options.warm_up_seconds) == (5, 200, 5, 15)
    assert options.duration_seconds == 30


def conditioning_of(tmp_path: Path, settings: Settings, text: str) -> Load | None:
    wanted = steps_of(sweep_of(tmp_path, f"workload: iou\n{text}"), settings)[0].conditioning()
    return None if wanted is None else wanted.options


def test_the_load_of_the_step_conditions_its_nodes(tmp_path: Path, settings: Settings) -> None:
    text = "load: {users: 4, pacing: 100ms}\nset: {iouValue: 7}\n"
    found = conditioning_of(tmp_path, settings, text)
    assert found is not None
    assert (found.users, found.pacing_seconds, found.overrides) == (4, 0.1, {"iouValue": "7"})
    found = conditioning_of(tmp_path, settings, text + "condition: {load: {users: 9}}\n")
    assert found is not None
    assert (found.users, found.pacing_seconds) == (9, 0.1)
    assert conditioning_of(tmp_path, settings, text + "condition: none\n") is None


def test_another_workload_can_condition_the_nodes(
    tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """\
steps:
  - {name: issue, workload: cash-issue, set: {amount: 1 GBP}}
  - {name: pay, workload: cash-issue-and-pay, set: {amount: 2 GBP}}
condition: {workload: cash-issue-and-pay, load: {users: 9}, set: {useCoinSelection: true}}
"""
    sweep = sweep_of(tmp_path, text)
    issue, pay = steps_of(sweep, settings)
    first, second = issue.conditioning(), pay.conditioning()
    assert first is not None
    assert second is not None
    assert (issue.workload, first.options.workload, first.options.users) == ("cash-issue", "cash-issue-and-pay", 9)
    # Arguments of the step are not those of another workload.
    assert first.options.overrides == {"useCoinSelection": "true"}
    assert second.options.overrides == {"amount": "2 GBP", "useCoinSelection": "true"}
    assert PlannedStep.model_validate_json(issue.model_dump_json()) == issue
    show_plan(sweep, plan.plan_sweep(sweep, settings), settings)
    assert "with the workload cash-issue-and-pay, 9 users and useCoinSelection=true" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("{workload: cash-isue}", "condition: unknown workload 'cash-isue', did you mean 'cash-issue'"),
        ("{workload: settlement, set: {participants: 8}}", "condition: the workload settlement needs 9 parties"),
        ("{workload: finance-issue}", "condition: the workload finance-issue needs the CorDapp finance"),
    ],
)
def test_a_workload_that_cannot_condition_the_nodes_is_refused_in_the_plan(
    tmp_path: Path, settings: Settings, condition: str, problem: str
) -> None:
    with pytest.raises(LabError, match=problem):
        conditioning_of(tmp_path, settings, f"condition: {condition}\n")


def test_closed_load_can_condition_the_nodes_for_open_load(tmp_path: Path, settings: Settings) -> None:
    text = "load: {arrivals: poisson, rate: 5, users: 50, counterparty: PartyC}\n"
    found = conditioning_of(tmp_path, settings, text)
    assert found is not None
    assert (found.rate, found.users) == (5, 50)
    found = conditioning_of(tmp_path, settings, text + "condition: {load: {arrivals: closed}}\n")
    assert found is not None
    assert (found.is_open, found.rate, found.users, found.counterparty) == (False, None, 20, "PartyC")


def test_a_step_that_shows_how_nodes_warm_up_has_cold_nodes(tmp_path: Path, settings: Settings) -> None:
    text = "steps:\n  - {name: cold, warm_up: {min: 0s, max: 0s}}\n  - {name: warm}\n"
    cold, warm = steps_of(sweep_of(tmp_path, f"workload: iou\n{text}"), settings)
    assert cold.conditioning() is None
    assert warm.conditioning() is not None


def test_a_load_that_cannot_condition_the_nodes_is_refused_in_the_plan(tmp_path: Path, settings: Settings) -> None:
    with pytest.raises(LabError, match=r"condition\.load\.rate: is only for open load"):
        conditioning_of(tmp_path, settings, "condition: {load: {rate: 5}}\n")


def test_the_plan_says_what_conditions_the_nodes(
    tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "workload: iou\nrepeats: 3\ncondition: {load: {users: 8}}\n"
    for more, words in (
        ("", "Conditioning: every new lab, by the load of the first step on it with 8 users, until steady: 1 min"),
        ("fresh: shape\n", "1 start of the lab"),
    ):
        sweep = sweep_of(tmp_path, text + more)
        show_plan(sweep, plan.plan_sweep(sweep, settings), settings)
        printed = capsys.readouterr().out
        assert words in printed
    sweep = sweep_of(tmp_path, "workload: iou\ncondition: none\n")
    show_plan(sweep, plan.plan_sweep(sweep, settings), settings)
    assert "Conditioning: none" in capsys.readouterr().out


def test_every_repeat_of_a_shape_has_a_lab_of_its_own_by_default(tmp_path: Path, settings: Settings) -> None:
    text = "workload: iou\nrepeats: 3\nvary:\n  shape.database: [h2, postgres]\n  load.users: [2, 8]\n"
    sweep = sweep_of(tmp_path, text)
    assert sweep.fields.fresh == "repeat"
    steps = steps_of(sweep, settings)
    starts: dict[Fresh, int] = {"repeat": 6, "shape": 4, "step": 12}
    for fresh, count in starts.items():
        assert run_time(steps, settings, fresh=fresh).starts == count
        # The first two steps of each are of one shape and one repeat.
        assert run_time(steps[1:], settings, fresh=fresh, before=steps[0]).starts == count - 1


def test_a_name_that_leaves_no_room_for_a_step_s_number_is_refused_in_the_plan(
    tmp_path: Path, settings: Settings
) -> None:
    sweep = sweep_of(tmp_path, "workload: iou\n")
    for length, is_possible in ((55, True), (56, False)):
        named = replace(sweep, name="a" * length)
        if is_possible:
            assert len(f"{named.name}-{steps_of(named, settings)[0].index:04d}") == folders.NAME_LENGTH_MAX
            continue
        with pytest.raises(LabError, match="cannot be the name of a run"):
            steps_of(named, settings)


def test_a_long_list_of_values_still_gives_names_that_files_can_have(tmp_path: Path, settings: Settings) -> None:
    links = [f"party{one}-party{other}=+40ms,10mbit" for one in "abcd" for other in "abcd" if one < other]
    text = f"workload: iou\nshape: {{parties: 4}}\nvary:\n  shape.link: [{links}, {links[:-1]}, {links[1:]}]\n"
    found = keys(steps_of(sweep_of(tmp_path, text), settings))
    assert len(set(found)) == 3
    assert all(len(key) <= KEY_LENGTH_MAX + len("_r1") for key in found)


def test_a_named_step_can_have_a_warm_up_and_a_time_of_its_own(tmp_path: Path, settings: Settings) -> None:
    text = """\
workload: iou
steps:
  - {name: cold, warm_up: {min: 0s, max: 0s}, measure: 60s}
  - {name: warm}
"""
    cold, warm = steps_of(sweep_of(tmp_path, text), settings)
    assert (cold.warm_up, cold.measure) == ((0, 0), 60)
    assert (warm.warm_up, warm.measure) == ((5, 15), 30)
    options = cold.options("x")
    assert (options.warm_up_seconds_min, options.warm_up_seconds, options.duration_seconds) == (0, 0, 60)


def test_smoke_takes_four_minutes_at_most(settings: Settings) -> None:
    found = run_time(steps_of(read_sweep(SWEEPS / "smoke.yaml"), settings), settings, fresh="shape")
    assert found.seconds_max <= 240


def test_the_lab_of_a_sweep_admits_its_largest_closed_load(tmp_path: Path, settings: Settings) -> None:
    limited = settings.with_values({OUTSTANDING_MAX: "100"})
    closed = sweep_of(tmp_path, "workload: iou\nvary:\n  load.users: [2, 300]\n")
    assert admitting(closed, limited)[OUTSTANDING_MAX] == "300"
    enough = settings.with_values({OUTSTANDING_MAX: "800"})
    assert admitting(closed, enough) is enough
    conditioned = sweep_of(tmp_path, "workload: iou\nload: {users: 2}\ncondition: {load: {users: 400}}\n")
    assert admitting(conditioned, limited)[OUTSTANDING_MAX] == "400"
    # The limit of this machine, with any number of cores.
    assert admitting(sweep_of(tmp_path, "workload: iou\nload: {users: 64}\n"), settings) is settings


def test_a_limit_of_the_sweep_s_own_must_admit_its_closed_load(tmp_path: Path, settings: Settings) -> None:
    load = "workload: iou\nvary: {shape.outstanding: [100, 400]}\n"
    with pytest.raises(LabError, match=r"shape\.outstanding: --users: 300 is more than the 100 flows"):
        steps_of(sweep_of(tmp_path, f"{load}load: {{users: 300}}\n"), settings)
    with pytest.raises(LabError, match="150 is more than the 100 flows"):
        steps_of(sweep_of(tmp_path, f"{load}load: {{users: 50}}\ncondition: {{load: {{users: 150}}}}\n"), settings)
    opened = f"{load}load: {{arrivals: poisson, rate: 5, users: 300}}\ncondition: none\n"
    assert len(steps_of(sweep_of(tmp_path, opened), settings)) == 2


def test_steps_that_differ_in_knobs_of_the_bridge_share_a_lab(tmp_path: Path, settings: Settings) -> None:
    live = "shape.outstanding: [100, 400], shape.attachment_max: [1m, 20m], shape.bridge_heap: [384m, 1g]"
    steps = steps_of(sweep_of(tmp_path, f"workload: iou\nvary: {{{live}}}\n"), settings)
    assert (len(steps), restarts(steps)) == (8, 1)
    # Nodes keep what such connections have left in their memory.
    left_open = steps_of(sweep_of(tmp_path, "workload: iou\nvary: {shape.rpc: [shared, left-open]}\n"), settings)
    assert restarts(left_open) == 2


def test_attachments_must_fit_through_the_bridge(tmp_path: Path, settings: Settings) -> None:
    text = "workload: attachment-send\nset: {megabytes: 50}\nload: {users: 1}\n"
    remedy = "Start the lab with --set BRIDGE_MAX_ATTACHMENT_BYTES=48m --set BRIDGE_HEAP=384m."
    with pytest.raises(LabError, match="50 MB are more than the bridge accepts") as caught:
        steps_of(sweep_of(tmp_path, text), settings)
    assert remedy in str(caught.value.problems[0])
    shape = "shape: {attachment_max: 48m, bridge_heap: 384m}\n"
    (step,) = steps_of(sweep_of(tmp_path, text + shape), settings)
    assert plan.settings_of(step.variables, settings)["BRIDGE_MAX_ATTACHMENT_BYTES"] == "50331648"


def test_open_load_keeps_the_limit(tmp_path: Path, settings: Settings) -> None:
    limited = settings.with_values({OUTSTANDING_MAX: "100"})
    opened = sweep_of(tmp_path, "workload: iou\nload: {arrivals: poisson, rate: 5, users: 300}\n")
    assert admitting(opened, limited) is limited
