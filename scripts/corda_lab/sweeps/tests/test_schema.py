"""Sweep files: every mistake at once, each with its line."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.results.sweep_parts import BurstCount, FlowCount, peak_factor
from corda_lab.steps.load import SECONDS_MAX, SECONDS_MIN
from corda_lab.sweeps.command import SWEEPS, find_file
from corda_lab.sweeps.file import read_sweep
from support.sweep_files import BURSTS, COUNTED, SOUND, mistakes, written


@pytest.mark.parametrize("path", sorted(SWEEPS.glob("*.yaml")), ids=lambda path: str(path.stem))
def test_every_sweep_of_the_repository_can_be_read(path: Path) -> None:
    assert read_sweep(path).name == path.stem


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
        (
            "own.yaml:5: measure: must be a duration such as 60s, or {bursts: 10}, or {flows: 400, after: 2}, "
            "but is {'min': '10s', 'max': '15s'}"
        ),
        "own.yaml:6: fresh: must be 'repeat', 'shape' or 'step', but is 'always'",
    ]


def test_a_version_that_yaml_takes_for_a_number_has_to_be_in_quotes(tmp_path: Path) -> None:
    (problem,) = mistakes(tmp_path, SOUND + 'vary:\n  shape.corda: ["4.9", 4.10]\n')
    assert problem == "own.yaml:6: vary.shape.corda[1]: must be text, but is 4.1; put it in quotes"


def test_what_varies_has_to_be_there_and_once(tmp_path: Path) -> None:
    vary = "vary:\n  load.user: [1, 2]\n  users: [1]\n  shape.parties: [2, 2]\n  set.iouValue: [1, 2]\n"
    assert mistakes(tmp_path, SOUND + vary) == [
        "own.yaml:6: vary.load.user: load has no 'user', did you mean 'users'?",
        "own.yaml:7: vary.users: must be workload or begin with load., shape. or set., for example load.users",
        "own.yaml:8: vary.shape.parties[1]: 2 is listed twice",
    ]


def test_the_times_of_a_named_step_have_to_fit_too(tmp_path: Path) -> None:
    steps = "steps:\n  - {name: one, warm_up: {min: 2s, max: 1s}}\n  - {name: two, measure: 0s}\n"
    assert mistakes(tmp_path, SOUND + steps) == [
        "own.yaml:6: steps[0].warm_up.min: must not be above max (1s)",
        "own.yaml:7: steps[1].measure: must be at least 1s, but is '0s'",
    ]


@pytest.mark.parametrize(
    ("vary", "problem"),
    [
        ("load.users: [null, 4]", "load.users[0]: is empty; enter a value"),
        ("shape.cores: [null, 1]", "shape.cores[0]: is empty; enter a value"),
        ("load.rate: [null, 1]", "load.rate[0]: is empty; enter a value"),
        ("set.iouValue: [1, null]", "set.iouValue[1]: is empty; enter a value"),
        ("workload: [iou, 5]", "workload[1]: must be text, but is 5; put it in quotes"),
        ("workload: [' ']", "workload[0]: must not be empty"),
        ("set.iouValue: [[1, 2]]", "set.iouValue[0]: must be a single value, but is [1, 2]"),
        ("set.iouValue: [{a: 1}]", "set.iouValue[0]: must be a single value, but is {'a': 1}"),
    ],
)
def test_what_varies_has_values_that_fit(tmp_path: Path, vary: str, problem: str) -> None:
    found = mistakes(tmp_path, SOUND + f"vary:\n  {vary}\n")
    assert found[-1].startswith(f"own.yaml:6: vary.{problem}")


def test_a_search_takes_no_rate_and_confirms_for_whole_seconds(tmp_path: Path) -> None:
    text = """\
load: {arrivals: poisson}
steps:
  - {name: one, load: {rate: 5}}
