"""Sweep files: every mistake at once, each with its line."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.steps.conditioning import SECONDS_MAX, SECONDS_MIN
from corda_lab.sweeps.command import RENAMED, SWEEPS, find_file
from corda_lab.sweeps.file import SweepFile, quick, read_sweep
from corda_lab.sweeps.schema import (
    QUICK_REPEATS_MIN,
    MeasureFields,
    SpanFields,
)

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
    assert caught.value.exit_code == 2
    return [line.strip().removeprefix(f"{tmp_path}/") for line in caught.value.message.splitlines()]


@pytest.mark.parametrize("path", sorted(SWEEPS.glob("*.yaml")), ids=lambda path: str(path.stem))
def test_every_sweep_of_the_repository_can_be_read(path: Path) -> None:
    assert read_sweep(path).name == path.stem


def test_every_mistake_is_told_with_its_line(tmp_path: Path) -> None:
    text = """\
description: A sweep.
worload: iou
load: {users: many}
warm_up: {min: soon, max: 15s}
measure: {min: 10s, max: 15s, precision: 5}
order: random
"""
    assert read(tmp_path, text) == [
        "own.yaml:2: worload: unknown field, did you mean 'workload'?",
        "own.yaml:3: load.users: must be a valid integer, but is 'many'",
        "own.yaml:4: warm_up.min: must be a duration such as 30s or 2m, but is 'soon'",
        "own.yaml:5: measure.precision: must be a percentage such as 5%, but is 5",
        "own.yaml:6: order: must be 'interleaved', 'randomised' or 'listed', but is 'random'",
    ]


def test_a_version_that_yaml_takes_for_a_number_has_to_be_in_quotes(tmp_path: Path) -> None:
    (problem,) = read(tmp_path, SOUND + 'vary:\n  shape.corda: ["4.9", 4.10]\n')
    assert problem == "own.yaml:6: vary.shape.corda[1]: must be text, but is 4.1; put it in quotes"


def test_what_varies_has_to_be_there_and_once(tmp_path: Path) -> None:
    vary = "vary:\n  load.user: [1, 2]\n  users: [1]\n  shape.parties: [2, 2]\n  set.iouValue: [1, 2]\n"
    assert read(tmp_path, SOUND + vary) == [
        "own.yaml:6: vary.load.user: load has no 'user', did you mean 'users'?",
        "own.yaml:7: vary.users: must be workload or begin with load., shape. or set., for example load.users",
        "own.yaml:8: vary.shape.parties[1]: 2 is listed twice",
    ]


def test_the_times_of_a_named_step_have_to_fit_too(tmp_path: Path) -> None:
    steps = "steps:\n  - {name: one, warm_up: {min: 2s, max: 1s}}\n  - {name: two, measure: {min: 0s, max: 1s}}\n"
    assert read(tmp_path, SOUND + steps) == [
        "own.yaml:6: steps[0].warm_up.min: must not be above warm_up.max",
        "own.yaml:7: steps[1].measure.min: must be at least 1s",
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
    (found,) = read(tmp_path, SOUND + f"vary:\n  {vary}\n")
    assert found.startswith(f"own.yaml:6: vary.{problem}")


def test_a_search_takes_no_rate_and_confirms_for_whole_seconds(tmp_path: Path) -> None:
    text = """\
load: {arrivals: poisson}
steps:
  - {name: one, load: {rate: 5}}
"""
    for confirm in ("90.5s", "0s"):
        search = f"find_max: {{rate_min: 1, rate_max: 5, p95_max: 2s, confirm: {confirm}}}\n"
        assert read(tmp_path, SOUND + text + search) == [
            "own.yaml:7: steps[0].load.rate: must not be set for a search, which finds the rate itself",
            "own.yaml:8: find_max.confirm: must be a whole number of seconds, at least 1s",
        ]


def test_what_does_not_fit_together_is_told(tmp_path: Path) -> None:
    text = """\
description: A sweep.
warm_up: {min: 20s, max: 15s}
measure: {min: 10s, max: 5s}
steps:
  - name: one
    workload: iou
  - name: one
