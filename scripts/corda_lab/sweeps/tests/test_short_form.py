"""The short form of a sweep: what it leaves out, and mistakes in it."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.results.sweep import QUICK_REPEATS_MIN
from corda_lab.results.sweep_parts import FlowCount, SpanFields
from corda_lab.sweeps.command import SWEEPS
from corda_lab.sweeps.file import SweepFile, quick, read_sweep
from support.sweep_files import BURSTS, COUNTED, SOUND, mistakes, written

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
    path = tmp_path / "some.yaml"
    path.write_text(text, encoding="utf-8")
    return quick(read_sweep(path))


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
    found = short_form(tmp_path, text)
    fields = found.fields
    assert (found.name, found.run_name, found.text, found.is_quick) == ("some", "some-quick", text, True)
    assert fields.vary == {"load.users": [4, 1], "shape.corda": ["4.9", "4.10"]}
    assert fields.steps is not None
    assert [step.name for step in fields.steps] == ["warm"]
    assert fields.warm_up == SpanFields(min=5, max=10)
    assert fields.measure == 30
    assert fields.load.given("pacing") == 2
    assert fields.condition != "none"
    assert (fields.condition.load.given("users"), fields.condition.duration.max) == (8, 60)


@pytest.mark.parametrize(
    ("given", "repeats"), [("{}", QUICK_REPEATS_MIN), ("{repeats: 4}", 4), ("{vary: {load.users: [1]}}", 3)]
)
def test_a_short_form_has_three_repeats_or_more(tmp_path: Path, given: str, repeats: int) -> None:
    for text in (WHOLE, WHOLE.replace("repeats: 5", "repeats: 1")):
        assert short_form(tmp_path, f"{text}quick: {given}\n").fields.repeats == repeats


def test_null_takes_a_field_away(tmp_path: Path) -> None:
    fields = short_form(tmp_path, WHOLE + "quick: {steps: null, x: null}\n").fields
    assert fields.steps is None


def test_a_named_step_keeps_the_times_of_its_own_in_a_short_form(tmp_path: Path) -> None:
    text = WHOLE + "quick: {warm_up: {min: 5s, max: 5s}, measure: 30s, condition: none}\n"
    fields = short_form(tmp_path, text).fields
    assert fields.steps == read_sweep(tmp_path / "some.yaml").fields.steps
    assert fields.condition == "none"


def test_a_file_without_a_short_form_names_the_field(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"some.yaml: quick: is missing") as caught:
        short_form(tmp_path, WHOLE)
    assert "Add it, for example" in caught.value.remedy
    assert caught.value.exit_code == 2


def test_a_mistake_in_the_short_form_is_told_with_its_line(tmp_path: Path) -> None:
    text = (
        WHOLE
        + """\
quick:
  vary: {load.users: [1, 8], load.user: [1]}
  steps: [warn]
  measure: 0s
  condition: {for: {min: 1s, max: 2s}}
  find_max: {precision: 20%}
  load: {users: 4}
