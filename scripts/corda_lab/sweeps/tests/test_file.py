"""Sweep files and their short forms: what they mean, and every mistake at once, each with its line."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.results.sweep_parts import BurstCount, FlowCount, SpanFields
from corda_lab.steps.load import SECONDS_MAX, SECONDS_MIN
from corda_lab.sweeps.command import SWEEPS, find_file
from corda_lab.sweeps.file import SweepFile, quick, read_sweep
from support.sweep_files import BURSTS, COUNTED, SOUND, mistakes, written


def test_a_sweep_is_found_by_its_name_too() -> None:
    assert find_file("smoke") == SWEEPS / "smoke.yaml"
    with pytest.raises(LabError, match="there is no sweep 'smok', did you mean 'smoke'"):
        find_file("smok")


def test_nodes_are_conditioned_unless_the_file_says_no(tmp_path: Path) -> None:
    condition = written(tmp_path, SOUND).fields.condition
    assert condition != "none"
    assert (condition.duration.min, condition.duration.max) == (SECONDS_MIN, SECONDS_MAX)
    assert written(tmp_path, SOUND + "condition: none\n").fields.condition == "none"


def test_a_step_ends_by_time_by_bursts_or_by_flows(tmp_path: Path) -> None:
    assert written(tmp_path, SOUND).fields.measure == 15.0
    fields = written(tmp_path, BURSTS).fields
    assert fields.measure == BurstCount(bursts=10)
    assert (fields.warm_up, fields.load.given("within"), fields.load.given("pool")) == (None, 1.0, 8)
    assert written(tmp_path, COUNTED + "measure: {flows: 8, after: 2}\n").fields.measure == FlowCount(flows=8, after=2)
    assert written(tmp_path, COUNTED + "measure: {flows: 8}\n").fields.measure == FlowCount(flows=8, after=0)


MISTAKES = """\
EMPTY
description: A sweep.
worload: iou
load: {users: many}
warm_up: {min: soon, max: 15s}
measure: {min: 10s, max: 15s}
fresh: always
→ 2: worload: unknown field, did you mean 'workload'?
→ 3: load.users: must be a valid integer, but is 'many'
→ 4: warm_up.min: must be a duration such as 30s or 2m, but is 'soon'
→ 5: measure: FORMS, but is {'min': '10s', 'max': '15s'}
→ 6: fresh: must be 'repeat', 'shape' or 'step', but is 'always'

COUNTED
measure: soon
load: {faults: [{kind: kil, target: bridge, at: 10s, seconds: 4}]}
steps:
  - {name: one, at: far, load: {rate: 4x peak}}
  - {name: two, load: {rate: 0 x peak}}
  - {name: three, load: {rate: 0}}
find_max: {rate_min: 1, rate_max: 5, precision: 5, p95_max: 2s, confirm: 90.5s}
condition: {load: {user: 8}, for: {min: 10.5s, max: soon}, four: 1}
→ 3: measure: FORMS, but is 'soon'
→ 4: load.faults[0].kind: must be KINDS, but is 'kil'
→ 4: load.faults[0].for: is missing
→ 4: load.faults[0].seconds: unknown field; choose from kind, target, at, for, parameters
→ 6: steps[0].load.rate: must be a RATE, but is '4x peak'
→ 6: steps[0].at: must be a number, but is 'far'
→ 7: steps[1].load.rate: must be a RATE, but is '0 x peak'
→ 8: steps[2].load.rate: must be greater than 0, but is 0
→ 9: find_max.precision: must be a percentage such as 5%, but is 5
→ 9: find_max.confirm: must be a whole number of seconds, but is '90.5s'
→ 10: condition.load.user: unknown field, did you mean 'users'?
→ 10: condition.for.min: must be a whole number of seconds, but is '10.5s'
→ 10: condition.for.max: must be a duration such as 30s or 2m, but is 'soon'
→ 10: condition.four: unknown field, did you mean 'for'?

SOUND
vary: {shape.corda: ["4.9", 4.10]}
→ 5: vary.shape.corda[1]: must be text, but is 4.1; put it in quotes

SOUND
vary: {load.user: [1, 2], users: [1], shape.parties: [2, 2], load.faults: [a]}
→ 5: vary.load.user: load has no 'user', did you mean 'users'?
→ 5: vary.users: must be workload or begin with load., shape. or set., for example load.users
→ 5: vary.shape.parties[1]: 2 is listed twice
→ 5: vary.load.faults: cannot vary; give named steps a load with faults of their own