x: load.users
repeats: 2
find_max: {rate_min: 10, rate_max: 5, confirm: 60s}
"""
    assert read(tmp_path, text) == [
        "own.yaml:2: warm_up.min: must not be above warm_up.max",
        "own.yaml:3: measure.min: must not be above measure.max",
        "own.yaml:7: steps[1]: workload: is missing, both here and for the whole sweep",
        "own.yaml:7: steps[1].name: 'one' is used twice",
        "own.yaml:8: x: 'load.users' is not in vary, which has no fields",
        "own.yaml:9: repeats: must not be set for a search, which confirms its own result",
        "own.yaml:10: find_max.rate_min: must be below find_max.rate_max",
        "own.yaml:10: find_max: needs open load; set load.arrivals to poisson or constant",
        "own.yaml:10: find_max: needs a limit; set p50_max, p95_max or p99_max",
    ]


def test_a_value_that_varies_is_not_set_by_a_named_step_too(tmp_path: Path) -> None:
    text = """\
steps:
  - {name: small}
  - {name: big, workload: empty, load: {users: 64}, shape: {preset: tuned}}
vary: {load.users: [2, 8], workload: [iou, empty], shape.link: [[], [partya-partyb=+40ms]]}
x: shape.link
"""
    assert read(tmp_path, SOUND + text) == [
        "own.yaml:7: steps[1]: 'big' sets load.users, which is also in vary; remove one of them",
        "own.yaml:7: steps[1]: 'big' sets workload, which is also in vary; remove one of them",
        "own.yaml:9: x: 'shape.link' has lists as values, which an axis cannot show",
    ]


def test_a_search_has_its_limits_and_no_thresholds(tmp_path: Path) -> None:
    text = "load: {arrivals: poisson}\nthresholds: {p95_max: 1s}\n"
    text += "find_max: {rate_min: 1, rate_max: 5, p95_max: 2s, confirm: 60s}\n"
    assert read(tmp_path, SOUND + text) == [
        "own.yaml:6: thresholds: must not be set for a search; set its limits in find_max"
    ]


def test_a_sweep_is_found_by_its_name_too() -> None:
    assert find_file("smoke") == SWEEPS / "smoke.yaml"
    with pytest.raises(LabError, match="there is no sweep 'smok', did you mean 'smoke'"):
        find_file("smok")


@pytest.mark.parametrize("text", ["slowed", "configs/sweeps/slowed.yaml"])
def test_the_old_name_of_a_sweep_is_refused_with_the_new_one(text: str) -> None:
    with pytest.raises(LabError, match="the sweep 'slowed' is now called 'known-slowdown'"):
        find_file(text)


def test_every_renamed_sweep_exists_under_its_new_name() -> None:
    assert all(find_file(name).is_file() for name in RENAMED.values())


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
        ("no", ["condition: must be none or have the fields load, set and for, but is False"]),
        ("{load: {user: 8}}", ["condition.load.user: unknown field, did you mean 'users'?"]),
        ("{four: {min: 5s}}", ["condition.four: unknown field, did you mean 'for'?"]),
        ("{for: {max: soon}}", ["condition.for.max: must be a duration such as 30s or 2m, but is 'soon'"]),
        ("{for: {min: 60s, max: 30s}}", ["condition.for.min: must not be above condition.for.max (30s)"]),
        ("{for: {min: 1s, max: 2s}}", ["condition.for.max: must be at least 4s"]),
        ("{for: {min: 10.5s}}", ["condition.for.min: must be a whole number of seconds"]),
    ],
)
def test_a_mistake_in_what_conditions_the_nodes_is_told(tmp_path: Path, given: str, problems: list[str]) -> None:
    assert read(tmp_path, SOUND + f"condition: {given}\n") == [f"own.yaml:5: {problem}" for problem in problems]


WHOLE = """\
description: Quickly.
workload: iou
vary: {load.users: [1, 2, 4], shape.corda: ["4.9", "4.10"]}
repeats: 5
condition: {load: {users: 8}}
warm_up: {min: 20s, max: 120s}
measure: {min: 60s, max: 180s, precision: 5%}
steps:
  - {name: cold, warm_up: {min: 0s, max: 0s}, measure: {min: 60s, max: 60s}}
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
  measure: {min: 30s, max: 30s}