"""
    search = "find_max: {rate_min: 1, rate_max: 5, p95_max: 2s, confirm: %s}\n"
    assert mistakes(tmp_path, SOUND + text + search % "90s") == [
        "own.yaml:7: steps[0].load.rate: must not be set for a search, which finds the rate itself"
    ]
    for confirm, problem in (("90.5s", "a whole number of seconds, but is '90.5s'"), ("0s", "at least 1s")):
        assert mistakes(tmp_path, SOUND + text + search % confirm) == [
            f"own.yaml:8: find_max.confirm: must be {problem}"
        ]


def test_what_does_not_fit_together_is_told(tmp_path: Path) -> None:
    text = """\
description: A sweep.
warm_up: {min: 20s, max: 15s}
measure: 5s
steps:
  - name: one
    workload: iou
  - name: one
x: load.users
repeats: 2
find_max: {rate_min: 10, rate_max: 5, confirm: 60s}
"""
    assert mistakes(tmp_path, text) == [
        "own.yaml:2: warm_up.min: must not be above max (15s)",
        "own.yaml:10: find_max.rate_min: must be below find_max.rate_max",
        "own.yaml:10: find_max: needs a limit; set p50_max, p95_max or p99_max",
    ]
    text = text.replace("min: 20s", "min: 5s").replace("rate_min: 10,", "rate_min: 1, p50_max: 1s,")
    assert mistakes(tmp_path, text) == [
        "own.yaml:7: steps[1].name: 'one' is used twice",
        "own.yaml:7: steps[1]: workload: is missing, both here and for the whole sweep",
        "own.yaml:8: x: 'load.users' is not in vary, which has no fields",
        "own.yaml:9: repeats: must not be set for a search, which confirms its own result",
        "own.yaml:10: find_max: needs open load; set load.arrivals to poisson or constant",
    ]


def test_a_value_that_varies_is_not_set_by_a_named_step_too(tmp_path: Path) -> None:
    text = """\
steps:
  - {name: small}
  - {name: big, workload: empty, load: {users: 64}, shape: {preset: tuned}}
