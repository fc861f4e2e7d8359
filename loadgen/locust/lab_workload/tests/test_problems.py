"""Problems are data until they are printed."""

from pathlib import Path

import pytest

from lab_workload.problems import LoadError, Problem, in_file_order

FILE = Path("iou.yaml")


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (Problem("the bridge does not answer"), "the bridge does not answer"),
        (Problem.of("--set", "'x' is not key=value"), "--set: 'x' is not key=value"),
        (Problem("is missing", ("args", "to", 0), path=FILE, line=3), "iou.yaml:3: args.to[0]: is missing"),
        (Problem("is not valid YAML", path=FILE), "iou.yaml: is not valid YAML"),
        (Problem.of("rate", "is missing", "Give one."), "rate: is missing. Give one."),
        (
            Problem("unknown x, did you mean 'y'?", remedy="See `lab list`."),
            "unknown x, did you mean 'y'? See `lab list`.",
        ),
    ],
)
def test_a_problem_is_worded_in_one_line(problem: Problem, words: str) -> None:
    assert str(problem) == words


def test_problems_of_a_file_are_listed_once_by_line() -> None:
    late, early, whole = Problem("b", path=FILE, line=9), Problem("a", path=FILE, line=2), Problem("c", path=FILE)

    assert in_file_order([late, early, late, whole]) == [whole, early, late]


def test_an_error_carries_its_problems_whole() -> None:
    error = LoadError([Problem.of("rate", "is missing", "Give one."), "the lab is down"])

    assert [problem.location for problem in error.problems] == [("rate",), ()]
    assert error.message == str(error) == "rate: is missing. Give one.\nthe lab is down"
