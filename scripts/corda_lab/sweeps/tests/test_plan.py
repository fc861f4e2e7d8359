"""From a file to steps: which, in what order, on which lab, with which load, and how long they take."""

from pathlib import Path

import pytest

from corda_lab.lab.settings import Settings
from corda_lab.results.sweep import Fresh, SweepPlan
from corda_lab.results.sweep_parts import BurstCount
from corda_lab.steps.load import SECONDS_MAX, SECONDS_MIN
from corda_lab.sweeps import command
from corda_lab.sweeps.command import SWEEPS, SweepRequest, show_plan
from corda_lab.sweeps.file import quick, read_sweep, with_repeats
from corda_lab.sweeps.plan import (
    BURST_SECONDS_MAX,
    FLOW_SECONDS_MAX,
    KEY_LENGTH_MAX,
    STEP_OVERHEAD_SECONDS,
    RunTime,
    run_time,
    step_seconds,
)
from lab_workload.faults import Fault
from lab_workload.load import Load
from support.sweep_files import COUNTED, SOUND, keys, restarts, steps_of, sweep_of, written

BURSTS = f"""\
{COUNTED}load: {{arrivals: burst, within: 2s, rest: 5s}}
condition: {{load: {{arrivals: closed, users: 20}}, for: 2m, set: {{iouValue: 3}}}}
measure: {{bursts: 10}}
vary: {{load.users: [8, 40]}}
"""
SHAPES = "workload: iou\nvary:\n  shape.database: [h2, postgres]\n  load.users: [2, 8]\n"


def test_everything_that_varies_is_combined(tmp_path: Path, settings: Settings) -> None:
    steps = steps_of(sweep_of(tmp_path, SHAPES), settings)
    assert keys(steps) == [
        "database-h2_users-2_r1",
        "database-h2_users-8_r1",
        "database-postgres_users-2_r1",
        "database-postgres_users-8_r1",
    ]
    assert [step.label for step in steps][1:3] == ["H2, 8 users", "PostgreSQL, 2 users"]
    assert steps[1].load.users == 8
    assert steps[2].settings(settings)["DATABASE"] == "postgres"
    assert [step.index for step in steps] == [1, 2, 3, 4]


def test_named_steps_lie_over_the_whole_sweep(tmp_path: Path, settings: Settings) -> None:
    text = """\
workload: iou
load: {users: 4}
steps:
  - {name: stock, warm_up: {min: 0s, max: 0s}, measure: 60s}
  - {name: tuned, shape: {preset: tuned}, load: {users: 6}, set: {iouValue: 7}}
vary: {load.pacing: [0s, 100ms]}
"""
    steps = steps_of(sweep_of(tmp_path, text), settings)
    assert [step.label for step in steps][:2] == ["stock, pacing=0s", "stock, pacing=100ms"]
    stock, tuned = steps[0].load, steps[3].load
    assert (tuned.users, tuned.pacing_seconds, tuned.overrides) == (6, 0.1, {"iouValue": "7"})
    assert steps[3].variables == {"NODE_PRESET": "tuned"}
    times = [(one.warm_up_seconds_min, one.warm_up_seconds, one.duration_seconds) for one in (stock, tuned)]
    assert times == [(0, 0, 60), (5, 15, 30)]


@pytest.mark.parametrize("nodes", ["[PartyA, PartyB]", "'PartyA,PartyB'"])
def test_flows_of_several_nodes_are_a_load_and_can_vary(tmp_path: Path, settings: Settings, nodes: str) -> None:
    first, second = steps_of(sweep_of(tmp_path, f"workload: iou\nvary: {{load.nodes: [PartyA, {nodes}]}}\n"), settings)
    assert (first.load.nodes, second.load.nodes) == (("PartyA",), ("PartyA", "PartyB"))
    assert (first.label, second.label) == ("flows of PartyA", "flows of PartyA and PartyB")