SOUND
vary: {load.users: [null, 4], load.rate: [null], set.iouValue: [1, null, [1, 2], {a: 1}]}
→ 5: vary.load.users[0]: is empty; enter a value
→ 5: vary.load.rate[0]: is empty; enter a value
→ 5: vary.set.iouValue[1]: is empty; enter a value
→ 5: vary.set.iouValue[2]: must be a single value, but is [1, 2]
→ 5: vary.set.iouValue[3]: must be a single value, but is {'a': 1}

EMPTY
description: A sweep.
warm_up: {min: 5s, max: 15s}
measure: 15s
vary: {workload: [iou, 5, ' ']}
→ 4: vary.workload[1]: must be text, but is 5; put it in quotes
→ 4: vary.workload[2]: must not be empty

SOUND
steps:
  - {name: one, warm_up: {min: 2s, max: 1s}}
  - {name: two, measure: 0s}
→ 6: steps[0].warm_up.min: must not be above max (1s)
→ 7: steps[1].measure: must be at least 1s, but is '0s'

SOUND
load: {arrivals: poisson}
steps: [{name: one, load: {rate: 5}}]
thresholds: {p95_max: 1s}
find_max: {rate_min: 1, rate_max: 5, p95_max: 2s, confirm: 90s}
→ 6: steps[0].load.rate: must not be set for a search, which finds the rate itself
→ 7: thresholds: must not be set for a search; set its limits in find_max

COUNTED
load: {arrivals: poisson}
measure: {flows: 5}
may_break: true
find_max: {rate_min: 1, rate_max: 5, p95_max: 2s, confirm: 60s}
→ 4: measure: must be a duration in a search
→ 5: may_break: must not be set for a search: a rate that ends a node is not sustained

COUNTED
warm_up: {min: 20s, max: 15s}
measure: 5s
find_max: {rate_min: 10, rate_max: 5, confirm: 60s}
→ 3: warm_up.min: must not be above max (15s)
→ 5: find_max.rate_min: must be below find_max.rate_max
→ 5: find_max: needs a limit; set p50_max, p95_max or p99_max

EMPTY
description: A sweep.
warm_up: {min: 5s, max: 15s}
measure: 5s
steps:
  - {name: one, workload: iou}
  - {name: one}
x: load.users
repeats: 2
find_max: {rate_min: 1, rate_max: 5, p95_max: 2s, confirm: 60s}
→ 6: steps[1].name: 'one' is used twice
→ 6: steps[1]: workload: is missing, both here and for the whole sweep
→ 7: x: 'load.users' is not in vary, which has no fields
→ 8: repeats: must not be set for a search, which confirms its own result
→ 9: find_max: needs open load; set load.arrivals to poisson or constant

SOUND
steps:
  - {name: small}
  - {name: big, workload: empty, load: {users: 64}, shape: {preset: tuned}}
vary: {load.users: [2, 8], workload: [iou, empty], shape.link: [[], [partya-partyb=+40ms]]}
x: shape.link
→ 2: workload: workload is also in vary; remove one of them
→ 7: steps[1]: 'big' sets load.users, which is also in vary; remove one of them
→ 7: steps[1]: 'big' sets workload, which is also in vary; remove one of them
→ 9: x: 'shape.link' has lists as values, which an axis cannot show

COUNTED
measure: 5s
→ 1: warm_up: is missing

COUNTED
measure: {flows: 5}
warm_up: {min: 5s, max: 5s}
→ 4: warm_up: ONLY TIME

COUNTED
measure: {flows: 5}
steps:
  - {name: counted, warm_up: {min: 5s, max: 5s}}
  - {name: timed, measure: 5s}
→ 5: steps[0].warm_up: ONLY TIME
→ 6: steps[1].warm_up: is missing, both here and for the whole sweep

COUNTED
load: {arrivals: burst}
measure: {flows: 5}
steps:
  - {name: burst}
  - {name: closed, load: {arrivals: closed}, measure: {bursts: 2}}
→ 1: condition: bursts do not condition nodes; REMEDY
→ 4: measure: must be {bursts: N}, because load.arrivals is burst
→ 7: steps[1].measure.bursts: needs load.arrivals: burst

COUNTED
condition: none
measure: {bursts: 2}
vary: {load.arrivals: [burst, closed]}
→ 4: measure.bursts: needs load.arrivals: burst

SOUND
steps:
  - {name: near, at: 0}
  - {name: far}
x: at
→ 7: steps[1].at: is missing; x is at, so every named step needs a number

SOUND
x: at
→ 5: x: at is the number of named steps, and there are no steps

SOUND
condition: {load: {arrivals: poisson, rate: 2 x peak}}
→ 5: condition.load.rate: must be a number: nothing was measured before the nodes are conditioned