vary: {load.users: [2, 8], workload: [iou, empty], shape.link: [[], [partya-partyb=+40ms]]}
x: shape.link
"""
    assert mistakes(tmp_path, SOUND + text) == [
        "own.yaml:2: workload: workload is also in vary; remove one of them",
        "own.yaml:7: steps[1]: 'big' sets load.users, which is also in vary; remove one of them",
        "own.yaml:7: steps[1]: 'big' sets workload, which is also in vary; remove one of them",
        "own.yaml:9: x: 'shape.link' has lists as values, which an axis cannot show",
    ]


def test_a_search_has_its_limits_and_no_thresholds(tmp_path: Path) -> None:
    text = "load: {arrivals: poisson}\nthresholds: {p95_max: 1s}\n"
    text += "find_max: {rate_min: 1, rate_max: 5, p95_max: 2s, confirm: 60s}\n"
    assert mistakes(tmp_path, SOUND + text) == [
        "own.yaml:6: thresholds: must not be set for a search; set its limits in find_max"
    ]


def test_a_sweep_is_found_by_its_name_too() -> None:
    assert find_file("smoke") == SWEEPS / "smoke.yaml"
    with pytest.raises(LabError, match="there is no sweep 'smok', did you mean 'smoke'"):
        find_file("smok")


def test_nodes_are_conditioned_unless_the_file_says_no(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(SOUND, encoding="utf-8")
    found = read_sweep(path).fields.condition
    assert found != "none"
    assert (found.duration.min, found.duration.max) == (SECONDS_MIN, SECONDS_MAX)
    path.write_text(SOUND + "condition: none\n", encoding="utf-8")
    assert read_sweep(path).fields.condition == "none"


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        ("no", ["condition: must be none or have the fields workload, load, set and for, but is False"]),
        ("{load: {user: 8}}", ["condition.load.user: unknown field, did you mean 'users'?"]),
        ("{four: {min: 5s}}", ["condition.four: unknown field, did you mean 'for'?"]),
        ("{for: {max: soon}}", ["condition.for.max: must be a duration such as 30s or 2m, but is 'soon'"]),
        ("{for: {min: 60s, max: 30s}}", ["condition.for.min: must not be above max (30s)"]),
        ("{for: {min: 1s, max: 2s}}", ["condition.for.max: must be at least 4s"]),
        ("{for: {min: 10.5s}}", ["condition.for.min: must be a whole number of seconds, but is '10.5s'"]),
    ],
)
def test_a_mistake_in_what_conditions_the_nodes_is_told(tmp_path: Path, given: str, problems: list[str]) -> None:
    assert mistakes(tmp_path, SOUND + f"condition: {given}\n") == [f"own.yaml:5: {problem}" for problem in problems]


def test_a_step_ends_by_time_by_bursts_or_by_flows(tmp_path: Path) -> None:
    fields = written(tmp_path, SOUND).fields
    assert fields.measure == 15.0
    fields = written(tmp_path, BURSTS).fields
    assert fields.measure == BurstCount(bursts=10)
    assert (fields.warm_up, fields.load.given("within"), fields.load.given("pool")) == (None, 1.0, 8)
    assert written(tmp_path, COUNTED + "measure: {flows: 8, after: 2}\n").fields.measure == FlowCount(flows=8, after=2)
    assert written(tmp_path, COUNTED + "measure: {flows: 8}\n").fields.measure == FlowCount(flows=8, after=0)


FORMS = ": must be a duration such as 60s, or {bursts: 10}, or {flows: 400, after: 2}"


@pytest.mark.parametrize(
    ("measure", "problem"),
    [
        ("soon", FORMS),
        ("[5s]", FORMS),
        ("{min: 5s, max: 5s}", FORMS),
        ("{bursts: 2, after: 5}", FORMS),
        ("{after: 2}", FORMS),
        ("{bursts: 0}", ".bursts: must be greater than or equal to 1, but is 0"),
    ],
)
def test_the_forms_of_measure_do_not_mix(tmp_path: Path, measure: str, problem: str) -> None:
    found = mistakes(tmp_path, f"{COUNTED}measure: {measure}\n")
    assert any(line.startswith(f"own.yaml:3: measure{problem}") for line in found)


def test_a_warm_up_belongs_to_steps_that_are_measured_by_time(tmp_path: Path) -> None:
    only_time = "must not be set: bursts, and steps that end by count, have no warm-up"
    assert mistakes(tmp_path, COUNTED + "measure: 5s\n") == ["own.yaml:1: warm_up: is missing"]
    text = "measure: {flows: 5}\nwarm_up: {min: 5s, max: 5s}\n"
    assert mistakes(tmp_path, COUNTED + text) == [f"own.yaml:4: warm_up: {only_time}"]
    steps = "steps:\n  - {name: counted}\n  - {name: timed, measure: 5s}\n"
    assert written(tmp_path, COUNTED + text + steps).fields.warm_up is not None
    assert mistakes(tmp_path, COUNTED + "measure: {flows: 5}\n" + steps) == [
        "own.yaml:6: steps[1].warm_up: is missing, both here and for the whole sweep"
    ]
    own = "steps:\n  - {name: counted, warm_up: {min: 5s, max: 5s}}\n"
    assert mistakes(tmp_path, COUNTED + "measure: {flows: 5}\n" + own) == [f"own.yaml:5: steps[0].warm_up: {only_time}"]


def test_bursts_are_measured_in_bursts_and_condition_no_nodes(tmp_path: Path) -> None:
    text = """\
load: {arrivals: burst}
measure: {flows: 5}
steps:
  - {name: burst}
  - {name: closed, load: {arrivals: closed}, measure: {bursts: 2}}