def test_the_number_of_a_named_step_is_a_value_of_its_points_and_in_no_name(tmp_path: Path, settings: Settings) -> None:
    text = "workload: iou\nsteps:\n  - {name: near, at: 0}\n  - {name: far, at: 8}\n"
    varied = text + "vary: {load.users: [2, 4]}\n"
    step = steps_of(sweep_of(tmp_path, varied + "x: at\n"), settings)[3]
    assert step.point == {"step": "far", "at": 8, "load.users": 4}
    assert (step.label, step.key) == ("far, 4 users", "step-far_users-4_r1")
    # It is the axis without being asked for if nothing else is.
    axes = {given: sweep_of(tmp_path, given).fields.axis for given in (text, varied, varied + "x: at\n")}
    assert list(axes.values()) == ["at", "load.users", "at"]


def test_repeats_go_forwards_and_backwards_in_turn_with_a_seed_each(tmp_path: Path, settings: Settings) -> None:
    steps = steps_of(sweep_of(tmp_path, f"{SHAPES}repeats: 2\nseed: 5\n"), settings)
    forwards = ["h2-2", "h2-8", "postgres-2", "postgres-8"]
    assert ["-".join(str(value) for value in step.point.values()) for step in steps] == forwards + forwards[::-1]
    assert {(step.repeat, step.load.seed) for step in steps} == {(1, 5), (2, 6)}


def test_repeats_that_are_added_go_on_in_turn(tmp_path: Path, settings: Settings) -> None:
    """If all of them went forwards, the point that is measured last would always be that on the oldest nodes."""
    file = tmp_path / "two.yaml"
    file.write_text(SOUND + "vary: {load.users: [1, 2]}\nrepeats: 5\nquick: {repeats: 3}\n", encoding="utf-8")

    def order(repeats: int, seed: int) -> list[tuple[object, int]]:
        steps = steps_of(command.read(SweepRequest(str(file), repeats=repeats, seed=seed)), settings)
        return [(step.point["load.users"], step.load.seed) for step in steps]

    assert [users for users, _ in order(4, 1)] == [1, 2, 2, 1, 1, 2, 2, 1]
    assert order(3, 1) + order(1, 4) == order(4, 1)
    short = command.read(SweepRequest(str(file), quick=True, repeats=1))
    assert (short.is_quick, short.fields.repeats, short.fields.seed) == (True, 1, 1)


def test_a_long_list_of_values_still_gives_names_that_files_can_have(tmp_path: Path, settings: Settings) -> None:
    links = [f"party{one}-party{other}=+40ms,10mbit" for one in "abcd" for other in "abcd" if one < other]
    text = f"workload: iou\nshape: {{parties: 4}}\nvary:\n  shape.link: [{links}, {links[:-1]}, {links[1:]}]\n"
    found = keys(steps_of(sweep_of(tmp_path, text), settings))
    assert len(set(found)) == 3
    assert all(len(key) <= KEY_LENGTH_MAX + len("_r1") for key in found)


def test_open_load_has_its_pool_and_the_times_of_the_sweep(tmp_path: Path, settings: Settings) -> None:
    (step,) = steps_of(written(tmp_path, f"{SOUND}load: {{arrivals: poisson, rate: 5}}\n"), settings)
    load = step.load
    assert (load.rate, load.users, load.warm_up_seconds_min, load.warm_up_seconds) == (5, 200, 5, 15)


def test_every_step_has_the_faults_of_the_sweep_or_its_own(tmp_path: Path, settings: Settings) -> None:
    text = f"{SOUND}load: {{faults: [{{kind: kill, target: Bridge, at: 10s, for: 5s}}]}}\n"
    before, calm = steps_of(written(tmp_path, text + "steps: [{name: a}, {name: b, load: {faults: []}}]\n"), settings)
    kill = Fault(kind="kill", target="bridge", at_seconds=10.0, for_seconds=5.0)
    assert (before.load.faults, calm.load.faults) == ((kill,), ())
    conditioning = before.condition
    assert conditioning is not None
    assert conditioning.until_steady.faults == ()