"""
    )
    found = short_form(tmp_path, text)
    fields = found.fields
    assert (found.name, found.run_name, found.text, found.is_quick) == ("some", "some-quick", text, True)
    assert fields.vary == {"load.users": [1, 4], "shape.corda": ["4.9", "4.10"]}
    assert fields.steps is not None
    assert [step.name for step in fields.steps] == ["warm"]
    assert fields.warm_up == SpanFields(min=5, max=10)
    assert fields.measure == MeasureFields(min=30, max=30)
    assert fields.condition != "none"
    assert (fields.condition.load.given("users"), fields.condition.duration.max) == (8, 60)


@pytest.mark.parametrize(
    ("given", "repeats"), [("{}", QUICK_REPEATS_MIN), ("{repeats: 4}", 4), ("{vary: {load.users: [1]}}", 3)]
)
def test_a_short_form_has_three_repeats_or_more(tmp_path: Path, given: str, repeats: int) -> None:
    for text in (WHOLE, WHOLE.replace("repeats: 5", "repeats: 1")):
        assert short_form(tmp_path, f"{text}quick: {given}\n").fields.repeats == repeats


def test_a_named_step_keeps_the_times_of_its_own_in_a_short_form(tmp_path: Path) -> None:
    text = WHOLE + "quick: {warm_up: {min: 5s, max: 5s}, measure: {min: 30s, max: 30s}, condition: none}\n"
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
  measure: {min: 30s, max: 10s}
  condition: {for: {min: 1s, max: 2s}}
  find_max: {precision: 20%}
"""
    )
    assert read(tmp_path, text) == [
        "own.yaml:12: quick.vary.load.users[1]: 8 is not in vary.load.users",
        "own.yaml:12: quick.vary.load.user: 'load.user' is not in vary, which has load.users, shape.corda",
        "own.yaml:13: quick.steps[0]: there is no step 'warn', did you mean 'warm'?",
        "own.yaml:14: quick.measure.min: must not be above measure.max",
        "own.yaml:15: quick.condition.for.max: must be at least 4s",
        "own.yaml:16: quick.find_max: is only for a search, and the sweep has no find_max",
    ]
    assert read(tmp_path, WHOLE + "quick: {repeats: 2}\n") == [
        "own.yaml:11: quick.repeats: must be greater than or equal to 3, but is 2"
    ]
    assert read(tmp_path, WHOLE + "quick: {varry: {}}\n") == [
        "own.yaml:11: quick.varry: unknown field, did you mean 'vary'?"
    ]


def test_the_short_form_of_a_search_is_coarser(tmp_path: Path) -> None:
    whole, short = (read_sweep(SWEEPS / "find-max.yaml"), quick(read_sweep(SWEEPS / "find-max.yaml")))
    search = short.fields.find_max
    assert search is not None
    assert whole.fields.find_max is not None
    assert (search.precision, search.confirm, search.p95_max) == (0.2, 30, whole.fields.find_max.p95_max)
    assert short.fields.repeats == 1
    text = (SWEEPS / "find-max.yaml").read_text(encoding="utf-8")
    (problem,) = read(tmp_path, text + "  repeats: 3\n")
    assert problem.endswith("quick.repeats: must not be set for a search, which confirms its own result")


SHORT_ANYWAY = {"smoke", "a-a"}
"""Sweeps that leave nothing out: a test of sweeps, and a test of the machine with three repeats of twenty seconds."""


def test_every_sweep_that_takes_long_has_a_short_form() -> None:
    without = {path.stem for path in SWEEPS.glob("*.yaml") if read_sweep(path).fields.quick is None}
    assert without == SHORT_ANYWAY
