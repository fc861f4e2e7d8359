"""Sweep files and their short forms: what they mean, and every mistake at once, each with its line."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.results.sweep_parts import BurstCount, FlowCount, SpanFields, peak_factor
from corda_lab.steps.load import SECONDS_MAX, SECONDS_MIN
from corda_lab.sweeps.command import SWEEPS, find_file
from corda_lab.sweeps.file import SweepFile, quick, read_sweep
from support.sweep_files import BURSTS, COUNTED, SOUND, mistakes, written

SEARCH = "find_max: {rate_min: 1, rate_max: 5, p95_max: 2s, confirm: %s}\n"
OPEN = "load: {arrivals: poisson}\n"
FORMS = "must be a duration such as 60s, or {bursts: 10}, or {flows: 400, after: 2}"
ONLY_TIME = "must not be set: bursts, and steps that end by count, have no warm-up"
RATE_FORM = "must be a number, or a multiple of the peak such as 4 x peak, but is"


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


@pytest.mark.parametrize(
    ("rate", "factor"),
    [("4 x peak", 4.0), ("0.5 x peak", 0.5), ("0 x peak", 0.0), ("x peak", None), ("4 x knee", None), (4, None)],
)
def test_a_rate_is_a_multiple_of_the_peak(rate: object, factor: float | None) -> None:
    assert peak_factor(rate) == factor


def test_every_mistake_is_told_with_its_line(tmp_path: Path) -> None:
    text = """\