# What ends a step.


def test_bursts_are_counted_and_have_no_warm_up(tmp_path: Path, settings: Settings) -> None:
    options = steps_of(written(tmp_path, BURSTS), settings)[1].load
    assert (options.users, options.arrivals, options.within_seconds, options.bursts) == (40, "burst", 2, 10)
    assert (options.warm_up_seconds, options.stopping) == (0, None)
    assert options.duration_seconds >= 10 * BURST_SECONDS_MAX


def test_a_step_that_ends_by_count_says_so_to_the_generator(tmp_path: Path, settings: Settings) -> None:
    (step,) = steps_of(written(tmp_path, COUNTED + "load: {users: 1}\nmeasure: {flows: 400, after: 2}\n"), settings)
    options, before = step.load, step.condition
    assert (options.flows, options.flows_after, options.stopping) == (400, 2, None)
    assert options.duration_seconds == 402 * FLOW_SECONDS_MAX
    assert before is not None
    assert (before.until_steady.flows, before.until_steady.users) == (None, 1)
    assert before.until_steady.stopping is not None


def test_what_ends_the_steps_is_stored_with_the_run(tmp_path: Path) -> None:
    for text in (BURSTS.replace("vary", "steps: [{name: few, measure: {bursts: 2}}]\nvary"), SOUND):
        entry = written(tmp_path, text).entry({})
        assert SweepPlan.model_validate_json(entry.model_dump_json(by_alias=True)) == entry
        assert entry.measure == (15.0 if text == SOUND else BurstCount(bursts=10))


# What conditions the nodes.


def conditioning_of(tmp_path: Path, settings: Settings, text: str) -> Load | None:
    conditioning = steps_of(sweep_of(tmp_path, f"workload: iou\n{text}"), settings)[0].condition
    return None if conditioning is None else conditioning.options


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {"users": 4, "pacing_seconds": 0.1, "overrides": {"iouValue": "7"}}),
        ("condition: {load: {users: 9}, set: {iouValue: 8}}\n", {"users": 9, "overrides": {"iouValue": "8"}}),
        ("condition: none\n", None),
    ],
)
def test_the_load_of_the_step_conditions_its_nodes(
    tmp_path: Path, settings: Settings, text: str, expected: dict[str, object] | None
) -> None:
    step = "load: {users: 4, pacing: 100ms}\nset: {iouValue: 7}\n"
    found = conditioning_of(tmp_path, settings, step + text)
    assert (found is None) == (expected is None)
    assert all(getattr(found, name) == value for name, value in (expected or {}).items())


def test_another_workload_can_condition_the_nodes(tmp_path: Path, settings: Settings) -> None:
    text = """\
steps:
  - {name: issue, workload: cash-issue, set: {amount: 1 GBP}}
  - {name: pay, workload: cash-issue-and-pay, set: {amount: 2 GBP}}
condition: {workload: cash-issue-and-pay, load: {users: 9}, set: {useCoinSelection: true}}
"""
    loads = [step.condition for step in steps_of(sweep_of(tmp_path, text), settings)]
    first, second = (load.options for load in loads if load is not None)
    assert (first.workload, first.users) == ("cash-issue-and-pay", 9)
    # Arguments of the step are not those of another workload.
    assert first.overrides == {"useCoinSelection": "true"}
    assert second.overrides == {"amount": "2 GBP", "useCoinSelection": "true"}


def test_closed_load_can_condition_the_nodes_for_open_load(tmp_path: Path, settings: Settings) -> None:
    text = "load: {arrivals: poisson, rate: 5, users: 50, counterparty: PartyC}\n"
    found = conditioning_of(tmp_path, settings, text)
    assert found is not None
    assert (found.rate, found.users) == (5, 50)
    found = conditioning_of(tmp_path, settings, text + "condition: {load: {arrivals: closed}}\n")
    assert found is not None
    assert (found.is_open, found.rate, found.users, found.counterparty) == (False, None, 20, "PartyC")