SOUND
steps: [{name: own, peak: true, load: {arrivals: poisson, rate: 4 x peak}}]
→ 5: steps[0].peak: 'own' has a rate that depends on it

SOUND
condition: {for: {min: 3s, max: 2s}, load: {faults: [{kind: kill, target: bridge, at: 1s, for: 1s}]}}
→ 5: condition.for.min: must not be above max (2s)
→ 5: condition.for.max: must be at least 4s

SOUND
condition: {load: {faults: [{kind: kill, target: bridge, at: 1s, for: 1s}]}}
→ 5: condition.load.faults: are not for the load that conditions the nodes; leave them out

SOUND
condition: no
→ 5: condition: must be none or have the fields workload, load, set and for, but is False

COUNTED
measure: {bursts: 2, after: 5}
→ 3: measure: FORMS, but is {'bursts': 2, 'after': 5}

COUNTED
measure: {bursts: 0}
→ 3: measure.bursts: must be greater than or equal to 1, but is 0

WHOLE
quick: {vary: {load.users: [1, 8], load.user: [1]}, steps: [warn], measure: 0s}
→ 11: quick.vary.load.users[1]: 8 is not in vary.load.users of the whole sweep
→ 11: quick.vary.load.user[0]: 1 is not in vary.load.user of the whole sweep
→ 11: quick.steps[0]: there is no step 'warn', did you mean 'warm'?

WHOLE
quick: {measure: 0s, condition: {for: {min: 1s, max: 2s}}, load: {user: 4}}
→ 11: quick.load.user: unknown field, did you mean 'users'?
→ 11: quick.condition.for.max: must be at least 4s
→ 11: quick.measure: must be at least 1s, but is '0s'

WHOLE
quick: {repeats: 2, varry: {}}
→ 11: quick.repeats: must be greater than or equal to 3, but is 2

WHOLE
quick: {varry: {}}
→ 11: quick.varry: unknown field, did you mean 'vary'?

WHOLE
quick: {find_max: {precision: 20%, rate_max: 5, p95_max: 1s, confirm: 60s}}
→ 11: quick.find_max.rate_min: is missing

SOUND
vary: {shape.corda: ['4.9', '4.10'], set.iouValue: [1, 7]}
quick: {shape: {corda: '4.9'}, set: {iouValue: 7}}
→ 6: quick.shape.corda: shape.corda is also in vary; remove one of them
→ 6: quick.set.iouValue: set.iouValue is also in vary; remove one of them

BURSTS
quick: {measure: {flows: 5}, warm_up: {min: 1s, max: 1s}}
→ 6: quick.warm_up: ONLY TIME
→ 6: quick.measure: must be {bursts: N}, because load.arrivals is burst

COUNTED
measure: {flows: 5}
quick: {measure: 5s}
→ 4: quick.warm_up: is missing
"""
"""Files, each with the beginning that its first line names, and what is wrong with them by line."""
WORDS = {
    "FORMS": "must be a duration such as 60s, or {bursts: 10}, or {flows: 400, after: 2}",
    "ONLY TIME": "must not be set: bursts, and steps that end by count, have no warm-up",
    "REMEDY": "set another load, such as condition: {load: {arrivals: closed, users: 8}}, or none",
    "a RATE": "a number, or a multiple of the peak such as 4 x peak",
    "must be KINDS": "must be 'kill', 'pause', 'restart', 'partition', 'slow-link', 'reset-link', 'full-disk' or "
    "'memory-limit'",
}
WHOLE = """\
description: Quickly.
workload: iou
vary: {load.users: [1, 2, 4], shape.corda: ["4.9", "4.10"]}
repeats: 5
condition: {load: {users: 8}}
warm_up: {min: 20s, max: 120s}
measure: 180s
steps:
  - {name: cold, warm_up: {min: 0s, max: 0s}, measure: 60s}
  - {name: warm}
"""
HEADS = {"EMPTY": "", "SOUND": SOUND, "COUNTED": COUNTED, "BURSTS": BURSTS, "WHOLE": WHOLE}


@pytest.mark.parametrize("case", MISTAKES.strip().split("\n\n"))
def test_every_mistake_is_told_with_its_line(tmp_path: Path, case: str) -> None:
    for word, meaning in WORDS.items():
        case = case.replace(word, meaning)
    head, *lines = case.splitlines()
    text = "".join(f"{line}\n" for line in lines if not line.startswith("→"))
    expected = [line.replace("→ ", "own.yaml:") for line in lines if line.startswith("→")]
    assert mistakes(tmp_path, HEADS[head] + text) == expected


def short_form(tmp_path: Path, text: str) -> SweepFile:
    return quick(written(tmp_path, text))


def test_a_short_form_leaves_out_what_its_file_says(tmp_path: Path) -> None:
    text = (
        WHOLE
        + """\