"""
    remedy = "set another load, such as condition: {load: {arrivals: closed, users: 8}}, or none"
    assert mistakes(tmp_path, COUNTED + text) == [
        f"own.yaml:1: condition: bursts do not condition nodes; {remedy}",
        "own.yaml:4: measure: must be {bursts: N}, because load.arrivals is burst",
        "own.yaml:7: steps[1].measure.bursts: needs load.arrivals: burst",
    ]
    varied = "condition: none\nmeasure: {bursts: 2}\nvary: {load.arrivals: [burst, closed]}\n"
    assert mistakes(tmp_path, COUNTED + varied) == ["own.yaml:4: measure.bursts: needs load.arrivals: burst"]


def test_a_search_is_measured_by_time_and_keeps_its_nodes(tmp_path: Path) -> None:
    search = "find_max: {rate_min: 1, rate_max: 5, p95_max: 2s, confirm: 60s}\n"
    text = "load: {arrivals: poisson}\nmeasure: {flows: 5}\nmay_break: true\n"
    assert mistakes(tmp_path, COUNTED + text + search) == [
        "own.yaml:4: measure: must be a duration in a search",
        "own.yaml:5: may_break: must not be set for a search: a rate that ends a node is not sustained",
    ]


def test_the_number_of_a_named_step_can_be_the_axis(tmp_path: Path) -> None:
    steps = "steps:\n  - {name: near, at: 0}\n  - {name: far, at: 8.5}\nx: at\n"
    fields = written(tmp_path, SOUND + steps).fields
    assert [step.at for step in fields.steps or ()] == [0, 8.5]
    assert mistakes(tmp_path, SOUND + steps.replace(", at: 8.5", "")) == [
        "own.yaml:7: steps[1].at: is missing; x is at, so every named step needs a number"
    ]
    assert mistakes(tmp_path, SOUND + "x: at\n") == [
        "own.yaml:5: x: at is the number of named steps, and there are no steps"
    ]
    assert mistakes(tmp_path, SOUND + steps.replace("8.5", "far")) == [
        "own.yaml:7: steps[1].at: must be a number, but is 'far'"
    ]


@pytest.mark.parametrize(
    ("rate", "factor"),
    [("4 x peak", 4.0), ("0.5 x peak", 0.5), ("0 x peak", 0.0), ("x peak", None), ("4 x knee", None), (4, None)],
)
def test_a_rate_is_a_multiple_of_the_peak(rate: object, factor: float | None) -> None:
    assert peak_factor(rate) == factor


def test_a_rate_that_is_neither_a_number_nor_a_multiple_is_told(tmp_path: Path) -> None:
    form = "must be a number, or a multiple of the peak such as 4 x peak, but is"
    text = "load: {arrivals: poisson}\nsteps:\n  - {name: one, load: {rate: 4x peak}}\n"
    text += "  - {name: two, load: {rate: 0 x peak}}\n  - {name: three, load: {rate: 0}}\n"
    assert mistakes(tmp_path, SOUND + text) == [
        f"own.yaml:7: steps[0].load.rate: {form} '4x peak'",
        f"own.yaml:8: steps[1].load.rate: {form} '0 x peak'",
        "own.yaml:9: steps[2].load.rate: must be greater than 0, but is 0",
    ]


def test_a_peak_and_the_load_before_it_have_no_multiples(tmp_path: Path) -> None:
    text = "load: {arrivals: poisson, rate: 4 x peak}\ncondition: {load: {rate: 2 x peak}}\n"
    assert mistakes(tmp_path, SOUND + text) == [
        "own.yaml:6: condition.load.rate: must be a number: nothing was measured before the nodes are conditioned",
    ]
    steps = "steps:\n  - {name: own, peak: true, load: {arrivals: poisson, rate: 4 x peak}}\n  - {name: closed}\n"
    assert mistakes(tmp_path, SOUND + steps) == ["own.yaml:6: steps[0].peak: 'own' has a rate that depends on it"]