def test_closed_load_with_its_own_arguments_conditions_the_nodes_for_bursts(tmp_path: Path, settings: Settings) -> None:
    before = steps_of(written(tmp_path, BURSTS), settings)[0].condition
    assert before is not None
    options = before.options
    assert (options.users, options.arrivals, options.bursts, options.within_seconds) == (20, "closed", 1, 1)
    assert options.overrides == {"iouValue": "3"}
    assert (before.seconds_min, before.seconds_max, before.until_steady.total_seconds) == (120, 120, 120)


def test_a_step_that_shows_how_nodes_warm_up_has_cold_nodes(tmp_path: Path, settings: Settings) -> None:
    text = "steps:\n  - {name: cold, warm_up: {min: 0s, max: 0s}}\n  - {name: warm}\n"
    cold, warm = steps_of(sweep_of(tmp_path, f"workload: iou\n{text}"), settings)
    assert cold.condition is None
    assert warm.condition is not None


# Rates that are multiples of the peak.

OVERLOAD = """\
workload: iou
repeats: 3
steps:
  - {name: overload, load: {arrivals: poisson, rate: 2.5 x peak}}
  - {name: knee, load: {users: 8}, peak: true}
  - {name: few, load: {users: 2}}
"""


def test_the_peak_of_every_shape_is_measured_first_in_every_repeat(tmp_path: Path, settings: Settings) -> None:
    steps = steps_of(sweep_of(tmp_path, OVERLOAD + "vary: {shape.database: [h2, postgres]}\n"), settings)
    names = [step.point["step"] for step in steps]
    assert (names[:3], names[6:9]) == (["knee", "overload", "few"], ["knee", "few", "overload"])
    for step in (step for step in steps if step.peak_factor is not None):
        (peak,) = step.peaks(steps)
        assert (peak.repeat, peak.shape_key, peak.point["step"]) == (step.repeat, step.shape_key, "knee")
        assert peak.index < step.index


def test_a_multiple_becomes_a_rate(tmp_path: Path, settings: Settings) -> None:
    step = next(step for step in steps_of(sweep_of(tmp_path, OVERLOAD), settings) if step.peak_factor is not None)
    offered = step.at_peak(8.43217)
    assert (step.peak_factor, offered.load.rate, offered.peak_factor is not None) == (2.5, 21.08, False)
    conditioning = offered.condition
    assert conditioning is not None
    assert conditioning.options.rate == 21.08
    assert (offered.key, offered.label) == (step.key, "overload")


# Labs and time.


def test_every_repeat_of_a_shape_has_a_lab_of_its_own_by_default(tmp_path: Path, settings: Settings) -> None:
    sweep = sweep_of(tmp_path, f"{SHAPES}repeats: 3\n")
    assert sweep.fields.fresh == "repeat"
    steps = steps_of(sweep, settings)
    starts: dict[Fresh, int] = {"repeat": 6, "shape": 4, "step": 12}
    for fresh, count in starts.items():
        assert run_time(steps, settings, fresh=fresh).starts == count
        # The first two steps of each are of one shape and one repeat.
        assert run_time(steps[1:], settings, fresh=fresh, before=steps[0]).starts == count - 1


def test_steps_that_differ_in_knobs_of_the_bridge_share_a_lab(tmp_path: Path, settings: Settings) -> None:
    live = "shape.outstanding: [100, 400], shape.attachment_max: [1m, 20m], shape.bridge_heap: [384m, 1g]"
    steps = steps_of(sweep_of(tmp_path, f"workload: iou\nvary: {{{live}}}\n"), settings)
    assert (len(steps), restarts(steps)) == (8, 1)
    # Nodes keep what such connections have left in their memory.
    left_open = steps_of(sweep_of(tmp_path, "workload: iou\nvary: {shape.rpc: [shared, left-open]}\n"), settings)
    assert restarts(left_open) == 2