quick:
  vary: {load.users: [4, 1]}
  steps: [warm]
  condition: {for: {min: 10s, max: 60s}}
  warm_up: {min: 5s, max: 10s}
  measure: 30s
  load: {pacing: 2}
"""
    )
    short = short_form(tmp_path, text)
    fields = short.fields
    assert (short.name, short.run_name, short.text, short.is_quick) == ("own", "own-quick", text, True)
    assert fields.vary == {"load.users": [4, 1], "shape.corda": ["4.9", "4.10"]}
    assert [step.name for step in fields.steps or ()] == ["warm"]
    assert (fields.warm_up, fields.measure, fields.load.given("pacing")) == (SpanFields(min=5, max=10), 30, 2)
    assert fields.condition != "none"
    assert (fields.condition.load.given("users"), fields.condition.duration.max) == (8, 60)


def test_a_short_form_keeps_what_named_steps_set_themselves(tmp_path: Path) -> None:
    text = WHOLE + "quick: {warm_up: {min: 5s, max: 5s}, measure: 30s, condition: none}\n"
    fields = short_form(tmp_path, text).fields
    assert fields.steps == written(tmp_path, text).fields.steps
    assert fields.condition == "none"


@pytest.mark.parametrize(
    ("given", "repeats"), [("{}", 3), ("{repeats: 4}", 4), ("{steps: null, vary: {load.users: [1]}}", 3)]
)
def test_a_short_form_has_three_repeats_or_more(tmp_path: Path, given: str, repeats: int) -> None:
    for text in (WHOLE, WHOLE.replace("repeats: 5", "repeats: 1")):
        fields = short_form(tmp_path, f"{text}quick: {given}\n").fields
        assert fields.repeats == repeats
        assert (fields.steps is None) == ("null" in given)


def test_a_file_without_a_short_form_names_the_field(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"own.yaml: quick: is missing") as caught:
        short_form(tmp_path, WHOLE)
    assert "Add it, for example" in caught.value.remedy


def test_a_short_form_has_its_own_shape_arguments_and_count(tmp_path: Path) -> None:
    text = """\
description: Quickly.
workload: settlement-4
set: {backchainSize: 10, amount: 3}
shape: {parties: 9, heap: 2g}
condition: {set: {backchainSize: 0}, load: {users: 4}, for: 2m}
measure: {flows: 400, after: 2}
quick: {shape: {heap: 1g}, set: {backchainSize: 5}, fresh: shape, condition: {for: 1m}, measure: {flows: 3, after: 2}}
"""
    fields = short_form(tmp_path, text).fields
    assert (fields.set, fields.fresh) == ({"backchainSize": 5, "amount": 3}, "shape")
    assert fields.shape.model_dump(exclude_none=True) == {"parties": 9, "heap": "1g"}
    assert fields.measure == FlowCount(flows=3, after=2)
    assert fields.condition != "none"
    assert (fields.condition.duration.min, fields.condition.set) == (60, {"backchainSize": 0})
    counted = short_form(tmp_path, SOUND + "quick: {measure: {flows: 5}, warm_up: null}\n").fields
    assert (counted.measure, counted.warm_up) == (FlowCount(flows=5), None)


@pytest.mark.parametrize(
    "given", ["5", "{steps: warm}", "{vary: [1]}", "{vary: {load.users: 1}}", "{steps: [{}]}", "{steps: []}"]
)
def test_a_short_form_of_another_type_is_told(tmp_path: Path, given: str) -> None:
    assert ": quick" in mistakes(tmp_path, f"{WHOLE}quick: {given}\n")[0]


def test_the_short_form_of_a_search_is_coarser(tmp_path: Path) -> None:
    whole = read_sweep(SWEEPS / "find-max.yaml")
    short = quick(whole)
    assert short.fields.find_max is not None
    assert whole.fields.find_max is not None
    assert (short.fields.find_max.precision, short.fields.find_max.confirm) == (0.2, 30)
    assert short.fields.find_max.p95_max == whole.fields.find_max.p95_max
    assert short.fields.repeats == 1
    (problem,) = mistakes(tmp_path, whole.text + "  repeats: 3\n")
    assert problem.endswith("quick.repeats: must not be set for a search, which confirms its own result")


def test_every_sweep_that_takes_long_has_a_short_form() -> None:
    """The others are tests of sweeps and of the machine by repeats of some seconds, and what shows only over hours."""
    without = {path.stem for path in SWEEPS.glob("*.yaml") if read_sweep(path).fields.quick is None}
    assert without == {"smoke", "a-a", "repeats", "soak"}