"""
    )
    assert mistakes(tmp_path, text) == [
        "own.yaml:12: quick.vary.load.users[1]: 8 is not in vary.load.users",
        "own.yaml:12: quick.vary.load.user: 'load.user' is not in vary, which has load.users, shape.corda",
        "own.yaml:13: quick.steps[0]: there is no step 'warn', did you mean 'warm'?",
    ]
    assert mistakes(
        tmp_path, WHOLE + "quick: {measure: 0s, condition: {for: {min: 1s, max: 2s}}, load: {user: 4}}\n"
    ) == [
        "own.yaml:11: quick.load.user: unknown field, did you mean 'users'?",
        "own.yaml:11: quick.condition.for.max: must be at least 4s",
        "own.yaml:11: quick.measure: must be at least 1s, but is '0s'",
    ]
    (rate, *_) = mistakes(tmp_path, WHOLE + "quick: {find_max: {precision: 20%}}\n")
    assert rate == "own.yaml:11: quick.find_max.rate_min: is missing"
    assert mistakes(tmp_path, WHOLE + "quick: {repeats: 2}\n") == [
        "own.yaml:11: quick.repeats: must be greater than or equal to 3, but is 2"
    ]
    assert mistakes(tmp_path, WHOLE + "quick: {varry: {}}\n") == [
        "own.yaml:11: quick.varry: unknown field, did you mean 'vary'?"
    ]


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
    assert fields.measure == FlowCount(flows=3, after=2)
    assert fields.steps == whole.steps
    assert whole.condition != "none"
    assert fields.condition != "none"
    assert (whole.condition.duration.min, whole.condition.duration.max) == (120, 120)
    assert (fields.condition.duration.max, fields.condition.set) == (60, {"backchainSize": 0})


def test_a_short_form_does_not_set_what_varies(tmp_path: Path) -> None:
    quick_fields = "quick: {shape: {corda: '4.9'}, set: {iouValue: 7}}\n"
    vary = "vary: {shape.corda: ['4.9', '4.10'], set.iouValue: [1, 7]}\n"
    assert mistakes(tmp_path, SOUND + vary + quick_fields) == [
        "own.yaml:6: quick.shape.corda: shape.corda is also in vary; remove one of them",
        "own.yaml:6: quick.set.iouValue: set.iouValue is also in vary; remove one of them",
    ]


def test_the_measure_of_a_short_form_fits_its_steps(tmp_path: Path) -> None:
    assert mistakes(tmp_path, BURSTS + "quick: {measure: {flows: 5}, warm_up: {min: 1s, max: 1s}}\n") == [
        "own.yaml:6: quick.warm_up: must not be set: bursts, and steps that end by count, have no warm-up",
        "own.yaml:6: quick.measure: must be {bursts: N}, because load.arrivals is burst",
    ]
    timed = COUNTED + "measure: {flows: 5}\nquick: {measure: 5s}\n"
    assert mistakes(tmp_path, timed) == ["own.yaml:4: quick.warm_up: is missing"]
    counted = short_form(tmp_path, SOUND + "quick: {measure: {flows: 5}, warm_up: null}\n").fields
    assert (counted.measure, counted.warm_up) == (FlowCount(flows=5), None)


def test_the_short_form_of_a_search_is_coarser(tmp_path: Path) -> None:
    whole, short = (read_sweep(SWEEPS / "find-max.yaml"), quick(read_sweep(SWEEPS / "find-max.yaml")))
    search = short.fields.find_max
    assert search is not None
    assert whole.fields.find_max is not None
    assert (search.precision, search.confirm, search.p95_max) == (0.2, 30, whole.fields.find_max.p95_max)
    assert short.fields.repeats == 1
    text = (SWEEPS / "find-max.yaml").read_text(encoding="utf-8")
    (problem,) = mistakes(tmp_path, text + "  repeats: 3\n")
    assert problem.endswith("quick.repeats: must not be set for a search, which confirms its own result")
    for quick_fields in (
        "5",
        "{steps: warm}",
        "{vary: [1]}",
        "{vary: {load.users: 1}}",
        "{repeats: many}",
        "{steps: [{}]}",
        "{steps: []}",
    ):
        assert ": quick" in mistakes(tmp_path, f"{WHOLE}quick: {quick_fields}\n")[0]


SHORT_ANYWAY = {"smoke", "a-a", "repeats"}
"""Sweeps that leave nothing out: a test of sweeps, and tests of the machine by repeats of some seconds."""
LONG_ANYWAY = {"soak"}
"""Sweeps of which a short form says nothing: what grows slowly shows only over hours."""


def test_every_sweep_that_takes_long_has_a_short_form() -> None:
    without = {path.stem for path in SWEEPS.glob("*.yaml") if read_sweep(path).fields.quick is None}
    assert without == SHORT_ANYWAY | LONG_ANYWAY
