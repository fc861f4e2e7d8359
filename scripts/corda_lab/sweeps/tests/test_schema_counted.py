"""Fields of sweep files about steps that end by count, multiples of the peak, and short forms of both."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.sweeps.file import SweepFile, quick, read_sweep
from corda_lab.sweeps.schema import BurstsFields, FlowsFields, MeasureFields, peak_factor

SOUND = """\
description: A sweep.
workload: iou
warm_up: {min: 5s, max: 15s}
measure: {min: 10s, max: 15s}
"""


def read(tmp_path: Path, text: str) -> list[str]:
    """What is wrong with a file, a line each, without its folder."""
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LabError) as caught:
        read_sweep(path)
    return [line.strip().removeprefix(f"{tmp_path}/") for line in caught.value.message.splitlines()]


def short_form(tmp_path: Path, text: str) -> SweepFile:
    return quick(written(tmp_path, text))


HEAD = """\
description: A sweep.
workload: iou
"""
BURSTS = f"""\
{HEAD}load: {{arrivals: burst, within: 1s, rest: 5s, pool: 8}}
condition: {{load: {{arrivals: closed, users: 8}}}}
measure: {{bursts: 10}}
"""


def written(tmp_path: Path, text: str) -> SweepFile:
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    return read_sweep(path)


def test_a_step_ends_by_time_by_bursts_or_by_flows(tmp_path: Path) -> None:
    fields = written(tmp_path, SOUND).fields
    assert isinstance(fields.measure, MeasureFields)
    fields = written(tmp_path, BURSTS).fields
    assert fields.measure == BurstsFields(bursts=10)
    assert (fields.warm_up, fields.load.given("within"), fields.load.given("pool")) == (None, 1.0, 8)
    assert written(tmp_path, HEAD + "measure: {flows: 8, after: 2}\n").fields.measure == FlowsFields(flows=8, after=2)
    assert written(tmp_path, HEAD + "measure: {flows: 8}\n").fields.measure == FlowsFields(flows=8, after=0)


@pytest.mark.parametrize(
    ("measure", "problem"),
    [
        ("{bursts: 2, min: 5s}", "min: does not go with bursts; measure has either min and max, or bursts, or flows"),
        ("{flows: 2, max: 5s}", "max: does not go with flows; measure has either"),
        ("{bursts: 2, after: 5}", "after: does not go with bursts; measure has either"),
        ("{flow: 2}", "flow: unknown field, did you mean 'flows'?"),
        ("{bursts: 0}", "bursts: must be greater than or equal to 1, but is 0"),
        ("{after: 2}", "flows: is missing"),
    ],
)
def test_the_forms_of_measure_do_not_mix(tmp_path: Path, measure: str, problem: str) -> None:
    found = read(tmp_path, f"{HEAD}measure: {measure}\n")
    assert any(line.startswith(f"own.yaml:3: measure.{problem}") for line in found)


def test_a_warm_up_belongs_to_steps_that_are_measured_by_time(tmp_path: Path) -> None:
    only_time = "must not be set: bursts, and steps that end by count, have no warm-up"
    assert read(tmp_path, HEAD + "measure: {min: 5s, max: 5s}\n") == ["own.yaml:1: warm_up: is missing"]
    text = "measure: {flows: 5}\nwarm_up: {min: 5s, max: 5s}\n"
    assert read(tmp_path, HEAD + text) == [f"own.yaml:4: warm_up: {only_time}"]
    steps = "steps:\n  - {name: counted}\n  - {name: timed, measure: {min: 5s, max: 5s}}\n"
    assert written(tmp_path, HEAD + text + steps).fields.warm_up is not None
    assert read(tmp_path, HEAD + "measure: {flows: 5}\n" + steps) == [
        "own.yaml:6: steps[1].warm_up: is missing, both here and for the whole sweep"
    ]
    own = "steps:\n  - {name: counted, warm_up: {min: 5s, max: 5s}}\n"
    assert read(tmp_path, HEAD + "measure: {flows: 5}\n" + own) == [f"own.yaml:5: steps[0].warm_up: {only_time}"]


def test_bursts_are_measured_in_bursts_and_condition_no_nodes(tmp_path: Path) -> None:
    text = """\
load: {arrivals: burst}
measure: {flows: 5}
steps:
  - {name: burst}
  - {name: closed, load: {arrivals: closed}, measure: {bursts: 2}}