def time_of(tmp_path: Path, settings: Settings, text: str) -> RunTime:
    sweep = written(tmp_path, SOUND + text)
    return run_time(steps_of(sweep, settings), settings, fresh=sweep.fields.fresh)


@pytest.mark.parametrize(
    ("text", "more", "seconds"),
    [
        ("", "load: {idle_after: 60s}\n", (60, 60)),
        ("steps:\n  - {name: one}\n  - {name: two%s}\n", ", beside: 90s", (90, 90)),
        ("steps: [{name: one}, {name: two, beside: 90s}]\n", "beside: 20s\n", (20, 20)),
        (
            "vary: {load.users: [2, 8]}\nrepeats: 3\ncondition: none\n",
            "condition: {for: {min: 20s, max: 60s}}\n",
            (3 * (20 + STEP_OVERHEAD_SECONDS), 3 * (60 + STEP_OVERHEAD_SECONDS)),
        ),
    ],
)
def test_the_time_has_what_the_file_says(
    tmp_path: Path, settings: Settings, text: str, more: str, seconds: tuple[int, int]
) -> None:
    plain = text % "" if "%s" in text else text
    own = text % more if "%s" in text else text.replace("condition: none\n", "") + more
    least, most = time_of(tmp_path, settings, plain), time_of(tmp_path, settings, own)
    assert (most.seconds_min - least.seconds_min, most.seconds_max - least.seconds_max) == seconds


def test_the_time_is_between_the_shortest_and_the_longest_warm_up(tmp_path: Path, settings: Settings) -> None:
    found = run_time(steps_of(sweep_of(tmp_path, SHAPES), settings), settings, fresh="shape")
    assert found.seconds_max - found.seconds_min == 4 * 10 + 2 * (SECONDS_MAX - SECONDS_MIN)
    smoke = read_sweep(SWEEPS / "smoke.yaml")
    assert run_time(steps_of(smoke, settings), settings, fresh="shape").seconds_max <= 240


def test_bursts_and_flows_take_as_long_as_the_file_says(tmp_path: Path, settings: Settings) -> None:
    for text in (BURSTS, COUNTED + "load: {users: 3}\nmeasure: {flows: 8, after: 2}\n"):
        for beside, seconds in (("", 0), ("beside: 90s\nquick: {beside: 5s}\n", 90)):
            sweep = written(tmp_path, text + beside)
            assert step_seconds(steps_of(sweep, settings)[0]) == (seconds, seconds)
            if sweep.short:
                assert step_seconds(steps_of(with_repeats(quick(sweep), 1), settings)[0]) == (5, 5)


def test_the_plan_shows_what_ends_each_step_and_what_conditions_the_nodes(
    tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """\
measure: {flows: 8, after: 2}
warm_up: {min: 5s, max: 15s}
steps:
  - {name: counted, may_break: true}
  - {name: timed, measure: 10s}
  - {name: burst, load: {arrivals: burst}, measure: {bursts: 1}}
condition: {load: {arrivals: closed, users: 8}, set: {iouValue: 3}}
"""
    show_plan(written(tmp_path, COUNTED + text), settings)
    show_plan(written(tmp_path, COUNTED + "load: {arrivals: poisson}\nmeasure: 4s\nwarm_up: {min: 1s, max: 1s}\n"
                      "find_max: {rate_min: 1, rate_max: 5, p95_max: 2s, confirm: 60s}\n"), settings)  # fmt: skip
    printed = capsys.readouterr().out
    for words in (
        *("8 flows after 2", "10s", "1 burst", "without the loads of 2 steps that end by count"),
        *("Conditioning: every new lab, by the load of the first step on it with", "8 users", "iouValue=3"),
        "1 search from 1/s to 5/s: iou. At most 24 steps each",
    ):
        assert words in printed