description: A sweep.
worload: iou
load: {users: many}
warm_up: {min: soon, max: 15s}
measure: {min: 10s, max: 15s}
fresh: always
"""
    assert mistakes(tmp_path, text) == [
        "own.yaml:2: worload: unknown field, did you mean 'workload'?",
        "own.yaml:3: load.users: must be a valid integer, but is 'many'",
        "own.yaml:4: warm_up.min: must be a duration such as 30s or 2m, but is 'soon'",
        f"own.yaml:5: measure: {FORMS}, but is {{'min': '10s', 'max': '15s'}}",
        "own.yaml:6: fresh: must be 'repeat', 'shape' or 'step', but is 'always'",
    ]


VARIED = [
    (
        'shape.corda: ["4.9", 4.10]',
        ["shape.corda[1]: must be text, but is 4.1; put it in quotes"],
    ),
    (
        "load.user: [1, 2]\n  users: [1]\n  shape.parties: [2, 2]",
        [
            "load.user: load has no 'user', did you mean 'users'?",
            "users: must be workload or begin with load., shape. or set., for example load.users",
            "shape.parties[1]: 2 is listed twice",
        ],
    ),
    ("load.users: [null, 4]", ["load.users[0]: is empty; enter a value"]),
    ("set.iouValue: [1, null]", ["set.iouValue[1]: is empty; enter a value"]),
    ("workload: [iou, 5]", ["workload[1]: must be text, but is 5; put it in quotes"]),
    ("workload: [' ']", ["workload[0]: must not be empty"]),
    ("set.iouValue: [[1, 2]]", ["set.iouValue[0]: must be a single value, but is [1, 2]"]),
    (
        "load.faults: [a, b]",
        ["load.faults: cannot vary; give named steps a load with faults of their own"],
    ),
]


@pytest.mark.parametrize(("vary", "problems"), VARIED)
def test_what_varies_has_a_name_and_values_that_fit(tmp_path: Path, vary: str, problems: list[str]) -> None:
    head = SOUND.replace("workload: iou\n", "") if vary.startswith("workload") else SOUND
    told = mistakes(tmp_path, f"{head}vary:\n  {vary}\n")
    assert [line.partition(": vary.")[2] for line in told] == problems


CONFLICTS = {
    "times of a named step": (
        SOUND + "steps:\n  - {name: one, warm_up: {min: 2s, max: 1s}}\n  - {name: two, measure: 0s}\n",
        [
            "6: steps[0].warm_up.min: must not be above max (1s)",
            "7: steps[1].measure: must be at least 1s, but is '0s'",
        ],
    ),
    "a search finds the rate itself": (
        SOUND + OPEN + "steps:\n  - {name: one, load: {rate: 5}}\n" + SEARCH % "90s",
        ["7: steps[0].load.rate: must not be set for a search, which finds the rate itself"],
    ),
    "a search confirms for whole seconds": (
        SOUND + OPEN + SEARCH % "90.5s",
        ["6: find_max.confirm: must be a whole number of seconds, but is '90.5s'"],
    ),
    "a search is measured by time, and keeps its nodes": (
        COUNTED + OPEN + "measure: {flows: 5}\nmay_break: true\n" + SEARCH % "60s",
        [
            "4: measure: must be a duration in a search",
            "5: may_break: must not be set for a search: a rate that ends a node is not sustained",
        ],
    ),
    "a search has its limits and no thresholds": (
        SOUND + OPEN + "thresholds: {p95_max: 1s}\n" + SEARCH % "60s",
        ["6: thresholds: must not be set for a search; set its limits in find_max"],
    ),
    "groups of fields": (
        (
            "description: A sweep.\nworkload: iou\nwarm_up: {min: 20s, max: 15s}\nmeasure: 5s\n"
            "find_max: {rate_min: 10, rate_max: 5, confirm: 60s}\n"
        ),
        [
            "3: warm_up.min: must not be above max (15s)",
            "5: find_max.rate_min: must be below find_max.rate_max",
            "5: find_max: needs a limit; set p50_max, p95_max or p99_max",
        ],
    ),
    "fields of the whole sweep": (
        "description: A sweep.\nwarm_up: {min: 5s, max: 15s}\nmeasure: 5s\nsteps:\n  - name: one\n    workload: iou\n"
        "  - name: one\nx: load.users\nrepeats: 2\n" + SEARCH % "60s",
        [
            "7: steps[1].name: 'one' is used twice",
            "7: steps[1]: workload: is missing, both here and for the whole sweep",
            "8: x: 'load.users' is not in vary, which has no fields",
            "9: repeats: must not be set for a search, which confirms its own result",
            "10: find_max: needs open load; set load.arrivals to poisson or constant",
        ],
    ),
    "what varies is set nowhere else": (
        SOUND + "steps:\n  - {name: small}\n"
        "  - {name: big, workload: empty, load: {users: 64}, shape: {preset: tuned}}\n"
        "vary: {load.users: [2, 8], workload: [iou, empty], shape.link: [[], [partya-partyb=+40ms]]}\nx: shape.link\n",
        [
            "2: workload: workload is also in vary; remove one of them",
            "7: steps[1]: 'big' sets load.users, which is also in vary; remove one of them",
            "7: steps[1]: 'big' sets workload, which is also in vary; remove one of them",
            "9: x: 'shape.link' has lists as values, which an axis cannot show",
        ],
    ),
    "a time needs a warm-up": (COUNTED + "measure: 5s\n", ["1: warm_up: is missing"]),
    "a count has no warm-up": (
        COUNTED + "measure: {flows: 5}\nwarm_up: {min: 5s, max: 5s}\n",
        [f"4: warm_up: {ONLY_TIME}"],
    ),
    "a timed step among counted ones needs a warm-up": (
        COUNTED + "measure: {flows: 5}\nsteps:\n  - {name: counted}\n  - {name: timed, measure: 5s}\n",
        ["6: steps[1].warm_up: is missing, both here and for the whole sweep"],
    ),
    "a counted step has no warm-up of its own": (
        COUNTED + "measure: {flows: 5}\nsteps:\n  - {name: counted, warm_up: {min: 5s, max: 5s}}\n",
        [f"5: steps[0].warm_up: {ONLY_TIME}"],
    ),
    "bursts are measured in bursts, and condition no nodes": (
        COUNTED + "load: {arrivals: burst}\nmeasure: {flows: 5}\nsteps:\n  - {name: burst}\n"
        "  - {name: closed, load: {arrivals: closed}, measure: {bursts: 2}}\n",
        [
            (
                "1: condition: bursts do not condition nodes; set another load, such as "
                "condition: {load: {arrivals: closed, users: 8}}, or none"
            ),
            "4: measure: must be {bursts: N}, because load.arrivals is burst",
            "7: steps[1].measure.bursts: needs load.arrivals: burst",
        ],
    ),
    "arrivals that vary": (
        COUNTED + "condition: none\nmeasure: {bursts: 2}\nvary: {load.arrivals: [burst, closed]}\n",
        ["4: measure.bursts: needs load.arrivals: burst"],
    ),
    "every named step has a number, if that is the axis": (
        SOUND + "steps:\n  - {name: near, at: 0}\n  - {name: far}\nx: at\n",
        ["7: steps[1].at: is missing; x is at, so every named step needs a number"],
    ),
    "no named steps": (SOUND + "x: at\n", ["5: x: at is the number of named steps, and there are no steps"]),
    "a number that is none": (
        SOUND + "steps:\n  - {name: far, at: far}\n",
        ["6: steps[0].at: must be a number, but is 'far'"],
    ),
    "a rate is a number or a multiple": (
        SOUND + OPEN + "steps:\n  - {name: one, load: {rate: 4x peak}}\n"
        "  - {name: two, load: {rate: 0 x peak}}\n  - {name: three, load: {rate: 0}}\n",
        [
            f"7: steps[0].load.rate: {RATE_FORM} '4x peak'",
            f"8: steps[1].load.rate: {RATE_FORM} '0 x peak'",
            "9: steps[2].load.rate: must be greater than 0, but is 0",
        ],
    ),
    "conditioning has no multiple": (
        SOUND + "load: {arrivals: poisson, rate: 4 x peak}\ncondition: {load: {rate: 2 x peak}}\n",
        ["6: condition.load.rate: must be a number: nothing was measured before the nodes are conditioned"],
    ),
    "a peak has no multiple": (
        SOUND + "steps:\n  - {name: own, peak: true, load: {arrivals: poisson, rate: 4 x peak}}\n",
        ["6: steps[0].peak: 'own' has a rate that depends on it"],
    ),
    "kind of a fault": (
        SOUND + "load: {faults: [{kind: kil, target: bridge, at: 10s, for: 5s, seconds: 4}]}\n",
        [
            (
                "5: load.faults[0].kind: must be 'kill', 'pause', 'restart', 'partition', 'slow-link', 'reset-link', "
                "'full-disk' or 'memory-limit', but is 'kil'"
            ),
            "5: load.faults[0].seconds: unknown field; choose from kind, target, at, for, parameters",
        ],
    ),
    "length of a fault": (
        SOUND + "load: {faults: [{kind: kill, target: bridge, at: 10s}]}\n",
        ["5: load.faults[0].for: is missing"],
    ),
    "no fault conditions nodes": (
        SOUND + "condition: {load: {faults: [{kind: kill, target: bridge, at: 1s, for: 1s}]}}\n",
        ["5: condition.load.faults: are not for the load that conditions the nodes; leave them out"],
    ),
}


@pytest.mark.parametrize(("text", "problems"), CONFLICTS.values(), ids=CONFLICTS)
def test_what_does_not_fit_together_is_told(tmp_path: Path, text: str, problems: list[str]) -> None:
    assert mistakes(tmp_path, text) == [f"own.yaml:{problem}" for problem in problems]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("no", ": must be none or have the fields workload, load, set and for, but is False"),
        ("{load: {user: 8}}", ".load.user: unknown field, did you mean 'users'?"),
        ("{four: {min: 5s}}", ".four: unknown field, did you mean 'for'?"),
        ("{for: {max: soon}}", ".for.max: must be a duration such as 30s or 2m, but is 'soon'"),
        ("{for: {min: 60s, max: 30s}}", ".for.min: must not be above max (30s)"),
        ("{for: {min: 1s, max: 2s}}", ".for.max: must be at least 4s"),
        ("{for: {min: 10.5s}}", ".for.min: must be a whole number of seconds, but is '10.5s'"),
    ],
)
def test_a_mistake_in_what_conditions_the_nodes_is_told(tmp_path: Path, given: str, problem: str) -> None:
    assert mistakes(tmp_path, SOUND + f"condition: {given}\n") == [f"own.yaml:5: condition{problem}"]


@pytest.mark.parametrize(
    ("measure", "problem"),
    [
        *((given, f": {FORMS}") for given in ("soon", "[5s]", "{bursts: 2, after: 5}", "{after: 2}")),
        ("{bursts: 0}", ".bursts: must be greater than or equal to 1, but is 0"),
    ],
)
def test_the_forms_of_measure_do_not_mix(tmp_path: Path, measure: str, problem: str) -> None:
    told = mistakes(tmp_path, f"{COUNTED}measure: {measure}\n")
    assert any(line.startswith(f"own.yaml:3: measure{problem}") for line in told)


# Short forms.

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


QUICK_MISTAKES = [
    (
        WHOLE + "quick:\n  vary: {load.users: [1, 8], load.user: [1]}\n  steps: [warn]\n  measure: 0s\n",
        [
            "12: quick.vary.load.users[1]: 8 is not in vary.load.users",
            "12: quick.vary.load.user: 'load.user' is not in vary, which has load.users, shape.corda",
            "13: quick.steps[0]: there is no step 'warn', did you mean 'warm'?",
        ],
    ),
    (
        WHOLE + "quick: {measure: 0s, condition: {for: {min: 1s, max: 2s}}, load: {user: 4}}\n",
        [
            "11: quick.load.user: unknown field, did you mean 'users'?",
            "11: quick.condition.for.max: must be at least 4s",
            "11: quick.measure: must be at least 1s, but is '0s'",
        ],
    ),
    (WHOLE + "quick: {repeats: 2}\n", ["11: quick.repeats: must be greater than or equal to 3, but is 2"]),
    (WHOLE + "quick: {varry: {}}\n", ["11: quick.varry: unknown field, did you mean 'vary'?"]),
    (
        SOUND + "vary: {shape.corda: ['4.9', '4.10'], set.iouValue: [1, 7]}\n"
        "quick: {shape: {corda: '4.9'}, set: {iouValue: 7}}\n",
        [
            "6: quick.shape.corda: shape.corda is also in vary; remove one of them",
            "6: quick.set.iouValue: set.iouValue is also in vary; remove one of them",
        ],
    ),
    (
        BURSTS + "quick: {measure: {flows: 5}, warm_up: {min: 1s, max: 1s}}\n",
        [
            f"6: quick.warm_up: {ONLY_TIME}",
            "6: quick.measure: must be {bursts: N}, because load.arrivals is burst",
        ],
    ),
    (COUNTED + "measure: {flows: 5}\nquick: {measure: 5s}\n", ["4: quick.warm_up: is missing"]),
]


@pytest.mark.parametrize(("text", "problems"), QUICK_MISTAKES)
def test_a_mistake_in_the_short_form_is_told_with_its_line(tmp_path: Path, text: str, problems: list[str]) -> None:
    assert mistakes(tmp_path, text) == [f"own.yaml:{problem}" for problem in problems]


@pytest.mark.parametrize(
    "given", ["5", "{steps: warm}", "{vary: [1]}", "{vary: {load.users: 1}}", "{steps: [{}]}", "{steps: []}"]
)
def test_a_short_form_of_another_type_is_told(tmp_path: Path, given: str) -> None:
    assert ": quick" in mistakes(tmp_path, f"{WHOLE}quick: {given}\n")[0]


def test_null_takes_a_warm_up_away(tmp_path: Path) -> None:
    counted = short_form(tmp_path, SOUND + "quick: {measure: {flows: 5}, warm_up: null}\n").fields
    assert (counted.measure, counted.warm_up) == (FlowCount(flows=5), None)


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