"""
    remedy = "set another load, such as condition: {load: {arrivals: closed, users: 8}}, or none"
    assert read(tmp_path, HEAD + text) == [
        f"own.yaml:1: condition: bursts do not condition nodes; {remedy}",
        "own.yaml:4: measure: must be {bursts: N}, because load.arrivals is burst",
        "own.yaml:7: steps[1].measure.bursts: needs load.arrivals: burst",
    ]
    varied = "condition: none\nmeasure: {bursts: 2}\nvary: {load.arrivals: [burst, closed]}\n"
    assert read(tmp_path, HEAD + varied) == ["own.yaml:4: measure.bursts: needs load.arrivals: burst"]


def test_a_search_is_measured_by_time_and_keeps_its_nodes(tmp_path: Path) -> None:
    search = "find_max: {rate_min: 1, rate_max: 5, p95_max: 2s, confirm: 60s}\n"
    text = "load: {arrivals: poisson}\nmeasure: {flows: 5}\nmay_break: true\n"
    assert read(tmp_path, HEAD + text + search) == [
        "own.yaml:4: measure: must have min and max in a search",
        "own.yaml:5: may_break: must not be set for a search: a rate that ends a node is not sustained",
    ]


def test_the_number_of_a_named_step_can_be_the_axis(tmp_path: Path) -> None:
    steps = "steps:\n  - {name: near, at: 0}\n  - {name: far, at: 8.5}\nx: at\n"
    fields = written(tmp_path, SOUND + steps).fields
    assert [step.at for step in fields.steps or ()] == [0, 8.5]
    assert read(tmp_path, SOUND + steps.replace(", at: 8.5", "")) == [
        "own.yaml:7: steps[1].at: is missing; x is at, so every named step needs a number"
    ]
    assert read(tmp_path, SOUND + "x: at\n") == [
        "own.yaml:5: x: at is the number of named steps, and there are no steps"
    ]
    assert read(tmp_path, SOUND + steps.replace("8.5", "far")) == [
        "own.yaml:7: steps[1].at: must be a number, but is 'far'"
    ]


@pytest.mark.parametrize(
    ("rate", "factor"),
    [("4 x peak", 4.0), ("0.5 x peak", 0.5), ("0 x peak", 0.0), ("x peak", None), ("4 x knee", None), (4, None)],
)
def test_a_rate_is_a_multiple_of_the_peak(rate: object, factor: float | None) -> None:
    assert peak_factor(rate) == factor


def test_a_rate_that_is_neither_a_number_nor_a_multiple_is_told(tmp_path: Path) -> None:
    form = "must be a number, or a multiple of the highest throughput such as 4 x peak, but is"
    text = "load: {arrivals: poisson}\nsteps:\n  - {name: one, load: {rate: 4x peak}}\n"
    text += "  - {name: two, load: {rate: 0 x peak}}\n  - {name: three, load: {rate: 0}}\n"
    assert read(tmp_path, SOUND + text) == [
        f"own.yaml:7: steps[0].load.rate: {form} '4x peak'",
        f"own.yaml:8: steps[1].load.rate: {form} '0 x peak'",
        "own.yaml:9: steps[2].load.rate: must be greater than 0, but is 0",
    ]


def test_a_multiple_needs_a_peak_that_is_measured_before(tmp_path: Path) -> None:
    text = "load: {arrivals: poisson, rate: 4 x peak}\ncondition: {load: {rate: 2 x peak}}\n"
    assert read(tmp_path, SOUND + text) == [
        "own.yaml:5: load.rate: needs a point whose rate is no multiple, to be measured before",
        "own.yaml:6: condition.load.rate: must be a number: nothing was measured before the nodes are conditioned",
    ]
    steps = "steps:\n  - {name: own, peak: true, load: {arrivals: poisson, rate: 4 x peak}}\n  - {name: closed}\n"
    assert read(tmp_path, SOUND + steps) == ["own.yaml:6: steps[0].peak: 'own' has a rate that depends on it"]
    written(tmp_path, SOUND + "load: {arrivals: poisson}\nvary: {load.rate: [5, 2 x peak]}\n")


def test_a_short_form_has_its_own_shape_arguments_labs_and_count(tmp_path: Path) -> None:
    text = """\
description: Quickly.
workload: settlement-4
set: {backchainSize: 10, amount: 3}
shape: {parties: 9, heap: 2g}
condition: {set: {backchainSize: 0}, load: {users: 4}, for: 2m}
measure: {flows: 400, after: 2}
steps:
  - {name: one}
  - {name: two, shape: {heap: 4g}}
quick:
  shape: {parties: 5, heap: 1g}
  set: {backchainSize: 5}
  fresh: shape
  condition: {for: 1m}
  measure: {flows: 3, after: 2}
"""
    whole, fields = written(tmp_path, text).fields, short_form(tmp_path, text).fields
    assert fields.set == {"backchainSize": 5, "amount": 3}
    assert fields.shape.model_dump(exclude_none=True) == {"parties": 5, "heap": "1g"}
    assert (whole.fresh, fields.fresh) == ("repeat", "shape")
    assert fields.measure == FlowsFields(flows=3, after=2)
    assert fields.steps == whole.steps
    assert whole.condition != "none"
    assert fields.condition != "none"
    assert (whole.condition.duration.min, whole.condition.duration.max) == (120, 120)
    assert (fields.condition.duration.max, fields.condition.set) == (60, {"backchainSize": 0})


def test_a_short_form_does_not_set_what_varies(tmp_path: Path) -> None:
    quick_fields = "quick: {shape: {corda: '4.9'}, set: {iouValue: 7}}\n"
    vary = "vary: {shape.corda: ['4.9', '4.10'], set.iouValue: [1, 7]}\n"
    assert read(tmp_path, SOUND + vary + quick_fields) == [
        "own.yaml:6: quick.shape.corda: shape.corda is in vary; choose from its values in quick.vary",
        "own.yaml:6: quick.set.iouValue: set.iouValue is in vary; choose from its values in quick.vary",
    ]


def test_the_measure_of_a_short_form_fits_its_steps(tmp_path: Path) -> None:
    assert read(tmp_path, BURSTS + "quick: {measure: {flows: 5}, warm_up: {min: 1s, max: 1s}}\n") == [
        "own.yaml:6: quick.measure: must be {bursts: N}, because load.arrivals is burst",
        "own.yaml:6: quick.warm_up: must not be set: bursts, and steps that end by count, have no warm-up",
    ]
    timed = HEAD + "measure: {flows: 5}\nquick: {measure: {min: 5s, max: 5s}}\n"
    assert read(tmp_path, timed) == ["own.yaml:4: quick.warm_up: is missing, both here and for the whole sweep"]
    counted = short_form(tmp_path, SOUND + "quick: {measure: {flows: 5}}\n").fields
    assert (counted.measure, counted.warm_up) == (FlowsFields(flows=5), None)
